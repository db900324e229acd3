"""Boosted trees in XGBoost's JSON: XGBoost, treelite and our own reader find the same leaves."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import committee
from committee.exceptions import ParameterTypeError
from committee.io import from_xgboost, to_xgboost
from tests.io.c_models import draw_classes, draw_table, draw_values

HIST = committee.HistGradientBoostingClassifier
VALUES = committee.HistGradientBoostingRegressor
MODELS = {
    "two": (HIST(max_iter=8), 2),
    "several": (HIST(max_iter=5), 4),
    "values": (VALUES(max_iter=8), 0),
    "poisson": (VALUES(loss="poisson", max_iter=8), 0),
    "plain": (committee.GradientBoostingRegressor(n_estimators=6, random_state=0), 0),
}


def fit(name: str) -> tuple[Any, np.ndarray]:
    model, n_classes = MODELS[name]
    X = draw_table().astype(np.float32).astype(np.float64)
    return model.fit(X, draw_classes(X, n_classes) if n_classes else draw_values(X)), X


def ask(model: Any, X: np.ndarray) -> np.ndarray:
    if not hasattr(model, "predict_proba"):
        return model.predict(X)
    shares = model.predict_proba(X)
    return shares[:, 1] if shares.shape[1] == 2 else shares


@pytest.mark.parametrize("name", list(MODELS))
def test_xgboost_reads_it(name: str, tmp_path: Path) -> None:
    xgboost = pytest.importorskip("xgboost", reason="pip install xgboost")
    model, X = fit(name)
    to_xgboost(model, tmp_path / "m.json")
    booster = xgboost.Booster(model_file=str(tmp_path / "m.json"))
    assert_allclose(booster.predict(xgboost.DMatrix(X)), ask(model, X), rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", list(MODELS))
def test_our_reader_finds_the_same_leaves(name: str, tmp_path: Path) -> None:
    model, X = fit(name)
    to_xgboost(model, tmp_path / "m.json")
    found = from_xgboost(tmp_path / "m.json")
    n_scores = len(model._baseline)
    assert_array_equal(found._trees.apply(X, 1)[:, n_scores:], model._trees.apply(X, 1))
    assert_allclose(ask(found, X), ask(model, X), rtol=1e-6)


def test_treelite_reads_it(tmp_path: Path) -> None:
    treelite = pytest.importorskip("treelite", reason="pip install treelite")
    model, X = fit("values")
    to_xgboost(model, tmp_path / "m.json")
    loaded = treelite.frontend.load_xgboost_model(tmp_path / "m.json", format_choice="json")
    found = treelite.gtil.predict(loaded, X.astype(np.float32)).reshape(-1)
    assert_allclose(found, model.predict(X), rtol=2e-5)


@pytest.mark.parametrize(
    ("model", "fragment"),
    [
        (committee.RandomForestClassifier(3), "cannot be written for XGBoost: its file"),
        (committee.AdaBoostClassifier(n_estimators=3), "cannot be written for XGBoost: its file"),
        (HIST(max_iter=3, categorical_features=[1]), "splits by categories"),
        (VALUES(loss="quantile", quantile=[0.1, 0.9], max_iter=3), "cannot be written for XGBoost: its file"),
    ],
    ids=["forest", "adaboost", "categories", "quantiles"],
)
def test_what_does_not_fit_is_refused(model: Any, fragment: str) -> None:
    X = draw_table()
    model.fit(X, X[:, 1] % 2 == 0)
    with pytest.raises(ParameterTypeError, match=fragment):
        to_xgboost(model)
