"""Out-of-bag predictions are noisier than later predictions, and stacking corrects their columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.datasets import load_iris, make_classification, make_friedman1
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB

from committee import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreeClassifier,
    ExtraTreesClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
)
from committee.ensembles.combining.oob_correction import correct_oob_columns, estimate_oob_noise


def measure_slowly(bag: Any, X: Any, columns: Any) -> Any:
    """Row by row, member by member."""
    rows, terms = np.unique(np.linspace(0, len(X) - 1, min(len(X), 400)).astype(int)), []
    inside = [set(own.tolist()) for own in bag.estimators_samples_]
    pairs = zip(bag.estimators_, getattr(bag, "estimators_features_", [slice(None)] * len(inside)), strict=True)
    predicted = [columns(member, X[:, features]) for member, features in pairs]
    for row in rows:
        predictions = [values[row] for values, own in zip(predicted, inside, strict=True) if row not in own]
        if len(predictions) > 1:
            spread = np.atleast_2d(np.cov(np.array(predictions).T))
            terms.append(spread * (1.0 / len(predictions) - 1.0 / len(inside)))
    return np.mean(terms, axis=0)


@pytest.mark.parametrize(
    "bag",
    [
        RandomForestClassifier(15, random_state=0),
        ExtraTreesClassifier(15, bootstrap=True, min_samples_leaf=5, random_state=0),
        BaggingClassifier(ExtraTreeClassifier(), 15, bootstrap=False, max_samples=0.7, max_features=2, random_state=0),
        BaggingClassifier(GaussianNB(), 8, max_features=3, random_state=0),
    ],
)
def test_the_noise_of_probabilities_is_that_of_single_members(bag: Any) -> None:
    X, y = load_iris(return_X_y=True)
    bag = clone(bag).fit(X, y)
    noise, fraction = estimate_oob_noise(bag, X, len(X))
    np.testing.assert_allclose(noise, measure_slowly(bag, X, lambda m, rows: m.predict_proba(rows)), atol=1e-12)
    assert 0.2 < fraction < 0.5
    if not hasattr(bag, "estimator_") or not isinstance(bag.estimator_, GaussianNB):
        sparse, _ = estimate_oob_noise(bag, csr_matrix(X), len(X))
        np.testing.assert_allclose(sparse, noise, atol=1e-12)


@pytest.mark.parametrize(
    "bag", [RandomForestRegressor(12, random_state=0), BaggingRegressor(Ridge(), 9, random_state=0)]
)
def test_the_noise_of_values_is_that_of_single_members(bag: Any) -> None:
    X, y = make_friedman1(600, random_state=0)
    bag = clone(bag).fit(X, y)
    noise, _ = estimate_oob_noise(bag, X, len(X))
    np.testing.assert_allclose(noise, measure_slowly(bag, X, lambda m, rows: m.predict(rows)), rtol=1e-9)


def test_coefficients_are_those_of_columns_without_noise() -> None:
    rng = np.random.default_rng(0)
    clean = rng.normal(size=(20_000, 2)) @ np.array([[1.0, 0.6], [0.0, 0.5]])
    y_true = clean @ [2.0, 1.0] + 0.1 * rng.normal(size=len(clean))
    noisy = clean + rng.normal(size=clean.shape) * [0.7, 0.0]
    noise = np.diag([0.49, 0.0])
    plain = LinearRegression().fit(noisy, y_true).coef_
    calibrated = LinearRegression().fit(correct_oob_columns(noisy, noise, 0.1), y_true).coef_
    assert np.abs(plain - [2.0, 1.0]).max() > 0.5
    np.testing.assert_allclose(calibrated, [2.0, 1.0], atol=0.05)


def test_probabilities_still_sum_to_one_and_rows_of_weight_zero_do_not_count() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1.0, 1.0, 1.0], size=200)
    noise = 0.02 * (np.diag([1.0, 1.0, 1.0]) - 1.0 / 3.0)
    corrected = correct_oob_columns(probabilities, noise, 0.3)
    np.testing.assert_allclose(corrected.sum(axis=1), 1.0, atol=1e-12)
    assert (corrected.var(axis=0) < probabilities.var(axis=0)).all()
    weights = np.repeat([1.0, 0.0], 100)
    np.testing.assert_allclose(
        correct_oob_columns(probabilities, noise, 0.3, weights)[:100],
        correct_oob_columns(probabilities[:100], noise, 0.3),
        atol=1e-12,
    )


def test_more_noise_than_variance_leaves_what_the_members_have_in_common_with_themselves() -> None:
    columns = np.array([[0.0], [1.0], [0.0], [1.0]])
    corrected = correct_oob_columns(columns, np.array([[9.0]]), 0.4)
    np.testing.assert_allclose(corrected.ravel() - 0.5, 0.4 * (columns.ravel() - 0.5))


def test_a_stack_trusts_its_forest_as_much_as_with_folds() -> None:
    X, y = make_classification(1500, 12, n_informative=6, class_sep=0.7, flip_y=0.05, random_state=0)
    members = [("forest", RandomForestClassifier(25, random_state=0)), ("logistic", LogisticRegression())]
    folds, bags = (StackingClassifier(members, cv=cv).fit(X, y).final_estimator_.coef_[0] for cv in (5, "oob"))
    raw = RandomForestClassifier(25, oob_score=True, random_state=0).fit(X, y).oob_decision_function_[:, 1]
    known = np.isfinite(raw)
    line = StackingClassifier(members, cv=5).fit(X, y).layers_[0].predict(X)[:, 1]
    plain = LogisticRegression().fit(np.column_stack([raw, line])[known], y[known]).coef_[0]
    assert abs(bags[0] - folds[0]) < 0.7 * abs(plain[0] - folds[0])


@pytest.mark.parametrize("passthrough", [False, True])
def test_several_outputs_and_values_go_through(passthrough: bool) -> None:
    X, y = make_friedman1(150, random_state=0)
    pairs = [("forest", RandomForestRegressor(20, random_state=0)), ("ridge", Ridge())]
    stack = StackingRegressor(pairs, cv="oob", passthrough=passthrough).fit(X, y)
    assert stack.score(X, y) > 0.7
    labels = np.column_stack([y > np.median(y), X[:, 0] > 0.5]).astype(int)
    forests = [("a", RandomForestClassifier(20, random_state=0)), ("b", RandomForestClassifier(15, random_state=1))]
    final = RandomForestClassifier(10, random_state=0)
    predicted = StackingClassifier(forests, final, cv="oob", passthrough=passthrough).fit(X, labels).predict(X)
    assert (predicted == labels).mean() > 0.9
