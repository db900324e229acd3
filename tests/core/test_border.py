"""What the core must refuse: arrays and numbers that do not go together would be read beyond their ends."""

from __future__ import annotations

import os
from collections.abc import Callable
from math import nan
from typing import Any

import numpy as np
import pytest

from committee import _core

N_ROWS, N_COLS = 30, 3
X = np.random.default_rng(0).normal(size=(N_ROWS, N_COLS))
LEVELS = np.zeros(N_COLS, dtype=np.uint32)
BINS = _core.BinMapper.fit(X, None, LEVELS, 255, 1).transform(X, 1)
LABELS = (X[:, :1] > 0).astype(np.uint32)
Y = X[:, 0].copy()


def make_params(cls: Any, **options: Any) -> Any:
    params = cls()
    for name, value in options.items():
        setattr(params, name, value)
    return params


def grow_tree(**changed: Any) -> Any:
    options = {"presort": None, "labels": LABELS, "n_classes": [2], "values": None, "weights": None, "params": {}}
    options.update(changed)
    params = make_params(_core.GrowParams, **options.pop("params"))
    return _core.grow_tree(BINS, **options, params=params)


def grow_forest(plan: dict[str, Any], **changed: Any) -> Any:
    options = {"presort": None, "labels": LABELS, "n_classes": [2], "values": None, "weights": None}
    options.update(changed)
    plan = make_params(_core.ForestPlan, n_trees=2, **plan)
    return _core.grow_forest(BINS, **options, params=_core.GrowParams(), plan=plan)


def boost(target: Any, loss: str = "squared_error", n_scores: int = 1, **options: Any) -> Any:
    return _core.Boosting(BINS, target, None, loss, nan, n_scores, make_params(_core.BoostingParams, **options))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"labels": LABELS[:-1]}, "labels must have one entry"),
        ({"labels": LABELS + 1}, "not below its number of classes"),
        ({"n_classes": [2**30 + 1]}, "too many classes"),
        ({"labels": None, "n_classes": [], "values": np.empty((N_ROWS, 0))}, "a column"),
        ({"weights": np.ones(N_ROWS - 1)}, "weights must have one entry a row"),
        ({"params": {"member_features": [N_COLS]}}, "unknown feature"),
        ({"params": {"member_features": [0, 1, 1]}}, "each once"),
        ({"params": {"interaction_groups": [[0, N_COLS]]}}, "unknown feature"),
        ({"params": {"monotonic": [1]}}, "one entry a feature"),
        ({"n_classes": [3], "params": {"monotonic": [1, 0, 0]}}, "two classes or one output"),
    ],
)
def test_a_tree_is_not_grown_from_what_does_not_fit(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        grow_tree(**changed)


def test_a_presort_of_another_table_is_refused() -> None:
    with pytest.raises(ValueError, match="presort must be that of the table"):
        grow_tree(presort=_core.presort_columns(X[:5], LEVELS, 1))


def test_a_forest_looks_at_its_input_before_it_weighs_it() -> None:
    with pytest.raises(ValueError, match="labels must have one entry"):
        grow_forest({"balance_classes": True}, labels=LABELS[:3])
    with pytest.raises(ValueError, match="weights must have one entry"):
        grow_forest({}, weights=np.ones(3))


def test_rows_are_not_drawn_from_nothing() -> None:
    sampling = make_params(_core.RowSampling, n_draws=3)
    with pytest.raises(ValueError, match="number of rows"):
        _core.draw_rows(sampling, 0, 0, 0)
    groups = make_params(_core.RowSampling, n_draws=1, whole_groups=True, strata=[0, 0, 1], weights=[0.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="nothing to draw from"):
        _core.draw_rows(groups, 0, 0, 3)
    negative = make_params(_core.RowSampling, n_draws=3, weights=[-1.0, 4.0, 1.0])
    with pytest.raises(ValueError, match="negative"):
        _core.draw_rows(negative, 0, 0, 3)


def test_out_of_bag_rows_lie_in_the_table() -> None:
    trees, _ = grow_forest({})
    sums, votes = np.zeros((N_ROWS, 2)), np.zeros(N_ROWS, dtype=np.uint32)
    for first_row, n_table_rows in [(1, 0), (2**40, 0), (1, N_ROWS), (2**64 - 1, N_ROWS), (0, N_ROWS - 1)]:
        plan = make_params(_core.ForestPlan, first_row=first_row, n_table_rows=n_table_rows)
        with pytest.raises(ValueError, match="not in the table"):
            _core.add_out_of_bag(trees, X, plan, 0, 1, sums, votes)


@pytest.mark.parametrize(
    ("labels", "n_classes", "values"), [(LABELS, [3], None), (None, [], Y[:, None]), (np.tile(LABELS, 2), [2, 2], None)]
)
def test_features_are_judged_by_the_target_of_the_trees(labels: Any, n_classes: list[int], values: Any) -> None:
    trees, _ = grow_forest({})
    with pytest.raises(ValueError, match="what the trees predict"):
        _core.permute_features(trees, X, labels, n_classes, values, None, _core.ForestPlan(), 0, 1, 1)


@pytest.mark.parametrize("columns", [[0], [0] * (X.shape[1] - 1) + [X.shape[1]]])
def test_every_feature_comes_from_a_column(columns: list[int]) -> None:
    trees, _ = grow_forest({})
    owners = np.array(columns, dtype=np.uint32)
    with pytest.raises(ValueError, match="every feature must have a column"):
        _core.permute_features(trees, X, LABELS, [2], None, None, _core.ForestPlan(), 0, 1, 1, owners)


def test_boosting_reads_no_target_beyond_its_end() -> None:
    for target, loss in [(Y, "squared_error"), (Y[:-1], "softmax"), (np.tile(Y, 2), "softmax")]:
        with pytest.raises(ValueError, match="a value for each row"):
            boost(target, loss, 2)
    for wrong in (-1.0, 3.0, nan):
        with pytest.raises(ValueError, match="numbers from 0 on"):
            boost(np.full(N_ROWS, wrong), "softmax", 3)
    with pytest.raises(ValueError, match="one score at least"):
        boost(Y, n_scores=0)
    with pytest.raises(ValueError, match="one score at least"):
        _core.Loss.make("softmax", nan, 0)


def test_losses_read_no_target_beyond_its_end() -> None:
    scores = np.zeros((N_ROWS, 2), order="F")
    two, classes = _core.Loss.make("squared_error", nan, 2), _core.Loss.make("softmax", nan, 2)
    for loss, y in ((two, Y), (classes, np.tile(Y, 2))):
        for ask in (
            lambda o, t: o.find_gradients(t, scores),
            lambda o, t: o.find_values(t, scores),
            lambda o, t: o.find_baseline(t, None, N_ROWS),
        ):
            with pytest.raises(ValueError, match="a value for each row"):
                ask(loss, y)
    with pytest.raises(ValueError, match="numbers from 0 on"):
        classes.find_values(np.full(N_ROWS, 2.0), scores)


@pytest.mark.parametrize(
    "ask",
    [
        lambda state: state.compute_gradients(),
        lambda state: state.boost(1),
        lambda state: state.find_baseline(),
        lambda state: state.measure_loss(),
        lambda state: state.boost_measured(1, False),
        lambda state: state.measure_held_out_loss(),
    ],
)
def test_boosting_without_a_target_takes_gradients_only(ask: Callable[[Any], Any]) -> None:
    state = boost(None)
    with pytest.raises(ValueError, match="has no target"):
        ask(state)
    state.take_gradients(Y[:, None], np.ones((N_ROWS, 1)))
    state.grow_trees()
    assert state.n_trees == 1


def test_boosting_knows_its_features() -> None:
    with pytest.raises(ValueError, match="one entry a feature"):
        boost(Y, monotonic=[1])
    with pytest.raises(ValueError, match="unknown feature"):
        boost(Y, interaction_groups=[[N_COLS]])
    state = boost(Y)
    state.boost(1)
    narrow = _core.select_columns(BINS, np.array([0], dtype=np.uint32))
    with pytest.raises(ValueError, match="other bins"):
        state.add_trees(narrow, 0, 1, 1.0, np.zeros((N_ROWS, 1), order="F"))


def misalign(array: Any) -> Any:
    """The same array, one byte beside the place where its values may lie."""
    order: Any = "F" if array.flags.f_contiguous else "C"
    room = np.frombuffer(bytearray(b"x" + array.tobytes(order)), np.uint8)
    moved = room[1:].view(array.dtype).reshape(array.shape, order=order)
    assert not moved.flags.aligned
    return moved


def test_memory_that_is_not_aligned_is_refused() -> None:
    with pytest.raises(ValueError, match="aligned"):
        _core.BinMapper.fit(misalign(X), None, LEVELS, 255, 1)
    with pytest.raises(ValueError, match="X must be"):
        _core.all_finite_or_missing(misalign(X))  # by its buffer, as predictions read it
    data, indices, indptr = np.ones(3), np.zeros(3, np.int32), np.arange(N_COLS + 1, dtype=np.int32)
    for at in range(3):
        parts = [data, indices, indptr]
        parts[at] = misalign(parts[at])
        with pytest.raises(ValueError, match="aligned"):
            _core.BinMapper.fit_csc(*parts, (N_ROWS, N_COLS), None, LEVELS, 255, 1)


def test_vectors_that_are_not_aligned_are_copied_where_they_are_read() -> None:
    values = misalign(Y)
    assert _core.testing.find_address(Y) == Y.ctypes.data
    assert _core.testing.find_address(values) % values.itemsize == 0
    np.testing.assert_array_equal(_core.find_exponentials(values), _core.find_exponentials(Y))
    moved, _ = grow_tree(labels=misalign(LABELS), weights=misalign(np.abs(Y)))
    plain, _ = grow_tree(weights=np.abs(Y))
    assert moved.__getstate__()["nodes"].tobytes() == plain.__getstate__()["nodes"].tobytes()


def test_arrays_that_are_not_aligned_are_not_written_to() -> None:
    state = boost(Y)
    state.boost(1)
    scores = np.zeros((N_ROWS, 1), order="F")
    state.add_trees(BINS, 0, 1, 1.0, scores)
    with pytest.raises(TypeError):
        state.add_trees(BINS, 0, 1, 1.0, misalign(scores))


def test_a_child_beyond_the_tree_is_no_child() -> None:
    grown = {
        "children_left": [1, -1, -1],
        "children_right": [2**32 + 2, -1, -1],
        "feature": [0, -2, -2],
        "threshold": [0.0, 0.0, 0.0],
        "n_node_samples": [2, 1, 1],
        "weighted_n_node_samples": [2.0, 1.0, 1.0],
        "impurity": [0.5, 0.0, 0.0],
        "value": [[1.0], [0.0], [2.0]],
    }
    with pytest.raises(ValueError, match="A child must be a node"):
        _core.testing.build_trees([grown], [], 1)


@pytest.mark.parametrize("bad", [nan, np.inf, -1.0])
def test_weights_are_finite_and_not_negative(bad: float) -> None:
    weights = np.ones(N_ROWS)
    weights[3] = bad
    with pytest.raises(ValueError, match="finite and not negative"):
        grow_tree(weights=weights)
    with pytest.raises(ValueError, match="finite and not negative"):
        _core.RowDraws(weights, N_ROWS)


@pytest.mark.parametrize("bad", [nan, np.inf])
def test_values_are_finite(bad: float) -> None:
    values = Y[:, None].copy()
    values[3] = bad
    options = {"labels": None, "n_classes": [], "params": {"criterion": "squared_error"}}
    with pytest.raises(ValueError, match="must be finite"):
        grow_tree(values=values, **options)
    with pytest.raises(ValueError, match="no classes"):
        grow_tree(values=Y[:, None], **{**options, "n_classes": [2]})


def test_blocks_have_every_row_once() -> None:
    mapper = _core.BinMapper.fit(X, None, LEVELS, 255, 1)
    builder = _core.BinnedBuilder(mapper, N_ROWS)
    builder.write(X[:10], 0, 1)
    builder.write(X[10:], 8, 1)
    with pytest.raises(ValueError, match="row 10 is missing, or there twice"):
        builder.finish()
    builder = _core.BinnedBuilder(mapper, N_ROWS)
    builder.write(X[10:], 10, 1)
    builder.write(X[5:5], 5, 1)
    builder.write(X[:10], 0, 1)
    assert builder.finish().n_rows == N_ROWS


@pytest.mark.parametrize(
    "step", [(5, 0, [], []), (16, 49, [], []), (16, -16, [], []), (16, 48, [0], []), (4, 60, [1, 0], [0, 0])]
)
def test_steps_of_a_search_for_quantiles_are_checked(step: Any) -> None:
    with pytest.raises(ValueError, match=r"bits of 64|slot"):
        _core.count_digits(step, 0, Y, None)


def test_counts_and_exact_sums_do_not_overflow() -> None:
    search = _core.QuantileSearch([0.5], 4)
    for counts in (np.full(16, 1 << 60), np.full(16, -1)):
        with pytest.raises(ValueError, match="sums of weights"):
            search.take(counts)
    limbs = _core.sum_exactly(Y)
    limbs[5] = np.iinfo(np.int64).min
    with pytest.raises(ValueError, match=r"2\^62"):
        _core.round_exact(limbs)


@pytest.mark.parametrize("factor", [0.0, nan, np.inf, -1.0, 1e300])
def test_weights_of_words_stay_finite(factor: float) -> None:
    offsets, entries = np.array([0, 1, 2], np.uint64), np.array([0, 1], np.uint32)
    table = _core.WordTable(offsets, entries, offsets, entries, 2)
    weights = _core.LabelWeights(table, np.ones(2))
    before = weights.list_values(table)
    with pytest.raises(ValueError, match="factors"):
        table.reweight(weights, _core.WordStump(0, np.zeros(4), np.array([factor, 1.0, 1.0, 1.0])))
    np.testing.assert_array_equal(weights.list_values(table), before)


def make_additive() -> Any:
    held_out = (np.arange(N_ROWS) % 3 == 0).astype(np.float64)[None, :]
    params = make_params(_core.AdditiveParams, patience=2)
    return _core.AdditiveBoosting(BINS, "squared_error", nan, 1, Y, np.ones(N_ROWS), held_out, params)


def test_additive_models_keep_their_terms_and_cells_if_others_are_refused() -> None:
    """A refusal in the middle of a list left a part of it, which the next call read beyond its end."""
    model = make_additive()
    features, signs = np.arange(N_COLS, dtype=np.uint32), np.zeros(N_COLS, dtype=np.int32)
    assert model.run(2, 1) == 0  # there are no terms yet
    with pytest.raises(ValueError, match="feature"):
        model.start_features(features + 1, signs)
    assert model.run(2, 1) == 0
    offsets = np.arange(N_COLS + 1, dtype=np.uint64) * (N_ROWS + 1)  # every value has a bin, and missing ones
    cells = np.arange(int(offsets[-1])).astype(np.uint8) % 4
    wrong = offsets.copy()
    wrong[2] -= 1
    with pytest.raises(ValueError, match="must have a cell"):
        model.set_cells(wrong, cells)
    with pytest.raises(ValueError, match="pairs need cells"):
        model.rank_pairs(np.array([[0, 2]], dtype=np.uint32), 1)
    model.start_features(features, signs)
    model.set_cells(offsets, cells)
    assert model.run(1, 1) == 1
    with pytest.raises(ValueError, match="feature"):
        model.start_features(features + 1, signs)
    with pytest.raises(ValueError, match="before the terms begin"):
        model.set_bins(0, 3, np.zeros(N_ROWS, dtype=np.uint16))
    assert model.run(1, 1) == 1
    assert model.rank_pairs(np.array([[0, 2]], dtype=np.uint32), 1).shape == (1,)


def test_arenas_without_trees_are_joined() -> None:
    trees, _ = grow_tree()
    none = trees.select(0, 0)
    assert _core.concatenate_trees([none, none]).n_trees == 0
    assert _core.concatenate_trees([none, trees]).n_trees == 1


def list_binning_calls(levels: Any) -> list[Callable[[], Any]]:
    columns = (X.T.ravel(), np.tile(np.arange(N_ROWS), N_COLS), np.arange(N_COLS + 1) * N_ROWS, X.shape)
    return [
        lambda: _core.BinMapper.fit(X, None, levels, 255, 1),
        lambda: _core.BinMapper.fit_csc(*columns, None, levels, 255, 1),
        lambda: _core.TableSummary(True, levels, 255),
        lambda: _core.learn_bins(X, None, levels, 255, None, 1),
        lambda: _core.presort_columns(X, levels, 1),
    ]


@pytest.mark.parametrize("place", range(5))
def test_the_number_of_categories_is_limited(place: int) -> None:
    """One more than the largest number would be no category."""
    list_binning_calls(LEVELS)[place]()
    levels = np.array([0, 2**32 - 1, 0], dtype=np.uint32)
    with pytest.raises(ValueError, match=r"at most 2147483647 categories; got 4294967295"):
        list_binning_calls(levels)[place]()


@pytest.mark.parametrize("levels", [[4, 0, 0], [4, 0, 0, 0]])
def test_a_summary_is_of_the_columns_of_the_sample(levels: list[int]) -> None:
    """Bins of categories have no ends that the summary of numbers could move."""
    summary = _core.TableSummary(True, np.array(levels, dtype=np.uint32), 255)
    with pytest.raises(ValueError, match="other columns than the sample"):
        _core.learn_bins(X, None, LEVELS, 255, summary, 1)
    summary = _core.TableSummary(True, LEVELS, 255)
    with pytest.raises(ValueError, match="other columns than the sample"):
        _core.learn_bins(X, None, np.array([4, 0, 0], dtype=np.uint32), 255, summary, 1)


WIDE_ANSWERS: list[Callable[[Any, int], Any]] = [
    lambda trees, width: _core.average_by_weight(
        trees, np.zeros(1, np.uint32), X[:4, :1].copy(), "mean", None, None, width, 1
    ),
    lambda trees, width: _core.average_by_rows(
        trees, X, None, np.zeros(1, np.uint32), X[:4, :1].copy(), "mean", None, None, width, True, 1
    ),
    lambda trees, width: _core.PermutationStudy(trees, X, "mean", None, None, width, 1),
    lambda trees, width: _core.explain_against(trees, X, X, None, "mean", None, None, width, 1),
]


@pytest.mark.parametrize("ask", WIDE_ANSWERS)
def test_widths_that_no_memory_holds_are_refused(ask: Callable[[Any, int], Any]) -> None:
    """The size of the answer would wrap, and an answer of no size be written to."""
    trees = grow_forest({})[0]
    ask(trees, 2)
    with pytest.raises(ValueError, match=r"out_width must be below 2\^32"):
        ask(trees, 2**63)


@pytest.mark.skipif("san.so" in os.environ.get("LD_PRELOAD", ""), reason="a sanitizer's operator new never throws")
def test_answers_beyond_all_memory() -> None:
    with pytest.raises(MemoryError):
        _core.average_by_weight(
            grow_forest({})[0], np.zeros(1, np.uint32), np.zeros((2**22, 1)), "mean", None, None, 2**32 - 1, 1
        )


def test_shares_of_large_gradients_are_shares() -> None:
    draws = _core.RowDraws(None, N_ROWS)
    for top in (2.0, -0.5, nan):
        params = make_params(_core.BoostingParams, goss_top=top, goss_other=0.1)
        with pytest.raises(ValueError, match="must be shares of the rows"):
            draws.draw_by_gradient(np.abs(Y), params, 0)


@pytest.mark.parametrize("place", ["time", "score"])
def test_pairs_of_no_order_are_refused(place: str) -> None:
    """A time that is not equal to itself would be searched for ever."""
    arrays = {"time": np.abs(Y), "score": Y.copy()}
    arrays[place][3] = nan
    with pytest.raises(ValueError, match="must not be NaN"):
        _core.sum_comparable_pairs(
            np.ones(N_ROWS, np.uint8), **arrays, event_part=np.ones(N_ROWS), later_part=np.ones(N_ROWS)
        )


def test_a_pruning_path_ends_where_risks_are_beyond_all_bounds() -> None:
    weights = np.abs(Y)
    weights[5], weights[7] = 1e-300, 1.79e308
    params = make_params(_core.GrowParams)
    alphas, impurities = _core.find_pruning_path(BINS, None, LABELS, [2], None, weights, params)
    assert len(alphas) == len(impurities) < 2 * N_ROWS
