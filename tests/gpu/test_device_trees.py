"""Forests and boosted stumps take tables that are on the device, binned there, and have the CPU's bytes."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from benchmarks.gpu_digests import find_digest
from committee import (
    AdaBoostClassifier,
    DecisionTreeClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from committee.data.dataset import Dataset
from committee.data.device_tables import DeviceTable, copy_to_host, find_device_table
from committee.engines.gpu import Device, device_bins
from committee.exceptions import DataTypeError, EngineError
from tests.gpu.comparing import make_table
from tests.gpu.fake_cupy import FakeArray, FakeFrame, FakeTensor, make_cupy
from tests.gpu.shim_device import ShimDevice

MODELS: dict[str, Any] = {
    "random forest": RandomForestClassifier(4, random_state=0),
    "out of bag": RandomForestClassifier(12, oob_score=True, max_depth=4, random_state=0),
    "extra-trees": ExtraTreesRegressor(4, random_state=0),
    "leaf samples": ExtraTreesRegressor(2, keep_leaf_samples=True, random_state=0),
    "AdaBoost": AdaBoostClassifier(n_estimators=5),
    "AdaBoost that stops": AdaBoostClassifier(n_estimators=5, n_iter_no_change=2, random_state=0),
}


@pytest.fixture
def opened(device: Device, monkeypatch: pytest.MonkeyPatch) -> Device:
    """The device, as that of all fits, however small; the shim has tables of its own."""
    monkeypatch.setattr(device_bins, "LEAST_DEVICE_ROWS", 1)
    for module in ("boosting", "device", "forest", "prediction", "stumps"):
        monkeypatch.setattr(f"committee.engines.gpu.{module}.open_device", lambda: device)
    if isinstance(device, ShimDevice):
        monkeypatch.setitem(sys.modules, "cupy", make_cupy())
    return device


def put(X: Any, opened: Device, kind: str = "array") -> Any:
    if not isinstance(opened, ShimDevice):
        import cupy

        return cupy.asarray(X)
    return {"array": FakeArray, "tensor": FakeTensor}[kind](X)


def compare(name: str, given: Any, X: Any, z: Any, engine: str) -> None:
    model = MODELS[name]
    y = np.digitize(z, [-1.0, 1.0]) if hasattr(model, "predict_proba") else z
    cpu, gpu = (clone(model).set_params(engine=own) for own in ("cpu", engine))
    assert find_digest(gpu.fit(given, y)) == find_digest(cpu.fit(X, y))
    if hasattr(cpu, "oob_score_"):
        assert gpu.oob_score_ == cpu.oob_score_
    if hasattr(cpu, "_leaf_record"):
        np.testing.assert_array_equal(gpu.predict_quantiles(X), cpu.predict_quantiles(X))


@pytest.mark.parametrize("name", MODELS)
def test_tables_of_the_device_have_the_same_bytes(opened: Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    X, z = make_table(400, 5, missing=0.1)
    fails = name == "AdaBoost"  # no other model reads the table from the host
    with monkeypatch.context() as patch:
        if fails:
            patch.setattr(DeviceTable, "to_host", lambda _: pytest.fail("the table went through the host"))
            patch.setattr(Dataset, "binned", _fail_on_device(Dataset.binned))
        compare(name, put(X, opened), X, z, "gpu")


def _fail_on_device(binned: Any) -> Any:
    def wrapped(self: Dataset, *given: Any) -> Any:
        assert not isinstance(self.X, DeviceTable), "the host has binned the table"
        return binned(self, *given)

    return wrapped


def test_a_large_table_of_the_host_is_binned_on_the_device(opened: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    X, z = make_table(300, 35, missing=0.1)
    seen: list[int] = []
    bin_on_device = device_bins.bin_on_device
    monkeypatch.setattr(device_bins, "bin_on_device", lambda *given: seen.append(1) or bin_on_device(*given))
    for name in ("random forest", "AdaBoost"):
        compare(name, X, X, z, "gpu")
    assert len(seen) == 2


@pytest.mark.parametrize("model", [RandomForestClassifier(5, random_state=0), DecisionTreeClassifier(max_depth=4)])
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_classes_of_rows_of_the_device(
    opened: Device, model: Any, n_outputs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    X, z = make_table(300, 5, missing=0.1)
    y = np.stack([np.digitize(z, [-1.0, 1.0]), 10 * (X[:, 1] > 0)], axis=1)[:, :n_outputs]
    fitted = clone(model).fit(X, y if n_outputs > 1 else y[:, 0])
    given = put(X, opened)
    score = fitted.score(given, put(y[:, 0], opened)) if n_outputs == 1 else None
    monkeypatch.setattr(DeviceTable, "to_host", lambda _: pytest.fail("the rows went through the host"))
    if score is not None:
        assert score == fitted.score(X, y[:, 0])
    found, wanted = fitted.predict_proba(given), fitted.predict_proba(X)
    for own, other in zip(found, wanted, strict=True) if n_outputs > 1 else [(found, wanted)]:
        np.testing.assert_array_equal(read(own, opened), other)
    np.testing.assert_array_equal(read(fitted.predict(given), opened), fitted.predict(X))


def test_values_of_rows_of_the_device(opened: Device) -> None:
    X, z = make_table(300, 5, missing=0.1)
    given = put(X, opened)
    for target in (z, np.stack([z, X[:, 0] > 0], axis=1)):
        forest = ExtraTreesRegressor(4, random_state=0).fit(X, target)
        np.testing.assert_array_equal(read(forest.predict(given), opened), forest.predict(X))


def test_what_a_gpu_does_not_predict(opened: Device) -> None:
    X, z = make_table(300, 3)
    calibrated = RandomForestClassifier(20, calibration="sigmoid", random_state=0).fit(X, z > 0)
    with pytest.raises(DataTypeError, match="this model has calibrated probabilities"):
        calibrated.predict_proba(put(X, opened))
    levels = RandomForestClassifier(3, categorical_features=[0]).fit(np.round(X), z > 0)
    with pytest.raises(DataTypeError, match="this model has categories"):
        levels.predict(put(np.round(X), opened))


def read(found: Any, opened: Device) -> Any:
    """What the device has given, which must still be there."""
    if isinstance(opened, ShimDevice):
        return found
    import cupy

    assert isinstance(found, cupy.ndarray)
    return found.get()


def test_auto_takes_the_cpu_for_small_tables_of_the_device(opened: Device) -> None:
    X, z = make_table(300, 3)
    for name in ("random forest", "AdaBoost", "extra-trees"):
        compare(name, put(X, opened), X, z, "auto")
    deep = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=2, engine="auto")
    assert find_digest(clone(deep).fit(put(X, opened), z > 0)) == find_digest(clone(deep).fit(X, z > 0))
    with pytest.raises(EngineError, match="boosts stumps"):
        deep.set_params(engine="gpu").fit(put(X, opened), z > 0)
    with pytest.raises(DataTypeError, match="or set engine='gpu'"):
        RandomForestClassifier().fit(put(X, opened), z > 0)


def test_tables_of_other_libraries(opened: Device) -> None:
    if not isinstance(opened, ShimDevice):
        pytest.skip("the libraries are those of the shim")
    pd = pytest.importorskip("pandas")
    X, z = make_table(300, 3, missing=0.1)
    compare("random forest", put(X, opened, "tensor"), X, z, "gpu")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).astype("Float64")
    frame["c"] = pd.array([None, *range(len(X) - 1)], dtype="Int64")
    plain = frame.to_numpy(np.float64, na_value=np.nan)
    fits = {
        given: HistGradientBoostingRegressor(max_iter=2, engine="gpu").fit(table, z)
        for given, table in (("frame", FakeFrame(frame)), ("array", plain))
    }
    assert fits["frame"].feature_names_in_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(fits["frame"].predict(frame), fits["array"].predict(plain))


def test_frames_of_cudf(monkeypatch: pytest.MonkeyPatch) -> None:
    pd = pytest.importorskip("pandas")
    monkeypatch.setitem(sys.modules, "cupy", make_cupy())
    narrow = pd.DataFrame({"a": pd.array([1.5, None], "Float32"), "b": pd.array([2.0, 3.0], "Float32")})
    table = find_device_table(FakeFrame(narrow))
    assert table is not None
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table.to_host(), np.array([[1.5, 2.0], [np.nan, 3.0]]))
    words = pd.DataFrame({"a": pd.array([1, 2], "Int8"), "b": ["x", "y"]})
    with pytest.raises(DataTypeError, match=r"its column 'b' is of .*to_pandas"):
        find_device_table(FakeFrame(words))
    # A target, or rows for the host, keep their texts.
    assert copy_to_host(FakeFrame(words)) is words
