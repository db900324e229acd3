"""The parameter ``engine`` of boosted estimators and forests."""

from __future__ import annotations

import logging
import pickle
import sys
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris

from committee import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.engines import choice
from committee.exceptions import EngineError, ParameterError
from tests.gpu.shim_device import COMPILER, ShimDevice

FAMILIES = {
    HistGradientBoostingClassifier: ({"max_iter": 3, "max_leaf_nodes": 8}, load_iris),
    HistGradientBoostingRegressor: ({"max_iter": 3, "max_depth": 3, "max_leaf_nodes": None}, load_diabetes),
    GradientBoostingClassifier: ({"n_estimators": 3, "growth": "level"}, load_iris),
    GradientBoostingRegressor: ({"n_estimators": 3}, load_diabetes),
}


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_a_model_of_the_gpu_has_the_bytes_of_the_cpus(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    params, load = FAMILIES[family]
    X, y = load(return_X_y=True)
    cpu, gpu = (family(engine=engine, random_state=0, **params).fit(X, y) for engine in ("cpu", "gpu"))
    np.testing.assert_array_equal(cpu.predict(X), gpu.predict(X))
    np.testing.assert_array_equal(cpu._raw_predict(X), gpu._raw_predict(X))
    np.testing.assert_array_equal(cpu.feature_importances_, gpu.feature_importances_)
    np.testing.assert_array_equal(cpu.train_score_, gpu.train_score_)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
def test_early_stopping_and_warm_start_have_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    X, y = load_iris(return_X_y=True)
    params = {"max_iter": 3, "max_leaf_nodes": 4, "early_stopping": True, "warm_start": True, "random_state": 0}
    models = [HistGradientBoostingClassifier(engine=engine, **params).fit(X, y) for engine in ("cpu", "gpu")]
    for model in models:
        model.set_params(max_iter=5).fit(X, y)
    np.testing.assert_array_equal(models[0].validation_score_, models[1].validation_score_)
    np.testing.assert_array_equal(models[0].decision_function(X), models[1].decision_function(X))


def test_without_cupy_the_gpu_is_an_error_and_auto_is_the_cpu(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    X, y = load_iris(return_X_y=True)
    model = HistGradientBoostingClassifier(max_iter=2, engine="gpu")
    with pytest.raises(EngineError, match="needs CuPy, which is not installed"):
        model.fit(X, y)
    caplog.set_level(logging.INFO, "committee")
    expected = model.set_params(engine="cpu").fit(X, y).predict_proba(X)
    assert "engine" not in caplog.text
    for least in (10**7, 1):  # too small a table, and no GPU
        monkeypatch.setattr(choice, "_LEAST_CELLS", least)
        caplog.clear()
        found = model.set_params(engine="auto").fit(X, y).predict_proba(X)
        assert "engine='auto': the CPU" in caplog.text
        np.testing.assert_array_equal(found, expected)


FORESTS = {
    RandomForestClassifier: ({"oob_score": True}, load_iris),
    RandomForestRegressor: ({"max_features": 3, "min_samples_leaf": 2}, load_diabetes),
    ExtraTreesClassifier: ({}, load_iris),
    ExtraTreesRegressor: ({}, load_diabetes),
}


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
@pytest.mark.parametrize("family", FORESTS, ids=lambda family: family.__name__)
def test_a_forest_of_the_gpu_has_the_bytes_of_the_cpus(family: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.forest.open_device", ShimDevice)
    params, load = FORESTS[family]
    X, y = load(return_X_y=True)
    cpu, gpu = (family(4, engine=engine, random_state=0, **params).fit(X, y) for engine in ("cpu", "gpu"))
    assert pickle.dumps(cpu._trees) == pickle.dumps(gpu._trees)
    np.testing.assert_array_equal(cpu.feature_importances_, gpu.feature_importances_)
    if "oob_score" in params:
        assert cpu.oob_score_ == gpu.oob_score_
    for model in (cpu, gpu):
        model.set_params(warm_start=True, n_estimators=6).fit(X, y)
    assert pickle.dumps(cpu._trees) == pickle.dumps(gpu._trees)


def test_forests_say_which_engine_they_took(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    X, y = load_iris(return_X_y=True)
    model = RandomForestClassifier(3, random_state=0, engine="gpu")
    with pytest.raises(EngineError, match="needs CuPy, which is not installed"):
        model.fit(X, y)
    expected = model.set_params(engine="cpu").fit(X, y).predict_proba(X)
    caplog.set_level(logging.INFO, "committee")
    for least in (10**7, 1):  # too few rows, and no GPU
        monkeypatch.setattr(choice, "_LEAST_ROWS", least)
        caplog.clear()
        found = model.set_params(engine="auto").fit(X, y).predict_proba(X)
        assert "engine='auto': the CPU" in caplog.text
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(EngineError, match="best-first growth"):
        RandomForestClassifier(3, max_leaf_nodes=4, engine="gpu").fit(X, y)


OPTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "dart": (GradientBoostingRegressor, {"boosting": "dart", "drop_rate": 0.5, "skip_drop": 0.0, "n_estimators": 6}),
    "goss": (GradientBoostingRegressor, {"boosting": "goss", "n_estimators": 3}),
    "subsample": (GradientBoostingRegressor, {"subsample": 0.5, "n_estimators": 3}),
    "huber": (GradientBoostingRegressor, {"loss": "huber", "n_estimators": 3}),
    "monotone": (HistGradientBoostingRegressor, {"monotonic_cst": [1, 0, -1] + [0] * 7, "max_iter": 3}),
    "interactions": (HistGradientBoostingRegressor, {"interaction_cst": "no_interactions", "max_iter": 3}),
    "categories": (HistGradientBoostingRegressor, {"categorical_features": [1], "max_iter": 3}),
    "features": (HistGradientBoostingRegressor, {"max_features": 0.5, "max_iter": 3}),
}


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
@pytest.mark.parametrize("option", OPTIONS)
def test_options_of_the_estimators_have_the_same_bytes(option: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    family, params = OPTIONS[option]
    X, y = load_diabetes(return_X_y=True)
    X[:, 1] = X[:, 1] > 0
    cpu, gpu = (family(engine=engine, random_state=0, **params).fit(X, y) for engine in ("cpu", "gpu"))
    np.testing.assert_array_equal(cpu.predict(X), gpu.predict(X))
    np.testing.assert_array_equal(cpu.feature_importances_, gpu.feature_importances_)


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
def test_tuned_growth_is_that_of_all_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows are too many for mixed growth, which the GPU does not have; those without the rows held out are not."""
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    X = np.random.default_rng(0).normal(size=(20_100, 2))
    params: dict[str, Any] = {"n_estimators": 2, "max_leaf_nodes": 4, "early_stopping": True, "random_state": 0}
    cpu, gpu = (GradientBoostingRegressor(engine=engine, **params).fit(X, X[:, 0]) for engine in ("cpu", "gpu"))
    np.testing.assert_array_equal(cpu.predict(X), gpu.predict(X))
    with pytest.raises(EngineError, match="mixed growth"):
        GradientBoostingRegressor(engine="gpu", **params).fit(X[:19_999], X[:19_999, 0])


def test_what_the_gpu_does_not_support_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("committee.engines.gpu.boosting.open_device", ShimDevice)
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(EngineError, match="pruning"):
        GradientBoostingRegressor(ccp_alpha=0.5, n_estimators=2, engine="gpu").fit(X, y)
    with pytest.raises(ParameterError, match="engine"):
        HistGradientBoostingRegressor(engine="tpu").fit(X, y)
