"""Tables that are in the memory of a GPU: CuPy's arrays, cuDF's frames, Arrow's batches, anything with DLPack.

CUDA's array interface is known too.
Nothing here imports CuPy before such a table is given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.arrow_device import is_arrow_on_device, read_arrow
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["DeviceTable", "check_device_table", "copy_to_host", "find_device_table", "is_on_device", "put_beside"]

_CUDA = 2
"""DLPack's number of CUDA devices."""


class DeviceTable:
    """Rows of numbers on a GPU, which stay there.

    Parameters
    ----------
    array : cupy.ndarray of float32 or float64 of shape (n_rows, n_features)
        Row after row.
    names : tuple of str or None
        Of the columns.
    """

    def __init__(self, array: Any, names: tuple[str, ...] | None = None) -> None:
        self.array, self.names = array, names

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        n_rows, n_features = self.array.shape
        return int(n_rows), int(n_features)

    @property
    def dtype(self) -> Any:
        """float32 or float64."""
        return np.dtype(self.array.dtype)

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, rows: AnyArray) -> DeviceTable:
        """Some rows, by their numbers; they stay on the GPU."""
        return DeviceTable(self.array[put_beside(np.asarray(rows))], self.names)

    def to_host(self) -> AnyArray:
        """A copy in the memory of the host."""
        copied: AnyArray = copy_to_host(self.array)
        return copied


def is_on_device(X: Any) -> bool:
    """Whether an object is an array or a frame in the memory of a GPU."""
    if isinstance(X, np.ndarray | DeviceTable):
        return isinstance(X, DeviceTable)
    # They search long for an attribute that they do not have.
    if type(X).__module__.partition(".")[0] in ("pandas", "polars"):
        return False
    if hasattr(X, "__cuda_array_interface__") or type(X).__module__.partition(".")[0] == "cudf":
        return True
    if hasattr(X, "__arrow_c_device_array__"):
        return is_arrow_on_device(X)
    find = getattr(X, "__dlpack_device__", None)
    if find is None or isinstance(X, type):
        return False
    try:
        return int(find()[0]) == _CUDA
    except (BufferError, NotImplementedError, TypeError, ValueError):  # it has no memory that could be shared
        return False


def find_device_table(X: Any) -> DeviceTable | None:
    """The table that X is, if it is on a GPU; its numbers become floats there.

    Parameters
    ----------
    X : object
        Whatever `fit` got.
    """
    if isinstance(X, DeviceTable) or not is_on_device(X):
        return X if isinstance(X, DeviceTable) else None
    import cupy

    names = None
    if hasattr(X, "to_cupy") and hasattr(X, "columns"):  # a frame of cuDF
        found = list(X.columns)
        names = tuple(found) if all(isinstance(name, str) for name in found) else None
        X = _join_columns(X, found)
    if _is_arrow(X):
        array, names = read_arrow(cupy, X)
    else:
        array = _open_array(cupy, X)
    if array.ndim != 2:
        raise DataError(f"X must have rows and columns; got an array on a GPU of shape {tuple(array.shape)}.")
    if array.dtype.kind not in "fiub":
        raise DataTypeError(f"X must hold numbers; got an array on a GPU of {array.dtype}.")
    wanted = np.float32 if array.dtype in (np.float16, np.float32) else np.float64
    table = DeviceTable(cupy.ascontiguousarray(array, wanted), names)
    # It may still be in the making, by the stream of this thread.
    cupy.cuda.get_current_stream().synchronize()
    return table


def _join_columns(frame: Any, names: list[Any]) -> Any:
    """The columns of a frame of cuDF side by side; what is missing is not a number."""
    dtypes = list(frame.dtypes)
    for name, dtype in zip(names, dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "fiub":
            raise DataTypeError(
                f"A frame on a GPU must hold numbers; its column {name!r} is of {dtype}. Copy X to the host first "
                "(to_pandas)."
            )
    narrow = all(dtype.kind == "f" and dtype.itemsize <= 4 for dtype in dtypes)
    return frame.astype(np.float32 if narrow else np.float64).to_cupy(na_value=np.nan)


def _is_arrow(X: Any) -> bool:
    """Whether what is on a GPU is opened by Arrow's interface: what has another one as well is opened by that."""
    return hasattr(X, "__arrow_c_device_array__") and not hasattr(X, "__cuda_array_interface__")


def _open_array(cupy: Any, X: Any) -> Any:
    if hasattr(X, "__cuda_array_interface__"):
        return cupy.asarray(X)
    return cupy.from_dlpack(X)


def put_beside(array: AnyArray) -> Any:
    """A copy of an array of the host on the GPU.

    Parameters
    ----------
    array : ndarray
        Numbers.
    """
    import cupy

    if array.dtype.kind not in "fiub":
        raise DataTypeError(
            f"A GPU holds numbers only; got {array.dtype}. For classes that are no numbers take decision_function or "
            "predict_proba, or copy X to the host first."
        )
    return cupy.asarray(array)


def copy_to_host(values: Any) -> Any:
    """Values that are on a GPU as an array, series or frame of the host; others as they are.

    Parameters
    ----------
    values : object
        A target, weights, or rows.
    """
    if isinstance(values, DeviceTable):
        return values.to_host()
    if values is None or not is_on_device(values):
        return values
    if hasattr(values, "to_pandas"):  # cuDF's: texts and what is missing stay what they are
        return values.to_pandas()
    import cupy

    return cupy.asnumpy(read_arrow(cupy, values)[0] if _is_arrow(values) else _open_array(cupy, values))


def check_device_table(estimator: object, table: DeviceTable, categories: Any) -> None:
    """Refuse a table on a GPU where the estimator, or its engine, reads tables of the host only."""
    name = type(estimator).__name__
    if not getattr(estimator, "accepts_device", False) or getattr(estimator, "engine", "cpu") == "cpu":
        hint = " or set engine='gpu'" if getattr(estimator, "accepts_device", False) else ""
        raise DataTypeError(
            f"X is in the memory of a GPU, but {name} reads it from that of the host here. Copy it there first{hint}."
        )
    if not (categories is None or isinstance(categories, str) or len(categories) == 0):
        raise DataError(f"Categories of a table on a GPU are not supported by {name}. Copy X to the host first.")
