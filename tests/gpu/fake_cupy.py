"""What the library uses of CuPy and of cuDF, in the memory of the host: for tables on the device of the shim."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd


class FakeArray:
    """An array that says that it is on a GPU."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)
        self.shape, self.dtype, self.ndim = self.array.shape, self.array.dtype, self.array.ndim

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self.array.__array_interface__)

    def __getitem__(self, rows: Any) -> FakeArray:
        return FakeArray(self.array[rows.array if isinstance(rows, FakeArray) else rows])

    def __setitem__(self, places: Any, values: Any) -> None:
        self.array[places] = values.array if isinstance(values, FakeArray) else values

    def __ne__(self, other: object) -> Any:
        return FakeArray(self.array != other)

    __hash__ = None

    def astype(self, dtype: Any) -> FakeArray:
        """In another type."""
        return FakeArray(self.array.astype(dtype))

    def take(self, places: Any) -> Any:
        """Of the host, as all that the shim's kernels give."""
        return self.array.take(places)


class FakeTensor:
    """A tensor that is shared by DLPack alone."""

    def __init__(self, array: Any) -> None:
        self.array = np.asarray(array)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


class FakeFrame:
    """A frame of cuDF: columns of pandas' types that can be missing, and their numbers side by side."""

    __module__ = "cudf.core.dataframe"

    def __init__(self, frame: pd.DataFrame) -> None:
        self._frame = frame
        self.columns, self.dtypes = frame.columns, frame.dtypes

    def astype(self, dtype: Any) -> FakeFrame:
        return FakeFrame(self._frame.astype("Float64" if dtype == np.float64 else "Float32"))

    def to_cupy(self, na_value: float | None = None) -> FakeArray:
        if na_value is None and self._frame.isna().any(axis=None):
            raise ValueError("Column must have no nulls.")
        dtype = np.result_type(*(own.numpy_dtype for own in self.dtypes))
        return FakeArray(self._frame.to_numpy(dtype, na_value=na_value))

    def to_pandas(self) -> pd.DataFrame:
        return self._frame


def make_cupy() -> types.ModuleType:
    """A module in the place of cupy."""
    module: Any = types.ModuleType("cupy")

    def open_array(array: Any, dtype: Any = None) -> FakeArray:
        if not hasattr(array, "array") and hasattr(array, "__cuda_array_interface__"):
            array = np.asarray(types.SimpleNamespace(__array_interface__=array.__cuda_array_interface__))
        return FakeArray(np.ascontiguousarray(array.array if hasattr(array, "array") else array, dtype))

    module.asarray = module.ascontiguousarray = module.from_dlpack = open_array
    module.asnumpy = lambda array: np.array(array.array)
    module.array = lambda array: FakeArray(array.array.copy())
    module.empty = lambda shape, dtype: FakeArray(np.empty(shape, dtype))
    module.unpackbits = lambda array, bitorder: FakeArray(np.unpackbits(array.array, bitorder=bitorder))
    module.where = lambda mask, array, other: FakeArray(np.where(mask.array, array.array, other))
    stream = types.SimpleNamespace(synchronize=lambda: None)
    module.cuda = types.SimpleNamespace(get_current_stream=lambda: stream)
    return module
