"""Single trees of a boosted model."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris

import committee
from committee.inspection import impurity_importance

X, Y = load_diabetes(return_X_y=True)


def test_trees_add_up_to_the_model() -> None:
    model = committee.GradientBoostingRegressor(n_estimators=6, max_leaf_nodes=4, random_state=0).fit(X, Y)
    assert model.estimators_.shape == (model.n_estimators_, 1)
    sums = sum(tree.predict(X) for tree in model.estimators_.ravel())
    start = model.predict(X) - sums
    np.testing.assert_allclose(start, start[0], rtol=1e-9)
    assert [len(row) for row in model.estimators_] == [1] * len(model.estimators_)
    assert np.asarray(model.estimators_).shape == model.estimators_.shape
    assert model.estimators_[-1, 0].get_n_leaves() <= 4
    assert model.estimators_[:2].shape == (2, 1)


def test_trees_of_classes() -> None:
    table, classes = load_iris(return_X_y=True)
    model = committee.GradientBoostingClassifier(n_estimators=3, random_state=0).fit(table, classes)
    assert model.estimators_.shape == (model.n_estimators_, 3)
    together = committee.GradientBoostingClassifier(
        n_estimators=3, multi_strategy="multi_output_tree", random_state=0
    ).fit(table, classes)
    assert together.estimators_.shape == (together.n_estimators_, 1)
    assert together.estimators_[0, 0].predict(table).shape == (150, 3)


def test_a_tree_is_shown_without_what_it_does_not_know() -> None:
    model = committee.GradientBoostingRegressor(n_estimators=2, max_leaf_nodes=3, random_state=0).fit(X, Y)
    tree = model.estimators_[0, 0]
    assert committee.export_text(tree).startswith("|--- feature_")
    shown = committee.export_graphviz(tree)
    assert "samples" in shown
    assert "squared_error" not in shown
    assert np.isnan(tree.feature_importances_).all()
    np.testing.assert_allclose(impurity_importance(model).importances[:, 0], model.feature_importances_)
    with pytest.raises(AttributeError, match="boosting keeps none"):
        _ = tree.tree_.impurity


@pytest.mark.parametrize(
    ("model", "hint"),
    [
        (committee.RandomForestClassifier(3), r"estimators_\[0\]"),
        (committee.GradientBoostingClassifier(n_estimators=2), r"estimators_\[0, 0\]"),
    ],
)
def test_an_ensemble_is_no_tree(model: object, hint: str) -> None:
    fitted = clone(model).fit(X, (Y > 150).astype(int))  # type: ignore[attr-defined]
    for show in (committee.export_text, committee.export_graphviz, committee.plot_tree):
        with pytest.raises(TypeError, match=f"{show.__name__} shows a single tree; got .*{hint}"):
            show(fitted)
