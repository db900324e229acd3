"""What holds for symmetric trees, rounds of mixed growth and random thresholds alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.test_boosting import draw_table, start
from tests.core.test_mixed_growth import MIXED
from tests.core.test_random_thresholds import RANDOM
from tests.core.test_symmetric_trees import SYMMETRIC

every_kind = pytest.mark.parametrize("kind", [SYMMETRIC, MIXED, RANDOM], ids=["symmetric", "mixed", "random"])


@every_kind
@pytest.mark.parametrize("loss", ["squared_error", "logistic", "softmax", "absolute_error"])
@pytest.mark.parametrize("n_rows", [500, 60_000])
def test_the_number_of_threads_changes_nothing(loss: str, n_rows: int, kind: dict[str, Any]) -> None:
    X, signal = draw_table(n_rows, 2, missing=0.1)
    y = np.digitize(signal, [-0.5, 0.5]).astype(float) if loss == "softmax" else (signal > 0.3).astype(float)
    found = []
    for n_jobs in (1, 2, 5):
        options = {"n_scores": 3} if loss == "softmax" else {}
        state = start(X, y, loss, n_jobs=n_jobs, subsample=0.8, colsample_node=0.7, **kind, **options)
        state.boost(4)
        found.append((state.scores.tobytes(), state.gains.tobytes(), state.finish().leaf_samples.tobytes()))
    assert found[0] == found[1] == found[2]


@every_kind
def test_a_weight_is_a_repetition(kind: dict[str, Any]) -> None:
    X, y = draw_table(300, 4, missing=0.1)
    weights = np.random.default_rng(5).integers(1, 4, 300)
    rows = np.repeat(np.arange(300), weights)
    options = kind | {"min_samples_leaf": 1, "min_child_weight": 3.0}
    weighted, repeated = start(X, y, weights=weights.astype(float), **options), start(X[rows], y[rows], **options)
    for state in (weighted, repeated):
        state.boost(4)
    np.testing.assert_allclose(weighted.scores[rows], repeated.scores, atol=1e-9)


@every_kind
@pytest.mark.parametrize("loss", ["logistic", "poisson"])
def test_no_leaf_has_too_few_rows(loss: str, kind: dict[str, Any]) -> None:
    X, signal = draw_table(700, 5)
    y = (signal > 1.0).astype(float)
    state = start(X, y, loss, **(kind | {"min_samples_leaf": 17, "max_depth": 7, "learning_rate": 0.8}))
    state.boost(16)
    samples = state.finish().leaf_samples
    assert samples.min() >= 17
    assert len(samples) > 60
