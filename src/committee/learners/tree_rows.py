"""Predictions of the engine's trees for rows that were read: dense rows at once, sparse rows in dense blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np

from committee.base import resolve_jobs
from committee.data.rows import densify_blocks, fits_one_block
from committee.engines.node_tags import FEATURE, LEAF
from committee.learners.zero_chains import apply_by_chains, follows_chains, predict_by_chains

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from committee.engines import Loss, Trees
    from committee.typing import FloatArray, FloatMatrix, IndexArray, SparseMatrix

__all__ = ["apply_trees", "find_leaves", "label_rows", "narrow_rows", "predict_boosted", "predict_trees"]

CombineMode: TypeAlias = Literal["mean", "sum", "vote"]
#: Parts of a node's tag (`tree.hpp`).


def predict_trees(
    trees: Trees,
    rows: FloatMatrix | SparseMatrix,
    combine: CombineMode,
    n_jobs: int | None,
    *,
    tree_weights: FloatArray | None = None,
    slots: IndexArray | None = None,
    out_width: int | None = None,
    span: range | None = None,
) -> FloatArray:
    """Mean, sum or vote of the trees for every row.

    Parameters
    ----------
    trees : Trees
        The arena.
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
        From `committee.data.intake.take_in_rows`.
    combine : {"mean", "sum", "vote"}
        How the leaves of a row are combined.
    n_jobs : int or None
        As in the estimators' parameter; a single row takes one thread.
    tree_weights : ndarray of shape (n_trees,), optional
        Weight of each tree.
    slots : ndarray of shape (n_trees,), optional
        Output column that each tree adds to.
    out_width : int, optional
        Number of output columns, if they are not those of the leaves.
    span : range, optional
        Numbers of the trees that take part; all by default.

    Returns
    -------
    ndarray of shape (n_rows, out_width)
    """
    jobs = _count_threads(rows, n_jobs)
    first, last = (0, None) if span is None else (span.start, span.stop)
    if isinstance(rows, np.ndarray):
        return trees.predict(rows, combine, tree_weights, slots, out_width, first, last, jobs)
    if follows_chains(trees, rows):
        taken = range(trees.n_trees)[first:last]
        return predict_by_chains(
            trees, rows, combine, jobs, tree_weights=tree_weights, slots=slots, out_width=out_width, span=taken
        )
    trees, rows = narrow_rows(trees, rows)
    return _join(
        trees.predict(block, combine, tree_weights, slots, out_width, first, last, jobs)
        for _, block in densify_blocks(rows)
    )


def predict_boosted(
    trees: Trees,
    rows: FloatMatrix | SparseMatrix,
    slots: IndexArray | None,
    baseline: FloatArray,
    n_jobs: int | None,
    *,
    loss: Loss | None = None,
    two_classes: bool = False,
) -> FloatArray:
    """Scores of boosted trees or, by the inverse link of a loss, their predictions.

    Parameters
    ----------
    trees : Trees
        The arena.
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
        From `committee.data.intake.take_in_rows`.
    slots : ndarray of shape (n_trees,) or None
        Score that each tree adds to; None for trees whose leaves have a value for each score.
    baseline : ndarray of shape (n_scores,)
        The scores before the first tree.
    n_jobs : int or None
        As in the estimators' parameter; a single row takes one thread.
    loss : Loss, optional
        The engine's loss, for predictions in place of scores.
    two_classes : bool
        Whether one prediction p becomes the two probabilities 1 - p and p.

    Returns
    -------
    ndarray of shape (n_rows, n_scores), or (n_rows, 2) for two classes
    """
    jobs = _count_threads(rows, n_jobs)
    if isinstance(rows, np.ndarray):
        return trees.predict_boosted(rows, slots, baseline, loss, two_classes, jobs)
    trees, rows = narrow_rows(trees, rows)
    blocks = (block for _, block in densify_blocks(rows))
    return _join(trees.predict_boosted(block, slots, baseline, loss, two_classes, jobs) for block in blocks)


def find_leaves(trees: Trees, rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> NDArray[np.intp]:
    """Number of the leaf that each row ends in, in each tree, depth-first as in scikit-learn.

    Parameters
    ----------
    trees : Trees
        The arena.
    rows : ndarray or CSR matrix of shape (n_rows, n_features)
        From `committee.data.intake.take_in_rows`.
    n_jobs : int or None
        As in the estimators' parameter; a single row takes one thread.

    Returns
    -------
    ndarray of shape (n_rows, n_trees)
    """
    nodes = apply_trees(trees, rows, n_jobs)
    nodes += np.asarray(trees.node_offsets[:-1], dtype=np.intp)
    return trees.number_depth_first().take(nodes).astype(np.intp)


def apply_trees(
    trees: Trees, rows: FloatMatrix | SparseMatrix, n_jobs: int | None, order: Literal["C", "F"] = "C"
) -> NDArray[np.intp]:
    """Node that each row ends in, in each tree, of shape (n_rows, n_trees), in the order of the arena: level by level.

    `find_leaves` gives the numbers that users see. Order F has the rows of a tree beside one another.
    """
    jobs = _count_threads(rows, n_jobs)
    if isinstance(rows, np.ndarray):
        nodes = trees.apply(rows, jobs)
    elif follows_chains(trees, rows):
        nodes = apply_by_chains(trees, rows, jobs)
    else:
        trees, rows = narrow_rows(trees, rows)
        nodes = _join(trees.apply(block, jobs) for _, block in densify_blocks(rows))
    return nodes.astype(np.intp, order=order)


def label_rows(tree: Trees, rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> NDArray[np.int64]:
    """Number of the class with the largest weight in the leaf of each row, of shape (n_rows, n_outputs); one tree."""
    jobs = _count_threads(rows, n_jobs)
    if isinstance(rows, np.ndarray):
        return tree.label(rows, jobs)
    tree, rows = narrow_rows(tree, rows)
    return _join(tree.label(block, jobs) for _, block in densify_blocks(rows))


def narrow_rows(trees: Trees, rows: SparseMatrix) -> tuple[Trees, SparseMatrix]:
    """Trees and rows over the columns that the trees ask for, where a sparse table is too wide to be made dense."""
    if fits_one_block(rows):
        return trees, rows
    tags = trees.nodes["tag"]
    used = np.unique(tags[tags & LEAF == 0] & FEATURE)
    if 2 * len(used) > rows.shape[1]:
        return trees, rows
    used = used if len(used) else np.zeros(1, np.uint32)
    return trees.renumber_features(used), rows.tocsr()[:, used]


def _count_threads(rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> int:
    # A single row never pays for a second thread; resolving n_jobs alone would cost more than its prediction.
    return 1 if rows.shape[0] == 1 else resolve_jobs(n_jobs)


def _join(blocks: Iterable[object]) -> NDArray[Any]:
    return np.concatenate(cast("list[NDArray[Any]]", list(blocks)))
