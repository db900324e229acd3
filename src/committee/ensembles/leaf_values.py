"""Leaves of an arena of trees: which one a row ends in, and new values for all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.weights import count_as_rows, read_sample_weight
from committee.exceptions import DataError, ParameterError
from committee.learners.tree_rows import apply_trees

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.engines import Trees
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = [
    "blend_leaves",
    "encode_labels",
    "find_leaf_indices",
    "read_refit_values",
    "read_refit_weights",
]


def find_leaf_indices(trees: Trees, rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> NDArray[np.intp]:
    """The leaf that each row ends in, in each tree, as the number of its row in ``trees.values``; in Fortran order."""
    nodes = apply_trees(trees, rows, n_jobs, order="F")
    offsets = trees.node_offsets.tolist()
    # A leaf's left child is its number among the leaves of its tree.
    leaves = trees.nodes["left"].astype(np.intp)
    for tree, first in enumerate(trees.leaf_offsets.tolist()[:-1]):
        own = leaves[offsets[tree] : offsets[tree + 1]] + first
        nodes[:, tree] = own.take(nodes[:, tree])
    return nodes


def blend_leaves(old: FloatArray, new: FloatArray, counts: FloatArray, decay_rate: float) -> FloatArray:
    """Old values times the rate plus new ones times the rest; leaves without new rows stay as they are.

    Examples
    --------
    >>> blend_leaves(np.array([[1.0], [2.0]]), np.array([[3.0], [0.0]]), np.array([5.0, 0.0]), 0.5)
    array([[2.],
           [2.]])
    """
    return np.where((counts > 0.0)[:, None], decay_rate * old + (1.0 - decay_rate) * new, old)


def read_refit_values(y: ArrayLike) -> FloatArray:
    """The new values of a regression, which must be finite numbers."""
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataError(f"y must be numbers; got {show_value(y)}.") from None
    if not np.isfinite(values).all():
        raise DataError("y has a value that is missing or infinite; refit_leaves needs finite values.")
    return values.reshape(1) if values.ndim == 0 else values


def encode_labels(y: ArrayLike, classes: NDArray[Any], owner: str) -> NDArray[np.intp]:
    """The number of each label among the classes that a model knows."""
    labels = np.asarray(y)
    try:
        order = np.argsort(classes, kind="stable")  # levels have an order of their own
        found = order[np.minimum(np.searchsorted(classes, labels, sorter=order), len(classes) - 1)]
        unknown = np.asarray(classes[found] != labels)
    except TypeError:
        raise DataError(
            f"y has labels that cannot be compared with the classes of this {owner}: {classes!r}; "
            f"got {show_value(labels)}."
        ) from None
    if unknown.any():
        raise DataError(
            f"y has the class {labels[unknown][0]!r}, which this {owner} was not fitted on; refit_leaves keeps its "
            f"classes: {classes!r}."
        )
    return found.astype(np.intp)


def read_refit_weights(
    sample_weight: ArrayLike | None, n_rows: int, decay_rate: float, shape: tuple[int, ...]
) -> FloatArray:
    """As how many rows each row counts, after a check of the arguments of `refit_leaves`."""
    if not 0.0 <= decay_rate <= 1.0:
        raise ParameterError(f"decay_rate must be a number in [0, 1]; got {decay_rate!r}.")
    if shape[0] != n_rows:
        raise DataError(f"X has {n_rows} rows and y {shape[0]}; they must have the same number.")
    if sample_weight is None:
        return np.ones(n_rows)
    return count_as_rows(read_sample_weight(sample_weight, n_rows))
