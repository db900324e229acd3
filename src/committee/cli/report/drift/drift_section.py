"""The drift of a new table: a word for it, a table of all columns, and larger figures of those that drifted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import draw_paired_histogram, draw_spark_pair
from committee.cli.report.drift.distances import ColumnDrift
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, show_number, truncate_text

if TYPE_CHECKING:
    from committee.cli.report.drift.training_summary import TrainingSummary

__all__ = ["describe_drift"]

_MOST_ROWS = 60
_MOST_FIGURES = 6
_MOST_REMARKS = 8
_WORDS = {"none": "as\u00a0before", "moderate": "moderate", "large": "large"}


def describe_drift(
    drifts: Sequence[ColumnDrift], outcomes: Sequence[ColumnDrift], training: TrainingSummary | None
) -> Section:
    """Drift of the columns against the training table.

    Parameters
    ----------
    drifts : sequence of ColumnDrift
        The features, the largest drift first.
    outcomes : sequence of ColumnDrift
        Predictions and, if it is known, the target.
    training : TrainingSummary or None
        The training table.

    Returns
    -------
    Section
    """
    title = "Drift against the training table"
    if training is None:
        reason = (
            "Not measured: the model file has no summary of its training table. Files that committee fit writes have "
            "one."
        )
        return Section("drift", title, f'<p class="absent">{reason}</p>')
    unusual = [one for one in drifts if one.level != "none"]
    parts = [f"<p>{escape(_say_what_is_unusual(drifts, unusual))}</p>"]
    remarks = "".join(
        f'<li><strong class="level-{one.level}">{escape(truncate_text(one.name, 60))}</strong>: '
        f"{escape('; '.join(one.remarks))}</li>"
        for one in [*outcomes, *unusual][:_MOST_REMARKS]
        if one.level != "none"
    )
    if remarks:
        parts.append(f"<ul>{remarks}</ul>")
    parts.append(_make_table([*outcomes, *drifts[:_MOST_ROWS]], training))
    if len(drifts) > _MOST_ROWS:
        parts.append(f"<p>… and {len(drifts) - _MOST_ROWS:,} more columns with smaller drift.</p>")
    figures = [_draw(one) for one in [*outcomes, *unusual[:_MOST_FIGURES]] if one.labels]
    if figures:
        parts.append(f'<div class="figures">{"".join(figures)}</div>')
    parts.append(f'<p class="absent">{_EXPLANATION}</p>')
    return Section("drift", title, "\n".join(parts))


_EXPLANATION = (
    "The population stability index sums (q − p) log(q / p) over bins, p and q their shares in the training table and "
    "in the new one; up to 0.1 counts as small, from 0.25 as large, if a chi-square test agrees at 1 % divided by the "
    "number of columns. The distance is the largest difference of the distribution functions (Kolmogorov-Smirnov, at "
    "the quantiles of the training table), or half the sum of the differences of the shares of categories."
)


def _say_what_is_unusual(drifts: Sequence[ColumnDrift], unusual: Sequence[ColumnDrift]) -> str:
    if not unusual:
        return f"Nothing unusual: none of the {len(drifts):,} columns has drifted beyond chance."
    n_large = sum(one.level == "large" for one in unusual)
    verb = "has" if len(unusual) == 1 else "have"
    text = f"{len(unusual):,} of {len(drifts):,} columns {verb} drifted, {n_large:,} of them much."
    known = [one for one in drifts if one.importance is not None and one.importance > 0.0]
    total = sum(one.importance or 0.0 for one in known)
    share = sum(one.importance or 0.0 for one in known if one.level != "none") / total if total else float("nan")
    if np.isfinite(share):
        text += f" They hold {share:.0%} of the importance of all columns in the model."
    return text


def _make_table(drifts: Sequence[ColumnDrift], training: TrainingSummary) -> str:
    rows = []
    for one in drifts:
        before, now = one.missing
        missing = "–" if before == now == 0.0 else f"{before:.1%} → {now:.1%}"
        rows.append(
            [
                escape(truncate_text(one.name, 60)),
                f'<span class="level-{one.level}">{_WORDS[one.level]}</span>',
                show_number(one.stability, 3),
                show_number(one.distance, 3),
                missing,
                _draw_small(one),
                escape("; ".join(one.remarks)) or "–",
            ]
        )
    headings = ["column", "drift", ">stability index", ">distance", ">missing", "grey: training, line: new", "remarks"]
    return make_html_table(headings, rows, f"The columns beside those of {training.source}, {training.n_rows:,} rows")


def _make_tips(one: ColumnDrift) -> list[str]:
    return [
        f"{label}: training {before:.1%}, new {now:.1%}"
        for label, before, now in zip(one.labels, *one.shares, strict=True)
    ]


def _draw_small(one: ColumnDrift) -> str:
    if not one.labels:
        return ""
    alt = f"Distribution of {one.name} in the training table and in the new one"
    return draw_spark_pair(*one.shares, alt, _make_tips(one))


def _draw(one: ColumnDrift) -> str:
    caption = f"{one.name}: shares of the training table and of the new one."
    names = "training", "new"
    bars = draw_paired_histogram(
        one.labels, one.shares, names, one.name, caption, edges=one.edges, calendar=one.is_calendar
    )
    return make_figure(bars, caption)
