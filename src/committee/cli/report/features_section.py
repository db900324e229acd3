"""Feature importances, and partial dependence of the predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from committee.cli.report.charts import Axis, Chart, draw_bars, draw_dots, fit_axis
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, show_number, truncate_text
from committee.cli.report.model_queries import predict_with_fixed_column

if TYPE_CHECKING:
    from committee.cli.problem import ColumnSummary
    from committee.cli.report.report_data import ReportData
    from committee.typing import FloatArray

    # Grid values of a feature: numbers, or categories of any type.
    FeatureValues: TypeAlias = Sequence[Any]

__all__ = ["describe_dependence", "describe_importance", "rank_features"]

_MOST_BARS = 20
_MOST_DEPENDENCES = 6
_MOST_LINES = 6
_SAMPLE = 200
_GRID = 25
_MOST_CATEGORIES = 10


def rank_features(data: ReportData) -> list[str]:
    """Rank the features by permutation importance if there is one, else by the importances of the model.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    list of str
        Features with a positive importance, the most important first.
    """
    names = data.problem.features.column_names
    if data.observer.shuffles:
        drop = np.concatenate(data.observer.shuffles, axis=1).mean(axis=1)
        own = [data.results.importances.get(name, 0.0) for name in names]
        order = sorted(range(len(names)), key=lambda k: (-drop[k], -own[k]))
        return [names[k] for k in order if drop[k] > 0.0 or own[k] > 0.0]
    return [name for name, value in data.results.importances.items() if value > 0.0]


def describe_importance(data: ReportData) -> Section:
    """Permutation importances, and the importances of the model.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    title = "Feature importances"
    figures, rows = [], []
    names = data.problem.features.column_names
    metric = data.observer.shuffle_metric
    mean, spread = np.zeros(len(names)), np.zeros(len(names))
    ranked = rank_features(data)[:_MOST_BARS]
    if data.observer.shuffles:
        drops = np.concatenate(data.observer.shuffles, axis=1)
        mean, spread = drops.mean(axis=1), drops.std(axis=1)
        numbers = [names.index(name) for name in ranked]
        where = "on held-out rows" if data.observer.held_out else "on training rows (the model was fitted once, on all)"
        word = "Loss of" if metric.sign > 0 else "Increase of"
        caption = (
            f"Permutation importance: {word.lower()} {metric.name} {where} when the values of a feature are shuffled; "
            f"mean of {drops.shape[1]} repetitions, line ± standard deviation."
        )
        label = f"{word.lower()} {metric.name}"
        figures.append(make_figure(draw_bars(ranked, mean[numbers], label, caption, errors=spread[numbers]), caption))
    else:
        figures.append(f'<p class="absent">No permutation importance: {escape(data.observer.why_no_shuffles)}.</p>')
    own = {name: value for name, value in data.results.importances.items() if value > 0.0}
    if own:
        first = list(own)[:_MOST_BARS]
        caption = "Impurity importance of the model: share of the decrease of impurity, on training rows."
        figures.append(make_figure(draw_bars(first, [own[name] for name in first], "share", caption), caption))
    else:
        figures.append(f'<p class="absent">{escape(data.results.estimator)} has no impurity importances.</p>')
    for name in ranked:
        k = names.index(name)
        shuffled = f"{show_number(mean[k], 3)} ± {show_number(spread[k], 2)}" if data.observer.shuffles else "–"
        rows.append([escape(truncate_text(name)), shuffled, f"{own[name]:.3f}" if name in own else "–"])
    table = make_html_table(["feature", ">permutation", ">impurity"], rows, "Feature importances") if rows else ""
    return Section("importance", title, f'<div class="figures">{"".join(figures)}</div>{table}')


def describe_dependence(data: ReportData, ranked: list[str]) -> Section:
    """Partial dependence on the most important features.

    Parameters
    ----------
    data : ReportData
        The data of the report.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    Section
    """
    title, problem = "Partial dependence", data.problem
    if not ranked:
        return Section("dependence", title, '<p class="absent">Left out: no feature has a positive importance.</p>')
    rng = np.random.default_rng(data.plan.seed)
    rows = np.sort(rng.choice(problem.n_rows, min(_SAMPLE, problem.n_rows), replace=False))
    sample = problem.features.take(rows)
    columns = {column.name: column for column in problem.columns}
    figures = [_draw_dependence(data, data.results.model, columns[name], sample) for name in ranked[:_MOST_DEPENDENCES]]
    text = (
        f"<p>Mean prediction over {len(rows):,} rows when one feature is set to the same value in all of them (partial "
        "dependence). The band or line holds the middle 80 % of the rows after centring each row's curve; where it is "
        "wide, the effect of the feature differs between rows.</p>"
    )
    return Section("dependence", title, f'{text}<div class="figures">{"".join(figures)}</div>')


def _draw_dependence(data: ReportData, model: Any, column: ColumnSummary, sample: pa.Table) -> str:
    problem, classes = data.problem, data.classes
    values = problem.features.column(column.name)
    ordered = column.kind in ("number", "date")
    sources, marks = _choose_values(values, ordered)
    number = problem.features.column_names.index(column.name)
    predictions = predict_with_fixed_column(model, sample, number, values, sources)
    if classes is None or len(classes) == 2:
        label = f"predicted {problem.target}" if classes is None else f"probability of {truncate_text(classes[1], 20)}"
        figure = _draw_one(column, marks, predictions[:, :, -1], label, clip=classes is not None)
    else:
        figure = _draw_classes(column, marks, predictions.mean(axis=1), [str(c) for c in model.classes_])
    return make_figure(figure, f"Partial dependence on {truncate_text(column.name, 60)}.")


def _make_feature_axis(column: ColumnSummary, marks: FeatureValues) -> tuple[Axis, FloatArray]:
    """The axis of a feature, and the positions of its values on it."""
    if column.kind in ("number", "date"):
        unit = " (seconds)" if column.kind == "date" and not column.is_calendar else ""
        numbers = np.array(marks, dtype=np.float64)
        return replace(fit_axis(numbers, column.name + unit), calendar=column.is_calendar), numbers
    return Axis(-0.5, len(marks) - 0.5, column.name, names=tuple(map(str, marks))), np.arange(float(len(marks)))


def _draw_one(column: ColumnSummary, marks: FeatureValues, curves: FloatArray, label: str, *, clip: bool) -> str:
    mean = curves.mean(axis=1)
    low, high = np.quantile(curves - curves.mean(axis=0) + mean.mean(), [0.1, 0.9], axis=1)
    if clip:
        low, high = low.clip(0.0, 1.0), high.clip(0.0, 1.0)
    up, alt = fit_axis([low, high, mean], label), f"{label} by {column.name}"
    if column.kind not in ("number", "date"):
        return draw_dots(list(map(str, marks)), mean, (low, high), up, alt)
    across, x = _make_feature_axis(column, marks)
    chart = Chart(across, up, alt, height=260)
    chart.band(x, low, high)
    chart.line(x, mean)
    return chart.render()


def _draw_classes(column: ColumnSummary, marks: FeatureValues, means: FloatArray, classes: list[str]) -> str:
    """The classes with the largest changes of probability."""
    shown = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:_MOST_LINES])
    across, x = _make_feature_axis(column, marks)
    alt = f"Probability of each class by {column.name}"
    chart = Chart(across, fit_axis(means[:, shown], "probability"), alt, height=260)
    for color, k in enumerate(shown):
        if column.kind in ("number", "date"):
            chart.line(x, means[:, k], color, classes[k])
        else:
            chart.points(x, means[:, k], color, classes[k], radius=5)
    return chart.render()


def _choose_values(values: pa.ChunkedArray, ordered: bool) -> tuple[list[int], FeatureValues]:
    """Grid values of a feature and rows that contain them: quantiles of numbers, or the most frequent categories."""
    if ordered:
        numbers = values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
        known = np.flatnonzero(np.isfinite(numbers))
        order = known[np.argsort(numbers[known], kind="stable")]
        steps = np.linspace(0.02, 0.98, _GRID) * (len(order) - 1)
        tried = order[np.unique(np.round(steps).astype(np.intp))]
        _, first = np.unique(numbers[tried], return_index=True)
        return tried[first].tolist(), numbers[tried[first]].tolist()
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    counted = pc.value_counts(plain.drop_null()).to_pylist()
    counted.sort(key=lambda one: (-one["counts"], str(one["values"])))
    categories = [one["values"] for one in counted[:_MOST_CATEGORIES]]
    return [pc.index(plain, pa.scalar(one, plain.type)).as_py() for one in categories], categories
