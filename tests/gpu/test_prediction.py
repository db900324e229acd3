"""Prediction on the device has the CPU's bytes, for any model of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.engines.gpu import Device, GpuPredictor, tree_layouts
from committee.engines.tree_model import present_trees
from committee.exceptions import DataError
from tests.gpu.comparing import Floats, make_table
from tests.gpu.shim_device import ShimDevice

LEVELS = {"max_depth": 5, "max_leaf_nodes": None, "max_iter": 6}
COMPLETE, LINKED, ANY = "sum_complete_trees", "sum_linked_trees", "sum_trees"
MODELS: dict[str, tuple[Any, str]] = {
    "levels": (HistGradientBoostingRegressor(**LEVELS), COMPLETE),
    "classes": (HistGradientBoostingClassifier(**LEVELS), COMPLETE),
    "leaves alone": (HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=10_000), COMPLETE),
    "deep": (HistGradientBoostingRegressor(max_iter=4), LINKED),
    "categories": (HistGradientBoostingRegressor(categorical_features=[1], **LEVELS), ANY),
    "doubles": (GradientBoostingClassifier(n_estimators=4), COMPLETE),
    "shares": (RandomForestClassifier(5, random_state=0), ANY),
    "means": (RandomForestRegressor(5, random_state=0), LINKED),
    "deep classes": (HistGradientBoostingClassifier(max_iter=9), LINKED),
    "stumps of a forest": (ExtraTreesRegressor(5, max_depth=1, random_state=0), COMPLETE),
}


def make_rows(n_rows: int, dtype: Any) -> tuple[Floats, Floats]:
    X, z = make_table(n_rows, 6, missing=0.1)
    X[:, 1] = np.abs(np.round(2 * np.nan_to_num(X[:, 1])))
    return X.astype(dtype), z


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_predictions_have_the_same_bytes(device: Device, name: str, dtype: Any) -> None:
    model, walk = MODELS[name]
    X, z = make_rows(1500, dtype)
    y = np.digitize(z, [-1.0, 1.0]) if hasattr(model, "predict_proba") else z
    model.fit(X, y)
    rows, _ = make_rows(2100, dtype)
    rows[5] = np.nan
    predictor = GpuPredictor(model, device)
    assert predictor.walk == walk
    expected = present_trees(model).sum_trees(rows, 1)
    np.testing.assert_array_equal(predictor.predict_raw(rows), expected)
    with pytest.raises(DataError, match="6 columns"):
        predictor.predict_raw(rows[:, :3])


@pytest.mark.parametrize(("most_nodes", "walk"), [(130, LINKED), (40, ANY)])
def test_trees_come_in_chunks_of_what_has_room(
    device: Device, most_nodes: int, walk: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_layouts, "_MOST_BYTES", 12 * most_nodes)
    X, z = make_rows(1500, np.float32)
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, np.digitize(z, [-1.0, 1.0]))
    predictor = GpuPredictor(model, device)
    assert predictor.walk == walk
    np.testing.assert_array_equal(predictor.predict_raw(X), present_trees(model).sum_trees(X, 1))


def test_rows_on_the_device_stay_there(device: Device) -> None:
    if isinstance(device, ShimDevice):
        pytest.skip("its memory is the host's")
    import cupy

    model = HistGradientBoostingRegressor(**LEVELS)
    X, z = make_rows(1500, np.float32)
    model.fit(X, z)
    found = GpuPredictor(model, device).predict_raw(cupy.asarray(X))
    assert isinstance(found, cupy.ndarray)
    np.testing.assert_array_equal(found.get(), present_trees(model).sum_trees(X, 1))
