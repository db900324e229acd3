"""A page for each class, where there are many: on screen one at a time, printed on a sheet each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import N_COLORS, draw_bars
from committee.cli.report.curves_section import draw_precision_recall, draw_reliability, draw_roc
from committee.cli.report.markup import Section, escape, make_figure, make_html_table, truncate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.cli.report.dependence import DependenceCurves
    from committee.cli.report.scored_rows import ScoredRows

__all__ = ["describe_classes", "has_class_pages"]

_MOST_PAGES = 40
_MOST_CONFUSED = 6
_MOST_DEPENDENCES = 2


def has_class_pages(scored: ScoredRows) -> bool:
    """Whether there are more classes than one chart can tell apart."""
    return len(scored.labels) > N_COLORS and scored.probabilities is not None


def describe_classes(scored: ScoredRows, dependences: Sequence[DependenceCurves]) -> Section:
    """A table of all classes with a link to the page of each.

    Parameters
    ----------
    scored : ScoredRows
        The rows, with probabilities.
    dependences : sequence of DependenceCurves
        Partial dependence on the most important features.

    Returns
    -------
    Section
    """
    counts, areas = scored.counts, scored.areas
    totals, right, predicted = counts.sum(axis=1), counts.diagonal(), counts.sum(axis=0)
    shown = [int(k) for k in np.argsort(-totals, kind="stable")[:_MOST_PAGES] if np.isfinite(areas[k, 0])]
    rows = [
        [
            f'<a href="#class-{k}">{escape(truncate_text(scored.labels[k], 60))}</a>',
            f"{totals[k]:,}",
            f"{right[k] / totals[k]:.1%}",
            f"{right[k] / predicted[k]:.1%}" if predicted[k] else "–",
            f"{areas[k, 0]:.3f}",
            f"{areas[k, 1]:.3f}",
        ]
        for k in shown
    ]
    text = "Follow the name of a class to its page, which appears below the table; printed, each class has a sheet."
    if len(shown) < len(scored.labels):
        text += f" The {len(shown)} most frequent of {len(scored.labels)} classes."
    headings = ["class", ">rows", ">recall", ">precision", ">ROC AUC", ">average precision"]
    table = make_html_table(headings, rows, f"The classes on {scored.where}, each against the rest")
    pages = "\n".join(_describe_class(scored, k, dependences) for k in shown)
    return Section("classes", "Classes", f"<p>{escape(text)}</p>{table}{pages}")


def _describe_class(scored: ScoredRows, k: int, dependences: Sequence[DependenceCurves]) -> str:
    assert scored.probabilities is not None
    counts, name = scored.counts, truncate_text(scored.labels[k], 60)
    total, right, predicted = counts[k].sum(), counts[k, k], counts[:, k].sum()
    sentences = [f"{total:,} of {len(scored.truth):,} rows are {name}; {right:,} of them were predicted so."]
    if predicted:
        sentences.append(f"{predicted:,} rows were predicted as {name}, {right / predicted:.1%} of them correctly.")
    label = truncate_text(scored.labels[k], 24)
    caption = f"Calibration: observed frequency of {label} in quantile bins of its probability, ± standard error."
    axes = f"probability of {label}", f"share of {label}"
    occurred = (scored.codes == k).astype(np.float64)
    figures = [
        draw_roc(scored, [k]),
        draw_precision_recall(scored, [k]),
        draw_reliability(scored.probabilities[:, k], occurred, axes, caption),
        *_draw_confusions(scored, k),
        *(one.draw_class(k) for one in dependences[:_MOST_DEPENDENCES]),
    ]
    return (
        f'<article class="class-page" id="class-{k}"><h3>{escape(name)}</h3><p>{escape(" ".join(sentences))}</p>'
        f'<div class="figures">{"".join(figures)}</div><p><a href="#classes">All classes</a></p></article>'
    )


def _draw_confusions(scored: ScoredRows, k: int) -> list[str]:
    """The classes that the rows of a class are taken for, and those that are taken for it."""
    label, figures = truncate_text(scored.labels[k], 24), []
    for counts, caption in (
        (scored.counts[k].copy(), f"Rows of {label} that were predicted as another class."),
        (scored.counts[:, k].copy(), f"Rows of other classes that were predicted as {label}."),
    ):
        counts[k] = 0
        top = [int(j) for j in np.argsort(-counts, kind="stable")[:_MOST_CONFUSED] if counts[j]]
        if top:
            bars = draw_bars([scored.labels[j] for j in top], counts[top], "rows", caption)
            figures.append(make_figure(bars, caption))
    return figures
