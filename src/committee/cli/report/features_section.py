"""Feature importances, and partial dependence of the predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import draw_bars
from committee.cli.report.dependence import DependenceCurves, PairSurface, compute_dependence, compute_pairs
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, show_number, truncate_text
from committee.inspection.one_target import OneTarget

if TYPE_CHECKING:
    from committee.cli.report.report_data import ReportData

__all__ = ["Dependences", "describe_dependence", "describe_importance", "measure_dependence", "rank_features"]

_MOST_BARS = 20
_MOST_DEPENDENCES = 6
_SAMPLE = 200
# Features whose pairs are tried, and pairs that are shown.
_PAIRED, _MOST_PAIRS = 3, 2


def rank_features(data: ReportData) -> list[str]:
    """Rank the features by permutation importance if there is one, else by the importances of the model.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    list of str
        Features with a positive importance, the most important first.
    """
    names = data.problem.features.column_names
    if data.observer.shuffles:
        drop = np.concatenate(data.observer.shuffles, axis=1).mean(axis=1)
        own = [data.results.importances.get(name, 0.0) for name in names]
        order = sorted(range(len(names)), key=lambda k: (-drop[k], -own[k]))
        return [names[k] for k in order if drop[k] > 0.0 or own[k] > 0.0]
    return [name for name, value in data.results.importances.items() if value > 0.0]


def describe_importance(data: ReportData) -> Section:
    """Permutation importances, and the importances of the model.

    Parameters
    ----------
    data : ReportData
        The data of the report.

    Returns
    -------
    Section
    """
    title = "Feature importances"
    figures, rows = [], []
    names = data.problem.features.column_names
    metric = data.observer.shuffle_metric
    mean, spread = np.zeros(len(names)), np.zeros(len(names))
    ranked = rank_features(data)[:_MOST_BARS]
    if data.observer.shuffles:
        drops = np.concatenate(data.observer.shuffles, axis=1)
        mean, spread = drops.mean(axis=1), drops.std(axis=1)
        numbers = [names.index(name) for name in ranked]
        where = data.observer.shuffled_rows
        word = "Loss of" if metric.sign > 0 else "Increase of"
        caption = (
            f"Permutation importance: {word.lower()} {metric.name} {where} when the values of a feature are shuffled; "
            f"mean of {drops.shape[1]} repetitions, line ± standard deviation."
        )
        label = f"{word.lower()} {metric.name}"
        figures.append(make_figure(draw_bars(ranked, mean[numbers], label, caption, errors=spread[numbers]), caption))
    else:
        figures.append(f'<p class="absent">No permutation importance: {escape(data.observer.why_no_shuffles)}.</p>')
    own = {name: value for name, value in data.results.importances.items() if value > 0.0}
    if own:
        first = list(own)[:_MOST_BARS]
        model = data.results.model
        shared = " for all targets together" if isinstance(model, OneTarget) and model.shares_members else ""
        caption = f"Impurity importance of the model{shared}: share of the decrease of impurity, on training rows."
        figures.append(make_figure(draw_bars(first, [own[name] for name in first], "share", caption), caption))
    for name in ranked:
        k = names.index(name)
        shuffled = f"{show_number(mean[k], 3)} ± {show_number(spread[k], 2)}" if data.observer.shuffles else "–"
        rows.append([escape(truncate_text(name)), shuffled, f"{own[name]:.3f}" if name in own else "–"])
    table = ""
    if rows:
        numbers_table = make_html_table(["feature", ">permutation", ">impurity"], rows, "Feature importances")
        table = f"<details><summary>The same as a table</summary>{numbers_table}</details>"
    return Section("importance", title, f'<div class="figures">{"".join(figures)}</div>{table}')


@dataclass(frozen=True)
class Dependences:
    """Partial dependence on the most important features and on pairs of them.

    Parameters
    ----------
    curves : list of DependenceCurves
        Of single features, the most important first.
    pairs : list of PairSurface
        The largest interaction first.
    n_rows : int
        Rows that predictions are averaged over.
    """

    curves: list[DependenceCurves]
    pairs: list[PairSurface]
    n_rows: int


def measure_dependence(data: ReportData, ranked: list[str]) -> Dependences:
    """Compute the partial dependence on the most important features.

    Parameters
    ----------
    data : ReportData
        The data of the report.
    ranked : list of str
        Features, the most important first.

    Returns
    -------
    Dependences
    """
    problem, model = data.problem, data.results.model
    rng = np.random.default_rng(data.plan.seed)
    rows = rng.choice(problem.n_rows, min(_SAMPLE, problem.n_rows), replace=False)
    sample = problem.features.take(rows)
    columns = {column.name: column for column in problem.columns}
    first = [columns[name] for name in ranked[:_MOST_DEPENDENCES]]
    curves = [compute_dependence(model, problem.features, one, sample, problem.target) for one in first]
    pairs = compute_pairs(model, problem.features, first[:_PAIRED], sample, problem.target, _MOST_PAIRS)
    return Dependences(curves, pairs, len(rows))


def describe_dependence(found: Dependences) -> Section:
    """Partial dependence on the most important features, and on pairs of them.

    Parameters
    ----------
    found : Dependences
        What was computed.

    Returns
    -------
    Section
    """
    title = "Partial dependence"
    if not found.curves:
        return Section("dependence", title, '<p class="absent">Left out: no feature has a positive importance.</p>')
    text = (
        f"<p>Mean prediction over {found.n_rows:,} rows when one feature is set to the same value in all of them "
        "(partial dependence). The band or line holds the middle 80 % of the rows after centring each row's curve; "
        "where it is wide, the effect of the feature differs between rows.</p>"
    )
    body = f'{text}<div class="figures">{"".join(one.draw() for one in found.curves)}</div>'
    if found.pairs:
        about = "The pairs of the most important features whose effects are least a sum of single effects."
        figures = "".join(one.draw() for one in found.pairs)
        body += f'<h3>Pairs of features</h3><p>{about}</p><div class="figures">{figures}</div>'
    return Section("dependence", title, body)
