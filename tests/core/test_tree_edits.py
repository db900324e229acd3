"""Trees made of trees: other feature numbers, other leaf values. Beside the same edits of the arrays in NumPy."""

from typing import Any

import numpy as np
import pytest

from committee import _core
from tests.core.random_trees import Draw, draw_rows, draw_tree

LEAF, FEATURES = np.uint32(1 << 31), np.uint32((1 << 28) - 1)
DRAWS = {
    "plain": Draw(n_leaves=9),
    "counts": Draw(n_leaves=9, outputs=[3, 2], counts=9),
    "categories": Draw(n_leaves=20, categorical=(0, 1), exact_floats=False, width=2),
}


def make(draw: Draw) -> _core.Trees:
    rng = np.random.default_rng(0)
    return _core.testing.build_trees([draw_tree(rng, draw) for _ in range(4)], draw.outputs, draw.n_features)


def assert_same_trees(got: _core.Trees, wanted: _core.Trees) -> None:
    assert (got.n_features, got.outputs, got.width) == (wanted.n_features, wanted.outputs, wanted.width)
    ours, theirs = got.__getstate__(), wanted.__getstate__()
    assert ours.keys() == theirs.keys()
    for name, values in theirs.items():
        assert np.asarray(ours[name]).tobytes() == np.asarray(values).tobytes(), name


def renumber(trees: _core.Trees, features: Any) -> _core.Trees:
    state: dict[str, Any] = dict(trees.__getstate__())
    nodes = state["nodes"].copy()
    asked, inner = nodes["tag"] & FEATURES, (nodes["tag"] & LEAF) == 0
    nodes["tag"][inner] += np.searchsorted(features, asked[inner]).astype(np.uint32) - asked[inner]
    state["nodes"], state["n_features"] = nodes, len(features)
    return _core.Trees.from_arrays(state)


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
def test_features_are_renumbered(draw: Draw) -> None:
    trees = make(draw)
    tags = trees.nodes["tag"]
    used = np.unique(tags[(tags & LEAF) == 0] & FEATURES)
    for features in (used, np.arange(draw.n_features), np.repeat(used, 2)):
        assert_same_trees(trees.renumber_features(features.astype(np.uint32)), renumber(trees, features))
    X = draw_rows(np.random.default_rng(1), 50, draw)
    some = trees.renumber_features(used.astype(np.uint32))
    np.testing.assert_array_equal(some.predict(np.ascontiguousarray(X[:, used])), trees.predict(X))


def test_features_may_come_in_any_order() -> None:
    draw = DRAWS["plain"]
    trees, order = make(draw), np.random.default_rng(3).permutation(draw.n_features)
    X = draw_rows(np.random.default_rng(1), 50, draw)
    moved = trees.renumber_features(order.astype(np.uint32))
    np.testing.assert_array_equal(moved.predict(np.ascontiguousarray(X[:, order])), trees.predict(X))


def test_features_that_are_used_or_do_not_exist_are_refused() -> None:
    trees = make(DRAWS["plain"])
    with pytest.raises(ValueError, match="not among the given features"):
        trees.renumber_features(np.zeros(1, dtype=np.uint32))
    with pytest.raises(ValueError, match="There is no feature 99"):
        trees.renumber_features(np.array([0, 99], dtype=np.uint32))


@pytest.mark.parametrize("draw", DRAWS.values(), ids=DRAWS)
@pytest.mark.parametrize("weighted", [False, True])
def test_leaf_values_are_replaced(draw: Draw, weighted: bool) -> None:
    trees = make(draw)
    state: dict[str, Any] = dict(trees.__getstate__())
    values = np.random.default_rng(2).normal(size=(len(trees.values), 3))
    weights = np.asarray(trees.values, dtype=np.float64).sum(axis=1) ** 2
    state["values"], state["outputs"] = values, []
    state["leaf_weights"] = weights if weighted else weights[:0]
    for name in ("leaf_samples", "node_impurity"):
        state[name] = state[name][:0]
    got = trees.with_leaf_values(values, weights if weighted else None)
    assert_same_trees(got, _core.Trees.from_arrays(state))
    X = draw_rows(np.random.default_rng(1), 50, draw)
    assert got.predict(X, "sum").shape == (50, 3)


def test_leaf_values_of_other_sizes_are_refused() -> None:
    trees = make(DRAWS["plain"])
    n_leaves = len(trees.values)
    with pytest.raises(ValueError, match="one row of values for each"):
        trees.with_leaf_values(np.zeros((n_leaves - 1, 2)))
    with pytest.raises(ValueError, match="one weight for each"):
        trees.with_leaf_values(np.zeros((n_leaves, 2)), np.ones(n_leaves + 1))


def test_impurities_are_left_out() -> None:
    trees = make(DRAWS["plain"])
    state: dict[str, Any] = dict(trees.__getstate__())
    assert len(state["node_impurity"])
    state["node_impurity"] = state["node_impurity"][:0]
    assert_same_trees(trees.without_impurities(), _core.Trees.from_arrays(state))
    one = trees.select(1, 2).without_impurities()
    del trees
    assert one.n_trees == 1
    assert len(one.node_impurity) == 0


def number_by_recursion(lefts: Any) -> list[int]:
    numbers, count = [0] * len(lefts), iter(range(len(lefts)))

    def visit(node: int) -> None:
        numbers[node] = next(count)
        if lefts[node] >= 0:
            visit(lefts[node])
            visit(lefts[node] + 1)

    visit(0)
    return numbers


@pytest.mark.parametrize("name", DRAWS)
def test_numbers_of_nodes_depth_first(name: str) -> None:
    trees = make(DRAWS[name])
    wanted = [number_by_recursion(trees.describe(t, "gini")["children_left"].tolist()) for t in range(4)]
    assert trees.number_depth_first().tolist() == [number for own in wanted for number in own]
    assert trees.select(2, 3).number_depth_first().tolist() == wanted[2]
