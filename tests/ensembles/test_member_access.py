"""`len(ensemble)`, `ensemble[i]` and iteration over the members."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.naive_bayes import GaussianNB

from committee import AdaBoostClassifier, BaggingClassifier, StackingClassifier, VotingClassifier

X = np.random.default_rng(0).normal(size=(60, 3))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
NAMED = [("a", GaussianNB()), ("b", GaussianNB(var_smoothing=0.1))]
ENSEMBLES = [
    BaggingClassifier(n_estimators=2, random_state=0),
    BaggingClassifier(GaussianNB(), n_estimators=2, random_state=0),
    AdaBoostClassifier(n_estimators=2),
    VotingClassifier(NAMED),
    StackingClassifier(NAMED),
]


@pytest.mark.parametrize("ensemble", ENSEMBLES)
def test_members_are_accessed_by_number(ensemble):
    ensemble.fit(X, Y)
    assert len(ensemble) == 2
    assert [type(member) for member in ensemble] == [type(ensemble[0])] * 2
    np.testing.assert_array_equal(ensemble[-1].predict(X), ensemble.estimators_[1].predict(X))
    with pytest.raises(IndexError):
        ensemble[2]


@pytest.mark.parametrize("ensemble", [BaggingClassifier(), AdaBoostClassifier(), VotingClassifier(NAMED)])
def test_unfitted_ensemble_has_no_members_yet_is_true(ensemble):
    assert ensemble
    with pytest.raises((NotFittedError, AttributeError)):
        len(ensemble)
