"""Extra-trees of wide tables that are grown together, a column after the other: the trees of trees grown alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.growth_cases import Case, compare_tree, switch_off

RULES: dict[str, dict[str, Any]] = {
    "full": {},
    "shallow": {"max_depth": 3},
    "large": {"min_samples_split": 30},
    "pruned": {"ccp_alpha": 1e-3},
}


def make_plan(n_trees: int = 7, n_features: int = 0) -> Any:
    plan = _core.ForestPlan()
    plan.n_trees, plan.first_tree = n_trees, 3
    sampling = _core.RowSampling()
    sampling.n_features = n_features
    plan.sampling = sampling
    return plan


def make_case(seed: int, n_rows: int, n_cols: int, **params: Any) -> Case:
    """Columns of many values or few, most of them constant in some tables, as floats or as doubles hold them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_cols))
    if seed % 2 == 0:
        X = X.astype(np.float32).astype(float)
    X[:, ::2] = np.round(X[:, ::2] * rng.choice([0.4, 2.0, 9.0]))
    X[:, rng.random(n_cols) < rng.choice([0.1, 0.97])] = 7.0
    X[:, 0] = rng.integers(0, 3, size=n_rows)
    labels = ((X[:, 0] > 1.0) ^ (rng.random(n_rows) < 0.3)).astype(np.uint32)[:, None]
    labels[:2] = [[0], [1]]
    params = {"random_splits": True, "seed": seed, "shuffle_ties": True, "max_features": 6, **params}
    return Case(X, labels=labels, params=params)


def grow(case: Case, plan: Any) -> tuple[list[dict[str, Any]], Any]:
    trees, importances = _core.grow_forest(*case.make_arguments(), plan)
    return [trees.describe(k, "gini") for k in range(plan.n_trees)], importances


def assert_trees_of_trees_alone(case: Case, plan: Any) -> int:
    """The number of nodes."""
    n_nodes = case.count_nodes(plan)["trees_together"]
    together, importances = grow(case, plan)
    case.params = {**case.params, "routes": switch_off("trees_together")}
    assert case.count_nodes(plan)["trees_together"] == 0
    alone, expected = grow(case, plan)
    np.testing.assert_array_equal(importances, expected)
    for one, other in zip(together, alone, strict=True):
        for name, array in other.items():
            np.testing.assert_array_equal(one[name], array, err_msg=name)
    if "ccp_alpha" not in case.params:
        assert n_nodes == sum(len(tree["feature"]) for tree in alone)
    return n_nodes


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("max_features", [1, 9, 60])
def test_trees_are_those_of_trees_alone(rules: str, max_features: int) -> None:
    for seed in range(6):
        rng = np.random.default_rng([seed, max_features])
        n_rows, n_cols = int(rng.integers(8, 600)), int(rng.integers(65, 200))
        case = make_case(seed, n_rows, n_cols, max_features=max_features, **RULES[rules])
        assert case.describe_routes(in_forest=True)["trees_together"] == ""
        assert assert_trees_of_trees_alone(case, make_plan()) >= 7


@pytest.mark.parametrize("n_rows", [4079, 4080, 5003])
def test_nodes_of_more_rows_than_a_byte_counts_vectors(n_rows: int) -> None:
    assert assert_trees_of_trees_alone(make_case(2, n_rows, 70), make_plan()) > 1000


def test_folds_and_features_of_members() -> None:
    for seed in range(4):
        case = make_case(seed, 300, 120)
        case.weights = (np.arange(300) % 3 > 0).astype(float)
        assert assert_trees_of_trees_alone(case, make_plan(n_features=40)) > 7


def test_trees_equal_their_twins() -> None:
    for seed in range(4):
        case, plan = make_case(seed, 120, 80, max_features=9), make_plan()
        assert case.count_nodes(plan)["trees_together"] > 7
        trees, importances = grow(case, plan)
        for k in (0, plan.n_trees - 1):
            case.params["tree"] = plan.first_tree + k
            compare_tree(case, {**trees[k], "importances": importances[k]})


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_threads_change_nothing(n_jobs: int) -> None:
    case, plan = make_case(1, 500, 100), make_plan(20)
    trees, _ = grow(case, plan)
    case.params["n_jobs"] = n_jobs
    for one, other in zip(trees, grow(case, plan)[0], strict=True):
        np.testing.assert_array_equal(one["threshold"], other["threshold"])


def test_other_tables_and_samples_are_refused() -> None:
    case = make_case(0, 200, 90)
    case.weights = np.arange(200) % 3 + 1.0
    assert case.describe_routes(in_forest=True)["trees_together"] == "rows do not weigh one"
    assert case.count_nodes(make_plan())["trees_together"] == 0
    case = make_case(0, 200, 90)
    plan = make_plan()
    plan.sampling.n_draws = 200
    assert case.count_nodes(plan)["trees_together"] == 0
    assert case.count_nodes(make_plan(3))["trees_together"] == 0
    case.X[5, 7] = np.nan
    case = Case(case.X, labels=case.labels, params=case.params)
    reason = "a column is categorical or has missing values"
    assert case.describe_routes(in_forest=True)["trees_together"] == reason
    assert case.count_nodes(make_plan())["trees_together"] == 0


def test_tables_of_many_rows_are_refused() -> None:
    X = np.tile(np.arange(65.0), (1 << 15, 1))
    X[::3, 0] = 5.0
    labels = (np.arange(len(X)) % 2).astype(np.uint32)[:, None]
    params = {"random_splits": True, "shuffle_ties": True, "max_features": 6, "max_depth": 2}
    case = Case(X, labels=labels, params=params)
    assert assert_trees_of_trees_alone(case, make_plan()) >= 7
    more = Case(np.vstack([X, X[:1]]), labels=np.vstack([labels, labels[:1]]), params=params)
    assert more.describe_routes(in_forest=True)["trees_together"] == "there are more than 32,768 rows"
