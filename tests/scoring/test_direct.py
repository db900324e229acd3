"""Metrics without scikit-learn's checks have its values, to the last bit, and leave to it what it refuses."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import accuracy_score, get_scorer, r2_score

from committee import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
)
from committee.data import ClassTarget, ValueTarget
from committee.ensembles.out_of_bag import make_score_function
from committee.exceptions import DataError
from committee.scoring import KnownProbabilities, KnownValues, Scorer
from committee.scoring.direct import find_class_metric, find_value_metric

CLASS_METRICS = ["accuracy", "balanced_accuracy", "neg_log_loss", "roc_auc", "roc_auc_ovr"]
VALUE_METRICS = ["neg_mean_absolute_error", "neg_mean_squared_error", "neg_root_mean_squared_error", "r2"]
CLASSES = [
    np.array([0, 1]),
    np.array([False, True]),
    np.array(["no", "yes"]),
    np.array([-3, 5, 9]),
    np.array(["a", "b", "c"], dtype=object),
]


def draw_weights(rng, kind, n_rows):
    if kind == "none":
        return None
    return rng.uniform(size=n_rows) if kind == "fractions" else rng.integers(0, 3, size=n_rows).astype(float)


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "fractions", "counts"]), st.sampled_from([1, 4, 53]))
def test_classes(seed, kind, digits):
    rng = np.random.default_rng(seed)
    classes, n_rows = CLASSES[seed % len(CLASSES)], int(rng.integers(6, 300))
    labels = np.append(np.arange(len(classes)).repeat(2), rng.integers(0, len(classes), size=n_rows))
    shares = rng.dirichlet(np.ones(len(classes)), size=len(labels)).round(digits)  # many ties with few digits
    shares[:, -1] = np.maximum(1.0 - shares[:, :-1].sum(axis=1), 0.0)
    shares /= shares.sum(axis=1, keepdims=True)
    weights = draw_weights(rng, kind, len(labels))
    if weights is not None:
        weights[: 2 * len(classes)] = 1.0
    known = KnownProbabilities(classes, shares)
    for name in CLASS_METRICS:
        if name == "roc_auc" and len(classes) > 2:
            continue
        found = find_class_metric(name, classes)(labels, shares, weights)
        assert found == Scorer(name).score_known(known, classes[labels], weights), name


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["none", "fractions", "counts"]), st.sampled_from([1, 3]))
def test_values(seed, kind, n_outputs):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 300))
    true, predicted = rng.normal(size=(n_rows, n_outputs)), rng.normal(size=(n_rows, n_outputs))
    true[:, 0] = np.where(seed % 7, true[:, 0], 1.5)  # sometimes constant, which R² has a rule for
    weights = draw_weights(rng, kind, n_rows)
    if weights is not None:
        weights[0] = 1.0
    for name in VALUE_METRICS:
        found = find_value_metric(name)(true, predicted, weights)
        assert found == Scorer(name).score_known(KnownValues(predicted), true, weights), name


@pytest.mark.parametrize("name", [*CLASS_METRICS, *VALUE_METRICS])
def test_a_name_is_scored_without_a_scorer(name, monkeypatch):
    """Of some rows, in any order, with their weights."""
    rng = np.random.default_rng(0)
    rows, weights = rng.permutation(60)[:40], rng.uniform(size=60)
    if name in CLASS_METRICS:
        target = ClassTarget(np.arange(60).reshape(-1, 1) % 2, [np.array(["no", "yes"])], True)
        positive = rng.uniform(size=60)
        predicted = np.stack([1.0 - positive, positive], axis=1)
        known, true = KnownProbabilities(target.classes[0], predicted[rows]), target.decode(target.labels)[rows]
    else:
        target = ValueTarget(rng.normal(size=(60, 1)), True)
        predicted = rng.normal(size=(60, 1))
        known, true = KnownValues(predicted[rows]), target.values[rows, 0]
    expected = Scorer(name).score_known(known, true.ravel(), weights[rows])
    score = make_score_function(name, target, weights, "metric")
    monkeypatch.setattr(Scorer, "score_known", None)
    assert score(rows, predicted[rows]) == expected


def test_what_scikit_learn_refuses_or_warns_about_is_left_to_it():
    shares = np.array([[0.5, 0.5], [0.25, 0.75]])
    two = np.array([0, 1])
    assert find_class_metric("roc_auc", two)(np.array([1, 1]), shares, None) is None
    assert find_class_metric("roc_auc", two)(two, np.full((2, 2), np.nan), None) is None
    assert find_class_metric("roc_auc", two)(two, shares, np.array([0.0, 1.0])) is None
    assert find_class_metric("roc_auc", np.arange(3))(two, np.full((2, 3), 1 / 3), None) is None
    assert find_class_metric("roc_auc_ovr", np.arange(3))(two, np.full((2, 3), 1 / 3), None) is None
    assert find_class_metric("roc_auc_ovr", np.arange(3))(np.arange(3), np.eye(3) / 2, None) is None
    assert find_class_metric("balanced_accuracy", two)(np.array([1, 1]), shares, None) is None
    assert find_class_metric("accuracy", two)(two, shares, np.zeros(2)) is None
    assert find_class_metric("neg_log_loss", two)(np.array([1, 1]), shares, None) is None
    assert find_class_metric("neg_log_loss", two)(two, 2.0 * shares, None) is None
    assert find_class_metric("neg_log_loss", two)(two, shares / 2.0, None) is None
    assert find_class_metric("accuracy", np.array([0.5, 1.5])) is None
    assert find_class_metric("f1_macro", two) is None
    assert find_value_metric("max_error") is None
    for name in VALUE_METRICS:
        assert find_value_metric(name)(np.ones((2, 1)), np.array([[1.0], [np.inf]]), None) is None
        assert find_value_metric(name)(np.ones((2, 1)), np.ones((2, 1)), np.zeros(2)) is None
    assert find_value_metric("r2")(np.ones((1, 1)), np.ones((1, 1)), None) is None

    one_class = ClassTarget(np.array([[1], [1]]), [two], True)
    with pytest.warns(UndefinedMetricWarning):
        assert np.isnan(make_score_function("roc_auc", one_class)(slice(None), shares))
    three = ClassTarget(np.array([[0], [1]]), [np.arange(3)], True)
    with pytest.raises(DataError, match="scorer 'roc_auc' cannot score such predictions"):
        make_score_function("roc_auc", three)(slice(None), np.full((2, 3), 1 / 3))


@pytest.mark.parametrize(
    ("name", "n_classes"), [(name, n) for name in CLASS_METRICS for n in (2, 3)] + [(name, 0) for name in VALUE_METRICS]
)
def test_boosting_stops_by_the_scores_of_a_scorer(name, n_classes, monkeypatch):
    """A scorer that is no name is asked itself."""
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(200, 3)), rng.integers(0, 3, size=200).astype(float)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=200)
    if not n_classes:
        cls, y, few = GradientBoostingRegressor, signal, {"n_estimators": 8}
    else:
        cls, few = HistGradientBoostingClassifier, {"max_iter": 8}
        y = np.array(["a", "b", "c"])[np.digitize(signal, [0.0, 1.0][: n_classes - 1])]
    few |= {"early_stopping": True, "random_state": 0}
    if name == "roc_auc" and n_classes == 3:
        with pytest.raises(DataError, match="scorer 'roc_auc' cannot score such predictions"):
            cls(scoring=name, **few).fit(X, y)
        return
    asked = cls(scoring=get_scorer(name), **few).fit(X, y, sample_weight=weights)
    monkeypatch.setattr(Scorer, "score_known", None)
    model = cls(scoring=name, **few).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(model.validation_score_, asked.validation_score_)


@pytest.mark.parametrize("weighted", [False, True])
def test_staged_scores_of_adaboost(weighted):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(90, 3))
    signal, weights = X[:, 0] + X[:, 1] ** 2, rng.uniform(size=90) if weighted else None
    for model, y, measure in (
        (AdaBoostClassifier(n_estimators=6), np.where(signal > 1, "high", "low"), accuracy_score),
        (AdaBoostRegressor(n_estimators=4, random_state=0), signal, r2_score),
        (AdaBoostRegressor(n_estimators=3, random_state=0), X[:, :2] ** 2, r2_score),
        (AdaBoostClassifier(n_estimators=3), (X[:, :2] > 0).astype(int), accuracy_score),
    ):
        model.fit(X, y)
        wanted = [measure(y, predicted, sample_weight=weights) for predicted in model.staged_predict(X)]
        for target in (y, y.tolist()):
            assert list(model.staged_score(X, target, weights)) == wanted
