"""Check whether a table fits in memory, before any work starts."""

from __future__ import annotations

import os
import sys
from functools import lru_cache
from pathlib import Path

from committee.exceptions import DataSizeError

__all__ = ["check_room_for", "measure_available_memory"]

#: Tables below this many bytes are not checked against the available memory.
_SMALL = 1 << 26
#: Files with the memory limit and usage of a container under Linux, for both versions of cgroups.
_CGROUP_FILES = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def check_room_for(n_rows: int, n_columns: int, bytes_per_value: int) -> None:
    """Raise a DataSizeError if a table of this shape cannot fit in memory.

    Parameters
    ----------
    n_rows, n_columns : int
        The shape.
    bytes_per_value : int
        What one value takes in the form that is about to be made.
    """
    needed = n_rows * n_columns * bytes_per_value
    if needed < _SMALL:
        return
    available = measure_available_memory()
    if available is not None and needed > available:
        raise DataSizeError(
            f"X of {n_rows:,} rows and {n_columns:,} columns needs {_show_bytes(needed)} of memory, but only "
            f"{_show_bytes(available)} are available. Use fewer rows or fewer columns."
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


def _show_bytes(n_bytes: int) -> str:
    size = float(n_bytes)
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            break
        size /= 1024
    return f"{size:,.1f} {unit}"
