"""Which columns matter on a new table: the loss of score when one is shuffled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from committee.cli.errors import CommandError
from committee.cli.metrics import ScoringMetric, choose_metrics
from committee.cli.report.charts import draw_bars
from committee.cli.report.fold_observer import score_brier
from committee.cli.report.markup import Section, make_figure
from committee.cli.report.model_queries import shuffle_columns

if TYPE_CHECKING:
    from committee.cli.report.scored_rows import ScoredRows

__all__ = ["describe_new_importances", "measure_new_importances"]

# Rows over all shuffled columns, and the fewest rows with which a loss means something.
_MOST_ROWS, _FEWEST_ROWS = 20_000, 50
_MOST_BARS = 20


def _choose_metric(scored: ScoredRows) -> ScoringMetric:
    if scored.probabilities is not None:
        return ScoringMetric("Brier score", -1, score_brier, "brier")
    return choose_metrics(None, scored.task)[0]


def measure_new_importances(model: Any, scored: ScoredRows, seed: int) -> dict[str, float]:
    """Loss of score by shuffling each column, on a sample of the rows.

    Parameters
    ----------
    model : estimator
        Fitted.
    scored : ScoredRows
        The rows of the new table that have a target.
    seed : int
        Of the sample and of the shuffles.

    Returns
    -------
    dict of str to float
        The largest first; empty if there are too few rows or too many columns.
    """
    names = scored.features.column_names
    n_rows = min(len(scored.truth), _MOST_ROWS // (len(names) + 1))
    if n_rows < _FEWEST_ROWS or not hasattr(model, "feature_names_in_"):
        return {}
    rows, truth = scored.sample(n_rows), scored.truth if scored.outcome is None else scored.outcome
    metric, table = _choose_metric(scored), scored.features.take(pa.array(scored.numbers[rows])).combine_chunks()
    try:
        scores = [
            metric.sign * metric.score(known, known.rows, truth[rows]) for known in shuffle_columns(model, table, seed)
        ]
    except (CommandError, ValueError):
        return {}  # the metric is not defined for these rows
    losses = dict(zip(names, (scores[0] - np.array(scores[1:])).tolist(), strict=True))
    return dict(sorted(losses.items(), key=lambda pair: -pair[1]))


def describe_new_importances(losses: dict[str, float], scored: ScoredRows) -> Section:
    """The columns that matter most on the new table.

    Parameters
    ----------
    losses : dict of str to float
        The largest first.
    scored : ScoredRows
        The rows.

    Returns
    -------
    Section
    """
    metric = _choose_metric(scored)
    word = "Loss of" if metric.sign > 0 else "Increase of"
    caption = f"{word} {metric.name} on {scored.where} when the values of a column are shuffled, once."
    first = list(losses)[:_MOST_BARS]
    label = f"{word.lower()} {metric.name}"
    bars = draw_bars(first, [losses[name] for name in first], label, caption)
    figure = make_figure(bars, caption)
    return Section("importance", "Feature importances", f'<div class="figures">{figure}</div>')
