"""Horizontal bars and dots with names; the left margin follows the longest name."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from committee.cli.report.charts.axis import Axis, fit_axis
from committee.cli.report.charts.svg import LETTER, N_COLORS, RIGHT, TOP, WIDTH, make_tip, open_svg, place, wrap_name
from committee.cli.report.markup import escape, show_number, truncate_text

__all__ = ["draw_bars", "draw_dots"]

# Characters of a line of a name.
_NAME_WIDTH = 24
_NARROWEST = 70
_STEP, _LINE = 24, 15


class _Layout:
    """Where the names, the bars and the axis of a chart are.

    Parameters
    ----------
    names : sequence of str
        Names of the bars; long ones have two lines.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = [wrap_name(name, _NAME_WIDTH) for name in names]
        longest = max((len(line) for lines in self.names for line in lines), default=0)
        self.left = max(_NARROWEST, round(LETTER * longest) + 12)
        self.ends = (self.left, WIDTH - RIGHT)
        self.step = _STEP + (_LINE if any(len(lines) > 1 for lines in self.names) else 0)
        self.bottom = TOP + self.step * len(self.names) + 2

    def middle(self, k: int) -> float:
        """Height of the middle of a bar."""
        return TOP + self.step * (k + 0.5)

    def frame(self, axis: Axis, alt: str, marks: str) -> str:
        """The chart: names on the left, tick labels and the label of the axis below."""
        left, right = self.ends
        parts = [open_svg(WIDTH, self.bottom + 42, alt)]
        for tick, text in axis.list_ticks():
            at = place(axis.scale([tick], left, right)[0])
            parts.append(f'<path class="grid" d="M{at} {TOP}V{self.bottom}"/>')
            label = f'<text class="tick" x="{at}" y="{self.bottom + 16}" text-anchor="middle">{escape(text)}</text>'
            parts.append(label)
        for k, lines in enumerate(self.names):
            first = self.middle(k) + 4 - _LINE * (len(lines) - 1) / 2
            for row, line in enumerate(lines):
                parts.append(
                    f'<text x="{left - 8}" y="{place(first + _LINE * row)}" text-anchor="end">{escape(line)}</text>'
                )
        label = escape(truncate_text(axis.label, 40))
        middle = place((left + right) / 2)
        parts.append(f'{marks}<text x="{middle}" y="{self.bottom + 34}" text-anchor="middle">{label}</text></svg>')
        return "".join(parts)

    def draw_spans(self, axis: Axis, lows: ArrayLike, highs: ArrayLike) -> str:
        """A horizontal line for each name."""
        ends = zip(axis.scale(lows, *self.ends), axis.scale(highs, *self.ends), strict=True)
        path = "".join(f"M{place(a)} {place(self.middle(k))}H{place(b)}" for k, (a, b) in enumerate(ends))
        return f'<path class="error" d="{path}"/>'


def draw_bars(
    names: Sequence[str],
    values: ArrayLike,
    label: str,
    alt: str,
    *,
    errors: ArrayLike | None = None,
    colors: Sequence[int] | None = None,
) -> str:
    """Horizontal bars with names, the first at the top.

    Parameters
    ----------
    names : sequence of str
        Names of the bars.
    values : array-like
        Lengths of the bars.
    label : str
        Label of the axis.
    alt : str
        Alternative text.
    errors : array-like, optional
        Half lengths of the error bars.
    colors : sequence of int, optional
        Colour of each bar.

    Returns
    -------
    str
        SVG.
    """
    lengths = np.asarray(values, dtype=np.float64)
    spread = np.zeros(len(lengths)) if errors is None else np.asarray(errors, dtype=np.float64)
    layout = _Layout(names)
    axis = fit_axis([*(lengths - spread), *(lengths + spread)], label, zero=True)
    floor, ends = axis.scale([0.0], *layout.ends)[0], axis.scale(lengths, *layout.ends)
    bars = []
    for k, name in enumerate(names):
        more = f" ± {show_number(float(spread[k]), 2)}" if errors is not None else ""
        bars.append(
            f'<rect class="bar s{(colors[k] if colors is not None else 0) % N_COLORS}" '
            f'x="{place(min(floor, ends[k]))}" y="{place(layout.middle(k) - 8)}" '
            f'width="{place(abs(ends[k] - floor))}" height="16">'
            f"{make_tip(f'{name}: {show_number(float(lengths[k]))}{more}')}</rect>"
        )
    if errors is not None:
        bars.append(layout.draw_spans(axis, lengths - spread, lengths + spread))
    bars.append(f'<path class="axis" d="M{place(floor)} {TOP}V{layout.bottom}"/>')
    return layout.frame(axis, alt, "".join(bars))


def draw_dots(names: Sequence[str], values: ArrayLike, spans: tuple[ArrayLike, ArrayLike], axis: Axis, alt: str) -> str:
    """Dots with names and a horizontal line through each, the first at the top.

    Parameters
    ----------
    names : sequence of str
        Names of the dots.
    values : array-like
        Positions of the dots.
    spans : tuple of two array-like
        Starts and ends of the lines.
    axis : Axis
        The axis.
    alt : str
        Alternative text.

    Returns
    -------
    str
        SVG.
    """
    layout, numbers = _Layout(names), np.asarray(values, dtype=np.float64)
    lows, highs = (np.asarray(ends, dtype=np.float64) for ends in spans)
    dots = []
    for k, x in enumerate(axis.scale(numbers, *layout.ends)):
        text = f"{names[k]}: {show_number(numbers[k])} ({show_number(lows[k], 3)} to {show_number(highs[k], 3)})"
        dots.append(f'<circle cx="{place(x)}" cy="{place(layout.middle(k))}" r="5">{make_tip(text)}</circle>')
    marks = layout.draw_spans(axis, lows, highs) + f'<g class="dot s0">{"".join(dots)}</g>'
    return layout.frame(axis, alt, marks)
