"""R2: bags on moons, as published."""

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split

from committee import BaggingClassifier, DecisionTreeClassifier

SEEDS = range(10)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(n_samples=500, noise=0.30, random_state=42)
    return train_test_split(X, y, random_state=42)


def assert_within_spread(scores, published):
    """The published score lies in the range that seeds give, give or take one of the 125 test rows.

    Seeds of scikit-learn 1.9 give 0.904 to 0.920 on 100 rows, and 0.896 to 0.920 (out-of-bag 0.893 to 0.901) on full
    bootstraps. Here a tie of two splits goes to the lowest feature in every tree, so that members are a little more
    alike than there.
    """
    print(f"{np.mean(scores):.4f} ± {np.std(scores):.4f} [{min(scores):.4f}, {max(scores):.4f}], published {published}")
    assert min(scores) - 1 / 125 <= published <= max(scores) + 1 / 125


def test_a_single_tree(moons):
    X, X_test, y, y_test = moons
    trees = [DecisionTreeClassifier(random_state=seed).fit(X, y) for seed in SEEDS]
    assert all(tree.score(X, y) == 1.0 for tree in trees)
    assert_within_spread([tree.score(X_test, y_test) for tree in trees], 0.856)


def test_a_bag_of_500_trees_on_100_rows(moons):
    X, X_test, y, y_test = moons
    bags = [BaggingClassifier(n_estimators=500, max_samples=100, random_state=seed).fit(X, y) for seed in SEEDS]
    assert_within_spread([bag.score(X_test, y_test) for bag in bags], 0.904)
    assert_within_spread([bag.score(X, y) for bag in bags], 0.939)


def test_a_bag_of_500_bootstraps(moons):
    X, X_test, y, y_test = moons
    bags = [BaggingClassifier(n_estimators=500, oob_score=True, random_state=seed).fit(X, y) for seed in SEEDS]
    assert_within_spread([bag.oob_score_ for bag in bags], 0.8987)
    assert_within_spread([bag.score(X_test, y_test) for bag in bags], 0.912)
