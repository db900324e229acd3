"""The fast paths of tree growth: each is taken where it should be, says why not elsewhere, and changes no tree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.growth_cases import CRITERIA, ROUTES, Case, draw_case, draw_target, switch_off

N_ROWS = 4000


def make_case(kind: str, **params: Any) -> Case:
    """A table of continuous columns and of some with two values, and a target of some kind."""
    rng = np.random.default_rng(len(kind))
    X = rng.normal(size=(N_ROWS, 8 if kind != "packed" else 40))
    X[:, 3] = X[:, 3] > 0.0
    if kind == "packed":
        X[:, 4:] = X[:, 4:] > 0.5
    params = {"seed": 3, "shuffle_ties": True, **params}
    if kind == "values":
        params = {"criterion": "squared_error", **params}
        return Case(X, values=X[:, :1] + rng.normal(size=(N_ROWS, 1)), params=params)
    n_classes = {"two": 2, "three": 3, "packed": 5, "ten": 10}[kind]
    labels = draw_target(rng, "gini", N_ROWS, n_classes=n_classes)["labels"]
    labels[X[:, 0] > 0.5] %= 2
    return Case(X, labels=labels, params=params)


def make_wide(**params: Any) -> Case:
    """A table of more columns than a record has, two classes."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(600, 90))
    return Case(X, labels=(X[:, :1] > 0.1).astype(np.uint32), params={"seed": 3, "shuffle_ties": True, **params})


def make_plan(n_trees: int = 8) -> Any:
    plan = _core.ForestPlan()
    plan.n_trees = n_trees
    return plan


EXTRA = {"random_splits": True, "max_features": 3}
#: For every route a case that takes it; those of forests need a plan.
TAKEN: dict[str, tuple[Case, bool]] = {
    "dense_histograms": (make_case("values"), False),
    "subtree": (make_case("two"), False),
    "presorted_rows": (make_case("values"), False),
    "few_rows": (make_case("two", max_features=3), False),
    "two_valued": (make_case("two"), False),
    "packed_records": (make_case("packed", max_features=6), True),
    "random_thresholds": (make_case("two", **EXTRA, routes=switch_off("extra_trees_bitmap")), False),
    "multiclass_block": (make_case("three", max_features=3), False),
    "extra_trees_bitmap": (make_case("two", **EXTRA), False),
    "compact_tree": (make_case("two", **EXTRA), True),
    "sorted_lists": (make_case("three", exact=True), False),
    "trees_together": (make_wide(random_splits=True, max_features=9), True),
    "bin_bounds": (make_case("two", exact=True), False),
    "extra_trees_values": (make_case("values", **EXTRA), False),
}


def grow_any(case: Case, in_forest: bool) -> list[dict[str, Any]]:
    if not in_forest:
        return [case.grow()]
    plan = make_plan()
    trees, importances = _core.grow_forest(*case.make_arguments(), plan)
    described = [trees.describe(k, case.make_params().criterion) for k in range(plan.n_trees)]
    return [{**tree, "importances": own} for tree, own in zip(described, importances, strict=True)]


def assert_same(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> None:
    for one, other in zip(some, others, strict=True):
        assert one.keys() == other.keys()
        for name, array in one.items():
            np.testing.assert_array_equal(array, other[name], err_msg=name)


def test_every_route_has_a_case() -> None:
    assert tuple(TAKEN) == ROUTES
    for _, what, when in _core.list_routes():
        assert len(what) > 20
        assert len(when) > 20


@pytest.mark.parametrize("route", ROUTES)
def test_a_route_is_taken_and_changes_no_tree(route: str) -> None:
    case, in_forest = TAKEN[route]
    plan = make_plan() if in_forest else None
    assert case.describe_routes(in_forest)[route] == ""
    assert case.count_nodes(plan)[route] > 1
    mask = case.make_params().routes
    without = Case(case.X, case.labels, case.values, params={**case.params, "routes": mask & switch_off(route)})
    assert without.describe_routes(in_forest)[route] == "switched off by params.routes"
    assert without.count_nodes(plan)[route] == 0
    assert_same(grow_any(case, in_forest), grow_any(without, in_forest))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_the_general_loop_alone_gives_the_same_trees(criterion: str) -> None:
    n_taken = 0
    for seed in range(40):
        case = draw_case(np.random.default_rng([seed, 7]), criterion)
        whole, described, nodes = case.grow(), case.describe_routes(), case.count_nodes()
        n_taken += sum(nodes.values()) > 0
        assert all(nodes[route] == 0 for route, reason in described.items() if reason)
        rng = np.random.default_rng(seed)
        for mask in (0, *rng.integers(1 << len(ROUTES), size=4)):
            case.params = {**case.params, "routes": int(mask)}
            assert_same([whole], [case.grow()])
        case.params = {**case.params, "routes": 0}
        assert not any(case.count_nodes().values())
    assert n_taken > 2 or criterion == "absolute_error"


BOUNDED = "the criterion is not gini of two classes or squared_error of one output"
REFUSED: tuple[tuple[str, dict[str, Any], str, str], ...] = (
    ("two", {"max_features": 3}, "dense_histograms", "features are drawn at each node"),
    ("two", {"max_leaf_nodes": 9}, "subtree", "max_leaf_nodes grows best-first"),
    ("two", {"monotonic": [1] + [0] * 7}, "subtree", "there are monotone constraints"),
    ("two", {"interaction_groups": [[0, 1]]}, "subtree", "there are interaction constraints"),
    ("values", {"criterion": "absolute_error"}, "subtree", "absolute error and log-rank rank the rows of each node"),
    ("values", {"exact": True, "max_features": 3}, "subtree", "splits are exact and features are drawn at each node"),
    ("two", {"exact": True, "random_splits": True}, "subtree", "splits are exact and thresholds are random"),
    ("three", {"exact": True}, "multiclass_block", "splits are exact"),
    ("two", {"exact": True}, "two_valued", "splits are exact"),
    ("values", {"min_samples_leaf": 2}, "presorted_rows", "min_samples_leaf is above 1"),
    ("values", {"criterion": "poisson"}, "presorted_rows", "the criterion is not squared_error"),
    ("three", {"criterion": "entropy"}, "multiclass_block", "the criterion is not gini"),
    ("ten", {}, "multiclass_block", "there are more than 8 classes"),
    ("packed", {}, "packed_records", "a single tree does not pack the records"),
    ("two", EXTRA | {"shuffle_ties": False}, "extra_trees_bitmap", "equal splits go to the lowest feature"),
    ("two", EXTRA | {"min_weight_leaf": 3.0}, "extra_trees_bitmap", "min_weight_leaf is above the weight of a row"),
    ("two", EXTRA, "compact_tree", "a single tree is not kept as a list of nodes"),
    ("values", EXTRA | {"criterion": "friedman_mse"}, "extra_trees_values", "the criterion is not squared_error"),
    ("values", EXTRA | {"min_samples_leaf": 2}, "extra_trees_values", "min_samples_leaf is above 1"),
    ("values", EXTRA | {"shuffle_ties": False}, "extra_trees_values", "equal splits go to the lowest feature"),
    ("values", EXTRA | {"min_impurity_decrease": 0.1}, "extra_trees_values", "min_impurity_decrease is set"),
    ("values", {"max_features": 3}, "extra_trees_values", "thresholds are not random"),
    ("two", EXTRA, "extra_trees_values", "the criterion is not squared_error"),
    ("two", {}, "sorted_lists", "splits are not exact"),
    ("two", EXTRA, "trees_together", "a single tree is grown alone"),
    ("three", {"exact": True, "max_features": 3}, "sorted_lists", "features are drawn at each node"),
    ("three", {"exact": True, "max_leaf_nodes": 9}, "sorted_lists", "max_leaf_nodes grows best-first"),
    ("two", {}, "bin_bounds", "splits are not exact"),
    ("two", {"exact": True, "random_splits": True}, "bin_bounds", "thresholds are random"),
    ("values", {"exact": True, "min_samples_leaf": 2}, "bin_bounds", "min_samples_leaf is above 1"),
    ("values", {"exact": True, "monotonic": [1] + [0] * 7}, "bin_bounds", "there are monotone constraints"),
    ("three", {"exact": True}, "bin_bounds", BOUNDED),
    ("two", {"exact": True, "criterion": "entropy"}, "bin_bounds", BOUNDED),
    ("three", {"exact": True}, "dense_histograms", "exact splits, absolute error and log-rank sort the rows"),
)


@pytest.mark.parametrize(("kind", "params", "route", "reason"), REFUSED)
def test_a_refused_route_gives_its_reason(kind: str, params: dict[str, Any], route: str, reason: str) -> None:
    case = make_case(kind, **params)
    if kind == "values" and params.get("criterion") == "poisson":
        case.values = np.abs(case.values)
    assert case.describe_routes()[route] == reason
    assert case.count_nodes()[route] == 0


def test_categories_and_outputs_are_grown_by_the_general_loop() -> None:
    rng = np.random.default_rng(0)
    X, labels = rng.integers(0, 4, size=(300, 3)).astype(float), rng.integers(0, 2, size=(300, 2)).astype(np.uint32)
    case = Case(X, labels=labels[:, :1], n_levels=np.array([0, 4, 0], np.uint32))
    assert case.describe_routes()["subtree"] == "a column is categorical"
    case.params = {"member_features": [0, 2]}
    assert case.describe_routes()["subtree"] == ""
    assert Case(X, labels=labels).describe_routes()["subtree"] == "there are several outputs"
    assert Case(np.tile(X, 30), labels=labels[:, :1]).describe_routes()["subtree"] == "there are more than 64 columns"


LISTED = {
    "classes": ("gini", 2, {}),
    "many classes": ("gini", 6, {}),
    "entropy": ("entropy", 3, {"min_samples_leaf": 3}),
    "values": ("squared_error", 0, {}),
    "monotone": ("squared_error", 0, {"monotonic": [1, 0, -1, 0, 0]}),
    "groups": ("gini", 2, {"interaction_groups": [[0, 1, 2], [2, 3], [4]]}),
    "members": ("gini", 2, {"member_features": [0, 2, 4]}),
    "three threads": ("gini", 2, {"n_jobs": 3}),
}


@pytest.mark.parametrize("missing", [0.0, 0.1])
@pytest.mark.parametrize("name", LISTED)
def test_sorted_lists_and_bins_of_values_give_the_trees_of_sorted_nodes(name: str, missing: float) -> None:
    criterion, n_classes, params = LISTED[name]
    rng = np.random.default_rng(len(name))
    X = rng.normal(size=(3000, 5))
    X[:, 1] = np.round(X[:, 1] * 3)
    X[:, 3] = X[:, 3] > 1.0
    X[rng.random(X.shape) < missing] = np.nan
    target = draw_target(rng, criterion, len(X), n_classes=max(n_classes, 1))
    levels = np.zeros(5, np.uint32)
    if name == "classes":
        X[:, 4] = rng.integers(0, 7, size=len(X))
        levels[4] = 7
    weights = rng.integers(0, 3, size=len(X)).astype(float)
    params = {"criterion": criterion, "exact": True, "routes": switch_off("bin_bounds"), **params}
    case = Case(X, weights=weights, n_levels=levels, params=params, **target)
    whole = case.grow()
    is_subtree = case.describe_routes()["subtree"] == ""
    assert case.count_nodes()["sorted_lists"] > (10 if is_subtree else 100)
    assert (case.count_nodes()["subtree"] > 100) == is_subtree
    for routes in (switch_off("sorted_lists"), switch_off("subtree"), switch_off("presorted_rows"), 0):
        case.params = {**case.params, "routes": routes}
        assert_same([whole], [case.grow()])


BOUNDS: dict[str, tuple[str, dict[str, Any]]] = {
    "classes": ("gini", {}),
    "classes, shuffled": ("gini", {"shuffle_ties": True, "seed": 5}),
    "classes, drawn": ("gini", {"max_features": 2}),
    "classes, best first": ("gini", {"max_leaf_nodes": 40}),
    "classes, three threads": ("gini", {"n_jobs": 3}),
    "values": ("squared_error", {}),
    "values, drawn": ("squared_error", {"max_features": 2}),
    "values, groups": ("squared_error", {"interaction_groups": [[0, 1, 2], [2, 3], [4, 5]]}),
    "values, three threads": ("squared_error", {"n_jobs": 3}),
}


def make_bounds_case(name: str, target: str, missing: float) -> Case:
    """Columns of many values, few values, one frequent value, and one bin that has several values."""
    criterion, params = BOUNDS[name]
    rng = np.random.default_rng([len(name), len(target)])
    X = rng.normal(size=(6000, 6))
    X[:, 1] = np.round(X[:, 1] * 3)
    X[rng.random(6000) < 0.7, 2] = 0.0
    X[:, 3] = X[:, 3] > 1.0
    X[:, 4] = np.where(rng.random(6000) < 0.99, np.round(X[:, 4]), X[:, 4])
    X[rng.random(X.shape) < missing] = np.nan
    signal = np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 1] * X[:, 2])
    y = {"noise": 0.0, "signal": 1.0, "outliers": 1.0}[target] * signal + rng.normal(size=6000)
    if target == "outliers":
        y[rng.integers(6000, size=5)] *= 1e6
    weights = rng.integers(0, 3, size=6000).astype(float) if target == "signal" else None
    given = {"labels": (y[:, None] > 0).astype(np.uint32)} if criterion == "gini" else {"values": y[:, None]}
    return Case(X, weights=weights, params={"criterion": criterion, "exact": True, **params}, **given)


@pytest.mark.parametrize("missing", [0.0, 0.001])
@pytest.mark.parametrize("target", ["noise", "signal", "outliers"])
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_from_bins_give_the_trees_of_sorted_nodes(name: str, target: str, missing: float) -> None:
    case = make_bounds_case(name, target, missing)
    whole = case.grow()
    assert case.describe_routes()["bin_bounds"] == ""
    assert case.count_nodes()["bin_bounds"] > 0
    for routes in (switch_off("bin_bounds"), switch_off("dense_histograms"), switch_off("subtree"), 0):
        case.params = {**case.params, "routes": routes}
        assert_same([whole], [case.grow()])


@pytest.mark.parametrize("max_bins", [3, 16])
@pytest.mark.parametrize("name", ["classes", "values"])
def test_lists_are_made_where_bins_bound_little(name: str, max_bins: int) -> None:
    case = make_bounds_case(name, "noise", 0.0)
    case.max_bins = max_bins
    whole, nodes = case.grow(), case.count_nodes()
    assert nodes["sorted_lists"] > 1
    case.params = {**case.params, "routes": 0}
    assert_same([whole], [case.grow()])
