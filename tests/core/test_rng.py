"""What the grower draws: uniform, and keyed by seed, tree and node alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from committee import _core
from tests.core.growth_cases import CLASS_CRITERIA, CRITERIA, Case, draw_table, draw_target
from tests.naive.randomness import combine_keys

SEED = 20  # of everything here: the tests are deterministic, so their p-values are checked once and for all
LEAST_P = 1e-3


def grow_roots(case: Case, n_trees: int) -> list[dict[str, Any]]:
    """First splits of many trees that differ in nothing but their number."""
    params = dict(case.params)
    trees = []
    for number in range(n_trees):
        case.params = {**params, "max_depth": 1, "seed": SEED, "tree": number}
        trees.append(case.grow())
    return trees


@pytest.mark.parametrize("exact", [False, True])
def test_random_thresholds_are_uniform_over_the_range_of_the_node(exact: bool) -> None:
    # Not over the rows: the values crowd at the lower end.
    rng = np.random.default_rng(0)
    X = rng.exponential(size=(2000, 1))
    X[0], X[1] = 0.0, 10.0
    X[2:200, 0] = rng.uniform(0, 10, size=198)
    params = {"random_splits": True, "exact": exact}
    case = Case(X, labels=rng.integers(0, 2, size=(2000, 1)).astype(np.uint32), params=params)
    thresholds = [tree["threshold"][0] for tree in grow_roots(case, 400)]
    assert min(thresholds) > 0.0
    assert max(thresholds) < 10.0
    assert stats.kstest(thresholds, stats.uniform(0, 10).cdf).pvalue > LEAST_P


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("exact", [False, True])
def test_random_splits_lie_inside_the_node_and_part_it(criterion: str, exact: bool) -> None:
    rng = np.random.default_rng(1)
    X = draw_table(rng, 300, 3, 1000, missing=0.1)
    target = draw_target(rng, criterion, 300)
    case = Case(X, params={"criterion": criterion, "random_splits": True, "exact": exact, "seed": 3}, **target)
    trees, _ = case.grow_trees()
    tree, path = trees.describe(0, criterion), trees.apply(X, 1)[:, 0]
    rows_of: dict[int, Any] = {}
    for at in range(len(tree["feature"]) - 1, -1, -1):
        left, right = tree["children_left"][at], tree["children_right"][at]
        if left < 0:
            rows_of[at] = np.flatnonzero(path == at)
            continue
        rows_of[at] = np.concatenate([rows_of[left], rows_of[right]])
        x = X[rows_of[at], tree["feature"][at]]
        assert np.nanmin(x) <= tree["threshold"][at]
        assert tree["threshold"][at] < np.nanmax(x) or (np.isnan(x).any() and tree["threshold"][at] == np.inf)
        assert min(len(rows_of[left]), len(rows_of[right])) > 0
        assert tree["n_node_samples"][at] == len(x)


def test_missing_values_take_a_random_side_in_random_splits() -> None:
    rng = np.random.default_rng(2)
    X = draw_table(rng, 200, 1, 1000, missing=0.3)
    case = Case(X, labels=rng.integers(0, 2, size=(200, 1)).astype(np.uint32), params={"random_splits": True})
    n_left = sum(bool(tree["missing_go_to_left"][0]) for tree in grow_roots(case, 300))
    assert stats.binomtest(n_left, 300).pvalue > LEAST_P


def test_random_subsets_of_categories_have_every_size_and_member() -> None:
    rng = np.random.default_rng(3)
    n_levels = 6
    X = np.tile(np.arange(n_levels, dtype=float), 40)[:, None]
    labels = rng.integers(0, 2, size=(len(X), 1)).astype(np.uint32)
    case = Case(X, labels=labels, n_levels=np.array([n_levels], np.uint32), params={"random_splits": True})
    subsets = [set(tree["left_categories"][0]) for tree in grow_roots(case, 600)]
    sizes = np.bincount([len(subset) for subset in subsets], minlength=n_levels)
    assert sizes[0] == 0
    assert stats.chisquare(sizes[1:]).pvalue > LEAST_P
    members = np.bincount([code for subset in subsets for code in subset], minlength=n_levels)
    assert stats.chisquare(members).pvalue > LEAST_P


@pytest.mark.parametrize("n_cols", [5, 150])
def test_every_feature_is_drawn_equally_often(n_cols: int) -> None:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, n_cols)).round(2)
    labels = rng.integers(0, 2, size=(60, 1)).astype(np.uint32)
    trees = grow_roots(Case(X, labels=labels, params={"max_features": 1}), 3000)
    counts = np.bincount([tree["feature"][0] for tree in trees], minlength=n_cols)
    assert stats.chisquare(counts).pvalue > LEAST_P


def test_constant_features_are_passed_over_until_one_varies() -> None:
    rng = np.random.default_rng(5)
    X = np.zeros((50, 20))
    X[:, [3, 11]] = rng.normal(size=(50, 2))
    labels = rng.integers(0, 2, size=(50, 1)).astype(np.uint32)
    trees = grow_roots(Case(X, labels=labels, params={"max_features": 1}), 400)
    n_third = sum(tree["feature"][0] == 3 for tree in trees)
    assert all(tree["feature"][0] in (3, 11) for tree in trees)
    assert stats.binomtest(n_third, 400).pvalue > LEAST_P


def test_the_best_of_the_drawn_features_is_taken() -> None:
    # One feature tells all; two of ten are drawn, so it is found in a fifth of the trees.
    rng = np.random.default_rng(6)
    X = rng.normal(size=(100, 10))
    labels = (X[:, 7:8] > 0).astype(np.uint32)
    trees = grow_roots(Case(X, labels=labels, params={"max_features": 2}), 800)
    assert stats.binomtest(sum(tree["feature"][0] == 7 for tree in trees), 800, 0.2).pvalue > LEAST_P


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize(
    "params", [{"random_splits": True}, {"max_features": 2}, {"random_splits": True, "max_features": 1}]
)
def test_growth_order_does_not_change_what_is_drawn(criterion: str, params: dict[str, Any]) -> None:
    rng = np.random.default_rng(7)
    X = draw_table(rng, 200, 5, 1000, missing=0.1)
    target = draw_target(rng, criterion, 200, n_classes=3)
    grown = [
        Case(X, params={"criterion": criterion, "seed": 9, **params, **policy}, **target).grow()
        for policy in ({}, {"max_leaf_nodes": 100_000})
    ]
    assert len(grown[0]["feature"]) > 20
    for name, array in grown[0].items():
        np.testing.assert_array_equal(array, grown[1][name], err_msg=name)


def test_seed_and_tree_number_change_the_draw_and_nothing_else_does() -> None:
    rng = np.random.default_rng(8)
    X, labels = rng.normal(size=(100, 4)), rng.integers(0, 2, size=(100, 1)).astype(np.uint32)

    def grow(**params: Any) -> bytes:
        case = Case(X, labels=labels, params={"random_splits": True, **params})
        return bytes(case.grow()["threshold"].tobytes())

    assert CLASS_CRITERIA[0] == Case(X).make_params().criterion
    trees = [grow(seed=seed, tree=tree) for seed in (0, 1, 2**63) for tree in (0, 1, 2)]
    assert len(set(trees)) == len(trees)
    assert grow(seed=1, tree=2) == grow(seed=1, tree=2, n_jobs=3)


@pytest.mark.parametrize("seed", [0, 1, 42, 2**31, 2**63, 2**64 - 1])
def test_a_tree_of_a_forest_has_a_seed_of_its_own(seed: int) -> None:
    assert _core.find_tree_seed(seed, 0) == seed
    for tree in (0, 1, 2, 999, 2**40):
        assert combine_keys(_core.find_tree_seed(seed, tree), 0) == combine_keys(seed, tree)
