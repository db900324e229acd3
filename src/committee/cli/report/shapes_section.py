"""The shape tables of additive models: what the most important terms add to the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.cli.report.charts import Axis, Chart, draw_dots, draw_surface, fit_axis
from committee.cli.report.markup import Section, make_figure, show_number, truncate_text

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray

__all__ = ["describe_shapes", "has_shapes"]

_MOST_FEATURES, _MOST_PAIRS = 6, 4
_MOST_CLASSES = 6
# Points of a curve with tooltips, levels of a category, and cells of a pair along each axis.
_MOST_TIPS, _MOST_LEVELS, _MOST_CELLS = 60, 12, 12


def has_shapes(model: Any) -> bool:
    """Whether a model is a sum of shape tables."""
    return hasattr(type(model), "shapes_")


def describe_shapes(model: Any) -> Section:
    """Tables of the most important features and pairs of an additive model.

    Parameters
    ----------
    model : ExplainableBoostingClassifier or ExplainableBoostingRegressor
        Fitted.

    Returns
    -------
    Section
    """
    classes = [str(label) for label in getattr(model, "classes_", [])]
    label = f"log-odds of {truncate_text(classes[1], 20)}" if len(classes) == 2 else "score"
    shapes = sorted(model.shapes_, key=lambda shape: -shape.importance)
    single = [shape for shape in shapes if len(shape.axes) == 1][:_MOST_FEATURES]
    pairs = [shape for shape in shapes if len(shape.axes) == 2][:_MOST_PAIRS] if len(classes) <= 2 else []
    text = (
        f"<p>The model is a sum of {len(shapes):,} tables, one for each feature and for some pairs of features. These "
        "are what the most important ones add to the score; over the training rows the mean of each is zero. Bands and "
        "lines are one standard deviation of the outer bags.</p>"
    )
    names = classes if len(classes) > 2 else []
    figures = "".join(make_figure(*_draw_feature(shape, label, names)) for shape in single)
    body = f'{text}<div class="figures">{figures}</div>'
    if pairs:
        figures = "".join(make_figure(*_draw_pair(shape, label)) for shape in pairs)
        body += f'<h3>Pairs of features</h3><div class="figures">{figures}</div>'
    return Section("shapes", "Shape tables", body)


def _draw_feature(shape: Any, label: str, classes: list[str]) -> tuple[str, str]:
    """Figure and caption of a feature's table."""
    caption = f"What {truncate_text(shape.name, 60)} adds to the {label}; {shape.importance:.3g} on average."
    if shape.weights[-1] > 0.0 and not classes:
        caption += f" Missing values add {show_number(float(shape.values[0, -1]), 3)}."
    spread = np.abs(shape.values).sum(axis=1)
    scores = np.sort(np.argsort(-spread, kind="stable")[:_MOST_CLASSES])
    values, errors = shape.values[scores], shape.deviations[scores]
    axis = shape.axes[0]
    if axis.is_category:
        # With several classes the one that differs most.
        return _draw_levels(shape, values[np.argmax(np.ptp(values, axis=1))], errors[0], label), caption
    edges = _find_edges(axis.thresholds)
    used = slice(0, len(edges) - 1)
    x = np.repeat(edges, 2)[1:-1]
    up = fit_axis([values[:, used] - errors[:, used], values[:, used] + errors[:, used]], label)
    across = fit_axis(edges, shape.name, pad=0.0)
    chart = Chart(across, up, caption, height=260)
    if not classes:
        low, high = values[0, used] - errors[0, used], values[0, used] + errors[0, used]
        chart.band(x, np.repeat(low, 2), np.repeat(high, 2))
    shown = np.unique(np.linspace(0, len(edges) - 2, min(_MOST_TIPS, len(edges) - 1)).astype(np.intp))
    cells = axis.list_labels()
    for color, score in enumerate(scores):
        own = values[color, used]
        chart.line(x, np.repeat(own, 2), color, classes[score] if classes else "")
        tips = [f"{shape.name} {cells[k]}: {show_number(float(own[k]), 3)}" for k in shown]
        chart.tips((edges[shown] + edges[shown + 1]) / 2, own[shown], tips, color)
    return chart.render(), caption


def _draw_levels(shape: Any, values: FloatArray, errors: FloatArray, label: str) -> str:
    """The levels with the most rows."""
    names = [truncate_text(name, 40) for name in shape.axes[0].list_labels()]
    shown = np.sort(np.argsort(-shape.weights, kind="stable")[:_MOST_LEVELS])
    shown = shown[shape.weights[shown] > 0.0]
    low, high = values[shown] - errors[shown], values[shown] + errors[shown]
    return draw_dots([names[k] for k in shown], values[shown], (low, high), fit_axis([low, high], label), shape.name)


def _draw_pair(shape: Any, label: str) -> tuple[str, str]:
    """Figure and caption of a pair's table, in coarser cells."""
    caption = f"What {truncate_text(shape.name, 60)} add to the {label} together; {shape.importance:.3g} on average."
    values, weights = shape.values[0], shape.weights
    axes = []
    for number, axis in enumerate(shape.axes):
        groups = _group(weights.sum(axis=1 - number))
        totals, sums = (np.add.reduceat(part, groups, axis=number) for part in (weights, values * weights))
        values, weights = np.divide(sums, totals, out=np.zeros_like(sums), where=totals > 0.0), totals
        labels = axis.list_labels()
        names = tuple(truncate_text(labels[k], 24) for k in groups)
        if not weights.sum(axis=1 - number)[-1] > 0.0:  # no missing values
            values, weights, names = np.delete(values, -1, number), np.delete(weights, -1, number), names[:-1]
        axes.append(Axis(-0.5, len(names) - 0.5, shape.names[number], names=names))
    return draw_surface(axes[0], axes[1], values, f"adds to {label}", caption), caption


def _group(weights: FloatArray) -> AnyArray:
    """Where groups of neighbouring cells of about equal weight begin; the last cell is one of its own."""
    n_cells = len(weights) - 1
    places = (np.cumsum(weights[:n_cells]) - weights[:n_cells] / 2.0) / max(weights[:n_cells].sum(), 1e-300)
    groups = np.minimum((places * _MOST_CELLS).astype(np.intp), _MOST_CELLS - 1)
    starts = np.concatenate([[0], np.flatnonzero(np.diff(groups)) + 1])
    return np.append(starts, n_cells)


def _find_edges(thresholds: FloatArray) -> FloatArray:
    """Ends of the cells of numbers; the outer ones, which have none, are as wide as their neighbours."""
    if len(thresholds) == 0:
        return np.array([0.0, 1.0])
    inner = np.clip(thresholds, -1e300, 1e300)
    first, last = (inner[1] - inner[0], inner[-1] - inner[-2]) if len(inner) > 1 else (1.0, 1.0)
    return np.concatenate([[inner[0] - first], inner, [inner[-1] + last]])
