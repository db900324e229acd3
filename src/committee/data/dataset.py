"""The result of data intake: validated, encoded, immutable.

The layers below trust these objects. Bins and sorted columns are computed on first use and then shared
by every tree of every ensemble that is fitted on the data set.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from committee.data import binning
from committee.data.device_tables import DeviceTable, copy_to_host
from committee.data.weights import count_as_rows, find_unit
from committee.typing import FloatArray, IndexArray

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee import _core
    from committee.data.inputs import InputColumns
    from committee.typing import AnyArray, AnyDType, BoolArray

__all__ = ["ClassTarget", "Dataset", "Schema", "ValueTarget", "is_in_blocks"]

_T = TypeVar("_T")


@dataclass(frozen=True)
class Schema:
    """Description of the columns of a table; stored in a fitted model and compared with the tables passed to predict.

    Attributes
    ----------
    n_features : int
        The number of features: columns of the encoded table.
    feature_names : tuple of str or None
        Their names, if all columns have one.
    categories : tuple of (ndarray or None)
        For each feature the levels of a category (the code is the index), None for a number.
    dtype : numpy.dtype
        float32 if the table was, float64 otherwise.
    unseen : {"missing", "error"}
        What a level that is not in ``categories`` means at prediction.
    inputs : InputColumns or None
        The columns of the user's table, if they are other than the features; None if each of them is one feature.
    """

    n_features: int
    feature_names: tuple[str, ...] | None
    categories: tuple[AnyArray | None, ...]
    dtype: AnyDType
    unseen: str = "missing"
    inputs: InputColumns | None = None

    @cached_property
    def plain(self) -> bool:
        """Whether the columns have neither names nor categories, so that any float table of the width will do."""
        return self.feature_names is None and not self.has_categories and self.inputs is None

    @cached_property
    def code_counts(self) -> NDArray[np.intp] | None:
        """The number of levels of each category if the levels of all are their codes; None otherwise."""
        levels = [own for own in self.categories if own is not None]
        if any(own.dtype == object or not np.array_equal(own, np.arange(len(own))) for own in levels):
            return None
        return np.array([len(own) for own in levels], dtype=np.intp)

    @property
    def n_inputs(self) -> int:
        """The number of columns of the user's table."""
        return self.n_features if self.inputs is None else len(self.inputs)

    @property
    def input_names(self) -> tuple[str, ...] | None:
        """The names of the columns of the user's table, if all have one."""
        return self.feature_names if self.inputs is None else self.inputs.names

    @cached_property
    def are_categories(self) -> BoolArray:
        """For each column of the user's table whether it is a category."""
        chosen = np.array([levels is not None for levels in self.categories], dtype=bool)
        return chosen if self.inputs is None else chosen[self.inputs.starts[:-1]]

    def sum_features(self, values: FloatArray, axis: int) -> FloatArray:
        """Sums over the features that come from one column of the user's table; unchanged if each is one feature."""
        return values if self.inputs is None else self.inputs.sum_features(values, axis)

    def list_features(self, column: int) -> list[int]:
        """The features that come from a column of the user's table."""
        return [column] if self.inputs is None else self.inputs.list_features(column)

    def name_features(self, pattern: str) -> list[str]:
        """A name for each feature; the pattern makes the name of a column that has none from its number.

        Examples
        --------
        >>> Schema(2, None, (None, None), np.dtype("f8")).name_features("x{}")
        ['x0', 'x1']
        """
        if self.feature_names is not None:
            return list(self.feature_names)
        if self.inputs is not None:
            return self.inputs.name_features(pattern)
        return [pattern.format(k) for k in range(self.n_features)]

    def name_inputs(self, pattern: str) -> list[str]:
        """A name for each column of the user's table; the pattern is for one that has none."""
        return list(self.input_names or (pattern.format(k) for k in range(self.n_inputs)))

    def name_input(self, index: int) -> str:
        """A column of the user's table as a sentence calls it."""
        return f"column {index}" if self.input_names is None else f"column {self.input_names[index]!r}"

    @cached_property
    def has_categories(self) -> bool:
        """Whether any column is a category."""
        return any(levels is not None for levels in self.categories)

    @cached_property
    def n_levels(self) -> IndexArray:
        """For each column the number of its levels, 0 for a number."""
        if not self.has_categories:
            return np.zeros(self.n_features, np.uint32)
        return np.fromiter((0 if c is None else len(c) for c in self.categories), np.uint32, self.n_features)

    def name_column(self, index: int) -> str:
        """The column that a feature comes from as a sentence calls it.

        Examples
        --------
        >>> Schema(2, None, (None, None), np.dtype("f8")).name_column(1)
        'column 1'
        """
        return self.name_input(index if self.inputs is None else int(self.inputs.owners[index]))


@dataclass(frozen=True)
class ClassTarget:
    """Classes to predict, one or several outputs.

    Attributes
    ----------
    labels : ndarray of uint32 of shape (n_rows, n_outputs), C-contiguous
        Index into ``classes``.
    classes : list of ndarray
        For each output its classes, sorted.
    one_dimensional : bool
        Whether the target came without a second axis.
    """

    labels: IndexArray
    classes: list[AnyArray]
    one_dimensional: bool

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return len(self.classes)

    @property
    def n_classes(self) -> list[int]:
        """The number of classes of each output."""
        return [len(c) for c in self.classes]

    def take_output(self, output: int) -> ClassTarget:
        """One of the outputs, as a target of its own."""
        labels = np.ascontiguousarray(self.labels[:, output : output + 1])
        return ClassTarget(labels, [self.classes[output]], one_dimensional=True)

    def decode(self, labels: AnyArray) -> AnyArray:
        """Class indices, of shape (n_rows, n_outputs), back to the original labels."""
        if self.n_outputs == 1:
            decoded = self.classes[0].take(labels[:, 0])
            return decoded if self.one_dimensional else decoded[:, None]
        columns = [c.take(labels[:, k]) for k, c in enumerate(self.classes)]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class ValueTarget:
    """Numbers to predict, one or several outputs.

    Attributes
    ----------
    values : ndarray of float64 of shape (n_rows, n_outputs), C-contiguous
        Finite.
    one_dimensional : bool
        Whether the target came without a second axis.
    """

    values: FloatArray
    one_dimensional: bool

    @property
    def n_outputs(self) -> int:
        """The number of outputs."""
        return int(self.values.shape[1])

    def take_output(self, output: int) -> ValueTarget:
        """One of the outputs, as a target of its own."""
        return replace(self, values=np.ascontiguousarray(self.values[:, output : output + 1]), one_dimensional=True)

    def take_rows(self, rows: AnyArray) -> ValueTarget:
        """Some of the rows, by index."""
        return replace(self, values=np.ascontiguousarray(self.values[rows]))


@dataclass(frozen=True)
class Dataset:
    """A table with its schema, target and weights.

    Attributes
    ----------
    X : ndarray of float32 or float64 of any strides, CSC matrix, or BlockTable
        Codes where a column is a category, NaN where a value is missing. From `pass_in`: any table.
    schema : Schema
        What the columns are.
    target : ClassTarget, ValueTarget or None
        What is to be predicted.
    weights : ndarray of float64 or None
        Sample weights times class weights; None if all are equal.
    given_row_weight : float or None
        The weight that counts as one row, where the weights alone do not tell it: see `row_weight`.
    """

    X: Any
    schema: Schema
    target: ClassTarget | ValueTarget | None = None
    weights: FloatArray | None = None
    given_row_weight: float | None = None
    _made: dict[Any, Any] = field(default_factory=dict, repr=False, compare=False)
    _first: Dataset | None = field(default=None, repr=False, compare=False)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """The number of features."""
        return self.schema.n_features

    @property
    def n_levels(self) -> IndexArray:
        """For each column the number of its levels, 0 for a number."""
        return self.schema.n_levels

    @cached_property
    def row_weight(self) -> float:
        """The weight that counts as one row: the unit that the weights share, or their mean."""
        if self.weights is None:
            return 1.0
        return find_unit(self.weights) if self.given_row_weight is None else self.given_row_weight

    def count_weights(self) -> FloatArray | None:
        """As how many rows each row counts; None if every row counts once."""
        return None if self.weights is None else count_as_rows(self.weights, self.row_weight)

    @property
    def n_counted(self) -> float:
        """The number of rows that the weights stand for."""
        counts = self.count_weights()
        return float(self.n_rows if counts is None else counts.sum())

    def learn_block_bins(self, max_bins: int = 255, n_jobs: int = 0) -> _core.BinMapper:
        """The bins of a table in blocks, of which no row is binned yet: those of `binned`."""
        weights = (self._first or self).count_weights()
        return binning.learn_block_bins(self.X, weights, self.n_levels, max_bins, n_jobs)

    def binned(self, max_bins: int = 255, n_jobs: int = 0) -> _core.BinnedMatrix:
        """The table in bytes, with at most ``max_bins`` bins a column, and no more than a byte can number; made once.

        Estimators that take more bins than that find the finer ones by themselves. Bins are computed with the
        original weights of the table, whichever reweighted copy needs them first. Copies share them, so the result
        does not depend on the order of calls.
        """
        max_bins = min(max_bins, binning.MOST_BYTE_BINS)
        key = ("bins", max_bins)
        if key not in self._made:
            weights = (self._first or self).count_weights()
            if hasattr(self.X, "make_bins"):
                made = self.X.make_bins(max_bins)
            else:
                bin_table = binning.bin_blocks if is_in_blocks(self.X) else binning.bin_columns
                made = bin_table(copy_to_host(self.X), weights, self.n_levels, max_bins, n_jobs)
            # If two threads get here at once, the first result is kept; both are equal.
            self._made.setdefault(key, made)
        shared: _core.BinnedMatrix = self._made[key]
        return shared

    def binned_by(self, make: Callable[..., _T], max_bins: int = 255, n_jobs: int = 0) -> _T:
        """As `binned`, by another engine: ``make(X, weights, n_levels, max_bins, n_jobs)``; made once."""
        max_bins = min(max_bins, binning.MOST_BYTE_BINS)
        key = ("other bins", max_bins)
        if key not in self._made:
            weights = (self._first or self).count_weights()
            self._made.setdefault(key, make(self.X, weights, self.n_levels, max_bins, n_jobs))
        made: _T = self._made[key]
        return made

    def presorted(self, n_jobs: int = 0) -> _core.Presort:
        """The rows in the order of every column; made once."""
        if "presort" not in self._made:
            X = self.X.collect() if is_in_blocks(self.X) else copy_to_host(self.X)
            self._made.setdefault("presort", binning.sort_columns(X, self.n_levels, n_jobs))
        shared: _core.Presort = self._made["presort"]
        return shared

    def bin_sorted(self, max_bins: int = 255, n_jobs: int = 0) -> None:
        """Make what `binned` and `presorted` return; dense tables without weights are sorted once for both."""
        key = ("bins", min(max_bins, binning.MOST_BYTE_BINS))
        is_weighted = (self._first or self).weights is not None
        if key in self._made or "presort" in self._made or is_weighted or not isinstance(self.X, np.ndarray):
            return
        presort, table = binning.sort_and_bin(self.X, self.n_levels, key[1], n_jobs)
        self._made.setdefault(key, table)
        self._made.setdefault("presort", presort)

    def on_host(self) -> Dataset:
        """The same data; a table in the memory of a GPU is copied to that of the host."""
        return replace(self, X=copy_to_host(self.X)) if isinstance(self.X, DeviceTable) else self

    def reweighted(self, weights: FloatArray | None, row_weight: float | None = None) -> Dataset:
        """The same data with other weights, and the weight of one row if these do not tell it; the bins are shared."""
        return replace(self, weights=weights, given_row_weight=row_weight, _first=self._first or self)

    def without(self, feature: int) -> Dataset:
        """The same data without a column of the user's table; existing bins are reused."""
        kept = np.delete(np.arange(self.n_features), self.schema.list_features(feature))
        names, inputs = self.schema.feature_names, self.schema.inputs
        schema = replace(
            self.schema,
            n_features=len(kept),
            feature_names=None if names is None else tuple(names[k] for k in kept),
            categories=tuple(self.schema.categories[k] for k in kept),
            inputs=None if inputs is None else inputs.without(feature),
        )
        made = {
            key: binning.select_columns(bins, kept)
            for key, bins in self._made.items()
            if isinstance(key, tuple) and key[0] == "bins"
        }
        return replace(self, X=self.X[:, kept], schema=schema, _made=made)

    def take_rows(self, rows: AnyArray) -> Dataset:
        """A subset of the rows, by index; a separate data set with its own bins."""
        X = self.X.tocsr()[rows].tocsc() if hasattr(self.X, "tocsr") else self.X[rows]
        target = self.target
        if isinstance(target, ClassTarget):
            target = replace(target, labels=np.ascontiguousarray(target.labels[rows]))
        elif isinstance(target, ValueTarget):
            target = target.take_rows(rows)
        weights = None if self.weights is None else self.weights[rows]
        return Dataset(X, self.schema, target, weights, None if weights is None else self.row_weight)

    def __getstate__(self) -> dict[str, Any]:
        # Recomputing the caches is faster than sending them to another process.
        return {**self.__dict__, "_made": {}}


def is_in_blocks(X: object) -> bool:
    """Whether a table is a BlockTable."""
    return hasattr(X, "opened")
