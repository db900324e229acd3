"""AdaBoost.R2 equals scikit-learn's given the same samples; the thresholding form is that of its paper."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1, make_regression
from sklearn.ensemble import AdaBoostRegressor as OtherAdaBoost
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor as OtherTree

from committee import AdaBoostRegressor, DecisionStumpClassifier, DecisionTreeRegressor
from committee.ensembles.adaboost.resampling import Resampling
from committee.exceptions import CommitteeError


class SameSamples(np.random.RandomState):
    """Draws the rows that this library draws in its rounds."""

    def __init__(self, seed):
        super().__init__(0)
        self.resampling, self.round = Resampling(seed, 400), 0

    def choice(self, a, size=None, replace=True, p=None):
        counts = self.resampling.draw_counts(np.ascontiguousarray(p), self.round)
        self.round += 1
        return np.repeat(a, counts)


def read():
    # Without ties, which every library breaks in its own way.
    X, y = make_friedman1(400, random_state=0)
    return X.astype(np.float32).astype(np.float64), y


@pytest.mark.parametrize("loss", ["linear", "square", "exponential"])
@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize(
    ("ours", "others"),
    [
        (DecisionTreeRegressor(max_depth=2, exact=True), OtherTree(max_depth=2)),
        (LinearRegression(), LinearRegression()),
        (KNeighborsRegressor(3), KNeighborsRegressor(3)),
    ],
    ids=["tree", "linear", "neighbours"],
)
def test_r2_is_scikit_learns_given_the_same_samples(loss, learning_rate, ours, others):
    X, y = read()
    params = {"n_estimators": 12, "loss": loss, "learning_rate": learning_rate}
    mine = AdaBoostRegressor(ours, random_state=7, keep_sample_weights=True, **params).fit(X, y)
    theirs = OtherAdaBoost(others, random_state=SameSamples(7), **params).fit(X, y)
    n = len(mine.estimators_)
    assert n == len(theirs.estimators_)
    np.testing.assert_allclose(mine.estimator_errors_, theirs.estimator_errors_[:n], rtol=1e-8)
    np.testing.assert_allclose(mine.estimator_weights_, theirs.estimator_weights_[:n], rtol=1e-8)
    np.testing.assert_allclose(mine.predict(X), theirs.predict(X), rtol=1e-8)
    for a, b in zip(mine.staged_predict(X), theirs.staged_predict(X), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-8)
    np.testing.assert_allclose(mine.sample_weights_trace_.sum(axis=1), 1.0)


def test_rt_is_that_of_its_paper():
    X, y = read()
    model = AdaBoostRegressor(
        DecisionTreeRegressor(max_depth=3),
        n_estimators=10,
        algorithm="rt",
        threshold=0.3,
        power=2,
        method="reweight",
        keep_sample_weights=True,
    ).fit(X, y)
    D = np.full(len(y), 1 / len(y))
    for t, member in enumerate(model.estimators_):
        np.testing.assert_allclose(model.sample_weights_trace_[t], D, rtol=1e-9)
        wrong = np.abs(member.predict(X) - y) > 0.3 * np.abs(y)
        error = D[wrong].sum()
        np.testing.assert_allclose(model.estimator_errors_[t], error, rtol=1e-9)
        np.testing.assert_allclose(model.estimator_weights_[t], np.log(1 / error**2), rtol=1e-9)
        D = np.where(wrong, D, D * error**2)
        D = D / D.sum()
    values = np.stack([member.predict(X) for member in model.estimators_], axis=1)
    np.testing.assert_allclose(model.predict(X), np.average(values, axis=1, weights=model.estimator_weights_))
    assert model.score(X, y) > 0.3


@pytest.mark.parametrize("member", [None, LinearRegression(), KNeighborsRegressor(5)])
@pytest.mark.parametrize("method", ["resample", "reweight"])
def test_any_member(member, method):
    X, y = make_regression(300, 5, noise=5.0, random_state=0)
    model = AdaBoostRegressor(member, n_estimators=10, method=method, random_state=0)
    if method == "reweight" and isinstance(member, KNeighborsRegressor):
        with pytest.raises(CommitteeError, match="doesn't support sample_weight"):
            model.fit(X, y)
        return
    model.fit(X, y)
    assert model.score(X, y) > 0.7
    assert list(model.staged_score(X, y))[-1] == pytest.approx(model.score(X, y))
    if member is None:
        np.testing.assert_allclose(model.feature_importances_.sum(), 1.0)


def test_a_perfect_and_a_hopeless_member_end_it():
    X = np.arange(20.0)[:, None]
    model = AdaBoostRegressor(random_state=0, method="reweight").fit(X, np.where(X[:, 0] > 9, 1.0, 0.0))
    assert len(model.estimators_) == 1
    np.testing.assert_array_equal(model.predict(X), np.where(X[:, 0] > 9, 1.0, 0.0))
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 200)
    model = AdaBoostRegressor(DecisionTreeRegressor(max_depth=1), method="reweight").fit(rng.normal(size=(200, 1)), y)
    assert len(model.estimators_) == 1
    assert np.isfinite(model.predict(rng.normal(size=(5, 1)))).all()
    with pytest.raises(CommitteeError, match="must be a regressor"):
        AdaBoostRegressor(DecisionStumpClassifier()).fit(X, X[:, 0])
