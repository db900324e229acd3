"""Prepared predictors give what the estimator gives, from any kind of row."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import is_classifier

import committee
from committee.exceptions import DataError, DataTypeError, ParameterTypeError
from tests.io.c_models import (
    draw_classes,
    draw_table,
    draw_values,
    fit_two_outputs,
    list_classifiers,
    list_linear_stacks,
    list_regressors,
    list_two_class,
    list_two_outputs,
)

pytestmark = pytest.mark.filterwarnings("ignore:Some inputs do not have OOB")
TWO = {f"{name} of two": model for name, model in list_two_class().items()}


@pytest.mark.parametrize("name", [*list_classifiers(), *TWO])
def test_classifiers(name: str) -> None:
    X = draw_table()
    y = draw_classes(X, 2 if name in TWO else 4)
    model = {**list_classifiers(), **TWO}[name].fit(X[::2], y[::2])
    predictor = model.predictor()
    assert_array_equal(predictor.predict(X), model.predict(X))
    assert predictor.predict_one(X[3]) == model.predict(X[3:4])[0]
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        assert_array_equal(predictor.predict_proba(X, n_jobs=2), shares)
        assert_array_equal(predictor.predict_proba_one(X[5].tolist()), shares[5])
    else:
        with pytest.raises(AttributeError, match="no predict_proba"):
            predictor.predict_proba(X)


@pytest.mark.parametrize("name", list(list_regressors()))
def test_regressors(name: str) -> None:
    X = draw_table()
    model = list_regressors()[name].fit(X[::2], draw_values(X)[::2])
    predictor = model.predictor()
    assert_array_equal(predictor.predict(X), model.predict(X))
    assert_array_equal(predictor.predict_one(tuple(X[7])), model.predict(X[7:8])[0])


@pytest.mark.parametrize("name", list(list_two_outputs()))
def test_several_outputs(name: str) -> None:
    model, X = fit_two_outputs(name)
    predictor, rows = model.predictor(), [tuple(row) for row in X.tolist()]
    for given in (X, rows):
        assert_array_equal(predictor.predict(given), model.predict(X))
        if is_classifier(model):
            for ours, theirs in zip(predictor.predict_proba(given), model.predict_proba(X), strict=True):
                assert_array_equal(ours, theirs)
    assert predictor.predict_one(rows[3]) == model.predict(X[3:4])[0].tolist()


def test_linear_meta_models() -> None:
    X = draw_table()
    stack = list_linear_stacks()["logistic"].fit(X, draw_classes(X))
    assert_allclose(stack.predictor().predict_proba(X), stack.predict_proba(X), rtol=1e-12)


def test_isolation_forest() -> None:
    X = draw_table()
    model = committee.IsolationForest(n_estimators=10, random_state=0).fit(X)
    assert_array_equal(model.predictor().predict(X), model.predict(X))
    assert_array_equal(model.predictor().score_samples(X), model.score_samples(X))


@pytest.fixture(scope="module")
def fitted() -> tuple[Any, pd.DataFrame]:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=300),
            "kind": pd.Categorical(rng.choice(["a", "b", "c"], 300)),
            "year": rng.integers(0, 9, 300),
        }
    )
    y = np.where((frame["kind"] == "b") ^ (frame["size"] > 0), "yes", "no")
    return committee.HistGradientBoostingClassifier(max_iter=10, categorical_features=["kind", "year"]).fit(
        frame, y
    ), frame


def test_rows_of_every_kind(fitted: tuple[Any, pd.DataFrame]) -> None:
    model, frame = fitted
    predictor, shares = model.predictor(), model.predict_proba(frame)
    rows = frame.to_dict("records")
    for k in (0, 7, 99):
        assert_array_equal(predictor.predict_proba_one(rows[k]), shares[k])
        assert_array_equal(predictor.predict_proba_one(tuple(rows[k].values())), shares[k])
        assert predictor.predict_one(dict(reversed(rows[k].items()))) == model.predict(frame[k : k + 1])[0]
    assert_array_equal(predictor.predict_proba(rows), shares)
    assert_array_equal(predictor.predict_proba(frame), shares)
    gaps = pd.DataFrame({"size": [None], "kind": pd.Categorical(["new"]), "year": [77]}).astype({"size": float})
    assert_array_equal(
        predictor.predict_proba_one({"size": None, "kind": "new", "year": 77}), model.predict_proba(gaps)[0]
    )
    assert repr(predictor) == "<PreparedPredictor of HistGradientBoostingClassifier, 3 columns>"


@pytest.mark.parametrize(
    ("row", "error", "sentence"),
    [
        ({"size": 1.0, "kind": "a"}, DataError, "no value for the column 'year'"),
        ({"size": 1.0, "kind": "a", "year": 3, "colour": 4}, DataError, "'colour', which is none of the columns"),
        ((1.0, "a"), DataError, "2 values; 3 are needed"),
        (np.zeros((1, 3)), DataError, "one axis"),
        ({"size": "3", "kind": "a", "year": 3}, DataTypeError, "'size' holds numbers; got '3' of type str"),
        ({"size": 1.0, "kind": 4, "year": 3}, DataTypeError, "'kind' held categories that are text"),
        ({"size": 1.0, "kind": "a", "year": "x"}, DataTypeError, "'year' held categories that are numbers"),
    ],
)
def test_wrong_rows_give_sentences(fitted: tuple[Any, pd.DataFrame], row: Any, error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        fitted[0].predictor().predict_one(row)


def test_infinite_values_and_unseen_levels_as_the_estimator_treats_them() -> None:
    forest = committee.RandomForestRegressor(3, categorical_features=[0], unseen="error").fit(
        [[0.0, 1], [1, 2]], [0, 1]
    )
    with pytest.raises(DataError, match="infinite"):
        forest.predictor().predict_one((0.0, np.inf))
    with pytest.raises(DataError, match="did not occur in training"):
        forest.predictor().predict_one((5.0, 1.0))
    boosted = committee.HistGradientBoostingRegressor(max_iter=2).fit([[0.0], [1.0]] * 30, [0.0, 1.0] * 30)
    assert boosted.predictor().predict_one([np.inf]) == boosted.predict([[np.inf]])[0]


def test_threads_share_a_predictor(fitted: tuple[Any, pd.DataFrame]) -> None:
    model, frame = fitted
    predictor, rows, shares = model.predictor(), frame.to_dict("records"), model.predict_proba(frame)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(predictor.predict_proba_one, rows * 4))
    assert_array_equal(np.array(found), np.tile(shares, (4, 1)))


def test_what_cannot_be_prepared() -> None:
    when = np.array([["2020-01-01"], ["2021-05-02"]], "M8[s]")
    with pytest.raises(ParameterTypeError, match="dates, times, lists or text"):
        committee.DecisionTreeRegressor().fit(when, [0.0, 1.0]).predictor()
    with pytest.raises(ParameterTypeError, match="predicts nothing"):
        committee.RandomTreesEmbedding(2).fit([[0.0], [1.0]]).predictor()
