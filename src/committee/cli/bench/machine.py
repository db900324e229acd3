"""The machine: its description and load, and a process that keeps a core busy."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import committee

__all__ = ["QUIET", "describe_machine", "list_cores", "measure_load", "occupy_core"]

PACKAGES = ("committee", "numpy", "scipy", "scikit-learn", "lightgbm", "xgboost", "catboost", "pandas")
#: Share of all cores that other processes may use before times are not reliable.
QUIET = 0.05
_TICKS = Path("/proc/stat")


def describe_machine() -> dict[str, str]:
    """Processor, memory, system and versions.

    Returns
    -------
    dict of str to str
        The version of a package that is not installed is "absent".
    """
    found = {
        "processor": _read_processor(),
        "cores": str(len(list_cores())),
        **_count_others(),
        "memory": _read_memory(),
        "system": f"{platform.system()} {platform.machine()}",
        "Python": platform.python_version(),
    }
    # What is imported may be newer than what was installed.
    return found | {name: committee.__version__ if name == "committee" else _find_version(name) for name in PACKAGES}


def _find_version(package: str) -> str:
    """The version of a package, or of its form for machines without a GPU."""
    for name in (package, f"{package}-cpu"):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "absent"


def _count_others() -> dict[str, str]:
    # Times on some cores of a machine are not those of a machine that has no others: they share memory and caches.
    return {"of": str(os.cpu_count())} if (os.cpu_count() or 1) > len(list_cores()) else {}


def _read_memory() -> str:
    try:
        return f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB"
    except (AttributeError, ValueError, OSError):
        return "unknown"


def _read_processor() -> str:
    try:
        lines = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or "unknown"
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("Model name:")]
    return models[0] if models else "unknown"


def list_cores() -> list[int]:
    """Cores that this process may run on, in order.

    Returns
    -------
    list of int
        Their numbers; all cores if the affinity is not known.
    """
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def measure_load(seconds: float = 1.0) -> float:
    """Share of all cores that is in use while this process sleeps.

    Parameters
    ----------
    seconds : float
        Time to sleep.

    Returns
    -------
    float
        From 0 to 1; NaN if the system does not report it.
    """
    if not _TICKS.exists():
        return float("nan")
    busy, total = _read_ticks()
    time.sleep(seconds)
    busy_after, total_after = _read_ticks()
    return (busy_after - busy) / max(total_after - total, 1)


def _read_ticks() -> tuple[int, int]:
    # The first line sums over the cores: user, nice, system, idle, iowait, irq, softirq, steal, ...
    ticks = [int(field) for field in _TICKS.read_text().splitlines()[0].split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


@contextmanager
def occupy_core(core: int) -> Iterator[None]:
    """Keep one core busy with another process.

    Parameters
    ----------
    core : int
        Its number.
    """
    code = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint(flush=True)\nwhile True: pass"
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as hog:
        try:
            assert hog.stdout is not None
            hog.stdout.readline()
            yield
        finally:
            hog.kill()
