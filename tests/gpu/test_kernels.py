"""The kernels of the GPU engine grow the CPU engine's trees, bit for bit: compiled for the CPU, and on a GPU if any."""

from __future__ import annotations

import pickle
import subprocess
from typing import Any

import numpy as np
import pytest

from committee import _core
from committee.engines.gpu import Device, GpuBoosting
from committee.engines.gpu.boosting_kernels import LOSSES
from committee.engines.gpu.grower import TreeGrower
from committee.engines.gpu.sources import read_program
from committee.exceptions import EngineError
from tests.gpu.comparing import Floats, bin_table, check_equal, make_params, make_table
from tests.gpu.shim_device import COMPILER, ShimDevice

pytestmark = pytest.mark.skipif(COMPILER is None, reason="there is no C++ compiler that could build the kernels")


def read_state(gpu: GpuBoosting) -> dict[str, int]:
    state = gpu._grower._read_state()
    return {name: state[name].item() for name in ("n_steps", "n_expanded", "n_counts")}


@pytest.mark.parametrize(
    "params",
    [
        {"max_leaf_nodes": 0, "max_depth": 4, "min_samples_leaf": 0},
        {"max_leaf_nodes": 0, "max_depth": 4, "min_samples_leaf": 20, "level_wise": True},
        {"max_leaf_nodes": 0, "min_samples_leaf": 200},
        {"max_leaf_nodes": 15, "min_samples_leaf": 0, "reg_lambda": 1.0},
        {"max_leaf_nodes": 15, "max_depth": 4, "min_samples_leaf": 20, "gamma": 0.5},
        {"max_leaf_nodes": 15, "min_samples_split": 300, "min_child_weight": 5.0},
        {"max_leaf_nodes": 1},
    ],
    ids=lambda params: "-".join(f"{name}={value}" for name, value in params.items()),
)
def test_trees_have_the_same_bytes(device: Device, params: dict[str, Any]) -> None:
    X, z = make_table(1500, 5, missing=0.1)
    check_equal(device, X, (z > 0).astype(float), "logistic", **params)


@pytest.mark.parametrize("loss", [name for name in LOSSES[:6] if name != "logistic"])
def test_losses_have_the_same_bytes(device: Device, loss: str) -> None:
    X, z = make_table(1200, 4, missing=0.1)
    targets = {"squared_error": z, "exponential": (z > 0).astype(float)}
    counts = np.floor(np.exp(z / 2))
    check_equal(device, X, targets.get(loss, counts + (loss == "gamma")), loss, max_leaf_nodes=10, min_samples_leaf=20)


def test_several_classes_and_outputs_have_the_same_bytes(device: Device) -> None:
    X, z = make_table(1200, 4)
    params = {"max_leaf_nodes": 8, "min_samples_leaf": 10}
    check_equal(device, X, np.digitize(z, [-1.0, 1.0]).astype(float), "softmax", n_scores=3, **params)
    check_equal(device, X, np.concatenate([z, X[:, 0] - z]), "squared_error", n_scores=2, **params)


@pytest.mark.parametrize("kind", ["whole", "real", "large"])
def test_weights_have_the_same_bytes(device: Device, kind: str) -> None:
    X, z = make_table(1200, 4, missing=0.1)
    rng = np.random.default_rng(1)
    weights = {"whole": rng.integers(0, 4, 1200), "real": rng.random(1200), "large": rng.integers(1, 90_000, 1200)}
    y = (z > 0).astype(float)
    check_equal(device, X, y, "logistic", weights[kind].astype(float), max_leaf_nodes=10, min_samples_leaf=20)


def test_many_features_are_taken_in_groups(device: Device) -> None:
    X, z = make_table(600, 70, missing=0.05)
    gpu = check_equal(device, X, (z > 0).astype(float), "logistic", max_leaf_nodes=6, min_samples_leaf=10, n_rounds=1)
    assert gpu._grower._n_groups == 3


def test_words_of_many_rows_are_narrow(device: Device) -> None:
    X, z = make_table(40_000, 3, missing=0.1)
    gpu = check_equal(device, X, (z > 1).astype(float), "logistic", max_leaf_nodes=5, min_samples_leaf=20, n_rounds=1)
    assert gpu._grower.kernels.narrow


@pytest.mark.parametrize("leaves", [0, 12])
def test_leaves_whose_rows_are_counted_have_the_same_bytes(device: Device, leaves: int) -> None:
    X, z = make_table(2000, 4, missing=0.1)
    y = (z > 1.5).astype(float)
    params = {"max_leaf_nodes": leaves, "max_depth": 6, "min_samples_leaf": 50, "learning_rate": 0.5}
    gpu = check_equal(device, np.round(2 * X), y, "logistic", n_rounds=4, **params)
    assert read_state(gpu)["n_counts"] > 0


def test_growth_ahead_of_time_takes_fewer_steps(device: Device) -> None:
    X, z = make_table(2000, 4)
    gpu = check_equal(device, X, (z > 0).astype(float), "logistic", max_leaf_nodes=31, min_samples_leaf=0, n_rounds=1)
    state = read_state(gpu)
    assert state["n_steps"] < 20
    assert state["n_expanded"] >= 30


def make_bottleneck(n_bits: int) -> tuple[Floats, Floats]:
    """Rows whose best-first growth goes down a chain for 13 splits, each of which makes the next one known.

    All that time a node waits whose gain is less than the chain's, and whose descendants, all of larger gain, are
    expanded ahead of time: twice as many at each step.
    """
    bits = np.array(list(np.ndindex(*[2] * n_bits)) * 2) * 2.0 - 1.0
    chain = np.repeat(np.arange(14.0), 4)
    n = len(bits)
    X = np.zeros((n + len(chain), 2 + n_bits), np.float32)
    X[:n, 1], X[:n, 2:] = 7.0, bits
    X[n:, 0], X[n:, 1] = 1.0, chain
    waiting = bits[:, 0] * (bits[:, 1:] @ np.linspace(3.0, 2.0, n_bits - 1) + 0.06)
    # Of opposite signs, so that the largest is cut off alone; far from the others, so that these come first.
    y = np.concatenate([waiting, 1500 + 10 * (-1.5) ** chain])
    return X, y


def test_nodes_ahead_of_time_may_be_more_than_a_step_takes(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    n_bits, n_leaves = 10, 255
    if isinstance(device, ShimDevice):  # the same in small, as it is slow
        # Nodes that were never made, in memory of zeros, would be children of the root.
        device, n_bits, n_leaves = ShimDevice(rubbish=0), 7, 31
        monkeypatch.setattr("committee.engines.gpu.memory._AHEAD", 8)
    X, y = make_bottleneck(n_bits)
    step, n_candidates = TreeGrower._step, []

    def step_seen(grower: TreeGrower) -> None:
        step(grower)
        n_candidates.append(int(grower._read_state()["n_candidates"]))

    monkeypatch.setattr(TreeGrower, "_step", step_seen)
    monkeypatch.setattr(device, "record", lambda launches: launches)
    gpu = check_equal(device, X, y, "squared_error", max_leaf_nodes=n_leaves, min_samples_leaf=0, n_rounds=1)
    assert max(n_candidates) == gpu._grower._fit["max_candidates"][0]


@pytest.mark.parametrize("checked", [False, True])
def test_levels_may_have_more_nodes_than_a_step_takes(
    device: Device, checked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("committee.engines.gpu.memory._MOST_CANDIDATES", 4)
    X, z = make_table(1200, 4, missing=0.1)
    params = {"max_leaf_nodes": 0, "max_depth": 6, "min_samples_leaf": 20 if checked else 0, "learning_rate": 0.5}
    check_equal(device, X, (z > 0).astype(float), "logistic", n_rounds=3, **params)


@pytest.mark.parametrize("n_nodes", [62, 70])
def test_growth_ahead_of_time_leaves_room_for_the_tree(
    device: Device, n_nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, z = make_table(2000, 4)
    choose = TreeGrower._choose_sizes

    def choose_small(grower: TreeGrower) -> None:
        choose(grower)
        grower._fit["max_nodes"] = n_nodes

    monkeypatch.setattr(TreeGrower, "_choose_sizes", choose_small)
    check_equal(device, X, (z > 0).astype(float), "logistic", max_leaf_nodes=31, min_samples_leaf=0)


def test_rounds_may_be_called_one_by_one_and_continued(device: Device) -> None:
    X, z = make_table(500, 3)
    y = (z > 0).astype(float)
    bins, params = bin_table(X, None), make_params(max_leaf_nodes=6, min_samples_leaf=5)
    states = [
        _core.Boosting(bins, y, None, "logistic", float("nan"), 1, params, []),
        GpuBoosting(bins, y, None, "logistic", float("nan"), 1, params, device=device),
    ]
    for state in states:
        state.skip_trees(7)
        state.set_scores(np.asfortranarray(z[:, None] / 4))
        for _ in range(3):
            state.draw_rows()
            state.compute_gradients()
            state.grow_trees()
        state.truncate(2)
    cpu, gpu = (pickle.dumps(state.finish(1)) for state in states)
    assert cpu == gpu
    assert states[1].n_trees == 2
    measured = [state.boost_measured(2, False) for state in states]
    np.testing.assert_array_equal(measured[0][0], measured[1][0])


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"ccp_alpha": 1.0}, "pruning"),
        ({"vector_leaves": True}, "vector leaves"),
        ({"colsample_level": 0.5, "max_leaf_nodes": 0}, "without a limit of depth"),
    ],
)
def test_what_is_not_there_is_said(params: dict[str, Any], words: str) -> None:
    X, z = make_table(5000, 3)
    with pytest.raises(EngineError, match=words):
        GpuBoosting(bin_table(X, None), z, None, "squared_error", float("nan"), 1, make_params(**params))


def test_memory_that_is_not_there_is_said_with_its_size() -> None:
    X, z = make_table(100, 3)
    with pytest.raises(EngineError, match=r"needs \d+\.\d GB of the GPU's memory"):
        GpuBoosting(
            bin_table(X, None),
            z,
            None,
            "squared_error",
            float("nan"),
            1,
            make_params(),
            device=ShimDevice(free_bytes=9),
        )


def test_the_program_is_one_text_without_standard_headers() -> None:
    text = read_program("boosting.cu")
    assert "cuda_shim.hpp" in text  # left as it is, in a part for another compiler
    assert "struct LogisticLoss" in text
    assert COMPILER is not None
    # What NVRTC sees, which has no standard headers.
    options = ["-E", "-P", "-x", "c++", "-D__CUDACC_RTC__", "-D__CUDACC__", "-D__CUDA_ARCH__=900", "-"]
    seen = subprocess.run([COMPILER, *options], input=text, capture_output=True, text=True, check=True).stdout
    assert "std::" not in seen
