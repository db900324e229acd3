"""Leaf values that follow new rows while splits stay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris

import committee
from committee import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.exceptions import DataError, ParameterError
from committee.inspection import shap_values

X_VALUES, Y_VALUES = load_diabetes(return_X_y=True)
REGRESSORS = [
    GradientBoostingRegressor(n_estimators=20, random_state=0),
    GradientBoostingRegressor(n_estimators=20, loss="poisson", reg_lambda=2.0, random_state=0),
    HistGradientBoostingRegressor(max_iter=20, l2_regularization=3.0, random_state=0),
    RandomForestRegressor(10, bootstrap=False, max_features=0.3, min_samples_leaf=5, random_state=0),
    ExtraTreesRegressor(10, min_samples_leaf=5, random_state=0),
]
CLASSIFIERS = [
    GradientBoostingClassifier(n_estimators=15, random_state=0),
    HistGradientBoostingClassifier(max_iter=15, random_state=0),
    RandomForestClassifier(10, bootstrap=False, min_samples_leaf=5, random_state=0),
]


@pytest.mark.parametrize("model", REGRESSORS)
def test_the_training_rows_give_the_leaves_that_there_are(model: Any) -> None:
    model.fit(X_VALUES, Y_VALUES)
    old = model.predict(X_VALUES)
    np.testing.assert_allclose(model.refit_leaves(X_VALUES, Y_VALUES, decay_rate=0.0).predict(X_VALUES), old, rtol=1e-6)
    np.testing.assert_array_equal(model.refit_leaves(X_VALUES, Y_VALUES, decay_rate=1.0).predict(X_VALUES), old)
    np.testing.assert_array_equal(model.predict(X_VALUES), old)  # the model itself is as before


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer])
@pytest.mark.parametrize("model", CLASSIFIERS)
def test_the_same_with_classes(model: Any, load: Any) -> None:
    X, y = load(return_X_y=True)
    names = np.array(["x", "y", "z"])[y]
    old = model.fit(X, names).predict_proba(X)
    np.testing.assert_allclose(model.refit_leaves(X, names, decay_rate=0.0).predict_proba(X), old, atol=1e-8)
    np.testing.assert_array_equal(model.refit_leaves(X, names, decay_rate=1.0).predict_proba(X), old)


@pytest.mark.parametrize("model", REGRESSORS)
def test_new_rows_move_the_predictions(model: Any, tmp_path: Path) -> None:
    model.fit(X_VALUES, Y_VALUES)
    new = 0.5 * Y_VALUES + 10.0
    errors = [
        np.mean((model.refit_leaves(X_VALUES, new, decay_rate=rate).predict(X_VALUES) - new) ** 2)
        for rate in (1.0, 0.5, 0.0)
    ]
    assert errors[0] > errors[1] > errors[2]
    moved = model.refit_leaves(X_VALUES, new)
    committee.save(moved, tmp_path / "m.committee")
    np.testing.assert_array_equal(committee.load(tmp_path / "m.committee").predict(X_VALUES), moved.predict(X_VALUES))


@pytest.mark.parametrize("model", REGRESSORS)
def test_refitted_trees_are_explained(model: Any) -> None:
    refitted = model.fit(X_VALUES, Y_VALUES).refit_leaves(X_VALUES[:200], Y_VALUES[:200])
    found = shap_values(refitted, X_VALUES[:20])
    raw = refitted.predict(X_VALUES[:20])
    raw = np.log(raw) if getattr(model, "loss", "") == "poisson" else raw
    np.testing.assert_allclose(found.predictions, raw, rtol=1e-9)


def test_a_row_of_weight_two_is_two_rows_and_of_weight_zero_none() -> None:
    model = GradientBoostingRegressor(n_estimators=10, random_state=0).fit(X_VALUES, Y_VALUES)
    weights = np.random.default_rng(0).integers(0, 3, len(Y_VALUES))
    rows = np.repeat(np.arange(len(Y_VALUES)), weights)
    weighted = model.refit_leaves(X_VALUES, Y_VALUES + 5.0, weights * 0.7, decay_rate=0.2)
    repeated = model.refit_leaves(X_VALUES[rows], Y_VALUES[rows] + 5.0, decay_rate=0.2)
    np.testing.assert_allclose(weighted.predict(X_VALUES), repeated.predict(X_VALUES), rtol=1e-9)


def test_a_forest_forgets_what_it_knew_of_its_rows() -> None:
    forest = RandomForestRegressor(10, oob_score=True, keep_leaf_samples=True, random_state=0).fit(X_VALUES, Y_VALUES)
    moved = forest.refit_leaves(X_VALUES, Y_VALUES)
    assert not hasattr(moved, "oob_score_")
    assert hasattr(forest, "oob_score_")
    np.testing.assert_array_equal(moved.feature_importances_, forest.feature_importances_)


def test_what_is_wrong_is_said() -> None:
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    with pytest.raises(DataError, match="was not fitted on"):
        forest.refit_leaves(X, y + 1)
    with pytest.raises(ParameterError, match="decay_rate"):
        forest.refit_leaves(X, y, decay_rate=2.0)
    with pytest.raises(DataError, match="same number"):
        forest.refit_leaves(X[:10], y)


def test_values_that_are_no_finite_numbers_are_refused() -> None:
    for model in (GradientBoostingRegressor(n_estimators=3), RandomForestRegressor(3, random_state=0)):
        model.fit(X_VALUES, Y_VALUES)
        for bad in (np.nan, np.inf):
            with pytest.raises(DataError, match="finite"):
                model.refit_leaves(X_VALUES, np.full(len(Y_VALUES), bad))
        with pytest.raises(DataError, match="must be numbers"):
            model.refit_leaves(X_VALUES, ["a"] * len(Y_VALUES))
    X, y = load_iris(return_X_y=True)
    with pytest.raises(DataError, match=r"cannot be compared|was not fitted on"):
        RandomForestClassifier(3, random_state=0).fit(X, y).refit_leaves(X, np.array([None, "a"] * 75, dtype=object))
