"""Fits that go on step by step, with the predictions of other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris, make_classification

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting import continued

TWO = make_classification(300, 6, flip_y=0.1, random_state=0)
CASES = {
    "two classes": (GradientBoostingClassifier(), TWO),
    "three classes": (GradientBoostingClassifier(), load_iris(return_X_y=True)),
    "exponential": (GradientBoostingClassifier(loss="exponential"), TWO),
    "values": (GradientBoostingRegressor(subsample=0.7), load_diabetes(return_X_y=True)),
    "poisson": (GradientBoostingRegressor(loss="poisson"), load_diabetes(return_X_y=True)),
    "quantiles": (GradientBoostingRegressor(loss="quantile", alpha=[0.1, 0.9]), load_diabetes(return_X_y=True)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("kept", [0, 1 << 18])
def test_steps_are_those_of_one_long_fit(name: str, kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(continued, "_MOST_KEPT", kept)
    given, (X, y) = CASES[name]
    model: Any = clone(given).set_params(early_stopping=False, defaults="tuned", random_state=0, warm_start=True)
    half = len(y) // 2
    rng = np.random.default_rng(0).permutation(len(y))
    train, test = rng[:half], rng[half:]
    dataset = model.take_in(X[train], y[train])
    fit = model.follow_fit(dataset, model.encode_rows(X[test], dataset))
    for n_rounds in (3, 8, 9):
        fit.boost(n_rounds)
        whole = type(model)(**{**model.get_params(), "warm_start": False, "n_estimators": n_rounds})
        whole.fit_dataset(dataset)
        expected = whole.predict_proba(X[test]) if hasattr(whole, "predict_proba") else whole.predict(X[test])
        np.testing.assert_allclose(fit.predict(), expected.reshape(len(test), -1), rtol=1e-10)
    short = type(model)(**{**model.get_params(), "warm_start": False, "n_estimators": 5}).fit_dataset(dataset)
    found = fit.keep_first(5)
    np.testing.assert_array_equal(found.predict(X[test]), short.predict(X[test]))
    assert found.n_estimators_ == short.n_estimators_ == 5
    assert fit.rate == found.learning_rate_
