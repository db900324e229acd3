"""Description and load of the machine. The code is part of the library, for `committee bench`."""

from __future__ import annotations

import platform
import subprocess

from committee.cli.bench.machine import QUIET, describe_machine, list_cores, measure_load, occupy_core

__all__ = [
    "QUIET",
    "describe_machine",
    "list_cores",
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
