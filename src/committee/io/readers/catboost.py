"""`from_catboost`: CatBoost's JSON."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import CommitteeError
from committee.io.readers.fitted_models import ForeignColumns, hold_boosted
from committee.io.readers.node_tables import NodeTable, make_arena, refuse_file, round_thresholds
from committee.io.readers.sources import read_json, read_source_bytes

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["from_catboost"]

_NAME = "CatBoost"
_IDENTITY = ("RMSE", "MAE", "Quantile", "Huber", "Expectile", "LogCosh", "MAPE", "Lq", "QueryRMSE", "YetiRank")
_LOSSES = dict.fromkeys(_IDENTITY, "squared_error") | {
    "Logloss": "logistic",
    "CrossEntropy": "logistic",
    "MultiClass": "softmax",
    "Poisson": "poisson",
    "Tweedie": "tweedie",
}
_MOST_DEPTH = 16


def from_catboost(source: str | os.PathLike[str] | bytes | Any, *, classes: ArrayLike | None = None) -> Any:
    """A CatBoost model without categorical features as a fitted boosting estimator of this library.

    Every row ends in the same leaves, as CatBoost rounds values to float32 first. Scores agree to 1e-12 relative:
    CatBoost does not promise an order of its sums. Symmetric trees are written out. Refused: categorical, text and
    embedding features, and losses without a counterpart.

    Parameters
    ----------
    source : str, path-like, bytes or CatBoost model
        A file or bytes of ``save_model(format="json")``, or the model itself.
    classes : array-like, optional
        The labels of the classes, ascending; by default those of the file.

    Returns
    -------
    HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Predicts, explains, is saved and exported as one that was fitted here; fitting it again forgets the trees.

    Examples
    --------
    >>> import json
    >>> from committee.io import from_catboost
    >>> split = {"split_type": "FloatFeature", "float_feature_index": 0, "border": 0.5}
    >>> document = {
    ...     "features_info": {"float_features": [{"feature_index": 0, "flat_feature_index": 0}]},
    ...     "model_info": {"params": {"loss_function": {"type": "RMSE"}}},
    ...     "scale_and_bias": [1.0, [10.0]],
    ...     "oblivious_trees": [{"splits": [split], "leaf_values": [-1.0, 2.0], "leaf_weights": [4, 4]}],
    ... }
    >>> from_catboost(json.dumps(document).encode()).predict([[0.0], [1.0]])
    array([ 9., 12.])

    A model of the package itself:

    >>> import numpy as np, catboost  # doctest: +SKIP
    >>> X, y = np.arange(40.0).reshape(-1, 1), np.arange(40.0)  # doctest: +SKIP
    >>> model = from_catboost(catboost.CatBoostRegressor(verbose=False).fit(X, y))  # doctest: +SKIP
    """
    if hasattr(source, "save_model"):
        with TemporaryDirectory() as folder:
            path = Path(folder, "model.json")
            source.save_model(str(path), format="json")
            document = read_json(_NAME, path.read_bytes())
    else:
        document = read_json(_NAME, read_source_bytes(_NAME, source))
    try:
        return _build(document, classes)
    except CommitteeError:
        raise
    except (KeyError, ValueError, IndexError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise refuse_file(_NAME, f"a field is missing or not what it should be ({error})") from error


def _build(document: dict[str, Any], classes: ArrayLike | None) -> Any:
    features, info = document["features_info"], document["model_info"]
    for kind in ("categorical_features", "text_features", "embedding_features"):
        if features.get(kind):
            raise refuse_file(
                _NAME, f"it has {kind.replace('_', ' ')}, which are turned into statistics of its training rows"
            )
    params = info["params"]
    loss = str((params if isinstance(params, dict) else {})["loss_function"]["type"])
    if loss not in _LOSSES:
        raise refuse_file(_NAME, f"its loss {loss!r} has no counterpart here")
    floats = features["float_features"]
    n_columns = 1 + max(int(one["flat_feature_index"]) for one in floats)
    places = {int(one["feature_index"]): int(one["flat_feature_index"]) for one in floats}
    missing_right = {int(one["feature_index"]): one.get("nan_value_treatment") == "AsTrue" for one in floats}
    scale, biases = document["scale_and_bias"]
    baseline = np.atleast_1d(np.array(biases, dtype=np.float64))
    n_scores = len(baseline)
    builder = _TreeBuilder(places, missing_right, n_scores, float(scale))
    symmetric = document.get("oblivious_trees")
    tables = (
        [builder.expand(number, tree) for number, tree in enumerate(symmetric)]
        if symmetric is not None
        else [builder.walk(tree) for tree in document["trees"]]
    )
    names = [str(one.get("feature_id") or "") for one in floats]
    labels = info.get("class_params", {}).get("class_names") if classes is None else classes
    labels = labels if _LOSSES[loss] in ("logistic", "softmax") else None
    columns = ForeignColumns(_NAME, n_columns, names if all(names) and len(names) == n_columns else None, {})
    arena = make_arena(_NAME, tables, n_columns, n_scores)
    return hold_boosted(columns, arena, _LOSSES[loss], baseline, classes=labels)


class _TreeBuilder:
    """Trees of CatBoost as tables of nodes."""

    def __init__(self, places: dict[int, int], missing_right: dict[int, bool], n_scores: int, scale: float) -> None:
        self._places, self._missing_right = places, missing_right
        self._n_scores, self._scale = n_scores, scale

    def _read_split(self, split: dict[str, Any]) -> tuple[int, float, bool]:
        """Column, threshold, and whether a missing value goes left."""
        if split.get("split_type", "FloatFeature") != "FloatFeature":
            raise refuse_file(_NAME, f"it splits by a {split['split_type']}")
        index = int(split["float_feature_index"])
        border = round_thresholds(np.array([float(split["border"])]), inclusive=True)[0]
        return self._places[index], float(border), not self._missing_right[index]

    def expand(self, number: int, tree: dict[str, Any]) -> NodeTable:
        """A symmetric tree: the split of a level is the same in all of its nodes."""
        splits = [self._read_split(split) for split in tree["splits"] or []]
        depth = len(splits)
        if depth > _MOST_DEPTH:
            raise refuse_file(_NAME, f"tree {number} is deeper than {_MOST_DEPTH}")
        n_leaves, n_inner = 1 << depth, (1 << depth) - 1
        values = np.array(tree["leaf_values"], dtype=np.float64).reshape(n_leaves, self._n_scores) * self._scale
        weights = np.array(tree.get("leaf_weights") or np.ones(n_leaves), dtype=np.float64)
        if weights.shape != (n_leaves,):
            raise refuse_file(_NAME, f"tree {number} must have {n_leaves} weights of leaves")
        nodes = np.arange(n_inner + n_leaves)
        # Level by level from the root; the last split is the first level, and the highest bit of a leaf.
        level = np.frexp(nodes[:n_inner] + 1.0)[1] - 1
        own = [splits[depth - 1 - k] for k in level.tolist()]
        inner = nodes < n_inner
        pad: list[Any] = [0] * n_leaves
        return NodeTable(
            np.where(inner, 2 * nodes + 1, -1),
            np.where(inner, 2 * nodes + 2, -1),
            np.array([split[0] for split in own] + pad),
            np.array([split[1] for split in own] + pad, dtype=np.float64),
            np.array([split[2] for split in own] + pad, dtype=bool),
            np.concatenate([np.zeros((n_inner, self._n_scores)), values]),
            np.concatenate([np.zeros(n_inner), weights]),
            np.concatenate([np.zeros(n_inner), weights]).astype(np.int64),
        )

    def walk(self, tree: dict[str, Any]) -> NodeTable:
        """A tree of nested objects."""
        rows: list[tuple[int, int, int, float, bool, Any, float]] = []
        self._add(tree, rows)
        left, right, feature, threshold, missing_left, values, weights = (
            list(part) for part in zip(*rows, strict=True)
        )
        value = np.array([np.broadcast_to(np.atleast_1d(v), (self._n_scores,)) for v in values], dtype=np.float64)
        return NodeTable(
            np.array(left),
            np.array(right),
            np.array(feature),
            np.array(threshold, dtype=np.float64),
            np.array(missing_left, dtype=bool),
            value * self._scale,
            np.array(weights, dtype=np.float64),
            np.array(weights).astype(np.int64),
        )

    def _add(self, node: dict[str, Any], rows: list[tuple[int, int, int, float, bool, Any, float]]) -> int:
        place = len(rows)
        if "split" not in node:
            rows.append((-1, -1, 0, 0.0, False, node["value"], float(node.get("weight", 1.0))))
            return place
        feature, threshold, missing_left = self._read_split(node["split"])
        rows.append((0, 0, feature, threshold, missing_left, 0.0, 0.0))
        left = self._add(node["left"], rows)
        right = self._add(node["right"], rows)
        rows[place] = (left, right, feature, threshold, missing_left, 0.0, 0.0)
        return place
