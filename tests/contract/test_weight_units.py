"""Contract 2 over every exported estimator: what counts is the weights in the unit that they share.

Whole numbers are divided by their greatest common factor and then mean repetition, whether or not there is a 1 among
them; a factor of all weights changes nothing; rows of a category are counted in that unit; scores count rows by weight.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import is_classifier
from sklearn.metrics import mean_absolute_error, r2_score

import committee
from committee.data.weights import count_as_rows, find_row_weight, find_unit
from tests.contract.instances import make_instance, shape_target
from tests.contract.test_estimators import COUNTING, ESTIMATORS, LISTING, make

# Automatic committees take seconds, and have members of scikit-learn, which count in their own way.
SLOW = {"CommitteeClassifier", "CommitteeRegressor"}
# Estimators without a target.
TARGETED = [cls for cls in ESTIMATORS if hasattr(make_instance(cls), "predict") and "Isolation" not in cls.__name__]
FAMILIES = [cls for cls in TARGETED if cls.__name__ not in SLOW | LISTING]
every_family = pytest.mark.parametrize("cls", FAMILIES, ids=lambda c: c.__name__)
few_examples = settings(max_examples=5, deadline=None, derandomize=True)
CHOICES = st.sampled_from([(2, 3), (3, 5), (4, 6, 10), (2, 3, 7), (6, 10, 15), (0, 2, 3)])


def ask(model: Any, X: Any) -> Any:
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def draw_table(cls: Any, seed: int, n_rows: int = 45) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_rows)
    return X, (signal > 0).astype(int) if is_classifier(make_instance(cls)) else shape_target(
        make_instance(cls), signal
    )


def draw_weights(choices: tuple[int, ...], seed: int, n_rows: int) -> Any:
    weights = np.random.default_rng(seed).choice(choices, size=n_rows)
    weights[: len(choices)] = choices
    return weights


def make_folded(cls: Any, rows: Any, **params: Any) -> Any:
    """An estimator whose folds, if it has any, keep the copies of a row together."""
    fold = np.random.default_rng(5).integers(0, 3, size=1000)[rows]
    return make(cls, cv=[(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(3)], **params)


def assert_repetition(cls: Any, X: Any, y: Any, weights: Any, atol: float = 1e-9, **params: Any) -> None:
    rows = np.arange(len(y))
    copies = np.repeat(rows, weights // np.gcd.reduce(weights))
    repeated_X = X.iloc[copies] if hasattr(X, "iloc") else X[copies]
    repeated = ask(make_folded(cls, copies, **params).fit(repeated_X, y[copies]), X)
    weighted = ask(make_folded(cls, rows, **params).fit(X, y, sample_weight=weights), X)
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9, atol=atol)


@every_family
@few_examples
@given(choices=CHOICES, seed=st.integers(0, 1000))
def test_whole_weights_without_a_one_are_repetition(cls: Any, choices: tuple[int, ...], seed: int) -> None:
    X, y = draw_table(cls, seed)
    weights = draw_weights(choices, seed, len(y))
    if cls.__name__ in COUNTING:
        weights = weights // np.gcd.reduce(weights)
    assert_repetition(cls, X, y, weights)


SAMPLING: list[tuple[str, dict[str, Any]]] = [
    (name, {"bootstrap": kind, "max_samples": share})
    for name in ("RandomForestClassifier", "ExtraTreesClassifier", "BaggingClassifier")
    for kind, share in (("stratified", None), ("balanced", None), (True, 0.7), ("stratified", 0.6))
]
SAMPLING += [
    ("RandomForestRegressor", {"max_samples": 0.7}),
    ("ExtraTreesRegressor", {"bootstrap": True}),
    ("RandomForestClassifier", {"class_weight": "balanced"}),
    ("RandomForestClassifier", {"class_weight": "balanced_subsample"}),
    ("RandomForestClassifier", {"class_weight": {0: 1, 1: 2}}),
    ("BaggingClassifier", {"estimator": committee.DecisionTreeClassifier(class_weight="balanced", random_state=0)}),
    ("BaggingClassifier", {"estimator": committee.SingleFeatureNB()}),
    ("AdaBoostClassifier", {"method": "resample"}),
    ("AdaBoostClassifier", {"method": "resample", "algorithm": "gentle"}),
    ("AdaBoostClassifier", {"algorithm": "samme.r"}),
    ("AdaBoostClassifier", {"algorithm": "logit"}),
    ("AdaBoostRegressor", {"method": "resample"}),
    ("ArcingClassifier", {"method": "resample"}),
    ("GradientBoostingClassifier", {"class_weight": "balanced", "max_features": None}),
    ("HistGradientBoostingClassifier", {"class_weight": "balanced", "l2_regularization": 5.0}),
    ("GradientBoostingRegressor", {"loss": "huber", "max_features": None}),
    ("HistGradientBoostingRegressor", {"l2_regularization": 3.0}),
]


@pytest.mark.parametrize(("name", "params"), SAMPLING, ids=lambda p: p if isinstance(p, str) else "-".join(map(str, p)))
@few_examples
@given(choices=CHOICES, seed=st.integers(0, 1000))
def test_draws_smoothing_and_class_weights_count_copies(
    name: str, params: dict[str, Any], choices: tuple[int, ...], seed: int
) -> None:
    cls = getattr(committee, name)
    X, y = draw_table(cls, seed)
    # Class weights that share no unit are rounded to fixed point, which may decide between nearly equal splits.
    rough = "Boosting" in name and "class_weight" in params
    assert_repetition(cls, X, y, draw_weights(choices, seed, len(y)), atol=0.01 if rough else 1e-9, **params)


@every_family
@few_examples
@given(choices=CHOICES, seed=st.integers(0, 1000), factor=st.sampled_from([0.1, 0.25, 3.0, 1e-30, 1e30]))
def test_a_factor_of_weights_without_a_one_changes_nothing(
    cls: Any, choices: tuple[int, ...], seed: int, factor: float
) -> None:
    if cls.__name__ in COUNTING:
        return
    X, y = draw_table(cls, seed)
    weights = draw_weights(choices, seed, len(y))
    one, other = (make(cls).fit(X, y, sample_weight=w) for w in (weights, weights * factor))
    np.testing.assert_allclose(ask(one, X), ask(other, X), rtol=1e-9, atol=1e-9)


CATEGORICAL: list[tuple[str, dict[str, Any]]] = [
    ("AdaBoostClassifier", {"algorithm": "logit"}),
    ("AdaBoostClassifier", {"algorithm": "gentle"}),
    ("AdaBoostClassifier", {"algorithm": "samme.r"}),
    ("AdaBoostClassifier", {"estimator": committee.DecisionTreeClassifier(max_depth=2)}),
    ("AdaBoostClassifier", {"estimator": committee.DecisionTreeClassifier(max_depth=2), "method": "resample"}),
    ("AdaBoostRegressor", {"algorithm": "rt", "method": "reweight"}),
    ("AdaBoostRegressor", {"method": "reweight"}),
    ("ArcingClassifier", {"method": "reweight"}),
    ("DecisionTreeClassifier", {"class_weight": "balanced"}),
    ("DecisionTreeClassifier", {"min_weight_fraction_leaf": 0.1}),
    ("RandomForestClassifier", {"class_weight": "balanced_subsample"}),
    ("RandomForestClassifier", {"bootstrap": False, "class_weight": "balanced"}),
    ("ExtraTreesRegressor", {}),
    ("GradientBoostingClassifier", {"max_features": None, "class_weight": "balanced"}),
]


@pytest.mark.parametrize(("name", "params"), CATEGORICAL)
@few_examples
@given(choices=st.sampled_from([(1, 2, 3), (2, 3), (3, 4, 5)]), seed=st.integers(0, 1000))
def test_rows_of_a_category_are_counted_in_the_unit(
    name: str, params: dict[str, Any], choices: tuple[int, ...], seed: int
) -> None:
    cls, rng = getattr(committee, name), np.random.default_rng(seed)
    X = pd.DataFrame({"k": pd.Categorical(list("abcdefghijklmn"), categories=list("abcdefghijklmn"))}).sample(
        60, replace=True, random_state=seed
    )
    y = rng.integers(2, size=len(X))
    assert_repetition(cls, X, y, draw_weights(choices, seed, len(y)), n_estimators=4, **params)


@pytest.mark.parametrize("factor", [0.1, 1e30, 3.0, 1e-30])
@pytest.mark.parametrize("name", ["ExtraTreeClassifier", "DecisionTreeRegressor", "RandomForestClassifier"])
def test_a_leaf_that_weighs_exactly_the_least_share_is_kept(name: str, factor: float) -> None:
    cls = getattr(committee, name)
    rng = np.random.default_rng(0)
    for seed in range(40):
        X, y = rng.integers(0, 6, size=(20, 2)).astype(float), rng.integers(0, 2, size=20)
        weights = rng.integers(1, 4, size=20).astype(float)
        weights[0] += 40.0 - weights.sum() if weights.sum() < 40.0 else 60.0 - weights.sum()
        model = make(cls, min_weight_fraction_leaf=0.05 if weights.sum() == 40.0 else 0.1, random_state=seed)
        one, other = (ask(model.fit(X, y, sample_weight=w), X) for w in (weights, weights * factor))
        np.testing.assert_allclose(one, other, rtol=1e-12)


# --- scores ----------------------------------------------------------------------------------------------------------


def draw_weighted_table() -> tuple[Any, Any, Any]:
    """Easy rows of weight 50, and noise of weight 1."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(100, 3)), 10.0 + rng.normal(size=(200, 3))])
    y = np.concatenate([X[:100, 0] > 0.0, rng.random(200) < 0.5]).astype(int)
    return X, y, np.repeat([50.0, 1.0], [100, 200])


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees", "Bagging"])
@pytest.mark.parametrize("score", [True, "accuracy"])
def test_out_of_bag_accuracy_counts_rows_by_weight(name: str, score: Any) -> None:
    X, y, weights = draw_weighted_table()
    weights[:3] = 0.0
    model = getattr(committee, f"{name}Classifier")(
        n_estimators=60, bootstrap=True, max_samples=200, oob_score=score, random_state=0
    )
    model.fit(X, y, sample_weight=weights)
    known = ~np.isnan(model.oob_decision_function_).any(axis=1)
    right = model.oob_decision_function_.argmax(axis=1) == y
    expected = np.average(right[known], weights=weights[known])
    assert abs(expected - right[known].mean()) > 0.05
    np.testing.assert_allclose(model.oob_score_, expected)
    np.testing.assert_allclose(model.oob_trace_.score[-1], expected)


@pytest.mark.parametrize("name", ["RandomForest", "ExtraTrees", "Bagging"])
@pytest.mark.parametrize(
    ("score", "metric"),
    [
        (True, r2_score),
        ("r2", r2_score),
        (mean_absolute_error, mean_absolute_error),
        (lambda true, predicted: 7.0, None),
    ],
)
def test_out_of_bag_scores_of_values_count_rows_by_weight(name: str, score: Any, metric: Any) -> None:
    X, y, weights = draw_weighted_table()
    values = y + 0.1 * X[:, 1]
    model = getattr(committee, f"{name}Regressor")(
        n_estimators=60, bootstrap=True, max_samples=200, oob_score=score, random_state=0
    )
    model.fit(X, values, sample_weight=weights)
    known = ~np.isnan(model.oob_prediction_)
    expected = 7.0
    if metric is not None:
        expected = metric(values[known], model.oob_prediction_[known], sample_weight=weights[known])
    np.testing.assert_allclose(model.oob_score_, expected)


def test_early_stopping_of_boosted_members_counts_rows_by_weight() -> None:
    X, y, weights = draw_weighted_table()
    model = committee.AdaBoostClassifier(
        n_estimators=5, n_iter_no_change=5, validation_fraction=0.5, keep_sample_weights=True, random_state=0
    )
    model.fit(X, y, sample_weight=weights)
    held_out = model.sample_weights_trace_[0] == 0.0
    staged = [np.average(p[held_out] == y[held_out], weights=weights[held_out]) for p in model.staged_predict(X)]
    np.testing.assert_allclose(model.validation_scores_[: len(staged)], staged)


def test_early_stopping_of_word_stumps_counts_documents_by_weight() -> None:
    words = np.repeat(np.eye(2), 50, axis=0)
    labels = np.repeat([0, 1], 50)
    labels[::5] = 1 - labels[::5]
    weights = np.where(np.arange(100) % 5 == 0, 1.0, 9.0)
    params: dict[str, Any] = {"n_estimators": 3, "n_iter_no_change": 3, "validation_fraction": 0.5, "random_state": 0}
    plain = committee.BoosTexterClassifier(**params).fit(words, labels)
    weighted = committee.BoosTexterClassifier(**params).fit(words, labels, sample_weight=weights)
    assert weighted.validation_errors_.min() < 0.05 < plain.validation_errors_.min()


# --- the unit --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("weights", "counts"),
    [
        ([2, 3], [2, 3]),
        ([4, 6, 0], [2, 3, 0]),
        ([0.2, 0.3], [2, 3]),
        ([0.5, 1.5], [1, 3]),
        ([1e30, 3e30], [1, 3]),
        ([6e-30, 1e-29, 1.5e-29], [6, 10, 15]),
        ([100, 1], [100, 1]),
        ([7, 7, 7], [1, 1, 1]),
        ([0.31, 0.69], [0.62, 1.38]),
        ([1, 2e9], [1e-9, 2]),
        ([1e-300, 1e300], [0, 2]),
    ],
)
def test_the_unit_of_weights(weights: list[float], counts: list[float]) -> None:
    np.testing.assert_allclose(count_as_rows(np.array(weights, dtype=float)), counts, rtol=1e-8, atol=1e-8)


@given(
    weights=st.lists(st.integers(0, 20), min_size=2, max_size=30).filter(any),
    factor=st.sampled_from([0.1, 0.7, 1e-20, 3.0, 1e200]),
)
def test_the_unit_of_multiples(weights: list[int], factor: float) -> None:
    own = np.array(weights, dtype=float)
    expected = own / np.gcd.reduce(np.array(weights))
    np.testing.assert_array_equal(count_as_rows(own * factor), expected)
    np.testing.assert_allclose(find_unit(own * factor), factor * np.gcd.reduce(np.array(weights)), rtol=1e-12)


def test_the_unit_of_class_weights_is_that_of_a_copy() -> None:
    sample = np.array([2.0, 3.0, 4.0, 0.0])
    factors = np.array([0.31, 0.69, 0.31, 0.69])
    copies = np.repeat(factors, sample.astype(int))
    np.testing.assert_allclose(find_row_weight(sample, sample * factors), copies.mean())
    np.testing.assert_allclose(find_row_weight(sample, sample * 0.3), 0.3)
    assert find_row_weight(None, None) == 1.0
