"""Infinite values have their place in the order of a column, wherever rows are binned or predicted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import committee
from committee import GradientBoostingClassifier, HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.inspection import accumulated_local_effects, partial_dependence, shap_values

RNG = np.random.default_rng(0)
X = RNG.normal(size=(1500, 3))
X[RNG.random(X.shape) < 0.1] = np.inf
X[RNG.random(X.shape) < 0.1] = -np.inf
X[RNG.random(X.shape) < 0.05] = np.nan
Y = (X[:, 0] == np.inf) * 1.0 + (X[:, 1] == -np.inf) + np.where(np.isfinite(X[:, 2]), X[:, 2], 0.0)
ORDERED = np.where(np.isposinf(X), 1e30, np.where(np.isneginf(X), -1e30, X))
"""The same order without infinities."""


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("max_bins", [255, 16])
def test_infinities_are_the_ends_of_a_column(dtype: Any, max_bins: int) -> None:
    params = {"max_iter": 30, "max_bins": max_bins, "random_state": 0}
    table = X.astype(dtype)
    model = HistGradientBoostingRegressor(**params).fit(table, Y)
    finite = HistGradientBoostingRegressor(**params).fit(ORDERED.astype(dtype), Y)
    found = model.predict(table)
    np.testing.assert_array_equal(found, finite.predict(ORDERED.astype(dtype)))
    # One row at a time is predicted by another way than many.
    np.testing.assert_array_equal(found[:50], [model.predict(row[None])[0] for row in table[:50]])
    assert model.score(table, Y) > 0.9


def test_an_infinity_differs_from_the_largest_numbers_and_from_missing_values() -> None:
    column = np.array([-np.inf, -1.7e308, 0.0, 1.7e308, np.inf, np.nan])[:, None]
    for place in range(6):
        y = np.arange(6) == place
        model = HistGradientBoostingClassifier(min_samples_leaf=1, max_iter=3, learning_rate=1.0).fit(column, y)
        assert model.score(column, y) == 1.0


def test_files_sparse_tables_and_frames(tmp_path: Path) -> None:
    model = GradientBoostingClassifier(n_estimators=10).fit(X, Y > 0.5)
    committee.save(model, tmp_path / "model.committee")
    loaded = committee.load(tmp_path / "model.committee")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    filled = np.where(np.isnan(X), 0.0, X)
    dense = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(filled, Y)
    sparse = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(csr_matrix(filled), Y)
    np.testing.assert_array_equal(sparse.predict(csr_matrix(filled)), dense.predict(filled))
    frames = pytest.importorskip("pandas")
    frame = frames.DataFrame(filled, columns=["a", "b", "c"])
    read = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(frame, Y)
    np.testing.assert_array_equal(read.predict(frame), dense.predict(filled))


def test_an_onnx_graph_takes_infinities() -> None:
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, Y)
    graph = committee.io.to_onnx(model).SerializeToString()
    session = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"])
    np.testing.assert_allclose(session.run(None, {"X": X})[0].ravel(), model.predict(X), rtol=1e-12)


def test_explanations_leave_the_axis_finite() -> None:
    model = HistGradientBoostingRegressor(max_iter=10, random_state=0).fit(X, Y)
    values = shap_values(model, X[:20])
    np.testing.assert_allclose(values.values.sum(axis=1) + values.base_values, model.predict(X[:20]), rtol=1e-9)
    for found in (partial_dependence(model, X, [0]), accumulated_local_effects(model, X, 0)):
        assert np.isfinite(found["grid_values"][0]).all()
        assert np.isfinite(found["average"]).all()


def test_other_estimators_still_refuse_them() -> None:
    with pytest.raises(ValueError, match="Input X contains infinity"):
        committee.RandomForestClassifier(n_estimators=2).fit(X, Y > 0.5)
