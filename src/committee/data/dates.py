"""Dates, times of day and durations as seconds, and the calendar parts of a date.

Seconds are whole seconds plus a correctly rounded fraction, so that they have the same bits whatever the unit that a
library counts in. A date counts from 1970-01-01, in UTC if it has a time zone and as it is written otherwise; a time of
day counts from midnight.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.data.inputs import describe_kind
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray, BoolArray, FloatArray

__all__ = [
    "PARTS",
    "compute_part",
    "find_parts",
    "read_array_times",
    "read_arrow_times",
    "read_object_times",
    "read_pandas_times",
    "read_polars_times",
    "show_dates",
    "to_dates",
]

#: Calendar parts of a date, besides its seconds; Monday is weekday 0.
PARTS = ("year", "month", "weekday", "hour")
_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9, "ps": 10**12, "fs": 10**15, "as": 10**18}
_SECONDS_IN = {"m": 60, "h": 3600, "D": 86_400, "W": 604_800}
_DAY = 86_400
_MOST_SECONDS = 2.0**62
_EPOCH_ORDINAL = datetime.date(1970, 1, 1).toordinal()


# --- parts -------------------------------------------------------------------------------------------------------


def compute_part(seconds: AnyArray, part: str) -> FloatArray:
    """A calendar part of dates in seconds; NaN where the date is missing.

    Examples
    --------
    >>> [compute_part(np.array([-1.0]), part).item() for part in PARTS]
    [1969.0, 12.0, 2.0, 23.0]
    """
    known = np.isfinite(seconds)
    # Dates beyond what whole seconds can hold, which no calendar reaches, are the last ones that they can hold.
    whole = np.floor(np.clip(np.where(known, seconds, 0.0), -_MOST_SECONDS, _MOST_SECONDS)).astype(np.int64)
    if part == "seconds":
        return np.asarray(seconds, dtype=np.float64)
    days = whole // _DAY
    if part == "hour":
        found = (whole - days * _DAY) // 3600
    elif part == "weekday":
        found = (days + 3) % 7  # 1970 began on a Thursday
    else:
        months = days.astype("M8[D]").astype("M8[M]").astype(np.int64)
        found = 1970 + months // 12 if part == "year" else months % 12 + 1
    return np.where(known, found.astype(np.float64), np.nan)


def find_parts(seconds: AnyArray, counted: BoolArray | None) -> tuple[str, ...]:
    """The features that dates get: their seconds, and each part that is not the same for all of them.

    Examples
    --------
    >>> find_parts(np.array([0.0, 86_400.0, np.nan]), None)
    ('seconds', 'weekday')
    """
    known = seconds[np.isfinite(seconds) if counted is None else np.isfinite(seconds) & counted]
    varying = []
    for part in PARTS:
        values = compute_part(known, part)
        if len(values) and values.min() < values.max():
            varying.append(part)
    return ("seconds", *varying)


def to_dates(seconds: FloatArray) -> AnyArray:
    """Seconds as datetime64, to the microsecond; NaT where missing.

    Examples
    --------
    >>> to_dates(np.array([0.5]))
    array(['1970-01-01T00:00:00.500000'], dtype='datetime64[us]')
    """
    known = np.isfinite(seconds)
    dates = np.rint(np.where(known, seconds, 0.0) * 1e6).astype(np.int64).astype("M8[us]")
    dates[~known] = np.datetime64("NaT", "us")
    return dates


def show_dates(seconds: AnyArray) -> list[str]:
    """Dates in seconds as text, without what is zero at the end.

    Examples
    --------
    >>> show_dates(np.array([0.0, 3600.0, 61.5]))
    ['1970-01-01', '1970-01-01 01:00', '1970-01-01 00:01:01.500000']
    """
    shown = []
    for text in np.datetime_as_string(to_dates(seconds)).tolist():
        day, _, time = text.partition("T")
        time = time.removesuffix(".000000")
        time = "" if time == "00:00:00" else time.removesuffix(":00") if time.count(":") == 2 else time
        shown.append(f"{day} {time}".rstrip())
    return shown


# --- seconds -----------------------------------------------------------------------------------------------------


def _count_seconds(ticks: NDArray[np.int64], unit: str, count: int, missing: BoolArray) -> FloatArray:
    """Seconds from a number of units."""
    ticks = np.where(missing, 0, ticks)
    if unit in _SECONDS_IN:
        seconds = ticks.astype(np.float64) * float(count * _SECONDS_IN[unit])
    else:
        per_second = _PER_SECOND[unit]
        whole, rest = np.divmod(ticks, per_second)
        whole, rest = whole * count, rest * count
        if count > 1:
            more, rest = np.divmod(rest, per_second)
            whole = whole + more
        seconds = whole + rest / per_second
        # A fraction that is rounded up to a whole second would change the day of a moment before midnight.
        np.copyto(seconds, np.nextafter(whole + 1.0, whole), where=seconds >= whole + 1.0)
    seconds[missing] = np.nan
    return np.asarray(seconds)


def read_array_times(array: AnyArray, where: str) -> tuple[str, FloatArray]:
    """The kind and the seconds of an array of type datetime64 or timedelta64."""
    kind = "date" if array.dtype.kind == "M" else "duration"
    missing = np.isnat(array)
    unit, count = np.datetime_data(array.dtype)
    if missing.all():
        return kind, np.full(array.shape, np.nan)
    if unit in ("Y", "M") and kind == "date":
        array, unit, count = array.astype("M8[D]"), "D", 1
    if unit in ("Y", "M", "generic"):
        raise DataTypeError(
            f"X {where} holds durations in {'no unit' if unit == 'generic' else 'months or years'} ({array.dtype}), "
            "whose seconds are not known. Turn them into days, for example."
        )
    return kind, _count_seconds(array.astype(np.int64), unit, count, missing)


def read_pandas_times(series: Any, where: str) -> tuple[str, FloatArray]:
    """The kind and the seconds of a pandas series of dates, durations or periods; a period counts from its start."""
    if hasattr(series.dtype, "pyarrow_dtype"):
        import pyarrow

        return read_arrow_times(pyarrow.array(series))
    if hasattr(series.dtype, "freq"):
        try:
            series = series.dt.to_timestamp()
        except (OverflowError, ValueError) as error:
            raise DataError(f"X {where} holds periods that cannot be read as dates: {error}") from None
    if getattr(series.dtype, "tz", None) is not None:
        return "date_utc", read_array_times(series.dt.tz_convert(None).to_numpy(), where)[1]
    return read_array_times(series.to_numpy(), where)


def read_polars_times(series: Any) -> tuple[str, FloatArray]:
    """The kind and the seconds of a Polars series of type Date, Datetime, Duration or Time."""
    name, unit = str(series.dtype.base_type()), getattr(series.dtype, "time_unit", None)
    kind = {"Duration": "duration", "Time": "time"}.get(name, "date")
    if getattr(series.dtype, "time_zone", None) is not None:
        kind = "date_utc"
    missing = series.is_null().to_numpy()
    ticks = series.to_physical().fill_null(0).to_numpy().astype(np.int64)
    unit = {"Date": "D", "Time": "ns"}.get(name, unit)
    return kind, _count_seconds(ticks, str(unit), 1, missing)


def read_arrow_times(chunked: Any) -> tuple[str, FloatArray]:
    """The kind and the seconds of a PyArrow array of a date, timestamp, time or duration type."""
    from pyarrow import types

    own = chunked.type
    if types.is_date(own):
        kind, unit = "date", "D" if types.is_date32(own) else "ms"
    elif types.is_timestamp(own):
        kind, unit = "date" if own.tz is None else "date_utc", own.unit
    else:
        kind, unit = "time" if types.is_time(own) else "duration", own.unit
    integers = chunked.cast("int32") if own.bit_width == 32 else chunked
    ticks = np.asarray(integers.cast("int64").fill_null(0), dtype=np.int64)
    return kind, _count_seconds(ticks, unit, 1, np.asarray(chunked.is_null(), dtype=bool))


def read_object_times(values: Sequence[Any], missing: BoolArray, where: str) -> tuple[str, FloatArray]:
    """The kind and the seconds of Python's and NumPy's dates, times and durations, and of pandas' scalars."""
    seconds = np.full(len(values), np.nan)
    kinds: dict[str, Any] = {}
    for row in np.flatnonzero(~missing).tolist():
        kind, seconds[row] = _read_moment(values[row], where)
        kinds.setdefault(kind, values[row])
    if len(kinds) > 1:
        first, second = list(kinds)[:2]
        raise DataTypeError(
            f"X {where} mixes {describe_kind(first)} and {describe_kind(second)}, such as {kinds[first]!s} and "
            f"{kinds[second]!s}. Make it one or the other."
        )
    return next(iter(kinds), "date"), seconds


def _read_moment(value: Any, where: str) -> tuple[str, float]:
    if isinstance(value, np.datetime64 | np.timedelta64):
        kind, found = read_array_times(np.array([value]), where)
        return kind, float(found[0])
    if type(value).__name__ == "Period":  # of pandas
        value = value.to_timestamp()
    if isinstance(value, datetime.datetime):
        kind = "date" if value.tzinfo is None else "date_utc"
        value = value if kind == "date" else value.astimezone(datetime.UTC)
        whole = _count_days(value) * _DAY + value.hour * 3600 + value.minute * 60 + value.second
        return kind, _add_fraction(whole, value.microsecond * 1000 + getattr(value, "nanosecond", 0))
    if isinstance(value, datetime.date):
        return "date", float(_count_days(value) * _DAY)
    if isinstance(value, datetime.time):
        if value.tzinfo is not None:
            raise DataTypeError(f"X {where} holds times of day with a time zone, such as {value}. Take it off first.")
        whole = value.hour * 3600 + value.minute * 60 + value.second
        return "time", _add_fraction(whole, value.microsecond * 1000)
    nanoseconds = value.microseconds * 1000 + getattr(value, "nanoseconds", 0)
    return "duration", _add_fraction(value.days * _DAY + value.seconds, nanoseconds)


def _count_days(value: datetime.date) -> int:
    return value.toordinal() - _EPOCH_ORDINAL


def _add_fraction(whole: int, nanoseconds: int) -> float:
    seconds = whole + nanoseconds / 10**9
    return seconds if seconds < whole + 1 else float(np.nextafter(whole + 1.0, whole))
