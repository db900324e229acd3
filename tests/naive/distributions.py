"""Distributions by their definitions: densities, derivatives by finite differences, CRPS by summation."""

from __future__ import annotations

from math import exp, lgamma, log, pi, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def find_loss(name: str, y: float, location: float, log_spread: float) -> float:
    """Minus the log-likelihood of one row."""
    if name == "normal":
        z = (y - location) / exp(log_spread)
        return log_spread + 0.5 * z * z + 0.5 * log(2.0 * pi)
    if name == "lognormal":
        return find_loss("normal", log(y), location, log_spread) + log(y)
    m, r = exp(location), exp(-log_spread)
    likelihood = lgamma(y + r) - lgamma(r) - lgamma(y + 1.0) + r * log(r / (r + m)) + y * log(m / (r + m))
    return -likelihood


def differentiate(name: str, y: float, location: float, log_spread: float, step: float = 1e-5) -> tuple[float, float]:
    """Gradients by both scores, by central differences."""
    by_location = find_loss(name, y, location + step, log_spread) - find_loss(name, y, location - step, log_spread)
    by_spread = find_loss(name, y, location, log_spread + step) - find_loss(name, y, location, log_spread - step)
    return by_location / (2.0 * step), by_spread / (2.0 * step)


def find_information(name: str, location: float, log_spread: float) -> tuple[float, float]:
    """Fisher information by both scores: the variance of the gradient, of counts by summation."""
    if name != "negative_binomial":
        return exp(-2.0 * log_spread), 2.0
    m, r = exp(location), exp(-log_spread)
    most = int(m + 60.0 * sqrt(m + m * m / r)) + 60
    rows = [
        (exp(-find_loss(name, k, location, log_spread)), differentiate(name, k, location, log_spread))
        for k in range(most)
    ]
    return sum(p * g[0] ** 2 for p, g in rows), sum(p * g[1] ** 2 for p, g in rows)


def find_crps(probabilities: Floats, points: Floats, y: float) -> float:
    """∫ (F(t) - 1[y <= t])² dt of a distribution function that is constant between the points."""
    below = np.append((probabilities[:-1] - (points[:-1] >= y)) ** 2, 0.0)
    return float((below[:-1] * np.diff(points)).sum())
