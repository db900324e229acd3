"""Boosting beside scikit-learn's and LightGBM's on real tables: scores within noise of theirs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier as PeerClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as PeerRegressor
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from committee import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from tests.parity.data_sets import load_data_set


def part(name: str) -> Any:
    data = load_data_set(name)
    stratify = None if data.is_regression else data.y
    return train_test_split(data.numbers, data.y, test_size=0.3, random_state=0, stratify=stratify)


@pytest.mark.parametrize("name", ["higgs_7500", "spambase", "vowel"])
def test_classes_are_as_good_as_those_of_scikit_learn(name: str) -> None:
    X, X_new, y, y_new = part(name)
    losses = [
        log_loss(y_new, cls(max_iter=60, random_state=0).fit(X, y).predict_proba(X_new))
        for cls in (HistGradientBoostingClassifier, PeerClassifier)
    ]
    assert losses[0] < 1.05 * losses[1] + 0.005


@pytest.mark.parametrize("name", ["abalone", "wine_quality"])
def test_values_are_as_good_as_those_of_scikit_learn(name: str) -> None:
    X, X_new, y, y_new = part(name)
    scores = [
        cls(max_iter=60, random_state=0).fit(X, y).score(X_new, y_new)
        for cls in (HistGradientBoostingRegressor, PeerRegressor)
    ]
    assert scores[0] > scores[1] - 0.02


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_california_housing_is_as_good_as_lightgbm(loss: str) -> None:
    """Six leaves, rate 0.1, 800 rounds, on one split."""
    lightgbm = pytest.importorskip("lightgbm")
    X, X_new, y, y_new = part("california_housing")
    options = {"n_estimators": 800, "learning_rate": 0.1}
    mine = GradientBoostingRegressor(
        loss=loss, max_leaf_nodes=6, early_stopping=False, subsample=1.0, max_features=None, random_state=0, **options
    ).fit(X, y)
    peer = lightgbm.LGBMRegressor(num_leaves=6, verbose=-1, n_jobs=1, **options).fit(X, y)
    found = mine.score(X_new, y_new)
    assert found > 0.75
    assert found > 1.0 - 1.06 * (1.0 - peer.score(X_new, y_new))
    assert np.isfinite(mine.train_score_).all()
