"""Pictures of the results, on the charts of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.report.charts import Axis, Chart, fit_axis
from committee.cli.report.markup import make_figure
from committee.cli.report.raster import encode_png, paint_values
from committee.typing import FloatArray

__all__ = ["draw_boundary", "draw_curves", "draw_map", "draw_pixels"]

_CELLS = 120
_TINTS = np.array([(0, 114, 178, 70), (213, 94, 0, 70)], dtype=np.uint8)


def draw_boundary(model: Any, X: FloatArray, y: NDArray[Any], title: str) -> str:
    """Where a model of two features says which of two classes, with training rows.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : ndarray
        Rows and their classes 0 and 1.
    title : str
        Of the picture.

    Returns
    -------
    str
        HTML.
    """
    across, up = fit_axis(X[:, 0], "x₁", pad=0.06), fit_axis(X[:, 1], "x₂", pad=0.06)
    columns, rows = np.linspace(across.low, across.high, _CELLS), np.linspace(up.high, up.low, _CELLS)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(columns, rows)], axis=1)
    said = np.asarray(model.predict(grid)).astype(np.intp).reshape(_CELLS, _CELLS)
    chart = Chart(across, up, title)
    chart.image(encode_png(_TINTS[said]))
    for label in (0, 1):
        chart.points(X[y == label, 0], X[y == label, 1], label, f"class {label}", radius=2.5)
    return make_figure(chart.render(), title)


def draw_curves(
    rounds: Any, curves: Sequence[tuple[str, Any]], labels: tuple[str, str], title: str, *, log: bool = True
) -> str:
    """Curves over rounds.

    Parameters
    ----------
    rounds : array-like
        From 1 on.
    curves : sequence of tuple of str and array-like
        Name and heights of each.
    labels : tuple of two str
        Of the axes.
    title : str
        Of the picture.
    log : bool
        Whether equal steps of the rounds are equal factors.

    Returns
    -------
    str
        HTML.
    """
    heights = np.concatenate([np.asarray(curve, dtype=np.float64) for _, curve in curves])
    chart = Chart(fit_axis(rounds, labels[0], log=log, pad=0.0), fit_axis(heights, labels[1], zero=True), title)
    for color, (name, curve) in enumerate(curves):
        chart.line(rounds, curve, color, name)
    return make_figure(chart.render(), title)


def draw_pixels(values: FloatArray, title: str) -> str:
    """A square image of values.

    Parameters
    ----------
    values : ndarray of shape (height, width)
        The lighter, the larger.
    title : str
        Of the picture.

    Returns
    -------
    str
        HTML.
    """
    height, width = values.shape
    across, up = Axis(0, width, "column of the image"), Axis(-height, 0, "row of the image")
    chart = Chart(across, Axis(up.low, up.high, up.label), title, height=400, square=True)
    chart.image(_enlarge(paint_values(values)))
    return make_figure(chart.render(), title)


def draw_map(across: Axis, up: Axis, values: FloatArray, title: str) -> str:
    """A heat map between two axes.

    Parameters
    ----------
    across, up : Axis
        Directions.
    values : ndarray of shape (n_up, n_across)
        From the bottom to the top; the lighter, the larger.
    title : str
        Of the picture.

    Returns
    -------
    str
        HTML.
    """
    chart = Chart(across, up, title, height=420)
    chart.image(_enlarge(paint_values(values[::-1])))
    return make_figure(chart.render(), title)


def _enlarge(pixels: NDArray[np.uint8]) -> str:
    """Cells of several pixels each, since browsers blur small images when they stretch them."""
    times = max(1, 480 // max(pixels.shape[:2]))
    return encode_png(pixels.repeat(times, axis=0).repeat(times, axis=1))
