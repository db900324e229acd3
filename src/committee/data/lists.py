"""Columns of lists: every row has the same number of numbers, and each position becomes a feature.

A row without a list is missing at every position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.exceptions import DataTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import AnyArray, BoolArray

__all__ = ["read_arrow_lists", "read_object_lists", "read_polars_lists"]

_FLOAT32 = np.dtype(np.float32)


def _spread(flat: AnyArray, lengths: NDArray[np.int64], missing: BoolArray, where: str) -> AnyArray:
    """The elements of all rows that have a list, as a matrix with all rows; without columns if no row has one."""
    if len(lengths) and (lengths != lengths[0]).any():
        other = lengths[np.flatnonzero(lengths != lengths[0])[0]]
        raise DataTypeError(
            f"X {where} holds lists of different lengths, such as {lengths[0]} and {other}. Every list must be as "
            "long; make a category or a number of it, or pad it."
        )
    if not len(lengths):
        return np.empty((len(missing), 0))
    width = int(lengths[0])
    if width == 0:
        raise DataTypeError(f"X {where} holds lists without any value, which cannot be learnt from. Leave it out.")
    elements = np.full((len(missing), width), np.nan, dtype=flat.dtype)
    elements[~missing] = flat.reshape(-1, width)
    return elements


def _refuse_elements(where: str, described: str) -> DataTypeError:
    return DataTypeError(
        f"X {where} holds lists of {described}, which cannot be learnt from; lists of numbers can. Spread it over one "
        "column for each element."
    )


def read_polars_lists(series: Any, where: str) -> AnyArray:
    """A Polars series of type List or Array, as a matrix."""
    import polars as pl

    if isinstance(series.dtype, pl.Array):
        if len(series.dtype.shape) > 1:
            raise _refuse_elements(where, "lists")
        series = series.arr.to_list()
    inner = series.dtype.inner
    if not (inner.is_numeric() or inner in (pl.Boolean, pl.Null)):
        raise _refuse_elements(where, str(inner))
    missing, present = series.is_null().to_numpy(), series.drop_nulls()
    lengths = present.list.len().to_numpy().astype(np.int64)
    flat = present.filter(present.list.len() > 0).explode()
    if inner.is_decimal():
        flat = flat.cast(pl.String)
    if inner != pl.Float32:
        flat = flat.cast(pl.Float64)
    return _spread(flat.to_numpy(), lengths, missing, where)


def read_arrow_lists(chunked: Any, where: str) -> AnyArray:
    """A PyArrow array of a list type, as a matrix."""
    import pyarrow as pa
    from pyarrow import compute

    inner = chunked.type.value_type
    is_decimal = pa.types.is_decimal(inner)
    numeric = pa.types.is_integer(inner) or pa.types.is_floating(inner) or is_decimal
    if not (numeric or pa.types.is_boolean(inner) or pa.types.is_null(inner)):
        raise _refuse_elements(where, str(inner))
    missing, present = np.asarray(chunked.is_null(), dtype=bool), chunked.drop_null()
    lengths = np.asarray(compute.list_value_length(present), dtype=np.int64)
    flat = compute.list_flatten(present)
    if pa.types.is_boolean(inner):
        flat = flat.cast("int8")
    if is_decimal:
        flat = flat.cast("string")
    if inner != pa.float32():
        flat = flat.cast("float64")
    held = np.asarray(flat.fill_null(np.nan), dtype=np.float32 if inner == pa.float32() else np.float64)
    return _spread(held, lengths, missing, where)


def read_object_lists(
    values: Sequence[Any], missing: BoolArray, where: str, read_elements: Callable[[list[Any]], AnyArray | None]
) -> AnyArray:
    """A column of Python lists, tuples or arrays, as a matrix.

    Parameters
    ----------
    values : sequence
        A list for each row.
    missing : ndarray of bool
        The rows without a list.
    where : str
        The column as a sentence calls it.
    read_elements : callable
        Makes numbers of the elements of all rows; None if they are none.
    """
    present = [values[row] for row in np.flatnonzero(~missing).tolist()]
    odd = next((v for v in present if not isinstance(v, list | tuple | np.ndarray)), None)
    if odd is not None:
        raise DataTypeError(f"X {where} mixes lists and other values, such as {show_value(odd)}.")
    if any(isinstance(v, np.ndarray) and v.ndim != 1 for v in present):
        raise _refuse_elements(where, "arrays of other than one axis")
    lengths = np.fromiter(map(len, present), np.int64, len(present))
    arrays = [v for v in present if isinstance(v, np.ndarray) and v.dtype.kind in "biuf"]
    if len(arrays) == len(present):
        single = all(v.dtype == _FLOAT32 for v in arrays)
        flat = np.concatenate(arrays).astype(_FLOAT32 if single else np.float64)
        return _spread(flat, lengths, missing, where)
    elements = read_elements([element for value in present for element in value])
    if elements is None:
        raise _refuse_elements(where, "something else than numbers")
    return _spread(elements, lengths, missing, where)
