"""Trees of tables of several record groups, whose nodes draw a few of many columns."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.growth_cases import Case, compare, draw_target

TARGETS = [("gini", 2), ("gini", 4), ("entropy", 2), ("squared_error", 0)]


def draw_wide(kind: str, n_rows: int = 400, n_cols: int = 150) -> Any:
    """Columns whose values floats hold or do not hold, of few bins or many, some missing or infinitely far apart."""
    rng = np.random.default_rng(len(kind))
    X = rng.normal(size=(n_rows, n_cols))
    if kind != "doubles":
        X = X.astype(np.float32).astype(float)
    X[:, ::3] = np.round(X[:, ::3] * 4.0)
    X[:, 5], X[:, 6] = 7.0, X[:, 6] > 0.0
    if kind == "missing":
        X[rng.random(X.shape) < 0.03] = np.nan
    if kind == "tiny":
        X *= 2.0**-140  # floats below the normal ones
    if kind == "huge":
        X[:, ::5] = np.where(X[:, ::5] > 0.0, 1e308, -1e308) * rng.random((n_rows, 1))
    return X


@pytest.mark.parametrize("kind", ["floats", "doubles", "missing", "tiny", "huge"])
@pytest.mark.parametrize(("criterion", "n_classes"), TARGETS)
def test_random_thresholds_of_forests_are_those_of_trees_alone(criterion: str, n_classes: int, kind: str) -> None:
    # A forest looks thresholds up in a table of all columns, a tree alone halves the bins of each.
    rng = np.random.default_rng(3)
    target = draw_target(rng, criterion, 400, n_classes=n_classes)
    params = {"criterion": criterion, "random_splits": True, "seed": 2, "shuffle_ties": True}
    for max_features in (3, 12, 70):
        case = Case(draw_wide(kind), params={**params, "max_features": max_features}, **target)
        plan = _core.ForestPlan()
        plan.n_trees = 2
        trees, importances = _core.grow_forest(*case.make_arguments(), plan)
        for k in range(plan.n_trees):
            case.params["tree"] = k
            alone = case.grow()
            np.testing.assert_array_equal(importances[k], alone.pop("importances"))
            for name, array in trees.describe(k, criterion).items():
                np.testing.assert_array_equal(alone[name], array, err_msg=name)


@pytest.mark.parametrize("kind", ["floats", "missing"])
@pytest.mark.parametrize("random_splits", [False, True])
@pytest.mark.parametrize(("criterion", "n_classes"), TARGETS)
def test_full_trees_equal_their_twins(criterion: str, n_classes: int, random_splits: bool, kind: str) -> None:
    # The search of a node ends at a split into pure children: the first that was drawn wins.
    rng = np.random.default_rng(4)
    target = draw_target(rng, criterion, 160, n_classes=n_classes)
    params = {"criterion": criterion, "random_splits": random_splits, "seed": 9, "shuffle_ties": True}
    for max_features in (12, 40):
        params["max_features"] = max_features
        for weights in (None, rng.integers(1, 4, size=160).astype(float)):
            assert compare(Case(draw_wide(kind)[:160], weights=weights, params=params, **target)) > 40
