"""Fits of both engines, and whether their bytes are the same."""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from committee import _core
from committee.engines.gpu import Device, GpuBoosting
from tests.gpu.shim_device import ShimDevice

Floats = np.ndarray[Any, np.dtype[np.float64]]


def make_table(n_rows: int, n_features: int, missing: float = 0.0, seed: int = 0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)).astype(np.float32)
    X[rng.random(X.shape) < missing] = np.nan
    return X, np.nan_to_num(X[:, 0] * X[:, 1] + X[:, 2]) + rng.normal(size=n_rows)


def make_params(**given: Any) -> _core.BoostingParams:
    params = _core.BoostingParams()
    params.n_jobs = 1
    for name, value in given.items():
        setattr(params, name, value)
    return params


def bin_table(X: Floats, weights: Floats | None, n_levels: Sequence[int] | None = None) -> _core.BinnedMatrix:
    levels = np.zeros(X.shape[1], np.uint32) if n_levels is None else np.array(n_levels, np.uint32)
    return _core.BinMapper.fit(X, weights, levels, 255, 1).transform(X, 1)


def check_equal(
    device: Device,
    X: Floats,
    y: Floats,
    loss: str,
    weights: Floats | None = None,
    *,
    n_scores: int = 1,
    n_rounds: int = 2,
    n_levels: Sequence[int] | None = None,
    parameter: float = float("nan"),
    levels: Sequence[float] = (),
    **params: Any,
) -> GpuBoosting:
    """Fit with both engines; trees, scores of the rows that take part, and gains must have the same bytes."""
    bins = bin_table(X, weights, n_levels)
    arguments = (bins, y, weights, loss, parameter, n_scores, make_params(**params), list(levels))
    states = [_core.Boosting(*arguments), GpuBoosting(*arguments, device=device)]
    for state in states:
        state.add_constant(list(state.find_baseline()))
        state.boost(n_rounds)
    cpu, gpu = states
    digests = [hashlib.sha256(pickle.dumps(state.finish())).hexdigest() for state in states]
    assert digests[0] == digests[1]
    present = slice(None) if weights is None else weights > 0
    np.testing.assert_array_equal(np.asarray(cpu.scores)[present], gpu.scores[present])
    np.testing.assert_array_equal(cpu.gains, gpu.gains)
    np.testing.assert_array_equal(cpu.split_counts, gpu.split_counts)
    np.testing.assert_array_equal(cpu.slots, gpu.slots)
    np.testing.assert_array_equal(cpu.held_out_rows, gpu.held_out_rows)
    assert cpu.measure_loss() == gpu.measure_loss()
    assert gpu.n_trees == n_rounds * n_scores
    if isinstance(device, ShimDevice):
        device.check_guards()
    return gpu
