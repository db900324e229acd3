"""Subtrees that are finished in one go give the trees of the general loop, which best-first growth takes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.growth_cases import CRITERIA, Case, compare, draw_table, draw_target, draw_weights, switch_off

#: A limit that is never reached: the nodes come from a heap, one by one, and the tree is the same.
BEST_FIRST = {"max_leaf_nodes": 100_000}
RULES: tuple[dict[str, Any], ...] = (
    {},
    {"max_features": 3, "min_samples_leaf": 2},
    {"random_splits": True, "max_features": 4},
    {"random_splits": True, "min_weight_leaf": 1.5, "min_impurity_decrease": 1e-4},
)


def compare_loops(case: Case, *routes: str) -> int:
    """Assert that the routes are taken and that every loop gives one tree; the number of its nodes."""
    params, nodes = dict(case.params), case.count_nodes()
    assert all(nodes[route] > 0 for route in routes), (nodes, case.describe_routes())
    whole = case.grow()
    others = ({"n_jobs": 3}, BEST_FIRST, {"routes": 0}, *({"routes": switch_off(route)} for route in routes))
    for other in others:
        case.params = {**params, **other}
        for name, array in case.grow().items():
            np.testing.assert_array_equal(array, whole[name], err_msg=f"{name} {other}")
    case.params = params
    return len(whole["feature"])


@pytest.mark.parametrize("rules", RULES, ids=str)
@pytest.mark.parametrize("criterion", [c for c in CRITERIA if c != "absolute_error"])
def test_both_loops_give_the_same_tree(criterion: str, rules: dict[str, Any]) -> None:
    for n_cols, n_values, kind, missing in (
        (6, 10**6, "none", 0.0),
        (20, 40, "integer", 0.1),
        (40, 9, "fraction", 0.0),
    ):
        rng = np.random.default_rng(n_cols)
        X = draw_table(rng, 1500, n_cols, n_values, missing)
        X[:, 1] = X[:, 1] > 3.0  # most nodes find it constant
        target = draw_target(rng, criterion, len(X), n_classes=2 if n_cols == 6 else 4)
        weights = draw_weights(rng, kind, len(X))
        params = {"criterion": criterion, "seed": n_cols, "shuffle_ties": True, **rules}
        assert compare_loops(Case(X, weights=weights, params=params, **target), "subtree") > 20


def test_heavy_rows_of_two_classes_are_added_up_in_wide_sums() -> None:
    # Bytes hold sums of rows up to 255 together; beyond, and with a row of more, words must do.
    for heaviest in (1, 254, 255, 256, 60_000):
        rng = np.random.default_rng(heaviest)
        X, labels = draw_table(rng, 900, 5, 10**6), rng.integers(0, 2, size=(900, 1)).astype(np.uint32)
        weights = rng.integers(1, min(heaviest, 3) + 1, size=900).astype(float)
        weights[[3, 77]] = heaviest
        params = {"random_splits": True, "max_features": 3, "seed": 1}
        case = Case(X, labels=labels, weights=weights, params=params)
        assert compare_loops(case, "subtree") > 300


def test_heavy_rows_of_many_classes_are_added_up_in_wide_sums() -> None:
    # A column of two values is summed in lanes of 16 bits by the one loop, in a histogram by the other.
    for heaviest in (1, 70, 60_000):
        rng = np.random.default_rng(heaviest)
        X, labels = draw_table(rng, 1200, 5, 10**6), rng.integers(0, 3, size=(1200, 1)).astype(np.uint32)
        X[:, :3] = X[:, :3] > np.median(X[:, :3], axis=0)
        weights = np.full(1200, float(heaviest))
        weights[::7] = 1.0
        case = Case(X, labels=labels, weights=weights, params={"max_features": 3, "seed": 1})
        assert compare_loops(case, "subtree", "multiclass_block" if heaviest < 256 else "two_valued") > 300


@pytest.mark.parametrize("n_rows", [2, 3, 15, 16, 17, 31, 32, 33, 47, 48, 49, 63, 64, 65])
def test_few_rows_are_sorted_rightly_at_the_borders_of_blocks(n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    for n_values, missing in ((3, 0.1), (10**6, 0.1), (10**6, 0.0)):
        X = draw_table(rng, n_rows, 4, n_values, missing)
        for criterion, n_classes in (("gini", 2), ("gini", 3), ("squared_error", 0)):
            if n_classes == 3 and n_rows <= 3:
                continue
            target = draw_target(rng, criterion, n_rows, n_classes=n_classes)
            compare(Case(X, params={"criterion": criterion}, **target))


@pytest.mark.parametrize("kind", ["none", "integer", "fraction", "heavy"])
@pytest.mark.parametrize("rules", [{}, {"shuffle_ties": True}, {"min_impurity_decrease": 1e-4}], ids=str)
def test_lists_of_rows_are_handed_on_in_order(kind: str, rules: dict[str, Any]) -> None:
    # Above and below the rows that lists hold; columns of many values, of few, and one that is mostly constant.
    for n_rows, scale in ((5000, 1.0), (700, 1e-9), (60, 1e9)):
        rng = np.random.default_rng(n_rows)
        X = np.round(rng.normal(size=(n_rows, 7)), 2)
        X[:, 2] = rng.integers(0, 3, size=n_rows)
        X[:, 4] = rng.random(n_rows) < 0.02
        values = (X[:, :1] ** 2 + rng.normal(size=(n_rows, 1))) * scale
        values[rng.random(n_rows) < 0.2] = 0.0
        weights = 1000.0 * draw_weights(rng, "integer", n_rows) if kind == "heavy" else draw_weights(rng, kind, n_rows)
        if kind == "heavy":
            weights[5] = 3.0
        params = {"criterion": "squared_error", "seed": 3, **rules}
        is_split = scale >= 1.0 or "min_impurity_decrease" not in rules  # else the root is a leaf
        taken = ("presorted_rows",) if is_split else ()
        n_nodes = compare_loops(Case(X, values=values, weights=weights, params=params), *taken)
        assert n_nodes > 20 if is_split else n_nodes == 1


@pytest.mark.parametrize("n_cols", [5, 28, 60])
@pytest.mark.parametrize("rules", [{}, {"min_samples_split": 7}, {"max_depth": 9}], ids=str)
def test_blocks_of_rows_give_the_trees_of_the_general_loop(n_cols: int, rules: dict[str, Any]) -> None:
    # Two classes, rows of one weight, drawn features and random cuts: rows are sets in blocks of 16 to 512.
    rng = np.random.default_rng(n_cols)
    X = rng.normal(size=(3000, n_cols))
    X[:, 0] = np.exp(6.0 * X[:, 0])  # most bins share a key
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 2.0  # most nodes find it constant
    X[:, 3] = 7.0
    labels = (X[:, [4]] + rng.normal(size=(3000, 1)) > 0.0).astype(np.uint32)
    params = {"random_splits": True, "max_features": max(2, n_cols // 6), "seed": 5, "shuffle_ties": True, **rules}
    for n_rows in (512, 700, 3000):  # the last more than a block
        assert compare_loops(Case(X[:n_rows], labels=labels[:n_rows], params=params), "extra_trees_bitmap") > 50
    # Nodes without a missing value are finished in blocks, others are not; neither are infinite ranges.
    X[X[:, 4] > 1.5, -1] = np.nan
    assert compare_loops(Case(X, labels=labels, params=params), "extra_trees_bitmap") > 50
    X[:, -1] = np.where(X[:, 4] > 0.0, 1e308, -1e308)
    case = Case(X, labels=labels, params=params)
    assert compare_loops(case, "subtree") > 50
    assert case.describe_routes()["extra_trees_bitmap"] == "a column is categorical or has no finite range"


@pytest.mark.parametrize("n_cols", [5, 28, 60])
@pytest.mark.parametrize("max_features", [1, 9, 60])
@pytest.mark.parametrize("kind", ["integer", "heavy", "none"])
def test_random_cuts_of_values_give_the_trees_of_the_general_loop(n_cols: int, max_features: int, kind: str) -> None:
    # Records of 16, 32 and 64 bytes; features that are drawn, and all of them.
    rng = np.random.default_rng([n_cols, max_features])
    X = rng.normal(size=(2000, n_cols))
    X[:, 0] = np.exp(6.0 * X[:, 0])  # most bins share a key
    X[:, 1] = np.round(X[:, 1])
    X[:, 2] = X[:, 2] > 2.0  # most nodes find it constant
    X[:, 3] = 7.0
    X[-300:] = X[:300]  # rows that no feature tells apart
    values = X[:, [4]] + rng.normal(size=(2000, 1))
    values[::3] = np.round(values[::3])  # leaves of several rows
    weights = None if kind == "none" else draw_weights(rng, "integer", 2000)
    if kind == "heavy":
        weights = 1000.0 * weights
    shape = {"random_splits": True, "max_features": max_features, "criterion": "squared_error"}
    for rules in ({}, {"min_samples_split": 7}, {"max_depth": 9}):
        params = {"seed": 5, "shuffle_ties": True, **shape, **rules}
        for n_rows in (2, 3, 17, 2000):
            own = None if weights is None else np.maximum(weights[:n_rows], n_rows < 100)
            case = Case(X[:n_rows], values=values[:n_rows], weights=own, params=params)
            compare_loops(case, *(("extra_trees_values",) if n_rows > 100 else ()))
    # Nodes without a missing value are grown there, others are not; neither are infinite ranges.
    X[X[:, 4] > 1.5, -1] = np.nan
    case = Case(X, values=values, weights=weights, params=params)
    assert compare_loops(case, "extra_trees_values") > 50
    X[:, -1] = np.where(X[:, 4] > 0.0, 1e308, -1e308)
    case = Case(X, values=values, weights=weights, params=params)
    assert compare_loops(case, "subtree") > 50
    assert case.describe_routes()["extra_trees_values"] == "a column is categorical or has no finite range"


def test_rows_that_weigh_too_much_are_split_by_the_general_loop() -> None:
    rng = np.random.default_rng(8)
    X, values = rng.normal(size=(300, 5)), rng.normal(size=(300, 1))
    params = {"random_splits": True, "criterion": "squared_error", "seed": 5, "shuffle_ties": True}
    case = Case(X, values=values, weights=rng.uniform(0.5, 2.0, size=300), params=params)
    assert case.describe_routes()["extra_trees_values"] == "the rows weigh 2^28 or more"
    assert compare_loops(case, "subtree") > 50


def assert_trees_grown_alone(case: Case, plan: Any, criterion: str) -> None:
    """The trees of a forest and their importances are those of single trees."""
    trees, importances = _core.grow_forest(*case.make_arguments(), plan)
    params = case.params
    for k in range(plan.n_trees):
        case.params = {**params, "tree": k}
        alone = case.grow()
        np.testing.assert_array_equal(importances[k], alone.pop("importances"))
        together = trees.describe(k, criterion)
        assert together.keys() == alone.keys()
        for name, array in alone.items():
            np.testing.assert_array_equal(together[name], array, err_msg=name)


@pytest.mark.parametrize("rules", [{}, {"max_depth": 6}, {"max_features": 8}, {"ccp_alpha": 2e-3}], ids=str)
def test_forests_of_values_hold_the_trees_that_are_grown_alone(rules: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 8))
    X[:, 1] = 1.0 + rng.integers(0, 9, size=1500) * 2.0**-40  # thresholds that no float holds
    values = np.round(X[:, [0]] + rng.normal(size=(1500, 1)), 1)
    fold = (np.arange(1500) % 5 > 0).astype(float)
    params = {"random_splits": True, "max_features": 3, "seed": 2, "shuffle_ties": True, **rules}
    params["criterion"] = "squared_error"
    for missing, weights in ((0.0, None), (0.0, fold), (0.0, 0.5 * fold), (0.01, fold), (0.0, 2.0 * fold + 1.0)):
        X[rng.random(X.shape) < missing] = np.nan
        case = Case(X, values=values, weights=weights, params=params)
        plan = _core.ForestPlan()
        plan.n_trees = 3
        is_whole = not np.isnan(X).any() and "ccp_alpha" not in rules
        assert (case.count_nodes(plan)["compact_tree"] > 0) == is_whole
        assert_trees_grown_alone(case, plan, "squared_error")


@pytest.mark.parametrize("rules", [{}, {"max_depth": 6}, {"min_samples_split": 40}, {"ccp_alpha": 2e-3}], ids=str)
def test_forests_hold_the_trees_that_are_grown_alone(rules: dict[str, Any]) -> None:
    # Forests of two classes are grown as counts, single trees as anything: nodes, values and importances are the same.
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 8))
    X[:, 1] = 1.0 + rng.integers(0, 9, size=1500) * 2.0**-40  # thresholds that no float holds
    labels = (X[:, [0]] + rng.normal(size=(1500, 1)) > 0.3).astype(np.uint32)
    fold = (np.arange(1500) % 5 > 0).astype(float)
    params = {"random_splits": True, "max_features": 3, "seed": 2, "shuffle_ties": True, **rules}
    for missing, weights in ((0.0, None), (0.0, fold), (0.0, 0.5 * fold), (0.01, fold), (0.0, 2.0 * fold + 1.0)):
        X[rng.random(X.shape) < missing] = np.nan
        case = Case(X, labels=labels, weights=weights, params=params)
        plan = _core.ForestPlan()
        plan.n_trees = 3
        nodes = case.count_nodes(plan)
        is_whole = missing == 0.0 and (weights is None or set(weights) == {0.0, 1.0}) and "ccp_alpha" not in rules
        assert (nodes["compact_tree"] > 0) == is_whole
        assert_trees_grown_alone(case, plan, "gini")


@pytest.mark.parametrize(
    "rules", [{}, {"max_depth": 6}, {"max_depth": 1}, {"max_features": 8}, {"ccp_alpha": 2e-3}], ids=str
)
def test_forests_of_classes_hold_the_trees_that_are_grown_alone(rules: dict[str, Any]) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 8))
    X[:, 1] = 1.0 + rng.integers(0, 9, size=1500) * 2.0**-40  # thresholds that no float holds
    X[:, 2] = rng.random(1500) < 0.3
    labels = np.digitize(X[:, [0]] + rng.normal(size=(1500, 1)), [-1.5, 0.3, 1.0]).astype(np.uint32)
    fold = (np.arange(1500) % 5 > 0).astype(float)
    heavy = rng.integers(1, 255, size=1500).astype(float)  # more than a block may weigh
    params = {"max_features": 3, "seed": 2, "shuffle_ties": True, **rules}
    for missing, weights in ((0.0, None), (0.0, fold), (0.0, heavy), (0.0, 0.5 * fold), (0.01, fold)):
        X[rng.random(X.shape) < missing] = np.nan
        case = Case(X, labels=labels, weights=weights, params=params)
        plan = _core.ForestPlan()
        plan.n_trees = 3
        is_half = weights is not None and 0.5 in weights
        is_whole = not np.isnan(X).any() and not is_half and "ccp_alpha" not in rules
        assert (case.count_nodes(plan)["compact_tree"] > 0) == is_whole
        assert_trees_grown_alone(case, plan, "gini")


@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"max_depth": 6},
        {"max_depth": 1},
        {"max_depth": 2},
        {"min_samples_split": 2500},
        {"min_samples_leaf": 3},
        {"max_features": 3},
        {"ccp_alpha": 2e-3},
        {"criterion": "friedman_mse"},
        {"criterion": "poisson"},
    ],
    ids=str,
)
def test_forests_of_values_by_best_splits_hold_the_trees_that_are_grown_alone(rules: dict[str, Any]) -> None:
    # In forests subtrees are runs of a list, which is put together with the nodes above them.
    rng = np.random.default_rng(4)
    n_rows = 5000  # the nodes of more than 2,048 are above the subtrees
    X = rng.normal(size=(n_rows, 8))
    X[:, 1] = 1.0 + rng.integers(0, 9, size=n_rows) * 2.0**-40  # thresholds that no float holds
    X[:, 2] = rng.random(n_rows) < 0.3
    values = np.abs(np.round(X[:, [0]] + rng.normal(size=(n_rows, 1)), 1))
    fold = (np.arange(n_rows) % 5 > 0).astype(float)
    params = {"criterion": "squared_error", "seed": 2, "shuffle_ties": True, **rules}
    for missing, weights in ((0.0, None), (0.0, fold), (0.0, 0.5 * fold), (0.01, fold), (0.0, 2.0 * fold + 1.0)):
        X[rng.random(X.shape) < missing] = np.nan
        case = Case(X, values=values, weights=weights, params=params)
        plan = _core.ForestPlan()
        plan.n_trees = 3
        is_whole = not np.isnan(X).any() and "ccp_alpha" not in rules and params["criterion"] != "poisson"
        assert (case.count_nodes(plan)["compact_tree"] > 0) == is_whole
        assert_trees_grown_alone(case, plan, params["criterion"])


def test_blocks_of_rows_give_the_trees_of_the_twin() -> None:
    rng = np.random.default_rng(8)
    X = np.round(rng.normal(size=(560, 6)), 1)
    labels = rng.integers(0, 2, size=(560, 1)).astype(np.uint32)
    compare(Case(X, labels=labels, params={"random_splits": True, "max_features": 2, "seed": 3, "shuffle_ties": True}))


@pytest.mark.parametrize("n_values", [2, 5, 300])
def test_handfuls_of_rows_are_split_as_by_the_textbook(n_values: int) -> None:
    # Up to four rows come straight from their records; more come from lists. Targets of few values tie often.
    for n_rows in (2, 3, 4, 5, 6, 9):
        for seed in range(12):
            rng = np.random.default_rng([n_rows, n_values, seed])
            X = rng.integers(0, n_values, size=(n_rows, int(rng.choice([1, 3, 9, 20])))).astype(float)
            values = rng.integers(0, int(rng.choice([3, 1000])), size=(n_rows, 1)).astype(float)
            weights = rng.integers(1, 4, size=n_rows).astype(float) if seed % 2 else None
            params = {"criterion": "squared_error", "seed": seed, "shuffle_ties": seed % 3 > 0}
            compare(Case(X, values=values, weights=weights, params=params))


@pytest.mark.parametrize("n_cols", [9, 33])
def test_lists_know_of_wide_tables_members_and_missing_values(n_cols: int) -> None:
    for n_rows, missing, members in ((1200, 0.0, []), (1200, 0.001, []), (600, 0.0, [1, 2, 5, 8])):
        rng = np.random.default_rng([n_cols, n_rows, len(members)])
        X = np.round(draw_table(rng, n_rows, n_cols, 10**6, missing), 1)
        values = np.round(np.nan_to_num(X[:, 1:2]) + rng.normal(size=(n_rows, 1)), 1)
        params = {"criterion": "squared_error", "seed": 1, "shuffle_ties": True, "member_features": members}
        weights = draw_weights(rng, "integer", n_rows)
        taken = ("presorted_rows",) if missing == 0.0 else ("subtree",)
        compare_loops(Case(X, values=values, weights=weights, params=params), *taken)
        features = Case(X, values=values, params=params).grow()["feature"]
        assert not members or set(features[features >= 0]) <= set(members)


def test_targets_far_from_zero_part_at_their_last_digits() -> None:
    # Estimates of boundaries are made from distances to the mean: what is left of the targets' digits decides.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 6))
    for spread in (1e-3, 1e-7, 1e-10):
        values = 1000.0 + spread * (X[:, :1] + rng.normal(size=(400, 1)))
        values[0], values[1] = -1000.0, 3000.0
        compare_loops(Case(X, values=values, params={"criterion": "squared_error"}), "presorted_rows")


@pytest.mark.parametrize("kind", ["none", "integer", "heavy"])
def test_boundaries_of_two_classes_are_estimated_in_lanes(kind: str) -> None:
    # Below and above the weights that floats multiply exactly; columns whose bins leave gaps, and equal scores.
    for n_rows, n_cols, n_values, missing in ((9000, 6, 10**6, 0.0), (2500, 9, 40, 0.0), (900, 5, 3, 0.01)):
        rng = np.random.default_rng(n_rows)
        X = draw_table(rng, n_rows, n_cols, n_values, missing)
        labels = (np.nan_to_num(X[:, :1]) > rng.normal(size=(n_rows, 1))).astype(np.uint32)
        weights = None if kind == "none" else draw_weights(rng, "integer", n_rows) * (500.0 if kind == "heavy" else 1.0)
        for rules in ({}, {"max_features": 2, "shuffle_ties": True}):
            params = {"criterion": "gini", "seed": 5, **rules}
            compare_loops(Case(X, labels=labels, weights=weights, params=params), "subtree", "few_rows")


CLASS_RULES: tuple[dict[str, Any], ...] = (
    {},
    {"max_features": 3},
    {"max_features": 2, "shuffle_ties": True, "min_samples_split": 7},
    {"shuffle_ties": True, "max_depth": 6},
    {"max_features": 2, "shuffle_ties": True, "member_features": [0, 1, 3, 4]},
)


@pytest.mark.parametrize("rules", CLASS_RULES, ids=str)
@pytest.mark.parametrize("n_cols", [5, 20, 40])
def test_blocks_of_classes_give_the_trees_of_the_general_loop(n_cols: int, rules: dict[str, Any]) -> None:
    # Up to eight classes and 65535 of weight in a block, in records of 16, 32 and 64 bytes; else as everywhere.
    for n_rows, n_values, n_classes, missing in ((3000, 10**6, 7, 0.0), (900, 6, 3, 0.0), (1200, 40, 8, 0.001)):
        rng = np.random.default_rng([n_cols, n_rows])
        X = draw_table(rng, n_rows, n_cols, n_values, missing)
        X[:, 1] = X[:, 1] > 2.0  # most nodes find it constant
        labels = draw_target(rng, "gini", n_rows, n_classes=n_classes)["labels"]
        labels[X[:, 0] > np.nanmedian(X[:, 0])] %= 2  # and some find one class
        params = {"criterion": "gini", "seed": 3, **rules}
        weights = draw_weights(rng, "integer", n_rows)
        assert compare_loops(Case(X, labels=labels, weights=weights, params=params), "multiclass_block") > 20


@pytest.mark.parametrize("total", [254, 255, 256, 257, 65_534, 65_535, 65_536, 65_537])
def test_weights_of_classes_fill_their_words_to_the_brim(total: int) -> None:
    # All rows together weigh just less or just more than fits a byte, or 16 bits; all but a few are of one class.
    rng = np.random.default_rng(total)
    n_rows = 254 if total < 1000 else 400
    X = np.round(rng.normal(size=(n_rows, 6)), 1)
    X[:, 2] = X[:, 2] > 1.0
    labels = np.where(rng.random((n_rows, 1)) < 0.1, rng.integers(0, 3, size=(n_rows, 1)), 1).astype(np.uint32)
    labels[:3, 0] = [0, 1, 2]
    weights = np.full(n_rows, float(total // n_rows))
    weights[: int(total - weights.sum())] += 1.0  # no row weighs more than a byte holds
    for rules in ({}, {"max_features": 2, "shuffle_ties": True}):
        params = {"criterion": "gini", "seed": 1, **rules}
        compare_loops(Case(X, labels=labels, weights=weights, params=params), "multiclass_block")


@pytest.mark.parametrize("heaviest", [254.0, 255.0, 256.0])
def test_a_row_of_classes_fills_its_byte_to_the_brim(heaviest: float) -> None:
    rng = np.random.default_rng(int(heaviest))
    X, weights = np.round(rng.normal(size=(150, 4)), 1), np.ones(150)
    weights[[7, 60, 61]] = heaviest
    labels = draw_target(rng, "gini", 150, n_classes=3)["labels"]
    case = Case(X, labels=labels, weights=weights, params={"criterion": "gini", "max_features": 2, "seed": 1})
    compare_loops(case, "multiclass_block" if heaviest < 256 else "subtree")


@pytest.mark.parametrize("n_classes", [3, 8])
def test_blocks_of_classes_give_the_trees_of_the_twin(n_classes: int) -> None:
    rng = np.random.default_rng(n_classes)
    X = np.round(rng.normal(size=(330, 5)), 1)
    X[:, 3] = X[:, 3] > 0.5
    labels = draw_target(rng, "gini", 330, n_classes=n_classes)["labels"]
    weights = rng.integers(1, 4, size=330).astype(float)
    for rules in ({}, {"max_features": 2, "shuffle_ties": True}):
        compare(Case(X, labels=labels, weights=weights, params={"criterion": "gini", "seed": 3, **rules}))
