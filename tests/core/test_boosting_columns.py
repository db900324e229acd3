"""Boosting of drawn columns: records of a tree's columns, and nodes without histograms, change no byte.

``compact_share`` is the share of the columns up to which records hold those of a tree alone, ``direct_share`` the one
up to which the histograms of a node are made of its rows. With zero for both, all columns are summed up and the search
alone leaves out what was not drawn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from committee import _core
from tests.engines.block_cases import (
    BINS,
    CUTS,
    FRACTIONS,
    LOGISTIC,
    NAN,
    SQUARED,
    WHOLE,
    X,
    assert_same,
    boost_blocks,
    boost_plain,
    make_params,
    make_target,
)

PLAIN = {"compact_share": 0.0, "direct_share": 0.0}
WAYS = {
    "compact": {"compact_share": 9.0, "direct_share": 0.0},
    "direct": {"compact_share": 0.0, "direct_share": 99.0},
    "both": {"compact_share": 9.0, "direct_share": 99.0},
}
DRAWS = {
    "tree": {"colsample_tree": 0.45},
    "node": {"colsample_node": 0.3},
    "all": {"colsample_tree": 0.8, "colsample_level": 0.8, "colsample_node": 0.5},
}


def boost(loss: Any, weights: Any, options: dict[str, Any], rounds: int = 4) -> Any:
    y = make_target(X, loss[0], 1 if loss[3] else loss[2])
    return boost_plain(BINS, y, weights, loss, make_params(seed=3, **options), rounds)[0]


def check(loss: Any, weights: Any, options: dict[str, Any], jobs: tuple[int, ...] = (1,)) -> None:
    plain = boost(loss, weights, options | PLAIN)
    for way in WAYS.values():
        for n_jobs in jobs:
            assert_same(plain, boost(loss, weights, options | way | {"n_jobs": n_jobs}))


@pytest.mark.parametrize("weights", [None, WHOLE, FRACTIONS], ids=["plain", "whole", "fractions"])
@pytest.mark.parametrize("draws", list(DRAWS))
@pytest.mark.parametrize(
    "loss",
    [
        LOGISTIC,
        SQUARED,  # with few leaves its residuals are followed from round to round
        ("softmax", NAN, 3, []),
        ("squared_error", NAN, 2, []),
        ("absolute_error", NAN, 1, []),
        ("poisson", NAN, 1, []),
    ],
    ids=lambda loss: f"{loss[0]}-{loss[2]}",
)
def test_ways_agree_for_every_loss_and_thread(loss: Any, draws: str, weights: Any) -> None:
    check(loss, weights, DRAWS[draws] | {"max_leaf_nodes": 12}, (1, 3))


@pytest.mark.parametrize("draws", list(DRAWS))
@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
@pytest.mark.parametrize(
    "options",
    [
        {"subsample": 0.6},
        {"subsample": 0.03, "min_samples_leaf": 3},  # of most eights of rows none is in the sample
        {"goss_top": 0.2, "goss_other": 0.1},
        {"monotonic": [1, 0, 0, 0, 0, 0, 0, 0, -1]},
        {"interaction_groups": [[0, 1, 7], [2, 3, 4], [5, 6, 8]]},
        {"level_wise": True},
        {"symmetric": True, "max_leaf_nodes": 0, "max_depth": 4},
        {"mixed": True, "max_leaf_nodes": 9, "mixed_depth": 4},
        {"random_thresholds": True},
        {"max_leaf_nodes": 0, "max_depth": 4},
        {"max_leaf_nodes": 120, "min_samples_leaf": 1},
        {"min_samples_leaf": 150, "min_weight_leaf": 0.02},  # rows of some leaves are counted
        {"ccp_alpha": 0.002},
        {"reg_lambda": 1.0, "reg_alpha": 2.0, "gamma": 0.01},
        {"joint_columns": False},
        {"follow_residuals": False},
    ],
    ids=lambda options: "-".join(options),
)
def test_ways_agree_for_every_option(loss: Any, options: dict[str, Any], draws: str) -> None:
    check(loss, WHOLE, DRAWS[draws] | {"max_leaf_nodes": 15} | options)


@pytest.mark.parametrize("draws", list(DRAWS))
@pytest.mark.parametrize("loss", [("softmax", NAN, 3, []), ("squared_error", NAN, 2, [])], ids=["classes", "outputs"])
def test_ways_agree_for_leaves_that_are_vectors(loss: Any, draws: str) -> None:
    check(loss, None, DRAWS[draws] | {"vector_leaves": True, "subsample": 0.8}, (1, 3))


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 1 << 20),
    n_rows=st.integers(30, 3000),
    n_columns=st.integers(1, 90),
    tree=st.floats(0.02, 1.0),
    node=st.floats(0.02, 1.0),
    n_values=st.sampled_from([2, 5, 1000]),
    most=st.sampled_from([0.5, 9.0]),
)
def test_ways_agree_on_tables_of_any_width(
    seed: int, n_rows: int, n_columns: int, tree: float, node: float, n_values: int, most: float
) -> None:
    """Several blocks of records, bytes that columns share, constant columns, missing values."""
    rng = np.random.default_rng(seed)
    table = np.floor(rng.random((n_rows, n_columns)) * n_values)
    table[:, rng.random(n_columns) < 0.1] = 1.0
    y = table @ rng.normal(size=n_columns) / n_values + rng.normal(size=n_rows)
    table[rng.random(table.shape) < rng.choice([0.0, 0.1])] = np.nan
    bins = _core.BinMapper.fit(table, None, np.zeros(n_columns, dtype=np.uint32), 255, 1).transform(table, 1)
    options = {"colsample_tree": tree, "colsample_node": node, "seed": seed, "min_samples_leaf": 5}
    plain = boost_plain(bins, y, None, SQUARED, make_params(**options, **PLAIN), 3)[0]
    for direct in (0.0, 99.0):
        ways = make_params(**options, compact_share=most, direct_share=direct)
        assert_same(plain, boost_plain(bins, y, None, SQUARED, ways, 3)[0])


@pytest.mark.parametrize("loss", [LOGISTIC, SQUARED], ids=["logistic", "squared"])
def test_shares_may_change_between_rounds(loss: Any) -> None:
    """Records of all columns, of some, and of none take turns; words of residuals stay."""
    states = []
    for way in (PLAIN, *WAYS.values()):
        params = make_params(seed=3, max_leaf_nodes=9, **way)
        state = _core.Boosting(BINS, make_target(X, loss[0]), None, *loss[:3], params)
        for tree, node in ((1.0, 1.0), (0.4, 1.0), (1.0, 0.3), (0.4, 0.3), (1.0, 1.0), (0.6, 1.0)):
            state.params.colsample_tree, state.params.colsample_node = tree, node
            state.boost(2)
        states.append(state)
    for other in states[1:]:
        assert_same(states[0], other)


@pytest.mark.parametrize("draws", list(DRAWS))
@pytest.mark.parametrize("n_blocks", [3, 17])
@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (LOGISTIC, {}),
        (SQUARED, {"max_leaf_nodes": 15}),
        (("softmax", NAN, 3, []), {"subsample": 0.5}),
        (("squared_error", NAN, 2, []), {"vector_leaves": True}),
    ],
    ids=["logistic", "squared", "classes", "vectors"],
)
def test_blocks_of_rows_hold_the_columns_of_their_trees(
    loss: Any, options: dict[str, Any], n_blocks: int, draws: str
) -> None:
    how = DRAWS[draws] | options
    plain = boost(loss, WHOLE, how | PLAIN)
    params = make_params(seed=3, **how, **WAYS["both"])
    blocks, _ = boost_blocks(BINS, make_target(X, loss[0], loss[2]), WHOLE, loss, params, CUTS[n_blocks])
    assert_same(plain, blocks.state)


def test_records_take_the_memory_of_what_is_drawn() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(4000, 300))
    y = table[:, 0] + rng.normal(size=4000)
    bins = _core.BinMapper.fit(table, None, np.zeros(300, dtype=np.uint32), 255, 1).transform(table, 1)
    n_bytes = {}
    for name, options in {"whole": {}, "tree": {"colsample_tree": 0.1}, "node": {"colsample_node": 0.1}}.items():
        state = boost_plain(bins, y, None, LOGISTIC, make_params(**options), 2)[0]
        n_bytes[name] = state.nbytes
    assert n_bytes["tree"] < 0.3 * n_bytes["whole"]
    assert n_bytes["node"] < 0.2 * n_bytes["whole"]
