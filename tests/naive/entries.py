"""Twins of the kernels over entries: histograms, a sparse row through a tree, and the importances of members."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.naive.binning import MISSING_BIN, NaiveBins, bin_column

#: A column with entries in at least one of so many rows keeps a byte a row.
FILLED_SHARE = 8


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


def list_entries(bins: NaiveBins, column: np.ndarray) -> tuple[list[tuple[int, int]], int]:
    """(row, bin) of the rows that are not in the bin of zero, and that bin."""
    rest = int(bin_column(bins, np.zeros(1))[0])
    return [(row, int(b)) for row, b in enumerate(bin_column(bins, column)) if b != rest], rest


def sum_entries(bins: NaiveBins, column: np.ndarray, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights by bin (missing values behind the last): entry by entry, the bin of all other rows by subtraction."""
    listed, rest = list_entries(bins, column)
    sums = np.zeros(len(bins.low) + bins.has_missing, dtype=np.int64)
    for row, found in listed:
        sums[len(bins.low) if found == MISSING_BIN else found] += weights[row]
    sums[rest] = weights.sum() - sums.sum()
    return sums


def sum_stump_slots(
    columns: list[tuple[NaiveBins, np.ndarray]], weights: NDArray[np.int64], labels: np.ndarray, n_classes: int
) -> NDArray[np.int64]:
    """Histograms of the stump trainer on a table of entries, class by class.

    264 numbers for each column that keeps its bytes (256 bins and a spare cache line), then those of each other column
    that varies without the bin of zero, then the total.
    """
    filled = [FILLED_SHARE * len(list_entries(*column)[0]) >= len(labels) for column in columns]
    planes = []
    for k in range(n_classes):
        own = np.where(labels == k, weights, 0)
        for (bins, values), is_filled in zip(columns, filled, strict=True):
            if is_filled:
                plane = np.zeros(264, dtype=np.int64)
                np.add.at(plane, bin_column(bins, values), own)
                planes.append(plane)
        for (bins, values), is_filled in zip(columns, filled, strict=True):
            if not is_filled and len(bins.low) + bins.has_missing > 1:
                planes.append(np.delete(sum_entries(bins, values, own), list_entries(bins, values)[1]))
        planes.append(np.array([own.sum()]))
    return np.concatenate(planes)
