"""`from_xgboost`: XGBoost's JSON and its binary form."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import CommitteeError
from committee.io.readers.fitted_models import ForeignColumns, hold_boosted
from committee.io.readers.node_tables import NodeTable, make_arena, refuse_file, round_thresholds
from committee.io.readers.sources import read_json, read_source_bytes
from committee.io.readers.ubjson import read_ubjson
from committee.losses import apply_log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.typing import AnyArray, FloatArray

__all__ = ["from_xgboost"]

_NAME = "XGBoost"
_LOSSES = {
    "reg:squarederror": "squared_error",
    "reg:squaredlogerror": "squared_error",
    "reg:pseudohubererror": "squared_error",
    "reg:absoluteerror": "absolute_error",
    "reg:quantileerror": "squared_error",
    "rank:ndcg": "squared_error",
    "rank:map": "squared_error",
    "rank:pairwise": "squared_error",
    "count:poisson": "poisson",
    "reg:gamma": "gamma",
    "reg:tweedie": "tweedie",
    "binary:logistic": "logistic",
    "multi:softprob": "softmax",
    "multi:softmax": "softmax",
}
#: Codes of categories have at least so many levels: one that is in no split is not a missing value.
_LEAST_LEVELS = 1024


def from_xgboost(source: str | os.PathLike[str] | bytes | Any, *, classes: ArrayLike | None = None) -> Any:
    """An XGBoost model as a fitted boosting estimator of this library.

    Every row ends in the same leaves: XGBoost rounds values to float32, and thresholds are chosen so that doubles are
    decided the same way. XGBoost adds in float32 and this library in float64, so that scores differ by the rounding of
    XGBoost's sum, about 1e-6 relative. Refused: ``gblinear``, vector leaves, objectives without a
    counterpart, and categories with labels; a category that is a number stays that number.

    Parameters
    ----------
    source : str, path-like, bytes or Booster
        A file or bytes of JSON or UBJSON, or a booster (or an estimator that has one).
    classes : array-like, optional
        The labels of the classes, ascending; by default 0, 1, ..., or those of an estimator.

    Returns
    -------
    HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Predicts, explains, is saved and exported as one that was fitted here; fitting it again forgets the trees.

    Examples
    --------
    >>> import json
    >>> from committee.io import from_xgboost
    >>> tree = {
    ...     "tree_param": {},
    ...     "left_children": [1, -1, -1],
    ...     "right_children": [2, -1, -1],
    ...     "split_indices": [0, 0, 0],
    ...     "split_conditions": [0.5, -1.0, 2.0],
    ...     "default_left": [1, 0, 0],
    ...     "loss_changes": [4.0, 0.0, 0.0],
    ...     "sum_hessian": [8.0, 4.0, 4.0],
    ... }
    >>> learner = {
    ...     "objective": {"name": "reg:squarederror"},
    ...     "learner_model_param": {"num_feature": "1", "num_class": "0", "base_score": "10"},
    ...     "gradient_booster": {"name": "gbtree", "model": {"trees": [tree], "tree_info": [0]}},
    ... }
    >>> from_xgboost(json.dumps({"learner": learner}).encode()).predict([[0.0], [1.0]])
    array([ 9., 12.])

    A model of the package itself:

    >>> import numpy as np, xgboost  # doctest: +SKIP
    >>> X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)  # doctest: +SKIP
    >>> model = from_xgboost(xgboost.XGBRegressor().fit(X, y))  # doctest: +SKIP
    """
    if hasattr(source, "get_booster"):
        classes = getattr(source, "classes_", None) if classes is None else classes
        source = source.get_booster()
    data = bytes(source.save_raw("json")) if hasattr(source, "save_raw") else read_source_bytes(_NAME, source)
    # In the binary form a length, which is no letter, follows the first mark.
    is_text = data.lstrip()[:2].startswith(b'{"') or (data.lstrip()[:1] == b"{" and b"\0" not in data[:64])
    document = read_json(_NAME, data) if is_text else read_ubjson(_NAME, data)
    try:
        return _build(document, classes)
    except CommitteeError:
        raise
    except (KeyError, ValueError, IndexError, TypeError, AttributeError, OverflowError) as error:
        raise refuse_file(_NAME, f"a field is missing or not what it should be ({error})") from error


def _build(document: dict[str, Any], classes: ArrayLike | None) -> Any:
    learner = document["learner"]
    objective, booster = learner["objective"]["name"], learner["gradient_booster"]
    if objective not in _LOSSES:
        raise refuse_file(_NAME, f"its objective {objective!r} has no counterpart here")
    weights: list[float] | None = None
    if booster["name"] == "dart":
        weights, booster = booster["weight_drop"], booster["gbtree"]
    elif booster["name"] != "gbtree":
        raise refuse_file(_NAME, f"its booster {booster['name']!r} is not made of trees")
    params, model = learner["learner_model_param"], booster["model"]
    if weights is None:
        weights = model.get("weight_drop") or None  # since XGBoost 3.4 dropout is a matter of any booster of trees
    n_columns = int(params["num_feature"])
    n_scores = max(1, int(params["num_class"]), int(params.get("num_target", "1")))
    if not 1 <= n_columns < 1 << 28 or n_scores > 1 << 16:
        raise refuse_file(_NAME, "the number of its columns or classes is out of range")
    kinds = list(learner.get("feature_types") or [])
    levels = _read_levels(model, kinds)
    tables = [_read_tree(number, tree, n_scores) for number, tree in enumerate(model["trees"])]
    if weights is not None:
        for table, weight in zip(tables, weights, strict=True):
            table.value = table.value * float(weight)
    gains = np.zeros(n_columns)
    for tree in model["trees"]:
        inner = np.array(tree["left_children"]) >= 0
        np.add.at(gains, np.array(tree["split_indices"])[inner], np.array(tree["loss_changes"], dtype=float)[inner])
    names = list(learner.get("feature_names") or []) or None
    columns = ForeignColumns(_NAME, n_columns, names, levels)
    slots = np.array(model["tree_info"], dtype=np.uint32)
    baseline = _read_baseline(params["base_score"], _LOSSES[objective], n_scores)
    arena = make_arena(_NAME, tables, n_columns, 1)
    return hold_boosted(columns, arena, _LOSSES[objective], baseline, slots=slots, gains=gains, classes=classes)


def _read_baseline(text: str, loss: str, n_scores: int) -> FloatArray:
    """The first term of the sum, from the mean that the file holds."""
    given = np.array([float(part) for part in str(text).strip("[]").split(",")], dtype=np.float32)
    mean = np.broadcast_to(given, (n_scores,)).astype(np.float64)
    if loss == "logistic":
        return -apply_log(1.0 / mean - 1.0)
    return apply_log(mean) if loss in ("poisson", "gamma", "tweedie") else mean


def _read_levels(model: dict[str, Any], kinds: list[str]) -> dict[int, AnyArray]:
    if (model.get("cats") or {}).get("enc"):
        raise refuse_file(_NAME, "its categories have labels, which were numbered by XGBoost at the fit")
    largest: dict[int, int] = {k: 0 for k, kind in enumerate(kinds) if kind == "c"}
    for tree in model["trees"]:
        for node, codes in _list_sets(tree).items():
            column = int(tree["split_indices"][node])
            largest[column] = max(largest.get(column, 0), int(codes.max(initial=0)))
    return {column: np.arange(float(max(_LEAST_LEVELS, most + 1))) for column, most in largest.items()}


def _list_sets(tree: dict[str, Any]) -> dict[int, AnyArray]:
    """By node, the categories that go right."""
    codes = np.array(tree.get("categories") or [], dtype=np.int64)
    parts = zip(
        tree.get("categories_nodes") or [],
        tree.get("categories_segments") or [],
        tree.get("categories_sizes") or [],
        strict=True,
    )
    return {int(node): codes[int(first) : int(first) + int(size)] for node, first, size in parts}


def _read_tree(number: int, tree: dict[str, Any], n_scores: int) -> NodeTable:
    if int(tree["tree_param"].get("size_leaf_vector", "1") or 1) > 1:
        raise refuse_file(_NAME, "its leaves hold vectors (multi_strategy='multi_output_tree')")
    left, right = (np.array(tree[side], dtype=np.int64) for side in ("left_children", "right_children"))
    conditions = np.array(tree["split_conditions"], dtype=np.float32)
    sizes = {len(left), len(right), len(conditions), len(tree["split_indices"]), len(tree["default_left"])}
    if sizes != {len(left)} or not len(left) or len(tree["sum_hessian"]) != len(left):
        raise refuse_file(_NAME, f"the arrays of tree {number} have different lengths")
    is_leaf, sets = left < 0, _list_sets(tree)
    by_set = np.isin(np.arange(len(left)), list(sets)) & ~is_leaf
    threshold = np.where(is_leaf | by_set, 0.0, round_thresholds(conditions, inclusive=False))
    missing_left = np.array(tree["default_left"]).astype(bool)
    # The categories of a node go right in XGBoost, and left here.
    left, right = np.where(by_set, right, left), np.where(by_set, left, right)
    weight = np.array(tree["sum_hessian"], dtype=np.float64)
    return NodeTable(
        left,
        right,
        np.array(tree["split_indices"], dtype=np.int64),
        threshold,
        np.where(by_set, ~missing_left, missing_left),
        np.where(is_leaf, conditions, 0.0).astype(np.float64).reshape(-1, 1),
        weight,
        np.zeros(len(left), np.int64),
        sets,
    )
