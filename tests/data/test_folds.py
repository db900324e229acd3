"""Folds: what cannot be split is refused with a sentence about the caller's parameter."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, TimeSeriesSplit
from sklearn.svm import LinearSVC

import committee
from committee.exceptions import CommitteeError, DataError, ParameterError
from committee.inspection import drop_column_importance

X = np.arange(4.0)[:, None]
CLASSIFIERS = {
    "StackingClassifier": {},
    "SuperLearnerClassifier": {},
    "EnsembleSelectionClassifier": {},
    "VotingClassifier": {"weights": "learned"},
}
REGRESSORS = {
    "StackingRegressor": {},
    "SuperLearnerRegressor": {},
    "EnsembleSelectionRegressor": {},
    "VotingRegressor": {"weights": "learned"},
}


def _make(name, cv, member=None):
    kind = committee.DecisionTreeClassifier if name.endswith("Classifier") else committee.DecisionTreeRegressor
    if name.startswith("Committee"):
        return getattr(committee, name)(n_members=1, cv=cv)
    settings = {**CLASSIFIERS, **REGRESSORS}[name]
    return getattr(committee, name)([("member", member or kind())], cv=cv, **settings)


@pytest.mark.parametrize("name", [*CLASSIFIERS, "CommitteeClassifier"])
def test_classes_with_too_few_rows(name):
    said = (
        rf"^n_splits=3 cannot be greater than the number of members in each class. The 'cv' parameter of {name} makes "
        "3 folds, which need 3 rows of at least one class; got 4 rows, at most 2 of a class."
    )
    with pytest.raises(DataError, match=said):
        _make(name, 3).fit(X, list("abab"))


@pytest.mark.parametrize("name", [*REGRESSORS, "CommitteeRegressor"])
def test_too_few_rows(name):
    said = (
        "^Cannot have number of splits n_splits=5 greater than the number of samples: n_samples=4. The 'cv' parameter "
        f"of {name} makes 5 folds, which need 5 rows; got 4 rows."
    )
    with pytest.raises(DataError, match=said):
        _make(name, 5).fit(X, np.arange(4.0))


@pytest.mark.parametrize("name", [*REGRESSORS, "CommitteeRegressor"])
def test_too_few_groups(name):
    with pytest.raises(DataError, match=f"number of groups: 2. The 'cv' parameter of {name} .* got 4 rows, 2 groups"):
        _make(name, 3).fit(X, np.arange(4.0), groups=[0, 0, 1, 1])


@pytest.mark.parametrize("name", [*REGRESSORS, "CommitteeRegressor"])
@pytest.mark.parametrize("splitter", [TimeSeriesSplit(10), GroupKFold(3)])
def test_splitter_that_refuses(name, splitter):
    with pytest.raises(DataError, match=rf"The 'cv' parameter of {name} is {type(splitter).__name__}\("):
        _make(name, splitter).fit(X, np.arange(4.0))


@pytest.mark.parametrize("name", [*REGRESSORS, "CommitteeRegressor"])
@pytest.mark.parametrize("cv", [[5], [(0,)], [(["a"], ["b"])], [([0], [1], [2])], [(0, 1)], [([0.5], [1.5])]])
def test_folds_that_are_no_pairs_of_rows(name, cv):
    with pytest.raises(ParameterError, match=f"The 'cv' parameter of {name} must hold pairs of training and test rows"):
        _make(name, cv).fit(X, np.arange(4.0))


@pytest.mark.parametrize("name", ["CommitteeClassifier", "CommitteeRegressor"])
def test_automl_needs_two_folds(name):
    with pytest.raises(DataError, match="must make at least two folds"):
        _make(name, [([0, 2], [1, 3])]).fit(X, np.array([0, 0, 1, 1]))


def test_one_held_out_fold_is_enough_for_a_stack():
    table, y = np.arange(40.0)[:, None], np.arange(40) % 4 // 2
    stack = _make("StackingClassifier", [(np.arange(20), np.arange(20, 40))]).fit(table, y)
    assert stack.n_meta_rows_ == 20


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_one_class_and_a_member_that_needs_two(name):
    said = "^This solver needs samples of at least 2 classes .* LogisticRegression got . rows, all of one class"
    with pytest.raises(DataError, match=said):
        _make(name, 2, LogisticRegression()).fit(X, list("aaaa"))


def test_one_class_and_a_meta_model_that_needs_two():
    with pytest.raises(DataError, match="LogisticRegression got 4 rows, all of one class, and needs at least two"):
        _make("StackingClassifier", 2).fit(X, list("aaaa"))
    assert set(_make("SuperLearnerClassifier", 2).fit(X, list("aaaa")).predict(X)) == {"a"}


@pytest.mark.parametrize(
    "ensemble", [committee.BaggingClassifier(LogisticRegression()), committee.AdaBoostClassifier(LogisticRegression())]
)
def test_one_class_in_bags_and_boosting(ensemble):
    with pytest.raises(DataError, match=r"LogisticRegression got \d rows, all of one class"):
        ensemble.fit(X, list("aaaa"))


def test_other_errors_of_members_stay_as_they_are():
    with pytest.raises(ValueError, match="Input X contains NaN") as caught:
        _make("StackingClassifier", 2, LogisticRegression()).fit(np.full((4, 1), np.nan), list("abab"))
    assert not isinstance(caught.value, CommitteeError)


def test_calibration_with_too_few_rows_of_a_class():
    vote = committee.VotingClassifier([("svm", LinearSVC())], voting="soft", calibration="sigmoid")
    with pytest.raises(DataError, match=r"^Requesting 5-fold .* which need 5 rows of each class; got 2"):
        vote.fit(X, list("abab"))


def test_arguments_called_cv():
    stack = committee.StackingClassifier([("tree", committee.DecisionTreeClassifier())], cv=2)
    with pytest.raises(DataError, match="The 'cv' argument of measure_leak makes 9 folds"):
        stack.measure_leak(np.arange(8.0)[:, None], list("abab" * 2), cv=9)
    with pytest.raises(DataError, match="The 'cv' argument of drop_column_importance makes 3 folds"):
        drop_column_importance(committee.DecisionTreeClassifier(), np.hstack([X, X]), list("abab"), cv=3)
