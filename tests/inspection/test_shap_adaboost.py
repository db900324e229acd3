"""AdaBoost and arcing as sums of trees: Shapley values, dependence and importance of everything that they decide."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.inspection import partial_dependence as peer_dependence
from sklearn.naive_bayes import GaussianNB

from committee import AdaBoostClassifier, AdaBoostRegressor, ArcingClassifier, DecisionTreeClassifier
from committee import DecisionTreeRegressor as Regressor
from committee.exceptions import ParameterTypeError
from committee.inspection import partial_dependence, permutation_importance, shap_importance, shap_values

X_IRIS, Y_IRIS = load_iris(return_X_y=True)
X, Y = load_diabetes(return_X_y=True)
DEEP = DecisionTreeClassifier(max_depth=3)
SMALL = {"n_estimators": 9, "random_state": 0}
TWO = [AdaBoostClassifier(algorithm=name, **SMALL) for name in ("discrete", "real")] + [
    AdaBoostClassifier(DEEP, algorithm="discrete", learning_rate=0.5, **SMALL),
    AdaBoostClassifier(DEEP, algorithm="discrete", method="resample", **SMALL),
    ArcingClassifier(DecisionTreeClassifier(max_depth=1), algorithm="arc-gv", method="reweight", **SMALL),
]
ANY = [AdaBoostClassifier(algorithm=name, **SMALL) for name in ("samme", "samme.r", "gentle", "logit")] + [
    AdaBoostClassifier(DEEP, algorithm="samme", **SMALL),
    AdaBoostClassifier(DEEP, algorithm="samme.r", learning_rate=0.3, **SMALL),
    AdaBoostClassifier(Regressor(max_depth=3), algorithm="gentle", **SMALL),
    AdaBoostClassifier(Regressor(max_depth=3), algorithm="logit", learning_rate=0.5, **SMALL),
    ArcingClassifier(DecisionTreeClassifier(max_depth=2), **SMALL),
]


def name_case(case):
    return f"{type(case).__name__}-{case.algorithm}"


def fit(model, n_classes):
    # Two of the three kinds that are not parted by one question, so that boosting has something to do.
    return clone(model).fit(X_IRIS, Y_IRIS == 1 if n_classes == 2 else Y_IRIS)


CASES = [(model, 2) for model in TWO + ANY] + [(model, 3) for model in ANY]


@pytest.mark.parametrize(("model", "n_classes"), CASES, ids=lambda c: c if isinstance(c, int) else name_case(c))
def test_values_add_up_to_the_decision(model, n_classes):
    model = fit(model, n_classes)
    wanted = model.decision_function(X_IRIS)
    assert len(model.estimator_weights_) > 1
    for options in ({}, {"background": X_IRIS[::10]}, {"interactions": True}):
        found = shap_values(model, X_IRIS, **options)
        np.testing.assert_allclose(found.predictions, wanted, rtol=0, atol=1e-9)
        assert found.output_names == (None if n_classes == 2 else ["0", "1", "2"])
    assert np.abs(found.values).max() > 0.1


@pytest.mark.parametrize(("model", "n_classes"), CASES, ids=lambda c: c if isinstance(c, int) else name_case(c))
def test_dependence_and_importance_use_the_same_model(model, n_classes):
    model = fit(model, n_classes)
    grid = {"percentiles": (0.05, 0.95), "grid_resolution": 4, "kind": "both"}
    for method in ("predict_proba", "decision_function"):
        found = partial_dependence(model, X_IRIS, 2, method="brute", response_method=method, **grid)
        wanted = peer_dependence(model, X_IRIS, [2], method="brute", response_method=method, **grid)
        np.testing.assert_allclose(found["individual"], wanted["individual"], atol=1e-12)
        np.testing.assert_allclose(found["average"], wanted["average"], atol=1e-12)
    y = Y_IRIS == 1 if n_classes == 2 else Y_IRIS
    assert permutation_importance(model, X_IRIS, y, n_repeats=1).baseline == pytest.approx(model.score(X_IRIS, y))


def test_a_stump_alone_has_the_textbook_values():
    # One stump of weight alpha that predicts -1 for a fraction s of the weight and +1 for the rest.
    x = np.arange(10.0)[:, None]
    y = np.array([0, 0, 1, 1, 1, 0, 1, 1, 1, 1])
    model = AdaBoostClassifier(n_estimators=1, algorithm="discrete").fit(x, y)
    alpha, says = model.estimator_weights_[0], np.where(model.predict(x) == 1, 1.0, -1.0)
    found = shap_values(model, x)
    np.testing.assert_allclose(found.base_values, alpha * says.mean(), atol=1e-12)
    np.testing.assert_allclose(found.values[:, 0], alpha * (says - says.mean()), atol=1e-12)


def test_the_shap_package_agrees():
    shap = pytest.importorskip("shap")
    model = fit(AdaBoostClassifier(DEEP, algorithm="real", **SMALL), 2)
    trees = []
    for member, weight in zip(model.estimators_, model.estimator_weights_, strict=True):
        tree = member.tree_
        p = np.clip(tree.value[:, 0, 1], 0.5 / 150, 1 - 0.5 / 150)  # half the log-odds, kept 1/(2n) from certainty
        trees.append(
            {
                "children_left": tree.children_left,
                "children_right": tree.children_right,
                "children_default": np.where(tree.missing_go_to_left, tree.children_left, tree.children_right),
                "features": tree.feature,
                "thresholds": tree.threshold,
                "values": (weight * 0.5 * np.log(p / (1 - p)))[:, None],
                "node_sample_weight": tree.weighted_n_node_samples,
            }
        )
    explainer = shap.TreeExplainer({"trees": trees}, feature_perturbation="tree_path_dependent")
    np.testing.assert_allclose(shap_values(model, X_IRIS).values, explainer.shap_values(X_IRIS), atol=1e-6)


def test_missing_values_categories_and_names():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=300), "kind": rng.choice(["a", "b", "c"], 300)})
    frame.loc[::7, "size"] = np.nan
    y = np.where((frame["kind"] == "b") | (frame["size"] > 0.5), "yes", "no")
    model = AdaBoostClassifier(DEEP, **SMALL).fit(frame, y)
    found = shap_values(model, frame)
    np.testing.assert_allclose(found.predictions, model.decision_function(frame), atol=1e-9)
    assert shap_importance(model, frame).feature_names == ["size", "kind"]


def test_regression_by_the_mean_is_a_sum_and_by_the_median_is_none():
    model = AdaBoostRegressor(algorithm="rt", **SMALL).fit(X, Y)
    np.testing.assert_allclose(shap_values(model, X[:30]).predictions, model.predict(X[:30]), atol=1e-9)
    median = AdaBoostRegressor(**SMALL).fit(X, Y)
    with pytest.raises(ParameterTypeError, match="takes the median of its members"):
        shap_values(median, X)
    # Questions that need no trees are put to the model itself.
    found = partial_dependence(median, X[:50], 2, grid_resolution=3)
    wanted = peer_dependence(median, X[:50], [2], grid_resolution=3, method="brute")
    np.testing.assert_allclose(found["average"], wanted["average"])


def test_members_of_other_kinds_are_refused():
    model = AdaBoostClassifier(GaussianNB(), **SMALL).fit(X_IRIS, Y_IRIS)
    with pytest.raises(ParameterTypeError, match="its members are of class GaussianNB"):
        shap_values(model, X_IRIS)
    other = AdaBoostRegressor(Regressor(), algorithm="rt", **SMALL)
    with pytest.raises(Exception, match="not fitted"):
        shap_values(other, X)


SEVERAL = [
    (AdaBoostClassifier(**SMALL), "labels"),
    (AdaBoostClassifier(DEEP, algorithm="discrete", **SMALL), "labels"),
    (AdaBoostClassifier(DEEP, algorithm="samme.r", **SMALL), "classes"),
    (AdaBoostClassifier(Regressor(max_depth=3), algorithm="gentle", **SMALL), "classes"),
    (AdaBoostRegressor(Regressor(max_depth=3), algorithm="rt", **SMALL), "values"),
]


def draw_targets(kind):
    if kind == "values":
        return np.column_stack([X_IRIS[:, 2] + Y_IRIS, X_IRIS[:, 0] * Y_IRIS])
    classes = np.array(["a", "b", "c"])[Y_IRIS]
    return np.column_stack([classes == "b", X_IRIS[:, 1] > 3] if kind == "labels" else [classes, X_IRIS[:, 1] > 3])


@pytest.mark.parametrize(("model", "kind"), SEVERAL, ids=lambda c: c if isinstance(c, str) else name_case(c))
def test_several_targets_stand_side_by_side(model, kind):
    model = clone(model).fit(X_IRIS, draw_targets(kind))
    for options in ({}, {"background": X_IRIS[::10]}, {"interactions": True}):
        found = shap_values(model, X_IRIS, **options)
        first = 0
        for own in model.estimators_:
            wanted = shap_values(own, X_IRIS, **options)
            n = 1 if wanted.base_values.ndim == 1 else wanted.base_values.shape[1]
            values = wanted.values[..., None] if n == 1 else wanted.values
            np.testing.assert_allclose(found.values[..., first : first + n], values, rtol=0, atol=1e-10)
            raw = own.predict(X_IRIS) if kind == "values" else own.decision_function(X_IRIS)
            summed = found.predictions[:, first : first + n]
            np.testing.assert_allclose(summed, raw.reshape(len(raw), -1), rtol=0, atol=1e-9)
            first += n
        assert found.values.shape[-1] == first
    names = {"labels": ["0: True", "1: True"], "classes": ["0: a", "0: b", "0: c", "1: True"], "values": ["0", "1"]}
    assert found.output_names == names[kind]


def test_dependence_of_several_values():
    model = AdaBoostRegressor(Regressor(max_depth=3), algorithm="rt", **SMALL).fit(X_IRIS, draw_targets("values"))
    found = partial_dependence(model, X_IRIS, 2, grid_resolution=4)
    for k, own in enumerate(model.estimators_):
        wanted = partial_dependence(own, X_IRIS, 2, grid_resolution=4)
        np.testing.assert_allclose(found["average"][k], wanted["average"][0], atol=1e-12)


def test_several_medians_are_no_sums():
    model = AdaBoostRegressor(algorithm="r2", **SMALL).fit(X_IRIS, draw_targets("values"))
    with pytest.raises(ParameterTypeError, match="takes the median"):
        shap_values(model, X_IRIS)
