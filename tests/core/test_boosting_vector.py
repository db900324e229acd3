"""Trees whose leaves are vectors, beside their twin in NumPy, and what no option may change."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from committee.losses import LossFunction
from tests.core.test_boosting import draw_table, start
from tests.naive import boosting_vector as naive


def draw_classes(n_rows: int, seed: int, **table: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    X, signal = draw_table(n_rows, seed, **table)
    return X, np.digitize(signal, [-0.5, 0.5]).astype(float)


@pytest.mark.parametrize("lam", [0.0, 1.5])
def test_trees_of_classes_are_those_of_the_textbook(lam: float) -> None:
    X, y = draw_classes(130, 0)
    loss = LossFunction("softmax", n_scores=3)
    options = {"min_samples_leaf": 5, "max_leaf_nodes": 6, "reg_lambda": lam}
    state = start(X, y, "softmax", n_scores=3, vector_leaves=True, **options)
    state.boost(3)
    expected = naive.boost(
        X, lambda f: loss.find_gradients(y, f), np.array(state.find_baseline()), 3, 0.1, n_leaves=6, lam=lam, min_leaf=5
    )
    assert state.n_trees == 3
    np.testing.assert_allclose(state.scores, expected, atol=1e-7)


def test_trees_of_outputs_are_those_of_the_textbook() -> None:
    X, y = draw_table(120, 1)
    Y = np.column_stack([y, X[:, 3] - y, np.abs(y)])
    state = start(X, Y.ravel(order="F"), n_scores=3, vector_leaves=True, min_samples_leaf=4, max_leaf_nodes=5)
    state.boost(3)
    expected = naive.boost(
        X, lambda f: (f - Y, np.ones_like(Y)), Y.mean(axis=0), 3, 0.1, n_leaves=5, lam=0.0, min_leaf=4
    )
    np.testing.assert_allclose(state.scores, expected, atol=1e-7)


@pytest.mark.parametrize("n_scores", [8, 9, 20, 30])
def test_rows_may_have_gradients_of_their_first_scores_only(n_scores: int) -> None:
    """Hazards: a row has no gradients behind its last interval, and histograms leave out the zeros."""
    X, y = draw_table(150, 7)
    n_used = np.random.default_rng(7).integers(0, n_scores + 1, len(y))
    known = np.arange(n_scores) < n_used[:, None]
    Y = y[:, None] + np.sin(np.arange(n_scores))
    options = {"min_samples_leaf": 4, "max_leaf_nodes": 5, "reg_lambda": 1.0}
    state = start(X, Y.ravel(order="F"), n_scores=n_scores, vector_leaves=True, **options)

    def find_gradients(f: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        return np.where(known, f - Y, 0.0), np.where(known, 1.0, 0.0)

    for _ in range(3):
        state.take_gradients(*(np.asfortranarray(values) for values in find_gradients(np.asarray(state.scores))))
        state.grow_trees()
    expected = naive.boost(X, find_gradients, Y.mean(axis=0), 3, 0.1, n_leaves=5, lam=1.0, min_leaf=4)
    np.testing.assert_allclose(state.scores, expected, atol=1e-6)


@pytest.mark.parametrize("n_rows", [500, 60_000])
@pytest.mark.parametrize("subsample", [1.0, 0.7])
def test_the_number_of_threads_changes_nothing(n_rows: int, subsample: float) -> None:
    X, y = draw_classes(n_rows, 2, missing=0.1)
    scores = []
    for n_jobs in (1, 2, 5):
        state = start(X, y, "softmax", n_scores=3, vector_leaves=True, n_jobs=n_jobs, subsample=subsample, seed=1)
        state.boost(2)
        scores.append(state.scores.tobytes())
    assert scores[0] == scores[1] == scores[2]


def test_scores_of_the_fit_are_those_of_the_trees() -> None:
    rng = np.random.default_rng(3)
    X, y = draw_classes(2500, 3, missing=0.1)
    X = np.column_stack([X, rng.integers(0, 30, len(y)), rng.integers(0, 400, len(y)), rng.integers(0, 2, (len(y), 5))])
    y = (y + (X[:, 4] % 3 == 0) + (X[:, 5] % 2 == 0)) % 3
    few = {"min_samples_level": 2, "category_smooth": 1.0, "category_l2": 1.0}
    state = start(X, y, "softmax", n_scores=3, vector_leaves=True, levels=[0] * 4 + [30, 400] + [0] * 5, **few)
    state.boost(8)
    trees = state.finish()
    assert trees.width == 3
    sums = trees.predict(X, "sum", None, None, 3) + state.find_baseline()
    np.testing.assert_allclose(state.scores, sums, atol=1e-12)
    state.readd_trees(0, state.n_trees, -1.0)
    np.testing.assert_allclose(state.scores, np.tile(state.find_baseline(), (len(y), 1)), atol=1e-12)
    assert state.split_counts[4] > 0
    assert state.split_counts[5] > 0


def test_columns_of_few_values_may_share_a_byte() -> None:
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 12, 4000)
    X = np.column_stack([rng.normal(size=4000), *(kind == k for k in range(12)), rng.integers(0, 3, (4000, 3))])
    y = (X[:, 0] > 0) + (kind % 2).astype(float)
    scores = []
    for joint in (True, False):
        state = start(X, y, "softmax", n_scores=3, vector_leaves=True, joint_columns=joint)
        state.boost(3)
        scores.append(state.scores.tobytes())
    assert scores[0] == scores[1]


def test_no_leaf_has_too_few_rows() -> None:
    X, y = draw_classes(700, 5)
    state = start(X, y, "softmax", n_scores=3, vector_leaves=True, min_samples_leaf=17, learning_rate=0.8)
    state.boost(10)
    assert state.finish().leaf_samples.min() >= 17


def test_weights_are_repetition() -> None:
    X, y = draw_classes(200, 6)
    weights = np.random.default_rng(6).integers(0, 4, len(y)).astype(float)
    weights[:30] += 1
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    options = {
        "min_samples_leaf": 1,
        "min_child_weight": 2.0,
        "max_leaf_nodes": 6,
        "vector_leaves": True,
        "n_scores": 3,
    }
    weighted = start(X, y, "softmax", weights=weights, **options)
    repeated = start(X[rows], y[rows], "softmax", **options)
    for state in (weighted, repeated):
        state.boost(3)
    np.testing.assert_allclose(weighted.scores[rows], repeated.scores, atol=1e-7)
