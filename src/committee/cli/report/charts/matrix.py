"""Grids of coloured cells: confusion matrices, and surfaces over two features."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from committee.cli.report.charts.axis import Axis
from committee.cli.report.charts.svg import LETTER, RIGHT, TOP, WIDTH, elide_middle, make_tip, open_svg, place
from committee.cli.report.markup import escape, show_number, truncate_text
from committee.cli.report.raster import color_values
from committee.typing import FloatArray

__all__ = ["draw_matrix", "draw_surface"]

_MOST_NUMBERED = 12
_LINE_HEIGHT = 15
_MATRIX_LEFT, _MATRIX_TOP, _NAME_WIDTH = 70, 46, 16
_SURFACE_BOTTOM, _SURFACE_HEIGHT = 46, 300
_KEY_WIDTH, _KEY_STEPS = 46, 24


def draw_matrix(labels: Sequence[str], counts: NDArray[np.intp], alt: str) -> str:
    """A confusion matrix: true classes downwards, predicted classes to the right, row proportions as colour.

    Parameters
    ----------
    labels : sequence of str
        The classes.
    counts : ndarray of shape (n_classes, n_classes)
        Rows of the table in each cell.
    alt : str
        Alternative text.

    Returns
    -------
    str
        SVG.
    """
    n, names = len(labels), [elide_middle(label, _NAME_WIDTH) for label in labels]
    longest = LETTER * max(map(len, names))
    left = max(_MATRIX_LEFT, round(longest) + 12)
    size = (WIDTH - left - RIGHT) / n if n > 4 else 66.0
    upright = longest > size  # names of columns that are wider than a column
    top = 32 + round(longest) if upright else _MATRIX_TOP
    proportions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    parts = [open_svg(WIDTH, top + size * n + 12, alt), _name_matrix(names, (left, top), size, upright=upright)]
    for i in range(n):
        for j in range(n):
            x, y, share = left + size * j, top + size * i, float(proportions[i, j])
            tip = f"{labels[i]} predicted as {labels[j]}: {counts[i, j]:,} rows, {share:.1%} of {labels[i]}"
            parts.append(
                f'<rect class="cell" x="{place(x)}" y="{place(y)}" width="{place(size - 1)}" '
                f'height="{place(size - 1)}" fill-opacity="{0.05 + 0.9 * share:.2f}">{make_tip(tip)}</rect>'
            )
            if n <= _MOST_NUMBERED:
                parts.append(
                    f'<text{" class=over" if share > 0.5 else ""} x="{place(x + size / 2)}" '
                    f'y="{place(y + size / 2)}" dy="4" text-anchor="middle">{counts[i, j]:,}</text>'
                )
    return "".join(parts) + "</svg>"


def _name_matrix(names: Sequence[str], corner: tuple[int, int], size: float, *, upright: bool) -> str:
    """Names of the rows and columns, as many as there is room for."""
    left, top = corner
    parts = [f'<text class="tick" x="{left}" y="14">predicted →</text><text class="tick" x="4" y="14">true ↓</text>']
    for k in range(0, len(names), math.ceil(_LINE_HEIGHT / size)):
        middle, name = size * (k + 0.5), escape(names[k])
        parts.append(f'<text x="{left - 8}" y="{place(top + middle)}" dy="4" text-anchor="end">{name}</text>')
        turned = f'transform="translate({place(left + middle + 4)} {top - 6}) rotate(-90)"'
        level = f'x="{place(left + middle)}" y="{top - 8}" text-anchor="middle"'
        parts.append(f'<text class="tick" {turned if upright else level}>{name}</text>')
    return "".join(parts)


def draw_surface(across: Axis, up: Axis, values: FloatArray, label: str, alt: str) -> str:
    """A value over two features: coloured cells, each with a tooltip, and a key of the colours.

    Parameters
    ----------
    across, up : Axis
        Axes whose names are those of the grid points, one for each.
    values : ndarray of shape (n_across, n_up)
        The values.
    label : str
        Their name.
    alt : str
        Alternative text.

    Returns
    -------
    str
        SVG.
    """
    rows = _thin(up.names, 7)
    left, right = 28 + round(LETTER * max(len(text) for _, text in rows)), WIDTH - RIGHT - _KEY_WIDTH
    top, bottom = TOP + 8, _SURFACE_HEIGHT - _SURFACE_BOTTOM
    wide, high = (right - left) / len(across.names), (bottom - top) / len(up.names)
    colors = color_values(values)
    parts = [open_svg(WIDTH, _SURFACE_HEIGHT, alt)]
    for i, x_name in enumerate(across.names):
        for j, y_name in enumerate(up.names):
            red, green, blue, _ = colors[i, j].tolist()
            tip = f"{across.label} {x_name}, {up.label} {y_name}: {show_number(float(values[i, j]), 3)}"
            parts.append(
                f'<rect x="{place(left + wide * i)}" y="{place(bottom - high * (j + 1))}" width="{place(wide + 0.4)}" '
                f'height="{place(high + 0.4)}" fill="#{red:02x}{green:02x}{blue:02x}">{make_tip(tip)}</rect>'
            )
    for k, text in _thin(across.names, 5):
        at = place(left + wide * (k + 0.5))
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>')
    for k, text in rows:
        at = place(bottom - high * (k + 0.5))
        parts.append(f'<text class="tick" x="{left - 6}" y="{at}" dy="4" text-anchor="end">{escape(text)}</text>')
    middle, name = place((left + right) / 2), escape(truncate_text(across.label, 44))
    parts.append(f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{name}</text>')
    parts.append(
        f'<text transform="translate(13 {place((top + bottom) / 2)}) rotate(-90)" text-anchor="middle">'
        f"{escape(truncate_text(up.label, 34))}</text>"
    )
    return "".join(parts) + _draw_key(values, label, (top, bottom)) + "</svg>"


def _thin(names: Sequence[str], most: int) -> list[tuple[int, str]]:
    step = -(-len(names) // most)
    return [(k, truncate_text(names[k], 9)) for k in range(0, len(names), step)]


def _draw_key(values: FloatArray, label: str, ends: tuple[float, float]) -> str:
    """A column of colours with the least and the largest value."""
    top, bottom = ends
    at, step = WIDTH - RIGHT - _KEY_WIDTH + 12, (bottom - top) / _KEY_STEPS
    colors = color_values(np.arange(float(_KEY_STEPS))[:, None])[:, 0]
    cells = "".join(
        f'<rect x="{at}" y="{place(bottom - step * (k + 1))}" width="12" height="{place(step + 0.4)}" '
        f'fill="#{red:02x}{green:02x}{blue:02x}"/>'
        for k, (red, green, blue, _) in enumerate(colors.tolist())
    )
    low, high = show_number(float(values.min()), 3), show_number(float(values.max()), 3)
    return (
        f'{cells}<text class="tick" x="{WIDTH - 2}" y="{top - 6}" text-anchor="end">{high}</text>'
        f'<text class="tick" x="{WIDTH - 2}" y="{bottom + 16}" text-anchor="end">{low}</text>'
        f'<text class="tick" transform="translate({at + 26} {place((top + bottom) / 2)}) rotate(-90)" '
        f'text-anchor="middle">{escape(truncate_text(label, 30))}</text>'
    )
