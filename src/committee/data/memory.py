"""Check whether a table fits in memory, before any work starts."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from committee.exceptions import DataSizeError

__all__ = ["MemoryLimit", "check_room_for", "find_limit", "measure_available_memory", "show_bytes", "use_limit"]

#: Tables below this many bytes are not checked against the available memory.
_SMALL = 1 << 26
#: Files with the memory limit and usage of a container under Linux, for both versions of cgroups.
_CGROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


#: What a wide sparse table takes in bins, by the column (its bins), by the entry (kept by column and by row), and by
#: the row (where its entries are, target, scores, gradients, its place in lists of rows).
_COLUMN_BYTES = 256
_ENTRY_BYTES = 48
_ROW_BYTES = 64


@dataclass(frozen=True)
class MemoryLimit:
    """What a fit may take, and where it puts what does not fit.

    Attributes
    ----------
    n_bytes : int or None
        The most memory; None if none is stated.
    folder : str
        Where large buffers lie in temporary files.
    """

    n_bytes: int | None
    folder: str


_LIMIT: ContextVar[MemoryLimit | None] = ContextVar("limit", default=None)


def find_limit() -> MemoryLimit | None:
    """The limit of the fits that run now in this thread, or None."""
    return _LIMIT.get()


@contextmanager
def use_limit(limit: MemoryLimit | None) -> Iterator[None]:
    """Make a limit that of the fits in a ``with`` block."""
    token = _LIMIT.set(limit)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def check_room_for(n_rows: int, n_columns: int, bytes_per_value: int, n_entries: int | None = None) -> None:
    """Raise a DataSizeError if a table of this shape cannot fit in memory.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape.
    bytes_per_value : int
        What one value takes in the form that is about to be made.
    n_entries : int or None
        The entries of a sparse table, which is kept by them where that is less.
    """
    needed = n_rows * n_columns * bytes_per_value
    if n_entries is not None:
        needed = min(needed, n_columns * _COLUMN_BYTES + n_entries * _ENTRY_BYTES + n_rows * _ROW_BYTES)
    if needed < _SMALL:
        return
    limit = find_limit()
    if limit is not None:
        free = shutil.disk_usage(limit.folder).free
        if needed > free:
            raise DataSizeError(
                f"X of {n_rows:,} rows and {n_columns:,} columns needs {show_bytes(needed)} in {limit.folder}, but "
                f"only {show_bytes(free)} are free there. Name another folder in memory_limit(..., folder=...)."
            )
        return
    available = measure_available_memory()
    if available is not None and needed > available:
        raise DataSizeError(
            f"X of {n_rows:,} rows and {n_columns:,} columns needs {show_bytes(needed)} of memory, but only "
            f"{show_bytes(available)} are available. Use fewer rows or fewer columns, or "
            "committee.memory_limit(), which keeps large buffers in files."
        )


def measure_available_memory() -> int | None:
    """Bytes that this process may still allocate, or None if unknown."""
    figures = [f for f in (_read_meminfo(), _read_cgroup(), _read_sysconf()) if f is not None]
    return min(figures) if figures else None


def _read_meminfo() -> int | None:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return None
    for line in lines:
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _read_cgroup() -> int | None:
    for limit_file, usage_file in _CGROUP_FILES:
        try:
            limit, usage = Path(limit_file).read_text().strip(), Path(usage_file).read_text().strip()
        except OSError:
            continue
        if limit.isdigit() and usage.isdigit():
            return max(int(limit) - int(usage), 0)
    return None


@lru_cache(maxsize=1)
def _read_sysconf() -> int | None:
    # The total memory of the machine: an upper bound, where nothing better is known.
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError):
        return None


def show_bytes(n_bytes: float) -> str:
    """A number of bytes for a sentence."""
    size = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            break
        size /= 1024
    return f"{size:,.1f} {unit}"
