"""What a worker's process does with memory that it has freed."""

from __future__ import annotations

import ctypes
import sys
from functools import cache

__all__ = ["keep_freed_memory"]

_MMAP_THRESHOLD, _TRIM_THRESHOLD = -3, -1
"""Numbers of the parameters of the C library's ``mallopt``."""
_LARGEST, _MOST_FREE = 4 << 20, 16 << 20
"""Bytes of an array from which on it goes back to the system at once, and of those that are free and stay."""


@cache
def keep_freed_memory() -> bool:
    """Let this process keep a few freed megabytes, for the arrays of the next step; whether that can be set.

    Each step of a fit makes and frees histograms of the same size. Dask starts its workers with
    ``MALLOC_TRIM_THRESHOLD_=65536``, by which all of them go back to the system and come again page by page, each
    page mapped and cleared: 2,800 pages for a tree of 31 leaves on 28 features with two blocks.

    Examples
    --------
    >>> keep_freed_memory() in (True, False)
    True
    """
    if sys.platform != "linux":
        return False
    try:
        set_parameter = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):  # another C library than glibc
        return False
    return bool(set_parameter(_MMAP_THRESHOLD, _LARGEST)) and bool(set_parameter(_TRIM_THRESHOLD, _MOST_FREE))
