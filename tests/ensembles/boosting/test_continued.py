"""Fits that go on from round to round have the trees of one fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_diabetes, load_iris

from committee import GradientBoostingClassifier, GradientBoostingRegressor


@pytest.mark.parametrize("keeps_booster", [True, False])
@pytest.mark.parametrize("kind", [GradientBoostingClassifier, GradientBoostingRegressor])
def test_trees_are_those_of_one_fit(kind: Any, keeps_booster: bool) -> None:
    X, y = (load_iris if kind is GradientBoostingClassifier else load_diabetes)(return_X_y=True)
    params = {"early_stopping": False, "defaults": "tuned", "random_state": 0, "n_jobs": 1}
    weights = np.random.default_rng(0).integers(0, 3, size=len(y)).astype(float)
    whole = kind(**params, n_estimators=25).fit(X, y, weights)
    model, booster = kind(**params, warm_start=True), None
    dataset = model.take_in(X, y, weights)
    for n_rounds in (5, 5, 13, 25):
        booster = model.set_params(n_estimators=n_rounds).continue_fit(dataset, booster if keeps_booster else None)
        assert model.n_estimators_ == n_rounds
        early = whole.n_trees_per_iteration_ * n_rounds
        assert_array_equal(model.fitted_trees().values, whole.fitted_trees().select(0, early).values)
    assert_array_equal(model.predict(X), whole.predict(X))
    assert_allclose(model.feature_importances_, whole.feature_importances_)
    assert len(whole.train_score_) == 25
    assert "oob_scores_" not in model.__dict__
