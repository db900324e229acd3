"""Data intake, the single entry point for data: inputs are validated here, once, and become an immutable Dataset.

`committee.data.frames` reads X by its kind: an array or nested lists, a SciPy sparse matrix, or a frame. Errors are
raised before any work starts; the estimator is never changed here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import is_sound_table
from committee.data.blocks import BinnedFile, BinnedRows, BlockTable, OpenedSource
from committee.data.blocks.agreement import agree_columns
from committee.data.checks import check_shape, check_values, compare_names, refuse_all_missing
from committee.data.class_weights import combine_weights
from committee.data.dataset import ClassTarget, Dataset, Schema, ValueTarget
from committee.data.device_tables import check_device_table, copy_to_host, find_device_table
from committee.data.frames import read_columns
from committee.data.memory import check_room_for
from committee.data.survival_targets import encode_survival
from committee.data.tables import Table, choose_categories, encode_columns, encode_table, match_table
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.text_features import choose_texts
from committee.data.weights import count_as_rows, find_row_weight, read_sample_weight
from committee.exceptions import DataError, DataTypeError, ParameterError
from committee.typing import BoolArray, FloatArray, FloatMatrix, SparseMatrix, Task

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["take_in", "take_in_rows"]

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
    text_columns: Any = None,
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
    class_weight, categorical_features, unseen, text_columns : see :mod:`committee.params`
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
        choose_texts(table, text_columns, np.zeros(table.n_features, dtype=bool), name)
    else:
        table = X if isinstance(X, OpenedSource | BinnedFile) else read_columns(X)
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
    if on_device is not None:
        none = (None,) * table.n_features
        schema = Schema(table.n_features, on_device.names, none, on_device.dtype, unseen)
        return Dataset(on_device, schema, target, weights, row_weight)
    how = _ColumnChoice(categorical_features, text_columns, unseen, weights, row_weight)
    if not isinstance(table, Table):
        blocks = _encode_blocks(estimator, table, how)
        return Dataset(blocks, blocks.schema, target, weights, row_weight)
    matrix, schema = _encode(estimator, table, how)
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
    table = X if isinstance(X, OpenedSource) else read_columns(X, schema.input_names)
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
            raise DataTypeError(f"Sparse X holds numbers only, but {name} was fitted on dates, times, lists or text.")
        matrix = table.sparse.tocsr()
    else:
        matrix = match_table(table, schema)
    _check_values(estimator, matrix, schema, at_fit=False)
    return matrix


# --- checking ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ColumnChoice:
    """What the parameters of an estimator say of the columns, and the weights of the rows."""

    categories: Any
    texts: Any
    unseen: str
    weights: FloatArray | None
    row_weight: float | None

    @property
    def counted(self) -> BoolArray | None:
        """Rows of positive weight; None if all have one."""
        return None if self.weights is None else self.weights > 0

    @property
    def is_plain(self) -> bool:
        """Whether the type of a column decides if it is a category."""
        return isinstance(self.categories, str) and self.categories == "from_dtype"

    def choose(self, table: Table, name: str) -> tuple[BoolArray, BoolArray]:
        """Which columns are categories, and which are free text."""
        chosen = choose_categories(table, self.categories, name)
        named = np.zeros_like(chosen) if self.is_plain else chosen
        return chosen, choose_texts(table, self.texts, named, name, self.weights, self.row_weight)


def _encode(estimator: object, table: Table, how: _ColumnChoice) -> tuple[FloatMatrix | SparseMatrix, Schema]:
    name = type(estimator).__name__
    if not getattr(estimator, "accepts_categories", True):
        _refuse_other_than_numbers(table, name)
        how = replace(how, categories=None)
    if table.sparse is None:
        chosen, texts = how.choose(table, name)
        return encode_table(table, chosen, how.unseen, how.counted, texts)
    if not getattr(estimator, "accepts_sparse", True):
        raise DataTypeError(f"Sparse X is not supported by {name}. Convert it with X.toarray().")
    if not (how.categories is None or isinstance(how.categories, str)) and len(how.categories):
        raise _refuse_sparse_categories(name)
    none = np.zeros(table.n_features, dtype=bool)
    choose_texts(table, how.texts, none, name)
    return table.sparse, Schema(table.n_features, None, (None,) * table.n_features, table.sparse.dtype, how.unseen)


def _encode_blocks(estimator: object, opened: OpenedSource | BinnedFile, how: _ColumnChoice) -> BlockTable | BinnedRows:
    name, chosen = type(estimator).__name__, None
    if isinstance(opened, BinnedFile):
        for parameter, requested in (("categorical_features", how.categories), ("text_columns", how.texts)):
            if not (requested is None or isinstance(requested, str)):
                default = "from_dtype" if parameter == "categorical_features" else "auto"
                raise ParameterError(
                    f"The categories of a file of bins are fixed; leave '{parameter}' of {name} at '{default}'."
                )
        return BinnedRows(opened, replace(opened.schema, unseen=how.unseen))
    if not getattr(estimator, "accepts_categories", True):
        how = replace(how, categories=None)
    if not how.is_plain:
        chosen = choose_categories(Table(opened.n_rows, opened.n_features, opened.names), how.categories, name)
    counts = None if how.weights is None else count_as_rows(how.weights, how.row_weight)
    table = agree_columns(opened, chosen, how.counted, counts)
    if not getattr(estimator, "accepts_categories", True):
        _refuse_other_than_numbers(table, name)
    chosen, texts = how.choose(table, name)
    _, schema = encode_columns(table, chosen, how.unseen, texts=texts)
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
