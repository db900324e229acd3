"""Arenas of trees as ``TreeEnsemble`` nodes of ``ai.onnx.ml`` version 5, in double precision.

A leaf there adds to one number only, so that a tree whose leaves have several appears once for each.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.node_tags import CATEGORICAL, FEATURE, LEAF, MISSING_LEFT

if TYPE_CHECKING:
    from committee.engines.formula import TreeTerm
    from committee.typing import AnyArray, BoolArray, FloatArray

__all__ = ["MISSING_CODE", "find_category_columns", "list_tree_attributes"]

#: Stands for a missing category: whether NaN is in a set, runtimes differ.
MISSING_CODE = -1.0
# Values of `nodes_modes`.
_LESS_OR_EQUAL, _MEMBER = 0, 6
_SUM = 1


@dataclass
class _Nodes:
    """The arrays of a ``TreeEnsemble``, tree by tree; inner nodes and leaves are numbered apart."""

    roots: list[int] = field(default_factory=list)
    n_inner: int = 0
    n_leaves: int = 0
    parts: dict[str, list[Any]] = field(default_factory=dict)

    def append(self, **arrays: Any) -> None:
        """The entries of one more tree."""
        for name, values in arrays.items():
            self.parts.setdefault(name, []).append(np.asarray(values))

    def join(self, name: str, dtype: Any) -> AnyArray:
        """One array over all trees."""
        return np.concatenate(self.parts[name]).astype(dtype) if self.parts.get(name) else np.empty(0, dtype=dtype)


def find_category_columns(term: TreeTerm) -> AnyArray:
    """The columns that some tree splits as categories."""
    tags = term.trees.nodes["tag"]
    return np.unique(tags[(tags & LEAF == 0) & (tags & CATEGORICAL != 0)] & FEATURE).astype(np.int64)


def list_tree_attributes(onnx: Any, term: TreeTerm) -> dict[str, Any]:
    """The attributes of the node that sums the leaves; a mean is still to be divided."""
    nodes, trees = _Nodes(), term.trees
    values = _read_leaves(term)
    arena, starts, firsts = trees.nodes, trees.node_offsets.astype(np.int64), trees.leaf_offsets.astype(np.int64)
    for number in range(trees.n_trees):
        own = arena[starts[number] : starts[number + 1]]
        leaves = own["tag"] & LEAF != 0
        weight = 1.0 if term.tree_weights is None else float(term.tree_weights[number])
        terms = weight * values[firsts[number] : firsts[number + 1]][own["left"][leaves].astype(np.int64)]
        for column in range(terms.shape[1]):
            target = column if term.slots is None else int(term.slots[number])
            _append_tree(nodes, term, own, leaves, terms[:, column], target)
    return _name_attributes(onnx, nodes, term.width)


def _read_leaves(term: TreeTerm) -> FloatArray:
    """What the leaves of trees of weight one add, of shape (n_leaves, n_columns)."""
    values, outputs = np.asarray(term.trees.values, dtype=np.float64), list(term.trees.outputs)
    if term.combine == "sum" or not outputs:
        return values
    parts = np.split(values, np.cumsum(outputs)[:-1], axis=1)
    if term.combine == "vote":
        return np.hstack([np.eye(part.shape[1])[part.argmax(axis=1)] for part in parts])
    return np.hstack([part / part.sum(axis=1, keepdims=True) for part in parts])


def _list_codes(term: TreeTerm, node: AnyArray) -> AnyArray:
    """The codes that go left at a node that splits by categories."""
    (number,) = np.frombuffer(node["threshold"].tobytes()[:4], dtype="<u4")
    offsets = term.trees.category_offsets
    words = np.asarray(term.trees.category_words[offsets[number] : offsets[number + 1]])
    return np.flatnonzero(np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little"))


def _append_tree(
    nodes: _Nodes, term: TreeTerm, own: AnyArray, leaves: BoolArray, values: FloatArray, target: int
) -> None:
    nodes.roots.append(nodes.n_inner)
    inner = np.flatnonzero(~leaves)
    # Numbers of a node among the inner nodes, or among the leaves.
    place = np.where(leaves, nodes.n_leaves + np.cumsum(leaves) - 1, nodes.n_inner + np.cumsum(~leaves) - 1)
    nodes.append(leaf_weights=values, leaf_targetids=np.full(len(values), target))
    if len(inner):
        tags = own["tag"][inner]
        by_set, missing_left = tags & CATEGORICAL != 0, tags & MISSING_LEFT != 0
        left = own["left"][inner].astype(np.int64)
        thresholds = np.where(by_set, 0.0, own["threshold"][inner].astype(np.float64))
        nodes.append(
            nodes_modes=np.where(by_set, _MEMBER, _LESS_OR_EQUAL),
            nodes_featureids=(tags & FEATURE).astype(np.int64),
            nodes_splits=thresholds,
            nodes_missing_value_tracks_true=missing_left & ~by_set,
            nodes_truenodeids=place[left],
            nodes_trueleafs=leaves[left],
            nodes_falsenodeids=place[left + 1],
            nodes_falseleafs=leaves[left + 1],
        )
        for k in np.flatnonzero(by_set).tolist():
            missing = [MISSING_CODE] if missing_left[k] else []
            codes = _list_codes(term, own[inner[k]])
            nodes.append(membership_values=np.array([*codes, *missing, np.nan], dtype=np.float64))
    else:
        # A tree that is a leaf: a split whose two branches are equal.
        only = [nodes.n_leaves]
        nodes.append(
            nodes_modes=[_LESS_OR_EQUAL],
            nodes_featureids=[0],
            nodes_splits=[0.0],
            nodes_missing_value_tracks_true=[0],
            nodes_truenodeids=only,
            nodes_trueleafs=[1],
            nodes_falsenodeids=only,
            nodes_falseleafs=[1],
        )
    nodes.n_inner += max(1, len(inner))
    nodes.n_leaves += len(values)


def _name_attributes(onnx: Any, nodes: _Nodes, n_targets: int) -> dict[str, Any]:
    tensor = onnx.numpy_helper.from_array
    whole = ("nodes_featureids", "nodes_truenodeids", "nodes_trueleafs", "nodes_falsenodeids", "nodes_falseleafs")
    attributes: dict[str, Any] = {
        name: nodes.join(name, np.int64).tolist()
        for name in (*whole, "nodes_missing_value_tracks_true", "leaf_targetids")
    }
    attributes |= {
        "tree_roots": nodes.roots,
        "n_targets": n_targets,
        "aggregate_function": _SUM,
        "post_transform": 0,
        "nodes_modes": tensor(nodes.join("nodes_modes", np.uint8), "nodes_modes"),
        "nodes_splits": tensor(nodes.join("nodes_splits", np.float64), "nodes_splits"),
        "leaf_weights": tensor(nodes.join("leaf_weights", np.float64), "leaf_weights"),
    }
    members = nodes.join("membership_values", np.float64)
    if len(members):
        attributes["membership_values"] = tensor(members, "membership_values")
    return attributes
