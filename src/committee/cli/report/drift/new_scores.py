"""The score of a model on a new table beside that of its fit, and the summary of a report on new data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.cli.metrics import choose_metrics
from committee.cli.model_rows import name_model
from committee.cli.report.markup import Section, allow_breaks, escape, make_html_table, show_estimate, truncate_text
from committee.cli.report.summary import join_names
from committee.cli.tasks import TASKS

if TYPE_CHECKING:
    from committee.cli.report.drift.distances import ColumnDrift
    from committee.cli.report.drift.training_summary import TrainingSummary
    from committee.cli.results import Comparison

__all__ = ["describe_new_cards", "describe_new_scores", "summarize_new_data"]

# Standard errors from which a difference counts as clear.
_CLEAR = 2.0
_MOST_NAMED = 3


def describe_new_scores(scores: Mapping[str, Comparison], training: TrainingSummary | None, n_rows: int) -> Section:
    """The scores on a new table, beside those on held-out rows of the fit.

    Parameters
    ----------
    scores : mapping of str to Comparison
        By metric.
    training : TrainingSummary or None
        The training table.
    n_rows : int
        Rows that were scored.

    Returns
    -------
    Section
    """
    rows = []
    for name, one in scores.items():
        then = None if training is None else training.scores.get(name)
        rows.append(
            [
                escape(name),
                show_estimate(one.model.mean, one.model.error),
                "–" if then is None else show_estimate(then[0], then[1]),
                show_estimate(one.baseline.mean, one.model.error, with_error=False),
            ]
        )
    guess = "the training table" if training is not None else "the new table, since the model file describes no other"
    text = (
        f"<p>{n_rows:,} rows of the new table have a target; ± is the jackknife standard error over them. The score at "
        f"the fit is that on held-out rows. The naive guess is that of {guess}.</p>"
    )
    headings = ["", ">new rows", ">at the fit", ">naive guess"]
    return Section(
        "score", "Score", text + make_html_table(headings, rows, "Scores on the new table, ± standard error")
    )


def summarize_new_data(
    table: str,
    n_rows: int,
    training: TrainingSummary | None,
    scores: Mapping[str, Comparison],
    drifts: Sequence[ColumnDrift],
    model: Any,
    *,
    is_same: bool = False,
) -> tuple[str, str, str]:
    """The summary: what was predicted, how well, and what has changed.

    Parameters
    ----------
    table : str
        Name of the new table.
    n_rows : int
        Its rows.
    training : TrainingSummary or None
        The training table.
    scores : mapping of str to Comparison
        By metric; empty without a target.
    drifts : sequence of ColumnDrift
        The columns, the largest drift first.
    model : estimator
        Fitted.
    is_same : bool
        Whether the new table looks like the training table itself.

    Returns
    -------
    tuple of three str
    """
    kind = name_model(model)
    fitted = (
        "" if training is None else f", fitted to {training.n_rows:,} rows of {truncate_text(training.source, 60)},"
    )
    what = "its target" if training is None else truncate_text(training.target, 60)
    first = f"The {kind}{fitted} predicts {what} for {n_rows:,} rows of {truncate_text(table, 60)}."
    well = _say_how_well(training, scores)
    if is_same and scores and training is not None:
        name, one = next(iter(scores.items()))
        then = training.scores.get(name)
        on_fit = "" if then is None else f"; on held-out rows of the fit it was {show_estimate(then[0], then[1])}"
        now = show_estimate(one.model.mean, one.model.error, with_error=False)
        well = (
            f"The table looks like the training table itself, so that its {name} of {now} says nothing about new "
            f"rows{on_fit}."
        )
    return first, well, _say_what_changed(training, drifts)


def _say_how_well(training: TrainingSummary | None, scores: Mapping[str, Comparison]) -> str:
    if not scores:
        return "The new table has no target, or too few rows with one, so that the predictions could not be scored."
    name, one = next(iter(scores.items()))
    now = f"Its {name} there is {show_estimate(one.model.mean, one.model.error)} (standard error)"
    then = None if training is None else training.scores.get(name)
    if training is None or then is None:
        return (
            f"{now}, against {show_estimate(one.baseline.mean, one.model.error, with_error=False)} for the naive guess."
        )
    sign = next((metric.sign for task in TASKS for metric in choose_metrics(None, task) if metric.name == name), 0)
    error = float(np.hypot(one.model.error, then[1]))
    change = (one.model.mean - then[0]) * (sign or 1)
    clear = abs(change) > _CLEAR * error
    if not clear:
        verdict = "not clearly different from"
    else:
        words = ("clearly better than", "clearly worse than") if sign else ("clearly above", "clearly below")
        verdict = words[0] if change > 0.0 else words[1]
    guess = show_estimate(one.baseline.mean, one.model.error, with_error=False)
    expected = show_estimate(then[0], then[1])
    return f"{now}, {verdict} the {expected} on held-out rows of the fit; the naive guess has {guess}."


def _say_what_changed(training: TrainingSummary | None, drifts: Sequence[ColumnDrift]) -> str:
    if training is None:
        return "The model file has no summary of its training table, so that drift could not be measured."
    unusual = [one for one in drifts if one.level != "none"]
    if not unusual:
        return f"None of its {len(drifts):,} columns has drifted from the training table beyond chance."
    verb = "has" if len(unusual) == 1 else "have"
    names = join_names([one.name for one in unusual[:_MOST_NAMED]])
    which = f"most of all {names}" if len(unusual) > 1 else names
    why = f" ({'; '.join(unusual[0].remarks)})" if len(unusual) == 1 and unusual[0].remarks else ""
    return f"{len(unusual):,} of its {len(drifts):,} columns {verb} drifted from the training table: {which}{why}."


def describe_new_cards(
    model: str, table: str, n_rows: int, scores: Mapping[str, Comparison], drifts: Sequence[ColumnDrift], fitted: Any
) -> str:
    """Model, table, score and drift, as cards.

    Parameters
    ----------
    model, table : str
        Path of the model file, and name of the table.
    n_rows : int
        Rows of the table.
    scores : mapping of str to Comparison
        By metric.
    drifts : sequence of ColumnDrift
        The columns.
    fitted : estimator
        The model.

    Returns
    -------
    str
        HTML.
    """
    cards = [
        ("Model", escape(truncate_text(Path(model).name, 40)), allow_breaks(name_model(fitted))),
        ("New table", escape(truncate_text(table, 40)), f"{n_rows:,} rows"),
    ]
    if scores:
        name, one = next(iter(scores.items()))
        value = show_estimate(one.model.mean, one.model.error).replace(" ±", " <small>±") + "</small>"
        cards.append(
            (
                f"{escape(name)}, new rows",
                value,
                f"naive guess {show_estimate(one.baseline.mean, one.model.error, with_error=False)}",
            )
        )
    if drifts:
        n_drifted = sum(one.level != "none" for one in drifts)
        cards.append(("Columns that drifted", f"{n_drifted:,} of {len(drifts):,}", "against the training table"))
    body = "".join(
        f"<div><dt>{title}</dt><dd>{value}</dd><dd><small>{more}</small></dd></div>" for title, value, more in cards
    )
    return f'<dl class="cards">{body}</dl>'
