"""Record batches of Arrow that are in the memory of a GPU, by Arrow's C device interface [1]_.

References
----------
.. [1] The Arrow C Device data interface, https://arrow.apache.org/docs/format/CDeviceDataInterface.html
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee.exceptions import DataTypeError

__all__ = ["is_arrow_on_device", "read_arrow"]

_CUDA, _CUDA_MANAGED = 2, 13
"""Arrow's numbers of the kinds of CUDA memory."""
_TYPES = {"c": "i1", "C": "u1", "s": "i2", "S": "u2", "i": "i4", "I": "u4", "l": "i8", "L": "u8"}
_TYPES |= {"e": "f2", "f": "f4", "g": "f8"}
"""NumPy's types by Arrow's letters; truth values, the letter b, are bits."""


class _Schema(ctypes.Structure):
    pass


class _Array(ctypes.Structure):
    pass


_Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_void_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.POINTER(ctypes.POINTER(_Schema))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(ctypes.POINTER(_Array))),
    ("dictionary", ctypes.c_void_p),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]


class _DeviceArray(ctypes.Structure):
    _fields_ = (
        ("array", _Array),
        ("device_id", ctypes.c_int64),
        ("device_type", ctypes.c_int32),
        ("sync_event", ctypes.c_void_p),
        ("reserved", ctypes.c_int64 * 3),
    )


def _open_capsule(capsule: object, name: bytes, kind: type[Any]) -> Any:
    find = ctypes.pythonapi.PyCapsule_GetPointer
    find.restype, find.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return ctypes.cast(find(capsule, name), ctypes.POINTER(kind)).contents


@dataclass(frozen=True)
class _View:
    """Memory of the device, as CuPy opens it."""

    address: int
    n: int
    dtype: str

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return {"shape": (self.n,), "typestr": f"<{self.dtype}", "data": (self.address, True), "version": 3}


def _export(X: Any) -> tuple[Any, Any, Any] | None:
    """The schema and the batch, and the capsules that own them; None if X has no such memory."""
    try:
        capsules = X.__arrow_c_device_array__()
    except (NotImplementedError, TypeError, ValueError):
        return None
    schema = _open_capsule(capsules[0], b"arrow_schema", _Schema)
    batch = _open_capsule(capsules[1], b"arrow_device_array", _DeviceArray)
    return schema, batch, capsules


def is_arrow_on_device(X: Any) -> bool:
    """Whether an object is a batch or an array of Arrow in the memory of a GPU.

    Parameters
    ----------
    X : object
        With ``__arrow_c_device_array__``.
    """
    if isinstance(X, type):
        return False
    on_host = getattr(X, "is_cpu", None)  # PyArrow's, without an export
    if on_host is not None:
        return not on_host
    found = _export(X)
    return found is not None and found[1].device_type in (_CUDA, _CUDA_MANAGED)


def read_arrow(cupy: Any, X: Any) -> tuple[Any, tuple[str, ...] | None]:
    """The columns of a batch side by side, or a single array, on the GPU; what is missing is not a number.

    Parameters
    ----------
    cupy : module
        CuPy.
    X : object
        For which `is_arrow_on_device` is true.

    Returns
    -------
    values : cupy.ndarray
        float32 or float64 of shape (n_rows, n_columns); numbers of shape (n_rows,) if X is a single array.
    names : tuple of str or None
        Of the columns.
    """
    found = _export(X)
    assert found is not None
    schema, batch, capsules = found
    if batch.sync_event:
        cupy.cuda.runtime.eventSynchronize(ctypes.c_void_p.from_address(batch.sync_event).value)
    n, names = int(batch.array.length), None
    if schema.format == b"+s":
        columns = [schema.children[k].contents for k in range(schema.n_children)]
        names = tuple(column.name.decode() if column.name else f"column {k}" for k, column in enumerate(columns))
        letters = [_find_letter(column, f"its column {name!r}") for column, name in zip(columns, names, strict=True)]
        narrow = all(letter in "ef" for letter in letters)
        values = cupy.empty((n, len(names)), np.float32 if narrow else np.float64)
        for k, letter in enumerate(letters):
            child = batch.array.children[k].contents
            values[:, k] = _read_column(cupy, child, letter, int(batch.array.offset) + int(child.offset), n)
    else:
        values = _read_column(cupy, batch.array, _find_letter(schema, "it"), int(batch.array.offset), n)
        values = cupy.array(values)
    cupy.cuda.get_current_stream().synchronize()
    del capsules  # the memory is the owner's until here
    return values, names


def _find_letter(schema: Any, what: str) -> str:
    letter: str = schema.format.decode()
    if schema.dictionary or letter not in {*_TYPES, "b"}:
        raise DataTypeError(
            f"Arrow's data on a GPU must be numbers; {what} is of Arrow's type {letter!r}"
            f"{' with a dictionary' if schema.dictionary else ''}. Copy it to the host first."
        )
    return letter


def _read_column(cupy: Any, column: Any, letter: str, first: int, n: int) -> Any:
    """Numbers ``first`` to ``first + n`` of the buffers of a column."""
    if n == 0:
        return cupy.empty((0,), np.float64)

    def read_bits(address: int) -> Any:
        packed = cupy.asarray(_View(address, (first + n + 7) // 8, "u1"))
        return cupy.unpackbits(packed, bitorder="little")[first : first + n]

    valid, values = column.buffers[0], column.buffers[1]
    if letter == "b":
        numbers = read_bits(values)
    else:
        numbers = cupy.asarray(_View(values, first + n, _TYPES[letter]))[first : first + n]
    if column.null_count == 0 or not valid:
        return numbers
    return cupy.where(read_bits(valid) != 0, numbers.astype(np.float64), np.nan)
