"""The CUDA sources as one text, with the headers that they share with the CPU engine."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

__all__ = ["list_include_folders", "list_parts", "read_program"]

_HERE = Path(__file__).parent
_INCLUDE = re.compile(r'^#include "([^"]+)"$')
_KERNEL = re.compile(r'extern "C" __global__ void\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\(')
_APART: dict[str, tuple[tuple[str, ...], ...]] = {
    "boosting.cu": (
        ("search_categories", "clear_levels", "add_levels"),
        ("find_largest", "find_gradients", "measure_gradients"),
        ("search_splits",),
        ("choose_nodes", "write_nodes"),
        ("draw_lists", "choose_features"),
        ("search_counts",),
        ("add_histograms",),
        ("partition_rows", "copy_columns", "make_records"),
        ("make_words", "start_tree"),
        ("find_largest_residual", "keep_residuals", "add_trees"),
    ),
    "binning.cu": (("bin_float_rows",), ("bin_double_rows",), ("bin_float_columns",), ("bin_double_columns",)),
    "prediction.cu": (("sum_trees",), ("sum_complete_trees",), ("sum_linked_trees",)),
    "explanation.cu": (("explain_at_1",), ("explain_at_2",), ("explain_at_3",), ("explain_at_4",)),
    "forest.cu": (("grow_some",), ("grow_many",), ("grow_few",)),
}
"""Kernels that take long to compile, and those that few fits need, apart from the others of their program; those that
take longest come first."""


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
    return "\n".join(_expand(name, None, {})) + "\n"


@cache
def list_parts(name: str) -> dict[frozenset[str], str]:
    """A CUDA source in parts that are compiled beside one another, or not at all: their kernels and their texts.

    A part has the files that define its kernels, and what these include. Other kernels in there are functions that
    nobody calls, which a compiler reads and drops. NVRTC reads one text at a time, whatever the number of threads, so
    that what a part does not need is left out.

    Parameters
    ----------
    name : str
        As in `read_program`.
    """
    files: dict[str, Path] = {}
    read: dict[Path, None] = {}
    _expand(name, None, read)
    for path in read:
        files |= {found[1]: path for found in _KERNEL.finditer(path.read_text(encoding="utf-8"))}
    apart = [frozenset(names) for names in _APART.get(name, ())]
    assert frozenset().union(*apart) <= files.keys(), name

    def write(own: frozenset[str]) -> str:
        seen: dict[Path, None] = {}
        lines = [
            line
            for path in dict.fromkeys(file for kernel, file in files.items() if kernel in own)
            for line in _expand(path.name, path.parent, seen)
        ]
        text = "\n".join(lines) + "\n"
        return _KERNEL.sub(lambda found: found[0] if found[1] in own else f"static __device__ void {found[1]}(", text)

    return {own: write(own) for own in (*apart, frozenset(files).difference(*apart))}


def _expand(name: str, folder: Path | None, seen: dict[Path, None]) -> list[str]:
    folders = ([] if folder is None else [folder]) + list_include_folders()
    path = next((place / name for place in folders if (place / name).is_file()), None)
    if path is None:  # in a part for another compiler
        return [f'#include "{name}"']
    path = path.resolve()
    if path in seen:
        return []
    seen[path] = None
    lines: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        included = _INCLUDE.match(line)
        if included:
            lines += _expand(included[1], path.parent, seen)
        elif line != "#pragma once":
            lines.append(line)
    return lines
