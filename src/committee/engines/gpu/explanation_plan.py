"""What the kernels of Shapley values know of trees: splits at the points of a quadrature, by groups of trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["EXPLAINED_SPLIT", "MOST_POINTS", "TreeGroup", "describe_point_split", "find_point_splits", "group_trees"]

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
MOST_POINTS = 4
"""Points that a thread has at most."""
_FEW_LEVELS = 32
"""Levels that kernels have bits for in one word."""
_LEAF, _AGAIN, _IS_RIGHT = 1 << 31, 4, 8
_ABOVE_SHIFT, _WORDS_SHIFT = 4, 10
"""In `rule`: the level of the last split on the same feature, and the words of a set of levels."""


def describe_point_split(n_points: int) -> np.dtype[np.void]:
    """A split as the kernels have it, at the points of a thread."""
    names = ("child", "u4", 2), ("back", "u4"), ("slot", "u4"), ("rule", "u4"), ("first_word", "u4")
    factors = [(name, "f8", (n_points,)) for name in ("left", "right", "gain")]
    plain = np.dtype([*factors, ("share", "f8"), ("threshold", "f8"), *names])
    padding = -plain.itemsize % 16
    return np.dtype([*plain.descr, ("unused", "u1", (padding,))])


@dataclass(frozen=True)
class TreeGroup:
    """Trees that are explained at the same points.

    Attributes
    ----------
    points, weights : ndarray of float64 of shape (n_passes, n_points)
        Of the quadrature: those that a thread has, in each of its passes over the trees.
    trees : ndarray of int64
        Their numbers, ascending.
    first_split, n_splits : int
        Where their splits are.
    sizes, leaves : ndarray of uint32
        Splits of each tree, and its first leaf.
    is_deep : bool
        Whether a path has more levels than one word has bits.
    """

    points: FloatArray
    weights: FloatArray
    trees: IndexArray
    first_split: int
    n_splits: int
    sizes: IndexArray
    leaves: IndexArray
    is_deep: bool


def _measure_trees(splits: AnyArray, roots: AnyArray) -> tuple[AnyArray, AnyArray]:
    """Of each tree: splits, and distinct features, of the longest path."""
    most_levels, most_features = np.zeros(len(roots), np.int64), np.zeros(len(roots), np.int64)
    at = np.flatnonzero(roots < _LEAF)
    numbers = roots[at].astype(np.int64)
    n_features = np.zeros(len(at), np.int64)
    level = 0
    while len(numbers):
        level += 1
        n_features = n_features + ((splits["flags"][numbers] & _AGAIN) == 0)
        most_levels[at] = level
        np.maximum.at(most_features, at, n_features)
        children = splits["child"][numbers]
        inner = children < _LEAF
        numbers = children[inner].astype(np.int64)
        at, n_features = (np.stack([array, array], axis=1)[inner] for array in (at, n_features))
    return most_levels, most_features


def _round_points(n_points: AnyArray) -> AnyArray:
    """The least numbers, not below these, that are divided evenly among passes of at most `MOST_POINTS`."""
    n_passes = np.maximum(1, -(-n_points // MOST_POINTS))
    rounded: AnyArray = -(-n_points // n_passes) * n_passes
    return rounded


def _find_gauss_points(n: int) -> tuple[FloatArray, FloatArray]:
    """Points and weights of the quadrature on [0, 1] that is exact up to degree 2 n - 1, by passes."""
    at, weights = np.polynomial.legendre.leggauss(n)
    shape = (-(-n // MOST_POINTS), -1)
    return (0.5 + 0.5 * at).reshape(shape), (0.5 * weights).reshape(shape)


def group_trees(splits: AnyArray, roots: IndexArray) -> tuple[AnyArray, IndexArray, list[TreeGroup]]:
    """The splits and roots, renumbered so that groups of trees follow one another, and the groups.

    A tree needs half as many points as a path of it has distinct features; some more do no harm.

    Parameters
    ----------
    splits : ndarray of EXPLAINED_SPLIT
        Those of a tree follow one another, each before the ones below it.
    roots : ndarray of uint32
        The first split of each tree, or a leaf.
    """
    n_levels, n_features = _measure_trees(splits, roots)
    grown = np.flatnonzero(roots < _LEAF)
    starts, sizes = np.zeros(len(roots), np.int64), np.zeros(len(roots), np.int64)
    starts[grown] = roots[grown]
    sizes[grown] = np.diff([*starts[grown], len(splits)])
    first_leaves = np.concatenate([[0], np.cumsum(sizes + 1)[:-1]])
    keys = 2 * _round_points((n_features + 1) // 2) + (n_levels > _FEW_LEVELS)
    order = grown[np.argsort(keys[grown], kind="stable")]
    ends = np.cumsum(sizes[order])
    moved = roots.copy()
    moved[order] = ends - sizes[order]
    groups, first = [], 0
    for key in np.unique(keys[grown]).tolist():
        trees = grown[keys[grown] == key]
        n_splits = int(sizes[trees].sum())
        own = sizes[trees].astype(np.uint32), first_leaves[trees].astype(np.uint32)
        points = _find_gauss_points(key // 2)
        groups.append(TreeGroup(*points, trees, first, n_splits, *own, is_deep=key % 2 == 1))
        first += n_splits
    shift = np.repeat(starts[order] - (ends - sizes[order]), sizes[order])
    renumbered = splits[np.arange(len(shift)) + shift]
    children = renumbered["child"]
    renumbered["child"] = np.where(children < _LEAF, children - shift[:, None], children)
    return renumbered, moved, groups


def find_point_splits(splits: AnyArray, group: TreeGroup) -> AnyArray:
    """The splits of a group at its points, for each pass, as `describe_point_split` has them; the core's `Factor`."""
    own = splits[group.first_split : group.first_split + group.n_splits]
    n_passes, n_points = group.points.shape
    t, above, share = group.points[:, None, :], own["share_above"][:, None], own["share"][:, None]
    again = ((own["flags"] & _AGAIN) != 0)[:, None]
    still, moved = (1.0 - t) * above * share, np.broadcast_to(t, (n_passes, len(own), n_points))
    before = (1.0 - t) * above + t
    still, moved = np.where(again, still / before, still), np.where(again, moved / before, moved)
    found = np.zeros((n_passes, len(own)), describe_point_split(n_points))
    found["left"], found["right"] = still + moved, still
    found["gain"] = np.where(again, above / (before * before), 1.0)
    for name in ("share", "threshold", "slot", "first_word"):
        found[name] = own[name]
    # Leaves are counted from the first one of their tree.
    leaves = np.repeat(group.leaves, group.sizes)[:, None]
    found["child"] = np.where(own["child"] < _LEAF, own["child"], own["child"] - leaves)
    back, rule = np.zeros(len(own), np.uint32), own["flags"] & 7
    rule |= np.where(again[:, 0], own["above"], 0).astype(np.uint32) << _ABOVE_SHIFT
    rule |= (own["flags"] >> 8) << _WORDS_SHIFT
    for side in (0, 1):
        child = own["child"][:, side]
        inner = np.flatnonzero(child < _LEAF)
        below = child[inner].astype(np.int64) - group.first_split
        back[below] = below - inner
        rule[below] |= _IS_RIGHT * side
    found["back"], found["rule"] = back, rule
    return found
