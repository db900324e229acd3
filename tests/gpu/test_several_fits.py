"""Fits beside one another, and fits that are interrupted."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from committee import HistGradientBoostingRegressor, RandomForestRegressor
from committee.engines.gpu import Device, boosting
from tests.gpu.comparing import make_table
from tests.gpu.shim_device import ShimDevice

PARAMS: dict[str, Any] = {"max_iter": 4, "max_depth": 3, "max_leaf_nodes": None, "random_state": 0}


def test_threads_fit_beside_one_another(device: Device) -> None:
    if isinstance(device, ShimDevice):
        pytest.skip("it runs one kernel at a time")

    def compare(number: int) -> bool:
        X, z = make_table(2000 + number, 6, missing=0.1)
        family: Any = RandomForestRegressor
        params: dict[str, Any] = {"n_estimators": 3, "random_state": number}
        if number % 2:
            family, params = HistGradientBoostingRegressor, PARAMS | {"max_iter": 20}
        cpu, gpu = (family(engine=engine, **params).fit(X, z) for engine in ("cpu", "gpu"))
        return bool((cpu.predict(X) == gpu.predict(X)).all())

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(compare, range(12))) == [True] * 12


def test_a_fit_can_be_interrupted(
    device: Device, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(boosting, "open_device", lambda: device)
    X, z = make_table(700, 5)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    grow_round, grown = boosting.GpuBoosting._grow_round, []

    def interrupt(self: boosting.GpuBoosting, n_rounds: int) -> None:
        grow_round(self, n_rounds)
        grown.append(n_rounds)
        if len(grown) == 2:
            signal.raise_signal(signal.SIGINT)

    model = HistGradientBoostingRegressor(engine="gpu", **PARAMS)
    with monkeypatch.context() as patch:
        patch.setattr(boosting.GpuBoosting, "_grow_round", interrupt)
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, z)
    assert len(grown) == 2
    with pytest.raises(NotFittedError):
        model.predict(X)
    expected = HistGradientBoostingRegressor(**PARAMS).fit(X, z).predict(X)
    np.testing.assert_array_equal(model.fit(X, z).predict(X), expected)
