"""Contract 2: integer weight k is the row k times, a common factor changes nothing, weight zero is absence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor
from tests.contract.tree_models import (
    MODELS,
    assert_same_bytes,
    assert_same_splits,
    describe_model,
    draw_data,
    is_classifier,
    make_model,
)

every_model = pytest.mark.parametrize("name", MODELS)
# Few values a column make ties, where the last bit of a sum could decide; many make bins of several values.
every_table = pytest.mark.parametrize(("n_rows", "n_values"), [(60, 3), (60, 8), (700, None)])


def assert_same_leaves(one: Any, other: Any) -> None:
    values = [model.tree_.value[model.tree_.children_left < 0] for model in (one, other)]
    np.testing.assert_allclose(values[0], values[1], rtol=1e-9, atol=1e-12)


def assert_same_tree(one: Any, other: Any) -> None:
    assert_same_splits(describe_model(one), describe_model(other))
    assert_same_leaves(one, other)


@every_model
@every_table
@pytest.mark.parametrize("choices", [(1, 2, 3, 4), (2, 3), (0, 1, 2), (4, 6)])
def test_an_integer_weight_is_repetition(
    name: str, n_rows: int, n_values: int | None, choices: tuple[int, ...]
) -> None:
    for seed in range(1 if n_values is None else 6):
        X, y = draw_data(name, n_rows, seed, n_classes=2 + seed % 2, n_values=n_values)
        weights = np.random.default_rng(seed).choice(choices, size=n_rows)
        weights[:3] = choices[-1]  # every class is there
        rows = np.repeat(np.arange(n_rows), weights)
        weighted = make_model(name).fit(X, y, sample_weight=weights)
        assert_same_tree(weighted, make_model(name).fit(X[rows], y[rows]))


@every_model
@every_table
@pytest.mark.parametrize("kind", ["integer", "fraction"])
def test_a_common_factor_changes_nothing(name: str, n_rows: int, n_values: int | None, kind: str) -> None:
    for seed in range(1 if n_values is None else 4):
        X, y = draw_data(name, n_rows, seed, n_values=n_values)
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 6, size=n_rows) if kind == "integer" else rng.random(n_rows) + 0.1
        model = make_model(name).fit(X, y, sample_weight=weights)
        for factor in (3.7, 1e-8, 2.0**40):
            other = make_model(name).fit(X, y, sample_weight=weights * factor)
            assert_same_splits(describe_model(model), describe_model(other))
            if not is_classifier(name):
                assert_same_leaves(model, other)


@every_model
@every_table
@pytest.mark.parametrize("kind", ["integer", "fraction"])
def test_weight_zero_is_absence(name: str, n_rows: int, n_values: int | None, kind: str) -> None:
    for seed in range(1 if n_values is None else 4):
        X, y = draw_data(name, n_rows, seed, n_values=n_values)
        rng = np.random.default_rng(seed)
        weights = rng.integers(1, 6, size=n_rows) if kind == "integer" else rng.random(n_rows) + 0.1
        weights[rng.random(n_rows) < 0.4] = 0
        weights[:3] = 1
        there = weights > 0
        X[~there] *= 1000.0  # what is absent must not be looked at, not by the bins either
        y = np.where(there, y, y if is_classifier(name) else y * 50)
        absent = make_model(name).fit(X[there], y[there], sample_weight=weights[there])
        assert_same_bytes(describe_model(make_model(name).fit(X, y, sample_weight=weights)), describe_model(absent))


@every_model
def test_equal_weights_are_no_weights(name: str) -> None:
    X, y = draw_data(name, 300)
    model = make_model(name).fit(X, y)
    for weight in (1.0, 0.1, 7e9):
        other = make_model(name).fit(X, y, sample_weight=np.full(300, weight))
        assert_same_tree(model, other)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "gain_ratio"])
def test_several_outputs_of_classes(criterion: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, size=(80, 3)).astype(float), rng.integers(0, 3, size=(80, 2))
    check_several_outputs(DecisionTreeClassifier, criterion, X, y)


@pytest.mark.parametrize("criterion", ["squared_error", "absolute_error", "poisson"])
def test_several_outputs_of_values(criterion: str) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 5, size=(80, 3)).astype(float), rng.integers(1, 9, size=(80, 2)).astype(float)
    check_several_outputs(DecisionTreeRegressor, criterion, X, y)


def check_several_outputs(cls: Any, criterion: str, X: Any, y: Any) -> None:
    weights = np.random.default_rng(1).integers(0, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighted = cls(criterion=criterion, random_state=0).fit(X, y, sample_weight=weights)
    assert_same_tree(weighted, cls(criterion=criterion, random_state=0).fit(X[rows], y[rows]))
    scaled = cls(criterion=criterion, random_state=0).fit(X, y, sample_weight=weights * 0.3)
    assert_same_splits(describe_model(weighted), describe_model(scaled))


def test_weights_of_classes_are_weights_of_rows() -> None:
    X, y = draw_data("gini", 200, n_values=6)
    factors = {0: 1.0, 1: 2.5, 2: 0.3}
    by_class = DecisionTreeClassifier(class_weight=factors, random_state=0).fit(X, y)
    by_row = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=np.vectorize(factors.get)(y))
    assert_same_bytes(describe_model(by_class), describe_model(by_row))


def test_weights_without_a_finite_sum_are_refused() -> None:
    with pytest.raises(ValueError, match="sum of sample_weight is beyond the largest float"):
        DecisionTreeClassifier().fit([[0.0], [1.0], [2.0]], [0, 1, 1], sample_weight=[1e308, 1e308, 1.0])


@pytest.mark.parametrize("spread", [6, 12, 30])
def test_weights_of_very_different_size(spread: int) -> None:
    # The light rows are still there: a tree that nothing limits must get them right as well.
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = rng.integers(0, 2, size=200)
    weights = 10.0 ** rng.uniform(-spread, 0, size=200)
    tree = DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(tree.predict(X), y)
    values = rng.normal(size=200)
    regressor = DecisionTreeRegressor(random_state=0).fit(X, values, sample_weight=weights)
    np.testing.assert_allclose(regressor.predict(X), values, rtol=1e-12)
