"""Tables that are binned on the device have the bins and the bytes of the core."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee import _core
from committee.engines.gpu import Device, device_bins
from committee.engines.gpu.device_bins import bin_on_device
from tests.gpu.shim_device import ShimArray, ShimDevice

N_ROWS = 203_000
"""More than the sample has: the other rows are looked at on the device."""


def make_columns(dtype: Any, n_rows: int = N_ROWS) -> Any:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 7)).astype(dtype)
    X[:, 1] = rng.integers(0, 9, n_rows)  # few values
    X[rng.random(n_rows) < 0.1, 2] = np.nan
    X[:, 3] = np.nan
    X[:, 4] = rng.integers(0, 4, n_rows)  # a category
    X[:, 5] = -0.0
    sampled, *_ = _core.choose_bin_sample(n_rows, None)
    other = np.setdiff1d(np.arange(n_rows), sampled)
    X[other[:5], 1] = [-3.5, 77.0, 77.0, 4.25, -0.0]  # values that the sample has not got
    X[other[5], 0] = 1e6
    X[other[6], 5] = np.nan
    X[other[7:9], 4] = [7.0, 1.5]  # no levels
    return X


LEVELS = np.array([0, 0, 0, 0, 4, 0, 0], np.uint32)


def check_same(found: Any, expected: _core.BinnedMatrix) -> None:
    assert _core.save_bins(found.mapper) == _core.save_bins(expected.mapper)
    np.testing.assert_array_equal(found.to_host().columns, expected.columns)


def bin_on_cpu(X: Any, weights: Any) -> _core.BinnedMatrix:
    return _core.BinMapper.fit(X, weights, LEVELS, 255, 1).transform(X, 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["rows", "columns", "device"])
def test_bins_have_the_same_bytes(device: Device, dtype: Any, layout: str) -> None:
    X = make_columns(dtype)
    given = np.asfortranarray(X) if layout == "columns" else X
    if layout == "device":
        given = put_on_device(device, X)
    check_same(bin_on_device(device, given, None, LEVELS, 255, 1), bin_on_cpu(X, None))


def put_on_device(device: Device, X: Any) -> Any:
    if isinstance(device, ShimDevice):
        return ShimArray(device, X)
    import cupy

    return cupy.asarray(X)


def test_rows_without_weight_do_not_take_part(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device_bins, "_PIECE_BYTES", 1 << 20)
    X = make_columns(np.float32, 230_000)
    weights = np.random.default_rng(1).integers(0, 9, len(X)).astype(np.float64)
    check_same(bin_on_device(device, X, weights, LEVELS, 255, 1), bin_on_cpu(X, weights))


def test_few_rows_and_many_values(device: Device) -> None:
    X = make_columns(np.float64)[:3000]
    check_same(bin_on_device(device, X, None, LEVELS, 255, 1), bin_on_cpu(X, None))
    X = make_columns(np.float32)
    sampled, *_ = _core.choose_bin_sample(len(X), None)
    other = np.setdiff1d(np.arange(len(X)), sampled)
    X[other, 1] = np.arange(len(other)) / 7  # too many for bins of their own
    check_same(bin_on_device(device, X, None, LEVELS, 255, 1), bin_on_cpu(X, None))
