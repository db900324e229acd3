"""Rows of ordered levels: the sums by which their thresholds are found, and the gradients by their scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np

from committee.engines import get_engine
from committee.engines.exact_sums import sum_over_rows
from committee.ensembles.boosting.ordinal_link import CUMULATIVE_LINKS, find_distances, find_factors
from committee.losses import apply_exp

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["LevelRows", "LinkedRows", "make_level_rows"]

_LARGEST_LOG = 340.0
_LEAST_GRADIENT = -10.0
"""Of the loss by the logarithm of a spread: a row counts as at most about ten spreads away from its level."""
_LEAST_PROBABILITY = 1e-15


class LevelRows(Protocol):
    """What Newton's method and boosting ask of the rows; thresholds ascend.

    Scores, gradients and hessians are one array, those of the first score of all rows before those of the second one,
    the logarithm of the spread.
    """

    def sum_losses(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> float:
        """Minus the log-likelihood; infinite where a level has no probability."""

    def sum_terms(
        self, scores: FloatArray, thresholds: FloatArray, n_jobs: int
    ) -> tuple[float, FloatArray, FloatArray, FloatArray]:
        """Minus the log-likelihood, its gradient by the thresholds, the diagonal of its hessian and that beside it."""

    def find_gradients(self, scores: FloatArray, thresholds: FloatArray, n_jobs: int) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians of the rows by their scores.

        By the logarithm of a spread the gradient is bounded below, and the hessian is its expectation, the Fisher
        information.
        """


def make_level_rows(
    link: str, levels: NDArray[np.intp], weights: FloatArray | None, n_levels: int, n_scores: int = 1
) -> LevelRows:
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
    n_scores : {1, 2}
        Two where every row has a spread of its own.

    Examples
    --------
    >>> rows = make_level_rows("logit", np.array([0, 1]), None, 2)
    >>> round(rows.sum_losses(np.zeros(2), np.zeros(1), 1) / 2.0, 4)
    0.6931
    """
    if link == "logit":
        own = np.empty(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return get_engine().LogisticLevels(levels.astype(np.uint32), own, n_levels, n_scores)
    return LinkedRows(link, levels, weights, n_levels, n_scores)


class LevelTerms(NamedTuple):
    """Derivatives of minus the log-probability of each row's level by its upper and its lower threshold."""

    upper: FloatArray
    lower: FloatArray
    upper_twice: FloatArray
    lower_twice: FloatArray
    mixed: FloatArray


class _Evaluated(NamedTuple):
    """Distances of each row from its lower and its upper threshold in spreads, and its level's log-probability."""

    scores: FloatArray
    thresholds: FloatArray
    factors: FloatArray | None
    low: FloatArray
    high: FloatArray
    log_p: FloatArray


class LinkedRows:
    """Rows with any cumulative link, by its logarithms and their derivatives.

    Parameters
    ----------
    link, levels, weights, n_levels, n_scores
        As in `make_level_rows`.
    """

    def __init__(
        self, link: str, levels: NDArray[np.intp], weights: FloatArray | None, n_levels: int, n_scores: int = 1
    ) -> None:
        self._link, self._levels, self._n_scores = CUMULATIVE_LINKS[link], levels, n_scores
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
        factors = self._evaluate(scores, thresholds).factors
        if factors is not None:
            squares = factors * factors
            terms = LevelTerms(*(part * factors for part in terms[:2]), *(part * squares for part in terms[2:]))
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
        terms, own = self._differentiate(scores, thresholds), self._evaluate(scores, thresholds)
        gradients = -(terms.upper + terms.lower)
        hessians = terms.upper_twice + terms.lower_twice + 2.0 * terms.mixed
        if own.factors is None:
            return gradients, hessians
        by_spread = np.maximum(-(terms.upper * own.high + terms.lower * own.low), _LEAST_GRADIENT)
        information = self._find_information(scores, thresholds, own.factors)
        gradients, hessians = gradients * own.factors, hessians * (own.factors * own.factors)
        return np.concatenate((gradients, by_spread)), np.concatenate((hessians, information))

    def _find_information(self, scores: FloatArray, thresholds: FloatArray, factors: FloatArray) -> FloatArray:
        """The Fisher information of the logarithms of the spreads.

        With z the distances from all thresholds, the sum over the levels of the squared change of z F'(z), over their
        probabilities.
        """
        n_rows, link = len(self._levels), self._link
        information, below, product = np.zeros(n_rows), np.zeros(n_rows), np.zeros(n_rows)
        for threshold in (*thresholds, None):
            if threshold is None:
                next_below, next_product = np.ones(n_rows), np.zeros(n_rows)
            else:
                z = find_distances(threshold, scores[:n_rows], factors)
                next_below, next_product = apply_exp(link.log_below(z)), z * apply_exp(link.log_density(z))
            information += np.square(next_product - product) / np.maximum(next_below - below, _LEAST_PROBABILITY)
            below, product = next_below, next_product
        return information

    def _evaluate(self, scores: FloatArray, thresholds: FloatArray) -> _Evaluated:
        """Distances and log-probabilities; those of the last call are kept, for the loss and then its derivatives."""
        last = self._evaluated
        if last is not None and last.scores is scores and last.thresholds is thresholds:
            return last
        bounds, n_rows = np.concatenate(([-np.inf], thresholds, [np.inf])), len(self._levels)
        factors = find_factors(scores[n_rows:]) if self._n_scores > 1 else None
        low, high = (find_distances(bounds[self._levels + k], scores[:n_rows], factors) for k in (0, 1))
        self._evaluated = _Evaluated(scores, thresholds, factors, low, high, self._link.log_between(low, high))
        return self._evaluated

    def _differentiate(self, scores: FloatArray, thresholds: FloatArray) -> LevelTerms:
        """With a, b the distances of the upper and the lower threshold and p = F(a) - F(b): -log p."""
        (*_, low, high, log_p), link = self._evaluate(scores, thresholds), self._link
        # The density over the probability of a level; squares of it are numbers.
        upper, lower = (apply_exp(np.minimum(link.log_density(end) - log_p, _LARGEST_LOG)) for end in (high, low))
        return LevelTerms(
            -upper,
            lower,
            upper**2 - upper * link.log_slope(high),
            lower**2 + lower * link.log_slope(low),
            -upper * lower,
        )
