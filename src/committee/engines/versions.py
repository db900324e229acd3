"""What a bug report needs: versions, the build of the core, and the number of cores."""

from __future__ import annotations

import platform
import sys
from collections.abc import Mapping
from importlib import metadata
from typing import TextIO

from committee import __version__, _core

__all__ = ["collect_versions", "show_versions"]

# Packages that decide what a fit or its files look like; those of the extras are listed where they are installed.
_REQUIRED = ("numpy", "scipy", "scikit-learn", "joblib", "threadpoolctl", "narwhals")
_OPTIONAL = (
    "pandas",
    "polars",
    "pyarrow",
    "skops",
    "onnx",
    "onnxruntime",
    "matplotlib",
    "typer",
    "rich",
    "dask",
    "distributed",
    "ray",
    "cupy-cuda12x",
    "cupy-cuda13x",
)


def collect_versions() -> dict[str, dict[str, str]]:
    """Return the facts that :func:`show_versions` prints, by topic.

    Returns
    -------
    versions : dict of dict
        ``"system"``, ``"core"`` (the compiled engine) and ``"packages"``.

    Examples
    --------
    >>> from committee.engines.versions import collect_versions
    >>> sorted(collect_versions())
    ['core', 'packages', 'system']
    """
    return {
        "system": {
            "python": sys.version.replace("\n", " "),
            "executable bits": "64" if sys.maxsize > 2**32 else "32",
            "free-threaded": "yes" if not getattr(sys, "_is_gil_enabled", lambda: True)() else "no",
            "machine": platform.platform(),
            "processor": platform.machine(),
        },
        "core": dict(_core.describe_build()),
        "packages": _find_packages(),
    }


def show_versions(file: TextIO | None = None) -> None:
    """Print the versions of the library, its compiled core, its dependencies and the system.

    Paste the output into a report of a defect.

    Parameters
    ----------
    file : text stream or None, default=None
        Where to print; None for the standard output.

    Returns
    -------
    None

    Examples
    --------
    >>> import committee
    >>> committee.show_versions()  # doctest: +ELLIPSIS
    system
      python: 3...
    """
    print("\n\n".join(_lay_out(topic, facts) for topic, facts in collect_versions().items()), file=file)


def _find_packages() -> dict[str, str]:
    found = {"committee": __version__}
    for name in _REQUIRED + _OPTIONAL:
        if _is_installed(name):
            found[name] = metadata.version(name)
        elif name in _REQUIRED:
            found[name] = "missing"
    return found


def _is_installed(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def _lay_out(topic: str, facts: Mapping[str, str]) -> str:
    return "\n".join([topic, *(f"  {name}: {value}" for name, value in facts.items())])
