"""The stump against a search over every question, and against the lectures' example."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_iris

from committee import DecisionStumpClassifier


def find_best_error(X, y, weights):
    """Smallest weighted error over every feature, threshold and pair of predictions, by brute force."""
    best = min(weights[y != k].sum() for k in np.unique(y))
    for column in X.T:
        for theta in np.unique(column):
            error = 0.0
            for side in (column <= theta, column > theta):
                per_class = [weights[side & (y == k)].sum() for k in np.unique(y)]
                error += sum(per_class) - max(per_class)
            best = min(best, error)
    return best / weights.sum()


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("seed", range(5))
def test_no_question_has_a_smaller_error(n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 3)).round(1)
    y = (np.digitize(X[:, 0] + rng.normal(size=80), [-0.5, 0.2, 0.9]) % n_classes).astype(int)
    weights = rng.integers(1, 9, size=80) / 4.0
    stump = DecisionStumpClassifier().fit(X, y, sample_weight=weights)
    assert stump.error_ == pytest.approx(find_best_error(X, y, weights), abs=1e-12)
    assert weights[stump.predict(X) != y].sum() / weights.sum() == pytest.approx(stump.error_, abs=1e-12)
    binned = DecisionStumpClassifier(exact=False).fit(X, y, sample_weight=weights)
    assert binned.error_ == pytest.approx(stump.error_, abs=1e-12)


def test_the_formula_is_the_prediction():
    X, y = load_breast_cancer(return_X_y=True)
    signs = np.where(y == 1, 1, -1)
    stump = DecisionStumpClassifier().fit(X, signs)
    h = stump.polarity_ * np.where(X[:, stump.feature_] > stump.threshold_, 1, -1)
    np.testing.assert_array_equal(stump.predict(X), h)
    assert stump.error_ == pytest.approx((h != signs).mean())
    assert (stump.left_class_, stump.right_class_) == (-stump.polarity_, stump.polarity_)
    assert stump.get_depth() == 1


def test_ten_points_of_the_lectures_by_hand():
    """[Schapire] toy set on a line: three rounds of AdaBoost with the known thresholds and votes."""
    X = np.arange(10.0)[:, None]
    y = np.array([1, 1, 1, -1, -1, -1, 1, 1, 1, -1])
    weights = np.full(10, 0.1)
    found = []
    for _ in range(3):
        stump = DecisionStumpClassifier().fit(X, y, sample_weight=weights)
        alpha = 0.5 * np.log((1 - stump.error_) / stump.error_)
        weights = weights * np.exp(-alpha * y * stump.predict(X))
        weights /= weights.sum()
        found.append((stump.threshold_, stump.polarity_, round(alpha, 4)))
    assert found == [(2.5, -1, 0.4236), (8.5, -1, 0.6496), (5.5, 1, 0.752)]


def test_without_a_useful_split_the_prediction_is_constant():
    stump = DecisionStumpClassifier().fit([[1.0], [1.0], [1.0]], ["b", "b", "a"])
    assert stump.threshold_ == -np.inf
    assert stump.feature_ == 0
    assert stump.polarity_ == 1
    assert stump.left_class_ == stump.right_class_ == "b"
    assert stump.error_ == pytest.approx(1 / 3)
    np.testing.assert_array_equal(stump.predict([[0.0], [5.0]]), ["b", "b"])


def test_gini_and_several_classes():
    X, y = load_iris(return_X_y=True)
    stump = DecisionStumpClassifier(criterion="gini").fit(X, y)
    assert stump.feature_ in (2, 3)
    assert (stump.left_class_, stump.right_class_, stump.polarity_) == (0, 1, 1)
    assert stump.error_ == pytest.approx(1 / 3)
    assert stump.score(X, y) == pytest.approx(2 / 3)


def test_several_outputs():
    X, y = load_iris(return_X_y=True)
    Y = np.column_stack([y == 0, y > 0])
    stump = DecisionStumpClassifier().fit(X, Y)
    np.testing.assert_array_equal(stump.predict(X), Y)
    np.testing.assert_array_equal(stump.polarity_, [-1, 1])
    np.testing.assert_array_equal(stump.left_class_, [True, False])
    assert stump.error_ == 0.0


def test_a_question_about_a_category():
    frame = pd.DataFrame({"color": ["red", "green", "blue", "green"] * 5})
    stump = DecisionStumpClassifier().fit(frame, [0, 1, 0, 1] * 5)
    assert np.isnan(stump.threshold_)
    assert stump.error_ == 0.0
    assert stump.score(frame, [0, 1, 0, 1] * 5) == 1.0


def test_the_global_generator_is_left_alone():
    X, y = load_iris(return_X_y=True)
    np.random.seed(3)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    DecisionStumpClassifier().fit(X, y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("name", ["feature_", "threshold_", "polarity_", "left_class_", "right_class_", "error_"])
def test_an_unfitted_stump_has_no_question(name):
    assert not hasattr(DecisionStumpClassifier(), name)
