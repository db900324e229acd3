"""Text and dot against scikit-learn's, character for character."""

import io

import numpy as np
import pytest
import sklearn.tree as reference
from sklearn.datasets import load_diabetes, load_iris
from sklearn.exceptions import NotFittedError

from committee import DecisionTreeClassifier, DecisionTreeRegressor, export_graphviz, export_text

IRIS = load_iris()


def fit_pair(kind, max_depth=3):
    if kind == "values":
        X, y = load_diabetes(return_X_y=True)
        ours, theirs = DecisionTreeRegressor(exact=True), reference.DecisionTreeRegressor(random_state=0)
    elif kind == "several":
        X, y = load_diabetes(return_X_y=True)
        y = np.column_stack([y, -y])
        ours, theirs = DecisionTreeRegressor(exact=True), reference.DecisionTreeRegressor(random_state=0)
    else:
        # Without the petal widths, which tie with the lengths at the root, no two splits are equally good.
        X, y = IRIS.data[:, :3], IRIS.target
        ours, theirs = DecisionTreeClassifier(exact=True), reference.DecisionTreeClassifier(random_state=0)
    return ours.set_params(max_depth=max_depth).fit(X, y), theirs.set_params(max_depth=max_depth).fit(X, y)


TEXT_OPTIONS = [
    {},
    {"spacing": 5, "decimals": 4},
    {"max_depth": 1},
    {"max_depth": 0, "spacing": 1, "decimals": 0},
    {"show_weights": True},
]


@pytest.mark.parametrize("kind", ["classes", "values", "several"])
@pytest.mark.parametrize("options", TEXT_OPTIONS, ids=str)
def test_text_is_scikit_learns(kind, options):
    ours, theirs = fit_pair(kind)
    assert export_text(ours, **options) == reference.export_text(theirs, **options)
    # scikit-learn's trees are shown too, so that the formats can be compared without the trees.
    assert export_text(theirs, **options) == reference.export_text(theirs, **options)


def test_text_with_names():
    ours, theirs = fit_pair("classes")
    names = {"feature_names": IRIS.feature_names[:3], "class_names": IRIS.target_names}
    assert export_text(ours, **names) == reference.export_text(theirs, **names)


def test_text_of_a_whole_tree():
    tree = reference.DecisionTreeClassifier(random_state=1).fit(IRIS.data, IRIS.target)
    assert export_text(tree, max_depth=None) == reference.export_text(tree, max_depth=100)


DOT_OPTIONS = [
    {},
    {"filled": True, "rounded": True, "node_ids": True, "max_depth": 1},
    {"leaves_parallel": True, "rotate": True, "proportion": True, "label": "root"},
    {"filled": True, "impurity": False, "label": "none", "precision": 1},
]


@pytest.mark.parametrize("kind", ["classes", "values", "several"])
@pytest.mark.parametrize("options", DOT_OPTIONS, ids=str)
def test_dot_is_scikit_learns(kind, options):
    _, theirs = fit_pair(kind)
    if kind == "classes":
        options = {**options, "class_names": list(IRIS.target_names), "feature_names": IRIS.feature_names[:3]}
    assert export_graphviz(theirs, **options) == reference.export_graphviz(theirs, **options)


def test_dot_of_our_own_tree():
    ours, _ = fit_pair("classes")
    text = export_graphviz(ours, filled=True, special_characters=True, class_names=True)
    assert text.count("->") == ours.tree_.node_count - 1
    assert "&le;" in text
    assert "label=<x[2] &le; 2.45<br/>gini = 0.667<br/>samples = 150<br/>value = [50, 50, 50]<br/>class = y[0]>" in text


def test_dot_goes_to_a_file(tmp_path):
    ours, _ = fit_pair("classes")
    buffer = io.StringIO()
    assert export_graphviz(ours, buffer) is None
    export_graphviz(ours, tmp_path / "tree.dot")
    assert (tmp_path / "tree.dot").read_text() == buffer.getvalue() == export_graphviz(ours)


def test_quotes_and_angles_in_names_are_escaped():
    ours, _ = fit_pair("classes")
    names = ['say "x"', "a<b", "c&d"]
    assert "c&d <= 2.45" in export_graphviz(ours, feature_names=names)
    assert "c&amp;d &le; 2.45" in export_graphviz(ours, feature_names=names, special_characters=True)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"feature_names": ["a"]}, "feature_names must contain 3 elements, got 1"),
        ({"class_names": ["a"]}, "class_names must name each of the tree's 3 classes; got 1 names"),
        ({"max_depth": -1}, "The 'max_depth' parameter of export_text must be an int >= 0 or None; got -1"),
        ({"spacing": 0}, "The 'spacing' parameter of export_text must be an int >= 1; got 0"),
        ({"decimals": 1.5}, "The 'decimals' parameter of export_text must be an int >= 0; got 1.5"),
    ],
)
def test_what_cannot_be_shown_is_named(options, sentence):
    ours, _ = fit_pair("classes")
    with pytest.raises(ValueError, match=sentence):
        export_text(ours, **options)


def test_an_unknown_label_is_named():
    ours, _ = fit_pair("classes")
    with pytest.raises(ValueError, match="must be one of 'all', 'root', 'none'; got 'some'"):
        export_graphviz(ours, label="some")


@pytest.mark.parametrize("show", [export_text, export_graphviz])
def test_an_unfitted_tree_cannot_be_shown(show):
    with pytest.raises(NotFittedError):
        show(DecisionTreeClassifier())


def test_an_unknown_option_is_refused():
    ours, _ = fit_pair("classes")
    with pytest.raises(TypeError, match=r"export_graphviz\(\) got an unexpected keyword argument 'colour'"):
        export_graphviz(ours, colour="red")
