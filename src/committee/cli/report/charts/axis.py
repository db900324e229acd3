"""Axes: limits, scales and ticks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from committee.cli.report.dates import list_dates, show_date
from committee.cli.report.markup import show_number, truncate_text
from committee.typing import FloatArray

__all__ = ["Axis", "fit_axis"]

_TICKS = 6


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

    def show(self, value: float) -> str:
        """A value on the axis as text, for tooltips."""
        if self.names:
            place = round(value)
            return self.names[place] if 0 <= place < len(self.names) else ""
        return show_date(value) if self.calendar else show_number(value)

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
    values: ArrayLike | Sequence[ArrayLike],
    label: str,
    *,
    zero: bool = False,
    log: bool = False,
    pad: float = 0.04,
    log_pad: float = 0.0,
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
    pad, log_pad : float
        Margin at both ends, as a share of the range, of a plain and of a logarithmic scale.

    Returns
    -------
    Axis
    """
    finite = np.asarray(values, dtype=np.float64).ravel()
    finite = finite[np.isfinite(finite)]
    low, high = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    if log:
        high = high if high > low else low * 10.0
        margin = (high / low) ** log_pad
        return Axis(low / margin, high * margin, label, log=True)
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
    # Without thousands separators, since many numbers of four digits are years.
    return show_number(round(value, 12)).replace(",", "")
