"""Gentle AdaBoost and LogitBoost: the formulas of Friedman, Hastie and Tibshirani (2000)."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_classification, make_moons
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor as OtherTree

import committee
from committee import AdaBoostClassifier, DecisionStumpClassifier, DecisionTreeRegressor
from committee.exceptions import CommitteeError

both = pytest.mark.parametrize("algorithm", ["gentle", "logit"])


def boost_gentle(X, y, n_rounds, learning_rate=1.0):
    """Algorithm 4, labels -1 and 1: f after each round."""
    w, F = np.full(len(y), 1 / len(y)), np.zeros(len(y))
    for _ in range(n_rounds):
        f = OtherTree(max_depth=1).fit(X, y, sample_weight=w).predict(X)
        F = F + learning_rate * f
        w = w * np.exp(-learning_rate * y * f)
        w = w / w.sum()
        yield F


def boost_logit(X, labels, n_rounds, n_classes):
    """Algorithm 6, any number of classes: f after each round. Rounds that say more than 4 are shortened."""
    n = len(labels)
    F, p = np.zeros((n, n_classes)), np.full((n, n_classes), 1 / n_classes)
    hit = labels[:, None] == np.arange(n_classes)
    for _ in range(n_rounds):
        f = np.empty_like(F)
        p = np.clip(p, 0.5 / n, 1 - 0.5 / n)
        for j in range(n_classes):
            w = p[:, j] * (1 - p[:, j])
            z = (hit[:, j] - p[:, j]) / w
            f[:, j] = OtherTree(max_depth=1).fit(X, z, sample_weight=w / w.sum()).predict(X)
        f = f * min(1.0, 4 / np.abs(f).max())
        F = F + (n_classes - 1) / n_classes * (f - f.mean(axis=1, keepdims=True))
        p = np.exp(F) / np.exp(F).sum(axis=1, keepdims=True)
        yield F


def read_float32(X, y):
    return X.astype(np.float32).astype(np.float64), y


def test_gentle_is_that_of_the_paper():
    X, y = read_float32(*make_moons(120, noise=0.3, random_state=0))
    for learning_rate in (1.0, 0.5):
        model = AdaBoostClassifier(algorithm="gentle", n_estimators=15, learning_rate=learning_rate).fit(X, y)
        expected = boost_gentle(X, 2.0 * y - 1.0, 15, learning_rate)
        for F, mine in zip(expected, model.staged_decision_function(X), strict=True):
            np.testing.assert_allclose(mine, F, atol=1e-9)
        np.testing.assert_allclose(model.exponential_loss_[-1], np.exp(-(2 * y - 1) * F).mean(), rtol=1e-9)


def test_logit_is_that_of_the_paper():
    X, y = read_float32(*make_moons(120, noise=0.3, random_state=0))
    model = AdaBoostClassifier(algorithm="logit", n_estimators=10).fit(X, y)
    for F, mine in zip(boost_logit(X, y, 10, 2), model.staged_decision_function(X), strict=True):
        np.testing.assert_allclose(mine, F[:, 1], atol=1e-7)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 3)).astype(np.float32).astype(float)
    y = np.digitize(X.sum(axis=1) + rng.normal(size=150), [-1.0, 1.0])
    model = AdaBoostClassifier(algorithm="logit", n_estimators=8).fit(X, y)
    for F, mine in zip(boost_logit(X, y, 8, 3), model.staged_decision_function(X), strict=True):
        np.testing.assert_allclose(mine, F, atol=1e-6)


@both
def test_the_minimiser_is_half_the_log_odds(algorithm):
    rng = np.random.default_rng(0)
    chances = np.array([0.1, 0.7, 0.3, 0.9, 0.5, 0.2])
    x = rng.integers(0, len(chances), 20_000)
    y = (rng.random(20_000) < chances[x]).astype(int)
    model = AdaBoostClassifier(n_estimators=300, algorithm=algorithm).fit(x[:, None].astype(float), y)
    grid = np.arange(len(chances))[:, None].astype(float)
    frequencies = np.array([y[x == k].mean() for k in range(len(chances))])
    np.testing.assert_allclose(model.decision_function(grid), 0.5 * np.log(frequencies / (1 - frequencies)), atol=0.03)
    np.testing.assert_allclose(model.predict_proba(grid)[:, 1], chances, atol=0.03)


@both
@pytest.mark.parametrize("member", [None, DecisionTreeRegressor(max_depth=2), Ridge(), OtherTree(max_depth=1)])
def test_any_regressor(algorithm, member):
    for X, y in (load_breast_cancer(return_X_y=True), load_iris(return_X_y=True)):
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        names = np.array(["a", "b", "c"])[y]
        model = AdaBoostClassifier(member, n_estimators=20, algorithm=algorithm, random_state=0).fit(X, names)
        assert model.score(X, names) > (0.8 if isinstance(member, Ridge) else 0.95)
        n_classes = len(model.classes_)
        assert len(model.estimators_) == (20 if n_classes == 2 else 60)
        assert len(model.estimator_errors_) == len(model.exponential_loss_) == 20
        *_, last = model.staged_predict_proba(X)
        np.testing.assert_allclose(last, model.predict_proba(X), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(last.sum(axis=1), 1.0)
        copy = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(copy.decision_function(X), model.decision_function(X))
        if n_classes == 2:
            errors = 1.0 - np.array(list(model.staged_score(X, names)))
            assert (errors <= model.training_error_bound() + 1e-12).all()


@both
def test_members_by_samples_early_stopping_and_warm_start(algorithm):
    X, y = make_classification(400, 6, flip_y=0.2, random_state=0)
    model = AdaBoostClassifier(KNeighborsRegressor(5), n_estimators=4, algorithm=algorithm, method="resample").fit(X, y)
    assert model.score(X, y) > 0.8
    model = AdaBoostClassifier(n_estimators=200, algorithm=algorithm, n_iter_no_change=8, random_state=0).fit(X, y)
    assert len(model.estimators_) == model.validation_scores_.argmax() + 1 < 200
    whole = AdaBoostClassifier(n_estimators=12, algorithm=algorithm, keep_sample_weights=True).fit(X, y)
    grown = AdaBoostClassifier(n_estimators=5, algorithm=algorithm, keep_sample_weights=True, warm_start=True)
    grown.fit(X, y).set_params(n_estimators=12).fit(X, y)
    np.testing.assert_allclose(grown.decision_function(X), whole.decision_function(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(grown.sample_weights_trace_, whole.sample_weights_trace_, rtol=1e-7)
    np.testing.assert_allclose(whole.sample_weights_trace_.sum(axis=1), 1.0)
    with pytest.raises(CommitteeError, match="another algorithm"):
        grown.set_params(algorithm="samme", n_estimators=20).fit(X, y)


@both
def test_weights_are_repetition(algorithm):
    X, y = make_classification(200, 4, flip_y=0.1, random_state=0)
    counts = np.random.default_rng(0).integers(0, 4, 200)
    weighted = AdaBoostClassifier(n_estimators=10, algorithm=algorithm).fit(X, y, sample_weight=counts)
    repeated = AdaBoostClassifier(n_estimators=10, algorithm=algorithm).fit(X.repeat(counts, axis=0), y.repeat(counts))
    np.testing.assert_allclose(weighted.decision_function(X), repeated.decision_function(X), rtol=1e-6, atol=1e-8)


@both
def test_model_files(algorithm, tmp_path):
    X, y = load_iris(return_X_y=True)
    model = AdaBoostClassifier(n_estimators=5, algorithm=algorithm).fit(X, y)
    committee.save(model, tmp_path / "model")
    np.testing.assert_array_equal(committee.load(tmp_path / "model").predict_proba(X), model.predict_proba(X))


@both
def test_classifiers_are_refused(algorithm):
    with pytest.raises(CommitteeError, match="must be a regressor for algorithm="):
        AdaBoostClassifier(DecisionStumpClassifier(), algorithm=algorithm).fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(CommitteeError, match="must be a classifier for algorithm="):
        AdaBoostClassifier(DecisionTreeRegressor(), algorithm="samme").fit([[0.0], [1.0]], [0, 1])
