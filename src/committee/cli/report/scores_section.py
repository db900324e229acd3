"""The model, and its scores on unseen rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import Axis, Chart, fit_axis
from committee.cli.report.markup import (
    Section,
    capitalize,
    escape,
    make_figure,
    make_html_table,
    show_estimate,
    show_number,
)
from committee.cli.tasks import TASKS

if TYPE_CHECKING:
    from committee.cli.report.report_data import ReportData
    from committee.cli.results import Comparison, Leaderboard, ScoreEstimate

__all__ = ["describe_model", "describe_score"]


def _show(value: ScoreEstimate, sign: str = "-") -> str:
    return show_estimate(value.mean, value.error, sign=sign)


def describe_model(data: ReportData) -> Section:
    """The fitted model, the leaderboard, and the depths that were tried.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    results = data.results
    settings = ", ".join(f"{name}={value!r}" for name, value in results.params.items())
    text = f"<p><code>{escape(results.estimator)}({escape(settings)})</code>, fitted on all rows."
    if results.n_leaves is not None:
        text += f" It has {results.n_leaves:,} leaves and depth {results.depth}."
    parts = [text + "</p>"]
    if results.leaderboard is not None:
        parts.append(_show_board(results.leaderboard))
    if results.candidates:
        rows = [
            [
                str(one.max_depth),
                _show(one.score),
                "chosen" if one.max_depth == results.params["max_depth"] else "",
            ]
            for one in results.candidates
        ]
        parts.append(make_html_table(["max_depth", ">score", ""], rows, "Cross-validated scores by depth, on all rows"))
        parts.append("<p>The smallest depth within one standard error of the best is chosen.</p>")
    return Section("model", "Model", "\n".join(parts))


def _show_board(board: Leaderboard) -> str:
    rows = [[escape(one.name), _show(one.score), f"{one.weight:.2f}", f"{one.seconds:.1f}"] for one in board.entries]
    rows.append(["<strong>the committee</strong>", _show(board.committee), "1.00", f"{board.seconds:.1f}"])
    better = "larger" if board.sign > 0 else "smaller"
    caption = f"The members, best first: {board.metric} on held-out rows ({better} is better)"
    table = make_html_table(["member", f">{board.metric}", ">weight", ">seconds"], rows, caption)
    left = ", ".join(map(escape, board.left_out))
    more = f'<p class="note">Not fitted within the time budget: {left}.</p>' if left else ""
    return f"<h3>Leaderboard</h3>{table}{more}"


def describe_score(data: ReportData) -> Section:
    """Scores of the model on held-out rows.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    results = data.results
    rows = [
        [escape(name), _show(one.model), _show(one.baseline), _show(one.difference, "+")]
        for name, one in results.comparisons.items()
    ]
    name, first = next(iter(results.comparisons.items()))
    guess = TASKS[data.problem.task].naive
    if first.model.folds:
        how = (
            f"Cross-validation with {len(first.model.folds)} folds: each model is scored on the rows of its fold, "
            "which were used neither to fit it nor to choose its parameters. ± is the standard error over the folds; "
            "it is somewhat too small, since the training rows of the folds overlap."
        )
        figure = _draw_folds(name, first)
    else:
        how = (
            "Out-of-fold predictions: neither the members nor their weights were fitted on the row that they predict. "
            "± is the standard error over rows."
        )
        figure = ""
    text = f"<p>{how} The naive guess is {guess}{'' if data.problem.task == 'rank' else ' of the training rows'}.</p>"
    if data.problem.weights is not None:
        text += "<p>These scores use the sample weights; counts, curves and figures below do not.</p>"
    table = make_html_table(["", ">model", ">naive", ">difference"], rows, "Scores on held-out rows, ± standard error")
    notes = "".join(f'<p class="note">{escape(notice)}</p>' for notice in results.notices)
    body = f'{text}<div class="figures"><div>{table}{notes}</div>{figure}</div>' if figure else text + table + notes
    return Section("score", "Score", body)


def _draw_folds(name: str, found: Comparison) -> str:
    numbers = np.arange(1, len(found.model.folds) + 1)
    mean, error = found.model.mean, found.model.error
    caption = f"{capitalize(name)} of each fold; the band is the mean ± its standard error."
    chart = Chart(
        Axis(0.5, len(numbers) + 0.5, "fold", names=("", *map(str, numbers))),
        fit_axis([*found.model.folds, *found.baseline.folds, mean + error], name),
        f"{name} of the model and of the naive guess in each fold",
        height=240,
    )
    ends = [0.5, len(numbers) + 0.5]
    chart.band(ends, [mean - error] * 2, [mean + error] * 2)
    chart.rule(ends, [mean, mean])
    for color, (scores, who) in enumerate(((found.model.folds, "model"), (found.baseline.folds, "naive guess"))):
        tips = [f"Fold {number}, {who}: {show_number(score)}" for number, score in zip(numbers, scores, strict=True)]
        chart.points(numbers, scores, color, who, radius=5, tips=tips)
    return make_figure(chart.render(), caption)
