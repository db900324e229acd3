"""The loss of ordered levels: minus the log-likelihood of a cumulative link, with thresholds that follow the scores."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, TypeAlias, cast

import numpy as np

from committee.engines.exact_sums import sum_over_rows
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.ordinal_link import OrdinalLink
from committee.ensembles.boosting.ordinal_rows import make_level_rows
from committee.exceptions import DataError
from committee.losses import LossFunction, apply_log, apply_log1p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.typing import FloatArray

    Gradients: TypeAlias = tuple[FloatArray, FloatArray]
    ThresholdTerms: TypeAlias = tuple[float, FloatArray, FloatArray, FloatArray]

__all__ = ["BoundOrdinalLoss", "OrdinalLoss"]

_STEPS = 100
_HALVINGS = 60
_LARGEST_STEP = 4.0
_NEAR = 1e-4
_SMALL_STEP = 1e-8
"""A Newton step below this is the last: the next one would be of the size of its square."""
_GRID = 2.0**36
"""Thresholds are whole multiples of its inverse, so that they do not depend on where their search began."""
_LEAST_GAP, _WIDER_GAP = 2.0**-60, 2.0**-40
"""Of neighbouring thresholds: whose inverse may be squared, and from which on a search widens or narrows it."""
_LEAST_HESSIAN = 1e-16
_LEAST_SHARE, _FURTHEST_SCORE = 1e-15, 1e150
_LEAST_PROBABILITY = 1e-300
_SPREAD_RATE = 0.1
"""Steps of logarithms of spreads are this part of Newton's: spreads are overfitted sooner than scores."""


class OrdinalLoss(GroupLoss):
    """Minus the log-likelihood of P(level <= k) = F(θ_k - f), minimised by the thresholds θ at any scores f.

    With a spread by row a second score is its logarithm, s: F((θ_k - f) exp(-s)) [McCullagh1980]. The target has one
    column, the numbers of the levels.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}
        The distribution F.
    n_levels : int
        Number of levels.
    n_scores : {1, 2}
        Two with a spread by row.
    """

    def __init__(self, link: str, n_levels: int, n_scores: int = 1) -> None:
        self.link, self.n_levels, self.n_scores = link, n_levels, n_scores
        self.prediction_loss = LossFunction("squared_error", nan, n_scores)

    def bind(self, target: FloatArray, weights: FloatArray | None) -> BoundGroupLoss:
        """The loss of these rows, with thresholds of their own."""
        return cast("BoundGroupLoss", BoundOrdinalLoss(self, target[:, 0].astype(np.intp), weights))

    def measure_others(
        self,
        bound: BoundGroupLoss | None,
        known: FloatArray,
        target: FloatArray,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> float:
        """The mean loss of other rows, with the thresholds of the training rows."""
        fitted = cast("BoundOrdinalLoss", bound)
        labels = target[:, 0].astype(np.intp)
        shares = fitted.make_link(known).find_probabilities(scores)
        losses = -apply_log(np.maximum(shares[np.arange(len(labels)), labels], _LEAST_PROBABILITY))
        return _average(losses, weights)


class BoundOrdinalLoss:
    """The loss of some rows, with the methods of the engine's losses of groups.

    Parameters
    ----------
    loss : OrdinalLoss
        The link and the number of levels.
    labels : ndarray of shape (n_rows,)
        Numbers of the levels.
    weights : ndarray of shape (n_rows,) or None
        Weights in rows; levels whose rows have no weight get the probability zero.
    """

    def __init__(self, loss: OrdinalLoss, labels: NDArray[np.intp], weights: FloatArray | None) -> None:
        self.loss = loss
        row_weights = np.ones(len(labels)) if weights is None else weights
        counted = np.zeros(loss.n_levels)
        for k in range(loss.n_levels):
            counted[k] = sum_over_rows(row_weights[labels == k])
        self._weight = sum_over_rows(row_weights)
        self._present = np.flatnonzero(counted > 0.0)
        # Rows of absent levels have no weight: what they get does not count.
        levels = np.minimum(np.searchsorted(self._present, labels), len(self._present) - 1)
        self._rows = make_level_rows(loss.link, levels, weights, len(self._present), loss.n_scores)
        self._row_weights = row_weights
        self._n_jobs, self._center = 1, 0.0
        self._moved: FloatArray | float = 0.0
        self._thresholds = self._start(counted[self._present])
        self._known: FloatArray | None = None
        self.history: list[FloatArray] = []
        """Thresholds of all levels at each call of `find_gradients`."""

    # What boosting calls.

    def find_gradients(self, scores: FloatArray, n_jobs: int) -> Gradients:
        """Gradients and hessians by the scores at the best thresholds, both of shape (n_rows, n_scores).

        Steps of all logarithms of spreads by the same number are left out: scores and thresholds take them, as a common
        factor.
        """
        self._n_jobs = n_jobs
        self.history.append(self.fit_thresholds(scores))
        assert self._known is not None
        gradients, hessians = self._rows.find_gradients(self._known, self._thresholds, n_jobs)
        hessians = np.maximum(hessians, _LEAST_HESSIAN)
        n_rows = len(self._row_weights)
        if self.loss.n_scores > 1:
            by_spread, information = gradients[n_rows:], hessians[n_rows:]
            total = sum_over_rows(information, self._row_weights)
            by_spread -= information * (sum_over_rows(by_spread, self._row_weights) / total)
            information /= _SPREAD_RATE
        shape = (self.loss.n_scores, n_rows)
        return gradients.reshape(shape).T, hessians.reshape(shape).T

    def measure(self, scores: FloatArray, n_jobs: int) -> float:
        """The mean loss of the rows at the best thresholds."""
        self._n_jobs = n_jobs
        self.fit_thresholds(scores)
        assert self._known is not None
        return self._rows.sum_losses(self._known, self._thresholds, n_jobs) / self._weight

    def make_link(self, scores: FloatArray) -> OrdinalLink:
        """The link with the best thresholds at these scores."""
        return OrdinalLink(self.loss.link, self.fit_thresholds(scores)[None])

    # Thresholds.

    def fit_thresholds(self, scores: FloatArray) -> FloatArray:
        """The thresholds with the least loss at these scores, of shape (n_levels - 1,), ascending."""
        if not np.abs(scores).max(initial=0.0) < _FURTHEST_SCORE:
            raise DataError(
                f"The scores grew beyond all bounds: the largest are no numbers below {_FURTHEST_SCORE:.0e}. Choose a "
                "smaller learning_rate."
            )
        flat = np.ravel(scores, order="F")
        if self._known is None or not np.array_equal(self._known, flat):
            own = np.array(flat, dtype=np.float64)
            self._thresholds, self._known = self._search(own), own
        expanded = np.empty(self.loss.n_levels - 1)
        # The upper threshold of a level is that of the last present level up to it.
        places = np.searchsorted(self._present, np.arange(len(expanded)), side="right") - 1
        bounds = np.concatenate(([-np.inf], self._thresholds, [np.inf]))
        expanded[:] = bounds[places + 1]
        return expanded

    def _start(self, counted: FloatArray) -> FloatArray:
        """Thresholds at score zero, where the shares of the levels determine them, up to the link."""
        below = np.clip(np.cumsum(counted)[:-1] / counted.sum(), _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        return np.asarray(apply_log(below) - apply_log1p(-below))

    def _search(self, scores: FloatArray) -> FloatArray:
        """Newton's method: the loss is convex, and infinite where thresholds are out of order."""
        if len(self._thresholds) == 0:
            return self._thresholds
        # They move with the scores, and otherwise about as much as in the round before.
        center = float(np.median(scores[: len(self._row_weights)]))
        begun = self._thresholds + (center - self._center)
        thresholds = begun + self._moved
        if not _ascend(thresholds):
            thresholds = _set_apart(begun)
        terms = self._rows.sum_terms(scores, thresholds, self._n_jobs)
        for _ in range(_STEPS):
            step = self._find_step(terms)
            if np.abs(step).max() < _SMALL_STEP:
                moved = thresholds + step
                thresholds = moved if _ascend(moved) else thresholds
                break
            taken = self._shorten(scores, thresholds, step, terms[0])
            if taken is None:
                break
            thresholds, terms = taken
        rounded = np.round(thresholds * _GRID) / _GRID
        thresholds = rounded if _ascend(rounded) else thresholds
        self._center, self._moved = center, thresholds - begun
        return thresholds

    def _find_step(self, terms: ThresholdTerms) -> FloatArray:
        _, gradient, diagonal, beside = terms
        hessian = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
        if not (np.isfinite(gradient).all() and np.isfinite(hessian).all()):
            return np.zeros(len(gradient))  # weights so large that sums are no numbers
        ridge = np.finfo(np.float64).eps * max(float(np.trace(hessian)), np.finfo(np.float64).tiny)
        step = np.asarray(-np.linalg.solve(hessian + ridge * np.eye(len(hessian)), gradient), dtype=np.float64)
        return step / max(1.0, float(np.abs(step).max()) / _LARGEST_STEP)

    def _shorten(
        self, scores: FloatArray, thresholds: FloatArray, step: FloatArray, loss: float
    ) -> tuple[FloatArray, ThresholdTerms] | None:
        """The step, halved until it keeps the order and lowers the loss, and what is there; else no step."""
        for _ in range(_HALVINGS):
            moved = thresholds + step
            if _ascend(moved):
                terms = self._rows.sum_terms(scores, moved, self._n_jobs)
                # Near the least loss its rounding hides what a step gains.
                if terms[0] < loss or np.abs(step).max() < _NEAR:
                    return moved, terms
            step = step / 2.0
        return None


def _ascend(thresholds: FloatArray) -> bool:
    return bool((np.diff(thresholds) > _LEAST_GAP).all())


def _set_apart(thresholds: FloatArray) -> FloatArray:
    """Thresholds that ascend: those that do not are put behind the one before."""
    if _ascend(thresholds):
        return thresholds
    least = max(_WIDER_GAP, 4.0 * float(np.spacing(np.abs(thresholds).max())))
    apart = thresholds.copy()
    for k in range(1, len(apart)):
        apart[k] = max(apart[k], apart[k - 1] + least)
    return apart


def _average(values: FloatArray, weights: FloatArray | None) -> float:
    if weights is None:
        return sum_over_rows(values) / len(values)
    counted = weights > 0.0
    return sum_over_rows(values[counted], weights[counted]) / sum_over_rows(weights)
