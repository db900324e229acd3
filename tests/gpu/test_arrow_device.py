"""Batches of Arrow that are on the device, by its C device interface: their numbers, missing values, names, errors."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest

from committee import HistGradientBoostingClassifier, RandomForestRegressor
from committee.data.arrow_device import _Array, _DeviceArray, _open_capsule
from committee.data.device_tables import copy_to_host, find_device_table, is_on_device
from committee.engines.gpu import Device
from committee.exceptions import DataError, DataTypeError
from tests.gpu.shim_device import ShimDevice
from tests.gpu.test_device_trees import opened, read

pa = pytest.importorskip("pyarrow")
assert opened  # the fixture


class OnDevice:
    """Arrow's data of the host that says that it is on a GPU, where its buffers are copied if there is one."""

    def __init__(self, held: Any, device: Device) -> None:
        self._held, self._device, self._kept = held, device, []  # type: ignore[var-annotated]

    def __arrow_c_device_array__(self, requested_schema: object = None) -> tuple[object, object]:
        """The capsules of PyArrow, with another kind of memory."""
        schema, batch = self._held.__arrow_c_device_array__()
        found = _open_capsule(batch, b"arrow_device_array", _DeviceArray)
        found.device_type = 2
        if not isinstance(self._device, ShimDevice):
            for k in range(found.array.n_children):
                self._move(found.array.children[k].contents, self._held.column(k))
            if found.array.n_children == 0:
                self._move(found.array, self._held)
        return schema, batch

    def _move(self, array: _Array, column: Any) -> None:
        import cupy

        for k, buffer in enumerate(column.buffers()):
            if buffer is not None:
                self._kept.append(cupy.asarray(np.frombuffer(buffer, np.uint8)))
                array.buffers[k] = ctypes.c_void_p(self._kept[-1].data.ptr)


def make_batch() -> tuple[Any, np.ndarray[Any, Any]]:
    rng = np.random.default_rng(0)
    doubles = rng.standard_normal(90)
    columns = {
        "double": pa.array([None if k % 7 == 3 else float(x) for k, x in enumerate(doubles)], pa.float64()),
        "float": pa.array(doubles[::-1], pa.float32()),
        "small": pa.array([None if k % 11 == 5 else k % 100 for k in range(90)], pa.int8()),
        "large": pa.array(range(90), pa.uint64()),
        "flag": pa.array([None if k == 80 else k % 3 == 0 for k in range(90)], pa.bool_()),
    }
    batch = pa.RecordBatch.from_pydict(columns)
    plain = [[np.nan if x is None else float(x) for x in column.to_pylist()] for column in columns.values()]
    return batch, np.array(plain).T


@pytest.mark.parametrize(("first", "n"), [(0, 90), (13, 60), (64, 9)])
def test_columns_are_read_where_they_are(opened: Device, first: int, n: int) -> None:
    batch, plain = make_batch()
    given = OnDevice(batch.slice(first, n), opened)
    assert is_on_device(given)
    assert not is_on_device(batch)
    assert not is_on_device(OnDevice)
    table = find_device_table(given)
    assert table is not None
    assert table.names == ("double", "float", "small", "large", "flag")
    assert table.dtype == np.float64
    np.testing.assert_array_equal(copy_to_host(given), plain[first : first + n])
    single = OnDevice(batch.column("large").slice(first, n), opened)
    np.testing.assert_array_equal(copy_to_host(single), np.arange(first, first + n))
    with pytest.raises(DataError, match="rows and columns"):
        find_device_table(single)


def test_floats_stay_floats(opened: Device) -> None:
    batch = pa.RecordBatch.from_pydict({"a": pa.array([1.5, None], pa.float32()), "b": pa.array([2, 3], pa.float32())})
    table = find_device_table(OnDevice(batch, opened))
    assert table is not None
    assert table.dtype == np.float32
    np.testing.assert_array_equal(table.to_host(), np.array([[1.5, 2.0], [np.nan, 3.0]], np.float32))


def test_what_is_no_number_is_named(opened: Device) -> None:
    words = pa.array(["x", "y"])
    for column, what in ((words, "'u'"), (words.dictionary_encode(), "with a dictionary")):
        batch = pa.RecordBatch.from_pydict({"a": [1.0, 2.0], "word": column})
        with pytest.raises(DataTypeError, match=f"'word' is of Arrow's type .*{what}"):
            find_device_table(OnDevice(batch, opened))


def test_fits_and_predictions_have_the_same_bytes(opened: Device) -> None:
    batch, plain = make_batch()
    given, y = OnDevice(batch, opened), plain[:, 1] > 0
    params: dict[str, Any] = {"max_iter": 3, "max_depth": 3, "early_stopping": False}
    cpu = HistGradientBoostingClassifier(**params).fit(plain, y)
    gpu = HistGradientBoostingClassifier(engine="gpu", **params).fit(given, y)
    assert gpu.feature_names_in_.tolist() == batch.schema.names
    np.testing.assert_array_equal(read(gpu.decision_function(given), opened), cpu.decision_function(plain))
    forest = RandomForestRegressor(3, random_state=0).fit(plain, plain[:, 3])
    np.testing.assert_array_equal(read(forest.predict(given), opened), forest.predict(plain))
