"""Data intake, the single entry point for data: inputs are validated here, once, and become an immutable Dataset.

Reading goes by the kind of X: an array or nested lists, a SciPy sparse matrix, or a frame (pandas, Polars, PyArrow
and other frames that narwhals supports or that offer an Arrow stream). Errors are raised before any work
starts; the estimator is never changed here.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data import columns as reading
from committee.data.arrays import read_array, read_sequence, read_sparse, refuse_axes
from committee.data.binning import is_sound_table
from committee.data.blocks import BinnedFile, BinnedRows, BlockTable, OpenedSource
from committee.data.blocks.agreement import agree_columns
from committee.data.checks import check_shape, check_values, compare_names, refuse_all_missing
from committee.data.class_weights import combine_weights
from committee.data.columns import Column
from committee.data.dataset import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.device_tables import check_device_table, copy_to_host, find_device_table
from committee.data.memory import check_room_for
from committee.data.survival_targets import encode_survival
from committee.data.tables import Table, choose_categories, encode_columns, encode_table, match_table
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.weights import find_row_weight, read_sample_weight
from committee.exceptions import DataError, DataTypeError, ParameterError
from committee.typing import BoolArray, FloatMatrix, SparseMatrix, Task

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import ArrayLike

    from committee.typing import AnyArray, AnyDType

__all__ = [
    "find_frame",
    "read_block",
    "read_frame",
    "read_names",
    "take_in",
    "take_in_rows",
]

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
#: Bytes that one value takes when binned: a byte in the column, one in the row's record.
_BINNED_BYTES = 2


def take_in(
    estimator: object,
    X: Any,
    y: Any = None,
    sample_weight: ArrayLike | None = None,
    *,
    task: Task,
    class_weight: Any = None,
    categorical_features: Any = "from_dtype",
    unseen: str = "missing",
    multi_output: bool = True,
    min_classes: int = 1,
) -> Dataset:
    """Check and encode what ``fit`` got.

    Parameters
    ----------
    estimator : estimator instance
        For its name in the sentences; it is not changed, so that a fit that fails later leaves it as it was
        (:func:`~committee.data.note_columns` is for a fit that went well). Its class attributes ``accepts_missing``,
        ``accepts_infinity`` and ``accepts_sparse`` say what it can be fitted on.
    X : array, nested lists, sparse matrix, frame or OpenedSource of shape (n_rows, n_features)
        The table; what `opening.open_table` made of a table in blocks.
    y : array, list, series or frame of shape (n_rows,) or (n_rows, n_outputs), default=None
        The target.
    sample_weight : array of shape (n_rows,), number or None, default=None
        Weights of the rows.
    task : {"classify", "regress", "survive", "none"}
        What y is for.
    class_weight, categorical_features, unseen : see :mod:`committee.params`
        As the constructor got them.
    multi_output : bool, default=True
        Whether y may have several outputs.
    min_classes : int, default=1
        The fewest classes that y may have.

    Returns
    -------
    Dataset
        Never changed afterwards. X is not copied if it is a float32 or float64 array without categories.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.base import CommitteeEstimator
    >>> data = take_in(CommitteeEstimator(), [[1, 2], [3, None]], ["no", "yes"], task="classify")
    >>> data.X
    array([[ 1.,  2.],
           [ 3., nan]])
    >>> data.target.classes
    [array(['no', 'yes'], dtype=object)]
    """
    name = type(estimator).__name__
    y, sample_weight = copy_to_host(y), copy_to_host(sample_weight)
    on_device = None if type(X) is np.ndarray else find_device_table(X)
    table: Table | OpenedSource | BinnedFile
    if on_device is not None:
        check_device_table(estimator, on_device, categorical_features)
        table = Table(*on_device.shape, on_device.names)
    else:
        table = X if isinstance(X, OpenedSource | BinnedFile) else _read_table(X, name)
    check_shape(table.n_rows, table.n_features)
    if getattr(estimator, "bins_columns", True) and isinstance(table, Table):
        n_entries = None if table.sparse is None else int(table.sparse.nnz)
        check_room_for(table.n_rows, table.n_features, _BINNED_BYTES, n_entries)
    target: ClassTarget | ValueTarget | None = None
    if task != "none":
        target = _read_target(y, table.n_rows, name, task, multi_output, min_classes)
    weights, row_weight = None, None
    if sample_weight is not None or class_weight is not None:
        weights = combine_weights(sample_weight, class_weight, target, table.n_rows, name)
    if weights is not None and sample_weight is not None and class_weight is not None:
        row_weight = find_row_weight(read_sample_weight(sample_weight, table.n_rows), weights)
    counted = None if weights is None else weights > 0
    if on_device is not None:
        none = (None,) * table.n_features
        schema = Schema(table.n_features, on_device.names, none, on_device.dtype, unseen)
        return Dataset(on_device, schema, target, weights, row_weight)
    if not isinstance(table, Table):
        blocks = _encode_blocks(estimator, table, categorical_features, unseen, counted)
        return Dataset(blocks, blocks.schema, target, weights, row_weight)
    matrix, schema = _encode(estimator, table, categorical_features, unseen, counted)
    _check_values(estimator, matrix, schema)
    return Dataset(matrix, schema, target, weights, row_weight)


def _read_target(
    y: Any, n_rows: int, name: str, task: Task, multi_output: bool, min_classes: int
) -> ClassTarget | ValueTarget:
    if task == "survive":
        return encode_survival(y, n_rows, name)
    labels = read_target(y, n_rows, name, multi_output=multi_output)
    return encode_classes(labels, name, min_classes) if task == "classify" else encode_values(labels)


def take_in_rows(estimator: object, X: Any, schema: Schema) -> Any:
    """Check and encode what ``predict`` got against what ``fit`` saw.

    Parameters
    ----------
    estimator : estimator instance
        For its name in the sentences.
    X : as in :func:`take_in`
        Rows to predict.
    schema : Schema
        What the columns were at fit.

    Returns
    -------
    ndarray of float32 or float64, or CSR matrix if X is sparse
        Codes where a column is a category, NaN where a value is missing.
    """
    # The whole cost of a single row: nothing but what this needs may come before it.
    if (
        type(X) is np.ndarray
        and schema.plain
        and is_sound_table(X, schema.n_features)
        and getattr(estimator, "accepts_missing", True)
    ):
        return X
    name = type(estimator).__name__
    X = copy_to_host(X)
    table = X if isinstance(X, OpenedSource) else _read_table(X, name, schema.input_names)
    compare_names(name, table, schema)
    if table.n_features != schema.n_inputs:
        raise DataError(
            f"X has {table.n_features} features, but {name} is expecting {schema.n_inputs} features as input."
        )
    check_shape(table.n_rows, table.n_features)
    if isinstance(table, OpenedSource):
        return BlockTable(table, schema, type(estimator), table.rows)
    if table.sparse is not None:
        if schema.has_categories:
            raise _refuse_sparse_categories(name)
        if schema.inputs is not None:
            raise DataTypeError(f"Sparse X holds numbers only, but {name} was fitted on dates, times or lists.")
        matrix = table.sparse.tocsr()
    else:
        matrix = match_table(table, schema)
    _check_values(estimator, matrix, schema, at_fit=False)
    return matrix


# --- reading -----------------------------------------------------------------------------------------------------


def _read_table(X: Any, name: str, wanted: Sequence[str] | None = None) -> Table:
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
    table = _read_pandas(X)
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
    return _read_table(X, "read_frame").stack_numbers()


def read_block(X: Any, names: Sequence[str] | None) -> Table:
    """Read a block of a table: the named columns in their order, wherever they are in the block."""
    if names is None:
        return _read_table(X, "read_block")
    frame = find_frame(X)
    found = [] if frame is None else list(frame.columns)
    missing = [name for name in names if name not in found]
    if missing:
        raise DataError(f"X has no column {missing[0]!r} here, but has it in its first block.")
    return _read_table(X if found == list(names) else frame.select(*names).to_native(), "read_block")


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
    n_rows, n_features = frame.shape
    check_room_for(n_rows, n_features, _FLOAT64.itemsize)
    names = read_names(list(frame.columns))
    wheres = [f"column {column!r}" for column in frame.columns]
    native = frame.to_native()
    if frame.implementation.is_pyarrow():
        columns = _read_columns(native.columns, wheres, reading.read_arrow_numbers)
    elif frame.implementation.is_polars():
        matrix = reading.read_polars_matrix(native)
        if matrix is not None:
            return Table(n_rows, n_features, names, matrix=matrix)
        columns = _read_columns(native.get_columns(), wheres, reading.read_polars_numbers)
    else:
        columns = [_read_series(series, where) for series, where in zip(frame.iter_columns(), wheres, strict=True)]
    return Table(n_rows, n_features, names, columns=columns)


def _read_columns(
    found: list[Any], wheres: list[str], read_numbers: Callable[[Any, str], Column | None]
) -> list[Column]:
    """Columns of Arrow or Polars. The general way costs 80 microseconds a column, a quarter of a second for 3,000."""
    columns = []
    for native, where in zip(found, wheres, strict=True):
        column = read_numbers(native, where)
        columns.append(_read_native(native, where) if column is None else column)
    return columns


def _read_native(series: Any, where: str) -> Column:
    import narwhals as nw

    return _read_series(nw.from_native(series, series_only=True), where)


def _read_pandas(X: Any) -> Table | None:
    """A pandas frame; None if it is anything else.

    The general way costs some hundred microseconds a column, which is all of the time that a single row takes. So
    numbers and truth values are read as blocks, and only columns of other types are read one by one.
    """
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
        if kind == "levels":
            found = X.iloc[:, j].array
            columns.append(reading.encode_levels(found.categories.tolist(), found.codes, where, ordered=True))
        elif kind == "times":
            columns.append(reading.read_times(X.iloc[:, j], where))
        elif kind is None:
            columns.append(_read_native(X.iloc[:, j], where))
        else:
            values = next(blocks["single" if kind == "single" else "double"])
            columns.append(Column(where, values=values, neutral=kind == "truth"))
    return Table(n_rows, n_features, names, columns=columns)


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


# --- checking ----------------------------------------------------------------------------------------------------


def _encode(
    estimator: object, table: Table, requested: Any, unseen: str, counted: BoolArray | None
) -> tuple[FloatMatrix | SparseMatrix, Schema]:
    name = type(estimator).__name__
    if not getattr(estimator, "accepts_categories", True):
        _refuse_other_than_numbers(table, name)
        requested = None
    if table.sparse is None:
        if table.matrix is not None and (
            requested is None or (isinstance(requested, str) and requested == "from_dtype")
        ):
            none = (None,) * table.n_features
            return table.matrix, Schema(table.n_features, table.names, none, table.matrix.dtype, unseen)
        return encode_table(table, choose_categories(table, requested, name), unseen, counted)
    if not getattr(estimator, "accepts_sparse", True):
        raise DataTypeError(f"Sparse X is not supported by {name}. Convert it with X.toarray().")
    if not (requested is None or isinstance(requested, str)) and len(requested):
        raise _refuse_sparse_categories(name)
    none = (None,) * table.n_features
    return table.sparse, Schema(table.n_features, None, none, table.sparse.dtype, unseen)


def _encode_blocks(
    estimator: object, opened: OpenedSource | BinnedFile, requested: Any, unseen: str, counted: BoolArray | None
) -> BlockTable | BinnedRows:
    name, chosen = type(estimator).__name__, None
    if isinstance(opened, BinnedFile):
        if not (requested is None or isinstance(requested, str)):
            raise ParameterError(
                f"The categories of a file of bins are fixed; leave 'categorical_features' of {name} at 'from_dtype'."
            )
        return BinnedRows(opened, replace(opened.schema, unseen=unseen))
    if not getattr(estimator, "accepts_categories", True):
        requested = None
    if not (isinstance(requested, str) and requested == "from_dtype"):
        chosen = choose_categories(Table(opened.n_rows, opened.n_features, opened.names), requested, name)
    table = agree_columns(opened, chosen, counted)
    if not getattr(estimator, "accepts_categories", True):
        _refuse_other_than_numbers(table, name)
    _, schema = encode_columns(table, choose_categories(table, requested, name), unseen)
    return BlockTable(opened, schema, type(estimator), opened.rows)


def _refuse_other_than_numbers(table: Table, name: str) -> None:
    for column in table.columns or ():
        if column.holds_text or column.kind != "number":
            raise DataTypeError(
                f"X {column.where} holds {column.describe()}, but {name} learns from numbers only. Encode it first."
            )


def _refuse_sparse_categories(name: str) -> DataError:
    return DataError(f"Sparse X cannot hold categories, but {name} was given some. Convert it with X.toarray().")


def _check_values(estimator: object, matrix: Any, schema: Schema, *, at_fit: bool = True) -> None:
    check_values(estimator, matrix, schema)
    # One look at the first row settles it for nearly every table.
    if at_fit and not hasattr(matrix, "tocsc") and np.isnan(matrix[0]).all() and np.isnan(matrix).all():
        raise refuse_all_missing()
