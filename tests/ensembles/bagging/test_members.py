"""Bags of estimators from elsewhere."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier as TheirBag
from sklearn.linear_model import LinearRegression, LogisticRegression, Perceptron
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC

from committee import BaggingClassifier, BaggingRegressor
from committee.base import seed_estimator
from tests.naive.bagging import average_members, vote_out_of_bag


def make_classes(n=150, n_classes=3):
    X, y = make_classification(n, 5, n_informative=4, n_redundant=0, n_classes=n_classes, random_state=0)
    return X, np.array(["a", "b", "c"])[y]


@pytest.mark.parametrize(
    "member", [KNeighborsClassifier(3), LinearDiscriminantAnalysis(), make_pipeline(StandardScaler(), GaussianNB())]
)
def test_members_without_weights_get_their_rows(member):
    X, y = make_classes()
    bag = BaggingClassifier(member, 12, max_samples=0.6, max_features=3, oob_score=True, random_state=0).fit(X, y)
    labels = np.searchsorted(bag.classes_, y)
    for fitted, rows, own in zip(bag.estimators_, bag.estimators_samples_, bag.estimators_features_, strict=True):
        alone = clone(member).fit(X[np.ix_(rows, own)], labels[rows])
        np.testing.assert_allclose(fitted.predict_proba(X[:, own]), alone.predict_proba(X[:, own]), rtol=1e-9)
    np.testing.assert_allclose(
        bag.predict_proba(X), average_members(bag.estimators_, bag.estimators_features_, X), rtol=1e-12
    )
    naive = vote_out_of_bag(bag.estimators_, bag.estimators_samples_, bag.estimators_features_, X)
    np.testing.assert_allclose(bag.oob_decision_function_, naive, rtol=1e-9)


def test_members_with_weights_get_counts():
    X, y = make_classes()
    bag = BaggingClassifier(LogisticRegression(), 6, random_state=0).fit(X, y)
    labels = np.searchsorted(bag.classes_, y)
    for fitted, rows in zip(bag.estimators_, bag.estimators_samples_, strict=True):
        alone = LogisticRegression().fit(X, labels, sample_weight=np.bincount(rows, minlength=len(X)))
        np.testing.assert_array_equal(fitted.coef_, alone.coef_)
    assert not hasattr(BaggingClassifier(KNeighborsClassifier()), "decision_function")
    np.testing.assert_allclose(
        bag.decision_function(X), np.mean([m.decision_function(X) for m in bag.estimators_], axis=0)
    )


def test_members_without_probabilities_vote():
    X, y = make_classes()
    bag = BaggingClassifier(Perceptron(), 11, oob_score=True, random_state=0).fit(X, y)
    votes = np.stack([m.predict(X) for m in bag.estimators_])
    probabilities = np.stack([(votes == k).mean(axis=0) for k in range(3)], axis=1)
    np.testing.assert_allclose(bag.predict_proba(X), probabilities)
    assert bag.score(X, y) > 0.6
    assert len({m.random_state for m in bag.estimators_}) == 11


class OldPerceptron(ClassifierMixin, BaseEstimator):
    """Rosenblatt's rule, two classes, no weights, no probabilities."""

    def __init__(self, epochs=20):
        self.epochs = epochs

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        signs = np.where(y == self.classes_[-1], 1.0, -1.0)
        padded = np.c_[X, np.ones(len(X))]
        self.w_ = np.zeros(padded.shape[1])
        for _ in range(self.epochs):
            for row, sign in zip(padded, signs, strict=True):
                if sign * (row @ self.w_) <= 0:
                    self.w_ += sign * row
        return self

    def predict(self, X):
        return np.where(np.c_[X, np.ones(len(X))] @ self.w_ > 0, self.classes_[-1], self.classes_[0])


def test_averaging_helps_the_old_perceptron():
    X, y = make_classification(400, 6, n_informative=4, flip_y=0.1, random_state=3)
    singles = [
        OldPerceptron().fit(X[:200][rows], y[:200][rows]).score(X[200:], y[200:])
        for rows in np.random.default_rng(0).integers(200, size=(25, 200))
    ]
    bag = BaggingClassifier(OldPerceptron(), 25, random_state=0).fit(X[:200], y[:200])
    assert bag.score(X[200:], y[200:]) > np.mean(singles) + 0.02


def test_a_class_that_a_sample_lacks_gets_no_vote():
    X, y = make_classes(60)
    y[:] = "a"
    y[:3], y[3:33] = "c", "b"
    bag = BaggingClassifier(KNeighborsClassifier(1), 40, random_state=0).fit(X, y)
    assert {len(m.classes_) for m in bag.estimators_} == {2, 3}
    probabilities = bag.predict_proba(X)
    assert probabilities.shape == (60, 3)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    bag = BaggingClassifier(make_pipeline(LinearSVC()), 40, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="lacked a class"):
        bag.decision_function(X)


def test_regressors_of_any_kind():
    X, y = load_diabetes(return_X_y=True)
    for member in (LinearRegression(), KNeighborsRegressor()):
        bag = BaggingRegressor(member, 15, max_features=0.7, oob_score=True, random_state=0).fit(X, y)
        assert 0.3 < bag.oob_score_ < 0.6
        np.testing.assert_allclose(bag.predict(X), average_members(bag.estimators_, bag.estimators_features_, X))


def test_scores_are_those_of_scikit_learns_bag():
    X, y = make_classification(600, 8, n_informative=5, flip_y=0.1, random_state=0)
    for member in (KNeighborsClassifier(), GaussianNB()):
        ours, theirs = (
            [
                Bag(member, 20, max_features=0.5, random_state=s).fit(X[:300], y[:300]).score(X[300:], y[300:])
                for s in range(5)
            ]
            for Bag in (BaggingClassifier, TheirBag)
        )
        assert np.mean(ours) == pytest.approx(np.mean(theirs), abs=0.02)


def test_sparse_tables_reach_the_members():
    X, y = make_classes()
    X[np.abs(X) < 0.7] = 0.0
    for member in (LogisticRegression(), make_pipeline(MaxAbsScaler(), LogisticRegression())):
        dense = BaggingClassifier(member, 20, max_features=3, random_state=0, oob_score=True).fit(X, y)
        thin = BaggingClassifier(member, 20, max_features=3, random_state=0, oob_score=True).fit(
            sparse.csc_matrix(X), y
        )
        np.testing.assert_allclose(
            thin.predict_proba(sparse.csr_matrix(X)), dense.predict_proba(X), rtol=1e-6, atol=1e-9
        )


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_reach_members_that_read_them(library):
    rng = np.random.default_rng(0)
    colors, sizes = rng.choice(["r", "g", "b"], 200).tolist(), rng.normal(size=200).tolist()
    frame = pytest.importorskip(library).DataFrame({"color": colors, "size": sizes})
    y = np.where(np.array(colors) == "g", "yes", "no")
    coder = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["color"]), remainder="passthrough")
    bag = BaggingClassifier(make_pipeline(coder, LogisticRegression()), 30, oob_score=True, random_state=0)
    bag.fit(frame, y)
    assert bag.oob_score_ > 0.95
    assert (bag.predict(frame) == y).all()


def test_members_say_themselves_what_they_cannot_read():
    X, y = make_classes()
    X[0, 0] = np.nan
    with pytest.raises(ValueError, match="NaN"):
        BaggingClassifier(LogisticRegression(), 3).fit(X, y)
    from sklearn.utils import get_tags

    assert not get_tags(BaggingClassifier(LogisticRegression())).input_tags.allow_nan
    assert get_tags(BaggingClassifier()).input_tags.allow_nan


def test_multilabel_members():
    X, _ = make_classes()
    Y = (X[:, :3] > 0).astype(int)
    for member in (KNeighborsClassifier(), MLPClassifier((6,), solver="lbfgs", max_iter=2000)):
        bag = BaggingClassifier(member, 12, oob_score=accuracy_by_row, random_state=0).fit(X, Y)
        assert (bag.predict(X) == Y).mean() > 0.8
        assert len(bag.predict_proba(X)) == 3


def accuracy_by_row(true, predicted):
    return float((true == predicted).all(axis=1).mean())


def test_weights_that_nobody_can_take_are_refused():
    X, y = make_classes()
    weights = np.arange(1.0, 151.0)
    BaggingClassifier(KNeighborsClassifier(), 3, random_state=0).fit(X, y, weights)
    with pytest.raises(ValueError, match="KNeighborsClassifier takes no sample_weight"):
        BaggingClassifier(KNeighborsClassifier(), 3, bootstrap=False, max_samples=50).fit(X, y, weights)


class Keeping(LogisticRegression):
    """Remembers what it was given."""

    def fit(self, X, y, sample_weight=None, note=None):
        self.note_ = note
        self.weight_ = sample_weight
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X, tag=None):
        self.tag_ = tag
        return super().predict_proba(X)


def test_metadata_are_routed_to_members():
    X, y = make_classes()
    with pytest.raises(ValueError, match="enable_metadata_routing=True"):
        BaggingClassifier(Keeping(), 2).fit(X, y, note="x")
    with config_context(enable_metadata_routing=True):
        member = Keeping().set_fit_request(note=True, sample_weight=True).set_predict_proba_request(tag=True)
        bag = BaggingClassifier(member, 3, random_state=0).fit(X, y, note="x")
        assert [m.note_ for m in bag.estimators_] == ["x"] * 3
        assert all(m.weight_.sum() == 150 for m in bag.estimators_)
        bag.predict(X, tag="t")
        assert [m.tag_ for m in bag.estimators_] == ["t"] * 3
        plain = BaggingClassifier(Keeping().set_fit_request(note=False), 2)
        with pytest.raises((TypeError, ValueError)):
            plain.fit(X, y, note="x")


def test_seeds_reach_what_members_are_made_of():
    pipe = make_pipeline(StandardScaler(), Perceptron())
    one, two = (seed_estimator(clone(pipe), 0, k).get_params()["perceptron__random_state"] for k in (1, 2))
    assert one != two
    assert one == seed_estimator(clone(pipe), 0, 1).get_params()["perceptron__random_state"]
    assert seed_estimator(LinearRegression(), 0, 1).get_params() == LinearRegression().get_params()
