"""Quantile forests: the whole distribution of the target from one fit [Meinshausen2006].

A row x gives each training row i the weight w_i(x): the fraction of the weight of x's leaf that row i has, averaged
over the trees. The weighted mean of the targets is the forest's prediction; a weighted quantile is its quantile.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from committee.typing import FloatArray, IndexArray

__all__ = ["LeafRecord", "record_leaves"]

_ROUNDING = 1e-12
"""Tolerance for the rounding of a sum of a thousand weights."""
_BLOCK_ROWS = 512


@dataclass(frozen=True)
class LeafRecord:
    """The training rows in each leaf.

    Attributes
    ----------
    shares : csr_matrix of shape (n_nodes of all trees, n_rows)
        Fraction of the weight of each leaf that each training row has; columns in ascending order of the target.
    values : ndarray of shape (n_rows,)
        The target, ascending.
    node_offsets : ndarray of shape (n_trees + 1,)
        First node of each tree.
    """

    shares: csr_matrix
    values: FloatArray
    node_offsets: NDArray[np.intp]

    def row_weights(self, leaves: NDArray[np.intp]) -> csr_matrix:
        """Weights of the training rows for rows that end in the given leaves, of shape (n_rows, n_training_rows)."""
        n_rows, n_trees = leaves.shape
        columns = (leaves + self.node_offsets[:-1]).ravel()
        starts = np.arange(0, n_rows * n_trees + 1, n_trees)
        ends = csr_matrix((np.full(len(columns), 1.0 / n_trees), columns, starts), shape=(n_rows, self.shares.shape[0]))
        weights = ends @ self.shares
        weights.sort_indices()
        return weights

    def find_quantiles(self, leaves: NDArray[np.intp], q: FloatArray) -> FloatArray:
        """The smallest target whose cumulative weight reaches each of the levels ``q``, for each row."""
        quantiles = np.empty((len(leaves), len(q)))
        for start in range(0, len(leaves), _BLOCK_ROWS):
            weights = self.row_weights(leaves[start : start + _BLOCK_ROWS])
            for row, (first, last) in enumerate(zip(weights.indptr[:-1], weights.indptr[1:], strict=True)):
                cumulative = np.cumsum(weights.data[first:last])
                at = np.searchsorted(cumulative, q * cumulative[-1] - _ROUNDING)
                known = weights.indices[first:last]
                quantiles[start + row] = self.values[known[np.minimum(at, len(known) - 1)]]
        return quantiles


def record_leaves(
    leaves: NDArray[np.intp],
    node_offsets: NDArray[np.integer],
    values: FloatArray,
    samples: Iterable[IndexArray],
    weights: FloatArray | None,
) -> LeafRecord:
    """Record which training rows are in which leaf, and with what weight.

    Parameters
    ----------
    leaves : ndarray of shape (n_rows, n_trees)
        Node that each training row ends in, in each tree.
    node_offsets : ndarray of shape (n_trees + 1,)
        First node of each tree.
    values : ndarray of shape (n_rows,)
        The target.
    samples : iterable of ndarray of shape (n_rows,)
        How often each row is in the sample of each tree.
    weights : ndarray of shape (n_rows,) or None
        Row weights that the trees were grown with.

    Returns
    -------
    LeafRecord
    """
    order = np.argsort(values, kind="stable")
    nodes, rows, fractions = [], [], []
    for tree, sample in enumerate(samples):
        counts = sample.astype(np.float64)
        if weights is not None:
            counts *= weights
        in_bag = np.flatnonzero(counts[order] > 0.0)
        leaf, weight = leaves[order[in_bag], tree], counts[order[in_bag]]
        fractions.append(weight / np.bincount(leaf, weights=weight)[leaf])
        nodes.append(leaf + node_offsets[tree])
        rows.append(in_bag)
    shape = (int(node_offsets[-1]), len(values))
    matrix = csr_matrix((np.concatenate(fractions), (np.concatenate(nodes), np.concatenate(rows))), shape=shape)
    return LeafRecord(matrix, values[order], node_offsets.astype(np.intp))
