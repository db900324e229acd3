"""Format dates in seconds since 1970, which is how charts and summaries hold them."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["DAY", "list_dates", "show_date"]

DAY = 86400.0
"""Seconds of a day."""
# NumPy unit, units between two ticks, and number of characters of the label.
_STEPS = (
    *((("s", minutes * 60, 16)) for minutes in (1, 5, 15, 60, 180, 360, 720)),
    *((("D", days, 10)) for days in (1, 2, 5, 10)),
    *((("M", months, 7)) for months in (1, 3, 6)),
    *((("Y", years * power, 4)) for power in (1, 10, 100) for years in (1, 2, 5)),
)
_MOST = 5
# Range of dates with a four-digit year.
_FIRST, _LAST = (float(np.datetime64(day, "s").astype(np.int64)) for day in ("0001-01-01", "9999-12-31"))


def show_date(seconds: float) -> str:
    """Format a date, with the time of day unless it is midnight.

    Parameters
    ----------
    seconds : float
        Since 1970.

    Returns
    -------
    str
        In ISO 8601 format.

    Examples
    --------
    >>> show_date(86400.0), show_date(3661.0)
    ('1970-01-02', '1970-01-01 01:01')
    """
    if not _FIRST <= seconds <= _LAST:
        return "–"
    return _write(np.datetime64(math.floor(seconds), "s"), 10 if seconds % DAY == 0.0 else 16)


def list_dates(low: float, high: float) -> list[tuple[float, str]]:
    """Round dates in a range, at most five.

    Parameters
    ----------
    low, high : float
        Seconds since 1970.

    Returns
    -------
    list of (float, str)
        Positions and labels; empty if no round dates fit.

    Examples
    --------
    >>> list_dates(0.0, 3 * 366 * 86400.0)
    [(0.0, '1970'), (31536000.0, '1971'), (63072000.0, '1972'), (94694400.0, '1973')]
    """
    if not _FIRST <= low < high <= _LAST:
        return []
    for unit, step, letters in _STEPS:
        first, last = (_count_date_units(np.datetime64(math.floor(end), "s"), unit) for end in (low, high))
        if last - first > (_MOST + 1) * step:
            continue
        # Round years are multiples of the step counted from year 0, not from 1970.
        before = (first + (1970 if unit == "Y" else 0)) % step
        marks = np.arange(first - before, last + 1, step, dtype=np.int64).astype(f"M8[{unit}]")
        found = [(float(_count_date_units(mark, "s")), _write(mark, letters)) for mark in marks]
        found = [(position, text) for position, text in found if low <= position <= high]
        if len(found) <= _MOST:
            return found if len(found) > 1 else []
    return []


def _write(date: np.datetime64, letters: int) -> str:
    return str(date.astype("M8[s]")).replace("T", " ")[:letters]


def _count_date_units(date: np.datetime64, unit: str) -> int:
    """Whole units since 1970."""
    return int(date.astype(f"M8[{unit}]").astype(np.int64))
