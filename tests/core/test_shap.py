"""Shapley values of the core against the definition: every set of features."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from tests.core.random_trees import Draw, draw_rows, draw_tree
from tests.naive import shap as naive
from tests.naive.tree import give_terms

N_FEATURES = 4
DRAWS = {
    "root alone": Draw(n_leaves=1, n_features=N_FEATURES),
    "values": Draw(n_leaves=12, n_features=N_FEATURES),
    "two values, categories": Draw(n_leaves=9, n_features=N_FEATURES, width=2, categorical=(1, 2), n_codes=7),
    "classes": Draw(n_leaves=10, n_features=N_FEATURES, outputs=[3]),
    "two outputs": Draw(n_leaves=7, n_features=N_FEATURES, outputs=[2, 3], counts=9, categorical=(0,), n_codes=40),
}


def combine_leaves(arena, outputs, combine, weights):
    """For each tree its description and what its nodes add to the sum, which matters in the leaves."""
    divisor = weights.sum() if combine == "mean" else 1.0
    for t in range(arena.n_trees):
        tree = arena.describe(t, "gini" if outputs else "squared_error")
        terms = [give_terms(value, outputs, combine) for value in tree["value"]]
        yield tree, np.array(terms) * weights[t] / divisor


def make_case(name, seed, n_trees=3):
    rng, draw = np.random.default_rng(seed), DRAWS[name]
    arena = _core.testing.build_trees([draw_tree(rng, draw) for _ in range(n_trees)], draw.outputs, N_FEATURES)
    return arena, draw, draw_rows(rng, 5, draw, 0.2, np.float64), rng.random(n_trees), rng


def list_combinations(name):
    return ["sum", "mean", "vote"] if DRAWS[name].outputs else ["sum", "mean"]


CASES = [(name, combine) for name in DRAWS for combine in list_combinations(name)]


@pytest.mark.parametrize(("name", "combine"), CASES)
def test_values_are_those_of_the_definition(name, combine):
    arena, draw, X, weights, _ = make_case(name, 0)
    values, base = _core.explain_rows(arena, X, combine, weights, None, arena.width, False, 1)
    wanted, wanted_base = np.zeros_like(values), np.zeros_like(base)
    for tree, leaves in combine_leaves(arena, draw.outputs, combine, weights):
        wanted_base += naive.expect(tree, leaves, X[0], ())
        for r, row in enumerate(X):
            wanted[r] += naive.explain(partial(naive.expect, tree, leaves, row), range(N_FEATURES), N_FEATURES)
    np.testing.assert_allclose(values, wanted, atol=1e-13)
    np.testing.assert_allclose(base, wanted_base, atol=1e-13)


@pytest.mark.parametrize(("name", "combine"), CASES)
def test_pairs_are_those_of_the_definition(name, combine):
    arena, draw, X, weights, _ = make_case(name, 1)
    values, _ = _core.explain_rows(arena, X[:2], combine, weights, None, arena.width, True, 1)
    wanted = np.zeros_like(values)
    for tree, leaves in combine_leaves(arena, draw.outputs, combine, weights):
        for r, row in enumerate(X[:2]):
            worth = partial(naive.expect, tree, leaves, row)
            wanted[r] += naive.explain_pairs(worth, range(N_FEATURES), N_FEATURES)
    np.testing.assert_allclose(values, wanted, atol=1e-13)
    np.testing.assert_array_equal(values, values.swapaxes(1, 2))


@pytest.mark.parametrize(("name", "combine"), CASES)
def test_values_against_a_background_are_those_of_the_definition(name, combine):
    arena, draw, X, weights, rng = make_case(name, 2)
    background = draw_rows(rng, 4, draw, 0.2, np.float64)
    values, base = _core.explain_against(arena, X[:3], background, None, combine, weights, None, arena.width, 1)
    wanted = np.zeros_like(values)
    for tree, leaves in combine_leaves(arena, draw.outputs, combine, weights):
        for r, row in enumerate(X[:3]):
            worth = partial(naive.mix, tree, leaves, row, background=background)
            wanted[r] += naive.explain(worth, range(N_FEATURES), N_FEATURES)
    np.testing.assert_allclose(values, wanted, atol=1e-13)
    np.testing.assert_allclose(base, arena.predict(background, combine, weights).mean(axis=0), atol=1e-13)


def test_a_weight_of_a_background_row_is_repetition():
    arena, draw, X, _, rng = make_case("values", 3)
    background, counts = draw_rows(rng, 5, draw, 0.1, np.float64), np.array([1, 0, 3, 2, 1])
    by_weight = _core.explain_against(arena, X, background, counts.astype(float), "mean", None, None, 1, 1)
    repeated = _core.explain_against(arena, X, background.repeat(counts, axis=0), None, "mean", None, None, 1, 1)
    np.testing.assert_allclose(by_weight[0], repeated[0], atol=1e-13)
    np.testing.assert_allclose(by_weight[1], repeated[1], atol=1e-13)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), n_leaves=st.integers(1, 60), n_features=st.integers(1, 40))
def test_values_and_pairs_add_up(seed, n_leaves, n_features):
    """Deep trees with many features on a path, zero weights, and rows that do not fill a block."""
    rng = np.random.default_rng(seed)
    draw = Draw(n_leaves=n_leaves, n_features=n_features)
    grown = [draw_tree(rng, draw) for _ in range(3)]
    for tree in grown:
        tree["weighted_n_node_samples"][rng.random(len(tree["feature"])) < 0.2] = 0.0
    arena = _core.testing.build_trees(grown, [], n_features)
    X = draw_rows(rng, 35, draw, 0.2, np.float32)
    answer = arena.predict(X, "sum")
    values, base = _core.explain_rows(arena, X, "sum", None, None, 1, False, 1)
    np.testing.assert_allclose(base + values.sum(axis=1), answer, atol=1e-11)
    pairs, _ = _core.explain_rows(arena, X, "sum", None, None, 1, True, 1)
    np.testing.assert_allclose(pairs.sum(axis=2), values, atol=1e-11)
    against, mean = _core.explain_against(arena, X, X[:6], None, "sum", None, None, 1, 1)
    np.testing.assert_allclose(mean + against.sum(axis=1), answer, atol=1e-11)


def test_a_chain_of_a_thousand_features_adds_up():
    n = 1000
    left, right, feature = (np.full(2 * n + 1, missing) for missing in (-1, -1, -2))
    left[0 : 2 * n : 2], right[0 : 2 * n : 2] = np.arange(1, 2 * n, 2), np.arange(2, 2 * n + 1, 2)
    feature[0 : 2 * n : 2] = np.arange(n)
    chain = {
        "children_left": left,
        "children_right": right,
        "feature": feature,
        "threshold": np.zeros(2 * n + 1),
        "n_node_samples": np.ones(2 * n + 1),
        "weighted_n_node_samples": np.ones(2 * n + 1),
        "impurity": np.zeros(2 * n + 1),
        "value": np.random.default_rng(0).normal(size=(2 * n + 1, 1)),
    }
    arena = _core.testing.build_trees([chain], [], n)
    X = np.random.default_rng(1).choice([-1.0, 1.0], p=[0.002, 0.998], size=(3, n))
    values, base = _core.explain_rows(arena, X, "sum", None, None, 1, False, 1)
    np.testing.assert_allclose(base + values.sum(axis=1), arena.predict(X, "sum"), atol=1e-9)


def test_slots_keep_trees_apart():
    arena, _, X, weights, _ = make_case("values", 4)
    slots = np.array([1, 0, 1], dtype=np.uint32)
    values, base = _core.explain_rows(arena, X, "sum", weights, slots, 2, False, 1)
    against, _ = _core.explain_against(arena, X, X, None, "sum", weights, slots, 2, 1)
    answer = arena.predict(X, "sum", weights, slots, 2)
    np.testing.assert_allclose(base + values.sum(axis=1), answer, atol=1e-12)
    np.testing.assert_allclose(answer.mean(axis=0) + against.sum(axis=1), answer, atol=1e-12)


@pytest.mark.parametrize("name", ["values", "two outputs"])
def test_threads_do_not_matter(name):
    arena, draw, _, weights, rng = make_case(name, 5)
    X = draw_rows(rng, 200, draw, 0.1, np.float64)
    for pairs in (False, True):
        one, many = (_core.explain_rows(arena, X, "mean", weights, None, arena.width, pairs, n) for n in (1, 3))
        np.testing.assert_array_equal(one[0], many[0])
    one, many = (_core.explain_against(arena, X, X[:9], None, "mean", weights, None, arena.width, n) for n in (1, 3))
    np.testing.assert_array_equal(one[0], many[0])


def test_misfits_are_refused():
    arena, _, X, _, _ = make_case("values", 6)
    with pytest.raises(ValueError, match="X must have 4 columns; got 3"):
        _core.explain_rows(arena, X[:, :3], "sum", None, None, 1, False, 1)
    with pytest.raises(ValueError, match="one entry a tree"):
        _core.explain_rows(arena, X, "sum", np.ones(2), None, 1, False, 1)
    with pytest.raises(ValueError, match="positive sum"):
        _core.explain_rows(arena, X, "mean", np.zeros(3), None, 1, False, 1)
    with pytest.raises(ValueError, match="Only trees with class weights"):
        _core.explain_rows(arena, X, "vote", None, None, 1, False, 1)
    with pytest.raises(ValueError, match="combine must be"):
        _core.explain_rows(arena, X, "median", None, None, 1, False, 1)
    with pytest.raises(ValueError, match="outside the output"):
        _core.explain_rows(arena, X, "sum", None, np.full(3, 2, dtype=np.uint32), 2, False, 1)
    with pytest.raises(ValueError, match="stripped"):
        _core.explain_rows(arena.stripped(), X, "sum", None, None, 1, False, 1)
    with pytest.raises(ValueError, match="background must have rows"):
        _core.explain_against(arena, X, X[:0], None, "sum", None, None, 1, 1)
