"""The engine of boosting beside its twin in NumPy, and what no option may change."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from committee import _core
from committee.losses import LossFunction
from tests.naive import boosting as naive
from tests.naive.randomness import draw_whole_groups


def bin_table(X: NDArray[Any], weights: NDArray[Any] | None = None, levels: list[int] | None = None) -> Any:
    n_levels = np.array(levels or [0] * X.shape[1], dtype=np.uint32)
    return _core.BinMapper.fit(X, weights, n_levels, 255, 1).transform(X, 1)


def start(X: NDArray[Any], y: NDArray[Any], loss: str = "squared_error", **options: Any) -> Any:
    weights, n_scores = options.pop("weights", None), options.pop("n_scores", 1)
    params = _core.BoostingParams()
    levels, parameter = options.pop("levels", None), options.pop("parameter", nan)
    for name, value in {"n_jobs": 1, **options}.items():
        setattr(params, name, value)
    state = _core.Boosting(bin_table(X, weights, levels), y, weights, loss, parameter, n_scores, params)
    state.add_constant(state.find_baseline())
    return state


def draw_table(n_rows: int, seed: int, n_values: int = 0, missing: float = 0.0) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    if n_values:
        X = np.floor(X * n_values / 2)
    signal = X[:, 0] * X[:, 1] + np.sin(X[:, 2] * 2)
    X[rng.random(X.shape) < missing] = np.nan
    return X, signal + 0.3 * rng.normal(size=n_rows)


@pytest.mark.parametrize("loss", ["squared_error", "logistic"])
@pytest.mark.parametrize(
    ("n_rows", "counts"),
    [(3000, [40, *range(2, 29)]), (66_000, [57, 9, 10, 11, 12, 25, 26, 27, 28])],
    ids=["words of eight bytes", "words of four"],
)
def test_histograms_of_any_number_of_columns_are_the_same(n_rows: int, counts: list[int], loss: str) -> None:
    """Few columns are added in one piece, a kernel for each number of them, and many in a loop: the twin."""
    rng = np.random.default_rng(n_rows)
    noise, *informative = rng.normal(size=(3, n_rows))
    y = informative[0] * informative[1] + 0.3 * rng.normal(size=n_rows)
    y = (y > 0.0).astype(float) if loss == "logistic" else y

    def fit(columns: list[NDArray[Any]]) -> bytes:
        state = start(np.column_stack(columns), y, loss, max_leaf_nodes=9)
        state.boost(3)
        return bytes(state.scores.tobytes())

    expected = fit([*[noise] * (counts[0] - 2), *informative])
    for n in counts[1:]:
        assert fit([*[noise] * (n - 2), *informative]) == expected, n
        assert fit([*informative, *[noise] * (n - 2)]) == expected, n


@pytest.mark.parametrize("missing", [0.0, 0.2])
@pytest.mark.parametrize("lam", [0.0, 2.5])
def test_trees_are_those_of_the_textbook(missing: float, lam: float) -> None:
    X, y = draw_table(150, 0, missing=missing)
    state = start(X, y, min_samples_leaf=5, max_leaf_nodes=6, reg_lambda=lam)
    state.boost(4)
    expected = naive.boost(X, lambda f: (f - y, np.ones_like(y)), y.mean(), 4, 0.1, n_leaves=6, lam=lam, min_leaf=5)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_newton_steps_are_those_of_the_textbook(name: str) -> None:
    X, signal = draw_table(120, 1)
    y = (signal > 0.0).astype(float)
    loss = LossFunction(name)

    def slopes(scores: NDArray[Any]) -> tuple[Any, Any]:
        gradients, hessians = loss.find_gradients(y, scores[:, None])
        return gradients[:, 0], hessians[:, 0]

    state = start(X, y, name, min_samples_leaf=1, max_leaf_nodes=5, reg_lambda=1.0, min_child_weight=0.0)
    state.boost(3)
    expected = naive.boost(X, slopes, state.find_baseline()[0], 3, 0.1, n_leaves=5, lam=1.0, min_leaf=1)
    np.testing.assert_allclose(state.scores[:, 0], expected, atol=1e-7)


@pytest.mark.parametrize("loss", ["squared_error", "logistic", "poisson", "absolute_error", "softmax"])
@pytest.mark.parametrize("n_rows", [500, 60_000])
def test_the_number_of_threads_changes_nothing(loss: str, n_rows: int) -> None:
    X, signal = draw_table(n_rows, 2, missing=0.1)
    y = np.digitize(signal, [-0.5, 0.5]).astype(float) if loss == "softmax" else np.abs(np.floor(signal * 2))
    y = (y > 1).astype(float) if loss == "logistic" else y
    options = {"n_scores": 3} if loss == "softmax" else {}
    scores = []
    for n_jobs in (1, 2, 5):
        state = start(X, y, loss, n_jobs=n_jobs, min_samples_leaf=5, subsample=0.8, colsample_node=0.7, **options)
        most = 2 if n_rows < 1000 else 3 if loss == "squared_error" else 5  # more would wait for one another
        assert state.n_threads == min(n_jobs, most)
        state.boost(3)
        scores.append((state.scores.tobytes(), state.gains.tobytes(), state.split_counts.tobytes()))
    assert scores[0] == scores[1] == scores[2]


@pytest.mark.parametrize("n_classes", [2, 3, 4, 7])
@pytest.mark.parametrize("options", [{}, {"goss_top": 0.2, "goss_other": 0.2}, {"ccp_alpha": 0.5}], ids=str)
def test_trees_of_a_round_are_grown_side_by_side(n_classes: int, options: dict[str, Any]) -> None:
    """Two threads take two trees at a time and share what is left over; ten take one each."""
    X, signal = draw_table(6000, 4, missing=0.1)
    X = np.tile(X, 20)  # cells enough for ten threads
    y = np.digitize(signal, np.linspace(-1.0, 1.0, n_classes - 1)).astype(float)
    found = []
    for n_jobs in (1, 2, 10):
        state = start(X, y, "softmax", n_scores=n_classes, n_jobs=n_jobs, max_leaf_nodes=6, seed=3, **options)
        assert state.n_threads == n_jobs
        state.boost(3)
        found.append(
            (
                state.scores.tobytes(),
                state.gains.tobytes(),
                state.finish().predict(X, "sum", None, state.slots, n_classes).tobytes(),
            )
        )
    assert found[0] == found[1] == found[2]


def test_leaves_of_many_rows_are_settled_block_by_block() -> None:
    X, y = draw_table(140_003, 6, missing=0.05)
    scores = []
    for n_jobs in (1, 2):
        state = start(X, y, n_jobs=n_jobs, max_leaf_nodes=9)
        state.boost(2)
        scores.append(state.scores.tobytes())
    assert scores[0] == scores[1]
    sums = state.finish().predict(X, "sum", None, state.slots, 1) + state.find_baseline()
    np.testing.assert_allclose(state.scores, sums, atol=1e-12)


def test_scores_of_the_fit_are_those_of_the_trees() -> None:
    X, signal = draw_table(3000, 3, missing=0.1)
    y = np.digitize(signal, [-0.5, 0.5]).astype(float)
    state = start(X, y, "softmax", n_scores=3, subsample=0.6)
    state.boost(5)
    trees = state.finish()
    sums = trees.predict(X, "sum", None, state.slots, 3) + state.find_baseline()
    np.testing.assert_allclose(state.scores, sums, atol=1e-12)
    again = np.zeros((len(X), 3), order="F")
    state.add_trees(bin_table(X), 0, state.n_trees, 1.0, again)
    np.testing.assert_allclose(again + state.find_baseline(), sums, atol=1e-12)
    state.readd_trees(0, 3, -1.0)
    without = trees.predict(X, "sum", None, state.slots, 3, 3) + state.find_baseline()
    np.testing.assert_allclose(state.scores, without, atol=1e-12)


def test_columns_of_few_values_may_share_a_byte() -> None:
    rng = np.random.default_rng(4)
    kind = rng.integers(0, 12, 6000)
    X = np.column_stack([rng.normal(size=6000), *(kind == k for k in range(12)), rng.integers(0, 3, (6000, 4))])
    X[rng.random(6000) < 0.1, 14] = np.nan
    y = X[:, 0] + (kind % 3) + rng.normal(size=6000)
    scores = []
    for joint in (True, False):
        state = start(X, y, joint_columns=joint)
        state.boost(5)
        scores.append(state.scores.tobytes())
    assert scores[0] == scores[1]


def test_columns_share_a_byte_where_it_pays() -> None:
    rng = np.random.default_rng(5)
    few, number = rng.integers(0, 12, (30_000, 20)).astype(float), rng.normal(size=(30_000, 1))

    def measure(X: NDArray[Any], joint: bool) -> int:
        state = start(X, X[:, 0], joint_columns=joint)
        state.boost(1)
        return int(state.nbytes)

    # Pairs have 144 values: ten large places instead of twenty small ones pay with many rows only.
    assert measure(few[:3000], True) == measure(few[:3000], False)
    assert measure(few, True) != measure(few, False)
    # Beside a number all places are large anyway.
    mixed = np.hstack([few, number])[:3000]
    assert measure(mixed, True) < measure(mixed, False)


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10_000), n_values=st.sampled_from([2, 6, 0]))
def test_weights_are_repetition_and_order_is_nothing(seed: int, n_values: int) -> None:
    X, y = draw_table(120, seed, n_values)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, len(y)).astype(float)
    weights[:40] += 1
    rows = np.repeat(np.arange(len(y)), weights.astype(int))
    rng.shuffle(rows)
    options: dict[str, Any] = {"min_samples_leaf": 1, "min_child_weight": 3.0, "max_leaf_nodes": 8}
    weighted = start(X, y, weights=weights, **options)
    repeated = start(X[rows], y[rows], **options)
    for state in (weighted, repeated):
        state.boost(3)
    np.testing.assert_allclose(weighted.scores[rows], repeated.scores, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "poisson"])
@pytest.mark.parametrize("level_wise", [False, True])
def test_no_leaf_has_too_few_rows(loss: str, level_wise: bool) -> None:
    X, signal = draw_table(700, 5)
    y = (signal > 1.0).astype(float)
    state = start(X, y, loss, min_samples_leaf=17, max_leaf_nodes=40, level_wise=level_wise, learning_rate=0.8)
    state.boost(12)
    samples = state.finish().leaf_samples
    assert samples.min() >= 17
    assert len(samples) > 100


def test_limits_of_a_tree_are_kept() -> None:
    X, y = draw_table(2000, 6)
    state = start(X, y, max_depth=3, max_leaf_nodes=0, min_samples_leaf=1, level_wise=True)
    state.boost(2)
    trees = state.finish()
    assert [int(trees.leaf_offsets[t + 1] - trees.leaf_offsets[t]) for t in range(2)] == [8, 8]
    strict = start(X, y, gamma=1e9)
    strict.boost()
    assert strict.finish().node_offsets[-1] == 1


def test_constant_targets_and_separable_classes_stay_bounded() -> None:
    X, _ = draw_table(300, 7)
    constant = start(X, np.full(300, 7.25))
    constant.boost(3)
    assert (constant.scores == 7.25).all()
    separable = start(X, (X[:, 0] > 1.5).astype(float), "logistic", min_samples_leaf=1)
    separable.boost(200)
    assert np.isfinite(separable.scores).all()
    assert np.abs(separable.scores).max() < 60.0
    assert separable.measure_loss() < 0.01


def test_gradients_may_be_the_callers() -> None:
    X, y = draw_table(400, 8)
    own = start(X, y)
    given_ = start(X, y)
    for _ in range(3):
        own.boost()
        given_.take_gradients(given_.scores - y[:, None], np.ones((len(y), 1), order="F"))
        given_.grow_trees()
    np.testing.assert_allclose(own.scores, given_.scores, atol=1e-9)


def test_monotone_and_interaction_constraints_hold() -> None:
    X, y = draw_table(900, 9)
    state = start(X, y, monotonic=[1, 0, 0, -1], min_samples_leaf=5)
    state.boost(30)
    trees = state.finish()
    grid = np.repeat(X[:50], 20, axis=0)
    for feature, sign in ((0, 1), (3, -1)):
        grid[:, feature] = np.tile(np.linspace(-3, 3, 20), 50)
        steps = np.diff(trees.predict(grid, "sum")[:, 0].reshape(50, 20), axis=1) * sign
        assert steps.min() >= 0.0
        grid = np.repeat(X[:50], 20, axis=0)
    apart = start(X, y, interaction_groups=[[0, 1], [2, 3]])
    apart.boost(10)
    arena = apart.finish()
    for t in range(arena.n_trees):
        view = arena.describe(t, "squared_error")
        used = set(view["feature"][view["feature"] >= 0].tolist())
        assert used <= {0, 1} or used <= {2, 3}


def test_categories_split_by_their_gradients() -> None:
    rng = np.random.default_rng(10)
    codes = rng.integers(0, 40, 4000)
    effect = rng.normal(size=40)
    X = np.column_stack([codes.astype(float), rng.normal(size=4000)])
    X[rng.random(4000) < 0.05, 0] = np.nan
    y = np.where(np.isnan(X[:, 0]), 2.0, effect[codes]) + 0.1 * rng.normal(size=4000)
    state = start(X, y, levels=[40, 0])
    state.boost(60)
    assert state.measure_loss() < 0.02
    np.testing.assert_allclose(
        state.finish().predict(X, "sum")[:, 0] + state.find_baseline()[0], state.scores[:, 0], atol=1e-12
    )


def test_held_out_rows_follow_the_tree() -> None:
    X, y = draw_table(1000, 11)
    state = start(X, y, subsample=0.5, seed=3)
    losses = []
    for _ in range(20):
        state.draw_rows()
        before = state.measure_held_out_loss()
        state.compute_gradients()
        state.grow_trees()
        losses.append(before - state.measure_held_out_loss())
        assert len(state.held_out_rows) == 500
    assert np.mean(losses) > 0.0
    assert np.isnan(start(X, y).measure_held_out_loss())


@pytest.mark.parametrize("n_jobs", [1, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_groups_are_drawn_as_a_whole(weighted: bool, n_jobs: int) -> None:
    X, y = draw_table(900, 21)
    rng = np.random.default_rng(4)
    groups = rng.integers(0, 40, 900).astype(np.uint32)
    weights = np.where(groups % 5 == 0, 0.0, rng.integers(0, 3, 900)) if weighted else None
    state = start(X, y, weights=weights, subsample=0.6, seed=7, n_jobs=n_jobs)
    state.draw_groups(groups)
    draws = _core.RowDraws(weights, 900, groups)
    present = np.ones(900) if weights is None else weights
    for tree in range(6):
        state.draw_rows()
        drawn = draw_whole_groups(groups.tolist(), present.tolist(), 0.6, 7, tree)
        is_drawn = np.isin(groups, list(drawn))
        np.testing.assert_array_equal(state.held_out_rows, np.flatnonzero(~is_drawn & (present > 0)))
        found = draws.draw(state.params, tree)
        np.testing.assert_array_equal(found.sample, np.flatnonzero(is_drawn & (present > 0)))
        np.testing.assert_array_equal(found.held_out, state.held_out_rows)
        state.compute_gradients()
        state.grow_trees()
    state.draw_groups(None)
    alone = start(X, y, weights=weights, subsample=0.6, seed=7, n_jobs=n_jobs)
    alone.skip_trees(6)
    for one in (state, alone):
        one.draw_rows()
    np.testing.assert_array_equal(state.held_out_rows, alone.held_out_rows)


def test_groups_that_are_none_are_refused() -> None:
    X, y = draw_table(50, 22)
    state = start(X, y)
    with pytest.raises(ValueError, match="a group for each row"):
        state.draw_groups(np.zeros(49, np.uint32))
    with pytest.raises(ValueError, match="below that of the rows"):
        _core.RowDraws(None, 50, np.full(50, 50, np.uint32))


def test_sampling_by_gradients_keeps_the_large_ones() -> None:
    X, y = draw_table(4000, 12)
    state = start(X, y, goss_top=0.2, goss_other=0.2, seed=1)
    full = start(X, y)
    state.compute_gradients()
    out = state.held_out_rows
    sizes = np.abs(y - y.mean())
    assert sizes[out].max() <= np.sort(sizes)[-800]
    assert 2200 < len(out) < 2600
    state.grow_trees()
    state.boost(39)
    full.boost(40)
    assert state.measure_loss() < 1.25 * full.measure_loss()
    other = start(X, y, goss_top=0.2, goss_other=0.2, seed=1, n_jobs=2)
    other.boost(40)
    assert other.scores.tobytes() == state.scores.tobytes()


def test_a_fit_can_be_continued() -> None:
    X, y = draw_table(800, 13)
    whole = start(X, y, subsample=0.7, colsample_node=0.5, seed=5)
    whole.boost(10)
    first = start(X, y, subsample=0.7, colsample_node=0.5, seed=5)
    first.boost(6)
    second = start(X, y, subsample=0.7, colsample_node=0.5, seed=5)
    second.set_scores(first.scores)
    second.skip_trees(first.n_trees)
    second.boost(4)
    assert second.scores.tobytes() == whole.scores.tobytes()
    assert second.n_trees == 4


@pytest.mark.parametrize("power", [-60, 60])
def test_the_scale_of_the_target_changes_nothing(power: int) -> None:
    X, y = draw_table(500, 14)
    plain, scaled = start(X, y), start(X, y * 2.0**power)
    for state in (plain, scaled):
        state.boost(5)
    np.testing.assert_array_equal(scaled.scores, plain.scores * 2.0**power)


@pytest.mark.parametrize("n_categories", [200, 300])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_leaf_whose_rows_are_counted_is_split_by_any_category(n_categories: int, weighted: bool) -> None:
    """Five categories hold most of the hessians, so that their few rows are taken for many until they are counted."""
    codes = np.repeat(np.arange(n_categories), 2)
    rng = np.random.default_rng(0)
    heavy = codes < 5
    gradients = np.where(heavy, -20.0, 0.01 * rng.normal(size=len(codes)))
    weights = rng.integers(1, 3, size=len(codes)).astype(float) if weighted else None
    state = start(
        codes[:, None].astype(float),
        np.zeros(len(codes)),
        levels=[n_categories],
        weights=weights,
        min_samples_leaf=20,
        min_child_weight=0.0,
        max_leaf_nodes=2,
        min_samples_level=1,
        category_smooth=0.0,
        category_l2=0.0,
    )
    state.take_gradients(gradients[:, None], np.where(heavy, 10.0, 0.1)[:, None])
    state.grow_trees()
    tree = state.finish().describe(0, "squared_error")
    assert list(tree["feature"]) == [0, -2, -2]
    left = set(tree["left_categories"][0])
    n_left = sum(code in left for code in codes)
    assert 20 <= n_left <= len(codes) - 20
    assert tree["n_node_samples"][1] == n_left


def test_scores_of_pruned_leaves_are_those_of_the_tree():
    # So many rows are gone through block by block, in order: merged leaves must have theirs in order, too.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40_000, 3))
    y = X[:, 0] + np.sin(3.0 * X[:, 1]) + rng.normal(size=len(X))
    params = _core.BoostingParams()
    params.n_jobs, params.ccp_alpha, params.max_leaf_nodes = 1, 0.01, 63
    bins = _core.BinMapper.fit(X, None, np.zeros(3, dtype=np.uint32), 255, 1).transform(X, 1)
    state = _core.Boosting(bins, y, None, "squared_error", np.nan, 1, params)
    state.boost(2)
    predicted = state.finish().predict(X, "sum", None, state.slots, 1)
    np.testing.assert_allclose(np.asarray(state.scores), predicted, rtol=0.0, atol=1e-12)
