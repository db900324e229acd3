"""Twins of the kernels over entries: a sparse row through a tree node by node, and the importances of members."""

from __future__ import annotations

from typing import Any

import numpy as np


def walk_sparse_row(trees: Any, tree: int, columns: np.ndarray, values: np.ndarray) -> int:
    """The node where a row ends whose other values are zero: every node on its way is asked."""
    first = int(trees.node_offsets[tree])
    nodes = trees.nodes
    entries = dict(zip(columns.tolist(), values.tolist(), strict=True))
    at = 0
    while True:
        node = nodes[first + at]
        tag = int(node["tag"])
        if tag >> 31:
            return at
        x = entries.get(tag & ((1 << 28) - 1), 0.0)
        right = not tag >> 29 & 1 if np.isnan(x) else x > float(node["threshold"])
        at = int(node["left"]) + int(right)


def sum_member_shares(importances: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted sum over the members of their importances divided by their sum."""
    found = np.zeros(importances.shape[1])
    for row, weight in zip(importances, weights, strict=True):
        if row.sum() > 0.0:
            found += weight * row / row.sum()
    return found
