"""Squared error whose residuals are followed from round to round: beside the textbook, and beside finding them anew."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee.losses import LossFunction
from tests.core.test_boosting import draw_table, start
from tests.naive import boosting as naive

ENOUGH_ROWS = 5000  # fewer are not followed


def test_trees_are_those_of_the_textbook() -> None:
    X, y = draw_table(ENOUGH_ROWS, 0, n_values=6)
    state = start(X, y, min_samples_leaf=5, max_leaf_nodes=6, reg_lambda=1.0)
    state.boost(4)
    expected = naive.boost(X, lambda f: (f - y, np.ones_like(y)), y.mean(), 4, 0.1, n_leaves=6, lam=1.0, min_leaf=5)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-6)


@settings(max_examples=5, deadline=None)
@given(
    st.integers(0, 10),
    st.sampled_from([0.0, 0.2]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from(
        [
            {},
            {"colsample_node": 0.5},
            {"level_wise": True},
            {"symmetric": True, "max_depth": 4},
            {"mixed": True, "mixed_depth": 3},
            {"reg_alpha": 0.5},
            {"max_depth": 2},
        ]
    ),
)
def test_following_is_finding_anew(seed: int, missing: float, n_jobs: int, options: dict[str, Any]) -> None:
    X, y = draw_table(9000, seed, missing=missing)
    y[0] = 1000.0  # by which the unit is chosen: it stays the same, whether or not words are made again
    states = [start(X, y, n_jobs=jobs, max_leaf_nodes=7, min_samples_leaf=30, **options) for jobs in (n_jobs, 1)]
    for _ in range(4):
        for state in states:
            state.boost()
        np.testing.assert_array_equal(states[0].scores, states[1].scores)
        states[1].set_scores(np.asfortranarray(states[1].scores.copy()))


@pytest.mark.parametrize("n_leaves", [4, 6])
def test_a_weight_is_repetition(n_leaves: int) -> None:
    # Few leaves, so that none is near min_samples_leaf, which counts rows and not weights.
    X, y = draw_table(ENOUGH_ROWS, 6, missing=0.1)
    weights = np.random.default_rng(6).integers(0, 4, size=len(y)).astype(float)
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    options: dict[str, Any] = {"max_leaf_nodes": n_leaves, "min_samples_leaf": 1, "reg_lambda": 1.0}
    weighted = start(X, y, weights=weights, **options)
    repeated = start(X[rows], y[rows], **options)
    for state in (weighted, repeated):
        state.boost(60)
    np.testing.assert_allclose(weighted.scores[rows], repeated.scores, rtol=0, atol=1e-12)


@pytest.mark.parametrize("learning_rate", [0.1, 1.0])
@pytest.mark.parametrize("tail", [0.0, 1e4])
def test_units_that_no_longer_suit_are_changed(learning_rate: float, tail: float) -> None:
    X, y = draw_table(ENOUGH_ROWS, 3)
    y[:40] += tail * np.sign(X[:40, 0])
    losses = []
    for follow in (True, False):
        state = start(X, y, learning_rate=learning_rate, max_leaf_nodes=16, follow_residuals=follow)
        state.boost(120)
        residuals = y - state.scores[:, 0]
        assert state.measure_loss() == pytest.approx(0.5 * np.mean(residuals**2), rel=1e-9)
        losses.append(np.mean(np.abs(residuals[40:])))
    assert losses[0] == pytest.approx(losses[1], rel=0.05)


def test_rounds_of_several_kinds_follow_one_another() -> None:
    X, y = draw_table(ENOUGH_ROWS, 4)
    state = start(X, y, max_leaf_nodes=8)
    state.boost(5)
    scores = state.scores.copy(order="F")
    state.take_gradients(scores - y[:, None], np.ones_like(scores))
    state.grow_trees()
    state.boost(2)
    state.readd_trees(7, 8, -1.0)
    state.truncate(7)
    state.boost(3)
    state.params.subsample = 0.5
    state.boost(2)
    assert state.n_trees == 12
    trees = state.finish()
    predicted = trees.predict(X, "sum", None, state.slots, 1, n_jobs=1)[:, 0] + state.find_baseline()[0]
    np.testing.assert_allclose(state.scores[:, 0], predicted, atol=1e-9)
    before = np.mean((scores[:, 0] - y) ** 2)
    assert 2.0 * state.measure_loss() < before


@pytest.mark.parametrize(("name", "n_scores"), [("logistic", 1), ("softmax", 3)])
def test_slopes_of_a_row_do_not_depend_on_its_neighbours(name: str, n_scores: int) -> None:
    rng = np.random.default_rng(5)
    scores = np.asfortranarray(rng.normal(scale=[300.0] * n_scores, size=(21, n_scores)))
    scores[:3] = [[-1e4], [1e4], [0.0]]
    y = rng.integers(0, max(2, n_scores), 21).astype(float)
    loss = LossFunction(name, n_scores=n_scores)
    together = loss.find_gradients(y, scores)
    for row in range(21):
        alone = loss.find_gradients(y[row : row + 1], np.asfortranarray(scores[row : row + 1]))
        for one, all_rows in zip(alone, together, strict=True):
            np.testing.assert_array_equal(one[0], all_rows[row])
