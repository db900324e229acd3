"""Fits that take no more memory than is stated: their large buffers lie in temporary files."""

from __future__ import annotations

import logging
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from committee.constraints import show_value
from committee.data.binning import set_spill_folder
from committee.data.memory import MemoryLimit, find_limit, measure_available_memory, show_bytes, use_limit
from committee.exceptions import DataError, ParameterError

__all__ = ["CarriedLimit", "carry_limit", "memory_limit", "read_bytes", "spill_large"]

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_MEMORY_SYSTEMS = frozenset({"tmpfs", "ramfs"})
_SHARE = 0.5
"""Of the available memory: a table in blocks whose fit needs more is kept in files without being asked to."""
_LOG = logging.getLogger("committee")


@contextmanager
def memory_limit(limit: int | str | None = None, *, folder: str | os.PathLike[str] | None = None) -> Iterator[None]:
    """Fit with large buffers in temporary files, so that memory does not limit the size of a table.

    Inside the ``with`` block, buffers of 16 MiB and more (bins, row records, scores, lists of rows, predictions) of the
    fits that this thread starts are unlinked temporary files, mapped into memory. The operating system keeps as much
    of them in memory as it has room for. The models are the same, byte by byte. POSIX systems only.

    Parameters
    ----------
    limit : int or str, optional
        The most memory that a fit may take, in bytes or as text such as "2GB". A fit on a table in blocks that needs
        more, by :func:`committee.estimate_fit`, is refused before it begins. None states no limit.
    folder : path, optional
        Where the files are made, by default the folder for temporary files of the system if it is on a disk. They
        need about two to four bytes a value of the table; :func:`committee.estimate_fit` says how many.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import numpy as np, committee
    >>> X, y = np.random.default_rng(0).normal(size=(500, 3)), np.arange(500) % 2
    >>> with committee.memory_limit("1GB"):
    ...     model = committee.RandomForestClassifier(n_estimators=5, random_state=0).fit([X[:200], X[200:]], y)
    >>> model.n_features_in_
    3
    """
    active = MemoryLimit(None if limit is None else read_bytes(limit), find_folder(folder))
    with use_folder(active):
        yield


@contextmanager
def use_folder(active: MemoryLimit) -> Iterator[None]:
    """Make the engine and the checks use a limit and its folder in this thread."""
    before = find_limit()
    set_spill_folder(active.folder)
    try:
        with use_limit(active):
            yield
    finally:
        set_spill_folder(None if before is None else before.folder)


@dataclass(frozen=True)
class CarriedLimit:
    """A function that is called under a limit in whatever thread or process it runs.

    Attributes
    ----------
    function : callable
        The function.
    limit : MemoryLimit
        The limit.
    """

    function: Callable[..., Any]
    limit: MemoryLimit

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function."""
        with use_folder(self.limit):
            return self.function(*args, **options)


def carry_limit(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function under the limit that holds here: limits are those of a thread, and workers are others.

    Examples
    --------
    >>> carry_limit(abs) is abs
    True
    >>> with memory_limit("1GB"):
    ...     carried = carry_limit(abs)
    >>> carried(-3)
    3
    """
    limit = find_limit()
    return function if limit is None else CarriedLimit(function, limit)


@contextmanager
def spill_large(n_bytes: int) -> Iterator[None]:
    """Keep the buffers of a fit in files if they need more than half of the available memory.

    Parameters
    ----------
    n_bytes : int
        What they need.
    """
    available = measure_available_memory()
    if find_limit() is not None or available is None or n_bytes <= _SHARE * available or os.name != "posix":
        yield
        return
    active = MemoryLimit(None, find_folder(None))
    needed, room = show_bytes(n_bytes), show_bytes(available)
    _LOG.info("The fit needs %s, and %s of memory are available: it uses files in %s.", needed, room, active.folder)
    with use_folder(active):
        yield


def read_bytes(given: int | str) -> int:
    """A number of bytes from a number or a text such as "2GB" or "512 MiB".

    Examples
    --------
    >>> read_bytes("2GB"), read_bytes("1.5 MiB"), read_bytes(100)
    (2000000000, 1572864, 100)
    """
    if isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*", str(given).lower())
    if not isinstance(given, str) or found is None or found[2] not in _UNITS or float(found[1]) <= 0:
        raise ParameterError(
            f"A memory limit must be a number of bytes above zero, or a text such as '2GB' or '512MiB'; got "
            f"{show_value(given)}."
        )
    return int(float(found[1]) * _UNITS[found[2]])


def find_folder(folder: str | os.PathLike[str] | None) -> str:
    """The folder for temporary files: the given one, or the system's; not one that is itself kept in memory."""
    if folder is not None:
        path = Path(folder)
        if not path.is_dir():
            raise DataError(f"There is no folder {path} for temporary files.")
        return str(path)
    found = tempfile.gettempdir()
    if not _is_in_memory(found):
        return found
    others = [place for place in ("/var/tmp", str(Path.cwd())) if Path(place).is_dir() and not _is_in_memory(place)]
    if not others:
        raise DataError(
            f"The folder for temporary files, {found}, is itself kept in memory. Name one on a disk: "
            "memory_limit(..., folder=...)."
        )
    return others[0]


def _is_in_memory(folder: str) -> bool:
    """Whether the files of a folder take memory; False where the system does not say."""
    try:
        mounts = [line.split()[1:3] for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return False
    path = os.path.realpath(folder)
    above = [(place, kind) for place, kind in mounts if path == place or path.startswith(place.rstrip("/") + "/")]
    return bool(above) and max(above, key=lambda mount: len(mount[0]))[1] in _MEMORY_SYSTEMS
