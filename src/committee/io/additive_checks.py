"""Checks of the shape tables of additive models."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from committee.io.requirements import MOST_FEATURES, is_a, is_array, is_count, require

__all__ = ["ADDITIVE_CHECKS", "check_terms"]


def _check_axis(axis: Any) -> None:
    require(is_count(axis.feature, MOST_FEATURES), "an axis is of a feature")
    thresholds, levels, cells = axis.thresholds, axis.levels, axis.cells
    if thresholds is not None:
        known = isinstance(thresholds, np.ndarray) and is_array(thresholds, "f", len(thresholds))
        require(known and levels is None and cells is None, "an axis has thresholds or levels")
        require(bool((np.diff(thresholds) > 0.0).all()) and not np.isnan(thresholds).any(), "thresholds ascend")
        return
    listed = isinstance(levels, np.ndarray) and isinstance(cells, np.ndarray) and levels.ndim == 1
    require(listed and is_array(cells, "i", len(levels)), "every level has its cell")
    require(bool((cells >= 0).all() and (cells <= len(levels)).all()), "levels are in cells that there are")


def _check_shape(shape: Any) -> None:
    names, axes, values = shape.names, shape.axes, shape.values
    require(isinstance(axes, tuple) and len(axes) in (1, 2), "a term has one or two features")
    require(all(is_a(axis, "ShapeAxis") for axis in axes), "a term has axes")
    named = isinstance(names, tuple) and len(names) == len(axes) and all(isinstance(name, str) for name in names)
    require(named, "every feature of a term has a name")
    sizes = tuple(axis.n_cells + 1 for axis in axes)
    require(is_array(shape.weights, "f", *sizes) and (shape.weights >= 0.0).all(), "every cell has its weight")
    filled = isinstance(values, np.ndarray) and values.dtype.kind == "f" and values.shape[1:] == sizes
    require(filled and bool(np.isfinite(values).all()), "every cell has its value")
    require(is_array(shape.deviations, "f", *values.shape), "every value has its deviation")


def check_terms(state: dict[str, Any], trees: Any) -> None:
    """Every term has its tree, and features and scores that there are."""
    shapes, schema, loss = state["_shapes"], state.get("_schema"), state.get("_loss")
    require(schema is not None and trees is not None and is_a(loss, "LossFunction"), "terms are of a model")
    assert schema is not None
    assert loss is not None
    require(isinstance(shapes, list) and len(shapes) == trees.n_trees, "every term has its tree")
    for shape in shapes:
        require(is_a(shape, "TermShape") and len(shape.values) == loss.n_scores, "every term adds to the scores")
        for axis in shape.axes:
            require(axis.feature < schema.n_features, "terms are of the model's features")
            levels = schema.categories[axis.feature]
            same = levels is None if axis.thresholds is not None else levels is not None
            require(same and (levels is None or len(levels) == len(axis.levels)), "axes have the feature's levels")


ADDITIVE_CHECKS: dict[str, Callable[[Any], None]] = {"ShapeAxis": _check_axis, "TermShape": _check_shape}
"""The check of each class of fitted state, by its name in model files."""
