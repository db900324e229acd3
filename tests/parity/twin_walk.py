"""Two trees walked side by side from their roots, with the rows that reach each node."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

RELATIVE = 1e-6
"""Thresholds that differ by less than this share of the values beside them are the same."""


@dataclass
class Walk:
    """What the walk met: nodes that split alike, nodes that chose between equals differently, and the rest."""

    matched: int = 0
    tied: int = 0
    different: list[str] = field(default_factory=list)


def measure_impurity(y: np.ndarray, classes: bool) -> float:
    """Gini impurity or variance, times the number of rows."""
    if not len(y):
        return 0.0
    if classes:
        counts = np.bincount(y).astype(float)
        return float(len(y) - (counts**2).sum() / len(y))
    return float(((y - y.mean()) ** 2).sum())


def walk_twins(ours: Any, theirs: Any, X: np.ndarray, y: np.ndarray, classes: bool) -> Walk:
    """Compare two trees (`tree_`) that were grown on the same rows, node by node while they agree."""
    walk = Walk()
    total = measure_impurity(y, classes)
    stack = [(0, 0, np.arange(len(y)))]
    while stack:
        at, beside, rows = stack.pop()
        leaves = ours.children_left[at] < 0, theirs.children_left[beside] < 0
        if all(leaves):
            continue
        if any(leaves):
            walk.different.append(f"node {at} of {len(rows)} rows: a leaf in one tree only {leaves}")
            continue
        splits = [(int(t.feature[k]), float(t.threshold[k])) for t, k in ((ours, at), (theirs, beside))]
        left, other = (X[rows, feature] <= threshold for feature, threshold in splits)
        if splits[0][0] == splits[1][0] and (left == other).all() and _is_close(X[rows], left, splits):
            walk.matched += 1
            stack.append((ours.children_left[at], theirs.children_left[beside], rows[left]))
            stack.append((ours.children_right[at], theirs.children_right[beside], rows[~left]))
            continue
        remaining = [
            measure_impurity(y[rows[m]], classes) + measure_impurity(y[rows[~m]], classes) for m in (left, other)
        ]
        if abs(remaining[0] - remaining[1]) <= 1e-9 * total:
            walk.tied += 1
        else:
            walk.different.append(f"node {at} of {len(rows)} rows: {splits}, impurity left {remaining}")
    return walk


def _is_close(X: np.ndarray, left: np.ndarray, splits: list[tuple[int, float]]) -> bool:
    feature, threshold = splits[0]
    below, above = X[left, feature].max(), X[~left, feature].min()
    return abs(threshold - splits[1][1]) <= RELATIVE * max(abs(below), abs(above))
