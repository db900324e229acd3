"""The gradients of the ranking losses, pair by pair, and the measures of a ranking, in plain NumPy."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def find_dcg(gains: Floats, k: int) -> float:
    """Discounted sum of the gains, which are in the order of the ranking."""
    return float(sum(gain / np.log2(2.0 + place) for place, gain in enumerate(gains[:k])))


def find_ndcg(y: Floats, scores: Floats, k: int) -> float:
    """NDCG of the first k rows of one query; one where no row has a gain."""
    gains = 2.0**y - 1.0
    best = find_dcg(np.sort(gains)[::-1], k)
    return 1.0 if best == 0.0 else find_dcg(gains[np.argsort(-scores, kind="stable")], k) / best


def find_average_precision(y: Floats, scores: Floats, k: int | None = None) -> float:
    """Mean, over the relevant rows among the first k, of the share of relevant rows up to each."""
    relevant = (y > 0)[np.argsort(-scores, kind="stable")]
    n_possible = min(int(relevant.sum()), len(y) if k is None else k)
    if n_possible == 0:
        return 1.0
    shares = [relevant[: i + 1].mean() for i in np.flatnonzero(relevant[:k])]
    return float(np.sum(shares) / n_possible)


def lambdarank(
    y: Floats, s: Floats, sigmoid: float = 1.0, level: int = 30, normalize: bool = True
) -> tuple[Floats, Floats]:
    """Gradients and hessians of one query, as LightGBM has them."""
    gains, g, h = 2.0**y - 1.0, np.zeros(len(y)), np.zeros(len(y))
    best = find_dcg(np.sort(gains)[::-1], level)
    if best == 0.0:
        return g, h
    order, total = np.argsort(-s, kind="stable"), 0.0
    for a in range(min(level, len(y))):
        for b in range(a + 1, len(y)):
            first, second = order[a], order[b]
            if y[first] == y[second]:
                continue
            high, low = (first, second) if y[first] > y[second] else (second, first)
            delta = (gains[high] - gains[low]) * (1.0 / np.log2(2.0 + a) - 1.0 / np.log2(2.0 + b)) / best
            if normalize and s.max() != s.min():
                delta /= 0.01 + abs(s[high] - s[low])
            p = 1.0 / (1.0 + np.exp(sigmoid * (s[high] - s[low])))
            g[high] -= sigmoid * delta * p
            g[low] += sigmoid * delta * p
            h[[high, low]] += sigmoid**2 * delta * p * (1.0 - p)
            total += 2.0 * sigmoid * delta * p
    scale = np.log2(1.0 + total) / total if normalize and total > 0.0 else 1.0
    return g * scale, h * scale


def list_pairs(y: Floats, s: Floats, level: int) -> list[tuple[int, int]]:
    """Pairs (better, worse) of rows, one of them among the first by the scores."""
    place = np.empty(len(y), dtype=int)
    place[np.argsort(-s, kind="stable")] = np.arange(len(y))
    rows = range(len(y))
    return [(i, j) for i in rows for j in rows if y[i] > y[j] and min(place[i], place[j]) < level]


def pairwise(
    y: Floats, s: Floats, sigmoid: float = 1.0, level: int = 30, normalize: bool = True
) -> tuple[Floats, Floats]:
    """Gradients and hessians of one query: pairs count alike, divided by the number of other rows."""
    g, h, total = np.zeros(len(y)), np.zeros(len(y)), 0.0
    for i, j in list_pairs(y, s, level):
        weight = 1.0 / (len(y) - 1)
        if normalize and s.max() != s.min():
            weight /= 0.01 + abs(s[i] - s[j])
        p = 1.0 / (1.0 + np.exp(sigmoid * (s[i] - s[j])))
        g[i] -= sigmoid * weight * p
        g[j] += sigmoid * weight * p
        h[[i, j]] += sigmoid**2 * weight * p * (1.0 - p)
        total += 2.0 * sigmoid * weight * p
    scale = np.log2(1.0 + total) / total if normalize and total > 0.0 else 1.0
    return g * scale, h * scale


def pairwise_value(y: Floats, s: Floats, sigmoid: float = 1.0, level: int = 30) -> float:
    """Logistic loss of the pairs of one query, divided by its rows and by its other rows."""
    pairs = [np.log1p(np.exp(-sigmoid * (s[i] - s[j]))) for i, j in list_pairs(y, s, level)]
    return float(np.sum(pairs)) / (len(y) * max(1, len(y) - 1))


def listwise(y: Floats, s: Floats) -> tuple[Floats, Floats]:
    """Gradients and hessians of one query: cross entropy of softmax and gains, times the rows."""
    gains = 2.0**y - 1.0
    if gains.sum() == 0.0 or len(y) < 2:
        return np.zeros(len(y)), np.zeros(len(y))
    p = np.exp(s - s.max()) / np.exp(s - s.max()).sum()
    return len(y) * (p - gains / gains.sum()), len(y) * p * (1.0 - p)


def listwise_value(y: Floats, s: Floats) -> float:
    """Cross entropy of one query."""
    gains = 2.0**y - 1.0
    if gains.sum() == 0.0 or len(y) < 2:
        return 0.0
    return float(np.log(np.exp(s).sum()) - (gains * s).sum() / gains.sum())
