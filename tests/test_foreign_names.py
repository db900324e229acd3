"""Names of other libraries: errors tell what to write instead."""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression

import committee
import committee.inspection
from committee.constraints import describe_params
from committee.exceptions import CommitteeError, ParameterError, ParameterTypeError
from committee.foreign_names import _CALLED, _MEANT, _SCORED, check_scorer, hint_parameter

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2


@pytest.mark.parametrize(
    ("name", "theirs", "expected"),
    [
        ("GradientBoostingClassifier", "num_leaves", "'max_leaf_nodes'"),
        ("GradientBoostingClassifier", "max_iter", "'n_estimators'"),
        ("HistGradientBoostingClassifier", "n_estimators", "'max_iter'"),
        ("HistGradientBoostingRegressor", "reg_lambda", "'l2_regularization'"),
        ("GradientBoostingRegressor", "l2_regularization", "'reg_lambda'"),
        ("HistGradientBoostingRegressor", "criterion", "follow the loss"),
        ("GradientBoostingRegressor", "scale_pos_weight", "class_weight"),
        ("GradientBoostingRegressor", "tree_method", "nothing to choose"),
        ("GradientBoostingRegressor", "device", "engine='gpu'"),
        ("RandomForestClassifier", "mtry", "'max_features'"),
        ("RandomForestClassifier", "max_dept", "Did you mean 'max_depth'?"),
        ("BaggingClassifier", "base_estimator", "'estimator'"),
        ("StackingClassifier", "meta_classifier", "'final_estimator'"),
        ("DecisionStumpClassifier", "wholly_unknown", "Known are: "),
    ],
)
def test_a_parameter_of_another_library(name: str, theirs: str, expected: str) -> None:
    cls = getattr(committee, name)
    with pytest.raises(TypeError, match=theirs) as error:
        cls(**{theirs: 1})
    assert isinstance(error.value, CommitteeError)
    assert name in str(error.value)
    assert expected in str(error.value)


def test_set_params_tells_the_same() -> None:
    model = committee.GradientBoostingClassifier()
    with pytest.raises(ParameterError, match=r"Invalid parameter 'num_leaves'.*'max_leaf_nodes'"):
        model.set_params(num_leaves=3)
    stack = committee.StackingClassifier([("a", model), ("b", LogisticRegression())])
    stack.set_params(a__max_leaf_nodes=3, b="drop", cv=3)
    assert model.max_leaf_nodes == 3
    with pytest.raises(ParameterError, match="'max_leaf_nodes'"):
        stack.set_params(a__num_leaves=3)
    with pytest.raises(ParameterError, match="Invalid parameter 'c'"):
        stack.set_params(c="drop")
    with pytest.raises(ParameterError, match=r"Invalid parameter 'unheard' for .*\. Known are: .*\ba, b\b"):
        stack.set_params(unheard__max_leaf_nodes=3)
    with pytest.raises(ParameterError, match="Invalid parameter 'a' for estimator StackingClassifier"):
        stack.set_params(estimators=3, a__max_leaf_nodes=3)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (committee.GradientBoostingClassifier(loss="deviance"), "'log_loss'"),
        (committee.GradientBoostingRegressor(loss="ls"), "'squared_error'"),
        (committee.GradientBoostingRegressor(loss="reg:absoluteerror"), "'absolute_error'"),
        (committee.GradientBoostingRegressor(boosting="gbdt"), "'plain'"),
        (committee.GradientBoostingRegressor(growth="lossguide"), "'leaf'"),
        (committee.RandomForestRegressor(criterion="mse"), "'squared_error'"),
        (committee.AdaBoostClassifier(algorithm="Samme"), "'samme'"),
        (committee.RandomForestClassifier(oob_score="auc"), "'roc_auc'"),
        (committee.GradientBoostingClassifier(scoring="auc"), "'roc_auc'"),
        (committee.HistGradientBoostingClassifier(scoring="logloss", early_stopping=True), "'neg_log_loss'"),
    ],
)
def test_a_value_of_another_library(model: object, expected: str) -> None:
    with pytest.raises(ParameterError, match=expected):
        model.fit(X, Y)  # type: ignore[attr-defined]
    assert not hasattr(model, "n_features_in_")


def test_a_measure_of_another_library() -> None:
    model = committee.GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(ParameterError, match=r"'eval_metric' parameter .* Did you mean 'roc_auc'"):
        model.fit(X, Y, eval_set=[(X, Y)], eval_metric="auc")
    model.fit(X, Y)
    with pytest.raises(ParameterError, match=r"'scoring' parameter .* Did you mean 'neg_log_loss'"):
        committee.inspection.permutation_importance(model, X, Y, scoring="logloss")


def test_an_attribute_of_another_library() -> None:
    model = committee.GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(AttributeError, match=r"'GradientBoostingClassifier' .* committee\.save"):
        model.save_model("x")
    with pytest.raises(AttributeError, match="feature_names_in_"):
        _ = model.feature_name_
    assert not hasattr(model, "booster_")


def test_what_is_meant_is_known() -> None:
    """Every word that the hints tell to write is one of ours."""
    classes = [getattr(committee, name) for name in committee.__all__ if name[0].isupper()]
    ours = {param.name for cls in classes for param in describe_params(cls)}
    assert {own for several in _CALLED.values() for own in several} <= ours
    for name in set(_SCORED.values()):
        check_scorer(name, "scoring")
    assert not set(_MEANT) & set(_MEANT.values())


def test_subclasses_say_what_they_take() -> None:
    class Anything(committee.RandomForestClassifier):  # type: ignore[misc]
        def __init__(self, **more: object) -> None:
            super().__init__(**more)

    class Own(committee.RandomForestClassifier):  # type: ignore[misc]
        def __init__(self, *, mine: int = 1) -> None:
            super().__init__()
            self.mine = mine

    assert Anything(n_estimators=3).n_estimators == 3
    assert clone(Own(mine=2)).mine == 2
    with pytest.raises(ParameterTypeError, match="Known are: mine"):
        Own(n_trees=1)
    model = committee.DecisionTreeClassifier(max_depth=2).fit(X, Y)
    assert pickle.loads(pickle.dumps(model)).max_depth == 2


def test_nothing_near() -> None:
    assert hint_parameter("zzz", []) == "Known are: none."


@pytest.mark.parametrize("name", [name for name in committee.__all__ if name[0].isupper()])
def test_editors_see_the_constructor(name: str) -> None:
    cls = getattr(committee, name)
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]
    assert list(inspect.signature(cls).parameters.values()) == own


def test_an_argument_of_another_library() -> None:
    model = committee.GradientBoostingClassifier(n_estimators=2)
    with pytest.raises(ParameterTypeError, match=r"fit\(\) .*'early_stopping_rounds'.*'n_iter_no_change'"):
        model.fit(X, Y, eval_set=[(X, Y)], early_stopping_rounds=5)
    with pytest.raises(ParameterTypeError, match=r"fit\(\) .*'eval_sets'. Did you mean 'eval_set'"):
        model.fit(X, Y, eval_sets=[(X, Y)])
    model.fit(X, Y)
    with pytest.raises(ParameterTypeError, match=r"predict_proba\(\) .*'num_iteration'.*staged_predict"):
        model.predict_proba(X, num_iteration=1)
    regressor = committee.HistGradientBoostingRegressor(max_iter=2).fit(X, Y)
    with pytest.raises(ParameterTypeError, match=r"predict\(\) .*shap_values"):
        regressor.predict(X, pred_contribs=True)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        model.fit(X)
    assert "eval_set" in inspect.signature(model.fit).parameters


def test_complaints_from_inside_a_method_are_left_alone() -> None:
    def complain(report: object) -> None:
        raise TypeError("of my own")

    with pytest.raises(TypeError, match="of my own") as caught:
        committee.GradientBoostingClassifier(n_estimators=2).fit(X, Y, callbacks=[complain])
    assert not isinstance(caught.value, CommitteeError)
