"""The loss of ordered levels row by row: probabilities by their definition, derivatives by finite differences."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from math import erf, exp, log, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

DISTRIBUTIONS: dict[str, Callable[[float], float]] = {
    "logit": lambda z: 1.0 / (1.0 + exp(-z)),
    "probit": lambda z: 0.5 * (1.0 + erf(z / sqrt(2.0))),
    "cloglog": lambda z: 1.0 - exp(-exp(z)),
}


def find_probabilities(link: str, score: float, thresholds: Floats, log_spread: float = 0.0) -> list[float]:
    """P(level = k) = F((θ_k - f) / σ) - F((θ_{k-1} - f) / σ)."""
    below = [0.0, *(DISTRIBUTIONS[link]((t - score) / exp(log_spread)) for t in thresholds), 1.0]
    return [high - low for low, high in itertools.pairwise(below)]


def find_loss(link: str, level: int, score: float, thresholds: Floats, log_spread: float = 0.0) -> float:
    """Minus the log-probability of one row's level."""
    return -log(find_probabilities(link, score, thresholds, log_spread)[level])


def find_total(link: str, levels: NDArray[np.intp], scores: Floats, thresholds: Floats, weights: Floats) -> float:
    """The sum over all rows."""
    rows = zip(levels, scores, weights, strict=True)
    return float(sum(w * find_loss(link, int(k), float(s), thresholds) for k, s, w in rows))


def differentiate(link: str, level: int, score: float, thresholds: Floats, step: float = 1e-4) -> tuple[float, float]:
    """First and second derivative by the score, by central differences."""
    before, here, after = (find_loss(link, level, score + d, thresholds) for d in (-step, 0.0, step))
    return (after - before) / (2.0 * step), (after - 2.0 * here + before) / step**2


def differentiate_spread(
    link: str, level: int, score: float, thresholds: Floats, log_spread: float, step: float = 1e-4
) -> float:
    """First derivative by the logarithm of the spread, by a central difference."""
    before, after = (find_loss(link, level, score, thresholds, log_spread + d) for d in (-step, step))
    return (after - before) / (2.0 * step)


def find_information(link: str, score: float, thresholds: Floats, log_spread: float) -> float:
    """The Fisher information of the logarithm of the spread: the mean square of the derivative."""
    shares = find_probabilities(link, score, thresholds, log_spread)
    slopes = [differentiate_spread(link, k, score, thresholds, log_spread) for k in range(len(shares))]
    return sum(p * slope**2 for p, slope in zip(shares, slopes, strict=True))


def choose_least_error(probabilities: list[float], power: int = 1) -> int:
    """The first level with the least expected distance, or power of it."""
    errors = [sum(p * abs(k - j) ** power for j, p in enumerate(probabilities)) for k in range(len(probabilities))]
    return errors.index(min(errors))
