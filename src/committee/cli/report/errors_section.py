"""Errors: the confusion matrix, and the rows with the largest errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.problem import is_calendar_type, write_numbers
from committee.cli.report.charts import draw_matrix
from committee.cli.report.dates import show_date
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, show_number, truncate_text

if TYPE_CHECKING:
    from committee.cli.report.scored_rows import ScoredRows
    from committee.typing import FloatArray

__all__ = ["describe_confusion", "describe_largest_errors"]

_MOST_CLASSES = 26
_N_LARGEST = 10
_SHOWN_FEATURES = 4


def describe_confusion(scored: ScoredRows) -> Section:
    """The confusion matrix, and recall and precision of each class.

    Parameters
    ----------
    scored : ScoredRows
        The rows, of classes.

    Returns
    -------
    Section
    """
    counts, labels = scored.counts, scored.labels
    shown = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:_MOST_CLASSES])
    more = (
        f" Only the {_MOST_CLASSES} most frequent of {len(labels)} classes are shown."
        if len(labels) > len(shown)
        else ""
    )
    caption = (
        f"{scored.where.capitalize()} by true and predicted class; the colour shows the share of the true class.{more}"
    )
    right, hits = counts.diagonal(), np.maximum(counts.sum(axis=0), 1)
    table = make_html_table(
        ["class", ">rows", ">recall", ">precision"],
        [
            [
                escape(truncate_text(labels[k])),
                f"{counts[k].sum():,}",
                f"{right[k] / max(counts[k].sum(), 1):.1%}",
                f"{right[k] / hits[k]:.1%}" if counts[:, k].sum() else "–",
            ]
            for k in shown
        ],
        "Recall and precision of each class",
    )
    names = [labels[k] for k in shown]
    figure = make_figure(draw_matrix(names, counts[np.ix_(shown, shown)], caption), caption)
    return Section("confusion", "Confusion matrix", f'<div class="figures">{figure}<div>{table}</div></div>')


def describe_largest_errors(scored: ScoredRows, ranked: list[str]) -> Section:
    """The rows with the largest errors.

    Parameters
    ----------
    scored : ScoredRows
        The rows.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    Section
    """
    title, y, predicted, given = "Largest errors", scored.truth, scored.predicted, np.empty(0)
    where = scored.where.capitalize()
    if scored.classes is None:
        size = np.abs(y - predicted)
        headings = [">row", f">true {scored.target}", ">predicted", ">residual"]
        caption = f"{where} with the largest residuals. Are their values correct?"
    elif scored.probabilities is None:
        reason = f"Left out: {scored.estimator} has no probabilities."
        return Section("surprises", title, f'<p class="absent">{escape(reason)}</p>')
    else:
        given = scored.probabilities[np.arange(len(y)), scored.codes]
        size = 1.0 - given
        headings = [">row", f"true {scored.target}", "predicted", ">probability of the true class"]
        caption = f"{where} with the lowest probability of the true class. Are their labels correct?"
    top = np.argsort(-size, kind="stable")[:_N_LARGEST]
    top = top[size[top] > 0.0]
    if not len(top):
        return Section("surprises", title, '<p class="absent">None: every row was predicted without error.</p>')
    features = ranked[:_SHOWN_FEATURES]
    lines = [_describe_row(scored, int(k), given, features) for k in top]
    note = "Rows are numbered from 1, without those that have no target. "
    note += "The last columns are the most important features." if features else ""
    table = make_html_table([*headings, *(truncate_text(name, 30) for name in features)], lines, caption)
    return Section("surprises", title, f"{table}<p>{note}</p>")


def _describe_row(scored: ScoredRows, k: int, given: FloatArray, features: list[str]) -> list[str]:
    y, predicted, row = scored.truth, scored.predicted, int(scored.numbers[k])
    values = [_show_value(scored, name, row) for name in features]
    if scored.classes is None:
        cells = [show_number(float(x)) for x in (y[k], predicted[k], y[k] - predicted[k])]
    else:
        cells = [escape(truncate_text(y[k], 40)), escape(truncate_text(predicted[k], 40)), f"{given[k]:.3f}"]
    return [f"{row + 1:,}", *cells, *values]


def _show_value(scored: ScoredRows, name: str, row: int) -> str:
    cell = scored.features.column(name).slice(row, 1)
    value = write_numbers(cell)[0].as_py()
    if value is None or value != value:
        return "–"
    if isinstance(value, float):
        # A model of an earlier version was fitted on seconds; the summary of its training table knows that.
        is_date = name in scored.calendar or is_calendar_type(cell.type)
        return show_date(value) if is_date else show_number(value)
    return escape(truncate_text(value, 40))
