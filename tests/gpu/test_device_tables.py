"""Tables that are on the device are fitted and predicted there, with the bytes of the host's."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from committee import (
    DecisionTreeClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from committee.engines.gpu import Device, device_bins
from committee.exceptions import DataError, DataTypeError
from tests.gpu.comparing import make_table
from tests.gpu.shim_device import ShimDevice

PARAMS: dict[str, Any] = {"max_iter": 3, "max_depth": 3, "max_leaf_nodes": None, "random_state": 0}


@pytest.fixture
def opened(device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """The device, as that of all fits, however small."""
    monkeypatch.setattr(device_bins, "LEAST_DEVICE_ROWS", 1)
    for module in ("boosting", "device", "prediction"):
        monkeypatch.setattr(f"committee.engines.gpu.{module}.open_device", lambda: device)
    return device


@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_that_is_binned_on_the_device_has_the_same_bytes(
    opened: Device, weighted: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, z = make_table(700, 5, missing=0.1)
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float) if weighted else None
    seen: list[int] = []
    bin_on_device = device_bins.bin_on_device
    monkeypatch.setattr(device_bins, "bin_on_device", lambda *given: seen.append(1) or bin_on_device(*given))
    cpu, gpu = (
        HistGradientBoostingRegressor(engine=engine, **PARAMS).fit(X, z, sample_weight=weights)
        for engine in ("cpu", "gpu")
    )
    assert seen
    np.testing.assert_array_equal(cpu._raw_predict(X), gpu._raw_predict(X))
    np.testing.assert_array_equal(cpu.feature_importances_, gpu.feature_importances_)


def put(X: Any, library: str) -> Any:
    if library == "torch":
        torch = pytest.importorskip("torch")
        return torch.from_numpy(np.ascontiguousarray(X)).cuda()
    if library == "cudf":
        cudf = pytest.importorskip("cudf")
        return cudf.DataFrame({f"x{k}": X[:, k] for k in range(X.shape[1])})
    import cupy

    array = cupy.asarray(X)
    return cupy.asfortranarray(array) if library == "columns" else array


@pytest.mark.parametrize("library", ["cupy", "columns", "torch", "cudf"])
def test_tables_of_the_device(opened: Device, library: str) -> None:
    if isinstance(opened, ShimDevice):
        pytest.skip("its memory is the host's")
    import cupy

    X, z = make_table(1500, 5, missing=0.1)
    y = (z > 0).astype(np.int64)
    given, labels = put(X, library), put(y[:, None], "cupy")[:, 0]
    for stopping in (False, True):
        params = PARAMS | {"early_stopping": stopping}
        cpu = HistGradientBoostingClassifier(**params).fit(X, y)
        gpu = HistGradientBoostingClassifier(engine="gpu", **params).fit(given, labels)
        np.testing.assert_array_equal(cpu._raw_predict(X), gpu._raw_predict(X))
    scores, chances, classes = gpu.decision_function(given), gpu.predict_proba(given), gpu.predict(given)
    assert all(isinstance(found, cupy.ndarray) for found in (scores, chances, classes))
    np.testing.assert_array_equal(scores.get(), cpu.decision_function(X))
    np.testing.assert_allclose(chances.get(), cpu.predict_proba(X), rtol=1e-14)
    np.testing.assert_array_equal(classes.get(), cpu.predict(X))
    # A model of the CPU predicts on the device too, and one that was refitted does not know its old trees.
    np.testing.assert_array_equal(cpu.decision_function(given).get(), cpu.decision_function(X))
    cpu.set_params(max_iter=1).fit(X, y)
    np.testing.assert_array_equal(cpu.decision_function(given).get(), cpu.decision_function(X))
    named = HistGradientBoostingClassifier(engine="gpu", **PARAMS).fit(given, np.where(y, "yes", "no"))
    with pytest.raises(DataTypeError, match="numbers only"):
        named.predict(given)
    with pytest.raises(DataError, match="5 columns"):
        gpu.predict(put(X[:, :3], "cupy"))


def test_what_reads_tables_from_the_host_says_so() -> None:
    class OnDevice:
        shape = (3, 2)
        __cuda_array_interface__: ClassVar[dict[str, Any]] = {}

    class Found:
        ndim, shape, dtype = 2, (3, 2), np.dtype(np.float32)

    with pytest.MonkeyPatch.context() as patch:
        from committee.data import device_tables, intake

        patch.setattr(
            intake,
            "find_device_table",
            lambda X: device_tables.DeviceTable(Found()) if isinstance(X, OnDevice) else None,
        )
        with pytest.raises(DataTypeError, match="Copy it there first or set engine='gpu'"):
            HistGradientBoostingRegressor().fit(OnDevice(), [1.0, 2.0, 3.0])
        with pytest.raises(DataTypeError, match=r"Copy it there first\."):
            DecisionTreeClassifier().fit(OnDevice(), [1, 2, 3])
        with pytest.raises(DataError, match="Categories of a table on a GPU"):
            HistGradientBoostingRegressor(engine="gpu", categorical_features=[0]).fit(OnDevice(), [1.0, 2.0, 3.0])
