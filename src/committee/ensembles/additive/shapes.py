"""Shape tables: the value that a term adds to the score in each of its cells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.data import Schema
    from committee.typing import AnyArray, FloatArray

__all__ = ["ShapeAxis", "TermShape", "make_axis"]


@dataclass(frozen=True)
class ShapeAxis:
    """The cells of one feature in a term; the last one holds missing values.

    Attributes
    ----------
    feature : int
        Number of the feature in the encoded table; that of the column, but for dates and lists.
    thresholds : ndarray or None
        Of a number, ascending: a value is in the cell whose number is that of the thresholds below it.
    levels : ndarray or None
        Of a category: its levels.
    cells : ndarray or None
        Of a category: the cell of each level.
    """

    feature: int
    thresholds: FloatArray | None = None
    levels: AnyArray | None = None
    cells: AnyArray | None = None

    @property
    def n_cells(self) -> int:
        """Cells of values, without the one of missing values."""
        if self.thresholds is not None:
            return len(self.thresholds) + 1
        assert self.cells is not None
        return int(self.cells.max()) + 1 if len(self.cells) else 0

    @property
    def is_category(self) -> bool:
        """Whether the feature is a category."""
        return self.thresholds is None

    def list_labels(self) -> list[str]:
        """What is in each cell, in words; the last is of missing values."""
        if self.thresholds is None:
            assert self.levels is not None
            assert self.cells is not None
            held: list[list[str]] = [[] for _ in range(self.n_cells)]
            for level, cell in zip(self.levels.tolist(), self.cells.tolist(), strict=True):
                held[cell].append(str(level))
            return [", ".join(names) for names in held] + ["missing"]
        ends = [f"{threshold:.6g}" for threshold in self.thresholds]
        if not ends:
            return ["any", "missing"]
        middle = [f"({low}, {high}]" for low, high in itertools.pairwise(ends)]
        return [f"<= {ends[0]}", *middle, f"> {ends[-1]}", "missing"]

    def find_cells(self, column: FloatArray) -> AnyArray:
        """The cell of each value of an encoded column; codes of categories, NaN where missing."""
        missing = np.isnan(column)
        if self.thresholds is not None:
            found = np.searchsorted(self.thresholds, column, side="left")
        else:
            assert self.cells is not None
            codes = np.where(missing, 0, column).astype(np.intp)
            found = self.cells[np.minimum(codes, len(self.cells) - 1)] if len(self.cells) else codes
        return np.where(missing, self.n_cells, found).astype(np.intp)


@dataclass(frozen=True)
class TermShape:
    """The shape table of one term: a feature, or a pair of them.

    Attributes
    ----------
    names : tuple of str
        Names of the features.
    axes : tuple of ShapeAxis
        Their cells.
    values : ndarray of shape (n_scores, n_cells + 1) or (n_scores, n_cells + 1, n_other_cells + 1)
        What the term adds to each score in each cell; the last one of each axis is of missing values. The mean over
        the training rows is zero, and of a pair the mean of each row and of each column too, so that features and
        pairs explain nothing twice.
    deviations : ndarray, as ``values``
        Standard deviation of the outer bags.
    weights : ndarray of shape (n_cells + 1, ...)
        Training rows in each cell, as their weights count them.
    """

    names: tuple[str, ...]
    axes: tuple[ShapeAxis, ...]
    values: FloatArray
    deviations: FloatArray
    weights: FloatArray

    @property
    def name(self) -> str:
        """The names of the features, joined."""
        return " x ".join(self.names)

    @property
    def features(self) -> tuple[int, ...]:
        """Numbers of the features in the encoded table."""
        return tuple(axis.feature for axis in self.axes)

    @property
    def importance(self) -> float:
        """Mean absolute value over the training rows, the sum over scores."""
        total = self.weights.sum()
        if not total > 0.0:
            return 0.0
        return float((np.abs(self.values) * self.weights).sum() / total)

    def find_values(self, rows: FloatArray) -> FloatArray:
        """What the term adds to the scores of encoded rows, of shape (n_rows, n_scores)."""
        cells = tuple(axis.find_cells(np.asarray(rows[:, axis.feature], dtype=np.float64)) for axis in self.axes)
        found: FloatArray = np.moveaxis(self.values, 0, -1)[cells]
        return found

    def with_values(self, values: FloatArray) -> TermShape:
        """The same cells with other values, whose deviations are not known."""
        return replace(self, values=values, deviations=np.zeros_like(values))


def make_axis(schema: Schema, feature: int, thresholds: FloatArray, cells: AnyArray | None = None) -> ShapeAxis:
    """The axis of a feature.

    Parameters
    ----------
    schema : Schema
        Of the table.
    feature : int
        Number of the feature.
    thresholds : ndarray
        Between the bins of a number.
    cells : ndarray, optional
        The cell of each bin or level, where they are coarser; cells of numbers ascend.
    """
    levels = schema.categories[feature]
    if levels is not None:
        own = np.arange(len(levels)) if cells is None else cells
        return ShapeAxis(feature, None, np.asarray(levels), own.astype(np.int64))
    if cells is not None:
        thresholds = thresholds[np.flatnonzero(np.diff(cells.astype(np.int64)))]
    return ShapeAxis(feature, np.array(thresholds, dtype=np.float64))
