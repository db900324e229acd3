"""Hints to the operating system: what is read next, so that it is in memory by then.

A hint takes no memory of this process and never changes what is read. Where the system has no such call, the system's
own read-ahead remains.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["advise_columns", "advise_ranges", "join_ranges", "list_group_ranges"]

_GAP = 1 << 16
"""Bytes between two ranges below which they are read as one."""


def join_ranges(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges of bytes (start, end) in ascending order, those that nearly touch as one.

    Examples
    --------
    >>> join_ranges([(200_000, 300_000), (0, 10), (20, 30)])
    [(0, 30), (200000, 300000)]
    """
    joined: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if joined and start - joined[-1][1] < _GAP:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def advise_ranges(path: str, ranges: Iterable[tuple[int, int]]) -> None:
    """Ranges of bytes of a file are about to be read."""
    if not hasattr(os, "posix_fadvise"):
        return
    file = os.open(path, os.O_RDONLY)
    try:
        for start, end in join_ranges(ranges):
            os.posix_fadvise(file, start, end - start, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(file)


def list_group_ranges(metadata: Any, groups: Sequence[int], columns: Sequence[str] | None) -> list[tuple[int, int]]:
    """Where some columns of groups of rows are in a Parquet file.

    Parameters
    ----------
    metadata : pyarrow.parquet.FileMetaData
        Of the file.
    groups : sequence of int
        Numbers of the groups.
    columns : sequence of str or None
        Names of the columns; None for all.
    """
    wanted = None if columns is None else set(columns)
    ranges = []
    for number in groups:
        group = metadata.row_group(number)
        for index in range(group.num_columns):
            chunk = group.column(index)
            if wanted is None or chunk.path_in_schema.partition(".")[0] in wanted:
                start = chunk.dictionary_page_offset or chunk.data_page_offset
                ranges.append((start, start + chunk.total_compressed_size))
    return ranges


def advise_columns(held: AnyArray, first: int, last: int) -> None:
    """Columns ``[:, first:last]`` of a mapped table (one row a feature, in C order) are about to be read."""
    memory = getattr(held, "_mmap", None)
    if memory is None or not hasattr(memory, "madvise") or first >= last:
        return
    # NumPy maps whole pages from the one on that holds the first byte.
    place = held.offset % mmap.ALLOCATIONGRANULARITY  # type: ignore[attr-defined]
    size, step = held.itemsize, held.strides[0]
    ranges = join_ranges((place + k * step + first * size, place + k * step + last * size) for k in range(len(held)))
    for start, end in ranges:
        begin = start - start % mmap.PAGESIZE
        memory.madvise(mmap.MADV_WILLNEED, begin, min(end, len(memory)) - begin)
