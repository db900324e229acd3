"""Histograms: of one table, of two tables beside each other, and small ones for table cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from committee.cli.report.charts.axis import Axis, fit_axis
from committee.cli.report.charts.chart import Chart
from committee.cli.report.charts.svg import make_tip, open_svg, place
from committee.cli.report.markup import show_number

__all__ = ["draw_histogram", "draw_paired_histogram", "draw_spark", "draw_spark_pair"]

_SPARK_WIDTH, _SPARK_HEIGHT = 120, 26


def draw_histogram(values: ArrayLike, label: str, alt: str, *, bins: int = 30) -> str:
    """A histogram.

    Parameters
    ----------
    values : array-like
        Numbers.
    label : str
        Label of the axis.
    alt : str
        Alternative text.
    bins : int
        Number of bins.

    Returns
    -------
    str
        SVG.
    """
    counts, edges = np.histogram(np.asarray(values, dtype=np.float64), bins=bins)
    chart = Chart(fit_axis(edges, label, pad=0.02), fit_axis(counts, "rows", zero=True), alt, height=240)
    tips = [
        f"{show_number(a, 3)} to {show_number(b, 3)}: {n:,} rows"
        for a, b, n in zip(edges[:-1].tolist(), edges[1:].tolist(), counts.tolist(), strict=True)
    ]
    chart.columns(edges[:-1], edges[1:], counts, tips=tips)
    return chart.render()


def draw_paired_histogram(
    labels: Sequence[str],
    shares: tuple[ArrayLike, ArrayLike],
    names: tuple[str, str],
    label: str,
    alt: str,
    *,
    edges: Sequence[float] = (),
    calendar: bool = False,
) -> str:
    """Shares of the same bins in two tables, beside each other.

    Parameters
    ----------
    labels : sequence of str
        Names of the bins, in order.
    shares : tuple of two array-like
        Share of each bin in each table.
    names : tuple of two str
        Names of the tables.
    label : str
        Label of the axis of the bins.
    alt : str
        Alternative text.
    edges : sequence of float
        Ends of bins of numbers; bins without are categories.
    calendar : bool
        Whether these are seconds since 1970.

    Returns
    -------
    str
        SVG.
    """
    first, second = (np.asarray(one, dtype=np.float64) for one in shares)
    starts = np.arange(len(labels)) - 0.42 if not edges else np.asarray(edges[:-1], dtype=np.float64)
    half = 0.42 if not edges else (edges[1] - edges[0]) / 2
    across = Axis(-0.6, len(labels) - 0.4, label, names=tuple(labels))
    if edges:
        across = replace(fit_axis(edges, label, pad=0.02), calendar=calendar)
    chart = Chart(across, fit_axis([*first, *second], "share of rows", zero=True), alt, height=240)
    for color, offset, heights, name in ((7, 0.0, first, names[0]), (1, half, second, names[1])):
        tips = [f"{one}: {share:.1%} ({name})" for one, share in zip(labels, heights, strict=True)]
        chart.columns(starts + offset, starts + offset + half, heights, color, name, tips=tips)
    return chart.render()


def draw_spark(counts: ArrayLike, alt: str, tips: Sequence[str] = ()) -> str:
    """A row of small bars for a table cell.

    Parameters
    ----------
    counts : array-like
        Heights of the bars.
    alt : str
        Alternative text.
    tips : sequence of str
        Tooltip of each bar.

    Returns
    -------
    str
        SVG.
    """
    heights = np.asarray(counts, dtype=np.float64)
    heights = heights / max(float(heights.max(initial=0.0)), 1e-12) * (_SPARK_HEIGHT - 2)
    bars = _draw_small_bars(heights, tips, 0)
    return open_svg(_SPARK_WIDTH, _SPARK_HEIGHT, alt) + f"{bars}</svg>"


def draw_spark_pair(first: ArrayLike, second: ArrayLike, alt: str, tips: Sequence[str] = ()) -> str:
    """A row of small bars, and the outline of a second row of bars over it.

    Parameters
    ----------
    first, second : array-like
        Shares of the same bins in two tables.
    alt : str
        Alternative text.
    tips : sequence of str
        Tooltip of each bin.

    Returns
    -------
    str
        SVG.
    """
    under, over = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    scale = (_SPARK_HEIGHT - 2) / max(float(under.max(initial=0.0)), float(over.max(initial=0.0)), 1e-12)
    step = _SPARK_WIDTH / max(len(over), 1)
    path = f"M0 {_SPARK_HEIGHT}"
    for k, height in enumerate(over * scale):
        path += f"V{place(_SPARK_HEIGHT - height)}H{place((k + 1) * step)}"
    bars = _draw_small_bars(under * scale, tips, 7)
    return (
        open_svg(_SPARK_WIDTH, _SPARK_HEIGHT, alt) + f'{bars}<path class="step s1" d="{path}V{_SPARK_HEIGHT}"/></svg>'
    )


def _draw_small_bars(heights: ArrayLike, tips: Sequence[str], color: int) -> str:
    values = np.asarray(heights, dtype=np.float64)
    step = _SPARK_WIDTH / max(len(values), 1)
    bars = "".join(
        f'<rect x="{place(k * step)}" y="{place(_SPARK_HEIGHT - h)}" width="{place(max(step - 1, 1))}" '
        f'height="{place(h)}"' + (f">{make_tip(tips[k])}</rect>" if len(tips) else "/>")
        for k, h in enumerate(values)
    )
    return f'<g class="bar s{color}">{bars}</g>'
