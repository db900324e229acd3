"""Dates, times of day and durations that a table holds as text, so that a model gets the same from every file format.

CSV has no types: there a column of ISO dates is read as dates. In other formats the same column may be text.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["read_text_dates", "write_text_dates"]

# ISO 8601: a day, or a day and a time, with a time zone or without.
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}(:\d{2}(:\d{2}(\.\d{1,9})?)?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
_ZONE = r"\d{2}(Z|[+-]\d{2}(:?\d{2})?)$"
_TIME = r"^([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d{1,9})?)?$"
# As pandas and Python write them: "1 days 02:03:04.5", "-1 days +23:00:00", "1 day, 2:03:04".
_DURATION = (
    r"^(?P<days>-?\d{1,5}) days?,? \+?(?P<hours>[01]?\d|2[0-3]):(?P<minutes>[0-5]\d):(?P<seconds>[0-5]\d)"
    r"(?:\.(?P<fraction>\d{1,9}))?$"
)
_LONG_FRACTION = r"\.\d{7,9}$"


def read_text_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Read a column of ISO dates, of times of day or of durations that is text.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Text, plain or as categories.

    Returns
    -------
    pyarrow.ChunkedArray or None
        Timestamps, times or durations; None if the column holds anything else, or nothing.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    texts = column.drop_null()
    for pattern, read in ((_ISO, _read_timestamps), (_TIME, _read_times), (_DURATION, _read_durations)):
        # The first value settles it for nearly every column of text.
        if all(len(some) and pc.all(pc.match_substring_regex(some, pattern)).as_py() for some in (texts[:1], texts)):
            return read(column, texts)
    return None


def _read_timestamps(column: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    zoned = pc.match_substring_regex(texts, "[T ].*" + _ZONE)
    if pc.any(zoned).as_py() and not pc.all(zoned).as_py():
        return None
    unit = "ns" if pc.any(pc.match_substring_regex(texts, r"\.\d{7,9}")).as_py() else "us"
    try:
        return column.cast(pa.timestamp(unit, "UTC" if zoned[0].as_py() else None))
    except pa.ArrowInvalid:  # no such day
        return None


def _read_times(column: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    unit = "ns" if pc.any(pc.match_substring_regex(texts, _LONG_FRACTION)).as_py() else "us"
    stamps = pc.binary_join_element_wise("1970-01-01", column.cast(pa.string()), " ").cast(pa.timestamp(unit))
    return stamps.cast(pa.time64(unit))


def _read_durations(column: pa.ChunkedArray, texts: pa.ChunkedArray) -> pa.ChunkedArray:
    del texts
    parts = pc.extract_regex(column, _DURATION)
    amounts = {name: pc.struct_field(parts, name) for name in ("days", "hours", "minutes", "seconds", "fraction")}
    amounts["fraction"] = pc.utf8_rpad(amounts["fraction"], 9, "0")  # nanoseconds; empty: none
    total = pa.scalar(0, pa.int64())
    for name, factor in (("days", 24), ("hours", 60), ("minutes", 60), ("seconds", 10**9), ("fraction", 1)):
        total = pc.multiply(pc.add(total, amounts[name].cast(pa.int64())), factor)
    return total.cast(pa.duration("ns"))


def write_text_dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write days, timestamps and times as ISO text; other columns are not changed.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        As read.

    Returns
    -------
    pyarrow.ChunkedArray
        Text; days alone if no timestamp has a time.
    """
    if pa.types.is_date(column.type):
        return column.cast(pa.date32()).cast(pa.string())
    if pa.types.is_time(column.type):
        return pc.replace_substring_regex(column.cast(pa.string()), r"\.0+$", "")
    if not pa.types.is_timestamp(column.type):
        return column
    days = column.cast(pa.date32(), safe=False)
    if pc.all(pc.equal(days.cast(pa.timestamp("us")), column.cast(pa.timestamp("us"), safe=False))).as_py():
        return days.cast(pa.string())
    return pc.strftime(column.cast(pa.timestamp("s"), safe=False), format="%Y-%m-%d %H:%M:%S")
