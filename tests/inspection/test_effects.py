"""Accumulated local effects and Friedman's H, against their twins and by what they must be."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

import committee
from committee.exceptions import DataError, ParameterError
from committee.inspection import accumulated_local_effects, friedman_h
from tests.naive import dependence as naive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
X[:, 1] = 0.8 * X[:, 0] + 0.3 * X[:, 1]
Y = X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + 0.1 * RNG.normal(size=150)


def fit_forest(**options):
    return committee.RandomForestRegressor(n_estimators=6, random_state=0, **options).fit(X, Y)


@pytest.mark.parametrize("feature", [0, 3])
def test_local_effects_are_those_of_the_twin(feature):
    model = fit_forest()
    found = accumulated_local_effects(model, X, feature, grid_resolution=8)
    wanted, counts = naive.accumulate_effects(lambda r: model.predict(r)[:, None], X, feature, found["grid_values"][0])
    np.testing.assert_allclose(found["average"], wanted.T, atol=1e-12)
    np.testing.assert_array_equal(found["weights"], counts)


def test_local_effects_of_a_line_are_a_line():
    model = LinearRegression().fit(X, Y)
    found = accumulated_local_effects(model, X, 1)
    edges = found["grid_values"][0]
    np.testing.assert_allclose(np.diff(found["average"][0]), model.coef_[1] * np.diff(edges))
    assert accumulated_local_effects(model, pd.DataFrame(X), 1)["average"].shape == found["average"].shape


def test_a_weight_is_repetition():
    model, counts = fit_forest(), RNG.integers(0, 3, len(X))
    weighted = accumulated_local_effects(model, X, 2, grid_resolution=10**6, sample_weight=counts)
    repeated = accumulated_local_effects(model, X.repeat(counts, axis=0), 2, grid_resolution=10**6)
    np.testing.assert_allclose(weighted["average"], repeated["average"], atol=1e-12)


def test_local_effects_of_categories():
    frame = pd.DataFrame({"kind": pd.Categorical(RNG.choice(list("abcd"), 150)), "size": X[:, 0]})
    worth = {"a": 0.0, "b": 2.0, "c": -1.0, "d": 5.0}
    y = frame["kind"].map(worth).astype(float) + 0.5 * frame["size"]
    model = committee.RandomForestRegressor(n_estimators=50, max_features=None, random_state=0).fit(frame, y)
    found = accumulated_local_effects(model, frame, "kind")
    assert found["grid_values"][0].tolist() == list("abcd")
    np.testing.assert_allclose(np.diff(found["average"][0]), np.diff(list(worth.values())), atol=0.5)
    np.testing.assert_allclose(found["average"][0] @ found["weights"], 0.0, atol=1e-9)


def test_local_effects_of_classes_and_of_one_value():
    y = (np.median(Y) < Y).astype(int)
    two = committee.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, y)
    assert accumulated_local_effects(two, X, 0)["average"].shape[0] == 1
    three = committee.RandomForestClassifier(n_estimators=5, random_state=0).fit(X, np.digitize(Y, [-0.5, 0.5]))
    effects = accumulated_local_effects(three, X, 0)["average"]
    np.testing.assert_allclose(effects.sum(axis=0), 0.0, atol=1e-12)
    table = X.copy()
    table[:, 3] = 1.0
    constant = accumulated_local_effects(committee.DecisionTreeRegressor().fit(table, Y), table, 3)
    np.testing.assert_array_equal(constant["average"], [[0.0]])
    table[:, 3] = np.nan
    with pytest.raises(DataError, match="no value"):
        accumulated_local_effects(fit_forest(), table, 3)


@pytest.mark.parametrize("make", [fit_forest, lambda: LinearRegression().fit(X, Y)])
def test_h_is_that_of_the_twin(make):
    model, rows = make(), X[:40]
    found = friedman_h(model, rows, [0, 1, 2], method="brute")
    assert found.pairs == [(0, 1), (0, 2), (1, 2)]
    for k, (i, j) in enumerate(found.pairs):
        wanted = naive.measure_interaction(lambda r: model.predict(r)[:, None], rows, i, j)
        np.testing.assert_allclose(found.pairwise[:, k], wanted, atol=1e-9)
    if isinstance(model, LinearRegression):
        np.testing.assert_allclose(found.total, 0.0, atol=1e-6)


def test_h_by_traversal_finds_the_pair_that_acts_together():
    rows = RNG.normal(size=(500, 3))
    forest = committee.RandomForestRegressor(n_estimators=30, random_state=0)
    found = friedman_h(forest.fit(rows, rows[:, 0] * rows[:, 1] + rows[:, 2]), rows, random_state=0)
    assert found.pairs[int(found.pairwise[0].argmax())] == (0, 1)
    # Stumps cannot act together.
    stumps = fit_forest(max_depth=1)
    for method in ("traversal", "brute"):
        none = friedman_h(stumps, X, method=method, max_rows=50, random_state=0)
        np.testing.assert_allclose(none.pairwise, 0.0, atol=1e-6)
        np.testing.assert_allclose(none.total, 0.0, atol=1e-6)


def test_h_draws_rows_by_its_seed():
    model = fit_forest()
    a, b, c = (friedman_h(model, X, [0, 1], max_rows=60, random_state=s).pairwise for s in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert not np.array_equal(a, c)
    with pytest.raises(ParameterError, match="averages the raw score"):
        friedman_h(LinearRegression().fit(X, Y), X, method="traversal")
    with pytest.raises(ParameterError, match="'method' argument"):
        friedman_h(model, X, method="recursion")
