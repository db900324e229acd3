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
        ("search_splits",),
        ("choose_nodes",),
        ("search_counts",),
        ("search_categories", "clear_levels", "add_levels"),
        ("draw_lists", "choose_features"),
        ("find_largest", "find_gradients", "measure_gradients"),
        ("find_largest_residual", "keep_residuals", "add_trees"),
        ("make_words",),
        ("partition_rows",),
        ("add_histograms",),
        ("write_nodes", "sum_leaves"),
    ),
    "binning.cu": (("bin_float_rows",), ("bin_double_rows",), ("bin_float_columns",), ("bin_double_columns",)),
    "prediction.cu": (("sum_trees",), ("sum_complete_trees",), ("sum_linked_trees",)),
    "explanation.cu": (("explain_at_1",), ("explain_at_2",), ("explain_at_3",), ("explain_at_4",)),
    "forest.cu": (("grow_few",), ("grow_some",), ("grow_many",)),
}
"""Kernels that take long to compile, and those that few fits need, apart from the others of their program."""


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


@cache
def list_parts(name: str) -> dict[frozenset[str], str]:
    """A CUDA source in parts that are compiled beside one another, or not at all: their kernels and their texts.

    Each part has the whole text. Kernels of other parts are functions in it that nobody calls, which a compiler reads
    and drops.

    Parameters
    ----------
    name : str
        As in `read_program`.
    """
    text = read_program(name)
    kernels = [found[1] for found in _KERNEL.finditer(text)]
    apart = [frozenset(names) for names in _APART.get(name, ())]
    assert frozenset().union(*apart) <= frozenset(kernels), name
    rest = frozenset(kernels).difference(*apart)

    def keep(own: frozenset[str]) -> str:
        return _KERNEL.sub(lambda found: found[0] if found[1] in own else f"static __device__ void {found[1]}(", text)

    return {own: keep(own) for own in (rest, *apart)} if apart else {rest: text}


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
