"""Ensemble selection and super learners: weights of members from their out-of-fold predictions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, make_multilabel_classification
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import balanced_accuracy_score, log_loss, mean_squared_error, r2_score, roc_auc_score
from sklearn.model_selection import KFold, StratifiedKFold, TimeSeriesSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import LinearSVC

from committee import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    RandomForestClassifier,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
)
from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.selection import select_greedily
from committee.exceptions import CommitteeError
from tests.naive.selection import select_naively

CANCER = tuple(part[:200] for part in load_breast_cancer(return_X_y=True))
DIABETES = tuple(part[:200] for part in load_diabetes(return_X_y=True))
MEMBERS = [("nb", GaussianNB()), ("tree", DecisionTreeClassifier(max_depth=2)), ("deep", DecisionTreeClassifier())]
VALUES = [("ols", LinearRegression()), ("knn", KNeighborsRegressor(7)), ("tree", DecisionTreeRegressor(max_depth=3))]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_init", [0, 1, 3])
def test_greedy_selection_is_that_of_the_paper(seed: int, n_init: int) -> None:
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(30, 1))
    predictions = truth + rng.normal(size=(5, 30, 1)) * rng.uniform(0.5, 2.0, size=(5, 1, 1))

    def score(mean: Any) -> float:
        return -float(((mean - truth) ** 2).mean())

    np.testing.assert_array_equal(
        select_greedily(predictions, score, 8, n_init), select_naively(predictions, score, 8, n_init)
    )


def solve(objective: Any, n_members: int) -> Any:
    """The same problem by a general solver."""
    sums_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1.0}
    start, options = np.full(n_members, 1.0 / n_members), {"ftol": 1e-13, "maxiter": 500}
    bounds = [(0.0, 1.0)] * n_members
    return minimize(objective, start, bounds=bounds, constraints=sums_to_one, method="SLSQP", options=options)


@pytest.mark.parametrize("seed", range(6))
def test_weights_are_those_of_a_general_solver(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n_members, n_classes = int(rng.integers(2, 7)), int(rng.integers(2, 5))
    y_true = np.eye(n_classes)[rng.integers(0, n_classes, size=150)]
    raw = [np.exp(rng.normal(size=y_true.shape) + y_true * rng.uniform(0, 3)) for _ in range(n_members)]
    predictions = [r / r.sum(axis=1, keepdims=True) for r in raw]
    counts = rng.integers(1, 4, size=150).astype(float)

    def mix(w: Any) -> Any:
        return np.einsum("m,mrc->rc", w, np.stack(predictions))

    for fit_weights, objective in (
        (fit_convex_weights_log_loss, lambda w: -counts @ np.log((mix(w) * y_true).sum(axis=1)) / counts.sum()),
        (fit_convex_weights_squared_error, lambda w: counts @ ((mix(w) - y_true) ** 2).sum(axis=1) / counts.sum()),
    ):
        found, expected = fit_weights(predictions, y_true, counts), solve(objective, n_members)
        assert objective(found) <= expected.fun + 1e-8
        np.testing.assert_allclose(found.sum(), 1.0)
        assert found.min() >= 0.0
        repeated = np.repeat(np.arange(150), counts.astype(int))
        np.testing.assert_allclose(fit_weights([a[repeated] for a in predictions], y_true[repeated]), found, atol=1e-6)
        np.testing.assert_allclose(fit_weights(predictions, y_true, counts * 7.0), found, atol=1e-9)


def test_members_that_are_alike_and_members_that_are_perfect() -> None:
    y_true = np.eye(2)[[0, 1, 1, 0, 1]]
    hazy = np.clip(y_true, 0.2, 0.8)
    for fit_weights in (fit_convex_weights_log_loss, fit_convex_weights_squared_error):
        twins = fit_weights([hazy, hazy], y_true)
        np.testing.assert_allclose(twins.sum(), 1.0)
        np.testing.assert_allclose(fit_weights([y_true, hazy], y_true), [1.0, 0.0], atol=1e-6)
        np.testing.assert_allclose(fit_weights([y_true, y_true], y_true), [0.5, 0.5], atol=1e-6)
        np.testing.assert_allclose(fit_weights([hazy], y_true), [1.0])


def test_a_super_learner_is_the_best_mixture_of_cross_validated_predictions() -> None:
    X, y = CANCER
    learner = SuperLearnerClassifier(MEMBERS, random_state=0).fit(X, y)
    probabilities = [cross_val_predict(m, X, y, method="predict_proba") for _, m in MEMBERS[:2]]
    np.testing.assert_allclose(learner.cv_risks_["nb"], log_loss(y, np.clip(probabilities[0], 1e-15, 1)), rtol=1e-6)
    assert learner.cv_risk_ <= min(learner.cv_risks_.values()) + 1e-12
    mean = sum(w * m.predict_proba(X) for w, m in zip(learner.weights_, learner.estimators_, strict=True))
    np.testing.assert_allclose(learner.predict_proba(X), mean)
    np.testing.assert_array_equal(learner.predict(X), learner.classes_[mean.argmax(axis=1)])
    values = SuperLearnerRegressor(VALUES).fit(*DIABETES)
    predicted = cross_val_predict(LinearRegression(), *DIABETES, cv=KFold(5))
    np.testing.assert_allclose(values.cv_risks_["ols"], mean_squared_error(DIABETES[1], predicted))
    assert values.cv_risk_ <= min(values.cv_risks_.values()) + 1e-9


def test_a_discrete_super_learner_is_its_best_member() -> None:
    learner = SuperLearnerRegressor(VALUES, discrete=True).fit(*DIABETES)
    best = min(learner.cv_risks_, key=learner.cv_risks_.get)
    np.testing.assert_array_equal(learner.predict(DIABETES[0]), learner.named_estimators_[best].predict(DIABETES[0]))
    assert SuperLearnerClassifier(MEMBERS, discrete=True, loss="squared_error").fit(*CANCER).weights_.max() == 1.0


@pytest.mark.parametrize("metric", [None, "roc_auc", "neg_log_loss", "accuracy", balanced_accuracy_score])
def test_selection_by_any_metric(metric: Any) -> None:
    X, y = CANCER
    chosen = EnsembleSelectionClassifier(MEMBERS, metric=metric, n_bags=1, random_state=0).fit(
        X, np.array(["b", "m"])[y]
    )
    assert chosen.cv_score_ >= max(chosen.cv_scores_.values())
    assert chosen.score(X, np.array(["b", "m"])[y]) > 0.9
    if metric == "roc_auc":
        probabilities = cross_val_predict(GaussianNB(), X, y, method="predict_proba", cv=StratifiedKFold(5))
        np.testing.assert_allclose(chosen.cv_scores_["nb"], roc_auc_score(y, probabilities[:, 1]))


def test_bags_of_selections_share_the_weight() -> None:
    one = EnsembleSelectionRegressor(VALUES, n_bags=1, random_state=0).fit(*DIABETES)
    many = EnsembleSelectionRegressor(VALUES, n_bags=30, bag_fraction=0.7, random_state=0).fit(*DIABETES)
    np.testing.assert_allclose([one.weights_.sum(), many.weights_.sum()], 1.0)
    assert np.count_nonzero(many.weights_) >= np.count_nonzero(one.weights_)
    again = EnsembleSelectionRegressor(VALUES, n_bags=30, bag_fraction=0.7, random_state=0).fit(*DIABETES)
    np.testing.assert_array_equal(many.weights_, again.weights_)
    noise = [("good", Ridge()), *((f"noise{k}", KNeighborsRegressor(1)) for k in range(3))]
    assert EnsembleSelectionRegressor(noise, n_bags=1).fit(*DIABETES).weights_[0] > 0.6


def test_members_without_weight_do_not_predict() -> None:
    class Mute(KNeighborsRegressor):  # type: ignore[misc]
        def predict(self, X: Any) -> Any:
            if getattr(self, "is_whole", False):
                raise AssertionError("a member of weight zero has predicted")
            return np.full(len(X), 1e6)

    learner = SuperLearnerRegressor([("ols", LinearRegression()), ("mute", Mute())]).fit(*DIABETES)
    learner.estimators_[1].is_whole = True
    assert learner.weights_.tolist() == [1.0, 0.0]
    assert learner.predict(DIABETES[0]).shape == (200,)


@pytest.mark.parametrize("cls", [SuperLearnerClassifier, EnsembleSelectionClassifier], ids=lambda c: c.__name__)
def test_other_folds_targets_and_bags(cls: Any) -> None:
    X, y = load_iris(return_X_y=True)
    members = [("nb", GaussianNB()), ("forest", RandomForestClassifier(30))]
    for params in ({"cv": "oob"}, {"refit": False}, {"cv": 3, "n_jobs": 2}):
        model = cls(members, random_state=0, **params).fit(X, y)
        assert model.score(X, y) > 0.9
    assert len(cls(members, refit=False, random_state=0).fit(X, y).estimators_[0].models) == 5
    table, labels = make_multilabel_classification(150, n_classes=3, random_state=0)
    several = cls([*members, ("lr", LogisticRegression(max_iter=300))], random_state=0).fit(table, labels)
    assert several.predict(table).shape == labels.shape
    assert len(several.predict_proba(table)) == 3
    with pytest.raises(CommitteeError, match="does not implement the method predict_proba"):
        cls([("svc", LinearSVC())]).fit(X, y)


def test_weights_of_rows_count() -> None:
    X, y = DIABETES
    weights = np.random.default_rng(0).integers(1, 4, size=len(y))
    members = [VALUES[0], VALUES[2]]
    for cls in (SuperLearnerRegressor, EnsembleSelectionRegressor):
        plain, weighted = cls(members, random_state=0).fit(X, y), cls(members, random_state=0).fit(X, y, weights)
        assert not np.allclose(plain.predict(X), weighted.predict(X))
    with pytest.raises(CommitteeError, match="which it has to count"):
        EnsembleSelectionRegressor(members, metric=lambda true, predicted: 0.0).fit(X, y, weights)
    by_name = EnsembleSelectionRegressor(members, metric="r2", random_state=0).fit(X, y, weights)
    by_function = EnsembleSelectionRegressor(members, metric=r2_score, random_state=0).fit(X, y, weights)
    np.testing.assert_array_equal(by_name.predict(X), by_function.predict(X))
    timely = SuperLearnerRegressor(members, cv=TimeSeriesSplit(4)).fit(X, y)
    assert timely.cv_risk_ <= min(timely.cv_risks_.values()) + 1e-9


def test_a_metric_that_is_none() -> None:
    with pytest.raises(CommitteeError, match="The 'metric' parameter must be"):
        EnsembleSelectionClassifier(MEMBERS, metric="beauty").fit(*CANCER)
