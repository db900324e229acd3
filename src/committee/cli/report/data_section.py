"""The cards at the top of the page, and the description of the table."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from committee.cli.problem import write_numbers
from committee.cli.report.charts import draw_bars, draw_histogram, draw_spark
from committee.cli.report.dates import DAY, show_date
from committee.cli.report.drift.training_summary import count_levels
from committee.cli.report.markup import (
    Section,
    allow_breaks,
    escape,
    make_figure,
    make_html_table,
    show_estimate,
    show_number,
    truncate_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.cli.problem import ColumnSummary, LearningProblem
    from committee.cli.report.report_data import ReportData

__all__ = ["describe_cards", "describe_data"]

_MOST_COLUMNS = 60
_MOST_CLASSES = 30
_MOST_CATEGORIES = 12


def describe_cards(data: ReportData) -> str:
    """Table, target, estimator and score, as cards.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    str
        HTML.
    """
    problem = data.problem
    name, first = next(iter(data.results.comparisons.items()))
    cards = [
        (
            "Table",
            escape(truncate_text(problem.source, 40)),
            f"{problem.n_rows:,} rows, {len(problem.columns):,} features",
        ),
        ("Target", escape(truncate_text(problem.target, 40)), problem.task),
        ("Estimator", allow_breaks(data.results.estimator), f"seed {data.plan.seed}"),
        (
            f"{escape(name)}, held out",
            show_estimate(first.model.mean, first.model.error).replace(" ±", " <small>±") + "</small>",
            f"naive guess {show_estimate(first.baseline.mean, first.model.error, with_error=False)}",
        ),
    ]
    body = "".join(
        f"<div><dt>{title}</dt><dd>{value}</dd><dd><small>{more}</small></dd></div>" for title, value, more in cards
    )
    return f'<dl class="cards">{body}</dl>'


def describe_data(problem: LearningProblem, others: Sequence[LearningProblem] = ()) -> Section:
    """The features and the target.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    others : sequence of LearningProblem
        Those of further targets of the same table.

    Returns
    -------
    Section
    """
    shown = problem.columns[:_MOST_COLUMNS]
    rows = [_describe_column(problem, column) for column in shown]
    parts = [
        make_html_table(
            ["feature", "type", ">missing", ">values", "distribution", "range or most frequent"],
            rows,
            f"The features of {problem.source}",
        )
    ]
    if len(problem.columns) > len(shown):
        parts.append(f"<p>… and {len(problem.columns) - len(shown):,} more.</p>")
    for one in (problem, *others):
        parts.append(f"<h3>Target: {escape(one.target)}</h3>")
        parts.append(_describe_target(one))
    parts += [f'<p class="note">{escape(notice)}</p>' for notice in problem.notices]
    return Section("data", "Data", "\n".join(parts))


def _describe_column(problem: LearningProblem, column: ColumnSummary) -> list[str]:
    values = problem.features.column(column.name)
    missing = f"{column.n_missing / problem.n_rows:.1%}" if column.n_missing else "–"
    kind, cells = column.kind, [escape(truncate_text(column.name)), column.kind, missing, f"{column.n_distinct:,}"]
    if kind in ("number", "date"):
        numbers = write_numbers(values).cast(pa.float64(), safe=False).drop_null().to_numpy()
        numbers = numbers[np.isfinite(numbers)]
        if not len(numbers):
            return [*cells, "", "–"]
        low, high, mean = float(numbers.min()), float(numbers.max()), float(numbers.mean())
        # The mean of a centred column is a rounding error.
        mean = 0.0 if abs(mean) < 1e-9 * (high - low) else mean
        show = show_date if column.is_calendar else show_number
        if column.is_calendar and low % DAY == high % DAY == 0.0:
            mean -= mean % DAY  # the mean of days is shown as a day
        text = f"{show(low)} to {show(high)}, mean {show(mean)}"
        counts, edges = np.histogram(numbers, bins=20)
        tips = [
            f"{show(a)} to {show(b)}: {n:,} rows" for (a, b), n in zip(pairwise(edges.tolist()), counts, strict=True)
        ]
        return [*cells, draw_spark(counts, f"Distribution of {column.name}", tips), text]
    categories = list(count_levels(values).items())
    text = ", ".join(f"{escape(truncate_text(one, 20))} {count / problem.n_rows:.0%}" for one, count in categories[:3])
    first = categories[:_MOST_CATEGORIES]
    tips = [f"{truncate_text(one, 60)}: {n:,} rows" for one, n in first]
    alt = f"Rows of each category of {column.name}, most frequent first"
    return [*cells, draw_spark([n for _, n in first], alt, tips), text]


def _describe_target(problem: LearningProblem) -> str:
    if not problem.has_classes:
        y = problem.values
        caption = (
            f"From {show_number(float(y.min()))} to {show_number(float(y.max()))}, "
            f"mean {show_number(float(y.mean()))}, standard deviation {show_number(float(y.std()))}."
        )
        return f'<div class="figures">{make_figure(draw_histogram(y, problem.target, caption), caption)}</div>'
    counts = list(problem.count_classes().items())
    rows = [
        [escape(truncate_text(label)), f"{n:,}", f"{n / problem.n_rows:.1%}"] for label, n in counts[:_MOST_CLASSES]
    ]
    more = f"<p>… and {len(counts) - _MOST_CLASSES:,} more.</p>" if len(counts) > _MOST_CLASSES else ""
    chart = draw_bars(
        [label for label, _ in counts[:_MOST_CLASSES]],
        [n for _, n in counts[:_MOST_CLASSES]],
        "rows",
        "Rows of each class",
    )
    table = make_html_table(["class", ">rows", ">share"], rows, "Class balance")
    return f'<div class="figures"><div>{table}{more}</div>{make_figure(chart, "Rows of each class.")}</div>'
