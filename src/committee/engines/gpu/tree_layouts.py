"""Trees in the forms in which they fit the shared memory of a multiprocessor, for rows that are bytes.

A row has a byte for each feature: the number of thresholds of that feature that are below its value (255: missing).
A node compares that byte with the number of its threshold.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.engines.node_tags import CATEGORICAL, FEATURE, LEAF, MISSING_LEFT

if TYPE_CHECKING:
    from committee.engines.tree_model import TreeModel
    from committee.typing import AnyArray, FloatArray

__all__ = ["CodedTrees", "CompleteTrees", "LinkedTrees"]

_MOST_DEPTH, _MOST_FEATURES, _MOST_THRESHOLDS = 8, 128, 254
_MOST_BYTES = 46 << 10
"""Shared memory for trees: two blocks fit a multiprocessor."""
_ALWAYS_LEFT = 255
_HEAP_BYTES, _LINK_BYTES = 10, 12
"""Of a node and what it adds."""


@dataclass
class CompleteTrees:
    """Trees that are filled up to the same depth: the children of node i are nodes 2 i and 2 i + 1."""

    arrays: dict[str, AnyArray]
    depth: int

    @property
    def n_chunk(self) -> int:
        """Trees that are in shared memory at a time."""
        n_trees, size = map(int, self.arrays["heaps"].shape)
        return max(1, min(_MOST_BYTES // (_HEAP_BYTES * size), n_trees))

    @property
    def shared_bytes(self) -> int:
        """Shared memory for the trees of a chunk."""
        return self.n_chunk * int(self.arrays["heaps"].shape[1]) * _HEAP_BYTES


@dataclass
class LinkedTrees:
    """Trees of any shape, whose nodes tell their left child."""

    arrays: dict[str, AnyArray]

    @property
    def n_chunk(self) -> int:
        """Most nodes that are in shared memory at a time."""
        begins, ends = self.arrays["tree_begins"].astype(np.int64), self.arrays["chunk_ends"]
        return int((begins[ends] - begins[:-1]).max(initial=1))

    @property
    def shared_bytes(self) -> int:
        """Shared memory for the trees of a chunk."""
        return self.n_chunk * _LINK_BYTES


class CodedTrees:
    """The nodes of a model with thresholds as numbers.

    Parameters
    ----------
    model : TreeModel
        Trees of any shape.
    terms : ndarray of shape (n_leaves, width)
        What each leaf adds.

    Attributes
    ----------
    is_possible : bool
        Whether features and thresholds are few enough, without categories, and a leaf adds one number.
    features : ndarray
        The features that are split on.
    thresholds : list of ndarray
        Their thresholds, in increasing order.
    """

    def __init__(self, model: TreeModel, terms: FloatArray) -> None:
        trees = model.trees
        self._nodes = nodes = np.asarray(trees.nodes)
        tags = nodes["tag"]
        self._inner = inner = (tags & LEAF) == 0
        self.features = np.unique(tags[inner] & FEATURE).astype(np.uint32)
        self.thresholds: list[FloatArray] = []
        self.is_possible = not (
            (tags & CATEGORICAL)[inner].any() or len(self.features) > _MOST_FEATURES or trees.width != 1
        )
        if not self.is_possible:
            return
        features = np.searchsorted(self.features, tags & FEATURE)
        thresholds = [np.unique(nodes["threshold"][inner & (features == k)]) for k in range(len(self.features))]
        self.is_possible = max(map(len, thresholds), default=0) <= _MOST_THRESHOLDS
        if not self.is_possible:
            return
        self.thresholds = [own.astype(np.float64) for own in thresholds]
        codes: AnyArray = np.full(len(nodes), _ALWAYS_LEFT, np.uint32)
        for k, values in enumerate(thresholds):
            own = inner & (features == k)
            codes[own] = np.searchsorted(values, nodes["threshold"][own])
        missing = np.where(inner & ((tags & MISSING_LEFT) != 0), 1, 0)
        self._words = (codes | (missing << 8) | (np.where(inner, features, 0) << 9)).astype(np.uint16)
        slots = np.zeros(trees.n_trees, np.int64) if model.slots is None else np.asarray(model.slots, np.int64)
        order = np.argsort(slots, kind="stable")
        self._slot_offsets = np.searchsorted(slots[order], np.arange(model.width + 1)).astype(np.uint32)
        ends = np.asarray(trees.node_offsets).astype(np.int64)
        self._begins, self._sizes = ends[:-1][order], np.diff(ends)[order]
        self._first_leaves = np.asarray(trees.leaf_offsets)[:-1].astype(np.int64)[order]
        self._terms = terms[:, 0]

    def fill(self) -> CompleteTrees | None:
        """Complete trees, or None if a tree is too deep."""
        nodes, inner, first = self._nodes, self._inner, self._begins[:, None]
        at = first.copy()
        levels: list[AnyArray] = []
        while inner[at].any():
            if len(levels) == _MOST_DEPTH:
                return None
            levels.append(self._words[at])
            left = np.where(inner[at], first + nodes["left"][at], at)
            at = np.stack([left, np.where(inner[at], left + 1, at)], axis=2).reshape(len(at), -1)
        depth = max(1, len(levels))
        if not levels:  # leaves alone
            levels, at = [self._words[at]], np.repeat(at, 2, axis=1)
        heaps = np.concatenate([np.zeros_like(first, np.uint16), *levels], axis=1)
        leaves = self._first_leaves[:, None] + nodes["left"][at]
        arrays = {
            "heaps": np.ascontiguousarray(heaps),
            "heap_terms": np.ascontiguousarray(self._terms[leaves]),
            "slot_offsets": self._slot_offsets,
        }
        return CompleteTrees(arrays, depth)

    def link(self) -> LinkedTrees | None:
        """Linked trees, or None if a tree is too large for shared memory."""
        most_nodes = _MOST_BYTES // _LINK_BYTES
        if self._sizes.max(initial=0) > most_nodes:
            return None
        tree_begins = np.concatenate([[0], np.cumsum(self._sizes)])
        tree_of = np.repeat(np.arange(len(self._sizes)), self._sizes)
        within = np.arange(len(tree_of)) - tree_begins[tree_of]
        taken = self._begins[tree_of] + within
        inner, left = self._inner[taken], self._nodes["left"][taken].astype(np.int64)
        terms = np.zeros(len(taken))
        terms[~inner] = self._terms[(self._first_leaves[tree_of] + left)[~inner]]
        links = (np.where(inner, left, within).astype(np.uint32) << 16) | self._words[taken]
        arrays = {
            "links": links.astype(np.uint32),
            "link_terms": terms,
            "tree_begins": tree_begins.astype(np.uint32),
            "tree_depths": _count_levels(inner, left, tree_begins),
            "chunk_ends": _end_chunks(self._sizes, self._slot_offsets, most_nodes),
            "slot_offsets": self._slot_offsets,
        }
        return LinkedTrees(arrays)


def _count_levels(inner: AnyArray, left: AnyArray, tree_begins: AnyArray) -> AnyArray:
    """Levels of splits of each tree."""
    depths = np.zeros(len(tree_begins) - 1, np.uint32)
    trees = np.arange(len(depths))
    at = tree_begins[:-1]
    while True:
        split = inner[at]
        at, trees = at[split], trees[split]
        if not len(at):
            return depths
        depths[trees] += 1  # once for each tree that has splits on this level
        children = tree_begins[trees] + left[at]
        at, trees = np.concatenate([children, children + 1]), np.concatenate([trees, trees])


def _end_chunks(sizes: AnyArray, slot_offsets: AnyArray, most_nodes: int) -> AnyArray:
    """For the first tree of a chunk, the tree that begins the next one; as many trees as have room, of one column."""
    ends = np.arange(1, len(sizes) + 1, dtype=np.uint32)
    for first, last in zip(slot_offsets[:-1].tolist(), slot_offsets[1:].tolist(), strict=True):
        begin, n_nodes = first, 0
        for tree in range(first, last):
            n_nodes += int(sizes[tree])
            if n_nodes > most_nodes:
                begin, n_nodes = tree, int(sizes[tree])
            ends[begin] = tree + 1
    return ends
