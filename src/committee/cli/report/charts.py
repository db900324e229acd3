"""Charts as inline SVG; colours come from the style sheet of the page, which has light, dark and print modes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from committee.cli.report.dates import list_dates
from committee.cli.report.markup import escape, show_number, truncate_text
from committee.typing import FloatArray

__all__ = ["Axis", "Chart", "draw_bars", "draw_dots", "draw_histogram", "draw_matrix", "draw_spark", "fit_axis"]

N_COLORS = 8
_WIDTH, _HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 14, 12, 46
_LINE_HEIGHT = 16
_TICKS = 6
_WIDEST_NAME = 18
_MOST_NUMBERED = 12
# Horizontal bars: the ends of their axis, and the height of a bar.
_BAR_ENDS = (154, _WIDTH - _RIGHT)
_BAR_STEP = 24


@dataclass(frozen=True)
class Axis:
    """One axis of a chart.

    Parameters
    ----------
    low, high : float
        Its limits.
    label : str
        Its label, as plain text.
    names : sequence of str, optional
        Tick labels at 0, 1, 2, … in place of numbers.
    log : bool
        Whether the scale is logarithmic.
    calendar : bool
        Whether values are seconds since 1970 and shown as dates.
    """

    low: float
    high: float
    label: str
    names: tuple[str, ...] = ()
    log: bool = False
    calendar: bool = False

    def scale(self, values: ArrayLike, start: float, end: float) -> FloatArray:
        """Positions of values between two ends of the image."""
        low, high, at = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.log:
            low, high, at = math.log(low), math.log(high), np.log(at)
        scaled: FloatArray = start + (at - low) / (high - low) * (end - start)
        return scaled

    def list_ticks(self) -> list[tuple[float, str]]:
        """Positions and labels of its ticks."""
        if self.names:
            step = math.ceil(len(self.names) / 8)
            positions = [k for k in range(len(self.names)) if self.low <= k <= self.high][::step]
            return [(float(k), truncate_text(self.names[k], max(5, 48 // len(positions)))) for k in positions]
        if self.calendar and (dates := list_dates(self.low, self.high)):
            return dates
        if self.log:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            factors = (1,) if last - first > 2 else (1, 2, 5)
            found = [f * 10.0**k for k in range(first, last + 1) for f in factors]
        else:
            width = _choose_step((self.high - self.low) / _TICKS)
            first, last = math.ceil(self.low / width - 1e-9), math.floor(self.high / width + 1e-9)
            found = [k * width for k in range(first, last + 1)]
        slack = 1e-9 * abs(self.high - self.low)
        return [(tick, _show_tick(tick)) for tick in found if self.low - slack <= tick <= self.high + slack]


def fit_axis(
    values: ArrayLike | Sequence[ArrayLike], label: str, *, zero: bool = False, log: bool = False, pad: float = 0.04
) -> Axis:
    """An axis whose limits contain all values.

    Parameters
    ----------
    values : array-like
        Values; NaN is ignored.
    label : str
        Label of the axis.
    zero : bool
        Whether the limits must contain 0.
    log : bool
        Whether the scale is logarithmic.
    pad : float
        Margin at both ends, as a share of the range.

    Returns
    -------
    Axis
    """
    finite = np.asarray(values, dtype=np.float64).ravel()
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if log:
        return Axis(low, high if high > low else low * 10.0, label, log=True)
    if zero:
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= 1e-9 * max(abs(low), abs(high)):
        low, high = low - max(0.5, abs(low) * 0.05), high + max(0.5, abs(high) * 0.05)
    margin = pad * (high - low)
    return Axis(low - (0 if zero and low == 0 else margin), high + (0 if zero and high == 0 else margin), label)


def _choose_step(least: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is not below a minimum."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least * (1 - 1e-9))


def _show_tick(value: float) -> str:
    size = abs(value)
    for limit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= limit:
            return show_number(value / {"G": 1e9, "M": 1e6, "k": 1e3}[letter], 3) + letter
    return show_number(round(value, 12))


def _at(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


@dataclass
class Chart:
    """A chart with two axes.

    Parameters
    ----------
    x, y : Axis
        The axes; y points upwards.
    alt : str
        Alternative text.
    height : int
        Height of the image; its width is 440.
    square : bool
        Whether both axes have the same length.
    """

    x: Axis
    y: Axis
    alt: str
    height: int = _HEIGHT
    square: bool = False
    _marks: list[str] = field(default_factory=list)
    _legend: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._ends_y = (self.height - _BOTTOM, _TOP)
        width = (self.height - _BOTTOM - _TOP) if self.square else _WIDTH - _LEFT - _RIGHT
        self._ends_x = (_LEFT, _LEFT + width)

    def _scale(self, xs: ArrayLike, ys: ArrayLike) -> list[tuple[float, float]]:
        across, up = self.x.scale(xs, *self._ends_x), self.y.scale(ys, *self._ends_y)
        return [(a, b) for a, b in zip(across.tolist(), up.tolist(), strict=True) if math.isfinite(a + b)]

    def name(self, color: int, text: str) -> None:
        """Add a colour to the legend."""
        if text:
            self._legend.append((color, text))

    def line(self, xs: ArrayLike, ys: ArrayLike, color: int = 0, name: str = "") -> None:
        """Add a line through points."""
        path = " ".join(f"{_at(a)},{_at(b)}" for a, b in self._scale(xs, ys))
        self._marks.append(f'<polyline class="line s{color % N_COLORS}" points="{path}"/>')
        self.name(color, name)

    def band(self, xs: ArrayLike, lows: ArrayLike, highs: ArrayLike, color: int = 0) -> None:
        """Fill the area between two lines."""
        there, back = self._scale(xs, lows), self._scale(xs, highs)[::-1]
        path = " ".join(f"{_at(a)},{_at(b)}" for a, b in [*there, *back])
        self._marks.append(f'<polygon class="band s{color % N_COLORS}" points="{path}"/>')

    def points(self, xs: ArrayLike, ys: ArrayLike, color: int = 0, name: str = "", *, radius: float = 3.5) -> None:
        """Add points, transparent if there are many."""
        scaled = self._scale(xs, ys)
        kind = "cloud" if len(scaled) > 60 else "dot"
        dots = "".join(f'<circle cx="{_at(a)}" cy="{_at(b)}" r="{radius}"/>' for a, b in scaled)
        self._marks.append(f'<g class="{kind} s{color % N_COLORS}">{dots}</g>')
        self.name(color, name)

    def errors(self, xs: ArrayLike, lows: ArrayLike, highs: ArrayLike) -> None:
        """Add vertical error bars."""
        pairs = zip(self._scale(xs, lows), self._scale(xs, highs), strict=True)
        path = "".join(f"M{_at(a)} {_at(low)}V{_at(high)}" for (a, low), (_, high) in pairs)
        self._marks.append(f'<path class="error" d="{path}"/>')

    def columns(self, lefts: ArrayLike, rights: ArrayLike, heights: ArrayLike, color: int = 0) -> None:
        """Add vertical bars from 0."""
        floor = self.y.scale([0.0], *self._ends_y)[0]
        ends = zip(self.x.scale(lefts, *self._ends_x), self.x.scale(rights, *self._ends_x), strict=True)
        tops = self.y.scale(heights, *self._ends_y)
        bars = "".join(
            f'<rect x="{_at(a)}" y="{_at(min(t, floor))}" width="{_at(max(b - a, 0.5))}" '
            f'height="{_at(abs(floor - t))}"/>'
            for (a, b), t in zip(ends, tops, strict=True)
        )
        self._marks.append(f'<g class="bar seam s{color % N_COLORS}">{bars}</g>')

    def rule(self, xs: Sequence[float], ys: Sequence[float], text: str = "") -> None:
        """Add a dashed line, with a label at its end."""
        (a, b), (c, d) = self._scale(xs, ys)
        self._marks.append(f'<path class="rule" d="M{_at(a)} {_at(b)}L{_at(c)} {_at(d)}"/>')
        if text:
            self._marks.append(
                f'<text class="tick" x="{_at(c - 4)}" y="{_at(d - 5)}" text-anchor="end">{escape(text)}</text>'
            )

    def image(self, source: str) -> None:
        """Add a raster image, as a data URL, that fills the area between the axes."""
        (left, right), (bottom, top) = self._ends_x, self._ends_y
        self._marks.insert(
            0,
            f'<image href="{source}" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
            'preserveAspectRatio="none"/>',
        )

    def render(self) -> str:
        """The chart as SVG."""
        lines = _layout_legend(self._legend, _LEFT)
        height = self.height + (_LINE_HEIGHT * (1 + max(line for *_, line in lines)) if lines else 0)
        legend = "".join(
            f'<rect class="bar s{color % N_COLORS}" x="{at}" y="{self.height + line * _LINE_HEIGHT - 2}" width="11" '
            f'height="11"/><text x="{at + 16}" y="{self.height + line * _LINE_HEIGHT + 8}">{escape(text)}</text>'
            for color, text, at, line in lines
        )
        return (
            _open_svg(self._ends_x[1] + _RIGHT, height, self.alt)
            + self._frame()
            + "".join(self._marks)
            + legend
            + ("</svg>")
        )

    def _frame(self) -> str:
        (left, right), (bottom, top) = self._ends_x, self._ends_y
        parts = []
        for tick, text in self.y.list_ticks():
            at = _at(self.y.scale([tick], bottom, top)[0])
            parts.append(f'<path class="grid" d="M{left} {at}H{right}"/>')
            parts.append(f'<text class="tick" x="{left - 6}" y="{at}" dy="4" text-anchor="end">{escape(text)}</text>')
        for tick, text in self.x.list_ticks():
            at = _at(self.x.scale([tick], left, right)[0])
            parts.append(f'<path class="axis" d="M{at} {bottom}v4"/>')
            parts.append(f'<text class="tick" x="{at}" y="{bottom + 18}" text-anchor="middle">{escape(text)}</text>')
        parts.append(f'<path class="axis" d="M{left} {bottom}H{right}"/>')
        middle, label = (left + right) / 2, escape(truncate_text(self.x.label, 48))
        parts.append(f'<text x="{_at(middle)}" y="{bottom + 37}" text-anchor="middle">{label}</text>')
        parts.append(
            f'<text transform="translate(13 {_at((top + bottom) / 2)}) rotate(-90)" text-anchor="middle">'
            f"{escape(truncate_text(self.y.label, 34))}</text>"
        )
        return "".join(parts)


def _open_svg(width: float, height: float, alt: str) -> str:
    return f'<svg viewBox="0 0 {_at(width)} {_at(height)}" role="img" aria-label="{escape(alt)}">'


def _layout_legend(entries: list[tuple[int, str]], left: int) -> list[tuple[int, str, int, int]]:
    """Colour, text, position and line of each entry; a line has as many entries as fit."""
    laid_out, at, line = [], left, 0
    for color, text in entries:
        short = truncate_text(text, 40)
        width = 30 + round(6.8 * len(short))
        if at > left and at + width > _WIDTH:
            at, line = left, line + 1
        laid_out.append((color, short, at, line))
        at += width
    return laid_out


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
    axis = fit_axis([*(lengths - spread), *(lengths + spread)], label, zero=True)
    floor, ends = axis.scale([0.0], *_BAR_ENDS)[0], axis.scale(lengths, *_BAR_ENDS)
    bars = []
    for k, name in enumerate(names):
        tooltip = f"{escape(name)}: {show_number(float(lengths[k]))}"
        bars.append(
            f'<rect class="bar s{(colors[k] if colors is not None else 0) % N_COLORS}" '
            f'x="{_at(min(floor, ends[k]))}" y="{_TOP + _BAR_STEP * k + 4}" width="{_at(abs(ends[k] - floor))}" '
            f'height="{_BAR_STEP - 8}"><title>{tooltip}</title></rect>'
        )
    if errors is not None:
        bars.append(_draw_spans(axis, lengths - spread, lengths + spread))
    bars.append(f'<path class="axis" d="M{_at(floor)} {_TOP}v{_BAR_STEP * len(names) + 2}"/>')
    return _frame_bars(names, axis, alt, "".join(bars))


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
    scaled = axis.scale(values, *_BAR_ENDS)
    dots = "".join(f'<circle cx="{_at(x)}" cy="{_TOP + _BAR_STEP * k + 12}" r="5"/>' for k, x in enumerate(scaled))
    return _frame_bars(names, axis, alt, _draw_spans(axis, *spans) + f'<g class="dot s0">{dots}</g>')


def _draw_spans(axis: Axis, lows: ArrayLike, highs: ArrayLike) -> str:
    ends = zip(axis.scale(lows, *_BAR_ENDS), axis.scale(highs, *_BAR_ENDS), strict=True)
    path = "".join(f"M{_at(a)} {_TOP + _BAR_STEP * k + 12}H{_at(b)}" for k, (a, b) in enumerate(ends))
    return f'<path class="error" d="{path}"/>'


def _frame_bars(names: Sequence[str], axis: Axis, alt: str, marks: str) -> str:
    """Add names on the left, and tick labels and the axis label below."""
    left, right = _BAR_ENDS
    bottom = _TOP + _BAR_STEP * len(names) + 2
    parts = [_open_svg(_WIDTH, bottom + 42, alt)]
    for tick, text in axis.list_ticks():
        at = _at(axis.scale([tick], left, right)[0])
        parts.append(f'<path class="grid" d="M{at} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>')
    for k, name in enumerate(names):
        short = escape(truncate_text(name, _WIDEST_NAME))
        parts.append(f'<text x="{left - 8}" y="{_TOP + _BAR_STEP * k + 16}" text-anchor="end">{short}</text>')
    label = escape(truncate_text(axis.label, 40))
    parts.append(f'{marks}<text x="{(left + right) // 2}" y="{bottom + 34}" text-anchor="middle">{label}</text></svg>')
    return "".join(parts)


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
    chart.columns(edges[:-1], edges[1:], counts)
    return chart.render()


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
    n = len(labels)
    left, top = 110, 46
    size = (_WIDTH - left - _RIGHT) / n if n > 4 else 66.0
    proportions = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    wide = max(3, int(size // 7))
    parts = [_open_svg(_WIDTH, top + size * n + 12, alt)]
    parts.append(
        f'<text class="tick" x="{left}" y="14">predicted →</text><text class="tick" x="4" y="14">true ↓</text>'
    )
    for k, name in enumerate(labels):
        middle = top + size * (k + 0.5)
        parts.append(
            f'<text x="{left - 8}" y="{_at(middle)}" dy="4" text-anchor="end">{escape(truncate_text(name, 14))}</text>'
        )
        if size >= 13:
            parts.append(
                f'<text class="tick" x="{_at(left + size * (k + 0.5))}" y="{top - 8}" text-anchor="middle">'
                f"{escape(truncate_text(name, wide))}</text>"
            )
    for i in range(n):
        for j in range(n):
            x, y, share = left + size * j, top + size * i, float(proportions[i, j])
            tooltip = f"{labels[i]} predicted as {labels[j]}: {counts[i, j]:,}"
            parts.append(
                f'<rect class="cell" x="{_at(x)}" y="{_at(y)}" width="{_at(size - 1)}" height="{_at(size - 1)}" '
                f'fill-opacity="{0.05 + 0.9 * share:.2f}"><title>{escape(tooltip)}</title></rect>'
            )
            if n <= _MOST_NUMBERED:
                parts.append(
                    f'<text{" class=over" if share > 0.5 else ""} x="{_at(x + size / 2)}" y="{_at(y + size / 2)}" '
                    f'dy="4" text-anchor="middle">{counts[i, j]:,}</text>'
                )
    return "".join(parts) + "</svg>"


def draw_spark(counts: ArrayLike, alt: str) -> str:
    """A row of small bars for a table cell.

    Parameters
    ----------
    counts : array-like
        Heights of the bars.
    alt : str
        Alternative text.

    Returns
    -------
    str
        SVG.
    """
    heights = np.asarray(counts, dtype=np.float64)
    heights = heights / max(float(heights.max(initial=0.0)), 1.0) * 24
    step = 120 / max(len(heights), 1)
    bars = "".join(
        f'<rect x="{_at(k * step)}" y="{_at(26 - h)}" width="{_at(max(step - 1, 1))}" height="{_at(h)}"/>'
        for k, h in enumerate(heights)
    )
    return _open_svg(120, 26, alt) + f'<g class="bar s0">{bars}</g></svg>'
