"""Check that the core compiles for other systems, without a warning, by the cross-compiler of the ``ziglang`` wheel.

``python packaging/cross.py [TARGET ...]``; without targets, all of `TARGETS`; ``--only NAME`` for units whose names
have that part. Every source is parsed and checked for
the target with Clang and the target's own C and C++ headers. The bindings are compiled with the headers of this Python
(from 3.12 on the limited API) and a ``pyconfig.h`` of the target.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TARGETS = ("x86_64-windows-gnu", "aarch64-macos", "x86_64-macos", "x86_64-linux-gnu")
CPP = Path(__file__).parents[1] / "cpp"
# Files of many template instances are units of their own, as in CMakeLists.txt.
ALONE = ("builder_", "finders_", "extra_trees_blocks", "loss.cpp", "gradients.cpp")
OPTIONS = ["-std=c++20", "-fsyntax-only", "-O1", "-ffp-contract=off", "-Wall", "-Wextra", "-Wshadow", "-Werror"]
# zig adds an option of its own that a check of the syntax does not use.
OPTIONS += ["-Wno-unused-command-line-argument"]

# Enough for the headers of Python: sizes by the compiler's own macros.
PYCONFIG = """
#pragma once
#define SIZEOF_VOID_P __SIZEOF_POINTER__
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_LONG __SIZEOF_LONG__
#define ALIGNOF_LONG __SIZEOF_LONG__
#define SIZEOF_WCHAR_T __SIZEOF_WCHAR_T__
#define SIZEOF_LONG_LONG 8
#define SIZEOF_INT 4
#define SIZEOF_SHORT 2
#define SIZEOF_PID_T 4
#define SIZEOF_TIME_T 8
#define SIZEOF_OFF_T 8
#define SIZEOF_FLOAT 4
#define SIZEOF_DOUBLE 8
#define WITH_THREAD 1
#define HAVE_STDINT_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_LONG_DOUBLE 1
#if defined(_WIN32)
#define MS_WINDOWS 1
#define NT_THREADS 1
#define HAVE_PY_SSIZE_T 1
#define PY_SSIZE_T_MAX __PTRDIFF_MAX__
typedef __PTRDIFF_TYPE__ Py_ssize_t;
#else
#define HAVE_PTHREAD_H 1
#define HAVE_UNISTD_H 1
#define HAVE_SSIZE_T 1
#endif
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", default=list(TARGETS), help="as the cross-compiler names them")
    parser.add_argument("--only", default="", help="part of the name of the units to compile, such as bindings")
    options = parser.parse_args()
    failed = []
    for target in options.targets:
        problems = check_target(target, options.only)
        print(
            f"{target}: {'no warning' if not problems else f'{len(problems)} units with warnings or errors'}",
            flush=True,
        )
        for unit, output in problems:
            print(f"-- {unit}\n{output}")
        if problems:
            failed.append(target)
    if failed:
        sys.exit(f"Not clean: {', '.join(failed)}.")


def check_target(target: str, only: str = "") -> list[tuple[str, str]]:
    """The units that do not compile without a warning, with what the compiler says."""
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        units = [unit for unit in write_units(Path(folder)) if only in unit.stem]
        results = pool.map(lambda unit: compile_unit(target, unit, Path(folder)), units)
        return [(unit.name, output) for unit, output in zip(units, results, strict=True) if output]


def write_units(folder: Path) -> Iterator[Path]:
    """The sources in few units: the files of a folder read the same headers."""
    grouped: dict[str, list[Path]] = {}
    for source in sorted((CPP / "src").rglob("*.cpp")):
        name = source.stem if any(word in source.name for word in ALONE) else source.parent.name
        grouped.setdefault(name, []).append(source)
    grouped["bindings"] = sorted((CPP / "bind").glob("*.cpp"))
    for name, sources in grouped.items():
        unit = folder / f"{name}.cpp"
        unit.write_text("".join(f'#include "{source}"\n' for source in sources))
        yield unit


def compile_unit(target: str, unit: Path, folder: Path) -> str:
    includes = [CPP / "include", CPP / "src"]
    options = list(OPTIONS)
    if unit.stem == "bindings":
        includes += find_binding_headers(folder)
        options += ['-DCOMMITTEE_VERSION="cross"', "-Wno-shadow"]
        if sys.version_info >= (3, 12):
            options.append("-DPy_LIMITED_API=0x030C0000")
    # Without "-c" zig would build the libraries of the target, for minutes, to link with.
    command = [sys.executable, "-m", "ziglang", "c++", "-c", "-target", target, *options]
    command += [f"-I{path}" for path in includes] + [str(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder)
    # zig looks for the object file that no check of the syntax writes.
    lines = [line for line in done.stderr.splitlines() if "failed to rename" not in line]
    return "\n".join(lines)


def find_binding_headers(folder: Path) -> list[Path]:
    import nanobind

    # A copy, since Python.h looks for pyconfig.h beside itself first, and this machine's is there.
    config = folder / "python"
    if not config.exists():
        shutil.copytree(sysconfig.get_path("include"), config)
    (config / "pyconfig.h").write_text(PYCONFIG)
    return [config, Path(nanobind.include_dir())]


if __name__ == "__main__":
    main()
