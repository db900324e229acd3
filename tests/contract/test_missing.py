"""Contract 3: missing values and categories work in every tree, in training and in prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from committee.exceptions import CommitteeError
from tests.contract.tree_models import (
    MODELS,
    ask_model,
    assert_same_bytes,
    describe_model,
    draw_data,
    is_classifier,
    make_model,
)

every_model = pytest.mark.parametrize("name", MODELS)
best_split_model = pytest.mark.parametrize(
    "name", ["gini", "entropy", "squared_error", "absolute_error", "poisson", "exact gini", "exact squared error"]
)


def measure_first_decrease(model: Any) -> float:
    tree = model.tree_
    weighted = tree.weighted_n_node_samples * tree.impurity
    left, right = tree.children_left[0], tree.children_right[0]
    return float(weighted[0] - weighted[left] - weighted[right]) if left > 0 else 0.0


@best_split_model
@pytest.mark.parametrize("share", [0.05, 0.5])
def test_the_better_side_is_found_for_missing_values(name: str, share: float) -> None:
    # Missing values to the left are values below all others, to the right values above them.
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X, y = draw_data(name, 120, seed, n_classes=2, n_values=6)
        missing = rng.random(len(X)) < share
        y = np.where(missing & (rng.random(len(X)) < 0.7), y.max() if seed % 2 else y.min(), y)
        x = np.where(missing, np.nan, np.nan_to_num(X[:, :1], nan=2.0)[:, 0])[:, None]
        decreases = [
            measure_first_decrease(make_model(name, max_depth=1).fit(table, y))
            for table in (x, np.where(np.isnan(x), -99.0, x), np.where(np.isnan(x), 99.0, x))
        ]
        np.testing.assert_allclose(decreases[0], max(decreases[1:]), rtol=1e-9, atol=1e-9)


@every_model
def test_missing_values_alone_can_be_the_question(name: str) -> None:
    rng = np.random.default_rng(0)
    X = np.ones((100, 4))
    X[:, 1:] = rng.normal(size=(100, 3))
    missing = rng.random(100) < 0.3
    X[missing, 0] = np.nan
    y = missing.astype(int) if is_classifier(name) else missing + 1.0
    model = make_model(name, ccp_alpha=0.0, max_features=None, monotonic_cst=None).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y)


@every_model
def test_rows_without_any_value_are_fitted_and_predicted(name: str) -> None:
    X, y = draw_data(name, 200)
    X[5:15] = np.nan
    model = make_model(name).fit(X, y)
    nothing = np.full((3, 4), np.nan)
    answers = ask_model(model, nothing)
    np.testing.assert_array_equal(answers["apply"], np.repeat(model.apply(X[5:6]), 3))
    assert np.isfinite(np.asarray(answers["predict"], dtype=float)).all()


@every_model
def test_what_was_never_missing_in_training_follows_the_heavier_side(name: str) -> None:
    X, y = draw_data(name, 300)
    X = np.nan_to_num(X, nan=0.5)
    weights = np.random.default_rng(0).random(300)
    model = make_model(name).fit(X, y, sample_weight=weights)
    tree = model.tree_
    inner = tree.children_left >= 0
    heavy = tree.weighted_n_node_samples
    left = heavy[tree.children_left[inner]] > heavy[tree.children_right[inner]]
    np.testing.assert_array_equal(tree.missing_go_to_left[inner].astype(bool), left)
    at = 0
    while tree.children_left[at] >= 0:
        children = tree.children_left[at], tree.children_right[at]
        at = children[0] if tree.missing_go_to_left[at] else children[1]
    assert model.apply(np.full((1, 4), np.nan))[0] == at


@every_model
def test_every_spelling_of_missing_is_the_same(name: str) -> None:
    X, y = draw_data(name, 120)
    expected = describe_model(make_model(name).fit(X, y))
    objects = X.astype(object)
    objects[np.isnan(X)] = None
    frame = pd.DataFrame(X).astype("Float64")
    masked = np.ma.masked_array(np.nan_to_num(X, nan=77.0), mask=np.isnan(X))
    for other in (objects, objects.tolist(), frame, masked, pd.DataFrame(X, dtype=object)):
        model = make_model(name).fit(other, y)
        assert_same_bytes(expected, describe_model(model))


def make_frame(n_rows: int, n_levels: int, seed: int = 0) -> tuple[pd.DataFrame, Any, Any]:
    """A category that decides together with a number; a class and a value as targets."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_levels, size=n_rows)
    names = np.array([f"level {k}" for k in range(n_levels)])
    good = rng.permutation(n_levels) < n_levels // 2
    number = rng.normal(size=n_rows)
    values = 2.0 * good[codes] + (number > 0) + 0.1 * rng.random(n_rows)
    column = pd.Series(names[codes], dtype="category")
    column[rng.random(n_rows) < 0.1] = np.nan
    return pd.DataFrame({"kind": column, "number": number}), np.digitize(values, [1.5, 2.5]), values + 1.0


def part_rows(model: Any, X: Any) -> set[frozenset[int]]:
    leaves = np.asarray(model.apply(X))
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in np.unique(leaves)}


@every_model
@pytest.mark.parametrize("n_levels", [3, 40, 600])
def test_categories_are_learnt_at_any_cardinality(name: str, n_levels: int) -> None:
    X, classes, values = make_frame(max(900, 12 * n_levels), n_levels)  # levels of a few rows stay together
    y = (classes > 0).astype(int) if is_classifier(name) else values
    plain = {"monotonic_cst": None, "max_features": None, "ccp_alpha": 0.0}
    model = make_model(name, **plain).fit(X, y)
    assert model.feature_importances_[0] > 0
    assert model.score(X, y) > (0.65 if "stump" in name else 0.85)


@pytest.mark.parametrize("name", ["gini", "entropy", "squared_error", "poisson", "best-first values"])
def test_names_and_order_of_the_levels_do_not_matter(name: str) -> None:
    for seed in range(5):
        X, classes, values = make_frame(300, 12, seed)
        y = (classes > 0).astype(int) if is_classifier(name) else values
        renamed = X.copy()
        order = np.random.default_rng(seed).permutation(12)
        renamed["kind"] = X["kind"].cat.rename_categories({f"level {k}": f"name {order[k]:02}" for k in range(12)})
        renamed["kind"] = renamed["kind"].cat.reorder_categories(sorted(renamed["kind"].cat.categories))
        params = {"min_samples_leaf": 5}
        one, other = make_model(name, **params).fit(X, y), make_model(name, **params).fit(renamed, y)
        if is_classifier(name):  # levels with equal shares of the classes may change places
            np.testing.assert_allclose(measure_first_decrease(one), measure_first_decrease(other), rtol=1e-9)
        else:
            assert part_rows(one, X) == part_rows(other, renamed)


@pytest.mark.parametrize("cls", [DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier])
def test_unseen_levels_are_missing_or_refused_as_the_model_says(cls: Any) -> None:
    X, classes, values = make_frame(300, 5)
    y = values if cls is DecisionTreeRegressor else classes
    unseen = pd.DataFrame({"kind": pd.Series(["level 1", "never seen"], dtype="category"), "number": [0.3, 0.3]})
    missing = pd.DataFrame({"kind": pd.Series(["level 1", None], dtype="category"), "number": [0.3, 0.3]})
    model = cls(random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(unseen), model.predict(missing))
    with pytest.raises(CommitteeError, match="never seen"):
        cls(random_state=0, unseen="error").fit(X, y).predict(unseen)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_categories_with_several_classes(n_classes: int) -> None:
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 30, size=2000)
    y = (codes * 7) % n_classes
    model = DecisionTreeClassifier(random_state=0, categorical_features=[0]).fit(codes[:, None], y)
    assert model.score(codes[:, None], y) == 1.0
    # Pure levels need no more leaves than classes if they are grouped rather than cut off one by one.
    assert model.get_n_leaves() <= 2 * n_classes
