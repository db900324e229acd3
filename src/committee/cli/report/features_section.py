"""What the model's answers rest on: importance of the features, and how the answers depend on them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from committee.cli.report.charts import Axis, Chart, draw_bars, draw_dots, fit_axis
from committee.cli.report.markup import Section, escape, make_figure, make_table, shorten, show_number
from committee.cli.report.model_queries import hold_fixed

if TYPE_CHECKING:
    from committee.cli.problem import Column
    from committee.cli.report.report_data import Evidence
    from committee.typing import FloatArray

__all__ = ["describe_dependence", "describe_importance", "rank_features"]

_MOST_BARS = 20
_MOST_DEPENDENCES = 6
_MOST_LINES = 6
_SAMPLE = 200
_GRID = 25
_MOST_LEVELS = 10


def rank_features(evidence: Evidence) -> list[str]:
    """Features, the most important first: by shuffles where there are any, else by what the model says itself.

    Parameters
    ----------
    evidence : Evidence
        What is known.

    Returns
    -------
    list of str
        Those that matter at all.
    """
    names = evidence.problem.features.column_names
    if evidence.witness.shuffles:
        drop = np.concatenate(evidence.witness.shuffles, axis=1).mean(axis=1)
        own = [evidence.findings.importances.get(name, 0.0) for name in names]
        order = sorted(range(len(names)), key=lambda k: (-drop[k], -own[k]))
        return [names[k] for k in order if drop[k] > 0.0 or own[k] > 0.0]
    return [name for name, value in evidence.findings.importances.items() if value > 0.0]


def describe_importance(evidence: Evidence) -> Section:
    """How much worse predictions get without a feature.

    Parameters
    ----------
    evidence : Evidence
        What is known.

    Returns
    -------
    Section
    """
    title = "Importance of the features"
    figures, rows = [], []
    names = evidence.problem.features.column_names
    metric = evidence.witness.judge
    mean, spread = np.zeros(len(names)), np.zeros(len(names))
    ranked = rank_features(evidence)[:_MOST_BARS]
    if evidence.witness.shuffles:
        drops = np.concatenate(evidence.witness.shuffles, axis=1)
        mean, spread = drops.mean(axis=1), drops.std(axis=1)
        places = [names.index(name) for name in ranked]
        where = "on held-out rows" if evidence.witness.held_out else "on training rows (it was fitted once, on all)"
        word = "Loss of" if metric.sign > 0 else "Growth of"
        told = (
            f"{word} {metric.name} {where} when the values of a feature are shuffled: mean of {drops.shape[1]} "
            "measurements, line ± standard deviation."
        )
        label = f"{word.lower()} {metric.name}"
        figures.append(make_figure(draw_bars(ranked, mean[places], label, told, errors=spread[places]), told))
    else:
        figures.append(f'<p class="absent">No shuffles: {escape(evidence.witness.why_no_shuffles)}.</p>')
    own = {name: value for name, value in evidence.findings.importances.items() if value > 0.0}
    if own:
        first = list(own)[:_MOST_BARS]
        told = "What the model itself says: its splits' share in the decrease of impurity, on training rows."
        figures.append(make_figure(draw_bars(first, [own[name] for name in first], "share", told), told))
    else:
        figures.append(f'<p class="absent">{escape(evidence.findings.estimator)} has no importances of its own.</p>')
    for name in ranked:
        k = names.index(name)
        shuffled = f"{show_number(mean[k], 3)} ± {show_number(spread[k], 2)}" if evidence.witness.shuffles else "–"
        rows.append([escape(shorten(name)), shuffled, f"{own[name]:.3f}" if name in own else "–"])
    table = make_table(["feature", ">by shuffling", ">by splits"], rows, "The same in numbers") if rows else ""
    return Section("importance", title, f'<div class="figures">{"".join(figures)}</div>{table}')


def describe_dependence(evidence: Evidence, ranked: list[str]) -> Section:
    """How the answers change with the features that matter most.

    Parameters
    ----------
    evidence : Evidence
        What is known.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    Section
    """
    title, problem = "Dependence on single features", evidence.problem
    if not ranked:
        return Section("dependence", title, '<p class="absent">Left out: no feature matters to this model.</p>')
    rng = np.random.default_rng(evidence.plan.seed)
    rows = np.sort(rng.choice(problem.n_rows, min(_SAMPLE, problem.n_rows), replace=False))
    sample = problem.features.take(rows)
    columns = {column.name: column for column in problem.columns}
    figures = [
        _draw_dependence(evidence, evidence.findings.model, columns[name], sample)
        for name in ranked[:_MOST_DEPENDENCES]
    ]
    text = (
        f"<p>Mean answer of the model over {len(rows):,} rows when one feature is set to the same value in all of them "
        "(partial dependence). Band and line hold the middle 80 % of the rows, each moved to the same average: where "
        "they are wide, the feature works differently in different rows.</p>"
    )
    return Section("dependence", title, f'{text}<div class="figures">{"".join(figures)}</div>')


def _draw_dependence(evidence: Evidence, model: Any, column: Column, sample: pa.Table) -> str:
    problem, classes = evidence.problem, evidence.classes
    values = problem.features.column(column.name)
    ordered = column.kind in ("number", "date")
    places, marks = _choose_values(values, ordered)
    answers = hold_fixed(model, sample, problem.features.column_names.index(column.name), values, places)
    if classes is None or len(classes) == 2:
        label = f"predicted {problem.target}" if classes is None else f"probability of {shorten(classes[1], 20)}"
        picture = _draw_one(column, marks, answers[:, :, -1], label, clip=classes is not None)
    else:
        picture = _draw_classes(column, marks, answers.mean(axis=1), [str(c) for c in model.classes_])
    return make_figure(picture, f"Dependence on {shorten(column.name, 60)}.")


def _make_axis(column: Column, marks: list[Any]) -> tuple[Axis, FloatArray]:
    """The values of a feature as an axis, and where they lie on it."""
    if column.kind in ("number", "date"):
        unit = " (seconds)" if column.kind == "date" and not column.is_calendar else ""
        return replace(fit_axis(marks, column.name + unit), calendar=column.is_calendar), np.array(marks)
    return Axis(-0.5, len(marks) - 0.5, column.name, names=tuple(map(str, marks))), np.arange(float(len(marks)))


def _draw_one(column: Column, marks: list[Any], curves: FloatArray, label: str, *, clip: bool) -> str:
    mean = curves.mean(axis=1)
    low, high = np.quantile(curves - curves.mean(axis=0) + mean.mean(), [0.1, 0.9], axis=1)
    if clip:
        low, high = low.clip(0.0, 1.0), high.clip(0.0, 1.0)
    up, told = fit_axis([low, high, mean], label), f"{label} by {column.name}"
    if column.kind not in ("number", "date"):
        return draw_dots(list(map(str, marks)), mean, low, high, up, told)
    across, x = _make_axis(column, marks)
    chart = Chart(across, up, told, height=260)
    chart.band(x, low, high)
    chart.line(x, mean)
    return chart.render()


def _draw_classes(column: Column, marks: list[Any], means: FloatArray, classes: list[str]) -> str:
    """The classes whose probability changes most."""
    shown = np.sort(np.argsort(-np.ptp(means, axis=0), kind="stable")[:_MOST_LINES])
    across, x = _make_axis(column, marks)
    told = f"Probability of each class by {column.name}"
    chart = Chart(across, fit_axis(means[:, shown], "probability"), told, height=260)
    for color, k in enumerate(shown):
        if column.kind in ("number", "date"):
            chart.line(x, means[:, k], color, classes[k])
        else:
            chart.points(x, means[:, k], color, classes[k], radius=5)
    return chart.render()


def _choose_values(values: pa.ChunkedArray, ordered: bool) -> tuple[list[int], list[Any]]:
    """Rows that hold the values to try, and these values: quantiles of numbers, the most frequent of the others."""
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
    levels = [one["values"] for one in counted[:_MOST_LEVELS]]
    return [pc.index(plain, pa.scalar(level, plain.type)).as_py() for level in levels], levels
