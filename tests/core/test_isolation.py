"""Isolation forests against their twin from the paper, and what they draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.sparse import csc_matrix
from sklearn.ensemble._iforest import _average_path_length

from committee import _core
from tests.naive.isolation import Isolation, average_path_length, draw_rows

N_LEVELS = 40  # more than a word of the set


def make_sampling(n_draws: int, *, replace: bool = False, n_features: int = 0, weights: Any = None) -> Any:
    sampling = _core.RowSampling()
    sampling.n_draws, sampling.replace, sampling.n_features = n_draws, replace, n_features
    if weights is not None:
        sampling.weights = np.asarray(weights, dtype=np.float64)
    return sampling


def make_plan(sampling: Any, n_trees: int, max_depth: int) -> Any:
    plan = _core.IsolationPlan()
    plan.sampling, plan.n_trees, plan.max_depth = sampling, n_trees, max_depth
    return plan


def draw_table(seed: int, n_rows: int) -> tuple[Any, Any]:
    """Numbers, crowded numbers, codes, constants, all with gaps; the last column has no value at all."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n_rows),
            rng.integers(0, 3, n_rows),
            rng.integers(0, N_LEVELS, n_rows),
            np.ones(n_rows),
            1.0 + 1e-12 * rng.integers(0, 2, n_rows),  # no float32 number lies between the two values
            rng.choice([-1.7e308, 0.0, 1.7e308], n_rows),
        ]
    )
    X[rng.random(X.shape) < 0.1] = np.nan
    return np.column_stack([X, np.full(n_rows, np.nan)]), np.array([0, 0, N_LEVELS, 0, 0, 0, 0], dtype=np.uint32)


def list_nodes(trees: Any, tree: int) -> list[tuple[Any, ...]]:
    """The nodes depth-first, left before right, as the twin lists them."""
    shown, nodes, open_nodes = trees.describe(tree, "squared_error"), [], [0]
    while open_nodes:
        node = open_nodes.pop()
        feature, left = int(shown["feature"][node]), int(shown["children_left"][node])
        rows, value = int(shown["n_node_samples"][node]), float(np.ravel(shown["value"][node])[0])
        if left < 0:
            nodes.append((-1, None, False, rows, value))
            continue
        codes = shown["left_categories"].get(node)
        question = float(shown["threshold"][node]) if codes is None else frozenset(codes)
        nodes.append((feature, question, bool(shown["missing_go_to_left"][node]), rows, None))
        open_nodes += [int(shown["children_right"][node]), left]
    return nodes


@pytest.mark.parametrize("max_depth", [0, 3, 30])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("n_features", [0, 3])
def test_trees_are_those_of_the_twin(max_depth: int, dtype: type, n_features: int) -> None:
    n_rows, n_draws, seed, n_trees = 150, 60, 7, 6
    X, n_levels = draw_table(1, n_rows)
    with np.errstate(over="ignore"):
        X = np.clip(X, -3e38, 3e38).astype(dtype) if dtype is np.float32 else X
    sampling = make_sampling(n_draws, n_features=n_features)
    trees = _core.grow_isolation_forest(X, n_levels, make_plan(sampling, n_trees, max_depth), seed, 1)
    for tree in range(n_trees):
        rows = _core.draw_isolation_rows(sampling, seed, tree, n_rows).tolist()
        assert rows == draw_rows([1] * n_rows, n_draws, False, seed, tree)
        features = _core.draw_member_features(sampling, seed, tree, len(n_levels))
        twin = Isolation(X, n_levels.tolist(), max_depth, seed, tree).grow(rows, features)
        found = list_nodes(trees, tree)
        assert [node[:4] for node in found] == [node[:4] for node in twin]
        for own, other in zip(found, twin, strict=True):
            if own[0] < 0:
                assert own[4] == pytest.approx(other[4], rel=1e-14)


def test_weights_are_places() -> None:
    weights = [0, 3, 1, 0, 2, 5, 0]
    repeated = np.repeat(np.arange(7), weights)
    for replace in (False, True):
        for tree in range(20):
            rows = _core.draw_isolation_rows(make_sampling(6, replace=replace, weights=weights), 3, tree, 7)
            assert rows.tolist() == draw_rows(weights, 6, replace, 3, tree)
            places = _core.draw_isolation_rows(make_sampling(6, replace=replace), 3, tree, len(repeated))
            assert rows.tolist() == repeated[places].tolist()


@pytest.mark.parametrize("weights", [[1, 1, 1, 1, 1], [0.5, 1.25, 0, 2.5, 0.7]])
@pytest.mark.parametrize("replace", [False, True])
def test_rows_are_drawn_by_their_weights(weights: list[float], replace: bool) -> None:
    counts = np.zeros(5)
    for tree in range(4000):
        rows = _core.draw_isolation_rows(make_sampling(2, replace=replace, weights=weights), 11, tree, 5)
        np.add.at(counts, rows, 1)
    expected = 8000 * np.asarray(weights) / np.sum(weights)
    present = expected > 0
    assert counts[~present].sum() == 0
    assert stats.chisquare(counts[present], expected[present]).pvalue > 1e-3


def test_samples_that_cannot_be_drawn_are_refused() -> None:
    for sampling, sentence in [
        (make_sampling(6), "without replacement"),
        (make_sampling(0), "a tree needs a row"),
        (make_sampling(2, weights=[1, 2]), "one entry a row"),
        (make_sampling(2, weights=[0] * 5), "positive weight"),
        (make_sampling(2, weights=[1, 1, 1, 1, -1]), "negative"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            _core.draw_isolation_rows(sampling, 0, 0, 5)
    plan = make_plan(make_sampling(2), 1, 1)
    with pytest.raises(ValueError, match="one entry a column"):
        _core.grow_isolation_forest(np.zeros((5, 2)), np.zeros(3, dtype=np.uint32), plan, 0, 1)


def test_a_sparse_table_gives_the_trees_of_its_dense_form() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12)) * (rng.random((300, 12)) < 0.3)
    n_levels = np.zeros(12, dtype=np.uint32)
    plan = make_plan(make_sampling(200, replace=True), 10, 8)
    for dtype in (np.float64, np.float32):
        expected = _core.grow_isolation_forest(X.astype(dtype), n_levels, plan, 5, 1)
        for index in (np.int32, np.int64):
            part = csc_matrix(X.astype(dtype))
            parts = (part.data, part.indices.astype(index), part.indptr.astype(index), part.shape)
            sparse = _core.grow_isolation_forest_csc(*parts, n_levels, plan, 5, 2)
            np.testing.assert_array_equal(sparse.nodes, expected.nodes)
    bad = np.full(13, 10**6, dtype=np.int32)
    with pytest.raises(ValueError, match="indptr must start at 0"):
        _core.grow_isolation_forest_csc(part.data, part.indices, bad, part.shape, n_levels, plan, 5, 1)


def test_threads_do_not_change_the_trees() -> None:
    X, n_levels = draw_table(3, 400)
    plan = make_plan(make_sampling(256), 40, 8)
    first = _core.grow_isolation_forest(X, n_levels, plan, 1, 1)
    for n_jobs in (2, 5):
        other = _core.grow_isolation_forest(X, n_levels, plan, 1, n_jobs)
        np.testing.assert_array_equal(other.nodes, first.nodes)
        np.testing.assert_array_equal(other.values, first.values)


def test_average_path_lengths() -> None:
    sizes = np.array([0, 1, 2, 3, 5, 256, 999, 10**6])
    found = [_core.average_path_length(n) for n in sizes]
    np.testing.assert_allclose(found, [average_path_length(n) for n in sizes], rtol=1e-14)
    np.testing.assert_allclose(found, _average_path_length(sizes), rtol=1e-14)
