"""Thresholds that are tuned out of bag or in folds."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.metrics import balanced_accuracy_score, f1_score
from sklearn.model_selection import cross_val_predict

from committee import GradientBoostingClassifier, RandomForestClassifier
from committee.exceptions import DataError, ParameterError
from committee.search import TunedThreshold

X, Y = make_classification(800, 8, weights=[0.9], flip_y=0.1, random_state=0)
FOREST = RandomForestClassifier(n_estimators=50, random_state=0)


def test_out_of_bag_the_score_is_that_of_the_out_of_bag_predictions() -> None:
    model = TunedThreshold(FOREST, cv="oob").fit(X[:500], Y[:500])
    shares = model.estimator_.oob_decision_function_[:, 1]
    assert model.best_score_ == balanced_accuracy_score(Y[:500], shares >= model.best_threshold_)
    assert model.best_score_ >= balanced_accuracy_score(Y[:500], shares >= 0.5)
    usual = FOREST.fit(X[:500], Y[:500])
    np.testing.assert_array_equal(model.predict_proba(X), usual.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), usual.predict_proba(X)[:, 1] >= model.best_threshold_)
    assert model.best_threshold_ < 0.4  # one row in ten is of the second class


def test_in_folds_the_score_is_that_of_the_out_of_fold_predictions() -> None:
    boosting = GradientBoostingClassifier(n_estimators=20, random_state=0)
    names = np.array(["no", "yes"])[Y]
    model = TunedThreshold(boosting, scoring="f1_macro", cv=3, thresholds=20).fit(X, names)
    shares = cross_val_predict(boosting, X, names, cv=3, method="predict_proba")[:, 1]
    found = f1_score(Y, shares >= model.best_threshold_, average="macro")
    assert model.best_score_ == pytest.approx(found)
    assert len(model.cv_results_["thresholds"]) == 21
    assert set(model.predict(X)) == {"no", "yes"}


def test_rows_of_weight_zero_are_absent() -> None:
    weights = (np.arange(800) < 600) * 1.0
    some = TunedThreshold(FOREST, cv=3).fit(X, Y, sample_weight=weights)
    rest = TunedThreshold(FOREST, cv=3).fit(X[:600], Y[:600])
    assert some.best_threshold_ == rest.best_threshold_
    assert some.best_score_ == pytest.approx(rest.best_score_)


def test_what_is_wrong_is_said() -> None:
    with pytest.raises(ParameterError, match="needs a bag or a forest"):
        TunedThreshold(GradientBoostingClassifier(), cv="oob").fit(X, Y)
    with pytest.raises(DataError, match="two classes"):
        TunedThreshold(FOREST).fit(X, np.arange(800) % 3)
    with pytest.raises(NotFittedError):
        TunedThreshold(FOREST).predict(X)
