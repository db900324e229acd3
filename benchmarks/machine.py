"""Description and load of the machine. The code is part of the library, for `committee bench`."""

from __future__ import annotations

import platform
import subprocess
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np

from committee.cli.bench.machine import QUIET, describe_machine, list_cores, measure_load, occupy_core

__all__ = [
    "QUIET",
    "describe_machine",
    "list_cores",
    "measure_cores",
    "measure_load",
    "name_processor",
    "occupy_core",
    "show_machine",
    "show_peer",
]


def name_processor() -> str:
    """The kind of processor as Linux names it, also on Windows and macOS: pages of results are called by it."""
    return {"AMD64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())


def show_machine() -> str:
    """The description in a line of text."""
    return ", ".join(f"{name} {value}" for name, value in describe_machine().items())


def show_peer(python: str | None, package: str) -> str:
    """Name and version of a package in another environment; without one, that there is none."""
    code = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"
    if python is None:
        return f"{package} absent"
    found = subprocess.run([python, "-c", code, package], check=True, capture_output=True, text=True)
    return f"{package} {found.stdout.strip()}"


def count_exponentials(start: float) -> int:
    """How often a process computes the exponentials of an array in its first cache, for half a second."""
    array, count = np.linspace(-1.0, 1.0, 2048), 0
    out = np.empty_like(array)
    while time.monotonic() < start:
        pass
    while time.monotonic() < start + 0.5:
        np.exp(array, out=out)
        count += 1
    return count


def measure_cores(threads: tuple[int, ...]) -> str:
    """How much arithmetic processes do side by side: what threads that wait for nothing would gain.

    Cores that share an execution unit, or that other machines on the same processor use, gain less than their number.
    """
    with ProcessPoolExecutor(max(threads), mp_context=get_context("spawn")) as pool:
        list(pool.map(count_exponentials, [time.monotonic() + 5.0] * max(threads)))  # all processes have begun
        rates = [sum(pool.map(count_exponentials, [time.monotonic() + 0.2] * n)) for n in threads]
    gains = ", ".join(f"{rate / rates[0]:.1f}" for rate in rates)
    return f"Side by side, {', '.join(map(str, threads))} processes computed {gains} times the exponentials of one."
