"""Errors on held-out rows: confusion matrix or residuals, calibration, and the rows with the largest errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from committee.cli.report.charts import Axis, Chart, draw_histogram, draw_matrix, fit_axis
from committee.cli.report.dates import show_date
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, show_number, truncate_text
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.report.report_data import ReportData

__all__ = ["describe_calibration", "describe_errors", "describe_largest_errors"]

_MOST_CLASSES = 26
_MOST_POINTS = 1000
_N_BINS = 10
_N_LARGEST = 10
_SHOWN_FEATURES = 4


def describe_errors(data: ReportData) -> Section:
    """The confusion matrix, or the residuals.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    if data.classes is None:
        return Section("residuals", "Residuals", _describe_residuals(data))
    return Section("confusion", "Confusion matrix", _describe_confusion(data))


def _describe_confusion(data: ReportData) -> str:
    assert data.classes is not None
    classes = data.classes
    y = data.truth
    truth, predicted = np.searchsorted(classes, y), np.searchsorted(classes, data.predicted)
    counts = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(counts, (truth, predicted), 1)
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    labels = [str(classes[k]) for k in shown]
    more = (
        f" Only the {_MOST_CLASSES} most frequent of {len(classes)} classes are shown."
        if len(classes) > len(shown)
        else ""
    )
    caption = f"Held-out rows by true and predicted class; the colour shows the share of the true class.{more}"
    right, hits = counts.diagonal(), np.maximum(counts.sum(axis=0), 1)
    table = make_html_table(
        ["class", ">rows", ">recall", ">precision"],
        [
            [
                escape(truncate_text(str(classes[k]))),
                f"{counts[k].sum():,}",
                f"{right[k] / max(counts[k].sum(), 1):.1%}",
                f"{right[k] / hits[k]:.1%}" if counts[:, k].sum() else "–",
            ]
            for k in shown
        ],
        "Recall and precision of each class",
    )
    figure = make_figure(draw_matrix(labels, counts[np.ix_(shown, shown)], caption), caption)
    return f'<div class="figures">{figure}<div>{table}</div></div>'


def _describe_residuals(data: ReportData) -> str:
    rows = data.rows
    y, predicted = data.truth, data.predicted
    target = data.problem.target
    shown = np.arange(len(rows))
    if len(rows) > _MOST_POINTS:
        shown = np.sort(np.random.default_rng(data.plan.seed).choice(len(rows), _MOST_POINTS, replace=False))
    sample = "" if len(shown) == len(rows) else f" A sample of {len(shown):,} rows."
    ends = fit_axis(np.concatenate([y, predicted]), "")
    caption = f"True against predicted {target} of held-out rows; the dashed line is the diagonal.{sample}"
    across, up = Axis(ends.low, ends.high, f"predicted {target}"), Axis(ends.low, ends.high, f"true {target}")
    scatter = Chart(across, up, caption)
    scatter.rule([ends.low, ends.high], [ends.low, ends.high])
    scatter.points(predicted[shown], y[shown], radius=2.5)
    residuals = y - predicted
    about = (
        f"Residuals (true − predicted): mean {show_number(float(residuals.mean()))}, standard deviation "
        f"{show_number(float(residuals.std()))}, median absolute {show_number(float(np.median(np.abs(residuals))))}."
    )
    spread = Chart(
        Axis(ends.low, ends.high, f"predicted {target}"),
        fit_axis(residuals[shown], "residual"),
        "Residuals by prediction",
    )
    spread.rule([ends.low, ends.high], [0.0, 0.0])
    spread.points(predicted[shown], residuals[shown], radius=2.5)
    figures = [
        make_figure(scatter.render(), caption),
        make_figure(spread.render(), f"Residuals by prediction.{sample}"),
        make_figure(draw_histogram(residuals, "residual", about), about),
    ]
    return f'<div class="figures">{"".join(figures)}</div>'


def describe_calibration(data: ReportData) -> Section:
    """The reliability diagram of probabilities, or of predicted values.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    y = data.truth
    if data.classes is None:
        target = data.problem.target
        caption = f"Mean true {target} in {_N_BINS} quantile bins of the prediction on held-out rows, ± standard error."
        axes = f"predicted {target}", f"mean true {target}"
        return Section("calibration", "Calibration", _draw_reliability(data.predicted, y, axes, caption))
    if data.probabilities is None:
        reason = f"Left out: {data.results.estimator} has no probabilities."
        return Section("calibration", "Calibration", f'<p class="absent">{escape(reason)}</p>')
    probabilities = data.probabilities
    truth = np.searchsorted(data.classes, y)
    brier = float(((probabilities - np.eye(len(data.classes))[truth]) ** 2).sum(axis=1).mean())
    if len(data.classes) == 2:
        probability, occurred = probabilities[:, 1], (truth == 1).astype(np.float64)
        label = truncate_text(data.classes[1], 24)
        axes = f"probability of {label}", f"share of {label}"
    else:
        best = probabilities.argmax(axis=1)
        probability, occurred = probabilities.max(axis=1), (best == truth).astype(np.float64)
        axes = "probability of the predicted class", "accuracy"
    gap = _measure_gap(probability, occurred)
    caption = (
        f"Observed frequency in {_N_BINS} quantile bins of the probability on held-out rows, ± standard error. Mean "
        f"distance from the dashed line: {show_number(gap, 3)}. Brier score: {show_number(brier, 3)}."
    )
    figures = _draw_reliability(probability, occurred, axes, caption)
    about = f"Histogram of the {axes[0]}."
    figures += f'<div class="figures">{make_figure(draw_histogram(probability, axes[0], about), about)}</div>'
    return Section("calibration", "Calibration", figures.replace('</div><div class="figures">', ""))


def _split_into_bins(values: FloatArray) -> list[NDArray[np.intp]]:
    """Indices of the values in quantile bins, in ascending order; equal values are in the same bin."""
    order = np.argsort(values, kind="stable")
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _N_BINS + 1)[1:-1]))
    ends = np.searchsorted(values[order], edges, side="right")
    return [part for part in np.split(order, ends) if len(part)]


def _measure_gap(probability: FloatArray, occurred: FloatArray) -> float:
    parts = _split_into_bins(probability)
    return float(sum(len(p) * abs(probability[p].mean() - occurred[p].mean()) for p in parts) / len(probability))


def _draw_reliability(predicted: FloatArray, occurred: FloatArray, axes: tuple[str, str], caption: str) -> str:
    parts = _split_into_bins(predicted)
    x, y = np.array([predicted[p].mean() for p in parts]), np.array([occurred[p].mean() for p in parts])
    error = np.array([occurred[p].std() / np.sqrt(len(p)) for p in parts])
    ends = fit_axis(np.concatenate([x, y - error, y + error]), "")
    chart = Chart(Axis(ends.low, ends.high, axes[0]), Axis(ends.low, ends.high, axes[1]), caption)
    chart.rule([ends.low, ends.high], [ends.low, ends.high])
    chart.line(x, y)
    chart.errors(x, y - error, y + error)
    chart.points(x, y, radius=4.5)
    return f'<div class="figures">{make_figure(chart.render(), caption)}</div>'


def describe_largest_errors(data: ReportData, ranked: list[str]) -> Section:
    """The rows with the largest errors.

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
    problem, rows = data.problem, data.rows
    y, predicted = data.truth, data.predicted
    title = "Largest errors"
    if data.classes is None:
        size = np.abs(y - predicted)
        headings = [">row", f">true {problem.target}", ">predicted", ">residual"]
        caption = "Held-out rows with the largest residuals. Are their values correct?"
    elif data.probabilities is None:
        reason = f"Left out: {data.results.estimator} has no probabilities."
        return Section("surprises", title, f'<p class="absent">{escape(reason)}</p>')
    else:
        given = data.probabilities[np.arange(len(y)), np.searchsorted(data.classes, y)]
        size = 1.0 - given
        headings = [">row", f"true {problem.target}", "predicted", ">probability of the true class"]
        caption = "Held-out rows with the lowest probability of the true class. Are their labels correct?"
    top = np.argsort(-size, kind="stable")[:_N_LARGEST]
    top = top[size[top] > 0.0]
    if not len(top):
        return Section("surprises", title, '<p class="absent">None: every row was predicted without error.</p>')
    features = ranked[:_SHOWN_FEATURES]
    calendar = {column.name for column in problem.columns if column.is_calendar}
    lines = []
    for k in top:
        values = [
            _show_value(problem.features.column(name)[int(rows[k])].as_py(), name in calendar) for name in features
        ]
        if data.classes is None:
            cells = [show_number(float(x)) for x in (y[k], predicted[k], y[k] - predicted[k])]
        else:
            cells = [escape(truncate_text(y[k], 40)), escape(truncate_text(predicted[k], 40)), f"{given[k]:.3f}"]
        lines.append([f"{rows[k] + 1:,}", *cells, *values])
    note = "Rows are numbered from 1, without those that have no target. "
    note += "The last columns are the most important features." if features else ""
    table = make_html_table([*headings, *(truncate_text(name, 30) for name in features)], lines, caption)
    return Section("surprises", title, f"{table}<p>{note}</p>")


def _show_value(value: object, is_date: bool) -> str:
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        return show_date(value) if is_date else show_number(value)
    return escape(truncate_text(value, 40))
