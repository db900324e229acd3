"""Boosting of stumps on a device gives the CPU's stumps and weights, to the bit."""

from __future__ import annotations

import logging
import pickle
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from committee import AdaBoostClassifier, DecisionTreeClassifier, _core
from committee.data import binning
from committee.engines import choice
from committee.engines.gpu import Device, stumps
from committee.exceptions import EngineError, ParameterError
from tests.gpu.shim_device import COMPILER, ShimDevice

LEVELS = {0: 0, 1: 0, 2: 7}


def draw_rows(n_rows: int, n_features: int, n_classes: int) -> tuple[_core.BinnedMatrix, NDArray[np.uint32]]:
    """Rows with missing values and a category."""
    rng = np.random.default_rng(n_rows + n_features)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 2] = rng.integers(0, 7, n_rows)
    z = X[:, 0] + 0.5 * X[:, 1] * (X[:, 2] > 3) + 0.5 * rng.normal(size=n_rows)
    X[rng.uniform(size=X.shape) < 0.05] = np.nan
    levels = np.array([LEVELS.get(column, 0) for column in range(n_features)], np.uint32)
    bins = _core.BinMapper.fit(X, None, levels, 255, 1).transform(X, 1)
    labels = np.digitize(z, np.quantile(z, np.arange(1, n_classes) / n_classes)).astype(np.uint32)
    return bins, labels


def draw_weights(kind: str, n_rows: int) -> NDArray[np.float64] | None:
    rng = np.random.default_rng(1)
    if kind == "none":
        return None
    weights = rng.integers(0, 4, n_rows).astype(float)
    return weights if kind == "whole" else weights * rng.uniform(0.1, 1.0, n_rows)


@pytest.mark.parametrize("weights", ["none", "whole", "any"])
@pytest.mark.parametrize(("n_rows", "n_features", "n_classes"), [(3000, 5, 2), (3000, 40, 3), (30_000, 4, 3)])
def test_stumps_and_weights_are_the_cpus(
    device: Device, weights: str, n_rows: int, n_features: int, n_classes: int
) -> None:
    bins, labels = draw_rows(n_rows, n_features, n_classes)
    given = draw_weights(weights, n_rows)
    counted = 0.0 if given is None else float(np.count_nonzero(given))
    rest = (labels, n_classes, given, "gini", 1, counted)
    cpu, gpu = _core.StumpTrainer(bins, None, *rest), stumps.GpuStumps(bins, *rest, device=device)
    rng = np.random.default_rng(0)
    for _ in range(6):
        expected, found = cpu.grow(), gpu.grow()
        assert pickle.dumps(found[0]) == pickle.dumps(expected[0])
        np.testing.assert_array_equal(found[1], expected[1])
        np.testing.assert_array_equal(found[2], expected[2])
        # Some weights stay as they are, and the total leaves its range.
        factors = rng.choice([1.0, 0.5, 40.0, 1e-3], size=expected[2].shape)
        cpu.multiply(factors)
        gpu.multiply(factors)
        np.testing.assert_array_equal(gpu.weights, cpu.weights)


def test_a_table_that_no_stump_splits(device: Device) -> None:
    X = np.ones((50, 2))
    bins = _core.BinMapper.fit(X, None, np.zeros(2, np.uint32), 255, 1).transform(X, 1)
    rest = ((np.arange(50) % 2).astype(np.uint32), 2, None, "gini", 1, 0.0)
    cpu, gpu = _core.StumpTrainer(bins, None, *rest), stumps.GpuStumps(bins, *rest, device=device)
    assert pickle.dumps(gpu.grow()[0]) == pickle.dumps(cpu.grow()[0])
    for trainer in (cpu, gpu):
        trainer.multiply(np.array([[1.0, 3.0]]))
    np.testing.assert_array_equal(gpu.weights, cpu.weights)


def test_too_little_memory_is_said_in_advance() -> None:
    bins, labels = draw_rows(3000, 5, 2)
    with pytest.raises(EngineError, match=r"needs 0.000\d+ GB of the GPU's memory; 1e-05 GB are free"):
        stumps.GpuStumps(bins, labels, 2, None, "gini", 1, 0.0, device=ShimDevice(free_bytes=10_000))


@pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")
@pytest.mark.parametrize("algorithm", ["samme", "samme.r", "discrete"])
def test_adaboost_of_the_gpu_has_the_bytes_of_the_cpus(algorithm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stumps, "open_device", ShimDevice)
    X, y = load_iris(return_X_y=True)
    if algorithm == "discrete":
        X, y = X[y > 0], y[y > 0]
    cpu, gpu = (AdaBoostClassifier(n_estimators=8, algorithm=algorithm, engine=engine) for engine in ("cpu", "gpu"))
    for model in (cpu, gpu):
        model.fit(X, y, sample_weight=np.arange(len(y)) % 3 + 0.5)
        model.set_params(n_estimators=12, warm_start=True).fit(X, y, sample_weight=np.arange(len(y)) % 3 + 0.5)
    assert pickle.dumps(cpu._members.trees) == pickle.dumps(gpu._members.trees)
    np.testing.assert_array_equal(cpu.estimator_weights_, gpu.estimator_weights_)
    np.testing.assert_array_equal(cpu.decision_function(X), gpu.decision_function(X))


def test_adaboost_says_which_engine_it_took(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setitem(sys.modules, "cupy", None)
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=3, engine="gpu")
    with pytest.raises(EngineError, match="needs CuPy, which is not installed"):
        model.fit(X, y)
    expected = model.set_params(engine="cpu").fit(X, y).decision_function(X)
    caplog.set_level(logging.INFO, "committee")
    for least in (10**7, 1):  # too few values, and no GPU
        monkeypatch.setattr(choice, "_LEAST_CELLS", least)
        caplog.clear()
        found = model.set_params(engine="auto").fit(X, y).decision_function(X)
        assert "engine='auto': the CPU" in caplog.text
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ParameterError, match="engine"):
        AdaBoostClassifier(engine="tpu").fit(X, y)


REFUSED: dict[str, tuple[Any, dict[str, Any]]] = {
    "members of GaussianNB": (GaussianNB(), {}),
    "trees that are no plain stumps": (DecisionTreeClassifier(max_depth=2), {}),
    "members on samples": (None, {"method": "resample"}),
    "algorithm='gentle'": (None, {"algorithm": "gentle"}),
    "exact splits": (DecisionTreeClassifier(max_depth=1, exact=True), {}),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_the_gpu_does_not_boost_is_said(
    what: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    X, y = load_iris(return_X_y=True)
    member, params = REFUSED[what]
    model = AdaBoostClassifier(member, n_estimators=2, engine="gpu", random_state=0, **params)
    with pytest.raises(EngineError, match=what):
        model.fit(X, y)
    monkeypatch.setattr(choice, "_LEAST_CELLS", 1)
    caplog.set_level(logging.INFO, "committee")
    model.set_params(engine="auto").fit(X, y)
    assert "engine='auto': the CPU" in caplog.text
    assert what in caplog.text


def test_sparse_tables_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binning, "ENTRIES_FROM", 1)  # smaller tables have bytes, which the GPU reads
    X = scipy.sparse.random(200, 50, density=0.02, random_state=0, format="csr")
    X.data[:] = np.round(X.data * 5) + 1
    y = (np.asarray(X.sum(axis=1)).ravel() > 2).astype(int)
    with pytest.raises(EngineError, match=r"sparse tables|needs CuPy|needs a CUDA device"):
        AdaBoostClassifier(n_estimators=2, engine="gpu").fit(X, y)
