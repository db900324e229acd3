"""Cumulative links: from a score and ordered thresholds to the probabilities of ordered levels [McCullagh1980]."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import log_ndtr

from committee.engines.formula import Arithmetic, ConstantTerm, JoinedTerms, RowFunction, TakenColumns, add_weighted
from committee.losses import apply_exp, apply_expm1, apply_log, apply_sigmoid, apply_softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = ["CUMULATIVE_LINKS", "CumulativeLink", "OrdinalLink", "choose_level_term", "choose_levels", "find_factors"]

_FURTHEST = 700.0
"""Distances of scores from thresholds, bounded by this, whose exponential is a number."""
_MOST_LOG_SPREAD = 4.0
"""Bound of the second score, the one that the loss has."""
_LOG_ROOT = 0.5 * float(apply_log(np.asarray(2.0 * np.pi)))


class CumulativeLink(NamedTuple):
    """A distribution F of the noise that is added to the score.

    Attributes
    ----------
    log_below, log_above : callable
        Logarithms of F and of 1 - F.
    log_density : callable
        Logarithm of the density.
    log_slope : callable
        Its derivative.
    log_difference : callable or None
        The logarithm of F(high) - F(low), where there is a formula in which nothing cancels.
    """

    log_below: Callable[[FloatArray], FloatArray]
    log_above: Callable[[FloatArray], FloatArray]
    log_density: Callable[[FloatArray], FloatArray]
    log_slope: Callable[[FloatArray], FloatArray]
    log_difference: Callable[[FloatArray, FloatArray], FloatArray] | None = None

    def log_between(self, low: FloatArray, high: FloatArray) -> FloatArray:
        """The logarithm of F(high) - F(low), from the tail that is the smaller, so that nothing cancels."""
        if self.log_difference is not None:
            return self.log_difference(low, high)
        below, above = self.log_below(high), self.log_above(low)
        is_left = below < above
        larger = np.where(is_left, below, above)
        smaller = np.where(is_left, self.log_below(low), self.log_above(high))
        with np.errstate(divide="ignore"):
            return np.asarray(larger + apply_log(-apply_expm1(np.minimum(smaller - larger, 0.0))))


def _log_logistic(z: FloatArray) -> FloatArray:
    return -apply_softplus(-z)


def _log_logistic_density(z: FloatArray) -> FloatArray:
    far = -np.abs(z)
    return np.asarray(far - 2.0 * apply_softplus(far))


def _log_logistic_difference(low: FloatArray, high: FloatArray) -> FloatArray:
    """F(high) - F(low) = F(high) (1 - F(low)) (1 - exp(low - high))."""
    with np.errstate(divide="ignore"):
        apart = apply_log(-apply_expm1(np.minimum(low - high, 0.0)))
    return np.asarray(apart - (apply_softplus(-high) + apply_softplus(low)))


def _log_logistic_slope(z: FloatArray) -> FloatArray:
    """-tanh(z / 2)."""
    return np.asarray(1.0 - 2.0 * apply_sigmoid(z))


#: By the names that the parameter ``link`` has.
CUMULATIVE_LINKS = {
    "logit": CumulativeLink(
        _log_logistic,
        lambda z: _log_logistic(-z),
        _log_logistic_density,
        _log_logistic_slope,
        _log_logistic_difference,
    ),
    "probit": CumulativeLink(
        lambda z: np.asarray(log_ndtr(z)),
        lambda z: np.asarray(log_ndtr(-z)),
        lambda z: -0.5 * z**2 - _LOG_ROOT,
        lambda z: -z,
    ),
    "cloglog": CumulativeLink(
        lambda z: apply_log(-apply_expm1(-apply_exp(z))),
        lambda z: -apply_exp(z),
        lambda z: z - apply_exp(z),
        lambda z: 1.0 - apply_exp(z),
    ),
}


def find_distances(thresholds: FloatArray, scores: FloatArray, factors: FloatArray | None = None) -> FloatArray:
    """Thresholds minus scores, over the spreads, bounded; thresholds and the others may differ by an axis."""
    distances = thresholds - scores
    return np.clip(distances if factors is None else distances * factors, -_FURTHEST, _FURTHEST)


def find_factors(log_spreads: FloatArray) -> FloatArray:
    """One over the spreads."""
    return apply_exp(-np.clip(log_spreads, -_MOST_LOG_SPREAD, _MOST_LOG_SPREAD))


def _find_costs(n_levels: int, by: str) -> FloatArray:
    """What each level costs where another one is true."""
    distances = np.abs(np.arange(n_levels)[:, None] - np.arange(n_levels)).astype(np.float64)
    costs: FloatArray = distances if by == "absolute_error" else distances * distances
    return costs


def choose_levels(probabilities: FloatArray, by: str) -> NDArray[np.intp]:
    """The number of the level that is predicted for each row.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_levels)
        Levels in their order.
    by : {"probability", "absolute_error", "squared_error"}
        The most probable level, the first of equals; or the first one with the least expected distance in levels, or
        square of it, which is the level next to the expected one.

    Examples
    --------
    >>> shares = np.array([[0.4, 0.3, 0.3]])
    >>> choose_levels(shares, "probability"), choose_levels(shares, "absolute_error")
    (array([0]), array([1]))
    """
    if by == "probability":
        return np.asarray(probabilities.argmax(axis=1))
    distances = _find_costs(probabilities.shape[1], by)
    # Level by level, so that a row alone gets the bits that it gets among others.
    errors = np.zeros_like(probabilities)
    for k in range(len(distances)):
        errors += probabilities[:, k : k + 1] * distances[k]
    return np.asarray(errors.argmin(axis=1))


def choose_level_term(probabilities: FormulaTerm, by: str) -> FormulaTerm:
    """`choose_levels`, as a term of a formula."""
    if by == "probability":
        return RowFunction("argmax", probabilities)
    distances = _find_costs(probabilities.width, by)
    columns = [TakenColumns(probabilities, (k,)) for k in range(probabilities.width)]
    nearness = [Arithmetic("*", column, ConstantTerm(-own)) for column, own in zip(columns, distances, strict=True)]
    return RowFunction("argmax", add_weighted(np.ones(len(nearness)), nearness))


@dataclass(frozen=True)
class OrdinalLink:
    """What turns the scores of a fitted ordinal model into probabilities.

    Attributes
    ----------
    kind : {"logit", "probit", "cloglog"}
        The distribution of the noise.
    thresholds : ndarray of shape (n_rounds, n_levels - 1)
        Those after each round, ascending in each row. Two are equal where the level between them has probability
        zero; levels without training rows at the ends have infinite ones.
    """

    kind: str
    thresholds: FloatArray

    def find_probabilities(self, scores: FloatArray, n_rounds: int | None = None) -> FloatArray:
        """Probabilities of the levels, of shape (n_rows, n_levels).

        Parameters
        ----------
        scores : ndarray of shape (n_rows,) or (n_rows, n_scores)
            After that round: f, and where rows have a spread its logarithm.
        n_rounds : int, optional
            By default all.
        """
        own = self.thresholds[-1 if n_rounds is None else n_rounds - 1]
        link, scores = CUMULATIVE_LINKS[self.kind], np.asarray(scores).reshape(len(scores), -1)
        bounds = np.concatenate(([-np.inf], own, [np.inf]))
        factors = find_factors(scores[:, 1:]) if scores.shape[1] > 1 else None
        distances = find_distances(bounds, scores[:, :1], factors)
        with np.errstate(invalid="ignore"):  # the numbers of a file may be none
            shares = apply_exp(link.log_between(distances[:, :-1], distances[:, 1:]))
        shares[:, bounds[:-1] == bounds[1:]] = 0.0
        total = np.zeros(len(shares))
        for k in range(shares.shape[1]):
            total += shares[:, k]
        return np.asarray(shares / total[:, None])

    def to_term(self, scores: FormulaTerm) -> FormulaTerm:
        """`find_probabilities` after all rounds, as a term of a formula; not of normal noise."""

        def constant(value: float) -> FormulaTerm:
            return ConstantTerm(np.array([value]))

        own = np.clip(self.thresholds[-1], -np.finfo(float).max, np.finfo(float).max)
        beyond = Arithmetic("-", ConstantTerm(own), TakenColumns(scores, (0,)) if scores.width > 1 else scores)
        if scores.width > 1:
            low, high = constant(-_MOST_LOG_SPREAD), constant(_MOST_LOG_SPREAD)
            spread = Arithmetic("min", Arithmetic("max", TakenColumns(scores, (1,)), low), high)
            inverse = RowFunction("exp", Arithmetic("-", constant(0.0), spread), is_exact=False)
            beyond = Arithmetic("*", beyond, inverse)
        distances = Arithmetic("min", Arithmetic("max", beyond, constant(-_FURTHEST)), constant(_FURTHEST))
        below: FormulaTerm = RowFunction("sigmoid", distances, is_exact=False)
        if self.kind == "cloglog":
            hazards = RowFunction("exp", distances, is_exact=False)
            above = RowFunction("exp", Arithmetic("-", constant(0.0), hazards), is_exact=False)
            below = Arithmetic("-", constant(1.0), above)
        shares = Arithmetic("-", JoinedTerms((below, constant(1.0))), JoinedTerms((constant(0.0), below)))
        return Arithmetic("/", shares, RowFunction("sum", shares))
