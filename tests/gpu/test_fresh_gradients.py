"""Gradients of large tables are found where they are needed instead of being kept: the trees are the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from committee.engines.gpu import Device, boosting_kernels
from tests.gpu.comparing import check_equal, make_table


@pytest.mark.parametrize("loss", ["logistic", "squared_error"])
@pytest.mark.parametrize(
    "params",
    [
        {"max_depth": 4, "max_leaf_nodes": 0, "min_samples_leaf": 0},
        {"max_leaf_nodes": 12, "min_samples_leaf": 20},
        {"subsample": 0.5, "max_depth": 3},
    ],
    ids=["levels", "leaves", "drawn rows"],
)
def test_gradients_that_are_not_kept(
    device: Device, loss: str, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting_kernels, "_LEAST_FRESH_ROWS", 1)
    X, z = make_table(900, 6, missing=0.1)
    y = z if loss == "squared_error" else (z > 0).astype(float)
    gpu = check_equal(device, X, y, loss, n_rounds=4, **params)
    assert "pairs" not in gpu._grower._memories
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    check_equal(device, X, y, loss, weights, n_rounds=3, **params)


@pytest.mark.parametrize(
    ("loss", "n_scores", "params"),
    [("softmax", 3, {}), ("poisson", 1, {}), ("logistic", 1, {"goss_top": 0.2, "goss_other": 0.3})],
    ids=["classes", "another loss", "goss"],
)
def test_gradients_that_are_kept(
    device: Device, loss: str, n_scores: int, params: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boosting_kernels, "_LEAST_FRESH_ROWS", 1)
    X, z = make_table(900, 5)
    y = np.digitize(z, [-1.0, 1.0]).astype(float) if loss == "softmax" else (z > 0).astype(float)
    gpu = check_equal(device, X, y, loss, n_scores=n_scores, max_depth=3, **params)
    assert "pairs" in gpu._grower._memories


def test_trees_of_one_level_have_no_rows_to_partition(device: Device) -> None:
    X, z = make_table(900, 40, missing=0.1)
    for depth in (1, 2):
        check_equal(device, X, (z > 0).astype(float), "logistic", max_depth=depth, max_leaf_nodes=0, min_samples_leaf=0)


def test_memory_of_histograms_of_trees_grown_best_first(device: Device) -> None:
    X, z = make_table(900, 4)
    gpu = check_equal(device, X, (z > 0).astype(float), "logistic", max_leaf_nodes=20, min_samples_leaf=0)
    # Two planes of 32-bit sums, of 256 bins in 32 lanes; a new one for each pair of nodes, and that of the root.
    assert gpu._grower._memories["histograms"].n_bytes == (2 * 4 * 256 * 32) * ((8 * 20 + 64) // 2 + 1)


@pytest.mark.parametrize(("params", "n_slots"), [({"max_leaf_nodes": 3}, 48), ({"max_depth": 2}, 256)])
def test_the_host_takes_finished_trees_before_there_are_too_many(
    device: Device, params: dict[str, Any], n_slots: int
) -> None:
    X, z = make_table(60, 3)
    gpu = check_equal(device, X, (z > 0).astype(float), "logistic", n_rounds=50, min_samples_leaf=0, **params)
    assert gpu._grower.n_slots == n_slots
    assert gpu.n_trees == 50
