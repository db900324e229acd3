"""Many threads split large leaves in blocks of rows and small leaves several at a time: the trees stay the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import GradientBoostingClassifier

N_ROWS = 40_000  # the root has blocks of rows for each of eight threads
CASES: dict[str, dict[str, Any]] = {
    "all rows": {},
    "rows held out": {"subsample": 0.5},
    "many leaves": {"max_leaf_nodes": 200},
    "rows counted": {"min_samples_leaf": 300, "max_leaf_nodes": 60},
    "pruned": {"ccp_alpha": 1e-4, "max_leaf_nodes": 60},
}


def make_table(weighted: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Numbers with missing values, a category, two classes; weights of which some are zero."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(N_ROWS, 7))
    X[:, 5] = rng.integers(0, 9, N_ROWS)
    X[:, 6] = rng.integers(0, 3, N_ROWS)
    y = (X[:, 0] * X[:, 1] + np.isin(X[:, 5], (2, 3, 7)) + rng.normal(size=N_ROWS) > 0.3).astype(int)
    X[rng.random(N_ROWS) < 0.1, 0] = np.nan
    return X, y, rng.integers(0, 3, N_ROWS).astype(float) if weighted else None


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_trees_of_many_threads_are_those_of_one(case: str, weighted: bool) -> None:
    X, y, weights = make_table(weighted)
    # Trees without a limit of leaves have some of a few rows at this depth.
    params = {"n_estimators": 3, "max_depth": 12, "early_stopping": False, "random_state": 1, **CASES[case]}
    fits = [
        GradientBoostingClassifier(categorical_features=[5], n_jobs=n_jobs, **params).fit(X, y, sample_weight=weights)
        for n_jobs in (1, 3, 8)
    ]
    first = fits[0].decision_function(X)
    for other in fits[1:]:
        np.testing.assert_array_equal(first, other.decision_function(X))
        np.testing.assert_array_equal(fits[0].train_score_, other.train_score_)


def test_rows_drawn_ahead_are_those_drawn_in_turn() -> None:
    """Rounds added later begin where the rounds before ended, whatever was drawn ahead."""
    X, y, _ = make_table(False)
    params: dict[str, Any] = {"subsample": 0.6, "early_stopping": False, "random_state": 2, "n_jobs": 4}
    whole = GradientBoostingClassifier(n_estimators=9, **params).fit(X, y)
    grown = GradientBoostingClassifier(n_estimators=4, warm_start=True, **params).fit(X, y)
    grown.set_params(n_estimators=9).fit(X, y)
    np.testing.assert_array_equal(whole.decision_function(X), grown.decision_function(X))
    np.testing.assert_array_equal(whole.oob_improvement_, grown.oob_improvement_)
