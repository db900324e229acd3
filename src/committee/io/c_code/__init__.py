"""Models as standalone C99 files, without dependency or allocation, that give the bits of the model's predictions."""

from __future__ import annotations

from committee.io.c_code.export import CSource, to_c
from committee.io.c_code.python_module import build_python_module

__all__ = ["CSource", "build_python_module", "to_c"]
