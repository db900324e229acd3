"""Arcing: Breiman's two forms, beside their formulas."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, make_moons
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import (
    ArcingClassifier,
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
)
from committee.exceptions import CommitteeError


@pytest.mark.parametrize("method", ["resample", "reweight"])
@pytest.mark.parametrize("member", [DecisionTreeClassifier(max_depth=2), GaussianNB()])
def test_arc_x4_weighs_by_mistakes(method, member):
    X, y = load_iris(return_X_y=True)
    start = np.random.default_rng(0).integers(0, 3, len(y))
    model = ArcingClassifier(member, n_estimators=12, method=method, keep_sample_weights=True, random_state=0)
    model.fit(X, y, sample_weight=start)
    mistakes = np.zeros(len(y))
    for weights, own in zip(model.sample_weights_trace_, model.estimators_, strict=True):
        expected = start * (1.0 + mistakes**4)
        np.testing.assert_allclose(weights, expected / expected.sum(), rtol=1e-12)
        mistakes += own.predict(X) != y
    votes = np.stack([own.predict(X) for own in model.estimators_], axis=1)
    fractions = np.stack([(votes == k).mean(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), fractions, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), fractions.round(9).argmax(axis=1))
    assert np.abs(model.margins(X, y)).max() <= 1.0 + 1e-12
    with pytest.raises(CommitteeError, match="No bound"):
        model.training_error_bound()


def test_arc_gv_raises_the_smallest_margin():
    X, y = make_moons(100, noise=0.1, random_state=0)
    stump = DecisionStumpClassifier()
    arc = ArcingClassifier(stump, n_estimators=400, algorithm="arc-gv", method="reweight").fit(X, y)
    smallest = np.array([margins.min() for margins in arc.staged_margins(X, y)])
    assert arc.score(X, y) == 1.0
    assert smallest[-1] > smallest[200] > smallest[100] > 0.0
    errors = 1.0 - np.array(list(arc.staged_score(X, y)))
    assert (errors <= arc.training_error_bound() + 1e-12).all()


def test_arc_gv_votes_by_its_formula():
    X, y = make_moons(100, noise=0.1, random_state=1)
    model = ArcingClassifier(
        DecisionStumpClassifier(),
        n_estimators=30,
        algorithm="arc-gv",
        method="reweight",
        keep_sample_weights=True,
    ).fit(X, y)
    D, f, total = np.full(100, 0.01), np.zeros(100), 0.0
    for t, own in enumerate(model.estimators_):
        np.testing.assert_allclose(model.sample_weights_trace_[t], D, rtol=1e-7)
        agree = np.where(own.predict(X) == y, 1.0, -1.0)
        gamma = (D * agree).sum()
        rho = max(0.0, (f / total).min()) if total else 0.0
        alpha = 0.5 * np.log((1 + gamma) / (1 - gamma)) - 0.5 * np.log((1 + rho) / (1 - rho))
        np.testing.assert_allclose(model.estimator_weights_[t], alpha, rtol=1e-6)
        f, total = f + alpha * agree, total + alpha
        D = D * np.exp(-alpha * agree)
        D = D / D.sum()


@pytest.mark.parametrize("algorithm", ["arc-x4", "arc-gv"])
def test_any_member_and_refusals(algorithm):
    X, y = load_breast_cancer(return_X_y=True)
    model = ArcingClassifier(KNeighborsClassifier(3), n_estimators=5, algorithm=algorithm, random_state=0).fit(X, y)
    assert model.score(X, y) > 0.9
    with pytest.raises(CommitteeError, match="must be a classifier"):
        ArcingClassifier(DecisionTreeRegressor(), algorithm=algorithm).fit(X, y)
    if algorithm == "arc-gv":
        with pytest.raises(CommitteeError, match="for two classes"):
            ArcingClassifier(algorithm=algorithm).fit(*load_iris(return_X_y=True))
