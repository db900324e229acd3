"""A chart with two axes, to which lines, points, bands, bars and images are added."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from numpy.typing import ArrayLike

from committee.cli.report.charts.axis import Axis
from committee.cli.report.charts.svg import LETTER, N_COLORS, RIGHT, TOP, WIDTH, make_tip, open_svg, place
from committee.cli.report.markup import escape, truncate_text

__all__ = ["Chart"]

_HEIGHT = 290
_LEFT, _BOTTOM = 66, 46
_LINE_HEIGHT = 16
# Points from which they are drawn transparent.
_MANY = 60


@dataclass
class Chart:
    """A chart with two axes.

    Every mark may have a tooltip; see :func:`committee.cli.report.charts.svg.make_tip`.

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
        self._ends_y = (self.height - _BOTTOM, TOP)
        width = (self.height - _BOTTOM - TOP) if self.square else WIDTH - _LEFT - RIGHT
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
        path = " ".join(f"{place(a)},{place(b)}" for a, b in self._scale(xs, ys))
        self._marks.append(f'<polyline class="line s{color % N_COLORS}" points="{path}"/>')
        self.name(color, name)

    def band(self, xs: ArrayLike, lows: ArrayLike, highs: ArrayLike, color: int = 0) -> None:
        """Fill the area between two lines."""
        there, back = self._scale(xs, lows), self._scale(xs, highs)[::-1]
        path = " ".join(f"{place(a)},{place(b)}" for a, b in [*there, *back])
        self._marks.append(f'<polygon class="band s{color % N_COLORS}" points="{path}"/>')

    def tips(self, xs: ArrayLike, ys: ArrayLike, texts: Sequence[str], color: int = 0) -> None:
        """Add invisible points that only have tooltips, for lines."""
        self._add_points(xs, ys, texts, f"hit s{color % N_COLORS}", 4)

    def points(
        self,
        xs: ArrayLike,
        ys: ArrayLike,
        color: int = 0,
        name: str = "",
        *,
        radius: float = 3.5,
        tips: Sequence[str] = (),
    ) -> None:
        """Add points, transparent if there are many."""
        kind = "cloud" if len(self._scale(xs, ys)) > _MANY else "dot"
        self._add_points(xs, ys, tips, f"{kind} s{color % N_COLORS}", radius)
        self.name(color, name)

    def _add_points(self, xs: ArrayLike, ys: ArrayLike, tips: Sequence[str], kind: str, radius: float) -> None:
        across, up = self.x.scale(xs, *self._ends_x).tolist(), self.y.scale(ys, *self._ends_y).tolist()
        dots = []
        for k, (a, b) in enumerate(zip(across, up, strict=True)):
            if math.isfinite(a + b):
                end = f">{make_tip(tips[k])}</circle>" if len(tips) else "/>"
                dots.append(f'<circle cx="{place(a)}" cy="{place(b)}" r="{radius}"{end}')
        self._marks.append(f'<g class="{kind}">{"".join(dots)}</g>')

    def errors(self, xs: ArrayLike, lows: ArrayLike, highs: ArrayLike) -> None:
        """Add vertical error bars."""
        pairs = zip(self._scale(xs, lows), self._scale(xs, highs), strict=True)
        path = "".join(f"M{place(a)} {place(low)}V{place(high)}" for (a, low), (_, high) in pairs)
        self._marks.append(f'<path class="error" d="{path}"/>')

    def columns(
        self,
        lefts: ArrayLike,
        rights: ArrayLike,
        heights: ArrayLike,
        color: int = 0,
        name: str = "",
        *,
        tips: Sequence[str] = (),
    ) -> None:
        """Add vertical bars from 0."""
        floor = self.y.scale([0.0], *self._ends_y)[0]
        ends = zip(self.x.scale(lefts, *self._ends_x), self.x.scale(rights, *self._ends_x), strict=True)
        tops = self.y.scale(heights, *self._ends_y)
        bars = []
        for k, ((a, b), top) in enumerate(zip(ends, tops, strict=True)):
            end = f">{make_tip(tips[k])}</rect>" if len(tips) else "/>"
            bars.append(
                f'<rect x="{place(a)}" y="{place(min(top, floor))}" width="{place(max(b - a, 0.5))}" '
                f'height="{place(abs(floor - top))}"{end}'
            )
        self._marks.append(f'<g class="bar seam s{color % N_COLORS}">{"".join(bars)}</g>')
        self.name(color, name)

    def rule(self, xs: Sequence[float], ys: Sequence[float], text: str = "") -> None:
        """Add a dashed line, with a label at its end."""
        (a, b), (c, d) = self._scale(xs, ys)
        self._marks.append(f'<path class="rule" d="M{place(a)} {place(b)}L{place(c)} {place(d)}"/>')
        if text:
            self._marks.append(
                f'<text class="tick" x="{place(c - 4)}" y="{place(d - 5)}" text-anchor="end">{escape(text)}</text>'
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
        head = open_svg(self._ends_x[1] + RIGHT, height, self.alt)
        return f"{head}{self._frame()}{''.join(self._marks)}{legend}</svg>"

    def _frame(self) -> str:
        (left, right), (bottom, top) = self._ends_x, self._ends_y
        parts = []
        for tick, text in self.y.list_ticks():
            at = place(self.y.scale([tick], bottom, top)[0])
            parts.append(f'<path class="grid" d="M{left} {at}H{right}"/>')
            parts.append(f'<text class="tick" x="{left - 6}" y="{at}" dy="4" text-anchor="end">{escape(text)}</text>')
        for tick, text in self.x.list_ticks():
            at = place(self.x.scale([tick], left, right)[0])
            parts.append(f'<path class="axis" d="M{at} {bottom}v4"/>')
            parts.append(f'<text class="tick" x="{at}" y="{bottom + 18}" text-anchor="middle">{escape(text)}</text>')
        parts.append(f'<path class="axis" d="M{left} {bottom}H{right}"/>')
        middle, label = (left + right) / 2, escape(truncate_text(self.x.label, 48))
        parts.append(f'<text x="{place(middle)}" y="{bottom + 37}" text-anchor="middle">{label}</text>')
        parts.append(
            f'<text transform="translate(13 {place((top + bottom) / 2)}) rotate(-90)" text-anchor="middle">'
            f"{escape(truncate_text(self.y.label, 34))}</text>"
        )
        return "".join(parts)


def _layout_legend(entries: list[tuple[int, str]], left: int) -> list[tuple[int, str, int, int]]:
    """Colour, text, position and line of each entry; a line has as many entries as fit."""
    laid_out, at, line = [], left, 0
    for color, text in entries:
        short = truncate_text(text, 40)
        width = 26 + round(LETTER * len(short))
        if at > left and at + width > WIDTH:
            at, line = left, line + 1
        laid_out.append((color, short, at, line))
        at += width
    return laid_out
