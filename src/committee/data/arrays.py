"""Arrays, nested lists and sparse matrices of any type, read as a Table."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.columns import read_objects, read_times
from committee.data.memory import check_room_for
from committee.data.tables import Table
from committee.exceptions import CommitteeError, DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray, AnyDType, SparseMatrix

__all__ = ["check_sparse", "read_array", "read_sequence", "read_sparse", "refuse_axes"]

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
_KINDS = {"V": "structs"}


def read_array(X: AnyArray) -> Table:
    """An array of any type and order; float32 and float64 arrays in aligned memory are not copied."""
    dtype = X.dtype
    if X.ndim != 2:
        raise refuse_axes(X.shape)
    n_rows, n_features = X.shape
    if isinstance(X, np.ma.MaskedArray):
        return _read_masked(X)
    # A memory map and the like is an array in all that matters here.
    X = np.asarray(X)
    if dtype is _FLOAT64 or dtype is _FLOAT32:
        return Table(n_rows, n_features, matrix=X if X.flags.aligned else X.copy())
    kind = dtype.kind
    if kind in "biuf":
        wanted: AnyDType = _FLOAT32 if dtype.newbyteorder("=") == _FLOAT32 else _FLOAT64
        check_room_for(n_rows, n_features, wanted.itemsize)
        with np.errstate(over="ignore"):
            return Table(n_rows, n_features, matrix=X.astype(wanted))
    if kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    if kind in "OUST":
        check_room_for(n_rows, n_features, _FLOAT64.itemsize)
        columns = [read_objects(X[:, j].tolist(), f"column {j}") for j in range(n_features)]
        return Table(n_rows, n_features, columns=columns)
    if kind in "Mm":
        check_room_for(n_rows, n_features, _FLOAT64.itemsize)
        wheres = [f"column {j}" for j in range(n_features)]
        columns = [read_times(X[:, j], where) for j, where in enumerate(wheres)]
        return Table(n_rows, n_features, columns=columns)
    raise DataTypeError(
        f"X holds {_KINDS.get(kind, 'values')} ({dtype}), which cannot be learnt from. Turn it into numbers first."
    )


def _read_masked(X: Any) -> Table:
    mask, plain = np.ma.getmaskarray(X), np.asarray(X.data)
    if not mask.any():
        return read_array(plain)
    if plain.dtype.kind in "biuf":
        table = read_array(plain)
        assert table.matrix is not None
        # What lies under the mask may be anything, so the array of the caller is left as it is.
        matrix = table.matrix.copy() if np.shares_memory(table.matrix, plain) else table.matrix
        matrix[mask] = np.nan
        return Table(table.n_rows, table.n_features, matrix=matrix)
    objects = plain.astype(object)
    objects[mask] = None
    return read_array(objects)


def read_sequence(X: Any) -> Table:
    """Nested lists, or any other object that NumPy can make an array of."""
    try:
        array = np.asarray(X)
        if array.dtype.kind in "USO" and isinstance(X, list | tuple):
            # NumPy would turn the numbers beside a piece of text into text.
            array = np.array(X, dtype=object)
    except CommitteeError:
        raise
    except Exception as error:
        array = _read_rows(X, error)
    if array.shape == (0,):
        raise DataError("X has 0 sample(s) (shape=(0,)) while a minimum of 1 is required.")
    if array.ndim == 0:
        raise DataTypeError(
            f"X must be a table: an array, nested lists, a sparse matrix or a frame; got {show_value(X)}."
        )
    return read_array(array)


def _read_rows(X: Any, error: Exception) -> AnyArray:
    """Rows that NumPy cannot convert to an array: ragged rows, or values that are containers (distinguished later)."""
    if not isinstance(X, list | tuple) or not all(isinstance(row, list | tuple | np.ndarray) for row in X[:1]):
        raise DataTypeError(f"X cannot be read as a table: {error}") from None
    widths = [_measure_width(row) for row in X]
    odd = next((i for i, width in enumerate(widths) if width != widths[0]), None)
    if odd is not None:
        raise DataError(
            f"X is ragged: row {odd} has {_count(widths[odd])} where row 0 has {_count(widths[0])}. "
            "Every row must have the same number of values."
        ) from None
    if widths[0] is None:
        raise DataTypeError(f"X cannot be read as a table: {error}") from None
    array = np.empty((len(X), widths[0]), dtype=object)
    for i, row in enumerate(X):
        for j, value in enumerate(row):
            array[i, j] = value
    return array


def _measure_width(row: Any) -> int | None:
    """The length of a row; None for a scalar, and for 0-d arrays, whose ``len`` raises."""
    if isinstance(row, str):
        return None
    try:
        return len(row)
    except TypeError:
        return None


def _count(width: int | None) -> str:
    return "a single value" if width is None else f"{width} value{'' if width == 1 else 's'}"


def refuse_axes(shape: tuple[int, ...]) -> DataError:
    """The error for anything but two axes."""
    hint = "Reshape your data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row."
    if len(shape) > 2:
        hint = "Reshape your data: X.reshape(len(X), -1) makes one feature of each value in a row."
    return DataError(f"Expected 2D array, got {len(shape)}D array of shape {shape} instead. {hint}")


_REBUILD = "Its index arrays were changed or built by hand; build the matrix again."


def check_sparse(X: SparseMatrix) -> None:
    """Raise DataError if the index arrays of a sparse matrix do not match its shape.

    SciPy trusts these arrays: converting or slicing such a matrix reads and writes outside of its buffers.

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> X = csr_matrix(np.eye(3))
    >>> check_sparse(X)
    >>> X.indices[0] = 7
    >>> check_sparse(X)
    Traceback (most recent call last):
    committee.exceptions.DataError: The column indices of sparse X must be from 0 to 2; got 7. ...
    """
    if X.format in ("csr", "csc", "bsr"):
        rows, columns = getattr(X, "blocksize", (1, 1))
        axes = ["row", "column"]
        sizes = [X.shape[0] // max(1, rows), X.shape[1] // max(1, columns)]
        if X.format == "csc":
            axes.reverse()
            sizes.reverse()
        _check_pointers(X.indptr, sizes[0], min(len(X.indices), len(X.data)))
        _check_indices(X.indices[: X.indptr[-1]], sizes[1], axes[1])
    elif X.format == "coo":
        coordinates = X.coords if hasattr(X, "coords") else (X.row, X.col)
        if any(len(part) != len(X.data) for part in coordinates):
            raise DataError("Sparse X must have as many row and column indices as values. " + _REBUILD)
        for part, size, axis in zip(coordinates, X.shape, ("row", "column"), strict=True):
            _check_indices(part, size, axis)
    elif X.format == "lil":
        if len(X.rows) != X.shape[0] or any(map(operator.ne, map(len, X.rows), map(len, X.data))):
            raise DataError("Sparse X must have as many column indices as values in each row. " + _REBUILD)
        for part in X.rows:
            _check_indices(np.asarray(part, dtype=np.int64), X.shape[1], "column")
    elif X.format == "dok":
        keys = np.array(list(X.keys()), dtype=np.int64).reshape(-1, 2)
        _check_indices(keys[:, 0], X.shape[0], "row")
        _check_indices(keys[:, 1], X.shape[1], "column")


def _check_pointers(indptr: AnyArray, n_lines: int, n_stored: int) -> None:
    """The index pointer of a compressed matrix: one entry more than it has rows (or columns), ascending from 0."""
    known = indptr.ndim == 1 and indptr.dtype.kind in "iu" and len(indptr) == n_lines + 1
    if not (known and indptr[0] == 0 and indptr[-1] <= n_stored and bool((np.diff(indptr) >= 0).all())):
        raise DataError(
            f"The index pointer of sparse X must ascend from 0 to at most {n_stored}, the number of stored values, in "
            f"{n_lines + 1} steps. " + _REBUILD
        )


def _check_indices(indices: AnyArray, size: int, axis: str) -> None:
    if not len(indices):
        return
    low, high = indices.min(), indices.max()
    if low < 0 or high >= size:
        raise DataError(
            f"The {axis} indices of sparse X must be from 0 to {size - 1}; got {low if low < 0 else high}. " + _REBUILD
        )


def read_sparse(X: Any) -> Table:
    """A SciPy sparse matrix or array of any format, as CSC with the entries of a column in order."""
    if len(X.shape) != 2:
        raise refuse_axes(X.shape)
    if X.dtype.kind == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    if X.dtype.kind not in "biuf":
        raise DataTypeError(f"Sparse X must hold numbers; its dtype is {X.dtype}.")
    check_sparse(X)
    compressed = X.tocsc()
    is_shared = compressed is X
    if is_shared:  # X may have noted that its indices are sorted before they were changed; a new matrix looks again
        parts = [part if part.flags.aligned else part.copy() for part in (X.data, X.indices, X.indptr)]
        compressed = type(X)(tuple(parts), shape=X.shape)
    if compressed.dtype not in (_FLOAT32, _FLOAT64):
        compressed = compressed.astype(np.float64)
    if not compressed.has_canonical_format:
        compressed = compressed.copy() if is_shared else compressed
        compressed.sum_duplicates()
    return Table(X.shape[0], X.shape[1], sparse=compressed)
