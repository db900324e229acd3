"""Figures of the results, made of the charts of the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.cli.report.charts import Axis, Chart, fit_axis
from committee.cli.report.markup import make_figure
from committee.cli.report.raster import color_values, encode_png
from committee.typing import FloatArray

__all__ = ["draw_boundary", "draw_curves", "draw_map", "draw_pixels"]

_CELLS = 120
_TINTS = np.array([(0, 114, 178, 70), (213, 94, 0, 70)], dtype=np.uint8)


def draw_boundary(model: Any, X: FloatArray, y: NDArray[Any], title: str) -> str:
    """The decision boundary of a model of two features and two classes, with the training rows.

    Parameters
    ----------
    model : estimator
        Fitted.
    X, y : ndarray
        Rows and their classes 0 and 1.
    title : str
        Title of the figure.

    Returns
    -------
    str
        HTML.
    """
    across, up = fit_axis(X[:, 0], "x₁", pad=0.06), fit_axis(X[:, 1], "x₂", pad=0.06)
    columns, rows = np.linspace(across.low, across.high, _CELLS), np.linspace(up.high, up.low, _CELLS)
    grid = np.stack([axis.ravel() for axis in np.meshgrid(columns, rows)], axis=1)
    predicted = np.asarray(model.predict(grid)).astype(np.intp).reshape(_CELLS, _CELLS)
    chart = Chart(across, up, title)
    chart.image(encode_png(_TINTS[predicted]))
    for label in (0, 1):
        chart.points(X[y == label, 0], X[y == label, 1], label, f"class {label}", radius=2.5)
    return make_figure(chart.render(), title)


def draw_curves(
    rounds: ArrayLike, curves: Sequence[tuple[str, ArrayLike]], labels: tuple[str, str], title: str, *, log: bool = True
) -> str:
    """Curves over rounds.

    Parameters
    ----------
    rounds : array-like
        Numbers of rounds, from 1.
    curves : sequence of tuple of str and array-like
        Name and values of each curve.
    labels : tuple of two str
        Labels of the axes.
    title : str
        Title of the figure.
    log : bool
        Whether the axis of the rounds is logarithmic.

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
        Lighter is larger.
    title : str
        Title of the figure.

    Returns
    -------
    str
        HTML.
    """
    height, width = values.shape
    across, up = Axis(0, width, "column of the image"), Axis(-height, 0, "row of the image")
    chart = Chart(across, Axis(up.low, up.high, up.label), title, height=400, square=True)
    chart.image(_enlarge(color_values(values)))
    return make_figure(chart.render(), title)


def draw_map(across: Axis, up: Axis, values: FloatArray, title: str) -> str:
    """A heat map between two axes.

    Parameters
    ----------
    across, up : Axis
        The axes.
    values : ndarray of shape (n_up, n_across)
        From bottom to top; lighter is larger.
    title : str
        Title of the figure.

    Returns
    -------
    str
        HTML.
    """
    chart = Chart(across, up, title, height=420)
    chart.image(_enlarge(color_values(values[::-1])))
    return make_figure(chart.render(), title)


def _enlarge(pixels: NDArray[np.uint8]) -> str:
    """Repeat the pixels, since browsers blur small images when they enlarge them."""
    times = max(1, 480 // max(pixels.shape[:2]))
    return encode_png(pixels.repeat(times, axis=0).repeat(times, axis=1))
