"""Shapley values on the device are the CPU's up to the order of sums, for any model of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import (
    AdaBoostClassifier,
    DecisionTreeRegressor,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    _core,
)
from committee.engines.gpu import Device, GpuExplainer
from committee.engines.gpu import explanation as explanation_module
from committee.engines.tree_model import present_trees
from committee.exceptions import DataError, EngineError, ParameterError
from committee.inspection import shap_values
from tests.gpu.comparing import Floats, make_table
from tests.gpu.shim_device import COMPILER, ShimDevice

LEVELS = {"max_depth": 5, "max_leaf_nodes": None, "max_iter": 4}
MODELS: dict[str, Any] = {
    "levels": HistGradientBoostingRegressor(**LEVELS),
    "classes": HistGradientBoostingClassifier(**LEVELS),
    "leaves alone": HistGradientBoostingRegressor(max_iter=2, min_samples_leaf=10_000),
    "deep": HistGradientBoostingRegressor(max_iter=3),
    "categories": HistGradientBoostingRegressor(categorical_features=[1], **LEVELS),
    "doubles": GradientBoostingClassifier(n_estimators=3),
    "shares": RandomForestClassifier(3, random_state=0),
    "means": RandomForestRegressor(3, random_state=0),
    "a stump": ExtraTreesRegressor(5, max_depth=1, random_state=0),
    "weighted trees": AdaBoostClassifier(n_estimators=3, random_state=0),
}


def make_rows(n_rows: int, dtype: Any) -> tuple[Floats, Floats]:
    X, z = make_table(n_rows, 6, missing=0.1)
    X[:, 1] = np.abs(np.round(2 * np.nan_to_num(X[:, 1])))
    return X.astype(dtype), z


def explain_on_cpu(model: Any, rows: Any) -> tuple[Floats, Floats]:
    own = present_trees(model)
    return _core.explain_rows(own.trees, rows, own.combine, own.tree_weights, own.slots, own.width, False, 1)


def check_close(found: Floats, expected: Floats) -> None:
    assert found.shape == expected.shape
    largest = np.abs(expected).max()
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-13 * max(1.0, largest))


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_the_cpu(device: Device, name: str) -> None:
    model = MODELS[name]
    X, z = make_rows(500, np.float32)
    y = np.digitize(z, [-1.0, 1.0]) if hasattr(model, "predict_proba") else z
    model.fit(X, y)
    rows = make_rows(150, np.float32)[0]
    rows[5] = np.nan
    explainer = GpuExplainer(model, device)
    for dtype in (np.float32, np.float64):
        values, base = explainer.explain(rows.astype(dtype))
        expected, expected_base = explain_on_cpu(model, rows.astype(dtype))
        check_close(values, expected)
        np.testing.assert_array_equal(base, expected_base)
    if isinstance(device, ShimDevice):
        device.check_guards()


def test_values_depend_neither_on_batches_nor_on_where_sums_are_kept(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, z = make_rows(1500, np.float64)
    model = HistGradientBoostingRegressor(**LEVELS).fit(X, z)
    expected, _ = GpuExplainer(model, device).explain(X[:300])
    monkeypatch.setattr(explanation_module, "_PARTIAL_BYTES", 1)
    in_batches, _ = GpuExplainer(model, device).explain(X[:300])
    monkeypatch.setattr(explanation_module, "_MOST_SHARED", 1)
    in_global_memory, _ = GpuExplainer(model, device).explain(X[:300])
    monkeypatch.setattr(explanation_module, "_MOST_STAGED", 1)
    not_staged, _ = GpuExplainer(model, device).explain(X[:300])
    np.testing.assert_array_equal(in_batches, expected)
    np.testing.assert_array_equal(in_global_memory, expected)
    np.testing.assert_array_equal(not_staged, expected)


def test_trees_that_are_too_deep_and_other_columns_are_refused(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(80.0)[:, None]
    model = DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0])
    with pytest.raises(DataError, match="1 columns"):
        GpuExplainer(model, device).explain(np.zeros((3, 2)))
    monkeypatch.setattr(explanation_module, "_MOST_LEVELS", 3)
    with pytest.raises(EngineError, match="at most 3 levels; this model has one of 4"):
        GpuExplainer(model, device)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
def test_the_engine_of_shap_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explanation_module, "open_device", ShimDevice)
    X, z = make_rows(300, np.float64)
    model = HistGradientBoostingRegressor(**LEVELS).fit(X, z)
    found, expected = (shap_values(model, X[:40], engine=engine) for engine in ("gpu", "cpu"))
    check_close(found.values, expected.values)
    np.testing.assert_array_equal(found.base_values, expected.base_values)
    with pytest.raises(EngineError, match="path-dependent"):
        shap_values(model, X, interactions=True, engine="gpu")
    with pytest.raises(ParameterError, match="'engine' of shap_values"):
        shap_values(model, X, engine="tpu")


def test_rows_on_the_device_stay_there(device: Device) -> None:
    if isinstance(device, ShimDevice):
        pytest.skip("its memory is the host's")
    import cupy

    X, z = make_rows(1500, np.float32)
    model = HistGradientBoostingRegressor(**LEVELS).fit(X, z)
    values, _ = GpuExplainer(model, device).explain(cupy.asarray(X))
    assert isinstance(values, cupy.ndarray)
    check_close(values.get(), explain_on_cpu(model, X)[0])
