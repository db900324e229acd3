"""Libraries of frames that a machine need not have: cases that need an absent one are skipped, and counted."""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Any

__all__ = ["Skipped", "pa", "pl"]


class Skipped(Exception):
    """A case that needs a library which is not installed."""


class _Absent:
    """Stands for a library that is not installed; whatever a case asks it for skips the case."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, attribute: str) -> Any:
        raise Skipped(f"{self._name} is not installed.")


def _load(name: str, *parts: str) -> Any:
    """The library with these of its modules, or what stands for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            library = importlib.import_module(name)
            for part in parts:
                importlib.import_module(f"{name}.{part}")
            if name == "polars":
                library.Series([1.0])  # its Python part can be there without its compiled one
        except Exception:
            for loaded in [m for m in sys.modules if m.partition(".")[0] == name]:
                del sys.modules[loaded]
            return _Absent(name)
    return library


pl = _load("polars")
pa = _load("pyarrow", "parquet", "feather")
