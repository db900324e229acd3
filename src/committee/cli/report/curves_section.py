"""ROC, precision and recall, and calibration of classifiers; predicted against true values of regressors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from sklearn.metrics import precision_recall_curve, roc_curve

from committee.cli.report.charts import N_COLORS, Axis, Chart, draw_histogram, fit_axis
from committee.cli.report.fold_observer import measure_brier
from committee.cli.report.markup import Section, escape, make_figure, show_number, truncate_text

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.cli.report.scored_rows import ScoredRows
    from committee.typing import FloatArray

__all__ = [
    "describe_curves",
    "draw_precision_recall",
    "draw_reliability",
    "draw_roc",
    "list_curve_classes",
]

_N_BINS = 10
_MOST_POINTS = 1000
_MOST_STEPS = 120
_MOST_TIPS = 24


def describe_curves(scored: ScoredRows) -> Section:
    """ROC and precision-recall curves beside calibration, or predicted against true values.

    Parameters
    ----------
    scored : ScoredRows
        The rows.

    Returns
    -------
    Section
    """
    if scored.classes is None:
        return Section("calibration", "Predicted against true values", _join(_draw_values(scored)))
    title = "ROC, precision, recall, calibration"
    if scored.probabilities is None:
        reason = f"Left out: {scored.estimator} has no probabilities."
        return Section("calibration", title, f'<p class="absent">{escape(reason)}</p>')
    shown = list_curve_classes(scored)
    figures = [draw_roc(scored, shown), draw_precision_recall(scored, shown)] if shown else []
    text = ""
    if len(shown) > 1:
        every = f"the {len(shown)} classes with the lowest area" if len(shown) < len(scored.labels) else "all classes"
        text = f"<p>Curves of each class against the rest: {every}.</p>"
    elif not shown:
        text = '<p class="absent">No curves: all rows are of one class.</p>'
    return Section("calibration", title, text + _join([*figures, *_draw_calibration(scored)]))


def _join(figures: Sequence[str]) -> str:
    return f'<div class="figures">{"".join(figures)}</div>'


def list_curve_classes(scored: ScoredRows) -> list[int]:
    """Classes to draw curves of: the second of two, else those with the lowest areas under the ROC curve.

    Parameters
    ----------
    scored : ScoredRows
        The rows.

    Returns
    -------
    list of int
        Their numbers, ascending; classes that have all rows or none are left out.
    """
    areas = scored.areas
    known = [k for k in range(len(areas)) if np.isfinite(areas[k, 0])]
    if len(scored.labels) == 2:
        return [1] if known else []
    return sorted(sorted(known, key=lambda k: areas[k, 0])[:N_COLORS])


def _thin(n_points: int, most: int) -> NDArray[np.intp]:
    return np.unique(np.linspace(0, n_points - 1, min(n_points, most)).round().astype(np.intp))


def _add_curve(
    chart: Chart,
    color: int,
    label: str,
    area: float,
    curve: tuple[FloatArray, FloatArray, FloatArray],
    words: str,
    n_classes: int,
) -> None:
    """Add the curve of a class, given as x, y and the probability from which on rows count as of the class."""
    x, y, limits = curve
    part = _thin(len(x), _MOST_STEPS)
    chart.line(x[part], y[part], color, f"{truncate_text(label, 16)} {area:.3f}" if n_classes > 1 else "")
    some = _thin(len(limits), _MOST_TIPS if n_classes < 4 else _MOST_TIPS // 2)
    some = some[np.isfinite(limits[some])]  # a ROC curve begins where no row counts as of the class
    tips = [f"{label}, probability from {limits[i]:.3f}: {words.format(x[i], y[i])}" for i in some]
    chart.tips(x[some], y[some], tips, color)


def draw_roc(scored: ScoredRows, classes: Sequence[int]) -> str:
    """ROC curves of classes against the rest.

    Parameters
    ----------
    scored : ScoredRows
        The rows, with probabilities.
    classes : sequence of int
        Numbers of the classes.

    Returns
    -------
    str
        HTML of a figure.
    """
    assert scored.probabilities is not None
    areas = scored.areas[:, 0]
    caption = f"ROC curve on {scored.where}; the dashed line is chance."
    if len(classes) == 1:
        name, area = truncate_text(scored.labels[classes[0]], 30), areas[classes[0]]
        caption = f"ROC curve of {name} on {scored.where}: area {area:.3f}; the dashed line is chance, 0.5."
    chart = Chart(Axis(0.0, 1.0, "false positive rate"), Axis(0.0, 1.0, "true positive rate"), caption)
    chart.rule([0.0, 1.0], [0.0, 1.0])
    for color, k in enumerate(classes):
        across, up, limits = roc_curve(scored.codes == k, scored.probabilities[:, k])
        words = "{1:.1%} of its rows found, and {0:.1%} of the others"
        _add_curve(chart, color, scored.labels[k], areas[k], (across, up, limits), words, len(classes))
    return make_figure(chart.render(), caption)


def draw_precision_recall(scored: ScoredRows, classes: Sequence[int]) -> str:
    """Precision by recall of classes.

    Parameters
    ----------
    scored : ScoredRows
        The rows, with probabilities.
    classes : sequence of int
        Numbers of the classes.

    Returns
    -------
    str
        HTML of a figure.
    """
    assert scored.probabilities is not None
    areas = scored.areas[:, 1]
    caption = f"Precision by recall on {scored.where}; the legend has the average precision."
    share = 0.0
    if len(classes) == 1:
        share = float((scored.codes == classes[0]).mean())
        name, area = truncate_text(scored.labels[classes[0]], 30), areas[classes[0]]
        caption = (
            f"Precision by recall of {name} on {scored.where}: average precision {area:.3f}; the dashed line is "
            f"chance, {share:.3f}."
        )
    chart = Chart(Axis(0.0, 1.0, "recall"), Axis(0.0, 1.0, "precision"), caption)
    if share:
        chart.rule([0.0, 1.0], [share, share])
    for color, k in enumerate(classes):
        precision, recall, limits = precision_recall_curve(
            scored.codes == k, scored.probabilities[:, k], drop_intermediate=True
        )
        words = "recall {0:.1%}, precision {1:.1%}"
        _add_curve(chart, color, scored.labels[k], areas[k], (recall, precision, limits), words, len(classes))
    return make_figure(chart.render(), caption)


def _draw_calibration(scored: ScoredRows) -> list[str]:
    probabilities, classes = scored.probabilities, scored.labels
    assert probabilities is not None
    brier = measure_brier(probabilities, np.eye(len(classes))[scored.codes])
    if len(classes) == 2:
        probability, occurred = probabilities[:, 1], (scored.codes == 1).astype(np.float64)
        label = truncate_text(classes[1], 24)
        axes = f"probability of {label}", f"share of {label}"
    else:
        probability = probabilities.max(axis=1)
        occurred = (probabilities.argmax(axis=1) == scored.codes).astype(np.float64)
        axes = "probability of the predicted class", "accuracy"
    caption = (
        f"Calibration: observed frequency in {_N_BINS} quantile bins of the probability on {scored.where}, ± standard "
        f"error. Mean distance from the dashed line: {show_number(_measure_gap(probability, occurred), 3)}. Brier "
        f"score: {show_number(brier, 3)}."
    )
    about = f"Histogram of the {axes[0]}."
    return [
        draw_reliability(probability, occurred, axes, caption),
        make_figure(draw_histogram(probability, axes[0], about), about),
    ]


def _split_into_bins(values: FloatArray) -> list[NDArray[np.intp]]:
    """Indices of the values in quantile bins, in ascending order; equal values are in the same bin."""
    order = np.argsort(values, kind="stable")
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _N_BINS + 1)[1:-1]))
    ends = np.searchsorted(values[order], edges, side="right")
    return [part for part in np.split(order, ends) if len(part)]


def _measure_gap(probability: FloatArray, occurred: FloatArray) -> float:
    parts = _split_into_bins(probability)
    return float(sum(len(p) * abs(probability[p].mean() - occurred[p].mean()) for p in parts) / len(probability))


def draw_reliability(predicted: FloatArray, occurred: FloatArray, axes: tuple[str, str], caption: str) -> str:
    """Mean outcome in quantile bins of the prediction, beside the diagonal.

    Parameters
    ----------
    predicted, occurred : ndarray of shape (n_rows,)
        Predictions and outcomes.
    axes : tuple of two str
        Labels of the axes.
    caption : str
        Of the figure.

    Returns
    -------
    str
        HTML of a figure.
    """
    parts = _split_into_bins(predicted)
    x, y = np.array([predicted[p].mean() for p in parts]), np.array([occurred[p].mean() for p in parts])
    error = np.array([occurred[p].std() / np.sqrt(len(p)) for p in parts])
    ends = fit_axis(np.concatenate([x, y - error, y + error]), "")
    chart = Chart(Axis(ends.low, ends.high, axes[0]), Axis(ends.low, ends.high, axes[1]), caption)
    chart.rule([ends.low, ends.high], [ends.low, ends.high])
    chart.line(x, y)
    chart.errors(x, y - error, y + error)
    tips = [
        f"{len(p):,} rows: predicted {show_number(a, 3)} on average, observed {show_number(b, 3)} ± {show_number(e, 2)}"
        for p, a, b, e in zip(parts, x.tolist(), y.tolist(), error.tolist(), strict=True)
    ]
    chart.points(x, y, radius=4.5, tips=tips)
    return make_figure(chart.render(), caption)


def _draw_values(scored: ScoredRows) -> list[str]:
    y, predicted, target = scored.truth, scored.predicted, scored.target
    shown = scored.sample(_MOST_POINTS)
    sample = "" if len(shown) == len(y) else f" A sample of {len(shown):,} rows."
    ends = fit_axis(np.concatenate([y, predicted]), "")
    caption = f"True against predicted {target} of {scored.where}; the dashed line is the diagonal.{sample}"
    across, up = Axis(ends.low, ends.high, f"predicted {target}"), Axis(ends.low, ends.high, f"true {target}")
    scatter = Chart(across, up, caption)
    scatter.rule([ends.low, ends.high], [ends.low, ends.high])
    tips = [
        f"Row {scored.numbers[k] + 1:,}: predicted {show_number(float(predicted[k]))}, true {show_number(float(y[k]))}"
        for k in shown
    ]
    scatter.points(predicted[shown], y[shown], radius=2.5, tips=tips)
    residuals = y - predicted
    about = (
        f"Residuals (true − predicted): mean {show_number(float(residuals.mean()))}, standard deviation "
        f"{show_number(float(residuals.std()))}, median absolute {show_number(float(np.median(np.abs(residuals))))}."
    )
    spread = Chart(across, fit_axis(residuals[shown], "residual"), "Residuals by prediction.")
    spread.rule([ends.low, ends.high], [0.0, 0.0])
    spread.points(predicted[shown], residuals[shown], radius=2.5, tips=tips)
    mean_caption = (
        f"Calibration: mean {target} in {_N_BINS} quantile bins of the prediction on {scored.where}, ± standard error."
    )
    return [
        make_figure(scatter.render(), caption),
        draw_reliability(predicted, y, (f"predicted {target}", f"mean {target}"), mean_caption),
        make_figure(spread.render(), f"Residuals by prediction.{sample}"),
        make_figure(draw_histogram(residuals, "residual", about), about),
    ]
