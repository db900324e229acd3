"""Tables of any kind as columns: arrays, nested lists, sparse matrices, frames of pandas, Polars, PyArrow and others.

Frames of other libraries come through narwhals or an Arrow stream. Nothing is encoded here and no value is checked.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data import columns as reading
from committee.data.arrays import read_array, read_sequence, read_sparse, refuse_axes
from committee.data.columns import Column
from committee.data.memory import check_room_for
from committee.data.tables import Table
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee.typing import AnyArray, AnyDType

__all__ = ["find_frame", "read_block", "read_columns", "read_frame", "read_names"]

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)


def read_columns(X: Any, wanted: Sequence[str] | None = None) -> Table:
    """Read X of any kind; of a lazy frame the wanted columns only, if it has them all."""
    if type(X) is np.ndarray or isinstance(X, np.ndarray):
        return read_array(X)
    if isinstance(X, Table):
        return X
    if isinstance(X, list | tuple):
        return read_sequence(X)
    if hasattr(X, "tocsc"):
        return read_sparse(X)
    if X is None or isinstance(X, str | bytes | dict | set):
        hint = " Make a frame of it first." if isinstance(X, dict) else ""
        raise DataTypeError(
            f"X must be a table: an array, nested lists, a sparse matrix or a frame; got {show_value(X)}.{hint}"
        )
    table = _read_known(X)
    if table is not None:
        return table
    frame = find_frame(X, wanted)
    return read_sequence(X) if frame is None else _read_frame(frame)


def read_frame(X: Any) -> Table:
    """Read a frame once, for fits and predictions on several selections of its rows.

    Parameters
    ----------
    X : frame
        Of pandas, Polars, PyArrow or another library.

    Returns
    -------
    Table
        Its :meth:`~committee.data.tables.Table.take_rows` gives what `fit` and `predict` accept in place of a frame.
    """
    return read_columns(X).stack_numbers()


def read_block(X: Any, names: Sequence[str] | None) -> Table:
    """Read a block of a table: the named columns in their order, wherever they are in the block."""
    if names is None:
        return read_columns(X)
    frame = find_frame(X)
    found = [] if frame is None else list(frame.columns)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"X has no column {missing[0]!r} here, but has it in its first block.")
    return read_columns(X if found == list(names) else frame.select(*names).to_native())


def find_frame(X: Any, wanted: Sequence[str] | None = None) -> Any:
    """The narwhals frame of X, or None if X is no frame.

    A lazy frame is collected; if it has all the wanted columns, only these.
    """
    import narwhals as nw

    try:
        wrapped = nw.from_native(X, pass_through=True, allow_series=True)
    except Exception as error:
        names = [str(column) for column in getattr(X, "column_names", getattr(X, "columns", ()))]
        twice = next((n for n in names if names.count(n) > 1), None)
        if twice is not None:
            raise DataError(f"X has several columns named {twice!r}; the names of columns must be unique.") from None
        raise DataTypeError(f"X cannot be read as a table: {error}") from None
    if isinstance(wrapped, nw.DataFrame):
        return wrapped
    if isinstance(wrapped, nw.LazyFrame):
        if wanted is not None and set(wanted) <= set(wrapped.collect_schema().names()):
            wrapped = wrapped.select(*wanted)
        return wrapped.collect()
    if isinstance(wrapped, nw.Series):
        raise refuse_axes((len(wrapped),))
    if hasattr(X, "__arrow_c_stream__"):
        try:
            import pyarrow
        except ImportError:
            raise DataTypeError(
                f"X offers an Arrow stream ({type(X).__name__}), which needs pyarrow. Install it with pip."
            ) from None
        return find_frame(pyarrow.table(X))
    return None


def _read_frame(frame: Any) -> Table:
    table = _read_known(frame.to_native())  # what was a lazy frame, or a stream
    if table is not None:
        return table
    n_rows, n_features = frame.shape
    check_room_for(n_rows, n_features, _FLOAT64.itemsize)
    names = read_names(list(frame.columns))
    wheres = [f"column {column!r}" for column in frame.columns]
    columns = [_read_series(series, where) for series, where in zip(frame.iter_columns(), wheres, strict=True)]
    return Table(n_rows, n_features, names, columns=columns)


def _read_known(X: Any) -> Table | None:
    """A frame of pandas, Polars or PyArrow; None if it is anything else.

    The general way wraps the frame and each of its columns, which is nearly all of the time that a single row takes.
    """
    for read in (_read_pandas, _read_polars, _read_arrow):
        table = read(X)
        if table is not None:
            return table
    return None


def _read_polars(X: Any) -> Table | None:
    polars = sys.modules.get("polars")
    if polars is None or not isinstance(X, polars.DataFrame):
        return None
    n_rows, n_features = X.shape
    check_room_for(n_rows, n_features, _FLOAT64.itemsize)
    names = read_names(X.columns)
    matrix = reading.read_polars_matrix(X)
    if matrix is not None:
        return Table(n_rows, n_features, names, matrix=matrix)
    columns = _read_columns(X.get_columns(), names, reading.read_polars_column)
    return Table(n_rows, n_features, names, columns=columns)


def _read_arrow(X: Any) -> Table | None:
    pyarrow = sys.modules.get("pyarrow")
    if pyarrow is None or not isinstance(X, pyarrow.Table | pyarrow.RecordBatch):
        return None
    found = X.schema.names
    if len(set(found)) < len(found):
        return None  # the general way refuses it
    table = X if isinstance(X, pyarrow.Table) else pyarrow.Table.from_batches([X])
    n_rows, n_features = table.shape
    check_room_for(n_rows, n_features, _FLOAT64.itemsize)
    names = read_names(found)
    matrix = reading.read_arrow_matrix(table)
    if matrix is not None:
        return Table(n_rows, n_features, names, matrix=matrix)
    return Table(n_rows, n_features, names, columns=_read_columns(table.columns, names, reading.read_arrow_column))


def _read_columns(
    found: list[Any], names: tuple[str, ...] | None, read_plain: Callable[[Any, str], Column | None]
) -> list[Column]:
    """Columns of Arrow or Polars. The general way costs 80 microseconds a column, a quarter of a second for 3,000."""
    columns = []
    for native, name in zip(found, names or (), strict=True):
        where = f"column {name!r}"
        column = read_plain(native, where)
        columns.append(_read_native(native, where) if column is None else column)
    return columns


def _read_native(series: Any, where: str) -> Column:
    import narwhals as nw

    return _read_series(nw.from_native(series, series_only=True), where)


def _read_pandas(X: Any) -> Table | None:
    """Numbers and truth values are read as blocks, only columns of other types one by one."""
    pandas = sys.modules.get("pandas")
    if pandas is None or type(X) is not pandas.DataFrame or not X.columns.is_unique:
        return None
    kinds = [_find_pandas_kind(dtype, pandas) for dtype in X.dtypes.tolist()]
    n_rows, n_features = X.shape
    check_room_for(n_rows, n_features, _FLOAT64.itemsize)
    labels = X.columns.tolist()
    names = read_names(labels)
    if set(kinds) == {"single"}:
        # Without a copy, if all of it is one block.
        return Table(n_rows, n_features, names, matrix=X.to_numpy(copy=False))
    if set(kinds) <= {"number", "truth"}:
        return Table(n_rows, n_features, names, matrix=X.to_numpy(dtype=_FLOAT64))
    blocks = {
        "double": iter(_read_block(X, [kind in ("number", "truth") for kind in kinds], _FLOAT64)),
        "single": iter(_read_block(X, [kind == "single" for kind in kinds], _FLOAT32)),
    }
    columns = []
    for j, (label, kind) in enumerate(zip(labels, kinds, strict=True)):
        where = f"column {label!r}"
        if kind in ("levels", "times", None):
            series = X.iloc[:, j] if names is None else X[label]  # by its place takes ten times as long
            columns.append(_read_pandas_series(series, kind, where))
        else:
            values = next(blocks["single" if kind == "single" else "double"])
            columns.append(Column(where, values=values, neutral=kind == "truth"))
    return Table(n_rows, n_features, names, columns=columns)


def _read_pandas_series(series: Any, kind: str | None, where: str) -> Column:
    if kind == "levels":
        found = series.array
        return reading.encode_levels(found.categories.tolist(), found.codes, where, ordered=True)
    return reading.read_times(series, where) if kind == "times" else _read_native(series, where)


def _read_block(X: Any, chosen: list[bool], dtype: AnyDType) -> AnyArray:
    """Some columns of a pandas frame, transposed."""
    numbers = np.flatnonzero(chosen)
    if len(numbers) == 0:
        return np.empty((0, len(X)), dtype=dtype)
    block: AnyArray = X.take(numbers, axis=1).to_numpy(dtype=dtype).T
    return block


def _find_pandas_kind(dtype: Any, pandas: Any) -> str | None:
    if isinstance(dtype, np.dtype):
        if dtype == _FLOAT32:
            return "single"
        if dtype.kind in "Mm":
            return "times"
        return "truth" if dtype.kind == "b" else "number" if dtype == _FLOAT64 or dtype.kind in "iu" else None
    if isinstance(dtype, pandas.DatetimeTZDtype):
        return "times"
    return "levels" if isinstance(dtype, pandas.CategoricalDtype) else None


def read_names(found: list[Any]) -> tuple[str, ...] | None:
    """Names of columns, if all are text; None if none is."""
    if set(map(type, found)) == {str}:
        return tuple(found)
    kinds = {isinstance(column, str) for column in found}
    if kinds == {True, False}:
        types = sorted({type(column).__qualname__ for column in found})
        raise DataTypeError(
            "Feature names are only supported if all input features have string names, but X has columns named by "
            f"{types}. Write X.columns = X.columns.astype(str), for example."
        )
    return tuple(str(column) for column in found) if kinds == {True} else None


def _read_series(series: Any, where: str) -> Column:
    import narwhals as nw

    dtype, native = series.dtype, series.to_native()
    if dtype in (nw.Float32, nw.Float64):
        return Column(where, values=_as_float(series))
    if dtype.is_decimal():
        # Only text is converted to the nearest float64 by every library.
        return Column(where, values=_as_float(series.cast(nw.String).cast(nw.Float64)))
    if dtype.is_numeric():
        return Column(where, values=_as_float(series.cast(nw.Float64)))
    if dtype == nw.Boolean:
        return Column(where, values=_as_float(series.cast(nw.Float64)), neutral=True)
    if dtype in (nw.String, nw.Categorical, nw.Enum):
        if series.implementation.is_pandas_like():
            return reading.read_pandas_text(native, where)
        if series.implementation.is_polars():
            return reading.read_polars_text(native, where)
        if series.implementation.is_pyarrow():
            return reading.read_arrow_text(native, where)
        return reading.read_objects(series.to_list(), where)
    if dtype in (nw.Datetime, nw.Date, nw.Duration, nw.Time):
        return reading.read_times(native, where)
    if dtype in (nw.List, nw.Array):
        return reading.read_lists(native, where)
    if dtype == nw.Struct:
        raise reading.refuse_kind(where, "structs", str(dtype))
    if dtype == nw.Binary:
        raise reading.refuse_kind(where, "binary data", str(dtype))
    if dtype == nw.Object:
        return reading.read_objects(series.to_list(), where)
    return _read_unknown(series, native, where)


def _as_float(series: Any) -> AnyArray:
    values: AnyArray = series.to_numpy()
    if values.dtype not in (_FLOAT32, _FLOAT64):
        # Nullable types may come back as objects with a missing marker of their own.
        values = np.array([np.nan if v is None or v != v else float(v) for v in series.to_list()])
    return values


def _read_unknown(series: Any, native: Any, where: str) -> Column:
    """A column of missing values only, or of a type that is specific to its library."""
    described = str(native.dtype if hasattr(native, "dtype") else native.type)
    if described.startswith("complex"):
        raise DataError(f"Complex data not supported: X {where} holds complex numbers.")
    if described.startswith("period"):
        return reading.read_times(native, where)
    if described.startswith("interval"):
        raise reading.refuse_kind(where, "intervals", described)
    if described.startswith("Sparse"):
        return Column(where, values=np.asarray(native, dtype=np.float64))
    if series.null_count() == len(series):
        return Column(where, values=np.full(len(series), np.nan), neutral=True)
    return reading.read_objects(series.to_list(), where)
