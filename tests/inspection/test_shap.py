"""Shapley values of estimators, against the shap package and LightGBM."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence as peer_dependence
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor as PeerTree

import committee
from committee.engines import get_engine
from committee.ensembles.boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection import ShapValues, partial_dependence, permutation_importance, shap_values
from tests.core.random_trees import convert_sklearn
from tests.inspection.lightgbm_trees import convert_booster

X, Y = load_diabetes(return_X_y=True)
X_IRIS, Y_IRIS = load_iris(return_X_y=True)
SMALL = {"n_estimators": 7, "random_state": 0}
REGRESSORS = [
    committee.DecisionTreeRegressor(max_depth=5, random_state=0),
    committee.ExtraTreeRegressor(random_state=0),
    committee.RandomForestRegressor(**SMALL),
    committee.ExtraTreesRegressor(max_leaf_nodes=12, **SMALL),
    committee.BaggingRegressor(max_features=0.5, **SMALL),
    committee.HistGradientBoostingRegressor(max_iter=7, random_state=0),
    committee.GradientBoostingRegressor(subsample=0.7, **SMALL),
    committee.GradientBoostingRegressor(boosting="dart", **SMALL),
]
CLASSIFIERS = [
    committee.DecisionTreeClassifier(random_state=0),
    committee.ExtraTreeClassifier(random_state=0),
    committee.DecisionStumpClassifier(),
    committee.RandomForestClassifier(**SMALL),
    committee.ExtraTreesClassifier(**SMALL),
    committee.BaggingClassifier(**SMALL),
]


def name_class(model):
    return type(model).__name__


@pytest.mark.parametrize("model", REGRESSORS, ids=name_class)
def test_values_of_regressors_add_up(model):
    model = clone(model).fit(X, Y)
    for options in ({}, {"background": X[:20]}, {"interactions": True}):
        found = shap_values(model, X[:40], **options)
        assert found.base_values.shape == (40,)
        assert found.shape == ((40, 10, 10) if "interactions" in options else (40, 10))
        np.testing.assert_allclose(found.predictions, model.predict(X[:40]), rtol=1e-12, atol=1e-9)
    assert found.output_names is None


@pytest.mark.parametrize("model", CLASSIFIERS, ids=name_class)
def test_values_of_classifiers_add_up(model):
    model = clone(model).fit(X_IRIS, Y_IRIS)
    for options in ({}, {"background": X_IRIS[::10]}, {"interactions": True}):
        found = shap_values(model, X_IRIS, **options)
        np.testing.assert_allclose(found.predictions, model.predict_proba(X_IRIS), atol=1e-12)
        assert found.output_names == ["0", "1", "2"]
    one = found.of_output(2)
    np.testing.assert_array_equal(one.values, found.values[..., 2])
    np.testing.assert_allclose(one.predictions, model.predict_proba(X_IRIS)[:, 2], atol=1e-12)


def test_values_of_boosted_classes_add_up_to_their_scores():
    models = [
        committee.HistGradientBoostingClassifier(max_iter=7, random_state=0),
        committee.GradientBoostingClassifier(max_depth=3, **SMALL),
    ]
    for model, y in product(models, (Y_IRIS, Y_IRIS == 1)):
        model.fit(X_IRIS, y)
        for options in ({}, {"background": X_IRIS[::10]}, {"interactions": True}):
            found = shap_values(model, X_IRIS, **options)
            np.testing.assert_allclose(found.predictions, model.decision_function(X_IRIS), atol=1e-9)


def test_several_outputs_stand_side_by_side():
    targets = np.column_stack([Y_IRIS, Y_IRIS == 1])
    model = committee.RandomForestClassifier(**SMALL).fit(X_IRIS, targets)
    found = shap_values(model, X_IRIS)
    assert found.output_names == ["0: 0", "0: 1", "0: 2", "1: 0", "1: 1"]
    np.testing.assert_allclose(found.predictions, np.hstack(model.predict_proba(X_IRIS)), atol=1e-12)
    values = committee.DecisionTreeRegressor(max_depth=3).fit(X, np.column_stack([Y, -2 * Y]))
    found = shap_values(values, X)
    np.testing.assert_allclose(found.values[..., 1], -2 * found.values[..., 0], atol=1e-9)


SEVERAL = [
    committee.HistGradientBoostingClassifier(max_iter=5, random_state=0),
    committee.GradientBoostingClassifier(**SMALL),
    committee.GradientBoostingClassifier(multi_strategy="multi_output_tree", **SMALL),
    committee.BaggingClassifier(**SMALL),
    committee.ExtraTreesClassifier(**SMALL),
    committee.DecisionTreeClassifier(max_depth=4, random_state=0),
]


@pytest.mark.parametrize("labels", [True, False])
@pytest.mark.parametrize("model", SEVERAL, ids=name_class)
def test_values_of_several_class_targets_add_up(model, labels):
    targets = np.column_stack([Y_IRIS == 2 if labels else Y_IRIS, Y_IRIS == 1])
    model = clone(model).fit(X_IRIS, targets)
    shares = model.predict_proba(X_IRIS)
    boosted = "Boosting" in name_class(model)
    for options in ({}, {"background": X_IRIS[::10]}, {"interactions": True}):
        found = shap_values(model, X_IRIS, **options)
        for k, (own, classes) in enumerate(zip(shares, model.classes_, strict=True)):
            names = [f"{k}: {label}" for label in classes.tolist()]
            names = names[-1:] if boosted and len(names) == 2 else names
            raw = found.predictions[:, [found.output_names.index(name) for name in names]]
            if boosted:
                raw = expit(raw) if len(names) == 1 else softmax(raw, axis=1)
            np.testing.assert_allclose(raw, own[:, -len(names) :], atol=1e-9)


@pytest.mark.parametrize("several", [[0.1, 0.9], None], ids=["quantiles", "outputs"])
def test_values_of_several_numbers_add_up(several):
    y = Y if several else np.column_stack([Y, np.sqrt(Y)])
    options = {"loss": "quantile", "alpha": several} if several else {}
    model = committee.GradientBoostingRegressor(**options, **SMALL).fit(X, y)
    found = shap_values(model, X[:40])
    np.testing.assert_allclose(found.predictions, model.predict(X[:40]), rtol=1e-12, atol=1e-9)


def test_frames_with_categories_and_missing_values():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "kind": rng.choice(["a", "b", "c", None], 200)})
    frame.loc[::9, "size"] = np.nan
    y = np.where(frame["kind"] == "b", 3.0, 0.0) + np.nan_to_num(frame["size"])
    model = committee.RandomForestRegressor(**SMALL).fit(frame, y)
    found = shap_values(model, frame)
    np.testing.assert_allclose(found.predictions, model.predict(frame), atol=1e-12)
    assert found.feature_names == ["size", "kind"]
    known = frame["kind"].notna().to_numpy()
    assert (found.display_data[known, 1] == frame["kind"][known]).all()
    is_b = (frame["kind"] == "b").to_numpy()
    assert found.values[is_b, 1].min() > found.values[known & ~is_b, 1].max()


def test_the_shap_package_agrees_on_single_trees():
    shap = pytest.importorskip("shap")
    # The package sums up in single precision here and there, so that the size of the target matters.
    peer = PeerTree(max_leaf_nodes=40, random_state=0).fit(X, Y / 100)
    trees = get_engine().testing.build_trees([convert_sklearn(peer.tree_, classes=False)], [], 10)
    rows, engine = X[:50], get_engine()
    explainer = shap.TreeExplainer(peer, feature_perturbation="tree_path_dependent")
    values, base = engine.explain_rows(trees, rows, "mean", None, None, 1, False, 1)
    np.testing.assert_allclose(values[..., 0], explainer.shap_values(rows), atol=1e-6)
    np.testing.assert_allclose(base, explainer.expected_value, atol=1e-6)
    pairs, _ = engine.explain_rows(trees, rows, "mean", None, None, 1, True, 1)
    np.testing.assert_allclose(pairs[..., 0], explainer.shap_interaction_values(rows), atol=1e-6)
    against = shap.TreeExplainer(peer, X[100:130], feature_perturbation="interventional")
    values, base = engine.explain_against(trees, rows, X[100:130], None, "mean", None, None, 1, 1)
    np.testing.assert_allclose(values[..., 0], against.shap_values(rows), atol=1e-6)
    np.testing.assert_allclose(base, against.expected_value, atol=1e-6)


def test_the_shap_package_agrees_on_a_forest_and_plots_its_values():
    shap = pytest.importorskip("shap")
    model = committee.RandomForestRegressor(max_leaf_nodes=12, **SMALL).fit(X, Y)
    trees = [member.tree_ for member in model.estimators_]
    custom = {
        "trees": [
            {
                "children_left": t.children_left,
                "children_right": t.children_right,
                "children_default": np.where(t.missing_go_to_left, t.children_left, t.children_right),
                "features": t.feature,
                "thresholds": t.threshold,
                "values": t.value.reshape(-1, 1) / len(trees),
                "node_sample_weight": t.weighted_n_node_samples,
            }
            for t in trees
        ]
    }
    found = shap_values(model, X)
    explainer = shap.TreeExplainer(custom, feature_perturbation="tree_path_dependent")
    np.testing.assert_allclose(found.values, explainer.shap_values(X), atol=1e-6)
    explanation = found.to_explanation()
    assert isinstance(explanation, shap.Explanation)
    assert explanation.feature_names == found.feature_names


@pytest.mark.parametrize("missing", [False, True])
def test_lightgbm_agrees(missing):
    lightgbm = pytest.importorskip("lightgbm")
    rng = np.random.default_rng(0)
    table = np.column_stack([X, rng.integers(0, 12, len(X))])
    if missing:
        table[rng.random(table.shape) < 0.1] = np.nan
        table[:, 10] = np.nan_to_num(table[:, 10])
    target = (Y > 140).astype(int) + (Y > 200) + (table[:, 10] % 3 == 1)
    model = lightgbm.LGBMClassifier(n_estimators=10, num_leaves=15, min_child_samples=5, verbose=-1)
    model.fit(table, target, categorical_feature=[10])
    trees, slots = convert_booster(model.booster_, 11)
    n_classes = len(model.classes_)
    wanted = model.predict(table, pred_contrib=True).reshape(len(table), n_classes, 12)
    values, base = get_engine().explain_rows(trees, table, "sum", None, slots, n_classes, False, 1)
    np.testing.assert_allclose(values.transpose(0, 2, 1), wanted[..., :11], atol=1e-6)
    np.testing.assert_allclose(np.broadcast_to(base, (len(table), n_classes)), wanted[..., 11], atol=1e-6)


def test_what_cannot_be_explained_is_refused():
    model = committee.DecisionTreeRegressor(max_depth=2).fit(X, Y)
    with pytest.raises(ParameterTypeError, match="made of trees; got GaussianNB"):
        shap_values(GaussianNB(), X)
    with pytest.raises(ParameterTypeError, match="they are of class GaussianNB"):
        shap_values(committee.BaggingClassifier(GaussianNB()).fit(X_IRIS, Y_IRIS), X_IRIS)
    with pytest.raises(committee.exceptions.NotFittedError):
        shap_values(committee.DecisionTreeRegressor(), X)
    with pytest.raises(ParameterError, match="leave 'background' out"):
        shap_values(model, X, background=X, interactions=True)
    with pytest.raises(ParameterError, match="there is none"):
        shap_values(model, X, background_weight=np.ones(3))
    with pytest.raises(DataError, match="each of the 3 rows"):
        shap_values(model, X, background=X[:3], background_weight=[1, -1, 1])
    with pytest.raises(DataError, match="expecting 10 features"):
        shap_values(model, X[:, :4])
    with pytest.raises(ParameterError, match="one output"):
        shap_values(model, X[:2]).of_output(0)
    assert isinstance(shap_values(model, X[:2]), ShapValues)


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_boosted_trees_explain_their_scores(n_classes):
    if n_classes:
        model, table, y = HistGradientBoostingClassifier(max_iter=8), X_IRIS, np.minimum(Y_IRIS, n_classes - 1)
    else:
        model, table, y = HistGradientBoostingRegressor(max_iter=8), X, Y
    model.fit(table, y)
    found = shap_values(model, table)
    assert found.base_values.ndim == (2 if n_classes == 3 else 1)
    scores = model._raw_predict(table)
    np.testing.assert_allclose(found.predictions.reshape(scores.shape), scores, atol=1e-9)
    curves = partial_dependence(model, table, 2, kind="both", grid_resolution=5)
    wanted = peer_dependence(model, table, [2], kind="both", grid_resolution=5)
    np.testing.assert_allclose(curves["individual"], wanted["individual"], atol=1e-9)
    np.testing.assert_allclose(curves["average"], wanted["average"], atol=1e-9)
    assert permutation_importance(model, table, y).baseline == pytest.approx(model.score(table, y))
