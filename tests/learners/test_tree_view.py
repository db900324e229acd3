"""`tree_` against scikit-learn's, and against itself."""

import pickle

import numpy as np
import pytest
import sklearn.tree as reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine

from committee import DecisionTreeClassifier, DecisionTreeRegressor

ARRAYS = ["n_node_samples", "weighted_n_node_samples", "impurity", "feature"]


def order_depth_first(tree):
    """Nodes in scikit-learn's order: a node, its left subtree, its right subtree."""
    order, stack = [], [0]
    while stack:
        node = stack.pop()
        order.append(node)
        if tree.children_left[node] >= 0:
            stack += [tree.children_right[node], tree.children_left[node]]
    return np.array(order)


@pytest.fixture(params=["classes", "values", "weighted"])
def pair(request):
    if request.param == "values":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(300, 5))
        y = X @ [3.0, 2.0, 1.0, 0.5, 0.0] + X[:, 0] * X[:, 1]
        shape = {"max_depth": 4, "min_samples_leaf": 10}
        return (
            X,
            DecisionTreeRegressor(exact=True, **shape).fit(X, y),
            reference.DecisionTreeRegressor(random_state=0, **shape).fit(X, y),
        )
    X, y = load_wine(return_X_y=True)
    weights = np.arange(len(y)) % 4 + 0.5 if request.param == "weighted" else None
    shape = {"max_depth": 2}
    ours = DecisionTreeClassifier(exact=True, **shape).fit(X, y, sample_weight=weights)
    return X, ours, reference.DecisionTreeClassifier(random_state=0, **shape).fit(X, y, sample_weight=weights)


def test_arrays_are_scikit_learns(pair):
    _, ours, theirs = pair
    mine, their = ours.tree_, theirs.tree_
    order = order_depth_first(mine)
    for name in ARRAYS:
        assert_allclose(getattr(mine, name)[order], getattr(their, name), rtol=1e-9, atol=1e-12, err_msg=name)
    assert_allclose(mine.threshold[order], their.threshold, rtol=1e-6)
    assert_allclose(mine.value[order], their.value, rtol=1e-9)
    for name in ("node_count", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes"):
        assert getattr(mine, name) == getattr(their, name), name
    assert_array_equal(mine.n_classes, their.n_classes)
    rank = np.empty(len(order), dtype=int)
    rank[order] = np.arange(len(order))
    inner = mine.children_left[order] >= 0
    assert_array_equal(rank[mine.children_left[order][inner]], their.children_left[inner])
    assert_array_equal(rank[mine.children_right[order][inner]], their.children_right[inner])
    assert_array_equal(mine.children_right[order][~inner], -1)


def test_methods_are_scikit_learns(pair):
    X, ours, theirs = pair
    rows = X.astype(np.float32)
    order = order_depth_first(ours.tree_)
    assert_array_equal(ours.tree_.apply(X), order[theirs.tree_.apply(rows)])
    assert_allclose(ours.tree_.predict(X), theirs.tree_.predict(rows))
    assert_array_equal(ours.tree_.decision_path(X).toarray()[:, order], theirs.tree_.decision_path(rows).toarray())
    for normalize in (True, False):
        assert_allclose(
            ours.tree_.compute_feature_importances(normalize),
            theirs.tree_.compute_feature_importances(normalize),
            rtol=1e-9,
            atol=1e-12,
        )
    assert_allclose(ours.feature_importances_, ours.tree_.compute_feature_importances(), rtol=1e-9, atol=1e-12)


def test_children_follow_their_parents(pair):
    tree = pair[1].tree_
    inner = np.flatnonzero(tree.children_left >= 0)
    assert (tree.children_left[inner] > inner).all()
    assert_array_equal(tree.node_depth[tree.children_left[inner]], tree.node_depth[inner] + 1)


def test_a_view_travels(pair):
    tree = pair[1].tree_
    assert tree.value is tree.value
    twin = pickle.loads(pickle.dumps(tree))
    assert_array_equal(twin.threshold, tree.threshold)
    assert repr(twin) == repr(tree)
