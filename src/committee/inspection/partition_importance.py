"""Permutation importance of a table in partitions: columns and predictions travel, rows do not.

A shuffled column has values of rows of other partitions. So the driver collects a column, shuffles it by the numbers of
all rows, and sends each partition its part; predictions come back. They are scored all together, so that the scores are
those of the table in memory, whatever the partitions are and whatever is measured.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.base import resolve_jobs
from committee.data.block_mapping import map_blocks
from committee.data.blocks.opened import OpenedSource, load_block
from committee.data.frames import find_frame
from committee.data.intake import take_in_rows
from committee.engines.hosts.host import count_host_threads
from committee.exceptions import DataError
from committee.inspection.model_access import find_tree_response
from committee.scoring import KnownProbabilities, KnownValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from committee.inspection.model_access import TreeResponse
    from committee.typing import AnyArray, EstimatorLike, FloatMatrix

__all__ = [
    "PartitionedTable",
    "TablePartitions",
    "TreePartitions",
    "open_partitions",
    "predict_partition_shuffles",
    "score_shuffles",
    "take_partition_columns",
]

Prediction: TypeAlias = "dict[str, AnyArray]"
"""Predictions of some rows by the name of the method that gives them."""

_METHODS = ("predict", "predict_proba", "decision_function", "predict_log_proba", "score_samples")
_RAW = "raw"
_COLUMN_BYTES = 16
"""Of a row in a shuffled column: where its value comes from, and the value."""
_MOST_BYTES = 1 << 28
"""Shuffled columns and predictions that the driver has at a time; the partitions are read twice for each such batch."""


@dataclass(frozen=True)
class PartitionedTable(ABC):
    """A model, and how it reads and predicts one partition; travels to the workers.

    Attributes
    ----------
    opened : OpenedSource
        The partitions.
    model : estimator
        The model.
    """

    opened: OpenedSource
    model: Any

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.opened.shape

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        own = self.opened.names
        return [str(name) for name in (range(self.opened.n_features) if own is None else own)]

    @abstractmethod
    def read(self, block: int) -> Any:
        """A partition in the form in which features are replaced."""

    @abstractmethod
    def take(self, table: Any, feature: int) -> AnyArray:
        """The values of a feature."""

    @abstractmethod
    def put(self, table: Any, feature: int, values: AnyArray) -> Any:
        """A copy of the partition with other values of a feature."""

    @abstractmethod
    def predict(self, table: Any, methods: Sequence[str]) -> Prediction:
        """Predictions of a partition."""

    @abstractmethod
    def hold(self, find: Callable[[str], AnyArray]) -> Any:
        """An estimator whose predictions for all rows are found by the name of the method."""


@dataclass(frozen=True)
class TreePartitions(PartitionedTable):
    """Partitions for a model made of this library's trees.

    Attributes
    ----------
    response : TreeResponse
        Its trees and link, without rows.
    """

    response: TreeResponse

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.response.names

    def read(self, block: int) -> FloatMatrix:
        """A partition as the trees read it."""
        rows = take_in_rows(self.model, _load_native(self.opened, block), self.response.model.schema)
        dense: FloatMatrix = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return dense

    def take(self, table: FloatMatrix, feature: int) -> AnyArray:
        """The encoded values, of shape (n_rows, n_encoded): a date has several."""
        values: AnyArray = table[:, self.response.model.schema.list_features(feature)]
        return values

    def put(self, table: FloatMatrix, feature: int, values: AnyArray) -> FloatMatrix:
        """A copy with other values of a feature."""
        changed = np.array(table, dtype=np.result_type(table, values))
        changed[:, self.response.model.schema.list_features(feature)] = values
        return changed

    def predict(self, table: FloatMatrix, methods: Sequence[str]) -> Prediction:
        """Raw predictions, from which the driver finds all others."""
        return {_RAW: self.response.model.sum_trees(table, count_host_threads() or self.response.n_jobs)}

    def hold(self, find: Callable[[str], AnyArray]) -> Any:
        """An estimator that has the predictions of all rows."""
        predictions, classes = self.response.apply_link_to_all(find(_RAW)), getattr(self.model, "classes_", None)
        return KnownValues(predictions) if classes is None else KnownProbabilities(classes, predictions)


class TablePartitions(PartitionedTable):
    """Partitions for any other model: as pandas frames, or arrays where they are arrays."""

    def read(self, block: int) -> Any:
        """A partition as any model reads it."""
        native = _load_native(self.opened, block)
        if isinstance(native, np.ndarray) or hasattr(native, "tocsc"):
            return native
        frame = find_frame(native)
        return np.asarray(native) if frame is None else frame.to_pandas()

    def take(self, table: Any, feature: int) -> AnyArray:
        """The values of a column."""
        return np.asarray(table.iloc[:, feature].to_numpy() if hasattr(table, "iloc") else table[:, feature])

    def put(self, table: Any, feature: int, values: AnyArray) -> Any:
        """A copy with other values of a column."""
        changed = table.copy()
        if hasattr(changed, "iloc"):
            changed.isetitem(feature, values)
        else:
            changed[:, feature] = values
        return changed

    def predict(self, table: Any, methods: Sequence[str]) -> Prediction:
        """What the score asks for."""
        return {method: np.asarray(getattr(self.model, method)(table)) for method in methods}

    def hold(self, find: Callable[[str], AnyArray]) -> Any:
        """The model itself, whose methods give the predictions of all rows."""
        known = copy.copy(self.model)
        for method in _METHODS:
            if hasattr(self.model, method):
                setattr(known, method, _name_function(method, find))
        return known


def _name_function(method: str, find: Callable[[str], AnyArray]) -> Callable[[Any], AnyArray]:
    """A function of rows that gives known predictions; scorers look at its name."""

    def predict(_: Any) -> AnyArray:
        return find(method)

    predict.__name__ = method
    return predict


def open_partitions(model: EstimatorLike, opened: OpenedSource, n_jobs: int | None) -> PartitionedTable:
    """A model and the partitions that it is to predict; columns that it was not fitted on are left out.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    opened : OpenedSource
        The partitions.
    n_jobs : int or None
        Threads of a worker, for trees of this library.
    """
    if not opened.n_rows:
        raise DataError("X has no rows.")
    wanted = getattr(model, "feature_names_in_", None)
    if wanted is not None and opened.names is not None:
        names = tuple(str(name) for name in wanted)
        missing = [name for name in names if name not in opened.names]
        if missing:
            raise DataError(f"X has no column {missing[0]!r}, which {type(model).__name__} was fitted on.")
        opened = replace(opened, names=names, n_features=len(names))
    response = find_tree_response(model, resolve_jobs(n_jobs))
    return TablePartitions(opened, model) if response is None else TreePartitions(opened, model, response)


def score_shuffles(
    parts: PartitionedTable,
    score: Callable[[Any, Any], float],
    draw: Callable[[int], NDArray[np.uint32]],
    n_repeats: int,
) -> Iterator[tuple[int, list[float]]]:
    """For each feature the scores of its shuffles; before them, as feature -1, the score of the rows as they are.

    Parameters
    ----------
    parts : PartitionedTable
        The model and the partitions.
    score : callable
        Of an estimator and row numbers.
    draw : callable
        Of a feature: the row that each row has its value from, of shape (n_repeats, n_rows).
    n_repeats : int
        Shuffles of a feature.

    Yields
    ------
    feature : int
    scores : list of float
    """
    rows = np.arange(parts.shape[0])
    asked: Prediction = {}

    def ask(method: str) -> AnyArray:
        if method not in asked:
            asked.update(_join([found for ((found,),) in _predict(parts, (method,), {})]))
        return asked[method]

    yield -1, [score(parts.hold(ask), rows)]
    methods = tuple(asked)
    row_bytes = sum(predictions[0].nbytes for predictions in asked.values()) + _COLUMN_BYTES
    n_together = max(1, _MOST_BYTES // (len(rows) * n_repeats * row_bytes))
    n_features = len(parts.names)
    for first in range(0, n_features, n_together):
        features = range(first, min(first + n_together, n_features))
        columns = _collect_columns(parts, features)
        shuffled = {feature: columns.pop(feature)[draw(feature)] for feature in features}
        found = list(_predict(parts, methods, shuffled))
        for number, feature in enumerate(features):
            shuffles = [_join([block[number][k] for block in found]) for k in range(n_repeats)]
            yield feature, [score(parts.hold(own.__getitem__), rows) for own in shuffles]


def take_partition_columns(item: tuple[int, Sequence[int]], parts: PartitionedTable) -> list[AnyArray]:
    """The values of some features in one partition."""
    block, features = item
    table = parts.read(block)
    return [parts.take(table, feature) for feature in features]


def predict_partition_shuffles(
    item: tuple[int, tuple[str, ...], list[tuple[int, AnyArray]]], parts: PartitionedTable
) -> list[list[Prediction]]:
    """Predictions of one partition, for each feature and each shuffle; without features, of the rows as they are."""
    block, methods, shuffled = item
    table = parts.read(block)
    if not shuffled:
        return [[parts.predict(table, methods)]]
    return [[parts.predict(parts.put(table, feature, own), methods) for own in values] for feature, values in shuffled]


def _predict(
    parts: PartitionedTable, methods: tuple[str, ...], shuffled: dict[int, AnyArray]
) -> Iterable[list[list[Prediction]]]:
    """The same of all partitions, in their order; ``shuffled`` has the values of all rows, shuffle by shuffle."""
    items = [
        (block, methods, [(feature, values[:, first:last]) for feature, values in shuffled.items()])
        for block, first, last in _list_blocks(parts.opened)
    ]
    return map_blocks(parts, predict_partition_shuffles, items, parts)


def _collect_columns(parts: PartitionedTable, features: Sequence[int]) -> dict[int, AnyArray]:
    """The values that all rows have of some features."""
    items = [(block, features) for block, _, _ in _list_blocks(parts.opened)]
    pieces = zip(*map_blocks(parts, take_partition_columns, items, parts), strict=True)
    return {feature: np.concatenate(own) for feature, own in zip(features, pieces, strict=True)}


def _list_blocks(opened: OpenedSource) -> list[tuple[int, int, int]]:
    """The partitions with rows: number, first row, and the one behind the last."""
    places = [int(place) for place in opened.offsets]
    bounds = enumerate(pairwise(places))
    return [(block, first, last) for block, (first, last) in bounds if first < last]


def _join(parts: Sequence[Prediction]) -> Prediction:
    return {method: np.concatenate([part[method] for part in parts]) for method in parts[0]}


def _load_native(opened: OpenedSource, block: int) -> Any:
    """A partition with the columns of the model."""
    native = load_block(opened.source, block, opened.names)
    frame = None if opened.names is None or isinstance(native, np.ndarray) else find_frame(native)
    if frame is None or list(frame.columns) == list(opened.names or ()):
        return native
    return frame.select(*(opened.names or ())).to_native()
