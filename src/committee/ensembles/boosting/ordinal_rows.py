"""Rows of ordered levels: the sums by which their thresholds are found, and the gradients by their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from committee.engines import get_engine
from committee.engines.exact_sums import sum_over_rows
from committee.ensembles.boosting.ordinal_link import CUMULATIVE_LINKS, find_distances
from committee.losses import apply_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["LevelRows", "LinkedRows", "make_level_rows"]

_LARGEST_LOG = 340.0


class LevelRows(Protocol):
    """What Newton's method and boosting ask of the rows; thresholds ascend."""

    def sum_losses(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> float:
        """Minus the log-likelihood; infinite where a level has no probability."""

    def sum_terms(
        self, scores: FloatArray, thresholds: FloatArray, n_jobs: int
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Minus the log-likelihood, its gradient by the thresholds, the diagonal of its hessian and that beside it."""

    def find_gradients(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians of the rows by their scores."""


def make_level_rows(link: str, levels: NDArray[np.intp], weights: FloatArray | None, n_levels: int) -> LevelRows:
    """The rows with a link: logistic ones by the core, where their formulas are short.

    Parameters
    ----------
    link : {"logit", "probit", "cloglog"}
        The distribution of the noise.
    levels : ndarray of shape (n_rows,)
        Their numbers; every level has a row.
    weights : ndarray of shape (n_rows,) or None
        Weights in rows.
    n_levels : int
        Number of levels.

    Examples
    --------
    >>> rows = make_level_rows("logit", np.array([0, 1]), None, 2)
    >>> round(rows.sum_losses(np.zeros(2), np.zeros(1), 1) / 2.0, 4)
    0.6931
    """
    if link == "logit":
        own = np.empty(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return get_engine().LogisticLevels(levels.astype(np.uint32), own, n_levels)
    return LinkedRows(link, levels, weights, n_levels)


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


class LinkedRows:
    """Rows with any cumulative link, by its logarithms and their derivatives.

    Parameters
    ----------
    link, levels, weights, n_levels
        As in `make_level_rows`.
    """

    def __init__(self, link: str, levels: NDArray[np.intp], weights: FloatArray | None, n_levels: int) -> None:
        self._link, self._levels = CUMULATIVE_LINKS[link], levels
        self._weights = np.ones(len(levels)) if weights is None else weights
        self._rows = [np.flatnonzero(levels == k) for k in range(n_levels)]
        self._row_weights = [None if weights is None else weights[rows] for rows in self._rows]
        self._evaluated: _Evaluated | None = None

    def sum_losses(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> float:
        """Minus the log-likelihood; infinite where a level has no probability."""
        counted = self._weights > 0.0
        values = -self._evaluate(scores, thresholds).log_p[counted]
        return sum_over_rows(values, self._weights[counted]) if np.isfinite(values).all() else np.inf

    def sum_terms(
        self, scores: FloatArray, thresholds: FloatArray, n_jobs: int
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Minus the log-likelihood, its gradient by the thresholds, the diagonal of its hessian and that beside it."""
        n, loss = len(thresholds), self.sum_losses(scores, thresholds, n_jobs)
        gradient, diagonal, beside = np.zeros(n), np.zeros(n), np.zeros(max(0, n - 1))
        if loss == np.inf:
            return loss, gradient, diagonal, beside
        terms = self._differentiate(scores, thresholds)
        for k, (rows, own) in enumerate(zip(self._rows, self._row_weights, strict=True)):
            # The first level has no lower threshold, the last one no upper.
            if k < n:
                gradient[k] += sum_over_rows(terms.upper[rows], own)
                diagonal[k] += sum_over_rows(terms.upper_twice[rows], own)
            if k > 0:
                gradient[k - 1] += sum_over_rows(terms.lower[rows], own)
                diagonal[k - 1] += sum_over_rows(terms.lower_twice[rows], own)
            if 0 < k < n:
                beside[k - 1] = sum_over_rows(terms.mixed[rows], own)
        return loss, gradient, diagonal, beside

    def find_gradients(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians of the rows by their scores."""
        terms = self._differentiate(scores, thresholds)
        return -(terms.upper + terms.lower), terms.upper_twice + terms.lower_twice + 2.0 * terms.mixed

    def _evaluate(self, scores: FloatArray, thresholds: FloatArray) -> _Evaluated:
        """Distances and log-probabilities; those of the last call are kept, for the loss and then its derivatives."""
        last = self._evaluated
        if last is not None and last.scores is scores and last.thresholds is thresholds:
            return last
        bounds = np.concatenate(([-np.inf], thresholds, [np.inf]))
        low, high = (find_distances(bounds[self._levels + k], scores) for k in (0, 1))
        self._evaluated = _Evaluated(scores, thresholds, low, high, self._link.log_between(low, high))
        return self._evaluated

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
