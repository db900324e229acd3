"""What the kernels of Shapley values know of trees: splits at the points of a quadrature, by groups of trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["EXPLAINED_SPLIT", "POINT_SPLIT", "TreeGroup", "find_point_splits", "group_trees"]

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
"""As the core gives them."""
POINT_SPLIT = np.dtype(
    [(name, "f8") for name in ("left", "right", "gain", "share", "threshold")]
    + [("child", "u4", 2), ("back", "u4"), ("slot", "u4"), ("rule", "u4"), ("first_word", "u4")]
)
"""As the kernels have them, for each point."""
_LEVELS = (12, 16, 20, 24, 28, 32)
"""Levels by which trees are put into groups. Kernels have bits for 32 of them in one word."""
_LEAF, _AGAIN, _IS_RIGHT = 1 << 31, 4, 8
_ABOVE_SHIFT, _WORDS_SHIFT = 4, 10
"""In `rule`: the level of the last split on the same feature, and the words of a set of levels."""


@dataclass(frozen=True)
class TreeGroup:
    """Trees that are explained at the same points.

    Attributes
    ----------
    points, weights : ndarray of float64
        Of the quadrature.
    trees : ndarray of int64
        Their numbers, ascending.
    first_split, n_splits : int
        Where their splits are.
    sizes, leaves : ndarray of uint32
        Splits of each tree, and its first leaf.
    n_levels, n_lefts : int
        Splits of the longest path, and those of them at most that a path leaves to the right while the left side is no
        leaf.
    """

    points: FloatArray
    weights: FloatArray
    trees: IndexArray
    first_split: int
    n_splits: int
    sizes: IndexArray
    leaves: IndexArray
    n_levels: int
    n_lefts: int


@dataclass(frozen=True)
class _TreeSizes:
    """Of each tree: splits and distinct features of the longest path, and turns to the right."""

    n_levels: AnyArray
    n_features: AnyArray
    n_lefts: AnyArray


def _measure_trees(splits: AnyArray, roots: AnyArray) -> _TreeSizes:
    sizes = _TreeSizes(*(np.zeros(len(roots), np.int64) for _ in range(3)))
    at = np.flatnonzero(roots < _LEAF)
    numbers = roots[at].astype(np.int64)
    n_features, n_lefts = np.zeros(len(at), np.int64), np.zeros(len(at), np.int64)
    level = 0
    while len(numbers):
        level += 1
        n_features = n_features + ((splits["flags"][numbers] & _AGAIN) == 0)
        sizes.n_levels[at] = level
        np.maximum.at(sizes.n_features, at, n_features)
        np.maximum.at(sizes.n_lefts, at, n_lefts)
        children = splits["child"][numbers]
        inner = children < _LEAF
        turns = np.stack([n_lefts, n_lefts + inner.all(axis=1)], axis=1)
        numbers, n_lefts = children[inner].astype(np.int64), turns[inner]
        at, n_features = (np.stack([array, array], axis=1)[inner] for array in (at, n_features))
    return sizes


def _find_gauss_points(n: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the quadrature on [0, 1] that is exact up to degree 2 n - 1."""
    at, weights = np.polynomial.legendre.leggauss(n)
    return 0.5 + 0.5 * at, 0.5 * weights


def group_trees(splits: AnyArray, roots: IndexArray) -> tuple[AnyArray, IndexArray, list[TreeGroup]]:
    """The splits and roots, renumbered so that groups of trees follow one another, and the groups.

    A tree needs half as many points as a path of it has distinct features.

    Parameters
    ----------
    splits : ndarray of EXPLAINED_SPLIT
        Those of a tree follow one another, each before the ones below it.
    roots : ndarray of uint32
        The first split of each tree, or a leaf.
    """
    measured = _measure_trees(splits, roots)
    grown = np.flatnonzero(roots < _LEAF)
    starts, sizes = np.zeros(len(roots), np.int64), np.zeros(len(roots), np.int64)
    starts[grown] = roots[grown]
    sizes[grown] = np.diff([*starts[grown], len(splits)])
    first_leaves = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    # Deeper trees take more shared memory.
    keys = (measured.n_features + 1) // 2 * (len(_LEVELS) + 1) + np.searchsorted(_LEVELS, measured.n_levels)
    order = grown[np.argsort(keys[grown], kind="stable")]
    ends = np.cumsum(sizes[order])
    moved = roots.copy()
    moved[order] = ends - sizes[order]
    groups, first = [], 0
    for key in np.unique(keys[grown]).tolist():
        trees = grown[keys[grown] == key]
        n_splits = int(sizes[trees].sum())
        deepest = int(measured.n_levels[trees].max()), int(measured.n_lefts[trees].max())
        own = sizes[trees].astype(np.uint32), first_leaves[trees].astype(np.uint32)
        points = _find_gauss_points(key // (len(_LEVELS) + 1))
        groups.append(TreeGroup(*points, trees, first, n_splits, *own, *deepest))
        first += n_splits
    shift = np.repeat(starts[order] - (ends - sizes[order]), sizes[order])
    renumbered = splits[np.arange(len(shift)) + shift]
    children = renumbered["child"]
    renumbered["child"] = np.where(children < _LEAF, children - shift[:, None], children)
    return renumbered, moved, groups


def find_point_splits(splits: AnyArray, group: TreeGroup) -> AnyArray:
    """The splits of a group at its points, as `POINT_SPLIT` of shape (n_points, n_splits); the core's `Factor`."""
    own = splits[group.first_split : group.first_split + group.n_splits]
    t, above, share = group.points[:, None], own["share_above"][None], own["share"][None]
    again = ((own["flags"] & _AGAIN) != 0)[None]
    still, moved = (1.0 - t) * above * share, np.broadcast_to(t, (len(group.points), len(own)))
    before = (1.0 - t) * above + t
    still, moved = np.where(again, still / before, still), np.where(again, moved / before, moved)
    found = np.zeros((len(group.points), len(own)), POINT_SPLIT)
    found["left"], found["right"] = still + moved, still
    found["gain"] = np.where(again, above / (before * before), 1.0)
    for name in ("share", "threshold", "slot", "first_word"):
        found[name] = own[name]
    # Leaves are counted from the first one of their tree.
    leaves = np.repeat(group.leaves, group.sizes)[:, None]
    found["child"] = np.where(own["child"] < _LEAF, own["child"], own["child"] - leaves)
    back, rule = np.zeros(len(own), np.uint32), own["flags"] & 7
    rule |= np.where(again[0], own["above"], 0).astype(np.uint32) << _ABOVE_SHIFT
    rule |= (own["flags"] >> 8) << _WORDS_SHIFT
    for side in (0, 1):
        child = own["child"][:, side]
        inner = np.flatnonzero(child < _LEAF)
        below = child[inner].astype(np.int64) - group.first_split
        back[below] = below - inner
        rule[below] |= _IS_RIGHT * side
    found["back"], found["rule"] = back, rule
    return found
