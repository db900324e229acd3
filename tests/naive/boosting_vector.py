"""The executable textbook of trees whose leaves are vectors: the gains of all scores are added up."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Slopes = Callable[[Floats], tuple[Floats, Floats]]


def measure(g: Floats, h: Floats, lam: float) -> float:
    """What a node with these rows is worth to all scores."""
    return float((g.sum(axis=0) ** 2 / (h.sum(axis=0) + lam)).sum())


def find_split(X: Floats, g: Floats, h: Floats, lam: float, min_leaf: int) -> tuple[float, int, float]:
    """Best (gain, feature, threshold) of a node."""
    best = (0.0, -1, 0.0)
    for feature in range(X.shape[1]):
        for cut in np.unique(X[:, feature])[:-1]:
            left = X[:, feature] <= cut
            if min(left.sum(), (~left).sum()) < min_leaf:
                continue
            gain = (measure(g[left], h[left], lam) + measure(g[~left], h[~left], lam) - measure(g, h, lam)) / 2
            if gain > best[0] * (1 + 1e-9) + 1e-12:
                best = (gain, feature, cut)
    return best


def boost(
    X: Floats, slopes: Slopes, baseline: Floats, n_rounds: int, rate: float, *, n_leaves: int, lam: float, min_leaf: int
) -> Floats:
    """Scores of the training rows, of shape (n_rows, n_scores), after so many rounds."""
    scores = np.tile(baseline, (len(X), 1))
    for _ in range(n_rounds):
        g, h = slopes(scores)
        leaves = [(np.arange(len(X)), find_split(X, g, h, lam, min_leaf))]
        while len(leaves) < n_leaves:
            k = max(range(len(leaves)), key=lambda i: leaves[i][1][0])
            rows, (gain, feature, cut) = leaves[k]
            if gain <= 0.0:
                break
            left = X[rows, feature] <= cut
            parts = (rows[left], rows[~left])
            leaves[k : k + 1] = [(part, find_split(X[part], g[part], h[part], lam, min_leaf)) for part in parts]
        for rows, _ in leaves:
            scores[rows] -= rate * g[rows].sum(axis=0) / (h[rows].sum(axis=0) + lam)
    return scores
