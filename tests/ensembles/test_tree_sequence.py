"""The members of ensembles of trees, as a sequence and one by one."""

import gc
import pickle
import weakref

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression

from committee import (
    BaggingClassifier,
    BaggingRegressor,
    DecisionTreeClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from committee.ensembles.shared_bins import can_share_bins, take_in_for_members


@pytest.mark.parametrize("ensemble", [RandomForestClassifier(4, random_state=0), BaggingClassifier(None, 4)])
def test_members_are_a_sequence_of_fitted_trees(ensemble):
    X, y = load_iris(return_X_y=True)
    members = clone(ensemble).fit(X, y).estimators_
    assert len(members) == 4
    assert repr(members) == "<4 members: DecisionTreeClassifier>"
    assert [type(member) for member in members[1:3]] == [DecisionTreeClassifier] * 2
    np.testing.assert_array_equal(members[-1].predict_proba(X), members[3].predict_proba(X))
    with pytest.raises(IndexError):
        members[4]


@pytest.mark.parametrize(
    "ensemble",
    [
        RandomForestClassifier(5, random_state=0),
        BaggingClassifier(None, 5, random_state=0),
        BaggingClassifier(LogisticRegression(), 5, max_features=2, random_state=0),
    ],
)
def test_the_mean_of_the_members_is_the_prediction(ensemble):
    X, y = load_iris(return_X_y=True)
    ensemble = clone(ensemble).fit(X, y)
    by_member = ensemble.predict_members(X)
    assert [found.shape for found in by_member] == [(150, 3)] * 5
    np.testing.assert_allclose(np.mean(by_member, axis=0), ensemble.predict_proba(X), rtol=1e-12)


def test_members_of_a_bag_predict_categories():
    X, y = load_diabetes(return_X_y=True)
    frame = pd.DataFrame({"x": X[:, 2], "sex": pd.Categorical(np.where(X[:, 1] > 0, "f", "m"))})
    bag = BaggingRegressor(None, 3, random_state=0).fit(frame, y)
    by_member = bag.predict_members(frame)
    np.testing.assert_allclose(np.mean(by_member, axis=0)[:, 0], bag.predict(frame), rtol=1e-12)


def test_only_trees_fitted_by_the_library_share_bins():
    class OwnFit(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None, check_input=True):
            return super().fit(X, y)

    assert can_share_bins(DecisionTreeClassifier(), "classify")
    assert not can_share_bins(DecisionTreeClassifier(), "regress")
    assert not can_share_bins(OwnFit(), "classify")
    assert not can_share_bins(LogisticRegression(), "classify")


def test_members_that_share_no_bins_get_the_table_itself():
    frame = pd.DataFrame({"x": [1.0, np.inf], "c": pd.Categorical(["a", "b"])})
    owner = BaggingClassifier()
    assert take_in_for_members(owner, None, frame, [0, 1], None, task="classify").X is frame
    dataset = take_in_for_members(owner, DecisionTreeClassifier(), frame[["c"]], [0, 1], None, task="classify")
    np.testing.assert_array_equal(dataset.X, [[0.0], [1.0]])


@pytest.mark.parametrize("cls", [RandomForestClassifier, IsolationForest])
def test_a_member_is_one_object_while_it_is_in_use(cls):
    X, y = load_iris(return_X_y=True)
    forest = cls(n_estimators=3, warm_start=True, random_state=0).fit(X, y)
    first, last = forest.estimators_[0], forest[-1]
    assert forest.estimators_[0] is first is next(iter(forest))
    forest.set_params(n_estimators=5).fit(X, y)
    assert forest.estimators_[0] is first
    assert forest.estimators_[2] is last
    assert forest.estimators_[4] is not last
    again = pickle.loads(pickle.dumps(forest))
    assert again.estimators_[0] is not first
    forest.set_params(warm_start=False).fit(X[:100], y[:100])
    assert forest.estimators_[0] is not first


def test_members_that_are_not_in_use_take_no_memory():
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    gone = weakref.ref(forest.estimators_[0])
    gc.collect()
    assert gone() is None


def test_members_of_bags_are_objects_too():
    X, y = load_iris(return_X_y=True)
    bag = BaggingClassifier(None, 3, random_state=0).fit(X, y)
    first = bag.estimators_[0]
    assert bag.estimators_[0] is first


def test_rows_that_a_member_draws():
    X, y = load_iris(return_X_y=True)
    assert RandomForestClassifier(2, max_samples=0.5).fit(X, y)._n_samples_bootstrap == 75
    assert RandomForestClassifier(2, bootstrap=False).fit(X, y)._n_samples_bootstrap is None
    assert BaggingClassifier(None, 2, max_samples=40).fit(X, y)._max_samples == 40
    assert IsolationForest(n_estimators=2, max_samples=30).fit(X)._max_samples == 30
