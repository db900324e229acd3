"""Partial dependence, against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import RandomForestRegressor as PeerForest
from sklearn.inspection import partial_dependence as peer_dependence
from sklearn.linear_model import LogisticRegression, Ridge

import committee
from committee.engines import get_engine
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import partial_dependence
from tests.core.random_trees import convert_sklearn

X, Y = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
SMALL = {"n_estimators": 7, "random_state": 0}


def make_models():
    return [
        (committee.RandomForestRegressor(**SMALL).fit(X, Y), X),
        (committee.DecisionTreeRegressor(max_depth=4).fit(X.astype(np.float32), Y), X.astype(np.float32)),
        (committee.DecisionTreeRegressor(max_depth=4).fit(X, np.column_stack([Y, -Y])), X),
        (committee.RandomForestClassifier(**SMALL).fit(X_IRIS, Y_IRIS), X_IRIS),
        (committee.BaggingClassifier(**SMALL).fit(X_IRIS, Y_IRIS == 1), X_IRIS),
        (committee.HistGradientBoostingRegressor(max_iter=7).fit(X, Y), X),
        (committee.HistGradientBoostingClassifier(max_iter=7).fit(X_IRIS, Y_IRIS == 1), X_IRIS),
        (LogisticRegression(max_iter=500).fit(X_IRIS, Y_IRIS == 1), X_IRIS),
        (LogisticRegression(max_iter=500).fit(X_IRIS, Y_IRIS), X_IRIS),
        (Ridge().fit(X, Y), X),
    ]


@pytest.mark.parametrize("features", [2, [0], (2, 3)])
def test_brute_force_is_that_of_scikit_learn(features):
    for model, table in make_models():
        options = {"method": "brute", "kind": "both", "grid_resolution": 6, "percentiles": (0.1, 0.8)}
        mine = partial_dependence(model, table, features, **options)
        wanted = peer_dependence(model, table, np.atleast_1d(features), **options)
        for a, b in zip(mine["grid_values"], wanted["grid_values"], strict=True):
            np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(mine["average"], wanted["average"], rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(mine["individual"], wanted["individual"], rtol=1e-10, atol=1e-12)


def test_weights_are_those_of_scikit_learn():
    model, table = make_models()[0]
    weights = np.random.default_rng(0).random(len(table))
    mine = partial_dependence(model, table, 8, sample_weight=weights, grid_resolution=9)
    wanted = peer_dependence(model, table, [8], sample_weight=weights, grid_resolution=9)
    np.testing.assert_allclose(mine["average"], wanted["average"], rtol=1e-12)


@pytest.mark.parametrize("features", [[2], [2, 8]])
def test_the_traversal_is_the_recursion_of_scikit_learn(features):
    peer = PeerForest(n_estimators=9, max_leaf_nodes=30, random_state=0).fit(X, Y)
    trees = get_engine().testing.build_trees(
        [convert_sklearn(t.tree_, classes=False) for t in peer.estimators_], [], 10
    )
    wanted = peer_dependence(peer, X, features, method="recursion", grid_resolution=12)
    # The peer reads the grid in single precision.
    axes = [axis.astype(np.float32).astype(float) for axis in wanted["grid_values"]]
    points = np.stack([a.ravel() for a in np.meshgrid(*axes, indexing="ij")], axis=1)
    mine = get_engine().average_by_weight(trees, np.array(features, np.uint32), points, "mean", None, None, 1, 1)
    np.testing.assert_allclose(mine.T.reshape(wanted["average"].shape), wanted["average"], rtol=1e-10)


def test_traversal_of_a_lone_feature_is_brute_force():
    """Where all splits are on the asked features, nothing is averaged, so that both methods must agree."""
    model = committee.RandomForestRegressor(**SMALL).fit(X[:, [2, 8]], Y)
    traversed = partial_dependence(model, X[:, [2, 8]], [0, 1], method="traversal", grid_resolution=7)
    brute = partial_dependence(model, X[:, [2, 8]], [0, 1], method="brute", grid_resolution=7)
    np.testing.assert_allclose(traversed["average"], brute["average"], rtol=1e-12)


def test_auto_traverses_where_it_can():
    (model, table), *_ = make_models()
    auto, traversed, brute = (
        partial_dependence(model, table, 2, method=m, grid_resolution=5)["average"]
        for m in ("auto", "recursion", "brute")
    )
    np.testing.assert_array_equal(auto, traversed)
    assert not np.array_equal(auto, brute)


def test_categories_have_a_point_for_each_level():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(["a", "b", "c", None], 300)})
    y = np.where(frame["kind"] == "b", 3.0, 0.0) + frame["size"]
    model = committee.RandomForestRegressor(**SMALL).fit(frame, y)
    for method in ("brute", "traversal"):
        found = partial_dependence(model, frame, "kind", method=method)
        assert found["grid_values"][0].tolist() == ["a", "b", "c"]
        assert found["average"][0].argmax() == 1
    brute = partial_dependence(model, frame, "kind", method="brute", custom_values={"kind": ["c", "b"]})
    wanted = [model.predict(frame.assign(kind=level)).mean() for level in ("c", "b")]
    np.testing.assert_allclose(brute["average"][0], wanted)
    assert partial_dependence(model, frame, ["size", "kind"], grid_resolution=4)["average"].shape == (1, 4, 3)
    with pytest.raises(ParameterError, match="no category 'z'"):
        partial_dependence(model, frame, "kind", custom_values={"kind": ["z"]})


def test_missing_values_are_no_points():
    table = X.copy()
    table[::3, 2] = np.nan
    model = committee.DecisionTreeRegressor(max_depth=5).fit(table, Y)
    found = partial_dependence(model, table, 2, kind="both", grid_resolution=5)
    assert np.isfinite(found["grid_values"][0]).all()
    assert np.isfinite(found["individual"]).all()
    table[:, 2] = np.nan
    with pytest.raises(DataError, match="no value that is not missing"):
        partial_dependence(model, table, 2)


def test_invalid_arguments_are_refused():
    tree, ridge = committee.DecisionTreeRegressor(max_depth=2).fit(X, Y), Ridge().fit(X, Y)
    for options, sentence in [
        ({"features": 10}, "0 to 9"),
        ({"features": [1, 1]}, "each at most once"),
        ({"kind": "some"}, "'kind' argument"),
        ({"method": "magic"}, "'method' argument"),
        ({"method": "recursion", "kind": "both"}, "averages only"),
        ({"method": "traversal", "sample_weight": np.ones(len(X))}, "training weights"),
        ({"grid_resolution": 1}, "'grid_resolution'"),
        ({"percentiles": (0.9, 0.1)}, "two rising numbers"),
        ({"response_method": "predict"}, "'response_method'"),
    ]:
        with pytest.raises(ParameterError, match=sentence):
            partial_dependence(tree, X, **{"features": 0, **options})
    with pytest.raises(ParameterError, match="use method='brute'"):
        partial_dependence(ridge, X, 0, method="recursion")
    with pytest.raises(ParameterTypeError, match="fitted estimator"):
        partial_dependence("tree", X, 0)
    with pytest.raises(DataError, match="one for each of the 442 rows"):
        partial_dependence(tree, X, 0, sample_weight=[1.0])
    both = committee.DecisionTreeClassifier(max_depth=2).fit(X_IRIS, np.column_stack([Y_IRIS, Y_IRIS]))
    with pytest.raises(ParameterError, match="several outputs"):
        partial_dependence(both, X_IRIS, 0)
