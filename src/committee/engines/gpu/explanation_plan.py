"""What the kernels of Shapley values know of a model's trees: its splits in groups of trees that are alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["EXPLAINED_SPLIT", "TreeGroup", "find_factors", "group_trees"]

EXPLAINED_SPLIT = np.dtype(
    [
        ("threshold", "f8"),
        ("share", "f8"),
        ("share_above", "f8"),
        ("child", "u4", 2),
        ("slot", "u4"),
        ("above", "u4"),
        ("first_word", "u4"),
        ("flags", "u4"),
    ]
)
_LEAF, _AGAIN = 1 << 31, 4
_CLASSES = (8, 16, 24, 32, 64)
"""Levels that programs are compiled for: a program keeps something of each level in registers."""


@dataclass(frozen=True)
class TreeGroup:
    """Trees that are explained by the same program at the same points.

    Attributes
    ----------
    n_levels : int
        Levels of the program.
    points, weights : ndarray of float64
        Of the quadrature.
    trees : ndarray of uint32
        Their numbers, ascending.
    first_split, n_splits : int
        Where their splits are.
    """

    n_levels: int
    points: FloatArray
    weights: FloatArray
    trees: IndexArray
    first_split: int
    n_splits: int


def _measure_trees(splits: AnyArray, roots: IndexArray) -> tuple[IndexArray, IndexArray]:
    """Levels of each tree, and the most distinct features on a path."""
    n_levels, n_features = np.zeros(len(roots), np.uint32), np.zeros(len(roots), np.uint32)
    at = np.flatnonzero(roots < _LEAF)
    numbers, count = roots[at].astype(np.int64), np.zeros(len(at), np.uint32)
    level = 0
    while len(numbers):
        level += 1
        count = count + ((splits["flags"][numbers] & _AGAIN) == 0)
        n_levels[at] = level
        np.maximum.at(n_features, at, count.astype(np.uint32))
        children = splits["child"][numbers]
        inner = children < _LEAF
        numbers = children[inner].astype(np.int64)
        at, count = (np.repeat(array, 2).reshape(-1, 2)[inner] for array in (at, count))
    return n_levels, n_features


def _find_gauss_points(n: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the quadrature on [0, 1] that is exact up to degree 2 n - 1."""
    at, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 + 0.5 * at, 0.5 * weights


def group_trees(splits: AnyArray, roots: IndexArray) -> tuple[AnyArray, IndexArray, list[TreeGroup]]:
    """The splits and roots, renumbered so that groups of trees follow one another, and the groups.

    Parameters
    ----------
    splits : ndarray of EXPLAINED_SPLIT
        Those of a tree follow one another, each before the ones below it.
    roots : ndarray of uint32
        The first split of each tree, or a leaf.
    """
    n_levels, n_features = _measure_trees(splits, roots)
    starts = np.where(roots < _LEAF, roots, 0).astype(np.int64)
    grown = np.flatnonzero(roots < _LEAF)
    sizes: AnyArray = np.zeros(len(roots), np.int64)
    sizes[grown] = np.diff([*starts[grown], len(splits)])
    keys = [(_CLASSES[int(np.searchsorted(_CLASSES, n_levels[t]))], int(n_features[t] + 1) // 2) for t in grown]
    groups, order = [], []
    moved, first = roots.copy(), 0
    for key in sorted(set(keys)):
        trees = grown[[own == key for own in keys]]
        ends = first + np.cumsum(sizes[trees])
        moved[trees] = ends - sizes[trees]
        order += trees.tolist()
        groups.append(TreeGroup(key[0], *_find_gauss_points(key[1]), trees.astype(np.uint32), first, int(ends[-1]) - first))
        first = int(ends[-1])
    return _renumber(splits, order, starts, sizes), moved, groups


def _renumber(splits: AnyArray, order: Sequence[int], starts: IndexArray, sizes: IndexArray) -> AnyArray:
    """The splits of trees in another order of these."""
    if not len(order):
        return splits
    sizes, starts = sizes[order], starts[order]
    ends = np.cumsum(sizes)
    shift = np.repeat(starts - (ends - sizes), sizes)
    renumbered = splits[np.arange(len(shift)) + shift]
    children = renumbered["child"]
    renumbered["child"] = np.where(children < _LEAF, children - shift[:, None], children)
    return renumbered


def find_factors(splits: AnyArray, group: TreeGroup) -> FloatArray:
    """What the splits of a group do at its points, of shape (n_points, n_splits, 4); the formula of the core's `Factor`.

    The last number has the bits of the number of the split above.
    """
    own = splits[group.first_split : group.first_split + group.n_splits]
    t, above, share = group.points[:, None], own["share_above"][None], own["share"][None]
    again = ((own["flags"] & _AGAIN) != 0)[None]
    still, moved = (1.0 - t) * above * share, np.broadcast_to(t, (len(group.points), len(own)))
    before = (1.0 - t) * above + t
    still, moved = np.where(again, still / before, still), np.where(again, moved / before, moved)
    gain = np.where(again, above / (before * before), 1.0)
    parents: AnyArray = np.zeros(len(own), np.uint64)
    numbers = np.arange(group.first_split, group.first_split + group.n_splits, dtype=np.uint64)
    for side in (0, 1):
        child = own["child"][:, side]
        parents[child[child < _LEAF].astype(np.int64) - group.first_split] = numbers[child < _LEAF]
    shown = np.broadcast_to(parents.view(np.float64), gain.shape)
    return np.ascontiguousarray(np.stack([still + moved, still, gain, shown], axis=2))
