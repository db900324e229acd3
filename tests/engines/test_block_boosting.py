"""Boosting over blocks of rows gives the bytes of boosting over one table."""

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from committee import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    _core,
)
from committee.engines.block_boosting import boost_in_blocks, choose_leaves_per_step
from committee.engines.block_commands import pack_commands
from committee.engines.hosts import LocalHosts
from tests.engines.block_cases import (
    BINS,
    CUTS,
    FRACTIONS,
    LOGISTIC,
    N_ROWS,
    NAN,
    SQUARED,
    WHOLE,
    X,
    assert_same,
    boost_blocks,
    boost_plain,
    make_params,
    make_target,
    open_blocks,
)

# So few leaves for so many rows that residuals are followed from tree to tree.
FOLLOWED = {"max_leaf_nodes": 15}


def check(loss, weights, options, cuts, rounds=3, **how):
    y = make_target(X, loss[0], 1 if loss[3] else loss[2])
    y = np.tile(y, len(loss[3])) if loss[3] else y
    plain, losses = boost_plain(BINS, y, weights, loss, make_params(**options), rounds)
    blocks, same_losses = boost_blocks(BINS, y, weights, loss, make_params(**options), cuts, rounds, **how)
    assert_same(plain, blocks.state)
    for one, other in zip(losses, same_losses, strict=True):
        assert one.tobytes() == other.tobytes()
    return blocks


@pytest.mark.parametrize("weights", [None, WHOLE, FRACTIONS], ids=["plain", "whole", "fractions"])
@pytest.mark.parametrize("n_blocks", list(CUTS))
@pytest.mark.parametrize(
    "loss",
    [
        LOGISTIC,
        SQUARED,
        ("softmax", NAN, 3, []),
        ("exponential", NAN, 1, []),
        ("absolute_error", NAN, 1, []),
        ("huber", NAN, 1, []),
        ("quantile", 0.3, 1, []),
        ("quantile", NAN, 2, [0.2, 0.7]),
        ("poisson", NAN, 1, []),
        ("gamma", NAN, 1, []),
        ("tweedie", NAN, 1, []),
        ("squared_error", NAN, 2, []),
    ],
    ids=lambda loss: f"{loss[0]}-{loss[2]}",
)
def test_every_loss_over_blocks(loss, n_blocks, weights):
    check(loss, weights, {}, CUTS[n_blocks])


@pytest.mark.parametrize("weights", [None, WHOLE], ids=["plain", "whole"])
@pytest.mark.parametrize(
    "options",
    [
        FOLLOWED,
        FOLLOWED | {"follow_residuals": False},
        {"subsample": 0.6},
        {"goss_top": 0.2, "goss_other": 0.1},
        {"colsample_tree": 0.7, "colsample_level": 0.8, "colsample_node": 0.7, "seed": 5},
        {"monotonic": [1, 0, 0, 0, 0, 0, 0, 0, -1]},
        {"interaction_groups": [[0, 1, 7], [2, 3, 4], [5, 6, 8]]},
        {"level_wise": True},
        {"symmetric": True, "max_leaf_nodes": 0, "max_depth": 4, "colsample_node": 0.7, "seed": 5},
        {"mixed": True, "max_leaf_nodes": 9, "mixed_depth": 4, "subsample": 0.7, "colsample_node": 0.7, "seed": 5},
        FOLLOWED | {"mixed": True, "mixed_depth": 3},
        {"random_thresholds": True, "colsample_node": 0.7, "seed": 5},
        {"max_leaf_nodes": 0, "max_depth": 4},
        {"max_leaf_nodes": 120, "min_samples_leaf": 1},
        {"min_samples_leaf": 150, "min_weight_leaf": 0.02},
        {"ccp_alpha": 0.002},
        {"reg_lambda": 1.0, "reg_alpha": 2.0, "gamma": 0.01},
        {"joint_columns": False},
    ],
    ids=lambda options: "-".join(options),
)
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
def test_every_option_over_blocks(loss, options, weights):
    check(loss, weights, options, CUTS[3])


@pytest.mark.parametrize("loss", [("softmax", NAN, 3, []), ("squared_error", NAN, 2, [])], ids=["classes", "outputs"])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.5}], ids=["all", "sample"])
def test_leaves_that_are_vectors(loss, options):
    check(loss, None, {"vector_leaves": True, **options}, CUTS[17])


@pytest.mark.parametrize("n_ahead", [1, 2, 64])
def test_leaves_split_ahead_do_not_change_a_tree(n_ahead):
    alone = check(LOGISTIC, None, {}, CUTS[3], leaves_per_step=1)
    ahead = check(LOGISTIC, None, {}, CUTS[3], leaves_per_step=n_ahead)
    assert ahead.traffic.n_trees == 3
    assert ahead.traffic.n_calls <= alone.traffic.n_calls


def test_round_trips_of_a_tree_are_few():
    y = make_target(X, "logistic")
    blocks, _ = boost_blocks(BINS, y, None, LOGISTIC, make_params(), CUTS[3], 3)
    before = blocks.traffic.n_calls
    blocks.state.boost(4)
    assert (blocks.traffic.n_calls - before) / 4 < 20  # 30 leaves, one by one, would take as many and more
    assert (choose_leaves_per_step(31), choose_leaves_per_step(255)) == (4, 24)


@pytest.mark.parametrize("trees_per_step", [1, 2, 5])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (("softmax", NAN, 5, []), {}),
        (("softmax", NAN, 5, []), {"subsample": 0.6}),
        (("softmax", NAN, 5, []), {"goss_top": 0.2, "goss_other": 0.1, "min_samples_leaf": 150}),
        (("quantile", NAN, 3, [0.1, 0.5, 0.9]), {"colsample_node": 0.6}),
        (("huber", NAN, 3, []), {}),
    ],
    ids=["classes", "sample", "goss", "quantiles", "huber"],
)
def test_trees_of_a_round_grown_together_are_the_same(loss, options, trees_per_step):
    blocks = check(loss, WHOLE, options, CUTS[3], trees_per_step=trees_per_step)
    assert blocks.traffic.n_trees == 3 * loss[2]


@pytest.mark.parametrize("n_leaves", [31, 255])
@pytest.mark.parametrize("n_classes", [3, 7])
def test_round_trips_of_several_classes_are_those_of_one_tree(n_classes, n_leaves):
    y = make_target(X, "softmax", n_classes)
    trips = {}
    for trees_per_step in (1, None):
        blocks, _ = boost_blocks(
            BINS,
            y,
            None,
            ("softmax", NAN, n_classes, []),
            make_params(max_leaf_nodes=n_leaves),
            CUTS[3],
            3,
            trees_per_step=trees_per_step,
        )
        before = blocks.traffic.n_calls
        blocks.state.boost(4)
        trips[trees_per_step] = (blocks.traffic.n_calls - before) / 4
    assert trips[None] < 2.0 * trips[1] / n_classes  # the longest of the trees decides, not their mean


def test_a_step_that_fails_ends_all_trees():
    class FailingHosts(LocalHosts):
        n_left = 12

        def call(self, fit, name, args=(), *, reduce, changes, by_block=None):
            self.n_left -= 1
            if self.n_left == 0:
                raise KeyboardInterrupt
            return super().call(fit, name, args, reduce=reduce, changes=changes, by_block=by_block)

    def read_threads():
        return {path.name for path in Path("/proc/self/task").glob("*")}  # none where there is no /proc

    loss, y = ("softmax", NAN, 4, []), make_target(X, "softmax", 4)
    first = open_blocks(BINS, y, None, loss, make_params(), CUTS[3])
    first.state.boost(1)  # the pool, whose threads stay, has started them now
    before, n_before = read_threads(), threading.active_count()
    blocks = open_blocks(BINS, y, None, loss, make_params(), CUTS[3], hosts=FailingHosts())
    with pytest.raises(KeyboardInterrupt):
        blocks.state.boost(3)
    assert threading.active_count() == n_before
    deadline = time.monotonic() + 60
    while read_threads() - before and time.monotonic() < deadline:  # the system lists a joined thread a while longer
        time.sleep(0.01)
    assert not read_threads() - before


def test_gradients_of_the_caller():
    y = make_target(X, "squared_error")
    blocks = open_blocks(BINS, None, WHOLE, SQUARED, make_params(), CUTS[17])
    states = [_core.Boosting(BINS, None, WHOLE, *SQUARED[:3], make_params()), blocks.state]
    for state in states:
        for _ in range(3):
            gradients = np.asfortranarray(np.asarray(state.scores) - y.reshape(-1, 1))
            state.take_gradients(gradients, np.full_like(gradients, 2.0))
            state.grow_trees()
    assert_same(*states)


class LosingHosts(LocalHosts):
    """Loses a block before some of the calls."""

    def __init__(self, every: int) -> None:
        super().__init__()
        self.every, self.n_calls, self.n_lost = every, 0, 0

    def call(self, fit, name, args=(), *, reduce, changes, by_block=None):
        self.n_calls += 1
        if self.n_calls % self.every == 0:
            self.drop(fit, self.n_calls % 3)
            self.n_lost += 1
        return super().call(fit, name, args, reduce=reduce, changes=changes, by_block=by_block)


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (LOGISTIC, {}),
        (SQUARED, FOLLOWED),
        (("huber", NAN, 1, []), {"subsample": 0.6}),
        (LOGISTIC, {"goss_top": 0.2, "goss_other": 0.1}),
        (("softmax", NAN, 3, []), {"vector_leaves": True}),
        (("softmax", NAN, 4, []), {}),
        (("softmax", NAN, 3, []), {"subsample": 0.6}),
        (("softmax", NAN, 3, []), {"goss_top": 0.2, "goss_other": 0.1}),
        (("quantile", NAN, 2, [0.2, 0.7]), {}),
        (SQUARED, FOLLOWED | {"colsample_tree": 0.35}),
        (("softmax", NAN, 3, []), {"colsample_tree": 0.4}),
    ],
    ids=[
        "plain",
        "followed",
        "huber",
        "goss",
        "vectors",
        "classes",
        "class-samples",
        "class-goss",
        "quantiles",
        "followed-columns",
        "class-columns",
    ],
)
@pytest.mark.parametrize("weights", [None, WHOLE], ids=["plain", "whole"])
def test_a_lost_block_is_made_again_to_equal_bytes(loss, options, weights):
    y = np.tile(make_target(X, loss[0]), loss[2]) if loss[3] else make_target(X, loss[0], loss[2])
    plain, losses = boost_plain(BINS, y, weights, loss, make_params(**options), 4)
    hosts = LosingHosts(5)
    blocks, same_losses = boost_blocks(BINS, y, weights, loss, make_params(**options), CUTS[3], 4, hosts=hosts)
    assert hosts.n_lost > 5
    one, other = plain.finish(), blocks.state.finish()
    assert one.nodes.tobytes() == other.nodes.tobytes()
    assert one.values.tobytes() == other.values.tobytes()
    assert losses[0].tobytes() == same_losses[0].tobytes()


def test_blocks_are_forgotten_with_the_fit():
    hosts = LocalHosts()
    blocks = open_blocks(BINS, make_target(X, "logistic"), None, LOGISTIC, make_params(), CUTS[3], hosts=hosts)
    blocks.close()
    with pytest.raises(KeyError):
        hosts.call(blocks.fit_name, "run", ((),), reduce="list", changes=False)


def test_unknown_commands_are_refused():
    block = _core.BoostingBlock(_core.slice_rows(BINS, 0, 10), 1)
    with pytest.raises(ValueError, match="not been started does not know the command 'split'"):
        block.run("split", ())


def test_splits_with_fewer_codes_than_they_name_are_refused():
    hosts = LocalHosts()
    blocks = open_blocks(BINS, make_target(X, "logistic"), None, LOGISTIC, make_params(), CUTS[3], hosts=hosts)
    blocks.state.boost(1)
    numbers = np.array([0, 1, 2, 0, 0, 1, 0, 5], dtype=np.uint32)  # the last: words of codes
    sent = pack_commands([("split_held_out", (numbers, np.empty(0, dtype=np.uint32)), None)])
    with pytest.raises(ValueError, match="more codes than its message has"):
        hosts.call(blocks.fit_name, sent.name, sent.args, reduce="list", changes=False)
    blocks.close()


def test_rows_are_sliced():
    part = _core.slice_rows(BINS, 100, 163)
    assert part.n_rows == 63
    np.testing.assert_array_equal(part.columns, np.asarray(BINS.columns)[:, 100:163])
    with pytest.raises(ValueError, match="Rows must be numbers up to"):
        _core.slice_rows(BINS, 10, N_ROWS + 1)


def half_square(y, scores):
    return scores - y, np.ones_like(scores)


def fit_both(model, y, weights=None):
    """Fitted attributes of the trees, with and without blocks."""
    rows = np.where(np.isnan(X[:, :7]), 0.0, X[:, :7])[:1500]
    fits = []
    for n_blocks in (None, 4):
        if n_blocks is None:
            fits.append(model().fit(rows, y[:1500], weights))
        else:
            with boost_in_blocks(LocalHosts(), n_blocks):
                fits.append(model().fit(rows, y[:1500], weights))
    one, other = fits
    assert one._trees.nodes.tobytes() == other._trees.nodes.tobytes()
    assert one._trees.values.tobytes() == other._trees.values.tobytes()
    assert one._baseline.tobytes() == other._baseline.tobytes()
    assert one.predict(rows).tobytes() == other.predict(rows).tobytes()
    return fits


@pytest.mark.parametrize(
    ("model", "loss"),
    [
        (lambda: HistGradientBoostingClassifier(max_iter=4, early_stopping=True, random_state=0), "softmax"),
        (lambda: HistGradientBoostingRegressor(max_iter=4, random_state=0), "squared_error"),
        (lambda: GradientBoostingClassifier(n_estimators=5, subsample=0.7, random_state=0), "logistic"),
        (lambda: GradientBoostingRegressor(n_estimators=6, boosting="dart", random_state=0), "squared_error"),
        (lambda: GradientBoostingRegressor(n_estimators=4, boosting="goss", random_state=0), "squared_error"),
        (
            lambda: GradientBoostingRegressor(loss=lambda y, f: (f - y, np.ones_like(f)), n_estimators=3),
            "squared_error",
        ),
    ],
    ids=["early stopping", "squared", "out of bag", "dart", "goss", "own loss"],
)
def test_estimators_over_blocks(model, loss):
    one, other = fit_both(model, make_target(X, loss, 3 if loss == "softmax" else 1))
    for name in ("train_score_", "validation_score_", "oob_scores_", "oob_improvement_"):
        if name in vars(one):
            assert getattr(one, name).tobytes() == getattr(other, name).tobytes()


def test_a_warm_start_goes_on_over_blocks():
    def model():
        return GradientBoostingRegressor(n_estimators=3, warm_start=True, random_state=0)

    one, other = fit_both(model, make_target(X, "squared_error"))
    rows, y = np.where(np.isnan(X[:, :7]), 0.0, X[:, :7])[:1500], make_target(X, "squared_error")[:1500]
    one.set_params(n_estimators=5).fit(rows, y)
    with boost_in_blocks(LocalHosts(), 3):
        other.set_params(n_estimators=5).fit(rows, y)
    assert one._trees.values.tobytes() == other._trees.values.tobytes()
