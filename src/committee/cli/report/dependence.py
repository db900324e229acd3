"""Partial dependence of the predictions on one feature and on pairs of features, for models and columns of any kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from committee.cli.problem import write_numbers
from committee.cli.report.charts import Axis, Chart, draw_dots, draw_surface, fit_axis
from committee.cli.report.markup import make_figure, show_number, truncate_text
from committee.cli.report.model_queries import predict_with_fixed_column, predict_with_fixed_pair

if TYPE_CHECKING:
    from committee.cli.problem import ColumnSummary
    from committee.typing import FloatArray

    # Grid values of a feature: numbers, or categories of any type.
    FeatureValues: TypeAlias = Sequence[Any]

__all__ = ["DependenceCurves", "PairSurface", "compute_dependence", "compute_pairs"]

_MOST_LINES = 6
_GRID = 25
_PAIR_GRID = 10
_PAIR_ROWS = 60
_MOST_CATEGORIES = 10


@dataclass(frozen=True)
class DependenceCurves:
    """Predictions of a sample of rows as one feature is set to each value of a grid.

    Parameters
    ----------
    column : ColumnSummary
        The feature.
    marks : sequence
        The grid.
    predictions : ndarray of shape (n_values, n_rows, n_outputs)
        Probabilities of the classes, or values.
    classes : list of str
        Names of the outputs; empty for values.
    target : str
        What is predicted.
    """

    column: ColumnSummary
    marks: FeatureValues
    predictions: FloatArray
    classes: list[str]
    target: str

    @property
    def is_ordered(self) -> bool:
        """Whether the feature is a number or a date."""
        return self.column.kind in ("number", "date")

    def draw(self) -> str:
        """The figure: one curve, or those of the classes that change most."""
        caption = f"Partial dependence on {truncate_text(self.column.name, 60)}."
        if len(self.classes) > 2:
            return make_figure(self._draw_classes(), caption)
        label = (
            f"predicted {self.target}" if not self.classes else f"probability of {truncate_text(self.classes[1], 20)}"
        )
        return make_figure(self._draw_one(self.predictions[:, :, -1], label), caption)

    def draw_class(self, k: int) -> str:
        """The figure of one class."""
        name = truncate_text(self.classes[k], 20)
        caption = f"Partial dependence of the probability of {name} on {truncate_text(self.column.name, 60)}."
        return make_figure(self._draw_one(self.predictions[:, :, k], f"probability of {name}"), caption)

    def _make_axis(self) -> tuple[Axis, FloatArray]:
        """The axis of the feature, and the positions of its values on it."""
        if self.is_ordered:
            unit = " (seconds)" if self.column.kind == "date" and not self.column.is_calendar else ""
            numbers = np.array(self.marks, dtype=np.float64)
            axis = replace(fit_axis(numbers, self.column.name + unit), calendar=self.column.is_calendar)
            return axis, numbers
        names = tuple(map(str, self.marks))
        return Axis(-0.5, len(names) - 0.5, self.column.name, names=names), np.arange(float(len(names)))

    def _draw_one(self, curves: FloatArray, label: str) -> str:
        mean = curves.mean(axis=1)
        low, high = np.quantile(curves - curves.mean(axis=0) + mean.mean(), [0.1, 0.9], axis=1)
        if self.classes:
            low, high = low.clip(0.0, 1.0), high.clip(0.0, 1.0)
        up, alt = fit_axis([low, high, mean], label), f"{label} by {self.column.name}"
        if not self.is_ordered:
            return draw_dots(list(map(str, self.marks)), mean, (low, high), up, alt)
        across, x = self._make_axis()
        chart = Chart(across, up, alt, height=260)
        chart.band(x, low, high)
        chart.line(x, mean)
        pairs = zip(x.tolist(), mean.tolist(), strict=True)
        chart.tips(x, mean, [f"{self.column.name} {across.show(a)}: {show_number(b)}" for a, b in pairs])
        return chart.render()

    def _draw_classes(self) -> str:
        """The classes with the largest changes of probability."""
        means = self.predictions.mean(axis=1)
        shown = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:_MOST_LINES])
        across, x = self._make_axis()
        alt = f"Probability of each class by {self.column.name}"
        chart = Chart(across, fit_axis(means[:, shown], "probability"), alt, height=260)
        for color, k in enumerate(shown):
            tips = [
                f"{self.classes[k]}, {self.column.name} {across.show(a)}: {show_number(b, 3)}"
                for a, b in zip(x.tolist(), means[:, k].tolist(), strict=True)
            ]
            if self.is_ordered:
                chart.line(x, means[:, k], color, self.classes[k])
                chart.tips(x, means[:, k], tips, color)
            else:
                chart.points(x, means[:, k], color, self.classes[k], radius=5, tips=tips)
        return chart.render()


def compute_dependence(
    model: Any, table: pa.Table, column: ColumnSummary, sample: pa.Table, target: str
) -> DependenceCurves:
    """Predictions as one feature is set to quantiles of its values, or to its most frequent categories.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Whose values make the grid.
    column : ColumnSummary
        The feature.
    sample : pyarrow.Table
        The rows.
    target : str
        What is predicted.

    Returns
    -------
    DependenceCurves
    """
    values, number = table.column(column.name), table.column_names.index(column.name)
    sources, marks = _choose_values(values, column.kind in ("number", "date"), _GRID, _MOST_CATEGORIES)
    predictions = predict_with_fixed_column(model, sample, number, values, sources)
    return DependenceCurves(column, marks, predictions, _list_classes(model), target)


def _list_classes(model: Any) -> list[str]:
    return [str(one) for one in getattr(model, "classes_", ())]


@dataclass(frozen=True)
class PairSurface:
    """Mean prediction as two features are set to each pair of values of a grid.

    Parameters
    ----------
    columns : tuple of two ColumnSummary
        The features.
    marks : tuple of two sequences
        Their grids.
    values : ndarray of shape (n_first, n_second)
        Mean predictions.
    label : str
        What they are.
    interaction : float
        Share of the variance over the grid that is not a sum of single effects.
    """

    columns: tuple[ColumnSummary, ColumnSummary]
    marks: tuple[FeatureValues, FeatureValues]
    values: FloatArray
    label: str
    interaction: float

    def draw(self) -> str:
        """The figure."""
        names = [truncate_text(column.name, 40) for column in self.columns]
        caption = (
            f"Mean {self.label} by {names[0]} and {names[1]}. Interaction: {self.interaction:.0%} of the variance of "
            "the surface is more than the sum of the two single effects."
        )
        across, up = (
            Axis(-0.5, len(marks) - 0.5, column.name, names=tuple(_show_mark(column, mark) for mark in marks))
            for column, marks in zip(self.columns, self.marks, strict=True)
        )
        return make_figure(draw_surface(across, up, self.values, self.label, caption), caption)


def _show_mark(column: ColumnSummary, mark: Any) -> str:
    if column.kind not in ("number", "date"):
        return truncate_text(mark, 24)
    return Axis(0.0, 1.0, "", calendar=column.is_calendar).show(float(mark))


def compute_pairs(
    model: Any, table: pa.Table, columns: Sequence[ColumnSummary], sample: pa.Table, target: str, most: int
) -> list[PairSurface]:
    """The pairs of features with the largest interactions.

    Parameters
    ----------
    model : estimator
        Fitted.
    table : pyarrow.Table
        Whose values make the grids.
    columns : sequence of ColumnSummary
        The features to pair.
    sample : pyarrow.Table
        Rows to average over; the first are used.
    target : str
        What is predicted.
    most : int
        Number of pairs.

    Returns
    -------
    list of PairSurface
        The largest interaction effect first.
    """
    few, classes = sample.slice(0, _PAIR_ROWS), _list_classes(model)
    surfaces = []
    for first, second in combinations(columns, 2):
        grids = [
            _choose_values(table.column(one.name), one.kind in ("number", "date"), _PAIR_GRID, _PAIR_GRID)
            for one in (first, second)
        ]
        if min(len(marks) for _, marks in grids) < 2:
            continue
        fixed = [(table.column_names.index(one.name), table.column(one.name)) for one in (first, second)]
        means = predict_with_fixed_pair(model, few, fixed, [sources for sources, _ in grids])
        output = _choose_output(means)
        label = f"predicted {target}" if not classes else f"probability of {truncate_text(classes[output], 20)}"
        marks = grids[0][1], grids[1][1]
        values = means[:, :, output]
        surfaces.append(
            (_measure_rest(values), PairSurface((first, second), marks, values, label, _measure_interaction(values)))
        )
    surfaces.sort(key=lambda pair: -pair[0])
    return [surface for _, surface in surfaces[:most]]


def _choose_output(means: FloatArray) -> int:
    """The second of two classes, else the one that changes most."""
    n_outputs = means.shape[2]
    return n_outputs - 1 if n_outputs < 3 else int(np.ptp(means.reshape(-1, n_outputs), axis=0).argmax())


def _split_effects(values: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The centred joint effect, and what single effects leave of it."""
    centred = values - values.mean()
    return centred, centred - centred.mean(axis=0) - centred.mean(axis=1, keepdims=True)


def _measure_rest(values: FloatArray) -> float:
    return float((_split_effects(values)[1] ** 2).mean())


def _measure_interaction(values: FloatArray) -> float:
    joint, rest = _split_effects(values)
    total = float((joint**2).sum())
    return float((rest**2).sum()) / total if total > 0.0 else 0.0


def _choose_values(
    values: pa.ChunkedArray, ordered: bool, most: int, most_categories: int
) -> tuple[list[int], FeatureValues]:
    """Grid values of a feature and rows that contain them: quantiles of numbers, or the most frequent categories."""
    if ordered:
        numbers = write_numbers(values).cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        steps = np.linspace(0.02, 0.98, most) * (len(order) - 1)
        tried = order[np.unique(np.round(steps).astype(np.intp))]
        _, first = np.unique(numbers[tried], return_index=True)
        return tried[first].tolist(), numbers[tried[first]].tolist()
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    counted = pc.value_counts(plain.drop_null()).to_pylist()
    counted.sort(key=lambda one: (-one["counts"], str(one["values"])))
    categories = [one["values"] for one in counted[:most_categories]]
    return [pc.index(plain, pa.scalar(one, plain.type)).as_py() for one in categories], categories
