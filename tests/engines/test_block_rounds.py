"""Rounds that run beside the blocks, where one host has all of them: the bytes of boosting over one table."""

from typing import Any

import numpy as np
import pytest

from committee import HistGradientBoostingClassifier, _core
from committee.engines.block_boosting import boost_in_blocks
from committee.engines.hosts import LocalHosts
from tests.engines.block_cases import (
    BINS,
    CUTS,
    LOGISTIC,
    NAN,
    WHOLE,
    X,
    assert_same,
    boost_plain,
    make_params,
    make_target,
    open_blocks,
)

ROUNDS = 5


class CountedHosts(LocalHosts):
    """Notes calls by their reduction; may lose a block, or part the blocks, before one that has rounds of trees."""

    def __init__(self, *, lost: int | None = None, parted: int | None = None) -> None:
        super().__init__(together=True)
        self.lost, self.parted = lost, parted
        self.calls: list[str] = []

    def call(self, fit: str, *args: Any, **options: Any) -> Any:
        if options["reduce"] == "together":
            number = self.calls.count("together")
            if number == self.lost:
                self.drop(fit, 1)
            if number == self.parted:
                self._together = False
                return None
        self.calls.append(options["reduce"])
        return super().call(fit, *args, **options)


def check(loss, options, weights=None, hosts=None, cuts=CUTS[3]):
    y = make_target(X, loss[0], 1 if loss[3] else loss[2])
    y = np.tile(y, len(loss[3])) if loss[3] else y
    plain, _ = boost_plain(BINS, y, weights, loss, make_params(**options), ROUNDS)
    hosts = hosts or CountedHosts()
    blocks = open_blocks(BINS, y, weights, loss, make_params(**options), cuts, hosts)
    blocks.state.add_constant(blocks.state.find_baseline())
    blocks.state.boost(ROUNDS)
    assert_same(plain, blocks.state)
    assert np.array_equal(plain.split_counts, blocks.state.split_counts)
    return hosts.calls


@pytest.mark.parametrize("weights", [None, WHOLE], ids=["plain", "whole"])
@pytest.mark.parametrize(
    "loss",
    [
        LOGISTIC,
        ("softmax", NAN, 3, []),
        ("exponential", NAN, 1, []),
        ("absolute_error", NAN, 1, []),
        ("huber", NAN, 1, []),
        ("quantile", NAN, 2, [0.2, 0.7]),
        ("tweedie", NAN, 1, []),
        ("squared_error", NAN, 2, []),
    ],
    ids=lambda loss: f"{loss[0]}-{loss[2]}",
)
def test_every_loss(loss, weights):
    calls = check(loss, {}, weights)
    assert 0 < calls.count("together") <= ROUNDS
    assert calls.count("sum") == 0


@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.6},
        {"colsample_tree": 0.7, "colsample_level": 0.8, "colsample_node": 0.7, "seed": (1 << 63) + 5},
        {"monotonic": [1, 0, 0, 0, 0, 0, 0, 0, -1]},
        {"interaction_groups": [[0, 1, 7], [2, 3, 4], [5, 6, 8]]},
        {"level_wise": True, "max_leaf_nodes": 0, "max_depth": 4},
        {"symmetric": True, "max_leaf_nodes": 0, "max_depth": 4},
        {"mixed": True, "max_leaf_nodes": 9, "mixed_depth": 4, "subsample": 0.7, "seed": 5},
        {"random_thresholds": True, "seed": 5},
        {"min_samples_leaf": 150, "min_weight_leaf": 0.02, "ccp_alpha": 0.002},
        {"reg_lambda": 1.0, "reg_alpha": 2.0, "gamma": 0.01, "joint_columns": False},
    ],
    ids=lambda options: "-".join(options),
)
def test_every_option(options):
    assert check(LOGISTIC, options, WHOLE).count("together") > 0


def test_leaves_that_are_vectors():
    assert check(("softmax", NAN, 3, []), {"vector_leaves": True}).count("together") > 0


@pytest.mark.parametrize(
    ("loss", "options"),
    [(LOGISTIC, {"goss_top": 0.2, "goss_other": 0.1}), (("squared_error", NAN, 1, []), {"max_leaf_nodes": 15})],
    ids=["rows by gradient", "followed residuals"],
)
def test_rounds_that_leave_more_than_trees_are_driven_step_by_step(loss, options):
    calls = check(loss, options)
    assert calls.count("together") == 0
    assert calls.count("sum") > ROUNDS


@pytest.mark.parametrize("loss", [LOGISTIC, ("huber", NAN, 1, [])], ids=lambda loss: loss[0])
@pytest.mark.parametrize("options", [{}, {"subsample": 0.6}, {"colsample_tree": 0.4}], ids=["all", "sample", "columns"])
@pytest.mark.parametrize(("lost", "parted"), [(0, None), (1, None), (None, 1), (1, 1)])
def test_blocks_that_are_lost_or_part(loss, options, lost, parted):
    calls = check(loss, options, hosts=CountedHosts(lost=lost, parted=parted))
    assert calls.count("together") > 0
    assert (calls.count("sum") > 0) == (parted is not None)


def test_rounds_between_which_somebody_looks():
    """Losses, a changed learning rate, and trees that are taken out, as in DART."""
    y = make_target(X, "logistic")
    plain = _core.Boosting(BINS, y, None, *LOGISTIC[:3], make_params(), [])
    hosts = CountedHosts()
    blocks = open_blocks(BINS, y, None, LOGISTIC, make_params(), CUTS[17], hosts)
    losses = []
    for state in (plain, blocks.state):
        state.add_constant(state.find_baseline())
        for rate in (0.1, 0.3, 0.05):
            state.params.learning_rate = rate
            state.draw_rows()
            if state.n_trees > 1:
                state.readd_trees(0, 1, -1.0)
            state.compute_gradients()
            state.grow_trees()
            losses.append(state.measure_loss())
    assert losses[:3] == losses[3:]
    assert_same(plain, blocks.state)
    assert hosts.calls.count("together") == 3


def test_gradients_of_the_caller():
    y = make_target(X, "logistic")
    states = [
        _core.Boosting(BINS, None, None, "squared_error", NAN, 1, make_params(), []),
        open_blocks(BINS, None, None, ("squared_error", NAN, 1, []), make_params(), CUTS[3], CountedHosts()),
    ]
    states[1] = (kept := states[1]).state
    for state in states:
        for _ in range(2):
            scores = np.asarray(state.scores)
            state.take_gradients(np.asfortranarray(scores - y[:, None]), np.ones_like(scores, order="F"))
            state.grow_trees()
    assert_same(*states)
    kept.close()


def test_an_estimator_that_stops_early():
    options = {"max_iter": 30, "early_stopping": True, "n_iter_no_change": 2, "learning_rate": 0.5, "random_state": 0}
    y = make_target(X, "logistic")
    plain = HistGradientBoostingClassifier(**options).fit(X, y)
    with boost_in_blocks(hosts := CountedHosts(), 3):
        model = HistGradientBoostingClassifier(**options).fit(X, y)
    assert model.n_iter_ == plain.n_iter_ < 30
    assert model.predict_proba(X).tobytes() == plain.predict_proba(X).tobytes()
    assert hosts.calls.count("together") >= model.n_iter_
    assert hosts.calls.count("sum") < 3 * model.n_iter_
