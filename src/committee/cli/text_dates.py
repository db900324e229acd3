"""Dates that a table holds as text, so that a model gets the same from every file format.

CSV has no types: there a column of ISO dates is read as dates. In other formats the same column may be text.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["read_text_dates", "write_text_dates"]

# ISO 8601: a day, or a day and a time, with a time zone or without.
_ISO = r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}(:?\d{2})?)?)?$"
_ZONE = r"\d{2}(Z|[+-]\d{2}(:?\d{2})?)$"


def read_text_dates(column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Read a column of ISO dates that is text.

    Parameters
    ----------
    column : pyarrow.ChunkedArray
        Text, plain or as categories.

    Returns
    -------
    pyarrow.ChunkedArray or None
        Timestamps; None if the column holds anything else, or nothing.
    """
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return None
    texts = column.drop_null()
    # The first value settles it for nearly every column of text.
    for some in (texts.slice(0, 1), texts):
        if not len(some) or not pc.all(pc.match_substring_regex(some, _ISO)).as_py():
            return None
    zoned = pc.match_substring_regex(texts, "[T ].*" + _ZONE)
    if pc.any(zoned).as_py() and not pc.all(zoned).as_py():
        return None
    unit = "ns" if pc.any(pc.match_substring_regex(texts, r"\.\d{7,9}")).as_py() else "us"
    try:
        return column.cast(pa.timestamp(unit, "UTC" if zoned[0].as_py() else None))
    except pa.ArrowInvalid:  # no such day
        return None


def write_text_dates(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Write days and timestamps as ISO text; other columns are not changed.

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
    if not pa.types.is_timestamp(column.type):
        return column
    days = column.cast(pa.date32(), safe=False)
    if pc.all(pc.equal(days.cast(pa.timestamp("us")), column.cast(pa.timestamp("us"), safe=False))).as_py():
        return days.cast(pa.string())
    return pc.strftime(column.cast(pa.timestamp("s"), safe=False), format="%Y-%m-%d %H:%M:%S")
