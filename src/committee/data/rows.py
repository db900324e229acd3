"""Rows and columns of a table of any kind, in the kind that it has; for members that read tables by themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.arrays import check_sparse
from committee.data.device_tables import DeviceTable
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatMatrix, SparseMatrix

__all__ = ["collect_table", "count_rows", "densify_blocks", "fits_one_block", "select_rows"]

_DENSE_VALUES = 1 << 22
"""Values of a sparse table that are made dense at a time (32 MB)."""


def collect_table(table: Any, wanted: Sequence[str] | None = None) -> Any:
    """The rows of a Polars LazyFrame, of the wanted columns alone if it has all of them; any other table unchanged.

    Examples
    --------
    >>> collect_table([[1.0], [2.0]])
    [[1.0], [2.0]]
    """
    if not (hasattr(table, "collect_schema") and hasattr(table, "lazy") and hasattr(table, "collect")):
        return table
    if wanted is not None and set(wanted) <= set(table.collect_schema().names()):
        table = table.select([str(name) for name in wanted])
    return table.collect()


def count_rows(table: Any) -> int:
    """The number of rows of an array or what NumPy makes one of, a list, a sparse matrix or a frame.

    Examples
    --------
    >>> count_rows([[1.0], [2.0], [3.0]])
    3
    """
    shape = getattr(table, "shape", None)
    if shape:
        return int(shape[0])
    if shape is None and not hasattr(table, "__len__") and hasattr(table, "__array__"):
        return count_rows(np.asarray(table))
    if shape is not None or not hasattr(table, "__len__"):
        allowed = "an array, nested lists, a sparse matrix or a frame"
        raise DataTypeError(f"X must be a table: {allowed}; got {show_value(table)}.")
    return len(table)


def select_rows(table: Any, rows: AnyArray | None, columns: AnyArray | None = None) -> Any:
    """Some rows and columns of a table, by number and in the order given; None takes all of them.

    Parameters
    ----------
    table : array, list, sparse matrix or frame
        What `fit` of some estimator reads.
    rows, columns : ndarray of int, or None
        Numbers, repeated where a row is wanted more than once.

    Returns
    -------
    A table of the same kind; of nested lists an array.

    Examples
    --------
    >>> select_rows(np.arange(6).reshape(3, 2), np.array([2, 2, 0]), np.array([1]))
    array([[5],
           [5],
           [1]])
    """
    if rows is None and columns is None:
        return table
    if isinstance(table, DeviceTable) and rows is not None and columns is None:
        return table[rows]
    if hasattr(table, "load_table"):  # a source, whose rows are read later
        return table if rows is None else table.select_rows(rows)
    if hasattr(table, "opened"):  # in blocks
        table = table.collect() if rows is None else table.take(rows)
        return table if columns is None else table[:, columns]
    if hasattr(table, "iloc"):
        if columns is not None and table.ndim != 2:
            raise DataError(
                "X must have two axes, rows and features; got a series. Make a frame of it with to_frame()."
            )
        across = slice(None) if rows is None else rows
        return table.iloc[across] if columns is None else table.iloc[across, columns]
    if hasattr(table, "tocsr"):
        check_sparse(table)
        selected = table if rows is None else table.tocsr()[rows]
        selected = selected if columns is None else selected.tocsc()[:, columns]
        return selected.asformat(table.format) if table.format in ("csr", "csc") else selected
    if hasattr(table, "take") and hasattr(table, "column_names"):  # PyArrow
        table = table if rows is None else table.take(rows)
        return table if columns is None else table.select([int(c) for c in columns])
    if hasattr(table, "columns") and not isinstance(table, np.ndarray):  # Polars
        table = table if rows is None else table[rows]
        return table if columns is None else table.select([table.columns[int(c)] for c in columns])
    array = np.asarray(table)
    if columns is not None and array.ndim != 2:
        raise DataError(f"X must have two axes, rows and features; got shape {array.shape}.")
    array = array if rows is None else array[rows]
    return array if columns is None else array[:, columns]


def densify_blocks(table: Any) -> Iterator[tuple[int, AnyArray]]:
    """A sparse table, or one in blocks, as dense blocks of rows, each with the number of its first row.

    A block is valid until the next one is asked for: all are written to the same memory, entry by entry.

    Parameters
    ----------
    table : sparse matrix or array, or BlockTable
        Rows for a kernel that reads dense ones.

    Yields
    ------
    tuple of int and ndarray

    Examples
    --------
    >>> from scipy.sparse import eye_array
    >>> [(start, block.shape) for start, block in densify_blocks(eye_array(3))]
    [(0, (3, 3))]
    """
    if hasattr(table, "iterate"):
        yield from table.iterate()
        return
    rows, step = table.tocsr(), max(1, _DENSE_VALUES // table.shape[1])
    if not rows.has_canonical_format:
        rows = rows.copy()
        rows.sum_duplicates()
    block = np.zeros((min(step, rows.shape[0]), rows.shape[1]), dtype=rows.dtype)
    for start in range(0, rows.shape[0], step):
        bounds = rows.indptr[start : start + step + 1]
        at = np.repeat(np.arange(len(bounds) - 1), np.diff(bounds)), rows.indices[bounds[0] : bounds[-1]]
        block[at] = rows.data[bounds[0] : bounds[-1]]
        yield start, block[: len(bounds) - 1]
        block[at] = 0


def fits_one_block(table: FloatMatrix | SparseMatrix) -> bool:
    """Whether a sparse table is made dense at once; a table in blocks has its own."""
    return hasattr(table, "iterate") or bool(table.shape[0] * table.shape[1] <= _DENSE_VALUES)
