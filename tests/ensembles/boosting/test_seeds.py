"""A seed changes only what is drawn: boosting that draws nothing gives one model, with or without a seed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)

# With more than 16,384 rows gradients are rounded by chance, and with noise for a target many splits are nearly equal.
N_ROWS = 40_000
rng = np.random.default_rng(0)
X = rng.normal(size=(N_ROWS, 8)).astype(np.float32)
Y = rng.normal(size=N_ROWS)
NOTHING_DRAWN: dict[str, Any] = {"subsample": 1.0, "max_features": None, "early_stopping": False, "n_estimators": 5}


@pytest.mark.parametrize(
    ("cls", "y", "params"),
    [
        (HistGradientBoostingClassifier, Y > 0.0, {"max_iter": 20, "early_stopping": False}),
        (HistGradientBoostingRegressor, Y, {"max_iter": 10, "early_stopping": False, "loss": "absolute_error"}),
        (GradientBoostingClassifier, np.digitize(Y, [-1.0, 1.0]), NOTHING_DRAWN),
        (GradientBoostingClassifier, Y > 0.0, NOTHING_DRAWN | {"n_estimators": 20, "learning_rate": 0.1}),
        (
            GradientBoostingClassifier,
            np.digitize(Y, [-1.0, 1.0]),
            NOTHING_DRAWN | {"multi_strategy": "multi_output_tree"},
        ),
        (GradientBoostingRegressor, Y, NOTHING_DRAWN),
    ],
)
def test_a_seed_changes_nothing_where_nothing_is_drawn(cls: Any, y: Any, params: dict[str, Any]) -> None:
    models = [cls(**params, random_state=seed).fit(X, y) for seed in (0, 1, 2, 3, None)]
    method = "decision_function" if hasattr(cls, "decision_function") else "predict"
    first, *others = (getattr(model, method)(X[:2000]) for model in models)
    for other in others:
        np.testing.assert_array_equal(first, other)


@pytest.mark.parametrize("drawn", [{"subsample": 0.5}, {"max_features": 0.5}, {"colsample_bytree": 0.5}])
def test_a_seed_changes_what_is_drawn(drawn: dict[str, Any]) -> None:
    one, other = (
        GradientBoostingRegressor(**NOTHING_DRAWN | drawn, random_state=seed).fit(X[:2000], Y[:2000]) for seed in (0, 1)
    )
    assert (one.predict(X[:2000]) != other.predict(X[:2000])).any()
