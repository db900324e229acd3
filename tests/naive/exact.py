"""Exact sums by fractions, and weighted quantiles by sorting."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import isfinite, isnan, nan


def find_special(terms: Sequence[float]) -> float | None:
    """The sum where a term is not finite; None where all are."""
    special = [term for term in terms if not isfinite(term)]
    if not special:
        return None
    return nan if any(map(isnan, special)) or len(set(special)) > 1 else special[0]


def sum_fractions(terms: Sequence[float], factors: Sequence[float] | None = None) -> Fraction:
    """The sum of finite terms, or of their products."""
    ones = [1.0] * len(terms) if factors is None else factors
    return sum((Fraction(a) * Fraction(b) for a, b in zip(terms, ones, strict=True)), Fraction(0))


def round_fraction(exact: Fraction) -> float:
    """The nearest double; infinity beyond the largest."""
    try:
        return float(exact)
    except OverflowError:
        return float("inf") if exact > 0 else float("-inf")


def find_quantile(values: Sequence[float], weights: Sequence[int], level: float) -> float:
    """The least value with at least `level` of the weight at or below it; the middle where it is split just there."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    wanted, below = level * float(sum(weights)), 0
    for at, i in enumerate(order):
        below += weights[i]
        if below >= wanted or at + 1 == len(order):
            if below == wanted and at + 1 < len(order):
                low, high = values[i], values[order[at + 1]]
                return (low if low == high else low / 2 + high / 2) + 0.0
            return values[i] + 0.0
    raise ValueError("no values")
