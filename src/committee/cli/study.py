"""The work behind ``committee fit``: choose a size by cross-validation, score it on rows it never saw, fit all."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import KFold, StratifiedKFold

import committee
from committee.cli.catalog import find_class
from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.metrics import choose_metrics
from committee.cli.problem import Problem, Task

Rows = NDArray[np.intp]

DEPTHS = (1, 2, 3, 4, 6, 8, 12, None)
# Parameters that bound a tree's size: whoever sets one has chosen.
_SIZE_PARAMETERS = frozenset({"max_depth", "max_leaf_nodes", "ccp_alpha"})
# Single trees, whose size is everything; what ensembles need is in their defaults.
_SEARCHED = ("DecisionTree", "ExtraTreeC", "ExtraTreeR")
# The search inside each training part needs only the order of the candidates.
_INNER_FOLDS = 3


@dataclass(frozen=True)
class Estimate:
    """A score over folds.

    Parameters
    ----------
    folds : tuple of float
        One score a fold.
    """

    folds: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Average over the folds."""
        return float(np.mean(self.folds))

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(np.std(self.folds, ddof=1) / np.sqrt(len(self.folds)))


@dataclass(frozen=True)
class Comparison:
    """One metric: the model's score, the naive one, and their paired difference."""

    model: Estimate
    baseline: Estimate

    @property
    def difference(self) -> Estimate:
        """Model minus baseline, fold by fold: the folds share their difficulty, so this is the sharper test."""
        return Estimate(tuple(m - b for m, b in zip(self.model.folds, self.baseline.folds, strict=True)))


@dataclass(frozen=True)
class Candidate:
    """A depth that was tried on all rows, with its cross-validated score."""

    max_depth: int | None
    score: Estimate


@dataclass(frozen=True)
class Findings:
    """What a study found.

    Parameters
    ----------
    estimator : str
        Name of the class.
    params : dict
        What was set, by the user or by the search.
    candidates : tuple of Candidate
        The depths tried; empty if the user had chosen.
    comparisons : dict of str to Comparison
        By metric.
    importances : dict of str to float
        By feature, largest first.
    n_leaves : int
        Leaves of the model fitted on all rows.
    depth : int
        Its depth.
    model : estimator
        Fitted on all rows.
    notices : tuple of str
        What the user should know.
    """

    estimator: str
    params: dict[str, Any]
    candidates: tuple[Candidate, ...]
    comparisons: dict[str, Comparison]
    importances: dict[str, float]
    n_leaves: int | None
    depth: int | None
    model: Any
    notices: tuple[str, ...]


@dataclass(frozen=True)
class Plan:
    """How to study a problem.

    Parameters
    ----------
    estimator : str
        As :func:`committee.cli.catalog.find_class` knows it.
    settings : mapping of str to object
        Parameters set by the user.
    folds : int
        Parts of the cross-validation.
    seed : int
        Of the folds and of the estimator.
    jobs : int or None
        Threads.
    metric : str or None
        What chooses the size and is shown first; the usual one of the task if None.
    """

    estimator: str
    settings: Mapping[str, Any]
    folds: int
    seed: int
    jobs: int | None
    metric: str | None = None


class Study:
    """One problem under one plan.

    Parameters
    ----------
    problem : Problem
        What to learn.
    plan : Plan
        How.
    """

    def __init__(self, problem: Problem, plan: Plan) -> None:
        self.problem = problem
        self.plan = plan
        self._template = self._make_template()
        self.name = type(self._template).__name__
        self.metrics = choose_metrics(plan.metric, problem.task)
        self._searches = self.name.startswith(_SEARCHED) and not _SIZE_PARAMETERS & set(plan.settings)
        self._notices: list[str] = []
        self._check_folds()

    @property
    def n_fits(self) -> int:
        """Models that will be fitted."""
        search = len(DEPTHS) if self._searches else 0
        return self.plan.folds * self.n_fits_a_part + self.plan.folds * search + 1

    @property
    def n_fits_a_part(self) -> int:
        """Models that :meth:`learn` fits."""
        return (len(DEPTHS) * _INNER_FOLDS if self._searches else 0) + 1

    @property
    def notices(self) -> tuple[str, ...]:
        """What the user should know."""
        return tuple(self._notices)

    def run(self, advance: Callable[[], None]) -> Findings:
        """Fit everything.

        Parameters
        ----------
        advance : callable
            Called after each fitted model.

        Returns
        -------
        Findings
            Scores, the chosen size and the importances.
        """
        scores: dict[str, tuple[list[float], list[float]]] = {metric.name: ([], []) for metric in self.metrics}
        everything = np.arange(self.problem.n_rows)
        for train, test in self.split(everything, self.plan.folds, self.plan.seed):
            model, rows, y = self.learn(train, advance), self._take(test), self.problem.y[test]
            naive = _learn_nothing(self.problem.task, self.problem.y[train])
            for metric in self.metrics:
                scores[metric.name][0].append(metric.score(model, rows, y))
                scores[metric.name][1].append(metric.score(naive, np.zeros((len(test), 1)), y))
        depth, candidates = self._choose_depth(everything, self.plan.folds, advance)
        model = self._fit(everything, depth, advance)
        params = dict(self.plan.settings) | ({"max_depth": depth} if self._searches else {})
        return Findings(
            estimator=self.name,
            params=params,
            candidates=candidates,
            comparisons={name: Comparison(Estimate(tuple(m)), Estimate(tuple(b))) for name, (m, b) in scores.items()},
            importances=self._rank_importances(model),
            n_leaves=int(model.get_n_leaves()) if hasattr(model, "get_n_leaves") else None,
            depth=int(model.get_depth()) if hasattr(model, "get_depth") else None,
            model=model,
            notices=self.notices,
        )

    def learn(self, rows: Rows, advance: Callable[[], None]) -> Any:
        """The model of some rows, its size chosen inside them.

        Parameters
        ----------
        rows : ndarray of int
            Which ones.
        advance : callable
            Called after each fitted model.

        Returns
        -------
        estimator
            Fitted.
        """
        depth, _ = self._choose_depth(rows, _INNER_FOLDS, advance)
        return self._fit(rows, depth, advance)

    def score(self, model: Any, rows: Rows) -> float:
        """The first metric of a model on some rows, in its usual direction."""
        return self.metrics[0].score(model, self._take(rows), self.problem.y[rows])

    def _make_template(self) -> Any:
        estimator = getattr(committee, find_class(self.plan.estimator, self.problem.task))()
        known = estimator.get_params()
        for name in self.plan.settings:
            if name not in known:
                raise CommandError(
                    f"{type(estimator).__name__} has no parameter '{name}'.", suggest(name, sorted(known)), USAGE
                )
        defaults = {"random_state": self.plan.seed, "n_jobs": self.plan.jobs}
        chosen = {name: value for name, value in defaults.items() if name in known} | dict(self.plan.settings)
        return estimator.set_params(**chosen)

    def _check_folds(self) -> None:
        folds, n_rows = self.plan.folds, self.problem.n_rows
        if self.problem.task == "regression":
            # Each score needs two rows, and each training part two for its own folds.
            if n_rows < 2 * folds:
                raise CommandError(
                    f"{n_rows} rows are too few for {folds} folds.", "Lower --folds or bring more rows.", USAGE
                )
            return
        counts = self.problem.count_classes()
        needed = max(folds, _INNER_FOLDS + 1)
        rarest, count = min(counts.items(), key=lambda item: item[1])
        if max(counts.values()) < needed:
            raise CommandError(
                f"No class of '{self.problem.target}' has the {needed} rows that {folds} folds need.",
                f"Lower --folds, or use --task regression if '{self.problem.target}' is a quantity.",
                USAGE,
            )
        if count < needed:
            self._notices.append(
                f"Class '{rarest}' has only {count} row{'s' if count > 1 else ''}: too few for a share in every fold."
            )

    def split(self, rows: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """Rows to learn from and rows to score on, fold by fold; classes keep their shares."""
        splitter = StratifiedKFold if self.problem.task == "classification" else KFold
        with warnings.catch_warnings():
            # Rare classes are told of once, in the notices.
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            parts = list(splitter(folds, shuffle=True, random_state=seed).split(rows, self.problem.y[rows]))
        for train, test in parts:
            yield rows[train], rows[test]

    def _choose_depth(
        self, rows: Rows, folds: int, advance: Callable[[], None]
    ) -> tuple[int | None, tuple[Candidate, ...]]:
        """The smallest depth within one standard error of the best [Breiman1984, section 3.4.3]."""
        if not self._searches:
            return None, ()
        sign = self.metrics[0].sign
        parts = list(self.split(rows, folds, self.plan.seed))
        candidates = []
        for depth in DEPTHS:
            scores = [self.score(self._fit(train, depth, advance), test) for train, test in parts]
            candidates.append(Candidate(depth, Estimate(tuple(scores))))
        best = max((c.score for c in candidates), key=lambda score: sign * score.mean)
        chosen = next(c for c in candidates if sign * c.score.mean >= sign * best.mean - best.error)
        return chosen.max_depth, tuple(candidates)

    def _fit(self, rows: Rows, depth: int | None, advance: Callable[[], None]) -> Any:
        model = type(self._template)(**self._template.get_params())
        if self._searches:
            model.set_params(max_depth=depth)
        model.fit(self._take(rows), self.problem.y[rows])
        advance()
        return model

    def _take(self, rows: Rows) -> pa.Table:
        return self.problem.features.take(rows)

    def _rank_importances(self, model: BaseEstimator) -> dict[str, float]:
        names = self.problem.features.column_names
        values = cast("Sequence[float]", getattr(model, "feature_importances_", ()))
        ranked = sorted(zip(names, map(float, values), strict=False), key=lambda item: -item[1])
        return dict(ranked)


def _learn_nothing(task: Task, y: NDArray[Any]) -> BaseEstimator:
    """The most frequent class or the mean, whatever the features say."""
    naive = DummyClassifier(strategy="prior") if task == "classification" else DummyRegressor()
    return naive.fit(np.zeros((len(y), 1)), y)
