"""Views of models of several targets answer what the model answers for that target."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris

import committee
from committee.exceptions import ParameterError, ParameterTypeError
from committee.inspection import OneTarget, partial_dependence, permutation_importance, shap_values
from committee.inspection.one_target import count_targets

X, IRIS = load_iris(return_X_y=True)
CLASSES = np.stack([np.array(["a", "b", "c"])[IRIS].astype(object), X[:, 1] > 3], axis=1)
LABELS = np.column_stack([IRIS == 1, X[:, 1] > 3])
VALUES = np.column_stack([X[:, 2] * IRIS, X[:, 0]])
SMALL: dict[str, Any] = {"n_estimators": 5, "random_state": 0}
CASES = {
    "forest": (committee.RandomForestClassifier(**SMALL), CLASSES),
    "bag": (committee.BaggingClassifier(**SMALL), CLASSES),
    "boosting": (committee.GradientBoostingClassifier(**SMALL), CLASSES),
    "boosted labels": (committee.GradientBoostingClassifier(**SMALL), LABELS),
    "one tree for all": (committee.GradientBoostingClassifier(multi_strategy="multi_output_tree", **SMALL), CLASSES),
    "stumps": (committee.AdaBoostClassifier(**SMALL), LABELS),
    "values of a forest": (committee.ExtraTreesRegressor(**SMALL), VALUES),
    "values of boosting": (committee.HistGradientBoostingRegressor(max_iter=5), VALUES),
    "poisson": (committee.GradientBoostingRegressor(loss="poisson", **SMALL), VALUES),
    "values of rt": (committee.AdaBoostRegressor(algorithm="rt", **SMALL), VALUES),
}


@pytest.mark.parametrize("name", list(CASES))
def test_a_view_answers_for_its_target(name: str) -> None:
    model, y = CASES[name]
    model = clone(model).fit(X, y)
    assert count_targets(model) == 2
    for k in (0, 1):
        view = OneTarget(model, k)
        assert view.predict(X).tolist() == model.predict(X)[:, k].tolist()
        assert is_classifier(view) == is_classifier(model)
        assert is_regressor(view) == is_regressor(model)
        if is_classifier(model):
            np.testing.assert_array_equal(view.predict_proba(X), model.predict_proba(X)[k])
            assert view.predict(X).dtype == view.classes_.dtype
            if hasattr(model, "staged_predict_proba"):
                last = list(view.staged_predict_proba(X))[-1]
                np.testing.assert_allclose(last, view.predict_proba(X), atol=1e-12)
        if hasattr(model, "staged_predict"):
            assert list(view.staged_predict(X))[-1].tolist() == view.predict(X).tolist()
        else:
            assert not hasattr(view, "staged_predict")
        assert not hasattr(model, "feature_importances_") or view.feature_importances_.shape == (4,)
        assert view.n_features_in_ == 4


@pytest.mark.parametrize("name", list(CASES))
def test_trees_of_a_view_are_columns_of_the_model(name: str) -> None:
    model, y = CASES[name]
    model = clone(model).fit(X, y)
    whole, first = shap_values(model, X[::5]), 0
    for k in (0, 1):
        found = shap_values(OneTarget(model, k), X[::5])
        n = 1 if found.base_values.ndim == 1 else found.base_values.shape[1]
        columns = whole.values[..., first] if n == 1 else whole.values[..., first : first + n]
        np.testing.assert_allclose(found.values, columns, rtol=0, atol=1e-9)
        first += n
    assert first == whole.values.shape[-1]


@pytest.mark.parametrize("name", list(CASES))
def test_tools_of_one_target_take_a_view(name: str) -> None:
    model, y = CASES[name]
    model = clone(model).fit(X, y)
    for k in (0, 1):
        view, own = OneTarget(model, k), y[:, k].astype(OneTarget(model, k).predict(X).dtype)
        importance = permutation_importance(view, X, own, n_repeats=2, random_state=0)
        score = np.mean(view.predict(X) == own) if is_classifier(model) else None
        assert score is None or importance.baseline == pytest.approx(score)
        average = partial_dependence(view, X, 2, grid_resolution=3, method="brute")
        fixed = X.copy()
        fixed[:, 2] = average["grid_values"][0][1]
        answers = view.predict_proba(fixed) if is_classifier(model) else view.predict(fixed)[:, None]
        answers = answers[:, 1:] if answers.shape[1] == 2 else answers
        np.testing.assert_allclose(average["average"][:, 1], answers.mean(axis=0), atol=1e-9)


def test_a_view_is_fitted_to_all_targets() -> None:
    view = OneTarget(committee.RandomForestClassifier(**SMALL).fit(X, CLASSES), 1)
    again = clone(view).fit(X, CLASSES)
    np.testing.assert_array_equal(again.predict(X), view.predict(X))
    assert again.get_params() == view.get_params()


def test_what_is_no_view() -> None:
    model = committee.RandomForestClassifier(**SMALL).fit(X, CLASSES)
    with pytest.raises(ParameterError, match="has 2 targets; there is no 2"):
        OneTarget(model, 2)
    with pytest.raises(ParameterError):
        OneTarget(model, -1)
    with pytest.raises(ParameterTypeError, match="fitted estimator"):
        OneTarget(committee.RandomForestClassifier, 0)
    with pytest.raises(ParameterError, match=r"OneTarget\(model, 0\)"):
        partial_dependence(model, X, 0)
    assert count_targets(committee.RandomForestClassifier(**SMALL).fit(X, IRIS)) == 1
