"""What ensembles use of a tree learner."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from committee import DecisionStumpClassifier, DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier
from committee.learners.training_arrays import make_training_arrays, target_attributes
from committee.learners.tree_rows import apply_trees, label_rows, predict_trees


def test_a_tree_is_grown_without_fitting_the_estimator():
    X, y = load_iris(return_X_y=True)
    tree = ExtraTreeClassifier(max_depth=4)
    dataset, weights = tree.take_in(X, y), np.arange(1.0, 151.0)
    trees, importances = tree.grow_tree(dataset, weights, seed=3, tree=5)
    with pytest.raises(NotFittedError, match="This ExtraTreeClassifier instance is not fitted yet"):
        tree.fitted_trees()
    fitted = ExtraTreeClassifier(max_depth=4).fit_dataset(dataset, weights, seed=3, tree=5)
    assert fitted.fitted_trees().nodes.tobytes() == trees.nodes.tobytes()
    np.testing.assert_array_equal(fitted.feature_importances_, importances / importances.sum())
    held = tree.hold_tree(trees, importances, dataset.schema, target_attributes(dataset.target))
    np.testing.assert_array_equal(held.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize("exact", [False, True])
def test_training_arrays_are_the_engines_arguments(exact):
    X, y = load_iris(return_X_y=True)
    dataset = DecisionTreeClassifier().take_in(X, y)
    arrays = make_training_arrays(dataset, 255, exact=exact, n_jobs=1)
    assert arrays.n_classes == [3]
    assert arrays.values is None
    assert (arrays.presort is not None) == exact
    np.testing.assert_array_equal(arrays.labels[:, 0], y)
    assert make_training_arrays(dataset, 255, exact=exact, n_jobs=1).bins is arrays.bins
    X, y = load_diabetes(return_X_y=True)
    arrays = make_training_arrays(DecisionTreeRegressor().take_in(X, y), 255, exact=exact, n_jobs=1)
    assert arrays.labels is None
    assert arrays.n_classes == []
    np.testing.assert_array_equal(arrays.values[:, 0], y)


def test_sparse_rows_are_predicted_as_dense_ones(monkeypatch):
    monkeypatch.setattr("committee.data.rows._DENSE_VALUES", 40)  # ten rows a block
    X, y = load_iris(return_X_y=True)
    trees = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y).fitted_trees()
    rows = sparse.csr_matrix(X)
    np.testing.assert_array_equal(predict_trees(trees, rows, "mean", 1), predict_trees(trees, X, "mean", 1))
    np.testing.assert_array_equal(apply_trees(trees, rows, 1), apply_trees(trees, X, 1))
    np.testing.assert_array_equal(label_rows(trees, rows, 1), label_rows(trees, X, 1))


def test_settings_include_what_a_class_fixes():
    assert DecisionStumpClassifier().tree_settings().max_depth == 1
    settings = DecisionTreeRegressor(min_samples_leaf=3).tree_settings()
    assert (settings.owner, settings.min_samples_leaf, settings.max_depth) == ("DecisionTreeRegressor", 3, None)
    assert DecisionTreeRegressor().task == "regress"
    assert DecisionTreeClassifier().task == "classify"
