"""The work behind ``committee fit``: choose a size by cross-validation, score it on rows it never saw, fit all."""

import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, StratifiedKFold
from sklearn.utils.validation import has_fit_parameter

import committee
from committee.cli.catalog import find_class
from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.metrics import choose_metrics
from committee.cli.problem import Problem, Task
from committee.cli.results import Candidate, Comparison, Estimate, Findings

__all__ = ["AUTOMATIC", "DEPTHS", "Plan", "Study", "is_automatic", "learn_nothing", "rank_importances"]

Rows = NDArray[np.intp]

# The committee that puts itself together, which tests itself.
AUTOMATIC = "Committee"
DEPTHS = (1, 2, 3, 4, 6, 8, 12, None)
# Parameters that bound a tree's size: whoever sets one has chosen.
_SIZE_PARAMETERS = frozenset({"max_depth", "max_leaf_nodes", "ccp_alpha"})
# Single trees, whose size is everything; what ensembles need is in their defaults.
_SEARCHED = ("DecisionTree", "ExtraTreeC", "ExtraTreeR")
# Rows below which nobody should believe a score.
_FEW_ROWS = 50
# The search inside each training part needs only the order of the candidates.
_INNER_FOLDS = 3


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
    seconds : float or None
        After which the automatic committee begins no further member; other estimators have no such limit.
    """

    estimator: str
    settings: Mapping[str, Any]
    folds: int
    seed: int
    jobs: int | None
    metric: str | None = None
    seconds: float | None = None


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
        self.metrics = choose_metrics(plan.metric, problem.task)
        self.template = self._make_template()
        self.name = type(self.template).__name__
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

    def run(
        self,
        advance: Callable[[], None],
        tell: Callable[[str], None] | None = None,
        witness: Callable[[Any, Rows], None] | None = None,
    ) -> Findings:
        """Fit everything.

        Parameters
        ----------
        advance : callable
            Called after each fitted model.
        tell : callable, optional
            Called with the score so far, in words.
        witness : callable, optional
            Called with the model of each fold and the rows that it has not seen.

        Returns
        -------
        Findings
            Scores, the chosen size and the importances.
        """
        scores: dict[str, tuple[list[float], list[float]]] = {metric.name: ([], []) for metric in self.metrics}
        everything = np.arange(self.problem.n_rows)
        parts: list[tuple[Rows, Any]] = []
        for train, test in self.split(everything, self.plan.folds, self.plan.seed):
            model, rows, y = self.learn(train, advance), self._take(test), self.problem.y[test]
            naive = learn_nothing(self.problem, train)
            for metric in self.metrics:
                counted = self._weigh(test)
                scores[metric.name][0].append(metric.score(model, rows, y, counted))
                scores[metric.name][1].append(metric.score(naive, np.zeros((len(test), 1)), y, counted))
            parts.append((test, _ask(model, rows)))
            if witness is not None:
                witness(model, test)
            if tell is not None:
                tell(f"{self.metrics[0].name} {np.mean(scores[self.metrics[0].name][0]):.4f}")
        depth, candidates = self._choose_depth(everything, self.plan.folds, advance)
        model = self._fit(everything, depth, advance)
        return Findings(
            estimator=self.name,
            params=dict(self.plan.settings) | ({"max_depth": depth} if self._searches else {}),
            comparisons={name: Comparison.of_folds(tuple(m), tuple(b)) for name, (m, b) in scores.items()},
            model=model,
            answers=_put_together(parts, self.problem.n_rows),
            notices=self.notices,
            candidates=candidates,
            importances=rank_importances(model, self.problem),
            n_leaves=int(model.get_n_leaves()) if hasattr(model, "get_n_leaves") else None,
            depth=int(model.get_depth()) if hasattr(model, "get_depth") else None,
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
        return self.metrics[0].score(model, self._take(rows), self.problem.y[rows], self._weigh(rows))

    def _make_template(self) -> Any:
        estimator = getattr(committee, find_class(self.plan.estimator, self.problem.task))()
        known = estimator.get_params()
        for name in self.plan.settings:
            if name not in known:
                raise CommandError(
                    f"{type(estimator).__name__} has no parameter '{name}'.", suggest(name, sorted(known)), USAGE
                )
        if self.problem.weights is not None and not has_fit_parameter(estimator, "sample_weight"):
            raise CommandError(f"{type(estimator).__name__} takes no weights.", "Leave out --weights.", USAGE)
        automatic = type(estimator).__name__.startswith(AUTOMATIC)
        if self.plan.seconds is not None and not automatic:
            raise CommandError(
                f"{type(estimator).__name__} cannot be told a time.",
                "--time is for the automatic committee; choose a smaller model with --set.",
                USAGE,
            )
        defaults: dict[str, Any] = {"random_state": self.plan.seed, "n_jobs": self.plan.jobs}
        if automatic:
            defaults |= {"time_budget": self.plan.seconds, "metric": self._name_goal()}
        chosen = {name: value for name, value in defaults.items() if name in known} | dict(self.plan.settings)
        return estimator.set_params(**chosen)

    def _name_goal(self) -> str | None:
        """What a committee is put together by: None is its own, log-loss or the root of the squared error."""
        if self.plan.metric is None or self.metrics[0].library in ("neg_log_loss", "neg_root_mean_squared_error"):
            return None
        return self.metrics[0].library

    def _check_folds(self) -> None:
        folds, n_rows = self.plan.folds, self.problem.n_rows
        if n_rows < _FEW_ROWS:
            self._notices.append(f"With {n_rows} rows all scores may be far off.")
        if self.name.startswith(AUTOMATIC):
            return  # it draws folds of its own, and knows what they need
        if self.problem.groups is not None and (n_groups := int(self.problem.groups.max()) + 1) < folds:
            raise CommandError(f"{n_groups} groups are too few for {folds} folds.", "Lower --folds.", USAGE)
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
                f"Lower --folds, or {self._suggest_quantity()}.",
                USAGE,
            )
        if count < needed:
            self._notices.append(
                f"Class '{rarest}' has only {count} row{'s' if count > 1 else ''}: too few for a share in every fold."
            )

    def _suggest_quantity(self) -> str:
        target, first = self.problem.target, self.problem.y[0]
        if isinstance(first, str):
            return f"write numbers if '{target}' is a quantity: {str(first)!r} is text"
        return f"use --task regression if '{target}' is a quantity"

    def split(self, rows: Rows, folds: int, seed: int) -> Iterator[tuple[Rows, Rows]]:
        """Rows to learn from and rows to score on, fold by fold; classes keep their shares, groups stay whole."""
        classify, groups = self.problem.task == "classification", self.problem.groups
        if groups is None:
            splitter: Any = (StratifiedKFold if classify else KFold)(folds, shuffle=True, random_state=seed)
        else:
            groups = groups[rows]
            splitter = (StratifiedGroupKFold if classify else GroupKFold)(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # Rare classes are told of once, in the notices.
            warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
            parts = list(splitter.split(rows, self.problem.y[rows], groups))
        for train, test in parts:
            yield rows[train], rows[test]

    def _choose_depth(
        self, rows: Rows, folds: int, advance: Callable[[], None]
    ) -> tuple[int | None, tuple[Candidate, ...]]:
        """The smallest depth within one standard error of the best [Breiman1984, section 3.4.3]."""
        if not self._searches:
            return None, ()
        sign = self.metrics[0].sign
        if self.problem.groups is not None:
            n_groups = len(np.unique(self.problem.groups[rows]))
            if n_groups < 2:
                raise CommandError(
                    "The training rows of a fold are of one group, so no depth can be chosen inside them.",
                    "Choose one with --set max_depth=3, for instance, or other --groups.",
                    USAGE,
                )
            folds = min(folds, n_groups)
        parts = list(self.split(rows, folds, self.plan.seed))
        candidates = []
        for depth in DEPTHS:
            scores = [self.score(self._fit(train, depth, advance), test) for train, test in parts]
            candidates.append(Candidate(depth, Estimate.of_folds(tuple(scores))))
        best = max((c.score for c in candidates), key=lambda score: sign * score.mean)
        chosen = next(c for c in candidates if sign * c.score.mean >= sign * best.mean - best.error)
        return chosen.max_depth, tuple(candidates)

    def _fit(self, rows: Rows, depth: int | None, advance: Callable[[], None]) -> Any:
        model = type(self.template)(**self.template.get_params())
        if self._searches:
            model.set_params(max_depth=depth)
        given: dict[str, Any] = {}
        if self.problem.weights is not None:
            given["sample_weight"] = self.problem.weights[rows]
        if self.problem.groups is not None and self.name.startswith(AUTOMATIC):
            given["groups"] = self.problem.groups[rows]
        model.fit(self._take(rows), self.problem.y[rows], **given)
        advance()
        return model

    def _take(self, rows: Rows) -> pa.Table:
        return self.problem.features.take(rows)

    def _weigh(self, rows: Rows) -> NDArray[np.float64] | None:
        return None if self.problem.weights is None else self.problem.weights[rows]


def is_automatic(estimator: str, task: Task) -> bool:
    """Whether an ``--estimator`` means the committee that puts itself together.

    Parameters
    ----------
    estimator : str
        As :func:`committee.cli.catalog.find_class` knows it.
    task : "classification" or "regression"
        What is predicted.

    Returns
    -------
    bool
    """
    return find_class(estimator, task).startswith(AUTOMATIC)


def rank_importances(model: Any, problem: Problem) -> dict[str, float]:
    """What a model says about its features, the most important first.

    Parameters
    ----------
    model : estimator
        Fitted.
    problem : Problem
        What it was fitted on.

    Returns
    -------
    dict of str to float
        Empty if it says nothing.
    """
    values = getattr(model, "feature_importances_", ())
    ranked = sorted(zip(problem.features.column_names, map(float, values), strict=False), key=lambda item: -item[1])
    return dict(ranked)


def learn_nothing(problem: Problem, rows: Rows) -> BaseEstimator:
    """The most frequent class and the shares of all, or the mean, whatever the features say.

    Parameters
    ----------
    problem : Problem
        Whose target is learnt.
    rows : ndarray of int
        To learn from.

    Returns
    -------
    estimator
        Fitted; takes rows of any one column.
    """
    naive = DummyClassifier(strategy="prior") if problem.task == "classification" else DummyRegressor()
    weights = None if problem.weights is None else problem.weights[rows]
    return naive.fit(np.zeros((len(rows), 1)), problem.y[rows], sample_weight=weights)


def _ask(model: Any, rows: pa.Table) -> tuple[Any, NDArray[Any]]:
    """Classes and probabilities where a model has them, else None and its answers."""
    if hasattr(model, "predict_proba"):
        return model.classes_, model.predict_proba(rows)
    return None, model.predict(rows)


def _put_together(parts: list[tuple[Rows, Any]], n_rows: int) -> NDArray[Any]:
    """Answers for all rows; a class that a part's model had not met has probability zero there."""
    classes = parts[0][1][0]
    if classes is None:
        order = np.argsort(np.concatenate([rows for rows, _ in parts]))
        return np.concatenate([said for _, (_, said) in parts])[order]
    every = np.unique(np.concatenate([known for _, (known, _) in parts]))
    shares = np.zeros((n_rows, len(every)))
    for rows, (known, said) in parts:
        shares[np.ix_(rows, np.searchsorted(every, known))] = said
    return shares
