"""The score by number of training rows: the estimator is fitted again to parts of its training rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.cli.errors import CommandError
from committee.exceptions import CommitteeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.cli.metrics import ScoringMetric
    from committee.cli.model_setup import RowIndices
    from committee.cli.problem import LearningProblem
    from committee.typing import FloatArray

__all__ = ["RowCurve", "RowCurveMeter", "RowScore", "fit_smaller_committees"]

_FRACTIONS = (0.125, 0.25, 0.5)
# Folds of the curve: the fits of three add less than half to the cost of five folds and the final fit.
_MOST_FOLDS, _FEW_FOLDS = 3, 1
_MANY_CELLS = 2_000_000
_FEWEST_ROWS = 20
# Share of the time of an AutoML fit that its fits to fewer rows may take; half of the rows come first, then what fits.
_MOST_TIME = 0.65
_AUTOML_FRACTIONS = (0.5, 0.125, 0.25)


@dataclass(frozen=True)
class RowScore:
    """A score for a number of training rows, with its standard error (NaN if it is not known)."""

    n_rows: int
    score: float
    error: float


@dataclass(frozen=True)
class RowCurve:
    """Scores on held-out rows by number of training rows.

    Parameters
    ----------
    points : tuple of RowScore
        Ascending.
    metric : str
        Name of the metric.
    how : str
        How they were measured, as a sentence.
    last_step : tuple of two float
        Difference of the last two scores and its standard error (NaN if it is not known); over the same folds it is
        smaller than those of the scores.
    """

    points: tuple[RowScore, ...]
    metric: str
    how: str
    last_step: tuple[float, float]


@dataclass
class RowCurveMeter:
    """Fits the model of a fold again to parts of its training rows, and scores it on the same test rows.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    metric : ScoringMetric
        The metric.
    seed : int
        Of the samples of rows.
    """

    problem: LearningProblem
    metric: ScoringMetric
    seed: int
    _scores: list[dict[int, tuple[int, float]]] = field(init=False, default_factory=list)

    def measure(self, model: Any, test: RowIndices) -> None:
        """Measure the model of a fold.

        Parameters
        ----------
        model : estimator
            Fitted without the rows of the fold.
        test : ndarray of int
            Indices of these rows.
        """
        problem = self.problem
        large = problem.n_rows * len(problem.columns) > _MANY_CELLS
        if len(self._scores) >= (_FEW_FOLDS if large else _MOST_FOLDS):
            return
        train = np.setdiff1d(np.arange(problem.n_rows), test)
        order = np.random.default_rng([self.seed, len(self._scores)]).permutation(train)
        try:
            found = {len(_FRACTIONS): (len(train), self._score(model, test))}
            for k, fraction in enumerate(_FRACTIONS):
                rows = np.sort(order[: int(fraction * len(order))])
                if len(rows) >= _FEWEST_ROWS and self._has_all_classes(rows):
                    found[k] = len(rows), self._score(self._fit(model, rows), test)
        except (CommandError, CommitteeError, ValueError):
            return  # a part of the rows is too small for the estimator or for the metric
        self._scores.append(found)

    def _has_all_classes(self, rows: RowIndices) -> bool:
        y = self.problem.y
        return not self.problem.has_classes or len(np.unique(y[rows])) == len(np.unique(y))

    def _fit(self, model: Any, rows: RowIndices) -> Any:
        weights = self.problem.weights
        y, given = self.problem.make_fit_target(rows)
        if weights is not None:
            given["sample_weight"] = weights[rows]
        return clone(model).fit(self.problem.features.take(rows), y, **given)

    def _score(self, model: Any, rows: RowIndices) -> float:
        weights = None if self.problem.weights is None else self.problem.weights[rows]
        return self.metric.score(model, self.problem.features.take(rows), self.problem.y[rows], weights)

    def make_curve(self) -> RowCurve | None:
        """Mean scores over the folds; None if there are fewer than two sizes."""
        points, by_size = [], []
        for k in range(len(_FRACTIONS) + 1):
            found = [scores[k] for scores in self._scores if k in scores]
            if found and len(found) == len(self._scores):
                by_size.append(np.array([score for _, score in found]))
                n_rows = round(float(np.mean([n for n, _ in found])))
                points.append(RowScore(n_rows, *_average(by_size[-1])))
        if len(points) < 2:
            return None
        n_folds = len(self._scores)
        how = f"The model was fitted again to parts of the training rows of {n_folds} fold{'s' if n_folds > 1 else ''}"
        how = f"{how} and scored on the rows of the fold."
        return RowCurve(tuple(points), self.metric.name, how, _average(by_size[-1] - by_size[-2]))


def _average(values: FloatArray) -> tuple[float, float]:
    """The mean over folds and its standard error, NaN for a single fold."""
    error = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else float("nan")
    return float(values.mean()), error


def fit_smaller_committees(
    problem: LearningProblem, model: Any, seconds: float, seed: int
) -> tuple[tuple[RowScore, ...], Any, NDArray[np.intp]]:
    """Fit an AutoML ensemble again to parts of the rows, with the models that have weight in it.

    Its own nested estimate scores each. Parts whose fits would take too long, by the times of the first fit, are left
    out.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    model : estimator
        The ensemble, fitted to all rows.
    seconds : float
        Time of its fit.
    seed : int
        Of the samples of rows.

    Returns
    -------
    tuple of tuple of RowScore, estimator or None, and ndarray of int
        The scores in the direction of the estimator (larger is better), the ensemble of the largest part, and the rows
        that it was not fitted to.
    """
    used = [row for row in model.leaderboard_ if row["weight"] > 0.0 and row["name"] != "prior"]
    spent = sum(row["seconds"] for row in used)
    order = np.random.default_rng([seed, 2]).permutation(problem.n_rows)
    if problem.groups is not None:
        # Whole groups, in random order.
        ranks = np.random.default_rng([seed, 2]).permutation(int(problem.groups.max()) + 1)
        order = np.argsort(ranks[problem.groups], kind="stable")
    points: list[RowScore] = [RowScore(problem.n_rows, model.score_estimate_, model.score_error_)]
    half, rest = None, np.empty(0, dtype=np.intp)
    left = _MOST_TIME * seconds
    for fraction in _AUTOML_FRACTIONS:
        rows = np.sort(order[: int(fraction * len(order))])
        if not used or fraction * spent > left or len(rows) < 2 * _FEWEST_ROWS:
            continue
        left -= fraction * spent
        try:
            part = _fit_part(problem, model, [row["name"] for row in used], rows)
        except (CommitteeError, ValueError):
            continue  # too few rows of a class or of a group
        points.append(RowScore(len(rows), part.score_estimate_, part.score_error_))
        if half is None:
            half, rest = part, np.setdiff1d(np.arange(problem.n_rows), rows)
    return tuple(sorted(points, key=lambda one: one.n_rows)), half, rest


def _fit_part(problem: LearningProblem, model: Any, names: list[str], rows: NDArray[np.intp]) -> Any:
    if problem.task == "classification" and len(np.unique(problem.y[rows])) < len(model.classes_):
        raise ValueError("a class has no rows")
    given: dict[str, Any] = {}
    if problem.weights is not None:
        given["sample_weight"] = problem.weights[rows]
    if problem.groups is not None:
        given["groups"] = problem.groups[rows]
    part = clone(model).set_params(portfolio=names, n_members=None, time_budget=None, verbose=0)
    return part.fit(problem.features.take(rows), problem.y[rows], **given)
