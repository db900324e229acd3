"""What was fitted, how good it is on rows that it has not seen, and how that depends on its size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import Axis, Chart, fit_axis
from committee.cli.report.markup import Section, escape, make_figure, make_table, show_number

if TYPE_CHECKING:
    from committee.cli.report.fold_observer import Curve
    from committee.cli.report.report_data import Evidence
    from committee.cli.results import Comparison, Estimate, Leaderboard

__all__ = ["describe_curve", "describe_model", "describe_score"]


def _show_estimate(value: Estimate, sign: str = "-") -> str:
    return f"{value.mean:{sign}.4f} ± {value.error:.4f}".replace("-", "−")


def describe_model(evidence: Evidence) -> Section:
    """What was fitted, and what else was tried.

    Parameters
    ----------
    evidence : Evidence
        What is known.

    Returns
    -------
    Section
    """
    findings = evidence.findings
    settings = ", ".join(f"{name}={value!r}" for name, value in findings.params.items())
    told = f"<p><code>{escape(findings.estimator)}({escape(settings)})</code>, fitted on all rows."
    if findings.n_leaves is not None:
        told += f" It has {findings.n_leaves:,} leaves and depth {findings.depth}."
    parts = [told + "</p>"]
    if findings.leaderboard is None:
        parts.append('<p class="absent">No leaderboard: one estimator was asked for.</p>')
    else:
        parts.append(_show_board(findings.leaderboard))
    if findings.candidates:
        rows = [
            [
                str(one.max_depth),
                _show_estimate(one.score),
                "chosen" if one.max_depth == findings.params["max_depth"] else "",
            ]
            for one in findings.candidates
        ]
        parts.append(make_table(["max_depth", ">score", ""], rows, "Depths that were tried on all rows"))
        parts.append("<p>Chosen is the smallest depth within one standard error of the best.</p>")
    return Section("model", "Model", "\n".join(parts))


def _show_board(board: Leaderboard) -> str:
    rows = [
        [escape(one.name), _show_estimate(one.score), f"{one.weight:.2f}", f"{one.seconds:.1f}"]
        for one in board.standings
    ]
    rows.append(["<strong>the committee</strong>", _show_estimate(board.committee), "1.00", f"{board.seconds:.1f}"])
    better = "larger" if board.sign > 0 else "smaller"
    caption = (
        f"The members that were tried, best first: {board.metric} on rows that they had not seen ({better} is better)"
    )
    table = make_table(["member", f">{board.metric}", ">weight", ">seconds"], rows, caption)
    left = ", ".join(map(escape, board.left_out))
    more = f'<p class="note">The time was not enough for {left}.</p>' if left else ""
    return f"<h3>Leaderboard</h3>{table}{more}"


def describe_score(evidence: Evidence) -> Section:
    """How good the model is on rows that it has not seen.

    Parameters
    ----------
    evidence : Evidence
        What is known.

    Returns
    -------
    Section
    """
    findings = evidence.findings
    rows = [
        [escape(name), _show_estimate(one.model), _show_estimate(one.baseline), _show_estimate(one.difference, "+")]
        for name, one in findings.comparisons.items()
    ]
    name, first = next(iter(findings.comparisons.items()))
    guess = "the most frequent class" if evidence.problem.task == "classification" else "the mean"
    if first.model.folds:
        how = (
            f"Cross-validation with {len(first.model.folds)} folds: every score is of rows that the model of the fold "
            "had not seen, and every choice was made without them. After ± stands the standard error over the folds; "
            "since their training rows overlap, it is rather too small."
        )
        figure = _draw_folds(name, first)
    else:
        how = (
            "Every row was answered for by members that had not seen it, with weights that were learnt without it. "
            "After ± stands the standard error over rows."
        )
        figure = ""
    text = f"<p>{how} The naive guess is {guess} of the training rows.</p>"
    if evidence.problem.weights is not None:
        text += "<p>These scores weigh rows; counts, curves and pictures below do not.</p>"
    table = make_table(["", ">model", ">naive", ">difference"], rows, "Scores on held-out rows, ± standard error")
    notes = "".join(f'<p class="note">{escape(notice)}</p>' for notice in findings.notices)
    return Section("score", "Score", f'{text}{table}{notes}<div class="figures">{figure}</div>')


def _draw_folds(name: str, found: Comparison) -> str:
    numbers = np.arange(1, len(found.model.folds) + 1)
    mean, error = found.model.mean, found.model.error
    told = f"{name}, fold by fold; the band is the mean ± its standard error."
    chart = Chart(
        Axis(0.5, len(numbers) + 0.5, "fold", names=("", *map(str, numbers))),
        fit_axis([*found.model.folds, *found.baseline.folds, mean + error], name),
        f"{name} of the model and of the naive guess, fold by fold",
        height=240,
    )
    ends = [0.5, len(numbers) + 0.5]
    chart.band(ends, [mean - error] * 2, [mean + error] * 2)
    chart.rule(ends, [mean, mean])
    chart.points(numbers, found.model.folds, 0, "model", radius=5)
    chart.points(numbers, found.baseline.folds, 1, "naive guess", radius=5)
    return make_figure(chart.render(), told)


def describe_curve(evidence: Evidence) -> Section:
    """How the score depends on the size of the model.

    Parameters
    ----------
    evidence : Evidence
        What is known.

    Returns
    -------
    Section
    """
    findings, name = evidence.findings, evidence.metric.name
    curve = evidence.witness.draw_curve()
    if curve is not None:
        body = _draw_stages(curve, name, evidence.metric.sign)
    elif findings.candidates:
        body = _draw_depths(evidence, name)
    else:
        body = (
            f'<p class="absent">Left out: {escape(findings.estimator)} has no members whose answers add up one by one, '
            "and no sizes of it were tried.</p>"
        )
    return Section("curve", "Learning curve", body)


def _draw_stages(curve: Curve, name: str, sign: int) -> str:
    mean, n_folds = curve.scores.mean(axis=0), len(curve.scores)
    error = curve.scores.std(axis=0, ddof=1) / np.sqrt(n_folds) if n_folds > 1 else np.zeros(len(mean))
    best = int((sign * mean).argmax())
    told = (
        f"{name} on held-out rows after so many members: mean over {n_folds} folds, band ± standard error. Best mean "
        f"{show_number(float(mean[best]))} after {curve.numbers[best]:,}, last {show_number(float(mean[-1]))} after "
        f"{curve.numbers[-1]:,}."
    )
    chart = Chart(fit_axis(curve.numbers, "members", log=True), fit_axis([mean - error, mean + error], name), told)
    chart.band(curve.numbers, mean - error, mean + error)
    chart.line(curve.numbers, mean)
    return f'<div class="figures">{make_figure(chart.render(), told)}</div>'


def _draw_depths(evidence: Evidence, name: str) -> str:
    candidates = evidence.findings.candidates
    means = np.array([one.score.mean for one in candidates])
    errors = np.array([one.score.error for one in candidates])
    names = tuple("none" if one.max_depth is None else str(one.max_depth) for one in candidates)
    told = f"{name} on held-out rows by depth of the tree, ± standard error; “none” is a tree without a limit."
    across = Axis(-0.5, len(names) - 0.5, "max_depth", names=names)
    chart = Chart(across, fit_axis([means - errors, means + errors], name), told)
    places = np.arange(len(names))
    chart.line(places, means)
    chart.errors(places, means - errors, means + errors)
    chart.points(places, means)
    return f'<div class="figures">{make_figure(chart.render(), told)}</div>'
