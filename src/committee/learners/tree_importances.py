"""Decrease of impurity by each feature in each of many trees: an array, or a sparse one where features are many."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse, vstack

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.typing import FloatArray

__all__ = [
    "MemberImportances",
    "count_at_once",
    "join_importances",
    "keep_importances",
    "read_importances",
    "sum_shares",
]

MemberImportances: TypeAlias = "FloatArray | csr_array"

_WIDE = 1 << 16
"""Features from which on the importances are kept sparse: most trees split by a few of so many."""
_DENSE_BYTES = 1 << 27
"""Of importances that the engine gives at a time."""


def count_at_once(n_features: int) -> int:
    """The number of trees whose importances are made at a time.

    Examples
    --------
    >>> count_at_once(1 << 20)
    16
    """
    return max(4, _DENSE_BYTES // (8 * n_features))


def keep_importances(rows: FloatArray) -> MemberImportances:
    """Importances from the engine, of shape (n_trees, n_features), in the form that they are kept in.

    Examples
    --------
    >>> keep_importances(np.eye(2))
    array([[1., 0.],
           [0., 1.]])
    >>> keep_importances(np.ones((1, 70_000)) * (np.arange(70_000) < 3)).nnz
    3
    """
    return rows if rows.shape[1] < _WIDE else csr_array(rows)


def join_importances(parts: Sequence[MemberImportances]) -> MemberImportances:
    """The importances of several arenas, one after the other.

    Examples
    --------
    >>> join_importances([np.zeros((2, 3)), np.ones((1, 3))]).shape
    (3, 3)
    """
    if len(parts) == 1:
        return parts[0]
    if not any(map(issparse, parts)):
        return np.concatenate(parts)
    return csr_array(vstack([csr_array(part) for part in parts], format="csr"))


def read_importances(importances: MemberImportances, member: int) -> FloatArray:
    """The importances of one tree, of shape (n_features,).

    Examples
    --------
    >>> read_importances(csr_array(np.eye(3)), 1)
    array([0., 1., 0.])
    """
    if isinstance(importances, np.ndarray):
        return np.asarray(importances[member])
    return np.asarray(importances[[member]].toarray()[0])


def sum_shares(importances: MemberImportances, weights: FloatArray | None = None) -> FloatArray:
    """Sum over the trees of each one's importances divided by their sum; trees without a split add nothing.

    Parameters
    ----------
    importances : ndarray or CSR array of shape (n_trees, n_features)
        Decrease of impurity by each feature in each tree.
    weights : ndarray of shape (n_trees,), optional
        What the shares of each tree are multiplied by.

    Returns
    -------
    ndarray of shape (n_features,)

    Examples
    --------
    >>> sum_shares(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([0.25, 0.75])
    """
    if isinstance(importances, np.ndarray):
        totals = importances.sum(axis=1, keepdims=True)
        shares = np.divide(importances, totals, out=np.zeros_like(importances), where=totals > 0.0)
        return np.asarray((shares if weights is None else weights[:, None] * shares).sum(axis=0))
    counts = np.diff(importances.indptr)
    member = np.repeat(np.arange(len(counts)), counts)
    totals = np.bincount(member, importances.data, minlength=len(counts))[member]
    shares = np.divide(importances.data, totals, out=np.zeros_like(importances.data), where=totals > 0.0)
    scaled = shares if weights is None else weights[member] * shares
    return np.bincount(importances.indices, scaled, minlength=importances.shape[1]).astype(np.float64)
