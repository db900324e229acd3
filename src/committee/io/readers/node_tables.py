"""Trees of other libraries as tables of nodes, checked and turned into an arena of the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from committee.engines import get_engine
from committee.engines.node_tags import CATEGORICAL, LEAF, MISSING_LEFT
from committee.exceptions import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines import Trees
    from committee.typing import AnyArray, FloatArray

__all__ = ["NodeTable", "make_arena", "make_leaf_table", "refuse_file", "round_thresholds"]

_MOST_LEVELS = 1 << 24
_NODE = np.dtype([("threshold", "<f8"), ("left", "<u4"), ("tag", "<u4")])


def refuse_file(library: str, sentence: str) -> ModelFileError:
    """The error for a model that cannot be read."""
    return ModelFileError(f"This model of {library} cannot be read: {sentence}.")


@dataclass
class NodeTable:
    """One tree, an entry for each node; the root is node 0.

    Attributes
    ----------
    left, right : ndarray of int
        Children; below zero in leaves.
    feature : ndarray of int
        What an inner node splits by.
    threshold : ndarray of float64
        Values up to it go left.
    missing_left : ndarray of bool
        Where a missing value goes.
    value : ndarray of shape (n_nodes, width)
        Of leaves.
    weight, count : ndarray
        Training weight and rows of leaves.
    categories : dict
        By node, the codes that go left, where it splits by a category.
    """

    left: AnyArray
    right: AnyArray
    feature: AnyArray
    threshold: FloatArray
    missing_left: AnyArray
    value: FloatArray
    weight: FloatArray
    count: AnyArray
    categories: dict[int, AnyArray] = field(default_factory=dict)


def make_leaf_table(value: FloatArray, weight: float, count: int) -> NodeTable:
    """A tree that is one leaf: a constant that is the first term of a sum."""
    none, zero = np.array([-1]), np.zeros(1)
    number = np.array([count])
    return NodeTable(none, none, np.zeros(1, int), zero, zero > 0, value.reshape(1, -1), np.array([weight]), number)


def round_thresholds(thresholds: AnyArray, *, inclusive: bool) -> FloatArray:
    """Thresholds for doubles that decide as a library does that rounds values to float32 first.

    Parameters
    ----------
    thresholds : ndarray
        Rounded values up to the threshold (`inclusive`), or below it, go left.
    inclusive : bool
        Which of the two.

    Returns
    -------
    ndarray of float64
        A double goes left iff it is at most this.

    Examples
    --------
    >>> limit = round_thresholds(np.array([1.0]), inclusive=False)[0]
    >>> [bool(np.float32(x) < 1.0) == bool(x <= limit) for x in (0.99999994, 0.99999997, 0.99999999, 1.0)]
    [True, True, True, True]
    """
    wide = np.asarray(thresholds, dtype=np.float64)
    with np.errstate(over="ignore"):
        last = wide.astype(np.float32)
        # The last float32 that goes left.
        beyond = last > wide if inclusive else last >= wide
        last = np.where(beyond, np.nextafter(last, np.float32(-np.inf)), last).astype(np.float32)
        first = np.nextafter(last, np.float32(np.inf))
        middle = (last.astype(np.float64) + first.astype(np.float64)) / 2
        stays = middle.astype(np.float32) <= last
    limit = np.where(stays, middle, np.nextafter(middle, -np.inf))
    largest = np.finfo(np.float64).max
    return np.where(np.isfinite(limit), limit, np.where(last < 0, -largest, largest))


def make_arena(library: str, tables: Sequence[NodeTable], n_features: int, width: int) -> Trees:
    """The trees in one arena; an error with a sentence if a table is not that of a tree."""
    if not tables:
        raise refuse_file(library, "it has no trees")
    nodes, values, weights, counts = [], [], [], []
    sets: list[AnyArray] = []
    node_offsets, leaf_offsets = [0], [0]
    for number, table in enumerate(tables):
        order, places = _order_nodes(library, number, table)
        made, leaves = _lay_out(library, number, table, order, places, n_features, sets)
        nodes.append(made)
        values.append(_check_values(library, number, table, leaves, width))
        weights.append(np.asarray(table.weight, dtype=np.float64)[leaves])
        counts.append(np.asarray(table.count)[leaves])
        node_offsets.append(node_offsets[-1] + len(made))
        leaf_offsets.append(leaf_offsets[-1] + len(leaves))
    offsets, words = _pack_sets(sets)
    weight = np.concatenate(weights)
    sound = bool(np.isfinite(weight).all() and (weight >= 0.0).all())
    count = np.concatenate(counts)
    counted = bool(((count >= 0) & (count < 1 << 32)).all())
    state = {
        "version": 1,
        "n_features": n_features,
        "outputs": [],
        "nodes": np.concatenate(nodes),
        "node_offsets": np.array(node_offsets, dtype=np.uint64),
        "leaf_offsets": np.array(leaf_offsets, dtype=np.uint64),
        "values": np.ascontiguousarray(np.concatenate(values)),
        "category_offsets": offsets,
        "category_words": words,
        "leaf_samples": count.astype(np.uint32) if counted else np.zeros(len(count), np.uint32),
        "leaf_weights": weight if sound else np.zeros(0),
        "node_impurity": np.zeros(0),
    }
    try:
        return get_engine().Trees.from_arrays(state)
    except ValueError as error:
        raise refuse_file(library, str(error).rstrip(".")) from error


def _order_nodes(library: str, number: int, table: NodeTable) -> tuple[list[int], dict[int, int]]:
    """The nodes breadth-first, so that siblings are neighbours, and the place of each."""
    left, right, n = table.left.tolist(), table.right.tolist(), len(table.left)
    order, places = [0], {0: 0}
    for node in order:
        if left[node] < 0:
            continue
        for child in (left[node], right[node]):
            if not 0 <= child < n or child in places:
                raise refuse_file(library, f"the nodes of tree {number} form no tree")
            places[child] = len(order)
            order.append(child)
    return order, places


def _lay_out(
    library: str,
    number: int,
    table: NodeTable,
    order: list[int],
    places: dict[int, int],
    n_features: int,
    sets: list[AnyArray],
) -> tuple[AnyArray, AnyArray]:
    """The nodes of a tree in the form of the arena, and its leaves in the order of their numbers."""
    chosen = np.array(order)
    is_leaf = np.asarray(table.left)[chosen] < 0
    made = np.zeros(len(order), dtype=_NODE)
    feature = np.asarray(table.feature)[chosen].astype(np.int64)
    if not ((feature >= 0) & (feature < n_features))[~is_leaf].all():
        raise refuse_file(library, f"tree {number} splits by a column that there is not")
    threshold = np.where(is_leaf, 0.0, np.asarray(table.threshold, dtype=np.float64)[chosen])
    if np.isnan(threshold).any():
        raise refuse_file(library, f"a threshold of tree {number} is no number")
    tags = np.where(is_leaf, LEAF, feature + np.where(np.asarray(table.missing_left)[chosen], MISSING_LEFT, 0))
    made["threshold"] = threshold
    made["left"][is_leaf] = np.arange(int(is_leaf.sum()))
    children = np.asarray(table.left)[chosen][~is_leaf].tolist()
    made["left"][~is_leaf] = [places[child] for child in children]
    for node, codes in table.categories.items():
        place = places.get(node)
        if place is None or is_leaf[place]:
            continue
        if len(codes) and not (int(codes.min()) >= 0 and int(codes.max()) < _MOST_LEVELS):
            raise refuse_file(library, f"tree {number} has categories below 0 or above {_MOST_LEVELS}")
        tags[place] |= CATEGORICAL
        made["threshold"][place] = np.array([len(sets), 0], dtype="<u4").view("<f8")[0]
        sets.append(codes)
    made["tag"] = tags
    return made, chosen[is_leaf]


def _check_values(library: str, number: int, table: NodeTable, leaves: AnyArray, width: int) -> FloatArray:
    values = np.asarray(table.value, dtype=np.float64)
    if values.ndim != 2 or values.shape != (len(table.left), width):
        raise refuse_file(library, f"the leaves of tree {number} must have {width} values")
    if not np.isfinite(values[leaves]).all():
        raise refuse_file(library, f"a leaf of tree {number} has a value that is not finite")
    return values[leaves]


def _pack_sets(sets: list[AnyArray]) -> tuple[AnyArray, AnyArray]:
    """Sets of codes as bits in words of 32."""
    if not sets:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    offsets, words = [0], []
    for codes in sets:
        own = np.zeros(int(codes.max()) // 32 + 1 if len(codes) else 1, dtype=np.uint32)
        np.bitwise_or.at(own, codes.astype(np.int64) // 32, np.uint32(1) << (codes.astype(np.uint32) % np.uint32(32)))
        words.append(own)
        offsets.append(offsets[-1] + len(own))
    return np.array(offsets, dtype=np.uint32), np.concatenate(words)
