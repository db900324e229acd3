"""Models as ONNX graphs, for runtimes without Python: one ``TreeEnsemble`` in double precision, and the link after it.

The nodes are those of ``ai.onnx.ml`` version 5. A leaf there adds to one number only, so that a tree whose leaves have
a probability for each class appears once for each class.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.tree_model import TreeModel, present_trees
from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import AnyArray, FloatArray

__all__ = ["to_onnx"]

_OPSET, _ML_OPSET, _IR_VERSION = 21, 5, 10
# Values of `nodes_modes`.
_LESS_OR_EQUAL, _MEMBER = 0, 6
_SUM = 1


def to_onnx(model: Any, path: str | os.PathLike[str] | None = None) -> Any:
    """A tree, forest, bag of trees or boosted trees as an ONNX model, for instance for ``onnxruntime``.

    The graph takes ``X``, doubles of shape (n_rows, n_features): NaN is a missing value, and a category is the number
    of its level in ``model._schema.categories`` (NaN for a level that the model has not met). A classifier returns
    ``label`` and ``probabilities``, a regressor with ``value``; the numbers are doubles and differ from those of the
    model by rounding only.

    Parameters
    ----------
    model : fitted estimator
        Made of trees of this library, for one output.
    path : str or path-like, optional
        Where to write it.

    Returns
    -------
    onnx.ModelProto

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.io import to_onnx
    >>> forest = RandomForestClassifier(10, random_state=0).fit([[0.0], [1.0], [2.0], [3.0]], ["a", "a", "b", "b"])
    >>> graph = to_onnx(forest).graph  # doctest: +SKIP
    >>> [output.name for output in graph.output]  # doctest: +SKIP
    ['label', 'probabilities']
    """
    try:
        import onnx
    except ImportError as error:
        raise ImportError("to_onnx needs the package onnx; run pip install 'committee[onnx]'.") from error

    model_trees = present_trees(model)
    classes = getattr(model, "classes_", None)
    _check(model, model_trees, classes)
    graph = _Graph(onnx.helper)
    table = _number_missing(graph, model_trees)
    raw = graph.add(
        "TreeEnsemble", [table], domain="ai.onnx.ml", **_list_attributes(onnx, _collect(model_trees), model_trees.width)
    )
    if model_trees.combine != "sum":
        total = (
            model_trees.trees.n_trees if model_trees.tree_weights is None else float(np.sum(model_trees.tree_weights))
        )
        raw = graph.add("Div", [raw, graph.keep(np.array(float(total)))])
    if model_trees.baseline is not None:
        raw = graph.add("Add", [raw, graph.keep(np.asarray(model_trees.baseline, dtype=np.float64))])
    if model_trees.link_scale != 1.0:
        raw = graph.add("Mul", [raw, graph.keep(np.array(float(model_trees.link_scale)))])
    outputs = (
        _add_value_output(graph, raw, model_trees)
        if classes is None
        else _add_class_output(graph, raw, model_trees, classes)
    )
    rows = onnx.helper.make_tensor_value_info("X", onnx.TensorProto.DOUBLE, [None, model_trees.schema.n_features])
    made = onnx.helper.make_model(
        onnx.helper.make_graph(graph.nodes, type(model).__name__, [rows], outputs, graph.constants),
        opset_imports=[onnx.helper.make_opsetid("", _OPSET), onnx.helper.make_opsetid("ai.onnx.ml", _ML_OPSET)],
        ir_version=_IR_VERSION,
        producer_name="committee",
    )
    onnx.checker.check_model(made)
    if path is not None:
        onnx.save(made, os.fspath(path))
    return made


def _check(model: Any, model_trees: TreeModel, classes: Any) -> None:
    name = type(model).__name__
    if model_trees.schema.inputs is not None:
        raise ParameterTypeError(
            f"A {name} that was fitted on dates, times or lists cannot be written as ONNX, whose table holds numbers. "
            "Turn them into columns of numbers before the fit."
        )
    if getattr(model, "calibration", None) is not None:
        raise ParameterTypeError(f"A {name} whose probabilities are calibrated cannot be written as ONNX.")
    if isinstance(classes, list) or (classes is None and model_trees.width > 1):
        raise ParameterTypeError(f"A {name} of several outputs cannot be written as ONNX.")
    probabilities = (
        model_trees.link == "identity"
        and model_trees.combine != "sum"
        and model_trees.width == (0 if classes is None else len(classes))
    )
    known = (
        model_trees.link in ("identity", "log")
        if classes is None
        else model_trees.link in ("logit", "softmax") or probabilities
    )
    # The leaves of an isolation forest hold path lengths, which are not yet its scores.
    if not known or getattr(model, "task", None) == "none":
        raise ParameterTypeError(
            f"What this {name} makes of the sum of its trees cannot be written as ONNX; trees, forests, bags of trees "
            "and boosting by one of the library's own losses can."
        )


class _Graph:
    """Nodes one after the other, each with one result, and the constants that they use."""

    def __init__(self, make: Any) -> None:
        self.make = make
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(self, kind: str, inputs: list[str], name: str | None = None, **attributes: Any) -> str:
        """A node; the name of its result."""
        made = name or f"{kind.lower()}_{len(self.nodes)}"
        self.nodes.append(self.make.make_node(kind, inputs, [made], **attributes))
        return made

    def keep(self, values: AnyArray) -> str:
        """A constant; its name."""
        import onnx

        name = f"constant_{len(self.constants)}"
        self.constants.append(onnx.numpy_helper.from_array(values, name))
        return name


def _count_levels(model_trees: TreeModel) -> list[int]:
    return [0 if levels is None else len(levels) for levels in model_trees.schema.categories]


def _number_missing(graph: _Graph, model_trees: TreeModel) -> str:
    """The table with a code of its own for what is missing in a category: whether NaN is in a set, runtimes differ."""
    n_levels = np.array(_count_levels(model_trees), dtype=np.float64)
    if not n_levels.any():
        return "X"
    gaps = graph.add("And", [graph.add("IsNaN", ["X"]), graph.keep(n_levels > 0)])
    return graph.add("Where", [gaps, graph.keep(n_levels), "X"])


def _add_value_output(graph: _Graph, raw: str, model_trees: TreeModel) -> list[Any]:
    import onnx

    if model_trees.link == "log":
        raw = graph.add("Exp", [raw])
    graph.add("Squeeze", [raw, graph.keep(np.array([1]))], "value")
    return [onnx.helper.make_tensor_value_info("value", onnx.TensorProto.DOUBLE, [None])]


def _add_class_output(graph: _Graph, raw: str, model_trees: TreeModel, classes: AnyArray) -> list[Any]:
    import onnx

    if model_trees.link == "logit":
        second = graph.add("Sigmoid", [raw])
        first = graph.add("Sub", [graph.keep(np.array(1.0)), second])
        probabilities = graph.add("Concat", [first, second], "probabilities", axis=1)
    elif model_trees.link == "softmax":
        probabilities = graph.add("Softmax", [raw], "probabilities", axis=1)
    else:
        probabilities = graph.add("Identity", [raw], "probabilities")
    best = graph.add("ArgMax", [probabilities], axis=1, keepdims=0)
    numbers = classes.dtype.kind in "iub"
    names = classes.astype(np.int64) if numbers else np.array([str(one) for one in classes.tolist()], dtype=object)
    graph.add("Gather", [graph.keep(names), best], "label")
    kind = onnx.TensorProto.INT64 if numbers else onnx.TensorProto.STRING
    return [
        onnx.helper.make_tensor_value_info("label", kind, [None]),
        onnx.helper.make_tensor_value_info("probabilities", onnx.TensorProto.DOUBLE, [None, len(classes)]),
    ]


@dataclass
class _Nodes:
    """The arrays of a ``TreeEnsemble``, tree by tree; inner nodes and leaves are numbered apart."""

    n_levels: list[int]
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


def _collect(model_trees: TreeModel) -> _Nodes:
    """Every tree, once for each column that its leaves have a number for."""
    nodes = _Nodes(_count_levels(model_trees))
    for number in range(model_trees.trees.n_trees):
        tree = model_trees.trees.describe(number, "gini" if len(model_trees.trees.outputs) else "squared_error")
        weight = 1.0 if model_trees.tree_weights is None else float(model_trees.tree_weights[number])
        leaves = np.asarray(tree["feature"]).astype(np.int64) < 0
        values = weight * _read_leaves(model_trees, np.asarray(tree["value"], dtype=np.float64)[leaves])
        for column in range(values.shape[1]):
            target = column if model_trees.slots is None else int(model_trees.slots[number])
            _append_tree(nodes, tree, leaves, values[:, column], target)
    return nodes


def _read_leaves(model_trees: TreeModel, values: FloatArray) -> FloatArray:
    """What the leaves of a tree of weight one add, of shape (n_leaves, n_columns)."""
    values = values.reshape(len(values), -1)
    if model_trees.combine == "vote":
        return np.eye(values.shape[1])[values.argmax(axis=1)]  # type: ignore[no-any-return]
    if model_trees.combine == "mean" and len(model_trees.trees.outputs):
        return values / values.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]
    return values


def _append_tree(nodes: _Nodes, tree: Any, leaves: NDArray[np.bool_], values: FloatArray, target: int) -> None:
    nodes.roots.append(nodes.n_inner)
    inner = np.flatnonzero(~leaves)
    # Numbers of a node among the inner nodes, or among the leaves.
    place = np.where(leaves, nodes.n_leaves + np.cumsum(leaves) - 1, nodes.n_inner + np.cumsum(~leaves) - 1)
    nodes.append(leaf_weights=values, leaf_targetids=np.full(len(values), target))
    if len(inner):
        category_sets = [tree["left_categories"].get(int(node)) for node in inner]
        by_set = np.array([codes is not None for codes in category_sets])
        left, right = (np.asarray(tree[side]).astype(np.int64)[inner] for side in ("children_left", "children_right"))
        feature = np.asarray(tree["feature"]).astype(np.int64)[inner]
        missing_left = np.asarray(tree["missing_go_to_left"], dtype=bool)[inner]
        nodes.append(
            nodes_modes=np.where(by_set, _MEMBER, _LESS_OR_EQUAL),
            nodes_featureids=feature,
            nodes_splits=np.where(by_set, 0.0, np.asarray(tree["threshold"], dtype=np.float64)[inner]),
            nodes_missing_value_tracks_true=missing_left & ~by_set,
            nodes_truenodeids=place[left],
            nodes_trueleafs=leaves[left],
            nodes_falsenodeids=place[right],
            nodes_falseleafs=leaves[right],
        )
        for codes, column, also_missing in zip(category_sets, feature.tolist(), missing_left.tolist(), strict=True):
            if codes is not None:
                missing = [nodes.n_levels[column]] if also_missing else []
                nodes.append(membership_values=np.array([*np.sort(codes), *missing, np.nan], dtype=np.float64))
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


def _list_attributes(onnx: Any, nodes: _Nodes, n_targets: int) -> dict[str, Any]:
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
