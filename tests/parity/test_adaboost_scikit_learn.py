"""SAMME on exact stumps is scikit-learn's AdaBoostClassifier, round by round: same stumps, same weights."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import AdaBoostClassifier as OtherAdaBoost
from sklearn.tree import DecisionTreeClassifier as OtherTree

from committee import AdaBoostClassifier, DecisionStumpClassifier
from tests.parity.data_sets import load_data_set

N_ROUNDS = 50
MOST_ROWS = 4000
BUNDLED = {"breast cancer": load_breast_cancer, "wine": load_wine}
STORED = ["spambase", "pima_diabetes", "sonar", "ionosphere", "vowel", "letter", "higgs_7500", "dna"]


class TracedTree(OtherTree):
    """Remembers the weights that it was fitted on."""

    def fit(self, X, y, sample_weight=None, check_input=True):
        self.weights_ = sample_weight.copy()
        return super().fit(X, y, sample_weight=sample_weight)


def read(name):
    if name in BUNDLED:
        X, y = BUNDLED[name](return_X_y=True)
    else:
        table = load_data_set(name)
        X, y = table.filled, table.y
    # scikit-learn's trees read float32.
    return np.ascontiguousarray(X[:MOST_ROWS], dtype=np.float32), y[:MOST_ROWS]


@pytest.mark.parametrize("learning_rate", [1.0, 0.5])
@pytest.mark.parametrize("name", [*BUNDLED, *STORED])
def test_every_round_is_the_same(name, learning_rate):
    if learning_rate != 1.0 and name not in BUNDLED:
        return
    X, y = read(name)
    other = OtherAdaBoost(TracedTree(max_depth=1), n_estimators=N_ROUNDS, learning_rate=learning_rate, random_state=0)
    other.fit(X, y)
    stump = DecisionStumpClassifier(criterion="gini", exact=True)
    ours = AdaBoostClassifier(stump, n_estimators=N_ROUNDS, learning_rate=learning_rate, keep_sample_weights=True).fit(
        X, y
    )
    n_rounds = len(other.estimators_)
    assert len(ours.estimators_) == n_rounds
    np.testing.assert_allclose(ours.estimator_weights_, other.estimator_weights_[:n_rounds], atol=1e-10)
    np.testing.assert_allclose(ours.estimator_errors_, other.estimator_errors_[:n_rounds], atol=1e-10)
    for t, (mine, theirs) in enumerate(zip(ours.estimators_, other.estimators_, strict=True)):
        np.testing.assert_allclose(ours.sample_weights_trace_[t], theirs.weights_, atol=1e-10)
        assert mine.feature_ == theirs.tree_.feature[0]
        np.testing.assert_allclose(mine.threshold_, theirs.tree_.threshold[0], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(ours.predict(X), other.predict(X))
    np.testing.assert_allclose(ours.decision_function(X), other.decision_function(X), atol=1e-12)
    for mine, theirs in zip(ours.staged_decision_function(X), other.staged_decision_function(X), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)
