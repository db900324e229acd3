"""The summary of a report in three sentences: what was predicted from what, how well, and what matters most."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.markup import escape, show_estimate, show_number, truncate_text
from committee.cli.tasks import TASKS

if TYPE_CHECKING:
    from committee.cli.report.report_data import ReportData
    from committee.cli.results import Comparison

__all__ = ["join_names", "judge_difference", "render_summary", "summarize_fit"]

# Standard errors from which a difference counts as clear.
_CLEAR = 2.0
_MOST_NAMED = 3
_KINDS = {"rank": "the order of the rows of each query", "distribution": "the distribution of a number"}


def render_summary(sentences: Sequence[str]) -> str:
    """Sentences as HTML.

    Parameters
    ----------
    sentences : sequence of str
        Plain text.

    Returns
    -------
    str
    """
    return f'<div class="summary">{"".join(f"<p>{escape(one)}</p>" for one in sentences)}</div>'


def join_names(names: Sequence[str], conjunction: str = "and") -> str:
    """Names in a sentence.

    Examples
    --------
    >>> join_names(["a", "b", "c"]), join_names(["a"])
    ('a, b and c', 'a')
    """
    short = [truncate_text(name, 60) for name in names]
    return short[0] if len(short) == 1 else f"{', '.join(short[:-1])} {conjunction} {short[-1]}"


def judge_difference(difference: float, error: float) -> str:
    """A difference in words, by its standard error; larger is better."""
    if not np.isfinite(error):
        return "better" if difference > 0.0 else "not better"
    if difference > _CLEAR * error:
        return "clearly better"
    return "clearly worse" if difference < -_CLEAR * error else "not clearly different"


def summarize_fit(data: ReportData, ranked: list[str]) -> tuple[str, str, str]:
    """The summary of a fit.

    Parameters
    ----------
    data : ReportData
        The data of the report.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    tuple of three str
    """
    name, first = next(iter(data.results.comparisons.items()))
    return _say_what(data), _say_how_well(data, name, first), _say_what_matters(data, ranked)


def _say_what(data: ReportData) -> str:
    problem, results = data.problem, data.results
    n_features, n_rows = len(problem.columns), problem.n_rows
    kind = _KINDS.get(problem.task, "a number")
    if problem.task == "survival":
        kind = f"a time; {int(problem.y['event'].sum()):,} of {n_rows:,} rows have an event"
    if problem.has_classes:
        classes = list(map(str, problem.levels)) or list(problem.count_classes())
        word = "ordered levels" if problem.levels else "classes"
        kind = f"one of {len(classes)} {word}" if len(classes) > 3 else join_names(classes, "or")
    members = ""
    if results.leaderboard is not None:
        n_used = sum(one.weight > 0.0 for one in results.leaderboard.entries)
        members = " of one kind of model" if n_used == 1 else f" of {n_used} kinds of models"
    article = "an" if results.estimator[0] in "AEIOU" else "a"
    return (
        f"The model predicts {truncate_text(problem.target, 60)} ({kind}) from {n_features:,} "
        f"column{'s' if n_features > 1 else ''} of {truncate_text(problem.source, 60)}; it is {article} "
        f"{results.estimator}{members}, fitted to {n_rows:,} rows."
    )


def _say_how_well(data: ReportData, name: str, found: Comparison) -> str:
    sign = data.metric.sign
    verdict = judge_difference(sign * found.difference.mean, found.difference.error)
    guess = f"{TASKS[data.problem.task].naive} of the target"
    if data.problem.task == "rank":
        guess = TASKS["rank"].naive
    if data.problem.has_classes:
        guess = f"{TASKS[data.problem.task].naive}, {truncate_text(next(iter(data.problem.count_classes())), 40)}"
    baseline = show_estimate(found.baseline.mean, found.model.error, with_error=False)
    than = "from" if verdict == "not clearly different" else "than"
    return (
        f"On rows that it was not fitted to, its {name} is {show_estimate(found.model.mean, found.model.error)} "
        f"(standard error), {verdict} {than} the {baseline} of the naive guess, {guess}."
    )


def _say_what_matters(data: ReportData, ranked: list[str]) -> str:
    if not ranked:
        return "No column has a measurable importance."
    top = ranked[:_MOST_NAMED]
    if not data.observer.shuffles:
        what = "column is" if len(top) == 1 else "columns are"
        return f"By the decrease of impurity in the model, the most important {what} {join_names(top)}."
    names = data.problem.features.column_names
    drops = np.concatenate(data.observer.shuffles, axis=1).mean(axis=1)
    metric = data.observer.shuffle_metric
    verb = "lowers" if metric.sign > 0 else "raises"
    loss = show_number(float(drops[names.index(top[0])]), 3)
    first = "it" if len(top) == 1 else "the first"
    rest = f", followed by {join_names(top[1:])}" if len(top) > 1 else ""
    n_none = int((drops <= 0.0).sum())
    idle = f"; {n_none:,} of {len(names):,} columns have no measurable effect" if n_none else ""
    return (
        f"What matters most is {truncate_text(top[0], 60)}{rest}: shuffling {first} {verb} the {metric.name} by {loss} "
        f"{data.observer.shuffled_rows}{idle}."
    )
