"""What rankings and risks achieve: mean relevance by place, and survival of groups of rows by their predicted risk."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.cli.report.charts import Chart, fit_axis
from committee.cli.report.markup import Section, make_figure, show_number
from committee.scoring import estimate_survival

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["describe_order"]

_MOST_PLACES = 20
_N_GROUPS = 3
_GROUP_NAMES = ("lowest risk", "middle", "highest risk")
_MOST_STEPS = 200


def describe_order(y: NDArray[Any], predicted: FloatArray, where: str = "held-out rows") -> Section:
    """The order of rows by their predictions, against what was observed.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Relevances and queries, or events and times, as a structured array.
    predicted : ndarray of shape (n_rows,)
        Scores or risks.
    where : str
        What the rows are called.

    Returns
    -------
    Section
    """
    ranks = "relevance" in (y.dtype.names or ())
    figure = _draw_places(y, predicted, where) if ranks else _draw_survival(y, predicted, where)
    title = "Relevance by place" if ranks else "Survival by predicted risk"
    return Section("order", title, f'<div class="figures">{figure}</div>')


def _draw_places(y: NDArray[Any], predicted: FloatArray, where: str) -> str:
    """Mean relevance at each place, by the model and in the best order."""
    lines = []
    for scores in (predicted, y["relevance"]):
        order = np.lexsort((-scores, y["query"]))
        queries = y["query"][order]
        starts = np.flatnonzero(np.concatenate(([True], queries[1:] != queries[:-1])))
        places = np.arange(len(order)) - np.repeat(starts, np.diff(starts, append=len(order)))
        relevance, kept = y["relevance"][order], places < _MOST_PLACES
        counts = np.bincount(places[kept])
        lines.append(np.bincount(places[kept], relevance[kept]) / counts)
    numbers = np.arange(1, len(lines[0]) + 1)
    caption = f"Mean relevance of {where} by their place in their query: by the model, and in the best order."
    chart = Chart(fit_axis(numbers, "place"), fit_axis([0.0, *lines[1]], "mean relevance"), caption)
    for color, (name, means) in enumerate(zip(("by the model", "best order"), lines, strict=True)):
        tips = [f"place {n}, {name}: {show_number(float(mean), 3)}" for n, mean in zip(numbers, means, strict=True)]
        chart.line(numbers, means, color)
        chart.points(numbers, means, color, name, tips=tips)
    return make_figure(chart.render(), caption)


def _draw_survival(y: NDArray[Any], predicted: FloatArray, where: str) -> str:
    """The Kaplan-Meier estimates of thirds of the rows by risk."""
    thirds = np.argsort(np.argsort(predicted, kind="stable"), kind="stable") * _N_GROUPS // len(predicted)
    end = float(y["time"].max())
    caption = f"Kaplan-Meier estimates of {where}, in thirds by their predicted risk. Curves apart show a useful order."
    chart = Chart(fit_axis([0.0, end], "time"), fit_axis([0.0, 1.0], "share without the event"), caption)
    for color, name in enumerate(_GROUP_NAMES):
        own = y[thirds == color]
        if not len(own):
            continue
        curve = estimate_survival(own)
        times = np.linspace(0.0, float(own["time"].max()), _MOST_STEPS)
        shares = curve(times)
        chart.line(times, shares, color, name)
        shown = np.arange(0, len(times), 10)
        tips = [f"{name}, time {show_number(float(times[k]), 3)}: {shares[k]:.2f}" for k in shown]
        chart.tips(times[shown], shares[shown], tips, color)
    return make_figure(chart.render(), caption)
