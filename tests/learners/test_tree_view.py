"""`tree_` against scikit-learn's, and against itself."""

import pickle

import numpy as np
import pytest
import sklearn.tree as reference
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_wine

from committee import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)

ARRAYS = ["n_node_samples", "weighted_n_node_samples", "impurity", "feature"]


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
    for name in ARRAYS:
        assert_allclose(getattr(mine, name), getattr(their, name), rtol=1e-9, atol=1e-12, err_msg=name)
    assert_allclose(mine.threshold, their.threshold, rtol=1e-6)
    assert_allclose(mine.value, their.value, rtol=1e-9)
    for name in ("node_count", "max_depth", "n_leaves", "n_features", "n_outputs", "max_n_classes"):
        assert getattr(mine, name) == getattr(their, name), name
    assert_array_equal(mine.n_classes, their.n_classes)
    assert_array_equal(mine.children_left, their.children_left)
    assert_array_equal(mine.children_right, their.children_right)


def test_methods_are_scikit_learns(pair):
    X, ours, theirs = pair
    rows = X.astype(np.float32)
    assert_array_equal(ours.tree_.apply(X), theirs.tree_.apply(rows))
    assert_allclose(ours.tree_.predict(X), theirs.tree_.predict(rows))
    assert_array_equal(ours.tree_.decision_path(X).toarray(), theirs.tree_.decision_path(rows).toarray())
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


@pytest.mark.parametrize("shape", [{"max_depth": 3}, {"min_samples_leaf": 7}])
def test_nodes_are_numbered_as_in_scikit_learn(shape):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = X[:, 0] * 3.0 + np.where(X[:, 1] > 0, X[:, 2], 0.1 * X[:, 3])
    ours = DecisionTreeRegressor(exact=True, random_state=0, **shape).fit(X, y)
    theirs = reference.DecisionTreeRegressor(random_state=0, **shape).fit(X, y)
    for name in ("children_left", "children_right", "feature", "n_node_samples"):
        np.testing.assert_array_equal(getattr(ours.tree_, name), getattr(theirs.tree_, name))
    np.testing.assert_array_equal(ours.apply(X), theirs.apply(X))
    np.testing.assert_array_equal(ours.tree_.apply(X), theirs.apply(X))
    assert (ours.decision_path(X) != theirs.decision_path(X)).nnz == 0


def test_a_category_is_found_under_the_number_of_its_node():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(6, size=300), rng.normal(size=300)])
    tree = DecisionTreeRegressor(categorical_features=[0], max_depth=4).fit(X, X[:, 0] % 2 + 0.3 * X[:, 1]).tree_
    assert set(tree.left_categories) == set(np.flatnonzero(tree.feature == 0))


def test_leaves_of_ensembles_have_the_numbers_of_their_trees():
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(4, max_depth=5, random_state=0).fit(X, y)
    boosted = GradientBoostingRegressor(n_estimators=4, random_state=0).fit(X, y)
    for model, members in ((forest, forest.estimators_), (boosted, boosted.estimators_.ravel())):
        leaves = model.apply(X)
        for number, member in enumerate(members):
            np.testing.assert_array_equal(leaves[:, number], member.apply(X))
            assert (member.tree_.children_left[leaves[:, number]] == -1).all()
