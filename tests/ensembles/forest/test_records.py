"""Forests read columns of two values as bits; their trees are those of the loop that knows nothing of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import ExtraTreesClassifier, ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor

#: A limit that is never reached: the nodes come from a heap, one by one, and read a byte a column.
BEST_FIRST = {"max_leaf_nodes": 100_000}


def make_table(n_rows: int, missing: float, n_bits: int = 44) -> tuple[Any, Any]:
    """Ten columns of many values, one with missing ones, among many of two values, rare and common."""
    rng = np.random.default_rng(n_rows)
    bits = rng.random((n_rows, n_bits)) < rng.random(n_bits) ** 3
    X = np.column_stack([rng.normal(size=(n_rows, 10)).round(2), np.where(bits, 7.0, 3.0)])
    X[rng.random(n_rows) < missing, 4] = np.nan
    X = X[:, rng.permutation(X.shape[1])]
    signal = np.nan_to_num(X) @ rng.normal(size=X.shape[1]) + 4.0 * rng.normal(size=n_rows)
    return X, signal


@pytest.mark.parametrize("n_rows", [60, 5000])
@pytest.mark.parametrize("n_classes", [2, 4, 9, 0])
def test_bits_give_the_trees_of_bytes(n_rows: int, n_classes: int) -> None:
    X, signal = make_table(n_rows, missing=0.1 if n_classes in (0, 2) or n_rows == 60 else 0.0)
    if n_classes:
        forests: list[Any] = [RandomForestClassifier, ExtraTreesClassifier]
        y = np.digitize(signal, np.quantile(signal, np.linspace(0, 1, n_classes + 1)[1:-1]))
    else:
        forests, y = [RandomForestRegressor, ExtraTreesRegressor], signal.round(1)
    for forest in forests:
        for rules in ({}, {"min_samples_leaf": 3}, {"max_features": 0.4, "min_samples_split": 5}):
            params = {"n_estimators": 3, "random_state": 1, "n_jobs": 1, **rules}
            plain = forest(**params).fit(X, y)._trees
            stepwise = forest(**params, **BEST_FIRST).fit(X, y)._trees
            np.testing.assert_array_equal(plain.nodes, stepwise.nodes, err_msg=f"{forest} {rules}")
            np.testing.assert_array_equal(plain.values, stepwise.values, err_msg=f"{forest} {rules}")
