"""`to_xgboost`: boosted trees as XGBoost's JSON, which XGBoost, treelite and others read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.node_tags import FEATURE, LEAF, MISSING_LEFT
from committee.engines.tree_model import TreeModel, present_trees
from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray

__all__ = ["to_xgboost"]

_NO_PARENT = 2147483647
#: By link: the objective, and the mean whose score is zero.
_OBJECTIVES = {
    "identity": ("reg:squarederror", "0E0"),
    "logit": ("binary:logistic", "5E-1"),
    "softmax": ("multi:softprob", "5E-1"),
    "log": ("count:poisson", "1E0"),
}


def to_xgboost(model: Any, path: str | os.PathLike[str] | None = None) -> dict[str, Any]:
    """A gradient boosting model without categories as XGBoost's JSON.

    Float32 rows end in the same leaves. XGBoost keeps leaves and sums in float32, so that scores agree to about 1e-6
    relative. The baseline is a tree of one leaf for each score.

    Parameters
    ----------
    model : fitted estimator
        Gradient boosting with a link that XGBoost has: identity, log-odds of two classes, softmax, or logarithm.
    path : str or path-like, optional
        Where to write it, with the ending ``.json`` that XGBoost wants.

    Returns
    -------
    dict
        The document.

    Examples
    --------
    >>> from committee import HistGradientBoostingRegressor
    >>> from committee.io import to_xgboost
    >>> model = HistGradientBoostingRegressor(max_iter=3).fit([[0.0], [1.0]] * 30, [0.0, 1.0] * 30)
    >>> to_xgboost(model)["learner"]["objective"]["name"]
    'reg:squarederror'
    """
    found = present_trees(model)
    _check_fit(model, found)
    starts = np.zeros(found.width) if found.baseline is None else np.asarray(found.baseline, dtype=np.float64)
    trees = [_write_leaf(float(start)) for start in starts.tolist()]
    trees += [_write_nodes(found, number) for number in range(found.trees.n_trees)]
    slots = np.zeros(found.trees.n_trees, np.uint32) if found.slots is None else found.slots
    for number, tree in enumerate(trees):
        tree["id"] = number
        tree["tree_param"]["num_feature"] = str(found.schema.n_features)
    document = _write_document(found, trees, [*range(found.width), *slots.tolist()])
    if path is not None:
        Path(path).write_text(json.dumps(document), encoding="utf-8")
    return document


def _check_fit(model: Any, found: TreeModel) -> None:
    name = type(model).__name__
    if found.schema.inputs is not None or len(found.trees.category_words):
        raise ParameterTypeError(
            f"A {name} that splits by categories, dates, lists or text cannot be written for XGBoost."
        )
    plain = found.combine == "sum" and found.tree_weights is None and found.link_scale == 1.0 and found.trees.width == 1
    if not plain or found.link not in _OBJECTIVES or (found.link == "identity" and found.width > 1):
        raise ParameterTypeError(
            f"This {name} cannot be written for XGBoost: its file holds boosted trees of one value a leaf, of one "
            "score or of one for each class, with the links identity, log-odds, softmax and logarithm."
        )


def _write_document(found: TreeModel, trees: list[dict[str, Any]], slots: list[int]) -> dict[str, Any]:
    names, n_scores = list(found.schema.feature_names or ()), found.width
    objective, base_score = _OBJECTIVES[found.link]
    model = {
        "gbtree_model_param": {"num_parallel_tree": "1", "num_trees": str(len(trees))},
        "iteration_indptr": list(range(0, len(trees) + 1, n_scores)),
        "tree_info": slots,
        "trees": trees,
    }
    target: dict[str, Any] = {"name": objective}
    if objective == "multi:softprob":
        target["softmax_multiclass_param"] = {"num_class": str(n_scores)}
    elif objective == "count:poisson":
        target["poisson_regression_param"] = {"max_delta_step": "7E-1"}
    else:
        target["reg_loss_param"] = {"scale_pos_weight": "1"}
    learner = {
        "attributes": {},
        "feature_names": names,
        "feature_types": ["float"] * len(names),
        "gradient_booster": {"model": model, "name": "gbtree"},
        "learner_model_param": {
            "base_score": base_score,
            "boost_from_average": "0",
            "num_class": str(n_scores if n_scores > 1 else 0),
            "num_feature": str(found.schema.n_features),
            "num_target": "1",
        },
        "objective": target,
    }
    return {"learner": learner, "version": [2, 1, 0]}


def _write_nodes(found: TreeModel, number: int) -> dict[str, Any]:
    """One tree of the arena."""
    trees = found.trees
    first, last = (int(k) for k in trees.node_offsets[number : number + 2])
    nodes = trees.nodes[first:last]
    is_leaf = nodes["tag"] & LEAF != 0
    left = np.where(is_leaf, -1, nodes["left"].astype(np.int64))
    leaves = int(trees.leaf_offsets[number]) + np.where(is_leaf, nodes["left"], 0).astype(np.int64)
    values = np.asarray(trees.values, dtype=np.float64)[leaves, 0]
    parents, inner = np.full(len(nodes), _NO_PARENT), np.flatnonzero(~is_leaf)
    parents[left[inner]] = parents[left[inner] + 1] = inner
    weights, cover = np.asarray(trees.leaf_weights, dtype=np.float64), np.ones(len(nodes))
    if len(weights):
        cover = np.where(is_leaf, weights[leaves], 0.0)
        for node in inner[::-1].tolist():  # children follow their parents
            cover[node] = cover[left[node]] + cover[left[node] + 1]
    return _name_arrays(
        left,
        np.where(is_leaf, 0, nodes["tag"] & FEATURE).astype(np.int64),
        np.where(is_leaf, values, _raise_thresholds(nodes["threshold"].astype(np.float64))),
        (nodes["tag"] & MISSING_LEFT != 0) & ~is_leaf,
        parents,
        cover,
    )


def _raise_thresholds(thresholds: FloatArray) -> FloatArray:
    """The first float32 that goes right: XGBoost sends left what is below a threshold."""
    with np.errstate(over="ignore"):
        last = thresholds.astype(np.float32)
        last = np.where(last > thresholds, np.nextafter(last, np.float32(-np.inf)), last).astype(np.float32)
        return np.nextafter(last, np.float32(np.inf)).astype(np.float64)


def _write_leaf(value: float) -> dict[str, Any]:
    zero = np.array([0])
    return _name_arrays(np.array([-1]), zero, np.array([value]), zero, np.array([_NO_PARENT]), np.ones(1))


def _name_arrays(
    left: AnyArray, feature: AnyArray, conditions: AnyArray, missing_left: AnyArray, parents: AnyArray, cover: AnyArray
) -> dict[str, Any]:
    """A tree in the arrays of XGBoost; the right child follows the left one."""
    n = len(left)
    return {
        "base_weights": [0.0] * n,
        "categories": [],
        "categories_nodes": [],
        "categories_segments": [],
        "categories_sizes": [],
        "default_left": missing_left.astype(int).tolist(),
        "id": 0,
        "left_children": left.tolist(),
        "loss_changes": [0.0] * n,
        "parents": parents.tolist(),
        "right_children": np.where(left < 0, -1, left + 1).tolist(),
        "split_conditions": [float(x) for x in conditions.astype(np.float32)],
        "split_indices": feature.tolist(),
        "split_type": [0] * n,
        "sum_hessian": cover.tolist(),
        "tree_param": {"num_deleted": "0", "num_feature": "0", "num_nodes": str(n), "size_leaf_vector": "1"},
    }
