"""Bins of single features that are finer than bytes."""

import numpy as np
import pytest
import scipy.sparse as sp

from committee import ExplainableBoostingRegressor, StackingRegressor
from committee._core import testing
from committee.ensembles.additive.fine_bins import make_fine_cells, place_thresholds
from committee.inspection import drop_column_importance


def test_thresholds_are_those_of_bins():
    rng = np.random.default_rng(0)
    low = np.concatenate([rng.normal(size=300), [-np.inf, -np.inf, 1.0, -0.5, 0.0, 1e308, np.finfo(float).max]])
    high = np.concatenate([low[:300] + rng.choice([1e-17, 1e-9, 1e-3, 10.0], 300), [0.0, np.inf, 2.0, 0.5, 5e-324]])
    high = np.concatenate([high, [1.1e308, np.inf]])
    with np.errstate(over="ignore"):
        high = np.where(high > low, high, np.nextafter(low, np.inf))
    expected = [testing.choose_threshold(a, b) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
    np.testing.assert_array_equal(place_thresholds(low, high), expected)


def test_distinct_values_have_bins_and_missing_ones_the_last():
    values = np.repeat(np.arange(400.0), 3)
    values[::7] = np.nan
    cells = make_fine_cells(values, None, 1024)
    assert cells is not None
    assert cells.n_bins == 400
    there = ~np.isnan(values)
    np.testing.assert_array_equal(cells.codes[there], values[there])
    assert (cells.codes[~there] == 400).all()
    np.testing.assert_array_equal(cells.weights, np.bincount(cells.codes, minlength=401))
    assert make_fine_cells(values % 255, None, 1024) is None


def test_a_weight_is_as_many_rows():
    rng = np.random.default_rng(1)
    values, counts = rng.normal(size=2000), rng.integers(1, 4, 2000).astype(float)
    weighted = make_fine_cells(values, counts, 300)
    repeated = make_fine_cells(np.repeat(values, counts.astype(int)), None, 300)
    assert weighted is not None
    assert repeated is not None
    assert 290 <= weighted.n_bins <= 300
    np.testing.assert_array_equal(weighted.thresholds, repeated.thresholds)
    np.testing.assert_array_equal(weighted.weights, repeated.weights)


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr("committee.ensembles.additive.fine_bins._SAMPLED_ROWS", 5000)
    values = np.random.default_rng(2).normal(size=20_000)
    cells = make_fine_cells(values, None, 500)
    assert cells is not None
    assert cells.n_bins == 500
    assert cells.weights[:-1].min() > 0.0
    assert cells.weights.sum() == 20_000


@pytest.mark.parametrize("max_bins", [255, 600])
def test_fine_bins_fit_a_fine_step(max_bins):
    """A step between the thresholds of 255 bins is found by finer ones; sparse and dense tables are one."""
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.permutation(3000) / 3000.0, rng.normal(size=3000)])
    # Rows 1500 to 1509 of the order: bins of five rows end there, bins of twelve do not.
    y = np.where((X[:, 0] > 1499.5 / 3000) & (X[:, 0] < 1509.5 / 3000), 100.0, 0.0)
    options = {"max_bins": max_bins, "interactions": 1, "outer_bags": 1, "early_stopping": False, "max_iter": 200}
    options |= {"min_samples_leaf": 2, "max_leaf_nodes": 3, "l2_regularization": 0.0, "smooth_iter": 0}
    model = ExplainableBoostingRegressor(random_state=0, **options).fit(X, y)
    assert (model.score(X, y) > 0.9) == (max_bins > 255)
    assert model.shape(0).values.shape[1] == (max_bins if max_bins < 3000 else 3000) + 1
    other = ExplainableBoostingRegressor(random_state=0, **options).fit(sp.csc_array(X), y)
    np.testing.assert_array_equal(other.predict(X), model.predict(X))
    np.testing.assert_allclose(model.explain(X).sum(axis=1) + model.intercept_, model.predict(X), atol=1e-9)


def test_tables_that_are_binned_once_for_several_fits():
    """Folds of a stack, and fits without a column, share the bins of bytes; finer ones are found in each fit."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(600, 3))
    y = X[:, 0] + np.sin(3.0 * X[:, 1])
    model = ExplainableBoostingRegressor(max_iter=60, outer_bags=2, interactions=0, random_state=0)
    stack = StackingRegressor([("shapes", model)], cv=3).fit(X, y)
    assert stack.score(X, y) > 0.8
    importance = drop_column_importance(model, X, y, cv=3)
    assert importance.importances_mean.argmin() == 2
