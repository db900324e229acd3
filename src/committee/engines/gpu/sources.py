"""The CUDA sources as one text, with the headers that they share with the CPU engine."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["list_include_folders", "read_program"]

_HERE = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "([^"]+)"$')


def list_include_folders() -> list[Path]:
    """Where included files are looked for: the kernels, and the headers of the core.

    In an installed package the headers are beside the kernels, in a source tree they are where the core has them.
    """
    installed, source = _HERE / "include", _HERE.parents[3] / "cpp" / "include"
    return [_HERE / "cuda", installed if installed.is_dir() else source]


@cache
def read_program(name: str) -> str:
    """A CUDA source with all files that it includes, each once.

    One text, so that a cache of compiled programs, which looks at the text alone, notices every change.

    Parameters
    ----------
    name : str
        Name of the file, such as "boosting.cu".
    """
    return "\n".join(_expand(name, None, set())) + "\n"


def _expand(name: str, folder: Path | None, seen: set[Path]) -> list[str]:
    folders = ([] if folder is None else [folder]) + list_include_folders()
    path = next((place / name for place in folders if (place / name).is_file()), None)
    if path is None:  # in a part for another compiler
        return [f'#include "{name}"']
    path = path.resolve()
    if path in seen:
        return []
    seen.add(path)
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        included = _INCLUDE.match(line)
        if included:
            lines += _expand(included[1], path.parent, seen)
        elif line != "#pragma once":
            lines.append(line)
    return lines
