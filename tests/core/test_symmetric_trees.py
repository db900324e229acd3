"""Symmetric trees beside their twin in NumPy: all nodes of a depth are split alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.exceptions import ParameterError
from committee.losses import LossFunction
from tests.core.test_boosting import draw_table, start
from tests.naive import boosting as naive

SYMMETRIC: dict[str, Any] = {"symmetric": True, "max_leaf_nodes": 0, "max_depth": 4, "min_samples_leaf": 5}


def list_splits(tree: Any) -> list[set[tuple[int, float]]]:
    """The splits of each depth of a tree in scikit-learn's form."""
    found: list[set[tuple[int, float]]] = []

    def walk(node: int, depth: int) -> None:
        if tree.children_left[node] < 0:
            return
        while len(found) <= depth:
            found.append(set())
        found[depth].add((int(tree.feature[node]), float(tree.threshold[node])))
        walk(tree.children_left[node], depth + 1)
        walk(tree.children_right[node], depth + 1)

    walk(0, 0)
    return found


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("lam", [0.0, 2.5])
def test_trees_are_those_of_the_textbook(missing: float, lam: float) -> None:
    X, y = draw_table(150, 0, missing=missing)
    state = start(X, y, reg_lambda=lam, **SYMMETRIC)
    state.boost(3)
    expected = naive.boost(X, lambda f: (f - y, np.ones_like(y)), y.mean(), 3, 0.1, depth=4, lam=lam, min_leaf=5)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


def test_newton_steps_are_those_of_the_textbook() -> None:
    X, signal = draw_table(120, 1)
    y = (signal > 0.0).astype(float)
    loss = LossFunction("logistic")

    def slopes(scores: NDArray[Any]) -> tuple[Any, Any]:
        gradients, hessians = loss.find_gradients(y, scores[:, None])
        return gradients[:, 0], hessians[:, 0]

    state = start(X, y, "logistic", **(SYMMETRIC | {"min_samples_leaf": 1, "reg_lambda": 1.0, "min_child_weight": 0.0}))
    state.boost(3)
    expected = naive.boost(X, slopes, state.find_baseline()[0], 3, 0.1, depth=4, lam=1.0, min_leaf=1)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


def test_a_split_by_category_is_that_of_columns_of_two_values() -> None:
    """With two categories a subset is one of them: the split of a column of numbers, apart from what l2 takes off."""
    X, y = draw_table(400, 2)
    X[:, 3] = X[:, 0] > 0.3
    by = {"category_l2": 0.0, "min_samples_level": 1}
    numbers, categories = (start(X, y, **SYMMETRIC, **by, levels=levels) for levels in (None, [0, 0, 0, 2]))
    for state in (numbers, categories):
        state.boost(4)
    np.testing.assert_allclose(numbers.scores, categories.scores, atol=1e-9)


@pytest.mark.parametrize("levels", [6, 300])
def test_categories_of_many_levels_are_put_in_the_order_of_all_nodes(levels: int) -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, levels, 6000).astype(float)
    effect = rng.normal(size=levels)
    X = np.column_stack([codes, rng.normal(size=6000)])
    y = effect[codes.astype(int)] + 0.5 * X[:, 1] + 0.1 * rng.normal(size=6000)
    state = start(X, y, **(SYMMETRIC | {"learning_rate": 0.5, "levels": [levels, 0]}))
    state.boost(30)
    assert np.mean((state.scores[:, 0] - y) ** 2) < 0.2 * np.var(y)


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_a_depth_is_split_if_all_of_its_leaves_may_be(most: int) -> None:
    X, y = draw_table(2000, 6)
    state = start(X, y, **(SYMMETRIC | {"max_leaf_nodes": most, "max_depth": 9, "min_samples_leaf": 1}))
    state.boost(1)
    assert len(state.finish().leaf_samples) == 2 ** int(np.log2(most))


def test_estimators_grow_one_split_a_depth() -> None:
    X, y = draw_table(1500, 7, missing=0.05)
    model = GradientBoostingRegressor(n_estimators=20, defaults="tuned", early_stopping=False, growth="symmetric")
    model.set_params(random_state=0, max_features=None).fit(X, y)
    assert model.score(X, y) > 0.3
    for tree in model.estimators_[:, 0]:
        splits = list_splits(tree.tree_)
        assert 2 <= len(splits) <= 6
        # A node that a split was worthless for takes part in the next one: no depth has more than those so far.
        everything = set().union(*splits)
        assert len(everything) <= 6
    constrained = GradientBoostingRegressor(n_estimators=20, growth="symmetric", monotonic_cst=[1, 0, 0, 0])
    constrained.fit(np.nan_to_num(X), y)
    rows = np.zeros((50, 4))
    rows[:, 0] = np.linspace(-3.0, 3.0, 50)
    assert (np.diff(constrained.predict(rows)) >= 0.0).all()


def test_no_path_has_features_that_must_not_meet() -> None:
    """A node that was not split at one depth has more groups open than its neighbours at the next."""
    signs = np.array(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0])).reshape(3, 8).T.repeat(50, axis=0)
    y = 10.0 * signs[:, 0] + (signs[:, 0] > 0.0) * 3.0 * signs[:, 1] + signs[:, 2]
    model = GradientBoostingRegressor(n_estimators=1, growth="symmetric", max_depth=3, learning_rate=1.0)

    def list_paths(groups: list[list[int]] | None) -> list[set[int]]:
        tree = model.set_params(interaction_cst=groups).fit(signs, y).estimators_[0, 0].tree_
        nodes: list[tuple[int, set[int]]] = [(0, set())]
        found = []
        while nodes:
            node, met = nodes.pop()
            if tree.children_left[node] < 0:
                found.append(met)
            else:
                met = met | {int(tree.feature[node])}
                nodes += [(int(child[node]), met) for child in (tree.children_left, tree.children_right)]
        return sorted(found, key=sorted)

    assert list_paths(None) == [{0, 1, 2}] * 4 + [{0, 2}] * 2
    assert list_paths([[0, 1], [0, 2]]) == [{0, 1}] * 2 + [{0, 2}] * 2


def test_what_does_not_go_with_them_is_refused() -> None:
    X, signal = draw_table(200, 8)
    labels = np.digitize(signal, [-0.5, 0.5])
    with pytest.raises(ParameterError, match="symmetric"):
        GradientBoostingClassifier(growth="symmetric", multi_strategy="multi_output_tree").fit(X, labels)
