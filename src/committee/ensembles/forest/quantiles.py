"""Quantile forests: the whole distribution of the target from one fit [Meinshausen2006].

A row x gives each training row i the weight w_i(x), the mean over the trees of the row's share in the leaf that x
falls into. The weighted mean of the targets is the forest's prediction; a weighted quantile is the forest's quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["LeafRecord", "record_leaves"]

_ROUNDING = 1e-12
"""Sums of a thousand shares are exact to this; a quantile that is met up to it is met."""
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class LeafRecord:
    """Which training rows are in which leaf.

    Attributes
    ----------
    shares : csr_matrix of shape (n_nodes of all trees, n_rows)
        Share of each training row in each leaf; columns in ascending order of the target.
    values : ndarray of shape (n_rows,)
        The target, ascending.
    node_offsets : ndarray of shape (n_trees + 1,)
        First node of each tree.
    """

    shares: csr_matrix
    values: FloatArray
    node_offsets: NDArray[np.intp]

    def weigh_rows(self, leaves: NDArray[Any]) -> csr_matrix:
        """Weights of the training rows for rows that end in the given nodes, of shape (n_rows, n_training_rows)."""
        n_rows, n_trees = leaves.shape
        columns = (leaves + self.node_offsets[:-1]).ravel()
        starts = np.arange(0, n_rows * n_trees + 1, n_trees)
        ends = csr_matrix((np.full(len(columns), 1.0 / n_trees), columns, starts), shape=(n_rows, self.shares.shape[0]))
        weights = ends @ self.shares
        weights.sort_indices()
        return weights

    def find_quantiles(self, leaves: NDArray[Any], q: FloatArray) -> FloatArray:
        """The smallest target whose cumulated weight reaches each of the shares ``q``, for each row."""
        quantiles = np.empty((len(leaves), len(q)))
        for start in range(0, len(leaves), _BLOCK_ROWS):
            weights = self.weigh_rows(leaves[start : start + _BLOCK_ROWS])
            for row, (first, last) in enumerate(zip(weights.indptr[:-1], weights.indptr[1:], strict=True)):
                cumulated = np.cumsum(weights.data[first:last])
                at = np.searchsorted(cumulated, q * cumulated[-1] - _ROUNDING)
                known = weights.indices[first:last]
                quantiles[start + row] = self.values[known[np.minimum(at, len(known) - 1)]]
        return quantiles


def record_leaves(
    leaves: NDArray[Any],
    node_offsets: NDArray[Any],
    values: FloatArray,
    draw_sample: Callable[[int], NDArray[Any]],
    weights: FloatArray | None,
) -> LeafRecord:
    """Keep what the trees saw.

    Parameters
    ----------
    leaves : ndarray of shape (n_rows, n_trees)
        Node that each training row ends in, in each tree.
    node_offsets : ndarray of shape (n_trees + 1,)
        First node of each tree.
    values : ndarray of shape (n_rows,)
        The target.
    draw_sample : callable
        How often each row is in the sample of a tree, from the tree's number.
    weights : ndarray of shape (n_rows,) or None
        Row weights that the trees were given.

    Returns
    -------
    LeafRecord
    """
    order = np.argsort(values, kind="stable")
    nodes, rows, shares = [], [], []
    for tree in range(leaves.shape[1]):
        counts = draw_sample(tree).astype(np.float64)
        if weights is not None:
            counts *= weights
        seen = np.flatnonzero(counts[order] > 0.0)
        at, held = leaves[order[seen], tree], counts[order[seen]]
        shares.append(held / np.bincount(at, weights=held)[at])
        nodes.append(at + node_offsets[tree])
        rows.append(seen)
    shape = (int(node_offsets[-1]), len(values))
    matrix = csr_matrix((np.concatenate(shares), (np.concatenate(nodes), np.concatenate(rows))), shape=shape)
    return LeafRecord(matrix, values[order], node_offsets.astype(np.intp))
