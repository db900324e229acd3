"""Split criteria from their formulas, over rows as they are.

Sums that decide a split are integers, as in the core, and scores are the same expressions of doubles in the same
order, so that ties fall the same way. Values and impurities are the textbook's, from the raw numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from math import frexp, inf, lcm, ldexp
from operator import add

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def fix_weights(weights: Floats, whole_bits: int, bits: int) -> tuple[Ints, float]:
    """Weights as integers and their unit: whole multiples where there is a common measure, else fixed point."""
    lightest, heaviest = weights[weights > 0].min(), weights.max()
    parts = 1
    for w in np.unique(weights):
        parts = lcm(parts, Fraction(w / lightest).limit_denominator(4096).denominator)
        if parts > 4096:  # and it only grows
            break
    multiples = weights / lightest * min(parts, 4097)
    whole = parts <= 4096 and multiples.max() <= 65535 and multiples.sum() < 2 ** (whole_bits - 1)
    if whole and np.all(abs(multiples - multiples.round()) <= 1e-12 * multiples.round()):
        return multiples.round().astype(np.int64), lightest / parts
    unit = ldexp(heaviest, -min(bits - 1 - frexp((weights / heaviest).sum())[1], bits - 1))
    return np.where(weights > 0, np.maximum(1, (weights / unit).round()), 0).astype(np.int64), unit


def fix_targets(y: Floats, weights: Ints, centre: bool) -> tuple[Ints, Floats, float]:
    """Targets as integers around their means, which are rounded to 20 bits of the range; the means; the unit."""
    total = weights.sum()
    means = reduce(add, (w / total * row for w, row in zip(weights, y, strict=True))) * centre
    largest = abs(y - means)[weights > 0].max()
    exponent = frexp(largest)[1] if largest > 0 else 0
    grid = ldexp(1.0, exponent - 20)
    means = (means / grid).round() * grid
    unit = ldexp(1.0, exponent - min(42, 61 - int(total).bit_length()))
    return ((y - means) / unit).round().astype(np.int64), means, unit


LOG2_HIGH, LOG2_LOW = float.fromhex("0x1.62e42fee00000p-1"), float.fromhex("0x1.a39ef35793c76p-33")
SERIES = [1.0 / odd for odd in range(21, 2, -2)]


def natural_log(x: float) -> float:
    m, exponent = frexp(x)
    if m < 0.70710678118654752440:
        m, exponent = m * 2, exponent - 1
    s = (m - 1.0) / (m + 1.0)
    z, series = s * s, 1.0 / 23.0
    for part in SERIES:
        series = series * z + part
    return exponent * LOG2_HIGH + (2.0 * s + (2.0 * s * z * series + exponent * LOG2_LOW))


def weigh_log2(x: float, whole: float) -> float:
    return x * (natural_log(x / whole) * 1.4426950408889634074) if x > 0 else 0.0


WORTHS: dict[str, Callable[[list[float], float], float]] = {
    "gini": lambda c, w: reduce(add, (k * k for k in c), 0.0) / w,
    "entropy": lambda c, w: reduce(add, (weigh_log2(k, w) for k in c), 0.0),
    "error": lambda c, w: max(c),
    "squared_error": lambda c, w: c[0] * c[0] / w,
    "poisson": lambda c, w: c[0] * natural_log(c[0] / w) if c[0] > 0 else -inf,
}
WORTHS |= {"gain_ratio": WORTHS["entropy"], "friedman_mse": WORTHS["squared_error"]}


class SumMeasure:
    """Criteria over sums: weights of classes, or weighted targets. A node is worth more the purer it is."""

    def __init__(self, criterion: str, parts: list[Ints], weights: Ints, binary: bool, average: bool) -> None:
        self.criterion, self.parts, self.weights, self.binary, self.average = criterion, parts, weights, binary, average

    def sum_up(self, rows: Ints) -> tuple[list[list[float]], float]:
        return [np.add.reduce(part[rows]).astype(float).tolist() for part in self.parts], self.sum_weights(rows)

    def sum_weights(self, rows: Ints) -> float:
        return float(np.add.reduce(self.weights[rows]))

    def measure_worth(self, rows: Ints) -> float:
        sums, w = self.sum_up(rows)
        worth = reduce(add, (WORTHS[self.criterion](c, w) for c in sums), 0.0)
        return worth / len(sums) if self.average else worth

    def measure_level(self, rows: Ints) -> float:
        """What monotone constraints compare: the share of class 1, or the mean target."""
        sums, w = self.sum_up(rows)
        return sums[0][-1] / w

    order_level = measure_level  # categories are ordered by the same

    def score(self, left: Ints, right: Ints, bounded: bool) -> float:
        rows = np.concatenate([left, right])
        if self.criterion == "gini" and self.binary and not bounded:
            (counts,), weight = self.sum_up(rows)
            (left_counts,), left_weight = self.sum_up(left)
            d = left_counts[1] * weight - counts[1] * left_weight
            return d * d / (left_weight * (weight - left_weight))
        if self.criterion in ("squared_error", "friedman_mse") and len(self.parts) == 1:
            (((yl,),), wl), (((yr,),), wr) = self.sum_up(left), self.sum_up(right)
            return (yl * yl * wr + yr * yr * wl) / (wl * wr)
        a, b = self.measure_worth(left), self.measure_worth(right)
        if self.criterion != "gain_ratio":
            return a + b
        gain, (wl, wr) = a + b - self.measure_worth(rows), map(self.sum_weights, (left, right))
        return gain / -(weigh_log2(wl, wl + wr) + weigh_log2(wr, wl + wr)) if gain > 0 else 0.0

    def measure_decrease(self, left: Ints, right: Ints) -> float:
        whole = self.measure_worth(np.concatenate([left, right]))
        return max(0.0, self.measure_worth(left) + self.measure_worth(right) - whole)


class MedianMeasure:
    """Absolute error: the sum of weighted distances from the median."""

    def __init__(self, targets: Ints, weights: Ints) -> None:
        self.targets, self.weights = targets, weights

    def find_median(self, rows: Ints, output: int) -> int:
        y, w = self.targets[rows, output], self.weights[rows]
        order = np.argsort(y, kind="stable")
        return int(y[order][np.searchsorted(2 * w[order].cumsum(), w.sum())])

    def list_deviations(self, rows: Ints) -> list[float]:
        y, w = self.targets[rows], self.weights[rows]
        return [float(w @ abs(y[:, o] - self.find_median(rows, o))) for o in range(y.shape[1])]

    def measure_level(self, rows: Ints) -> float:
        return float(self.find_median(rows, 0))

    def order_level(self, rows: Ints) -> float:
        return float(self.weights[rows] @ self.targets[rows, 0]) / float(self.weights[rows].sum())

    def score(self, left: Ints, right: Ints, bounded: bool) -> float:
        pairs = zip(self.list_deviations(left), self.list_deviations(right), strict=True)
        return -reduce(add, (deviation for pair in pairs for deviation in pair))

    def measure_decrease(self, left: Ints, right: Ints) -> float:
        whole = reduce(add, self.list_deviations(np.concatenate([left, right])))
        return max(0.0, whole + self.score(left, right, False))


def find_value(criterion: str, y: Floats, w: Floats) -> float:
    """What a leaf predicts for one output: the mean, or the median (the middle of the two where it is not unique)."""
    if criterion != "absolute_error":
        return float(w @ y / w.sum())
    order = np.argsort(y, kind="stable")
    y, below = y[order], w[order].cumsum() / w.sum()
    at = int(np.searchsorted(below, 0.5 - 1e-12))
    return float(y[at] / 2 + y[at + 1] / 2) if below[at] < 0.5 + 1e-12 and at + 1 < len(y) else float(y[at])


def measure_value_impurity(criterion: str, y: Floats, w: Floats) -> float:
    """Mean loss of one output around the value of the node."""
    value, shares = find_value(criterion, y, w), w / w.sum()
    if criterion == "absolute_error":
        return float(shares @ abs(y - value))
    if criterion != "poisson":
        return float(shares @ (y - value) ** 2)
    return float(shares @ np.where(y > 0, y * np.log(np.where(y > 0, y, 1.0) / (value or 1.0)), 0.0))


def measure_class_impurity(criterion: str, class_weights: Floats) -> float:
    """Impurity of one output from the weights of its classes."""
    p = class_weights / class_weights.sum()
    if criterion == "gini":
        return float(1 - p @ p)
    if criterion == "error":
        return float(1 - p.max())
    return float(-(p[p > 0] @ np.log2(p[p > 0])))
