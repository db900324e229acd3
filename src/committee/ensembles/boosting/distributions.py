"""Predicted distributions: one for each row, with moments, quantiles, densities and scores."""

from __future__ import annotations

from dataclasses import dataclass
from math import log, pi
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from scipy import special, stats

from committee.base import resolve_seed
from committee.exceptions import DataError
from committee.losses import apply_exp, apply_expm1, apply_log, apply_log1p, apply_log_gamma
from committee.value_checks import read_coverage, read_doubles, read_levels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.params import RandomState
    from committee.typing import FloatArray

__all__ = ["DistributionName", "PredictedDistribution", "find_means"]

DistributionName: TypeAlias = Annotated[
    Literal["normal", "lognormal", "negative_binomial"],
    "The distribution of the target given a row: normal; normal on the scale of logarithms, for positive targets; or "
    "negative binomial, for counts that vary more than those of a Poisson distribution.",
]

_MOST_LOG = 300.0
_MOST_LOG_MEAN, _LEAST_LOG_DISPERSION, _MOST_LOG_DISPERSION = 40.0, -18.0, 10.0
"""Bounds of scores, those that the loss has."""


def find_means(distribution: str, scores: FloatArray) -> FloatArray:
    """The mean of each row's distribution.

    Parameters
    ----------
    distribution : {"normal", "lognormal", "negative_binomial"}
        The distribution.
    scores : ndarray of shape (n_rows, 2)
        Location and logarithm of the spread.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> find_means("negative_binomial", np.array([[0.0, 1.0]]))
    array([1.])
    """
    return PredictedDistribution.of(distribution, scores).find_mean()


@dataclass(frozen=True)
class PredictedDistribution:
    """The distribution of the target of each row, as `DistributionalBoostingRegressor` predicts it.

    Attributes
    ----------
    name : {"normal", "lognormal", "negative_binomial"}
        The distribution.
    location : ndarray of shape (n_rows,)
        The mean μ (normal), the mean of the logarithm (lognormal), the mean (negative binomial).
    spread : ndarray of shape (n_rows,)
        The standard deviation σ (normal), that of the logarithm (lognormal), the dispersion α (negative binomial), with
        which the variance is μ + α μ².

    Examples
    --------
    >>> known = PredictedDistribution("normal", np.array([0.0, 1.0]), np.array([1.0, 2.0]))
    >>> known.find_interval(0.9).round(2)
    array([[-1.64,  1.64],
           [-2.29,  4.29]])
    """

    name: str
    location: FloatArray
    spread: FloatArray

    @classmethod
    def of(cls, name: str, scores: FloatArray) -> PredictedDistribution:
        """From scores of shape (n_rows, 2)."""
        if name != "negative_binomial":
            return cls(name, scores[:, 0].copy(), apply_exp(np.clip(scores[:, 1], -_MOST_LOG, _MOST_LOG)))
        dispersion = apply_exp(np.clip(scores[:, 1], _LEAST_LOG_DISPERSION, _MOST_LOG_DISPERSION))
        return cls(name, apply_exp(np.clip(scores[:, 0], -_MOST_LOG_MEAN, _MOST_LOG_MEAN)), dispersion)

    def to_scipy(self) -> Any:
        """The frozen distribution of ``scipy.stats``."""
        if self.name == "normal":
            return stats.norm(self.location, self.spread)
        if self.name == "lognormal":
            return stats.lognorm(self.spread, scale=apply_exp(self.location))
        return stats.nbinom(1.0 / self.spread, 1.0 / (1.0 + self.spread * self.location))

    def find_mean(self) -> FloatArray:
        """Mean of each row's distribution."""
        if self.name == "lognormal":
            return apply_exp(self.location + 0.5 * np.square(self.spread))
        return self.location.copy()

    def find_standard_deviation(self) -> FloatArray:
        """Standard deviation of each row's distribution."""
        if self.name == "normal":
            return self.spread.copy()
        if self.name == "negative_binomial":
            return np.asarray(np.sqrt(self.location + self.spread * np.square(self.location)))
        with np.errstate(over="ignore"):
            return self.find_mean() * np.sqrt(apply_expm1(np.square(self.spread)))

    def find_quantiles(self, q: ArrayLike = 0.5) -> FloatArray:
        """Quantiles of each row's distribution.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,), default=0.5
            Levels in [0, 1].

        Returns
        -------
        ndarray of shape (n_rows,), or (n_rows, n_quantiles) where q is an array
        """
        levels = read_levels(q)
        known = self.to_scipy()
        columns = [np.asarray(known.ppf(level), dtype=np.float64) for level in np.atleast_1d(levels)]
        if levels.ndim == 0:
            return columns[0]
        return np.stack(columns, axis=1) if columns else np.empty((len(self.location), 0))

    def find_interval(self, coverage: float = 0.9) -> FloatArray:
        """The central interval that holds the target with a given probability.

        Parameters
        ----------
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n_rows, 2)
        """
        tail = 0.5 * (1.0 - read_coverage(coverage))
        return self.find_quantiles([tail, 1.0 - tail])

    def find_probability(self, y: ArrayLike) -> FloatArray:
        """Probability of a target of at most y: the distribution function.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            A value for each row.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        return np.asarray(self.to_scipy().cdf(self._read_target(y)), dtype=np.float64)

    def find_log_likelihood(self, y: ArrayLike) -> FloatArray:
        """Logarithm of the density (of counts: the probability) at y.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            A value for each row.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values = self._read_target(y)
        if self.name == "negative_binomial":
            return self._find_log_probability(values)
        is_within = values > 0.0 if self.name == "lognormal" else np.ones(len(values), dtype=bool)
        # The logarithm is normal; its density is that of the target times the target.
        logs = apply_log(np.where(is_within, values, 1.0)) if self.name == "lognormal" else values
        z = (logs - self.location) / self.spread
        found = -0.5 * np.square(z) - apply_log(self.spread) - 0.5 * log(2.0 * pi)
        if self.name == "lognormal":
            found -= logs
        return np.where(is_within, found, np.where(np.isnan(values), np.nan, -np.inf))

    def _find_log_probability(self, counts: FloatArray) -> FloatArray:
        """With r = 1 / α and s = α μ / (1 + α μ): ln Γ(y + r) - ln Γ(r) - ln Γ(y + 1) + r ln(1 - s) + y ln s."""
        is_count = (counts >= 0.0) & (counts == np.floor(counts)) & np.isfinite(counts)
        y, r, odds = np.where(is_count, counts, 0.0), 1.0 / self.spread, self.spread * self.location
        orders = apply_log_gamma(y + r) - apply_log_gamma(r) - apply_log_gamma(y + 1.0)
        found = orders - r * apply_log1p(odds) + y * (apply_log(odds) - apply_log1p(odds))
        return np.where(is_count, found, np.where(np.isnan(counts), np.nan, -np.inf))

    def find_crps(self, y: ArrayLike) -> FloatArray:
        """Continuous ranked probability score of each row, E|Y - y| - E|Y - Y'| / 2: smaller is better [Gneiting2007].

        It is in the unit of the target, and is the absolute error where the distribution is a point.

        Parameters
        ----------
        y : array-like of shape (n_rows,)
            The true values.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        values = self._read_target(y)
        if self.name == "normal":
            z = (values - self.location) / self.spread
            within = z * (2.0 * special.ndtr(z) - 1.0) + 2.0 * stats.norm.pdf(z) - 1.0 / np.sqrt(np.pi)
            return np.asarray(self.spread * within)
        if self.name == "lognormal":
            return self._score_lognormal(values)
        return self._score_counts(values)

    def _score_lognormal(self, y: FloatArray) -> FloatArray:
        """[Baran2015], equation 5."""
        z = (apply_log(np.maximum(y, 0.0)) - self.location) / self.spread
        inner = special.ndtr(z - self.spread) + special.ndtr(self.spread / np.sqrt(2.0)) - 1.0
        return np.asarray(y * (2.0 * special.ndtr(z) - 1.0) - 2.0 * self.find_mean() * inner)

    def _score_counts(self, y: FloatArray) -> FloatArray:
        """[WeiHeld2014], section 2."""
        n, p = 1.0 / self.spread, 1.0 / (1.0 + self.spread * self.location)
        below, moved = stats.nbinom.cdf(y, n, p), stats.nbinom.cdf(y - 1.0, n + 1.0, p)
        tail = special.hyp2f1(n + 1.0, 0.5, 2.0, -4.0 * (1.0 - p) / p**2)
        return np.asarray(y * (2.0 * below - 1.0) - n * (1.0 - p) / p**2 * (p * (2.0 * moved - 1.0) + tail))

    def draw_samples(self, n_samples: int = 1, random_state: RandomState = None) -> FloatArray:
        """Draw targets from each row's distribution.

        Parameters
        ----------
        n_samples : int, default=1
            Draws of each row.
        random_state : int, RandomState instance or None, default=None
            Seed of the draws.

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
        """
        generator = np.random.default_rng(resolve_seed(random_state))
        drawn = self.to_scipy().rvs(size=(int(n_samples), len(self.location)), random_state=generator)
        return np.ascontiguousarray(np.asarray(drawn, dtype=np.float64).T)

    def _read_target(self, y: ArrayLike) -> FloatArray:
        values = read_doubles(y, "y", "a number for each row")
        if values.shape != self.location.shape:
            raise DataError(f"y must have a number for each of {len(self.location)} rows; got shape {values.shape}.")
        return values
