"""Predictions of deep trees for sparse rows, whose cost goes with the entries of a row and not with the depth.

Trees of unlimited depth on a table of mostly zeros are chains: a split separates the few rows that have an entry.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from committee.data.rows import fits_one_block

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines import Trees
    from committee.typing import AnyArray, FloatArray, FloatMatrix, IndexArray, SparseMatrix

__all__ = ["apply_by_chains", "follows_chains", "predict_by_chains"]

_NODES_PER_ENTRY = 8
"""Nodes on the way of a row for each of its entries, from which on looking the entries up is cheaper than walking."""
_ENDS = 1 << 23
"""Row-tree pairs whose leaves are found at a time."""


def follows_chains(trees: Trees, rows: FloatMatrix | SparseMatrix) -> bool:
    """Whether these rows have far fewer entries than there are nodes on their way through the trees."""
    if isinstance(rows, np.ndarray) or not issparse(rows) or fits_one_block(rows):
        return False
    mean_entries = rows.nnz / max(1, rows.shape[0])
    return bool(trees.measure_mean_depth() > _NODES_PER_ENTRY * (mean_entries + 1))


def apply_by_chains(trees: Trees, rows: SparseMatrix, n_jobs: int) -> NDArray[np.uint32]:
    """Node that each row ends in, in each tree, as `Trees.apply` for dense rows."""
    table = rows.tocsr()
    if not table.has_canonical_format:
        table = table.copy()
        table.sum_duplicates()
    return trees.apply_sparse(table.data, table.indices, table.indptr, table.shape, n_jobs)


def predict_by_chains(
    trees: Trees,
    rows: SparseMatrix,
    combine: str,
    n_jobs: int,
    *,
    tree_weights: FloatArray | None,
    slots: IndexArray | None,
    out_width: int | None,
    span: range,
) -> FloatArray:
    """Mean, sum or vote of the trees in a span, with the bytes of `Trees.predict` for the dense rows.

    Parameters
    ----------
    trees : Trees
        The arena.
    rows : CSR matrix of shape (n_rows, n_features)
        The rows.
    combine, tree_weights, slots, out_width
        As in `committee.learners.tree_rows.predict_trees`.
    n_jobs : int
        Number of threads.
    span : range
        Numbers of the trees that take part.

    Returns
    -------
    ndarray of shape (n_rows, out_width)
    """
    own = trees.select(span.start, span.stop)
    weights = np.ones(len(span)) if tree_weights is None else np.asarray(tree_weights)[span.start : span.stop]
    width = own.values.shape[1]
    out = np.zeros((rows.shape[0], width if out_width is None else out_width))
    step = max(1, _ENDS // max(1, len(span)))
    for start in range(0, rows.shape[0], step):
        nodes = apply_by_chains(own, rows[start : start + step], n_jobs)
        for tree in range(len(span)):
            first, leaves = int(own.node_offsets[tree]), slice(*own.leaf_offsets[tree : tree + 2].tolist())
            ends = own.nodes["left"][first + nodes[:, tree].astype(np.intp)]
            terms = weights[tree] * _tabulate_leaves(own.values[leaves], own.outputs, combine)
            slot = 0 if slots is None else int(slots[span.start + tree])
            out[start : start + step, slot : slot + width] += terms[ends]
    if combine == "mean":
        out /= np.cumsum(weights)[-1]  # one after the other, as the engine adds them up
    return out


def _tabulate_leaves(values: AnyArray, outputs: list[int], combine: str) -> FloatArray:
    """What each leaf of a tree adds: its values, its shares of the classes, or a vote for each output."""
    table = values.astype(np.float64)
    if combine == "sum" or not len(outputs):
        return table
    first = 0
    for n_classes in outputs:
        part = table[:, first : first + n_classes]
        if combine == "vote":
            part[:] = np.arange(n_classes) == part.argmax(axis=1)[:, None]
        else:
            part /= np.cumsum(part, axis=1)[:, -1:]
        first += n_classes
    return table
