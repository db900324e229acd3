"""Monotonic and interaction constraints, seen from the outside."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from committee import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

both_ways = pytest.mark.parametrize("exact", [False, True])


def make_wavy(n=600, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, size=(n, 3))
    y = np.sin(4 * X[:, 0]) + X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * rng.normal(size=n)
    return X, y


def sweep(predict, X, feature):
    """Predictions for each row of X (first axis) as the feature runs over its range (second axis)."""
    grid = np.linspace(-2.5, 2.5, 60)
    rows = np.repeat(X[:40], len(grid), axis=0)
    rows[:, feature] = np.tile(grid, 40)
    return predict(rows).reshape(40, len(grid))


@both_ways
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("shape", [{}, {"max_leaf_nodes": 30}, {"splitter": "random"}], ids=str)
def test_values_rise_or_fall(exact, sign, shape):
    X, y = make_wavy()
    free = DecisionTreeRegressor(exact=exact, min_samples_leaf=5, random_state=0, **shape).fit(X, y)
    steps = np.diff(sweep(free.predict, X, 0), axis=1)
    assert steps.min() < 0 < steps.max()
    bound = DecisionTreeRegressor(
        exact=exact, min_samples_leaf=5, monotonic_cst=[sign, 0, 0], random_state=0, **shape
    ).fit(X, y)
    assert bound.tree_.node_count > 3
    assert (sign * np.diff(sweep(bound.predict, X, 0), axis=1)).min() >= 0


@both_ways
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_the_probability_of_the_second_class_rises_or_falls(exact, sign, criterion):
    X, y = make_wavy()
    bound = DecisionTreeClassifier(criterion=criterion, exact=exact, min_samples_leaf=5, monotonic_cst=[sign, 0, 0])
    bound.fit(X, y > 0)
    assert bound.tree_.node_count > 3
    second = sweep(lambda rows: bound.predict_proba(rows)[:, 1], X, 0)
    assert (sign * np.diff(second, axis=1)).min() >= 0


def test_constraints_by_name():
    X, y = make_wavy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    by_name = DecisionTreeRegressor(monotonic_cst={"a": 1}, max_depth=6).fit(frame, y)
    by_place = DecisionTreeRegressor(monotonic_cst=[1, 0, 0], max_depth=6).fit(X, y)
    np.testing.assert_array_equal(by_name.predict(frame), by_place.predict(X))
    with pytest.raises(ValueError, match="'z' is not one of them"):
        DecisionTreeRegressor(monotonic_cst={"z": 1}).fit(frame, y)


def test_constraints_that_cannot_be():
    X, y = make_wavy(60)
    with pytest.raises(ValueError, match="multiple outputs"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 0]).fit(X, np.c_[y, y])
    with pytest.raises(ValueError, match="multiclass"):
        DecisionTreeClassifier(monotonic_cst=[1, 0, 0]).fit(X, np.arange(60) % 3)
    with pytest.raises(ValueError, match=r"has shape \(2,\) but the input data X has 3 features"):
        DecisionTreeRegressor(monotonic_cst=[1, 0]).fit(X, y)
    with pytest.raises(ValueError, match="only -1, 0 or 1"):
        DecisionTreeRegressor(monotonic_cst=[1, 0, 2]).fit(X, y)
    frame = pd.DataFrame({"a": X[:, 0], "b": pd.Categorical(list("abc") * 20), "c": X[:, 1]})
    with pytest.raises(ValueError, match="'b' is a category"):
        DecisionTreeRegressor(monotonic_cst=[0, 1, 0]).fit(frame, y)


def list_paths(tree):
    """Sets of features that meet on the way to each leaf."""
    paths, stack = [], [(0, frozenset())]
    while stack:
        node, seen = stack.pop()
        if tree.children_left[node] < 0:
            paths.append(seen)
        else:
            seen = seen | {int(tree.feature[node])}
            stack += [(tree.children_left[node], seen), (tree.children_right[node], seen)]
    return paths


@both_ways
@pytest.mark.parametrize("cls", [DecisionTreeRegressor, ExtraTreeRegressor])
@pytest.mark.parametrize(
    ("constraint", "groups"),
    [
        ("no_interactions", [{0}, {1}, {2}, {3}]),
        ("pairwise", [{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}]),
        ([[0, 1]], [{0, 1}, {2, 3}]),
        ([{0, 1}, {1, 2}, {3}], [{0, 1}, {1, 2}, {3}]),
    ],
    ids=str,
)
def test_features_meet_only_within_groups(exact, cls, constraint, groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 4))
    y = X.sum(axis=1) + X[:, 0] * X[:, 2] + X[:, 1] * X[:, 3]
    free = cls(exact=exact, max_depth=6, random_state=0).fit(X, y)
    bound = cls(exact=exact, max_depth=6, interaction_cst=constraint, random_state=0).fit(X, y)
    assert any(all(not path <= group for group in groups) for path in list_paths(free.tree_))
    assert bound.get_depth() == 6
    assert all(any(path <= group for group in groups) for path in list_paths(bound.tree_))


@pytest.mark.parametrize("constraint", [[[0, 7]], [[-1]], [["a"]], [0, 1], [[True]]], ids=str)
def test_groups_of_features_that_do_not_exist(constraint):
    X, y = make_wavy(60)
    with pytest.raises(ValueError, match="The 'interaction_cst' parameter of DecisionTreeRegressor must hold"):
        DecisionTreeRegressor(interaction_cst=constraint).fit(X, y)


def test_groups_by_name():
    X, y = make_wavy()
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = DecisionTreeRegressor(interaction_cst=[["a"], ["b", "c"]], max_depth=5).fit(frame, y)
    assert all(path <= {0} or path <= {1, 2} for path in list_paths(model.tree_))
    assert all(a <= b for a, b in pairwise(sorted(model.tree_.node_depth)))
