"""Shape tables as trees of the engine, one a term: predictions, explanations and exports are those of trees."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines import get_engine
from committee.engines.node_tags import CATEGORICAL, LEAF

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines import Trees
    from committee.ensembles.additive.shapes import ShapeAxis, TermShape
    from committee.typing import AnyArray

__all__ = ["make_term_trees"]

_NODE = np.dtype([("threshold", "<f8"), ("left", "<u4"), ("tag", "<u4")])


class _TermTree:
    """The nodes of one term, breadth-first.

    A node stands for a range of cells of each axis. Axes are cut one after another: missing values first, then the
    others in halves. Neighbouring cells of the same values are one leaf.
    """

    def __init__(self, shape: TermShape, sets: list[AnyArray]) -> None:
        self.shape, self.sets = shape, sets
        self.nodes: list[tuple[float, int, int]] = []
        self.leaves: list[tuple[Any, ...]] = []
        values = shape.values
        # Whether each cell of an axis has the values of the one before it.
        self.same: list[list[bool]] = []
        for axis in range(len(shape.axes)):
            by_cell = np.moveaxis(values, axis + 1, 0)
            equal = (by_cell[1:] == by_cell[:-1]).all(axis=tuple(range(1, by_cell.ndim)))
            self.same.append([False, *equal.tolist()])
        self._build()

    def _build(self) -> None:
        queue: list[tuple[tuple[int, int], ...]] = [tuple((0, axis.n_cells + 1) for axis in self.shape.axes)]
        done = 0
        while done < len(queue):
            ranges = queue[done]
            done += 1
            cut = self._choose_cut(ranges)
            if cut is None:
                self.nodes.append((0.0, len(self.leaves), LEAF))
                self.leaves.append(tuple(slice(low, high) for low, high in ranges))
                continue
            axis, place = cut
            low, high = ranges[axis]
            threshold, tag = self._describe_cut(self.shape.axes[axis], low, place)
            self.nodes.append((threshold, len(queue), tag))
            queue.append((*ranges[:axis], (low, place), *ranges[axis + 1 :]))
            queue.append((*ranges[:axis], (place, high), *ranges[axis + 1 :]))

    def _choose_cut(self, ranges: tuple[tuple[int, int], ...]) -> tuple[int, int] | None:
        """The first axis that is not done, and the first cell of its right side."""
        for number, (low, high) in enumerate(ranges):
            axis = self.shape.axes[number]
            if high == axis.n_cells + 1:
                # Values of categories that no cell has are treated as missing ones; so the cut is always made.
                if low < axis.n_cells:
                    return number, axis.n_cells
                continue
            cuts = [cell for cell in range(low + 1, high) if not self.same[number][cell]]
            if cuts:
                return number, cuts[len(cuts) // 2]
        return None

    def _describe_cut(self, axis: ShapeAxis, low: int, place: int) -> tuple[float, int]:
        """Threshold and tag: cells low .. place - 1 go left."""
        if axis.thresholds is not None:
            return (np.inf if place == axis.n_cells else float(axis.thresholds[place - 1])), axis.feature
        assert axis.cells is not None
        self.sets.append(np.flatnonzero((axis.cells >= low) & (axis.cells < place)))
        number = np.array([len(self.sets) - 1, 0], dtype="<u4").view("<f8")[0]
        return float(number), axis.feature | CATEGORICAL

    def read_leaves(self) -> tuple[AnyArray, AnyArray]:
        """Values of the leaves, (n_leaves, n_scores), and the weight of their rows."""
        first = tuple(np.array([leaf[k].start for leaf in self.leaves]) for k in range(len(self.shape.axes)))
        weights = np.array([self.shape.weights[leaf].sum() for leaf in self.leaves])
        return np.moveaxis(self.shape.values, 0, -1)[first], weights


def make_term_trees(shapes: Sequence[TermShape], n_features: int) -> Trees:
    """One tree for each term, whose leaves have a value for each score.

    Parameters
    ----------
    shapes : sequence of TermShape
        The terms.
    n_features : int
        Features of the encoded table.
    """
    sets: list[AnyArray] = []
    trees = [_TermTree(shape, sets) for shape in shapes]
    nodes = [np.array(tree.nodes, dtype=_NODE) for tree in trees]
    values, weights = zip(*(tree.read_leaves() for tree in trees), strict=True)
    offsets, words = _pack_levels(sets)
    weight = np.concatenate(weights)
    return get_engine().Trees.from_arrays(
        {
            "version": 1,
            "n_features": n_features,
            "outputs": [],
            "nodes": np.concatenate(nodes),
            "node_offsets": np.cumsum([0, *map(len, nodes)]).astype(np.uint64),
            "leaf_offsets": np.cumsum([0, *map(len, values)]).astype(np.uint64),
            "values": np.ascontiguousarray(np.concatenate(values), dtype=np.float64),
            "category_offsets": offsets,
            "category_words": words,
            "leaf_samples": np.minimum(np.ceil(weight), 2.0**32 - 1).astype(np.uint32),
            "leaf_weights": weight,
            "node_impurity": np.zeros(0),
        }
    )


def _pack_levels(sets: list[AnyArray]) -> tuple[AnyArray, AnyArray]:
    """Sets of codes as bits in words of 32."""
    if not sets:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    offsets, words = [0], []
    for codes in sets:
        bits = np.zeros(32 * (int(codes.max()) // 32 + 1 if len(codes) else 1), dtype=np.uint8)
        bits[codes] = 1
        words.append(np.packbits(bits, bitorder="little").view("<u4"))
        offsets.append(offsets[-1] + len(words[-1]))
    return np.array(offsets, dtype=np.uint32), np.concatenate(words).astype(np.uint32)
