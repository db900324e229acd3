"""Where the model errs, on rows that it had not seen: confusion or residuals, calibration, the most surprising rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.report.charts import Axis, Chart, draw_histogram, draw_matrix, fit_axis
from committee.cli.report.dates import show_date
from committee.cli.report.markup import Section, escape, make_figure, make_table, shorten, show_number
from committee.typing import FloatArray

if TYPE_CHECKING:
    from committee.cli.report.report_data import Evidence

__all__ = ["describe_calibration", "describe_mistakes", "describe_surprises"]

_MOST_CLASSES = 26
_MOST_POINTS = 1000
_N_BINS = 10
_N_SURPRISES = 10
_SHOWN_FEATURES = 4


def describe_mistakes(evidence: Evidence) -> Section:
    """Which classes are taken for which, or how far predictions are off.

    Parameters
    ----------
    evidence : Evidence
        What models said of rows that they had not seen.

    Returns
    -------
    Section
    """
    if evidence.classes is None:
        return Section("residuals", "Residuals", _describe_residuals(evidence))
    return Section("confusion", "Confusion matrix", _describe_confusion(evidence))


def _describe_confusion(evidence: Evidence) -> str:
    assert evidence.classes is not None
    classes = evidence.classes
    y = evidence.truth
    truth, said = np.searchsorted(classes, y), np.searchsorted(classes, evidence.predicted)
    counts = np.zeros((len(classes), len(classes)), dtype=np.intp)
    np.add.at(counts, (truth, said), 1)
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    labels = [str(classes[k]) for k in shown]
    more = (
        f" Only the {_MOST_CLASSES} most frequent of {len(classes)} classes are shown."
        if len(classes) > len(shown)
        else ""
    )
    told = f"Held-out rows by true and predicted class; the stronger the colour, the larger the share of the row.{more}"
    right, hits = counts.diagonal(), np.maximum(counts.sum(axis=0), 1)
    table = make_table(
        ["class", ">rows", ">found", ">right when said"],
        [
            [
                escape(shorten(str(classes[k]))),
                f"{counts[k].sum():,}",
                f"{right[k] / max(counts[k].sum(), 1):.1%}",
                f"{right[k] / hits[k]:.1%}" if counts[:, k].sum() else "–",
            ]
            for k in shown
        ],
        "Each class: the share that was found (recall), and how often its name was right (precision)",
    )
    picture = make_figure(draw_matrix(labels, counts[np.ix_(shown, shown)], told), told)
    return f'<div class="figures">{picture}<div>{table}</div></div>'


def _describe_residuals(evidence: Evidence) -> str:
    rows = evidence.rows
    y, said = evidence.truth, evidence.predicted
    target = evidence.problem.target
    shown = np.arange(len(rows))
    if len(rows) > _MOST_POINTS:
        shown = np.sort(np.random.default_rng(evidence.plan.seed).choice(len(rows), _MOST_POINTS, replace=False))
    sample = "" if len(shown) == len(rows) else f" A sample of {len(shown):,} rows."
    ends = fit_axis(np.concatenate([y, said]), "")
    told = f"True against predicted {target} of held-out rows; on the dashed line both are equal.{sample}"
    scatter = Chart(Axis(ends.low, ends.high, f"predicted {target}"), Axis(ends.low, ends.high, f"true {target}"), told)
    scatter.rule([ends.low, ends.high], [ends.low, ends.high])
    scatter.points(said[shown], y[shown], radius=2.5)
    residuals = y - said
    about = (
        f"Residuals (true − predicted): mean {show_number(float(residuals.mean()))}, standard deviation "
        f"{show_number(float(residuals.std()))}, median size {show_number(float(np.median(np.abs(residuals))))}."
    )
    spread = Chart(
        Axis(ends.low, ends.high, f"predicted {target}"),
        fit_axis(residuals[shown], "residual"),
        "Residuals by prediction",
    )
    spread.rule([ends.low, ends.high], [0.0, 0.0])
    spread.points(said[shown], residuals[shown], radius=2.5)
    figures = [
        make_figure(scatter.render(), told),
        make_figure(spread.render(), f"Residuals by prediction.{sample}"),
        make_figure(draw_histogram(residuals, "residual", about), about),
    ]
    return f'<div class="figures">{"".join(figures)}</div>'


def describe_calibration(evidence: Evidence) -> Section:
    """Whether probabilities are frequencies, or predictions averages.

    Parameters
    ----------
    evidence : Evidence
        What models said of rows that they had not seen.

    Returns
    -------
    Section
    """
    y = evidence.truth
    if evidence.classes is None:
        said = evidence.predicted
        target = evidence.problem.target
        told = f"Mean true {target} in {_N_BINS} equal parts of the held-out rows by prediction, ± standard error."
        axes = f"predicted {target}", f"mean true {target}"
        return Section("calibration", "Calibration", _draw_reliability(said, y, axes, told))
    if evidence.shares is None:
        reason = f"Left out: {evidence.findings.estimator} gives no probabilities."
        return Section("calibration", "Calibration", f'<p class="absent">{escape(reason)}</p>')
    shares = evidence.shares
    truth = np.searchsorted(evidence.classes, y)
    brier = float(((shares - np.eye(len(evidence.classes))[truth]) ** 2).sum(axis=1).mean())
    if len(evidence.classes) == 2:
        chance, came = shares[:, 1], (truth == 1).astype(np.float64)
        label = shorten(evidence.classes[1], 24)
        axes = f"probability of {label}", f"share of {label}"
    else:
        best = shares.argmax(axis=1)
        chance, came = shares.max(axis=1), (best == truth).astype(np.float64)
        axes = "probability of the predicted class", "share of right predictions"
    gap = _measure_gap(chance, came)
    told = (
        f"What came true in {_N_BINS} equal parts of the held-out rows by probability, ± standard error. Mean distance "
        f"from the dashed line: {show_number(gap, 3)}. Brier score (squared error of all probabilities): "
        f"{show_number(brier, 3)}."
    )
    figures = _draw_reliability(chance, came, axes, told)
    about = f"How often each {axes[0]} was given."
    figures += f'<div class="figures">{make_figure(draw_histogram(chance, axes[0], about), about)}</div>'
    return Section("calibration", "Calibration", figures.replace('</div><div class="figures">', ""))


def _cut(values: FloatArray) -> list[NDArray[np.intp]]:
    """Places of the values in parts of equal size, from the smallest to the largest; equal values stay together."""
    order = np.argsort(values, kind="stable")
    edges = np.unique(np.quantile(values, np.linspace(0, 1, _N_BINS + 1)[1:-1]))
    ends = np.searchsorted(values[order], edges, side="right")
    return [part for part in np.split(order, ends) if len(part)]


def _measure_gap(chance: FloatArray, came: FloatArray) -> float:
    parts = _cut(chance)
    return float(sum(len(p) * abs(chance[p].mean() - came[p].mean()) for p in parts) / len(chance))


def _draw_reliability(said: FloatArray, came: FloatArray, axes: tuple[str, str], told: str) -> str:
    parts = _cut(said)
    x, y = np.array([said[p].mean() for p in parts]), np.array([came[p].mean() for p in parts])
    error = np.array([came[p].std() / np.sqrt(len(p)) for p in parts])
    ends = fit_axis(np.concatenate([x, y - error, y + error]), "")
    chart = Chart(Axis(ends.low, ends.high, axes[0]), Axis(ends.low, ends.high, axes[1]), told)
    chart.rule([ends.low, ends.high], [ends.low, ends.high])
    chart.line(x, y)
    chart.errors(x, y - error, y + error)
    chart.points(x, y, radius=4.5)
    return f'<div class="figures">{make_figure(chart.render(), told)}</div>'


def describe_surprises(evidence: Evidence, ranked: list[str]) -> Section:
    """The rows that the models expected least.

    Parameters
    ----------
    evidence : Evidence
        What models said of rows that they had not seen.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    Section
    """
    problem, rows = evidence.problem, evidence.rows
    y, said = evidence.truth, evidence.predicted
    title = "Most surprising rows"
    if evidence.classes is None:
        size = np.abs(y - said)
        headings = [">row", f">true {problem.target}", ">predicted", ">residual"]
        told = "Held-out rows whose prediction is furthest off. Are the values right?"
    elif evidence.shares is None:
        reason = f"Left out: {evidence.findings.estimator} gives no probabilities."
        return Section("surprises", title, f'<p class="absent">{escape(reason)}</p>')
    else:
        given = evidence.shares[np.arange(len(y)), np.searchsorted(evidence.classes, y)]
        size = 1.0 - given
        headings = [">row", f"true {problem.target}", "predicted", ">probability of the truth"]
        told = "Held-out rows whose true class got the least probability. Are the labels right?"
    top = np.argsort(-size, kind="stable")[:_N_SURPRISES]
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
        if evidence.classes is None:
            facts = [show_number(float(y[k])), show_number(float(said[k])), show_number(float(y[k] - said[k]))]
        else:
            facts = [escape(shorten(y[k], 40)), escape(shorten(said[k], 40)), f"{given[k]:.3f}"]
        lines.append([f"{rows[k] + 1:,}", *facts, *values])
    note = "Rows are numbered from 1, those without a target left out. "
    note += "The last columns are the features that matter most." if features else ""
    table = make_table([*headings, *(shorten(name, 30) for name in features)], lines, told)
    return Section("surprises", title, f"{table}<p>{note}</p>")


def _show_value(value: Any, is_date: bool) -> str:
    if value is None or value != value:
        return "–"
    if is_date:
        return show_date(value)
    if isinstance(value, float):
        return show_number(value)
    return escape(shorten(value, 40))
