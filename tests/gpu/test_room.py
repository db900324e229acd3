"""Best-first growth keeps to the room that nodes have, also where leaves are expanded in vain."""

from __future__ import annotations

import numpy as np
import pytest

from committee.engines.gpu import Device, memory
from tests.gpu.comparing import check_equal


def test_leaves_that_are_expanded_in_vain_have_room(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    n_leaves, choose_sizes = 24, memory.FitMemory._choose_sizes

    def choose_tight(self: memory.FitMemory) -> None:
        choose_sizes(self)
        self._fit["max_nodes"] = 56

    monkeypatch.setattr(memory, "_AHEAD", 400)
    monkeypatch.setattr(memory.FitMemory, "_choose_sizes", choose_tight)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 4)).astype(np.float32)
    y = (X[:, 0] * X[:, 1] + 0.7 * X[:, 2] + 0.3 * rng.normal(size=3000) > 0).astype(float)
    params = {"max_leaf_nodes": n_leaves, "min_samples_leaf": 40, "learning_rate": 0.5}
    gpu = check_equal(device, X, y, "logistic", n_rounds=7, **params)
    assert int(gpu._grower._read_state()["n_counts"]) > 0
