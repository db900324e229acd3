"""The grower against its twin, against brute force and against scikit-learn."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import _core
from tests.core.growth_cases import (
    CLASS_CRITERIA,
    CRITERIA,
    VALUE_CRITERIA,
    Case,
    compare,
    draw_case,
    draw_table,
    draw_target,
    draw_weights,
)

every_criterion = pytest.mark.parametrize("criterion", CRITERIA)


@every_criterion
def test_trees_equal_their_twins(criterion: str) -> None:
    n_nodes = [compare(draw_case(np.random.default_rng(seed), criterion)) for seed in range(48)]
    assert sum(n > 3 for n in n_nodes) > 20  # most of them are trees indeed


@settings(max_examples=150, deadline=None, derandomize=True)
@given(data=st.data())
def test_trees_equal_their_twins_on_tiny_tables(data: st.DataObject) -> None:
    n_rows, n_cols = data.draw(st.integers(2, 9)), data.draw(st.integers(1, 3))
    cell = st.sampled_from([0.0, 1.0, 2.0, np.nan])
    X = np.array(
        data.draw(st.lists(st.lists(cell, min_size=n_cols, max_size=n_cols), min_size=n_rows, max_size=n_rows))
    )
    y = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))[:, None]
    y[0] = 1
    weights = data.draw(st.none() | st.lists(st.sampled_from([1.0, 2.0, 0.5, 0.7]), min_size=n_rows, max_size=n_rows))
    criterion = data.draw(st.sampled_from(CRITERIA))
    target = {"labels": y.astype(np.uint32)} if criterion in CLASS_CRITERIA else {"values": y.astype(float)}
    params = {"criterion": criterion, "exact": data.draw(st.booleans())}
    compare(Case(X, weights=None if weights is None else np.array(weights), params=params, **target))


@pytest.mark.parametrize("kind", ["none", "integer", "fraction"])
@every_criterion
def test_large_nodes_with_dense_histograms_equal_their_twins(criterion: str, kind: str) -> None:
    # Above 2048 rows histograms are kept and subtracted; the tree passes that border on its way down.
    rng = np.random.default_rng(5)
    n_rows = 1500 if criterion == "absolute_error" else 5000
    X = draw_table(rng, n_rows, 4, 5, missing=0.1)
    target = draw_target(rng, criterion, n_rows, n_outputs=1, n_classes=3)
    weights = draw_weights(rng, kind, n_rows)
    assert compare(Case(X, weights=weights, params={"criterion": criterion, "max_depth": 4}, **target)) > 15


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error", "poisson", "absolute_error"])
def test_exact_splits_of_nodes_of_every_size_equal_their_twins(criterion: str) -> None:
    # Rows are sorted by insertion, in buckets or by digits; a value that most rows have fills a bucket.
    rng = np.random.default_rng(7)
    X = rng.normal(size=(1300, 3))
    X[rng.random(1300) < 0.6, 1] = 0.0
    X[:, 2] = np.where(rng.random(1300) < 0.9, np.round(X[:, 2] * 40), X[:, 2])
    target = draw_target(rng, criterion, 1300)
    y = next(iter(target.values()))
    y[X[:, 0] + X[:, 1] > 0.5] = 1
    assert compare(Case(X, params={"criterion": criterion, "exact": True, "max_depth": 7}, **target)) > 30


@pytest.mark.parametrize("max_bins", [7, 255])
@pytest.mark.parametrize("criterion", ["gini", "squared_error"])
def test_exact_splits_by_bounds_of_bins_equal_their_twins(criterion: str, max_bins: int) -> None:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(2500, 4))
    X[rng.random(2500) < 0.6, 1] = 0.0
    X[:, 2] = np.round(X[:, 2] * 4)
    target = draw_target(rng, criterion, 2500)
    y = next(iter(target.values()))
    y[X[:, 0] + X[:, 1] > 0.5] = 1
    case = Case(X, max_bins=max_bins, params={"criterion": criterion, "exact": True, "max_depth": 5}, **target)
    assert case.count_nodes()["bin_bounds"] > 0
    assert compare(case) > 15


@pytest.mark.parametrize("n_rows", [300, 2300])
@pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 2), ("entropy", 5), ("squared_error", 0)])
def test_many_columns_in_several_record_groups(criterion: str, n_classes: int, n_rows: int) -> None:
    rng = np.random.default_rng(n_rows)
    X = draw_table(rng, n_rows, 135, 3, missing=0.05)
    target = draw_target(rng, criterion, n_rows, n_classes=n_classes)
    y = next(iter(target.values()))
    y[X[:, 130] == 1.0] = 1  # the winner sits in the last group
    assert compare(Case(X, params={"criterion": criterion, "max_depth": 2}, **target)) > 5


@pytest.mark.parametrize("max_features", [135, 20, 3])
@pytest.mark.parametrize("random_splits", [False, True])
@pytest.mark.parametrize(("criterion", "n_classes"), [("gini", 2), ("gini", 4), ("entropy", 2), ("squared_error", 0)])
def test_features_of_several_record_groups_are_searched_together(
    criterion: str, n_classes: int, random_splits: bool, max_features: int
) -> None:
    rng = np.random.default_rng(max_features)
    X = draw_table(rng, 300, 135, 20, missing=0.02)
    X[:, 70] = np.where(rng.random(300) < 0.5, 3.0, X[:, 70])
    params = {"criterion": criterion, "random_splits": random_splits, "max_features": max_features}
    params |= {"max_depth": 6, "seed": 3}
    assert compare(Case(X, params=params, **draw_target(rng, criterion, 300, n_classes=n_classes))) > 5
    # Categories between them; of more classes the twin does not know their order.
    n_levels = np.zeros(135, dtype=np.uint32)
    n_levels[[10, 64, 100]] = 20
    case = Case(X, n_levels=n_levels, params=params, **draw_target(rng, criterion, 300, n_classes=2))
    assert compare(case) > 5


@every_criterion
def test_categories_with_more_than_255_levels(criterion: str) -> None:
    rng = np.random.default_rng(3)
    n_rows, n_levels = 900, np.array([300, 0], dtype=np.uint32)
    levels = np.floor(300 * rng.random(n_rows) ** 5)  # some of many rows, and more than 255 of a few that stay together
    X = np.column_stack([levels, rng.normal(size=n_rows).round(1)])
    X[rng.random(n_rows) < 0.1, 0] = np.nan
    case = Case(
        X, n_levels=n_levels, params={"criterion": criterion, "max_depth": 2}, **draw_target(rng, criterion, n_rows)
    )
    compare(case)
    assert 0 in case.grow()["feature"]


def measure_root_decrease(tree: dict[str, Any]) -> float:
    """Weighted impurity decrease of the first split."""
    weighted = tree["weighted_n_node_samples"] * tree["impurity"]
    left, right = tree["children_left"][0], tree["children_right"][0]
    return float(weighted[0] - weighted[left] - weighted[right]) if left > 0 else 0.0


@pytest.mark.parametrize("criterion", ["gini", "entropy", "error", "squared_error", "friedman_mse", "poisson"])
def test_no_subset_of_categories_is_better(criterion: str) -> None:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        n_rows, n_levels = 60, 7
        X = rng.integers(0, n_levels, size=(n_rows, 1)).astype(float)
        X[rng.random(n_rows) < 0.1] = np.nan
        target, weights = draw_target(rng, criterion, n_rows), draw_weights(rng, ["none", "fraction"][seed % 2], n_rows)
        params = {"criterion": criterion, "max_depth": 1}
        grown = Case(X, weights=weights, n_levels=np.array([n_levels], np.uint32), params=params, **target).grow()
        levels = [*range(n_levels), np.nan]
        best = 0.0
        for size in range(1, len(levels)):
            for subset in combinations(levels, size):
                inside = np.isin(X, [k for k in subset if k == k]) | (np.isnan(X) & any(k != k for k in subset))
                if 0 < inside.sum() < n_rows:
                    params = {"criterion": criterion, "max_depth": 1}
                    tree = Case(inside.astype(float), weights=weights, params=params, **target).grow()
                    best = max(best, measure_root_decrease(tree))
        np.testing.assert_allclose(measure_root_decrease(grown), best, rtol=1e-9)


@pytest.mark.parametrize("criterion", ["gini", "entropy", "squared_error"])
def test_the_principal_axis_finds_nearly_the_best_subset(criterion: str) -> None:
    # Several classes or outputs: no order of the levels holds the best subset for sure [Coppersmith1999].
    shares = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 6, size=(200, 1)).astype(float)
        target = draw_target(rng, criterion, 200, n_outputs=2, n_classes=3)
        y = next(iter(target.values()))
        y[:, 0] = np.where(rng.random(200) < 0.5, X[:, 0] % 3, y[:, 0])
        params = {"criterion": criterion, "max_depth": 1}
        found = measure_root_decrease(Case(X, n_levels=np.array([6], np.uint32), params=params, **target).grow())
        best = max(
            measure_root_decrease(Case(np.isin(X, subset).astype(float), params=params, **target).grow())
            for size in (1, 2, 3)
            for subset in combinations(range(6), size)
        )
        assert found <= best * (1 + 1e-9)
        shares.append(found / best)
    assert np.mean(shares) > 0.95


@every_criterion
def test_bins_of_single_values_give_the_exact_tree(criterion: str) -> None:
    rng = np.random.default_rng(11)
    n_rows = 400
    X = rng.integers(0, 200, size=(n_rows, 3)) ** 2 / 8.0
    X[rng.random(X.shape) < 0.1] = np.nan
    target, params = draw_target(rng, criterion, n_rows, n_classes=3), {"criterion": criterion, "max_depth": 9}
    binned, exact = (Case(X, params={**params, "exact": exact}, **target) for exact in (False, True))
    one, other = binned.grow(), exact.grow()
    for name in ("children_left", "feature", "missing_go_to_left", "n_node_samples", "impurity", "value"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    # Thresholds may lie elsewhere between the same two values of the node.
    trees = [case.grow_trees()[0] for case in (binned, exact)]
    np.testing.assert_array_equal(trees[0].apply(X, 1), trees[1].apply(X, 1))


@pytest.mark.parametrize("params", [{}, {"max_leaf_nodes": 12}, {"min_samples_leaf": 9, "min_samples_split": 30}])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("criterion", ["gini", "entropy", *VALUE_CRITERIA])
def test_trees_equal_those_of_scikit_learn_where_ties_do_not_decide(
    criterion: str, weighted: bool, params: dict[str, int]
) -> None:
    rng = np.random.default_rng(17)
    n_rows = 500
    X = rng.normal(size=(n_rows, 4)).astype(np.float32).astype(float)
    signal = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n_rows)
    weights = rng.random(n_rows) + 0.5 if weighted else None
    limits = {"max_depth": 6, "min_samples_leaf": 6, **params}
    if criterion in CLASS_CRITERIA:
        y = np.digitize(signal, [-0.5, 0.7])
        target, model = {"labels": y[:, None].astype(np.uint32)}, DecisionTreeClassifier
    else:
        y = np.exp(signal / 2)
        target, model = {"values": y[:, None]}, DecisionTreeRegressor
    # Friedman's score orders the splits of a node, and its leaves, as the squared error does.
    their_criterion = "squared_error" if criterion == "friedman_mse" else criterion
    theirs = model(criterion=their_criterion, random_state=0, **limits).fit(X, y, weights).tree_
    ours = Case(X, weights=weights, params={"criterion": criterion, "exact": True, **limits}, **target).grow()
    stack, n_nodes = [(0, 0)], 0
    while stack:
        mine, other = stack.pop()
        n_nodes += 1
        if theirs.impurity[other] < 1e-12:  # pure; with weights theirs may be split further, by rounding
            assert ours["feature"][mine] == -2
            continue
        assert ours["feature"][mine] == theirs.feature[other]
        assert ours["n_node_samples"][mine] == theirs.n_node_samples[other]
        np.testing.assert_allclose(ours["threshold"][mine], theirs.threshold[other], rtol=1e-6)
        np.testing.assert_allclose(ours["impurity"][mine], theirs.impurity[other], rtol=1e-7, atol=1e-12)
        if theirs.children_left[other] >= 0:
            stack.append((ours["children_left"][mine], theirs.children_left[other]))
            stack.append((ours["children_right"][mine], theirs.children_right[other]))
        else:
            value = ours["value"][mine]
            value = value / value.sum() if criterion in CLASS_CRITERIA else value
            np.testing.assert_allclose(value, theirs.value[other, 0], rtol=1e-7)
    assert n_nodes == len(ours["feature"])
    assert n_nodes > 20
    importances = ours["importances"] / ours["importances"].sum()
    np.testing.assert_allclose(importances, theirs.compute_feature_importances(), rtol=1e-6)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_training_rows_fall_into_the_leaves_that_counted_them(criterion: str) -> None:
    for seed in range(30):
        case = draw_case(np.random.default_rng(seed + 1000), criterion)
        trees, _ = case.grow_trees()
        tree = trees.describe(0, criterion)
        present = slice(None) if case.weights is None else case.weights > 0
        nodes, counts = np.unique(trees.apply(case.X, 1)[present, 0], return_counts=True)
        leaves = np.flatnonzero(tree["children_left"] < 0)
        np.testing.assert_array_equal(nodes, leaves)
        np.testing.assert_array_equal(counts, tree["n_node_samples"][leaves])


def test_a_full_tree_repeats_its_training_targets_exactly() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) * 100
    for weights in (None, rng.random(500) + 0.1):
        for criterion in ("squared_error", "absolute_error"):
            params = {"criterion": criterion, "exact": True}
            trees, _ = Case(X, values=y, weights=weights, params=params).grow_trees()
            np.testing.assert_array_equal(trees.predict(X, combine="sum", n_jobs=1), y)


def test_large_integer_weights_do_not_overflow() -> None:
    n_rows = 1 << 20
    X = (np.arange(n_rows) % 2).astype(float)[:, None]
    y = X + 0.5 * (np.arange(n_rows) % 3 == 0)[:, None]
    weights = np.full(n_rows, 65535.0)
    weights[0] = 1.0
    params = {"criterion": "squared_error", "max_depth": 1}
    tree = Case(X, values=y, weights=weights, params=params).grow()
    assert tree["n_node_samples"].tolist() == [n_rows, n_rows // 2, n_rows // 2]
    np.testing.assert_allclose(tree["weighted_n_node_samples"][0], weights.sum(), rtol=1e-12)


def test_missing_values_that_the_bins_never_saw_are_counted_in_large_nodes() -> None:
    rng = np.random.default_rng(0)
    n_rows = 4000
    X = rng.integers(0, 5, size=(n_rows, 2)).astype(float)
    mapper = _core.BinMapper.fit(X, None, np.zeros(2, np.uint32), 255, 1)
    labels = rng.integers(0, 2, size=(n_rows, 1)).astype(np.uint32)
    missing = np.arange(n_rows) % 3 == 0
    labels[missing] = 1
    X[missing, 0] = np.nan
    params = _core.GrowParams()
    params.max_depth, params.n_jobs = 1, 1
    trees, _ = _core.grow_tree(mapper.transform(X, 1), None, labels, [2], None, None, params)
    tree = trees.describe(0, "gini")
    assert tree["feature"][0] == 0
    assert sorted(tree["n_node_samples"][1:]) == sorted([missing.sum(), n_rows - missing.sum()])


def test_monotone_trees_are_monotone_and_interaction_groups_are_kept() -> None:
    rng = np.random.default_rng(2)
    X = rng.normal(size=(800, 3))
    y = np.sin(3 * X[:, :1]) + X[:, 1:2] * X[:, 2:] + X[:, :1]
    case = Case(X, values=y, params={"criterion": "squared_error", "max_depth": 7, "monotonic": [1, 0, -1]})
    trees, _ = case.grow_trees()
    grid = np.repeat(rng.normal(size=(200, 3)), 50, axis=0)
    for feature, sign in ((0, 1), (2, -1)):
        moved = grid.copy()
        moved[:, feature] = np.tile(np.linspace(-3, 3, 50), 200)
        steps = np.diff(trees.predict(moved, combine="sum").reshape(200, 50), axis=1)
        assert (steps * sign >= 0).all()
    groups = [[0, 1], [2]]
    params = {"criterion": "squared_error", "max_depth": 6, "interaction_groups": groups}
    tree = Case(X, values=y, params=params).grow()
    paths = [(0, set())]
    while paths:
        at, met = paths.pop()
        assert any(met <= set(group) for group in groups)
        if tree["feature"][at] >= 0:
            met = met | {int(tree["feature"][at])}
            paths += [(tree["children_left"][at], met), (tree["children_right"][at], met)]


def test_pruning_gives_the_subtrees_of_the_path() -> None:
    rng = np.random.default_rng(4)
    case = Case(rng.normal(size=(300, 3)), labels=rng.integers(0, 3, size=(300, 1)).astype(np.uint32))
    params, binned = case.make_params(), case.bins[1]
    alphas, impurities = _core.find_pruning_path(binned, None, case.labels, [3], None, None, params)
    assert (np.diff(alphas) >= 0).all()
    sizes = []
    for alpha in alphas[::15] + 1e-9:  # so that rounding does not decide
        tree = Case(case.X, labels=case.labels, params={"ccp_alpha": alpha}).grow()
        leaves = tree["children_left"] < 0
        left = (tree["weighted_n_node_samples"] * tree["impurity"])[leaves].sum() / 300
        np.testing.assert_allclose(left, impurities[alphas <= alpha][-1], rtol=1e-9, atol=1e-12)
        sizes.append(leaves.sum())
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) > 3


def refuse(match: str, case: Case, **given: Any) -> None:
    arguments = {"presort": None, "labels": case.labels, "n_classes": case.n_classes, "values": None, "weights": None}
    arguments |= {"params": case.make_params(), **given}
    with pytest.raises(ValueError, match=match):
        _core.grow_tree(case.bins[1], **arguments)


def test_arguments_that_do_not_fit_are_refused_with_a_sentence() -> None:
    case = Case(np.arange(6.0)[:, None], labels=np.array([[0], [1], [0], [1], [0], [1]], dtype=np.uint32))
    refuse("weights must have one entry a row", case, weights=np.ones(5))
    refuse("all sample weights are zero", case, weights=np.zeros(6))
    refuse("labels must have one entry a row", case, labels=case.labels[:5])
    refuse("a label is not below its number of classes", case, n_classes=[1])
    refuse("either labels or values", case, values=np.ones((6, 1)))
    refuse("values must have one entry a row", case, labels=None, n_classes=[], values=np.ones((5, 1)))
    for params, match in [
        ({"criterion": "ginny"}, "unknown criterion 'ginny'"),
        ({"criterion": "squared_error"}, "unknown criterion 'squared_error'"),
        ({"exact": True}, "exact splits need a presort"),
        ({"monotonic": [1, 1]}, "monotonic must have one entry a feature"),
        ({"interaction_groups": [[1]]}, "interaction group names an unknown feature"),
    ]:
        refuse(match, Case(case.X, labels=case.labels, params=params))
