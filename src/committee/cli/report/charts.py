"""Pictures as SVG inside the page: their colours are the page's, so that they follow it from light to dark to print."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.report.dates import list_dates
from committee.cli.report.markup import escape, shorten, show_number

__all__ = ["Axis", "Chart", "draw_bars", "draw_dots", "draw_histogram", "draw_matrix", "draw_spark", "fit_axis"]

N_COLORS = 8
_WIDTH, _HEIGHT = 440, 290
_LEFT, _RIGHT, _TOP, _BOTTOM = 66, 14, 12, 46
_LINE_HEIGHT = 16
_TICKS = 6
_WIDEST_NAME = 18
_MOST_NUMBERED = 12
# Of lying bars: the ends of their axis, and the height of one.
_LYING = (154, _WIDTH - _RIGHT)
_STEP = 24


@dataclass(frozen=True)
class Axis:
    """One direction of a chart.

    Parameters
    ----------
    low, high : float
        Its ends.
    label : str
        What is measured, as text.
    names : sequence of str, optional
        In place of numbers: what stands at 0, 1, 2, …
    log : bool
        Whether equal steps are equal factors.
    calendar : bool
        Whether numbers are seconds since 1970 and shown as dates.
    """

    low: float
    high: float
    label: str
    names: tuple[str, ...] = ()
    log: bool = False
    calendar: bool = False

    def place(self, values: Any, start: float, end: float) -> NDArray[np.float64]:
        """Where values lie between two ends of the picture."""
        low, high, at = self.low, self.high, np.asarray(values, dtype=np.float64)
        if self.log:
            low, high, at = math.log(low), math.log(high), np.log(at)
        placed: NDArray[np.float64] = start + (at - low) / (high - low) * (end - start)
        return placed

    def list_ticks(self) -> list[tuple[float, str]]:
        """Places and texts of its marks."""
        if self.names:
            step = math.ceil(len(self.names) / 8)
            places = [k for k in range(len(self.names)) if self.low <= k <= self.high][::step]
            return [(float(k), shorten(self.names[k], max(5, 48 // len(places)))) for k in places]
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


def fit_axis(values: Any, label: str, *, zero: bool = False, log: bool = False, pad: float = 0.04) -> Axis:
    """An axis on which values have room.

    Parameters
    ----------
    values : array-like
        What must fit; NaN is passed over.
    label : str
        What is measured.
    zero : bool
        Whether 0 must be on it.
    log : bool
        Whether equal steps are equal factors.
    pad : float
        Room at both ends, as a share of the span.

    Returns
    -------
    Axis
        With room.
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
    room = pad * (high - low)
    return Axis(low - (0 if zero and low == 0 else room), high + (0 if zero and high == 0 else room), label)


def _choose_step(least: float) -> float:
    """1, 2 or 5 times a power of ten, no less than asked for."""
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
    """Marks between two axes.

    Parameters
    ----------
    x, y : Axis
        The directions; y goes up.
    alt : str
        What the picture shows, for who does not see it.
    height : int
        In the units of the picture, which is 440 wide.
    square : bool
        Whether both directions are equally long.
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

    def _place(self, xs: Any, ys: Any) -> list[tuple[float, float]]:
        across, up = self.x.place(xs, *self._ends_x), self.y.place(ys, *self._ends_y)
        return [(a, b) for a, b in zip(across.tolist(), up.tolist(), strict=True) if math.isfinite(a + b)]

    def name(self, color: int, text: str) -> None:
        """Explain a colour in the legend."""
        if text:
            self._legend.append((color, text))

    def line(self, xs: Any, ys: Any, color: int = 0, name: str = "") -> None:
        """Points joined in order."""
        path = " ".join(f"{_at(a)},{_at(b)}" for a, b in self._place(xs, ys))
        self._marks.append(f'<polyline class="line s{color % N_COLORS}" points="{path}"/>')
        self.name(color, name)

    def band(self, xs: Any, lows: Any, highs: Any, color: int = 0) -> None:
        """What lies between two lines."""
        there, back = self._place(xs, lows), self._place(xs, highs)[::-1]
        path = " ".join(f"{_at(a)},{_at(b)}" for a, b in [*there, *back])
        self._marks.append(f'<polygon class="band s{color % N_COLORS}" points="{path}"/>')

    def points(self, xs: Any, ys: Any, color: int = 0, name: str = "", *, radius: float = 3.5) -> None:
        """Dots, see-through where they are many."""
        placed = self._place(xs, ys)
        kind = "cloud" if len(placed) > 60 else "dot"
        dots = "".join(f'<circle cx="{_at(a)}" cy="{_at(b)}" r="{radius}"/>' for a, b in placed)
        self._marks.append(f'<g class="{kind} s{color % N_COLORS}">{dots}</g>')
        self.name(color, name)

    def errors(self, xs: Any, lows: Any, highs: Any) -> None:
        """Vertical lines from low to high."""
        pairs = zip(self._place(xs, lows), self._place(xs, highs), strict=True)
        path = "".join(f"M{_at(a)} {_at(low)}V{_at(high)}" for (a, low), (_, high) in pairs)
        self._marks.append(f'<path class="error" d="{path}"/>')

    def columns(self, lefts: Any, rights: Any, heights: Any, color: int = 0) -> None:
        """Bars that stand on 0."""
        floor = self.y.place([0.0], *self._ends_y)[0]
        ends = zip(self.x.place(lefts, *self._ends_x), self.x.place(rights, *self._ends_x), strict=True)
        tops = self.y.place(heights, *self._ends_y)
        bars = "".join(
            f'<rect x="{_at(a)}" y="{_at(min(t, floor))}" width="{_at(max(b - a, 0.5))}" '
            f'height="{_at(abs(floor - t))}"/>'
            for (a, b), t in zip(ends, tops, strict=True)
        )
        self._marks.append(f'<g class="bar seam s{color % N_COLORS}">{bars}</g>')

    def rule(self, xs: Sequence[float], ys: Sequence[float], text: str = "") -> None:
        """A dashed line, with a word at its end."""
        (a, b), (c, d) = self._place(xs, ys)
        self._marks.append(f'<path class="rule" d="M{_at(a)} {_at(b)}L{_at(c)} {_at(d)}"/>')
        if text:
            self._marks.append(
                f'<text class="tick" x="{_at(c - 4)}" y="{_at(d - 5)}" text-anchor="end">{escape(text)}</text>'
            )

    def image(self, source: str) -> None:
        """A raster, as a data address, that fills the space between the axes."""
        (left, right), (bottom, top) = self._ends_x, self._ends_y
        self._marks.insert(
            0,
            f'<image href="{source}" x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" '
            'preserveAspectRatio="none"/>',
        )

    def render(self) -> str:
        """The picture as SVG."""
        lines = _lay_legend(self._legend, _LEFT)
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
            at = _at(self.y.place([tick], bottom, top)[0])
            parts.append(f'<path class="grid" d="M{left} {at}H{right}"/>')
            parts.append(f'<text class="tick" x="{left - 6}" y="{at}" dy="4" text-anchor="end">{escape(text)}</text>')
        for tick, text in self.x.list_ticks():
            at = _at(self.x.place([tick], left, right)[0])
            parts.append(f'<path class="axis" d="M{at} {bottom}v4"/>')
            parts.append(f'<text class="tick" x="{at}" y="{bottom + 18}" text-anchor="middle">{escape(text)}</text>')
        parts.append(f'<path class="axis" d="M{left} {bottom}H{right}"/>')
        middle = (left + right) / 2
        parts.append(
            f'<text x="{_at(middle)}" y="{bottom + 37}" text-anchor="middle">{escape(shorten(self.x.label, 48))}</text>'
        )
        parts.append(
            f'<text transform="translate(13 {_at((top + bottom) / 2)}) rotate(-90)" text-anchor="middle">'
            f"{escape(shorten(self.y.label, 34))}</text>"
        )
        return "".join(parts)


def _open_svg(width: float, height: float, alt: str) -> str:
    return f'<svg viewBox="0 0 {_at(width)} {_at(height)}" role="img" aria-label="{escape(alt)}">'


def _lay_legend(entries: list[tuple[int, str]], left: int) -> list[tuple[int, str, int, int]]:
    """Colour, text, place and line of each entry; as many on a line as there is room for."""
    placed, at, line = [], left, 0
    for color, text in entries:
        short = shorten(text, 40)
        width = 30 + round(6.8 * len(short))
        if at > left and at + width > _WIDTH:
            at, line = left, line + 1
        placed.append((color, short, at, line))
        at += width
    return placed


def draw_bars(
    names: Sequence[str], values: Any, label: str, alt: str, *, errors: Any = None, colors: Sequence[int] | None = None
) -> str:
    """Lying bars with names, from the first at the top.

    Parameters
    ----------
    names : sequence of str
        Of the bars.
    values : array-like
        How long they are.
    label : str
        What is measured.
    alt : str
        What the picture shows.
    errors : array-like, optional
        How far the ends may be off, either way.
    colors : sequence of int, optional
        Of each bar.

    Returns
    -------
    str
        SVG.
    """
    lengths = np.asarray(values, dtype=np.float64)
    spread = np.zeros(len(lengths)) if errors is None else np.asarray(errors, dtype=np.float64)
    axis = fit_axis([*(lengths - spread), *(lengths + spread)], label, zero=True)
    floor, ends = axis.place([0.0], *_LYING)[0], axis.place(lengths, *_LYING)
    bars = []
    for k, name in enumerate(names):
        told = f"{escape(name)}: {show_number(float(lengths[k]))}"
        bars.append(
            f'<rect class="bar s{(colors[k] if colors is not None else 0) % N_COLORS}" '
            f'x="{_at(min(floor, ends[k]))}" y="{_TOP + _STEP * k + 4}" width="{_at(abs(ends[k] - floor))}" '
            f'height="{_STEP - 8}"><title>{told}</title></rect>'
        )
    if errors is not None:
        bars.append(_draw_spans(axis, lengths - spread, lengths + spread))
    bars.append(f'<path class="axis" d="M{_at(floor)} {_TOP}v{_STEP * len(names) + 2}"/>')
    return _frame_lying(names, axis, alt, "".join(bars))


def draw_dots(names: Sequence[str], values: Any, lows: Any, highs: Any, axis: Axis, alt: str) -> str:
    """Dots with names and a line through each, from the first at the top.

    Parameters
    ----------
    names : sequence of str
        Of the dots.
    values, lows, highs : array-like
        Where they lie, and their lines begin and end.
    axis : Axis
        What is measured.
    alt : str
        What the picture shows.

    Returns
    -------
    str
        SVG.
    """
    places = axis.place(values, *_LYING)
    dots = "".join(f'<circle cx="{_at(x)}" cy="{_TOP + _STEP * k + 12}" r="5"/>' for k, x in enumerate(places))
    return _frame_lying(names, axis, alt, _draw_spans(axis, lows, highs) + f'<g class="dot s0">{dots}</g>')


def _draw_spans(axis: Axis, lows: Any, highs: Any) -> str:
    ends = zip(axis.place(lows, *_LYING), axis.place(highs, *_LYING), strict=True)
    path = "".join(f"M{_at(a)} {_TOP + _STEP * k + 12}H{_at(b)}" for k, (a, b) in enumerate(ends))
    return f'<path class="error" d="{path}"/>'


def _frame_lying(names: Sequence[str], axis: Axis, alt: str, marks: str) -> str:
    """Names to the left, numbers and label below, marks between."""
    left, right = _LYING
    bottom = _TOP + _STEP * len(names) + 2
    parts = [_open_svg(_WIDTH, bottom + 42, alt)]
    for tick, text in axis.list_ticks():
        at = _at(axis.place([tick], left, right)[0])
        parts.append(f'<path class="grid" d="M{at} {_TOP}V{bottom}"/>')
        parts.append(f'<text class="tick" x="{at}" y="{bottom + 16}" text-anchor="middle">{escape(text)}</text>')
    for k, name in enumerate(names):
        short = escape(shorten(name, _WIDEST_NAME))
        parts.append(f'<text x="{left - 8}" y="{_TOP + _STEP * k + 16}" text-anchor="end">{short}</text>')
    label = escape(shorten(axis.label, 40))
    parts.append(f'{marks}<text x="{(left + right) // 2}" y="{bottom + 34}" text-anchor="middle">{label}</text></svg>')
    return "".join(parts)


def draw_histogram(values: Any, label: str, alt: str, *, bins: int = 30) -> str:
    """How often values occur.

    Parameters
    ----------
    values : array-like
        Numbers.
    label : str
        What they are.
    alt : str
        What the picture shows.
    bins : int
        How many parts the axis is cut into.

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
    """A confusion matrix: true classes downwards, predicted ones to the right, shares of each row as colour.

    Parameters
    ----------
    labels : sequence of str
        The classes.
    counts : ndarray of shape (n_classes, n_classes)
        Rows of the table in each cell.
    alt : str
        What the picture shows.

    Returns
    -------
    str
        SVG.
    """
    n = len(labels)
    left, top = 110, 46
    size = (_WIDTH - left - _RIGHT) / n if n > 4 else 66.0
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    wide = max(3, int(size // 7))
    parts = [_open_svg(_WIDTH, top + size * n + 12, alt)]
    parts.append(
        f'<text class="tick" x="{left}" y="14">predicted →</text><text class="tick" x="4" y="14">true ↓</text>'
    )
    for k, name in enumerate(labels):
        middle = top + size * (k + 0.5)
        parts.append(
            f'<text x="{left - 8}" y="{_at(middle)}" dy="4" text-anchor="end">{escape(shorten(name, 14))}</text>'
        )
        if size >= 13:
            parts.append(
                f'<text class="tick" x="{_at(left + size * (k + 0.5))}" y="{top - 8}" text-anchor="middle">'
                f"{escape(shorten(name, wide))}</text>"
            )
    for i in range(n):
        for j in range(n):
            x, y, share = left + size * j, top + size * i, float(shares[i, j])
            told = f"{labels[i]} taken for {labels[j]}: {counts[i, j]:,}"
            parts.append(
                f'<rect class="cell" x="{_at(x)}" y="{_at(y)}" width="{_at(size - 1)}" height="{_at(size - 1)}" '
                f'fill-opacity="{0.05 + 0.9 * share:.2f}"><title>{escape(told)}</title></rect>'
            )
            if n <= _MOST_NUMBERED:
                parts.append(
                    f'<text{" class=over" if share > 0.5 else ""} x="{_at(x + size / 2)}" y="{_at(y + size / 2)}" '
                    f'dy="4" text-anchor="middle">{counts[i, j]:,}</text>'
                )
    return "".join(parts) + "</svg>"


def draw_spark(counts: Any, alt: str) -> str:
    """A row of small bars for a cell of a table.

    Parameters
    ----------
    counts : array-like
        How high they are.
    alt : str
        What the picture shows.

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
