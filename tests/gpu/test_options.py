"""Every option of gradient boosting gives the CPU engine's bytes on the device."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from committee import _core
from committee.engines.gpu import Device, GpuBoosting
from committee.exceptions import EngineError
from tests.gpu.comparing import Floats, bin_table, check_equal, make_params, make_table
from tests.gpu.shim_device import ShimDevice

SMALL = {"max_leaf_nodes": 10, "min_samples_leaf": 20, "seed": 7}
WEIGHTS = np.random.default_rng(5).integers(0, 4, 1200).astype(float)


def list_weights(device: Device, weighted: bool) -> list[Floats | None]:
    """Both on a GPU; one of them where the kernels are slow."""
    return [WEIGHTS if weighted else None] if isinstance(device, ShimDevice) else [None, WEIGHTS]


def make_labels(**options: Any) -> tuple[Floats, Floats]:
    X, z = make_table(1200, 5, missing=0.1, **options)
    return X, (z > 0).astype(float)


@pytest.mark.parametrize(
    "params",
    [
        {"subsample": 0.5},
        {"subsample": 0.3, "max_leaf_nodes": 0, "max_depth": 4, "min_samples_leaf": 0},
        {"goss_top": 0.2, "goss_other": 0.1},
        {"colsample_tree": 0.5},
        {"colsample_level": 0.6, "colsample_node": 0.5},
        {"colsample_node": 0.4, "max_leaf_nodes": 0, "max_depth": 4, "level_wise": True},
        {"monotonic": [1, -1, 0, 0, 1]},
        {"monotonic": [0, 0, -1, 0, 0], "max_leaf_nodes": 0, "max_depth": 4, "reg_lambda": 1.0},
        {"interaction_groups": [[0, 1], [2, 3, 4]]},
        {"interaction_groups": [[0, 1], [1, 2], [4]], "colsample_node": 0.7, "monotonic": [1, 0, 0, 0, 0]},
        {"reg_alpha": 2.0, "gamma": 0.1},
        {"min_weight_leaf": 0.1},
        {"level_wise": True},
        {"level_wise": True, "max_leaf_nodes": 6, "max_depth": 9, "min_samples_leaf": 60},
    ],
    ids="-".join,
)
def test_options_have_the_same_bytes(device: Device, params: dict[str, Any]) -> None:
    X, y = make_labels()
    for weights in list_weights(device, len(params) % 2 == 0):
        check_equal(device, X, y, "logistic", weights, n_rounds=2, **(SMALL | params))


def make_codes(n_rows: int, n_levels: int, seed: int = 0) -> tuple[Floats, Floats]:
    """Two categories, one of them of many levels, and three columns of numbers."""
    rng = np.random.default_rng(seed)
    X, z = make_table(n_rows, 5, missing=0.05, seed=seed)
    X[:, 1] = rng.integers(0, 12, n_rows)
    X[:, 3] = rng.integers(0, n_levels, n_rows) ** 2 // n_levels
    X[rng.random(n_rows) < 0.1, 1] = np.nan
    X[rng.random(n_rows) < 0.1, 3] = np.nan
    effects = rng.normal(size=(2, n_levels + 12))
    z = z + effects[0][np.nan_to_num(X[:, 1]).astype(int)] + effects[1][np.nan_to_num(X[:, 3]).astype(int)]
    return X, z


@pytest.mark.parametrize("n_levels", [60, 255, 600], ids=["few", "most", "wide"])
@pytest.mark.parametrize("kind", ["plain", "counted", "constrained"])
def test_categories_have_the_same_bytes(device: Device, kind: str, n_levels: int) -> None:
    X, z = make_codes(1200, n_levels)
    params = {
        "plain": {},
        "counted": {"min_samples_leaf": 80, "max_leaf_nodes": 0, "max_depth": 4},
        "constrained": {"monotonic": [1, 0, 0, 0, 0], "reg_alpha": 0.5, "colsample_node": 0.6},
    }[kind]
    given = SMALL | {"min_samples_level": 3, "n_levels": [0, 12, 0, n_levels, 0]} | params
    for weights in list_weights(device, (kind == "counted") == (n_levels > 60)):
        check_equal(device, X, (z > 0).astype(float), "logistic", weights, **given)


@pytest.mark.parametrize("loss", ["absolute_error", "quantile", "huber"])
@pytest.mark.parametrize("sampled", [False, True])
def test_losses_whose_leaves_are_no_newton_steps_have_the_same_bytes(device: Device, loss: str, sampled: bool) -> None:
    X, z = make_table(1200, 5, missing=0.1)
    params = {"subsample": 0.6, "monotonic": [1, 0, 0, 0, 0]} if sampled else {}
    for weights in list_weights(device, sampled == (loss != "huber")):
        check_equal(device, X, z, loss, weights, **(SMALL | params))


def test_several_quantiles_have_the_same_bytes(device: Device) -> None:
    X, z = make_table(1200, 5)
    check_equal(device, X, np.tile(z, 3), "quantile", n_scores=3, levels=[0.1, 0.5, 0.9], **SMALL)
    check_equal(device, X, z, "quantile", parameter=0.8, goss_top=0.2, goss_other=0.2, **SMALL)


@pytest.mark.parametrize("kind", ["plain", "weighted", "options"])
def test_residuals_that_are_kept_have_the_same_bytes(device: Device, kind: str) -> None:
    X, z = make_codes(5000, 300)
    weights = np.random.default_rng(3).integers(0, 3, 5000).astype(float) if kind == "weighted" else None
    params: dict[str, Any] = {"max_leaf_nodes": 8, "min_samples_leaf": 20, "learning_rate": 0.7}
    if kind == "options":
        params |= {"monotonic": [1, 0, 0, 0, 0], "colsample_node": 0.7}
    n_levels = [0, 12, 0, 300, 0] if kind == "options" else None
    # So many rounds that the residuals shrink below their unit.
    gpu = check_equal(device, X, 100.0 * z, "squared_error", weights, n_rounds=6, n_levels=n_levels, **params)
    assert gpu._residuals is not None


def test_residuals_are_made_anew_where_scores_are_changed(device: Device) -> None:
    X, z = make_table(5000, 3)
    bins, params = bin_table(X, None), make_params(max_leaf_nodes=8, learning_rate=0.9)
    arguments = (bins, z, None, "squared_error", float("nan"), 1, params, [])
    states = [_core.Boosting(*arguments), GpuBoosting(*arguments, device=device)]
    for state in states:
        state.boost(2)
        state.set_scores(np.asfortranarray(np.asarray(state.scores) + 1000.0))
        state.boost(2)
        state.readd_trees(1, 3, -1.0)
        state.scale_tree(2, 0.5)
        state.readd_trees(2, 3, 1.0)
        state.boost(2)
    cpu, gpu = (pickle.dumps(state.finish()) for state in states)
    assert cpu == gpu
    np.testing.assert_array_equal(np.asarray(states[0].scores), states[1].scores)


def test_trees_can_be_taken_out_and_put_back(device: Device) -> None:
    X, z = make_codes(1200, 600)
    y = np.digitize(z, [-1.0, 1.0]).astype(float)
    bins = bin_table(X, None, [0, 12, 0, 600, 0])
    arguments = (bins, y, None, "softmax", float("nan"), 3, make_params(**SMALL), [])
    states = [_core.Boosting(*arguments), GpuBoosting(*arguments, device=device)]
    for state in states:
        state.boost(3)
        state.readd_trees(2, 7, -1.0)
        state.boost(1)
        for tree in range(2, 7):
            state.scale_tree(tree, 0.75)
        state.readd_trees(2, 7, 1.0)
    cpu, gpu = (pickle.dumps(state.finish()) for state in states)
    assert cpu == gpu
    np.testing.assert_array_equal(np.asarray(states[0].scores), states[1].scores)


def test_gradients_of_the_caller_have_the_same_bytes(device: Device) -> None:
    X, z = make_table(1200, 5, missing=0.1)
    weights = np.random.default_rng(1).random(1200)
    params = make_params(**SMALL)
    arguments = (bin_table(X, weights), None, weights, "squared_error", float("nan"), 1, params, [])
    states = [_core.Boosting(*arguments), GpuBoosting(*arguments, device=device)]
    for state in states:
        for _ in range(3):
            scores = np.asarray(state.scores)
            state.take_gradients(np.asfortranarray(np.tanh(scores - z[:, None])), np.asfortranarray(0.5 + scores**2))
            state.grow_trees()
    cpu, gpu = (pickle.dumps(state.finish()) for state in states)
    assert cpu == gpu
    arguments = (arguments[0], z, *arguments[2:])
    with pytest.raises(EngineError, match="for a loss of its own"):
        GpuBoosting(*arguments, device=device).take_gradients(np.zeros((1200, 1)), np.ones((1200, 1)))


def test_rows_out_of_bag_are_measured(device: Device) -> None:
    X, y = make_labels()
    arguments = (bin_table(X, None), y, None, "logistic", float("nan"), 1, make_params(subsample=0.5, **SMALL), [])
    states = [_core.Boosting(*arguments), GpuBoosting(*arguments, device=device)]
    measured = [state.boost_measured(3, True) for state in states]
    for cpu, gpu in zip(*measured, strict=True):
        np.testing.assert_array_equal(cpu, gpu)


def test_what_changes_between_rounds_is_followed(device: Device) -> None:
    X, y = make_labels()
    states: list[Any] = []
    for make in (_core.Boosting, GpuBoosting):
        params = make_params(subsample=0.5, colsample_node=0.5, **SMALL)
        more = {} if make is _core.Boosting else {"device": device}
        state = make(bin_table(X, None), y, None, "logistic", float("nan"), 1, params, [], **more)
        state.boost(2)
        state.params.learning_rate, state.params.subsample, state.params.colsample_node = 0.3, 0.8, 0.9
        state.boost(2)
        states.append(state)
    cpu, gpu = (pickle.dumps(state.finish()) for state in states)
    assert cpu == gpu


def test_changes_that_kept_residuals_have_no_room_for_are_said(device: Device) -> None:
    X, z = make_table(5000, 3)
    arguments = (bin_table(X, None), z, None, "squared_error", float("nan"), 1, make_params(max_leaf_nodes=8), [])
    gpu = GpuBoosting(*arguments, device=device)
    gpu.params.learning_rate = 2.0
    with pytest.raises(EngineError, match="learning_rate above 1"):
        gpu.boost(1)
    gpu.params.learning_rate, gpu.params.subsample = 0.1, 0.5
    with pytest.raises(EngineError, match="row sampling that begins"):
        gpu.boost(1)
