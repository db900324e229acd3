"""R2: bags on moons, as published."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from committee import BaggingClassifier, DecisionTreeClassifier

SEEDS = range(20)
MEMBER = DecisionTreeClassifier(exact=True)  # 375 rows have more values than there are bins


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(n_samples=500, noise=0.30, random_state=42)
    return train_test_split(X, y, random_state=42)


def assert_within_spread(scores, published):
    """The published score lies in the range that seeds give, as it does in scikit-learn 1.9's."""
    print(f"{np.mean(scores):.4f} ± {np.std(scores):.4f} [{min(scores):.4f}, {max(scores):.4f}], published {published}")
    assert min(scores) - 5e-4 <= published <= max(scores) + 5e-4  # published to three places


def test_a_single_tree(moons):
    X, X_test, y, y_test = moons
    trees = [DecisionTreeClassifier(exact=True, random_state=seed).fit(X, y) for seed in SEEDS]
    assert all(tree.score(X, y) == 1.0 for tree in trees)
    assert_within_spread([tree.score(X_test, y_test) for tree in trees], 0.856)


def test_a_bag_of_500_trees_on_100_rows(moons):
    X, X_test, y, y_test = moons
    bags = [BaggingClassifier(MEMBER, n_estimators=500, max_samples=100, random_state=seed).fit(X, y) for seed in SEEDS]
    assert_within_spread([bag.score(X_test, y_test) for bag in bags], 0.904)
    assert_within_spread([bag.score(X, y) for bag in bags], 0.939)


def test_a_bag_of_500_bootstraps(moons):
    X, X_test, y, y_test = moons
    bags = [BaggingClassifier(MEMBER, n_estimators=500, oob_score=True, random_state=seed).fit(X, y) for seed in SEEDS]
    assert_within_spread([bag.oob_score_ for bag in bags], 0.8987)
    assert_within_spread([bag.score(X_test, y_test) for bag in bags], 0.912)
