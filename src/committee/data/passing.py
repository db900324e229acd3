"""Tables that an ensemble passes on to its members unread.

Members of other libraries, pipelines among them, read a table by themselves: infinity, objects, texts, arrays of three
axes and frames that only their first step understands. The ensemble needs no more than the rows, the number of the
columns and their names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.arrays import check_sparse
from committee.data.blocks import OpenedSource
from committee.data.checks import compare_names
from committee.data.class_weights import combine_weights
from committee.data.dataset import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.frames import find_frame, read_names
from committee.data.rows import collect_table
from committee.data.tables import Table
from committee.data.targets import encode_classes, encode_values, read_target
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.typing import AnyArray, Task

__all__ = ["pass_in", "pass_rows", "read_table"]


def read_table(X: Any, wanted: Sequence[str] | None = None) -> Any:
    """The table as members get it: unchanged if it has rows, as an array if it only converts to one.

    A lazy frame is collected; if it has all the wanted columns, only these.

    Examples
    --------
    >>> read_table(["a text", "another"])
    ['a text', 'another']
    """
    if isinstance(X, OpenedSource):
        raise DataTypeError(
            "X is a table in blocks, and members that read tables by themselves need the whole one. Read it into a "
            "frame first, or use members that are trees of this library."
        )
    X = collect_table(X, wanted)
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__array__"):
        X = np.asarray(X)
        shape = X.shape
    if shape is None and hasattr(X, "__arrow_c_stream__"):
        frame = find_frame(X)
        X = X if frame is None else frame.to_native()
        shape = getattr(X, "shape", None)
    if shape is None and (X is None or isinstance(X, str | bytes | dict | set) or not hasattr(X, "__len__")):
        raise DataTypeError(f"X must be a table or a list of rows; got {type(X).__name__}.")
    if shape == ():
        raise DataError("X must be a table with rows; got a single number.")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    if hasattr(X, "tocsr"):
        check_sparse(X)
    return X


def pass_in(
    estimator: object,
    X: Any,
    y: Any,
    sample_weight: ArrayLike | None = None,
    *,
    task: Task,
    multi_output: bool = True,
) -> Dataset:
    """Check the target and the weights that ``fit`` got; the table stays as it is.

    Parameters
    ----------
    estimator : estimator instance
        For its name in the sentences; it is not changed.
    X : array, list, sparse matrix or frame
        The table; lists become arrays, sparse matrices other than CSR and CSC become CSR.
    y, sample_weight, task, multi_output
        As in :func:`committee.data.take_in`.

    Returns
    -------
    Dataset
        Its X is the table of the members, and its schema knows no categories; it cannot be binned.

    Examples
    --------
    >>> from committee.base import CommitteeEstimator
    >>> data = pass_in(CommitteeEstimator(), ["a text", "another"], [0, 1], task="classify")
    >>> data.X
    array(['a text', 'another'], dtype=object)
    """
    name, table = type(estimator).__name__, _index_rows(X)
    shape = table.shape
    if shape[0] == 0:
        raise DataError(f"X has 0 sample(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    if len(shape) == 2 and shape[1] == 0:
        raise DataError(f"X has 0 feature(s) (shape={tuple(shape)}) while a minimum of 1 is required.")
    labels = read_target(y, shape[0], name, multi_output=multi_output)
    target: ClassTarget | ValueTarget = encode_classes(labels, name) if task == "classify" else encode_values(labels)
    weights = None if sample_weight is None else combine_weights(sample_weight, None, target, shape[0], name)
    n_features = _count_features(table)
    schema = Schema(n_features, _list_names(table), (None,) * n_features, np.dtype(np.float64))
    return Dataset(table, schema, target, weights)


def pass_rows(estimator: object, X: Any, schema: Schema) -> Any:
    """Compare the columns of what ``predict`` got with those of `pass_in`; the table stays as it is.

    Parameters
    ----------
    estimator : estimator instance
        For its name in the sentences.
    X : as in `pass_in`
        Rows to predict.
    schema : Schema
        What the columns were at fit.

    Returns
    -------
    The table in the form that members read.
    """
    name, table = type(estimator).__name__, _index_rows(X, schema.input_names)
    n_features = _count_features(table)
    compare_names(name, Table(int(table.shape[0]), n_features, _list_names(table)), schema)
    if n_features != schema.n_features:
        raise DataError(f"X has {n_features} features, but {name} is expecting {schema.n_features} features as input.")
    return table


def _index_rows(X: Any, wanted: Sequence[str] | None = None) -> Any:
    """A table whose rows can be selected by number."""
    table = read_table(X, wanted)
    if hasattr(table, "tocsr"):
        return table if table.format in ("csr", "csc") else table.tocsr()
    return table if hasattr(table, "shape") else _make_array(table)


def _make_array(rows: Any) -> AnyArray:
    """A list as an array; numbers beside text stay numbers, and rows of different lengths stay rows."""
    rows = list(rows)
    try:
        array = np.asarray(rows)
        return array if array.dtype.kind in "biufM" else np.array(rows, dtype=object)
    except ValueError:
        array = np.empty(len(rows), dtype=object)
        array[:] = rows
        return array


def _count_features(table: Any) -> int:
    """The length of the second axis; a single column has none."""
    return int(table.shape[1]) if len(table.shape) > 1 else 1


def _list_names(table: Any) -> tuple[str, ...] | None:
    """Names of the columns of a frame, if all are text."""
    names = getattr(table, "column_names", getattr(table, "columns", None))
    return None if names is None or len(table.shape) != 2 else read_names(list(names))
