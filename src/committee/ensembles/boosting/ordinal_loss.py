"""The loss of ordered levels: minus the log-likelihood of a cumulative link, with thresholds that follow the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np

from committee.engines.exact_sums import sum_over_rows
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.ordinal_link import CUMULATIVE_LINKS, OrdinalLink, find_distances
from committee.exceptions import DataError
from committee.losses import apply_exp, apply_log, apply_log1p

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.typing import FloatArray

    Gradients: TypeAlias = tuple[FloatArray, FloatArray]

__all__ = ["BoundOrdinalLoss", "OrdinalLoss"]

_STEPS = 100
_HALVINGS = 60
_LARGEST_STEP = 4.0
_SMALL_STEP = 1e-8
"""A Newton step below this is the last: the next one would be of the size of its square."""
_GRID = 2.0**36
"""Thresholds are whole multiples of its inverse, so that they do not depend on where their search began."""
_LEAST_HESSIAN = 1e-16
_LEAST_SHARE, _FURTHEST_SCORE, _LARGEST_LOG = 1e-15, 1e150, 340.0
_LEAST_PROBABILITY = 1e-300


class LevelTerms(NamedTuple):
    """Derivatives of minus the log-probability of each row's level by its upper and its lower threshold."""

    upper: FloatArray
    lower: FloatArray
    upper_twice: FloatArray
    lower_twice: FloatArray
    mixed: FloatArray


class _Evaluated(NamedTuple):
    """Distances of each row from its lower and its upper threshold, and the log-probability of its level."""

    scores: FloatArray
    thresholds: FloatArray
    low: FloatArray
    high: FloatArray
    log_p: FloatArray


class OrdinalLoss(GroupLoss):
    """Minus the log-likelihood of P(level <= k) = F(θ_k - f), minimised by the thresholds θ at any scores f.

    The target has one column, the numbers of the levels.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}
        The distribution F.
    n_levels : int
        Number of levels.
    """

    def __init__(self, link: str, n_levels: int) -> None:
        self.link, self.n_levels = link, n_levels

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
        shares = fitted.make_link(known).find_probabilities(scores[:, 0])
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
        self.loss, self._link = loss, CUMULATIVE_LINKS[loss.link]
        self._weights = np.ones(len(labels)) if weights is None else weights
        counted = np.zeros(loss.n_levels)
        for k in range(loss.n_levels):
            counted[k] = sum_over_rows(self._weights[labels == k])
        self._present = np.flatnonzero(counted > 0.0)
        # Rows of absent levels have no weight: what they get does not count.
        self._levels = np.minimum(np.searchsorted(self._present, labels), len(self._present) - 1)
        self._rows = [np.flatnonzero(labels == k) for k in self._present]
        self._row_weights = [None if weights is None else weights[rows] for rows in self._rows]
        self._evaluated: _Evaluated | None = None
        self._thresholds = self._start(counted[self._present])
        self._known: FloatArray | None = None
        self.history: list[FloatArray] = []
        """Thresholds of all levels at each call of `find_gradients`."""

    # What boosting calls.

    def find_gradients(self, scores: FloatArray, n_jobs: int) -> Gradients:
        """Gradients and hessians by the score at the best thresholds, both of shape (n_rows, 1)."""
        self.history.append(self.fit_thresholds(scores))
        assert self._known is not None
        terms = self._differentiate(self._known, self._thresholds)
        gradients = -(terms.upper + terms.lower)
        hessians = np.maximum(terms.upper_twice + terms.lower_twice + 2.0 * terms.mixed, _LEAST_HESSIAN)
        return np.asfortranarray(gradients[:, None]), np.asfortranarray(hessians[:, None])

    def measure(self, scores: FloatArray, n_jobs: int) -> float:
        """The mean loss of the rows at the best thresholds."""
        self.fit_thresholds(scores)
        assert self._known is not None
        return _average(self._find_values(self._known, self._thresholds), self._weights)

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
        if self._known is None or not np.array_equal(self._known, scores[:, 0]):
            own = np.array(scores[:, 0], dtype=np.float64)
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
        # They move with the scores.
        before = 0.0 if self._known is None else float(np.median(self._known))
        thresholds = self._thresholds + (float(np.median(scores)) - before)
        loss = self._sum_values(scores, thresholds)
        for _ in range(_STEPS):
            gradient, hessian = self._sum_terms(self._differentiate(scores, thresholds))
            ridge = np.finfo(np.float64).eps * max(float(np.trace(hessian)), np.finfo(np.float64).tiny)
            step = np.asarray(-np.linalg.solve(hessian + ridge * np.eye(len(hessian)), gradient), dtype=np.float64)
            step /= max(1.0, float(np.abs(step).max()) / _LARGEST_STEP)
            if np.abs(step).max() < _SMALL_STEP:
                moved = thresholds + step
                thresholds = moved if (np.diff(moved) > 0.0).all() else thresholds
                break
            thresholds, after = self._shorten(scores, thresholds, step, loss)
            if not after < loss:
                break
            loss = after
        rounded = np.round(thresholds * _GRID) / _GRID
        return rounded if (np.diff(rounded) > 0.0).all() else thresholds

    def _shorten(
        self, scores: FloatArray, thresholds: FloatArray, step: FloatArray, loss: float
    ) -> tuple[FloatArray, float]:
        """The step, halved until it keeps the order and lowers the loss; else no step."""
        for _ in range(_HALVINGS):
            moved = thresholds + step
            if (np.diff(moved) > 0.0).all():
                after = self._sum_values(scores, moved)
                if after < loss:
                    return moved, after
            step = step / 2.0
        return thresholds, loss

    # The formulas.

    def _evaluate(self, scores: FloatArray, thresholds: FloatArray) -> _Evaluated:
        """Distances and log-probabilities; those of the last call are kept, for the loss and then its derivatives."""
        last = self._evaluated
        if last is not None and last.scores is scores and last.thresholds is thresholds:
            return last
        bounds = np.concatenate(([-np.inf], thresholds, [np.inf]))
        low, high = (find_distances(bounds[self._levels + k], scores) for k in (0, 1))
        self._evaluated = _Evaluated(scores, thresholds, low, high, self._link.log_between(low, high))
        return self._evaluated

    def _find_values(self, scores: FloatArray, thresholds: FloatArray) -> FloatArray:
        """Minus the log-probability of each row's level."""
        return -self._evaluate(scores, thresholds).log_p

    def _sum_values(self, scores: FloatArray, thresholds: FloatArray) -> float:
        values = self._find_values(scores, thresholds)[self._weights > 0.0]
        return sum_over_rows(values, self._weights[self._weights > 0.0]) if np.isfinite(values).all() else np.inf

    def _differentiate(self, scores: FloatArray, thresholds: FloatArray) -> LevelTerms:
        """With a, b the distances of the upper and the lower threshold and p = F(a) - F(b): -log p."""
        (_, _, low, high, log_p), link = self._evaluate(scores, thresholds), self._link
        # The density over the probability of a level; squares of it are numbers.
        upper, lower = (apply_exp(np.minimum(link.log_density(end) - log_p, _LARGEST_LOG)) for end in (high, low))
        return LevelTerms(
            -upper,
            lower,
            upper**2 - upper * link.log_slope(high),
            lower**2 + lower * link.log_slope(low),
            -upper * lower,
        )

    def _sum_terms(self, terms: LevelTerms) -> Gradients:
        """Gradient and hessian of the sum over all rows by the thresholds; exact sums, whatever the order of rows."""
        n = len(self._present) - 1
        gradient, hessian = np.zeros(n), np.zeros((n, n))
        for k, (rows, own) in enumerate(zip(self._rows, self._row_weights, strict=True)):
            # The first level has no lower threshold, the last one no upper.
            if k < n:
                gradient[k] += sum_over_rows(terms.upper[rows], own)
                hessian[k, k] += sum_over_rows(terms.upper_twice[rows], own)
            if k > 0:
                gradient[k - 1] += sum_over_rows(terms.lower[rows], own)
                hessian[k - 1, k - 1] += sum_over_rows(terms.lower_twice[rows], own)
            if 0 < k < n:
                hessian[k - 1, k] = hessian[k, k - 1] = sum_over_rows(terms.mixed[rows], own)
        return gradient, hessian


def _average(values: FloatArray, weights: FloatArray | None) -> float:
    if weights is None:
        return sum_over_rows(values) / len(values)
    counted = weights > 0.0
    return sum_over_rows(values[counted], weights[counted]) / sum_over_rows(weights)
