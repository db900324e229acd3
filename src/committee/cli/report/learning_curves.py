"""Learning curves: the score by members added, by training rows, and by depth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import Axis, Chart, draw_dots, fit_axis
from committee.cli.report.markup import Section, capitalize, make_figure, show_number

if TYPE_CHECKING:
    from committee.cli.report.fold_observer import StageCurve
    from committee.cli.report.report_data import ReportData
    from committee.cli.report.row_curve import RowCurve

__all__ = ["describe_learning_curves"]


def describe_learning_curves(data: ReportData) -> Section:
    """The score by size of the model and by training rows.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    results, name, figures = data.results, data.metric.name, []
    stages, rows = data.observer.make_curve(), data.observer.make_row_curve()
    if stages is not None:
        figures.append(_draw_stages(stages, name, data.metric.sign))
    elif results.leaderboard is not None and getattr(results.model, "score_trace_", None):
        figures.append(_draw_trace(data))
    elif results.candidates:
        figures.append(_draw_depths(data, name))
    text = ""
    if rows is not None:
        figures.append(_draw_rows(rows))
        sign = results.leaderboard.sign if results.leaderboard is not None else data.metric.sign
        text = f"<p>{_judge_rows(rows, sign)}</p>"
    if not figures:
        reason = "Left out: the table is too small to be divided further, and the model has no stages."
        return Section("curve", "Learning curves", f'<p class="absent">{reason}</p>')
    return Section("curve", "Learning curves", f'{text}<div class="figures">{"".join(figures)}</div>')


def _judge_rows(curve: RowCurve, sign: int) -> str:
    """Whether more rows are likely to help: by the last step of the curve."""
    before, last = curve.points[-2:]
    gain, spread = sign * curve.last_step[0], float(np.nan_to_num(curve.last_step[1]))
    step = f"from {before.n_rows:,} to {last.n_rows:,} rows"
    if gain > max(spread, 1e-12):
        return f"The score still improved {step}: more rows are likely to help."
    return f"The score did not improve beyond its standard error {step}: more rows of this kind may not help much."


def _draw_stages(curve: StageCurve, name: str, sign: int) -> str:
    mean, n_folds = curve.scores.mean(axis=0), len(curve.scores)
    error = curve.scores.std(axis=0, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(mean))
    best = int((sign * mean).argmax())
    caption = (
        f"{capitalize(name)} on held-out rows by number of members: mean over {n_folds} folds, band ± standard "
        f"error. Best mean {show_number(float(mean[best]))} with {curve.numbers[best]:,}, last "
        f"{show_number(float(mean[-1]))} with {curve.numbers[-1]:,}."
    )
    chart = Chart(fit_axis(curve.numbers, "members", log=True), fit_axis([mean - error, mean + error], name), caption)
    chart.band(curve.numbers, mean - error, mean + error)
    chart.line(curve.numbers, mean)
    tips = [
        f"{number:,} member{'s' if number > 1 else ''}: {name} {show_number(score)} ± {show_number(spread, 2)}"
        for number, score, spread in zip(curve.numbers.tolist(), mean.tolist(), error.tolist(), strict=True)
    ]
    chart.tips(curve.numbers, mean, tips)
    return make_figure(chart.render(), caption)


def _draw_trace(data: ReportData) -> str:
    """The score of a committee after each model."""
    board, trace = data.results.leaderboard, data.results.model.score_trace_
    assert board is not None
    scores = np.array([board.sign * row["score"] for row in trace])
    errors = np.nan_to_num(np.array([row["error"] for row in trace]))
    names = [row["name"] if k == 0 else f"+ {row['name']}" for k, row in enumerate(trace)]
    better = "larger" if board.sign > 0 else "smaller"
    caption = (
        f"{capitalize(board.metric)} of the committee as models are added, in the order of their fits, ± standard "
        f"error; {better} is better. Weights were fitted to one half of the rows and scored on the other."
    )
    axis = fit_axis([scores - errors, scores + errors], board.metric)
    return make_figure(draw_dots(names, scores, (scores - errors, scores + errors), axis, caption), caption)


def _draw_rows(curve: RowCurve) -> str:
    numbers = np.array([one.n_rows for one in curve.points])
    scores = np.array([one.score for one in curve.points])
    errors = np.nan_to_num(np.array([one.error for one in curve.points]))
    caption = f"{capitalize(curve.metric)} by number of training rows, ± standard error. {curve.how}"
    across = fit_axis(numbers, "training rows", log=True, log_pad=0.05)
    chart = Chart(across, fit_axis([scores - errors, scores + errors], curve.metric), caption)
    chart.line(numbers, scores)
    chart.errors(numbers, scores - errors, scores + errors)
    tips = [
        f"{one.n_rows:,} rows: {curve.metric} {show_number(one.score)} ± {show_number(one.error, 2)}"
        for one in curve.points
    ]
    chart.points(numbers, scores, radius=4.5, tips=tips)
    return make_figure(chart.render(), caption)


def _draw_depths(data: ReportData, name: str) -> str:
    candidates = data.results.candidates
    means = np.array([one.score.mean for one in candidates])
    errors = np.array([one.score.error for one in candidates])
    names = tuple("none" if one.max_depth is None else str(one.max_depth) for one in candidates)
    caption = f"{capitalize(name)} on held-out rows by max_depth, ± standard error; “none” is an unlimited tree."
    across = Axis(-0.5, len(names) - 0.5, "max_depth", names=names)
    chart = Chart(across, fit_axis([means - errors, means + errors], name), caption)
    positions = np.arange(len(names))
    chart.line(positions, means)
    chart.errors(positions, means - errors, means + errors)
    tips = [
        f"max_depth {depth}: {name} {show_number(mean)} ± {show_number(error, 2)}"
        for depth, mean, error in zip(names, means.tolist(), errors.tolist(), strict=True)
    ]
    chart.points(positions, means, tips=tips)
    return make_figure(chart.render(), caption)
