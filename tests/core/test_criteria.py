"""Laws that every split criterion keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.core.growth_cases import CLASS_CRITERIA, CRITERIA, VALUE_CRITERIA, Case, draw_table, draw_target
from tests.naive.criteria import measure_class_impurity, measure_value_impurity

every_criterion = pytest.mark.parametrize("criterion", CRITERIA)
class_criterion = pytest.mark.parametrize("criterion", CLASS_CRITERIA)


def group_rows(case: Case) -> set[frozenset[int]]:
    """The leaves as sets of rows, whatever their order in the tree."""
    leaves = case.grow_trees()[0].apply(case.X, 1)[:, 0]
    return {frozenset(np.flatnonzero(leaves == leaf).tolist()) for leaf in np.unique(leaves)}


@class_criterion
def test_impurity_of_classes_is_the_formula(criterion: str) -> None:
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n_classes = int(rng.integers(1, 9))
        labels = np.repeat(np.arange(n_classes), rng.integers(1, 30, size=n_classes)).astype(np.uint32)[:, None]
        weights = rng.random(len(labels)) + 0.01 if seed % 2 else None
        params = {"criterion": criterion, "max_depth": 0}
        tree = Case(np.zeros((len(labels), 1)), labels=labels, weights=weights, params=params).grow()
        impurity = measure_class_impurity(criterion, np.bincount(labels[:, 0], weights=weights).astype(float))
        np.testing.assert_allclose(tree["impurity"], [impurity], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("criterion", VALUE_CRITERIA)
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_impurity_of_values_is_the_formula_far_from_zero_too(criterion: str, shift: float) -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.random((300, 2)) + shift, rng.random(300)
    params = {"criterion": criterion, "max_depth": 0}
    tree = Case(np.zeros((300, 1)), values=values, weights=weights, params=params).grow()
    expected = np.mean(
        [measure_value_impurity(criterion, y - shift * (criterion != "poisson"), weights) for y in values.T]
    )
    # The deviance of rates with so little spread is a difference of numbers 1e13 times as large.
    atol = 1e-6 if criterion == "poisson" and shift else 0.0
    np.testing.assert_allclose(tree["impurity"], [expected], rtol=1e-7, atol=atol)


@every_criterion
def test_pure_nodes_have_no_impurity_and_are_not_split(criterion: str) -> None:
    X = np.random.default_rng(0).normal(size=(64, 2))
    target = (
        {"labels": np.full((64, 1), 2, np.uint32)} if criterion in CLASS_CRITERIA else {"values": np.full((64, 1), 0.1)}
    )
    for weights in (None, np.random.default_rng(1).random(64)):
        tree = Case(X, weights=weights, params={"criterion": criterion}, **target).grow()
        assert tree["feature"].tolist() == [-2]
        assert 0.0 <= tree["impurity"][0] < 1e-15


@every_criterion
def test_full_trees_end_in_pure_leaves(criterion: str) -> None:
    # All rows differ, so nothing but purity may stop the growth; not even splits that gain nothing by themselves.
    rng = np.random.default_rng(1)
    X = rng.permutation(400).reshape(200, 2).astype(float)
    target = draw_target(rng, criterion, 200, n_classes=3)
    tree = Case(X, params={"criterion": criterion}, **target).grow()
    leaves = tree["children_left"] < 0
    # A child without events has no Poisson rate, so such leaves are not split off.
    bound = np.inf if criterion == "poisson" else 1e-12
    assert tree["impurity"][leaves].max() < bound
    xor = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    labels = np.array([[0], [1], [1], [0]])
    target = {"labels": labels.astype(np.uint32)} if criterion in CLASS_CRITERIA else {"values": labels + 1.0}
    assert len(Case(xor, params={"criterion": criterion}, **target).grow()["feature"]) == 7


@every_criterion
def test_no_split_raises_the_impurity(criterion: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        weights = rng.random(80) + 0.1
        case = Case(
            draw_table(rng, 80, 3, 6, 0.1),
            weights=weights,
            params={"criterion": criterion},
            **draw_target(rng, criterion, 80),
        )
        tree = case.grow()
        inner = np.flatnonzero(tree["children_left"] >= 0)
        weighted = tree["weighted_n_node_samples"] * tree["impurity"]
        below = weighted[tree["children_left"][inner]] + weighted[tree["children_right"][inner]]
        assert (weighted[inner] - below >= -1e-9).all()
        assert (tree["importances"] >= 0).all()


@class_criterion
def test_names_of_the_classes_do_not_matter(criterion: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(60, 3))
        labels = draw_target(rng, criterion, 60, n_classes=4)["labels"]
        renamed = rng.permutation(4).astype(np.uint32)[labels]
        params = {"criterion": criterion, "max_depth": 3, "min_samples_leaf": 3}
        groups = [group_rows(Case(X, labels=y, params=params)) for y in (labels, renamed)]
        assert groups[0] == groups[1]


@every_criterion
def test_turning_a_feature_round_turns_the_tree_round(criterion: str) -> None:
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(70, 3))
        target = draw_target(rng, criterion, 70)
        if "values" in target:
            target["values"] = rng.gamma(2.0, size=(70, 1))  # no ties between cuts
        params = {"criterion": criterion, "max_depth": 4, "exact": True}
        trees = [Case(x, params=params, **target).grow() for x in (X, -X)]
        if criterion in ("squared_error", "friedman_mse", "poisson"):
            assert group_rows(Case(X, params=params, **target)) == group_rows(Case(-X, params=params, **target))
        # With ties the lowest cut comes first, which is another one; the first split is as good.
        decreases = [
            t["importances"].sum()
            for t in (Case(x, params={**params, "max_depth": 1}, **target).grow() for x in (X, -X))
        ]
        np.testing.assert_allclose(decreases[0], decreases[1], rtol=1e-9)
        assert len(trees[0]["feature"]) > 1


@pytest.mark.parametrize("factor", [2.0**-300, 1e-9, 1e9, 2.0**300])
@pytest.mark.parametrize("criterion", VALUE_CRITERIA)
def test_units_of_the_target_do_not_matter(criterion: str, factor: float) -> None:
    rng = np.random.default_rng(2)
    X, values = rng.normal(size=(150, 3)), rng.gamma(2.0, size=(150, 2))
    params: dict[str, Any] = {"criterion": criterion, "max_depth": 5}
    assert group_rows(Case(X, values=values, params=params)) == group_rows(
        Case(X, values=values * factor, params=params)
    )


@pytest.mark.parametrize("criterion", VALUE_CRITERIA)
def test_several_outputs_of_equal_targets_split_like_one(criterion: str) -> None:
    rng = np.random.default_rng(3)
    X, values = rng.normal(size=(150, 3)), rng.gamma(2.0, size=(150, 1))
    params = {"criterion": criterion, "max_depth": 4}
    one, three = (Case(X, values=np.repeat(values, k, axis=1), params=params).grow() for k in (1, 3))
    np.testing.assert_array_equal(one["threshold"], three["threshold"])
    np.testing.assert_allclose(one["impurity"], three["impurity"], rtol=1e-12)
    np.testing.assert_allclose(one["importances"], three["importances"], rtol=1e-12)
