"""Build the module for other systems, without a warning, by the cross-compiler of the ``ziglang`` wheel.

``python packaging/cross.py [TARGET ...]``; without targets, all of `TARGETS`; ``--only NAME`` for units whose names
have that part, which are compiled and not linked; ``--package FOLDER`` for a package that this machine can import, with
the module that Clang has compiled for it. All kernels, bindings and nanobind become objects for the target, with Clang,
its libc++ and the target's own C headers, and the objects the module. The headers of Python are those of this
interpreter (from 3.12 on the limited API), with a ``pyconfig.h`` of the target.

Names of the interpreter stay open in modules of Linux and macOS until they are loaded. So would a name of the core that
nothing defines: modules of Windows are linked against a list of the interpreter's names, and find it.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

TARGETS = ("x86_64-windows-gnu", "aarch64-macos", "x86_64-macos", "x86_64-linux-gnu")
CPP = Path(__file__).parents[1] / "cpp"
PACKAGE = Path(__file__).parents[1] / "src" / "committee"
# Files of many template instances are units of their own, as in CMakeLists.txt.
ALONE = ("builder_", "finders_", "extra_trees_blocks", "loss.cpp", "gradients.cpp")
# As in CMakeLists.txt.
MEANING = ["-std=c++20", "-ffp-contract=off", "-fno-math-errno", "-fvisibility=hidden", "-fPIC"]
# zig adds checks at run time, which users do not have, and options of its own that not every call uses.
ADDED = ["-g0", "-fno-sanitize=all", "-Wno-unused-command-line-argument"]
WARNINGS = ["-Wall", "-Wextra", "-Wshadow", "-Werror"]
# Names that the linkers of these systems would look for: those of the interpreter come with it, and libc++ is a part of
# macOS. zig compiles that of other targets before it links for the first time, for a minute.
OPEN = {"macos": ["-Wl,-undefined,dynamic_lookup", "-nostdlib++"], "linux": [], "windows": []}

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
#define Py_ENABLE_SHARED 1
#define HAVE_DECLSPEC_DLL 1
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


class Build(NamedTuple):
    """What is compiled: for which target, how far optimised, and where."""

    target: str
    level: str
    folder: Path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("targets", nargs="*", help="as the cross-compiler names them")
    parser.add_argument("--only", default="", help="part of the name of the units to compile, such as bindings")
    parser.add_argument("--package", type=Path, help="folder for a package with the module for this machine")
    options = parser.parse_args()
    failed = []
    targets = options.targets or ([] if options.package else TARGETS)
    for target in targets:
        if not build_target(target, only=options.only):
            failed.append(target)
    if options.package and not build_target(name_own_target(), options.package):
        failed.append("this machine")
    if failed:
        sys.exit(f"Not clean: {', '.join(failed)}.")


def build_target(target: str, package: Path | None = None, only: str = "") -> bool:
    """Compile and link, and say how it went. The module goes into the package, if there is one."""
    # What generates all code and takes the least time; what is to be run, and tells Clang's results, as users have it.
    level = "-O2" if package else "-O0"
    before = os.times()
    with tempfile.TemporaryDirectory() as folder:
        build = Build(target, level, Path(folder))
        units = [unit for unit in [*write_units(build.folder), write_nanobind(build.folder)] if only in unit.stem]
        find_binding_headers(build)  # copied before two units ask for them at once
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            outputs = pool.map(lambda unit: compile_unit(build, unit), units)
            problems = [(unit.stem, output) for unit, output in zip(units, outputs, strict=True) if output]
        if not problems and not only and (output := link_module(build)):
            problems.append(("module", output))
        if package and not problems:
            lay_out_package(find_module(build), package)
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    told = "no warning" if not problems else f"{len(problems)} units with warnings or errors"
    print(f"{target}: {told} ({seconds:.0f} s of processor time)", flush=True)
    for unit, output in problems:
        print(f"-- {unit}\n{output}")
    return not problems


def name_own_target() -> str:
    """The machine at hand as the cross-compiler names it; without a processor's extensions, as wheels are built."""
    processor = {"arm64": "aarch64", "AMD64": "x86_64"}.get(platform.machine(), platform.machine())
    return f"{processor}-{'macos' if sys.platform == 'darwin' else 'linux-gnu'}"


def write_units(folder: Path) -> Iterator[Path]:
    """The sources in few units: the files of a folder read the same headers. Those that take longest come first."""
    grouped: dict[str, list[Path]] = {}
    for source in sorted((CPP / "src").rglob("*.cpp")):
        name = source.stem if any(word in source.name for word in ALONE) else source.parent.name
        grouped.setdefault(name, []).append(source)
    grouped["bindings"] = sorted((CPP / "bind").glob("*.cpp"))
    for name, sources in sorted(grouped.items(), key=lambda group: group[0] not in ("bindings", "boosting")):
        unit = folder / f"{name}.cpp"
        unit.write_text("".join(f'#include "{source}"\n' for source in sources), encoding="utf-8")
        yield unit


def write_nanobind(folder: Path) -> Path:
    import nanobind

    unit = folder / "nanobind.cpp"
    unit.write_text(f'#include "{nanobind.source_dir()}/nb_combined.cpp"\n', encoding="utf-8")
    return unit


def compile_unit(build: Build, unit: Path) -> str:
    """Write the unit's object, and return what the compiler says."""
    options = [build.level, *MEANING, *ADDED]
    options += [f"-I{CPP / 'include'}", f"-I{CPP / 'src'}"]
    if unit.stem in ("bindings", "nanobind"):
        # Their warnings are not ours.
        options += [option for path in find_binding_headers(build) for option in ("-isystem", str(path))]
        options += ['-DCOMMITTEE_VERSION="cross"', "-fno-strict-aliasing"]
        if sys.version_info >= (3, 12):
            options.append("-DPy_LIMITED_API=0x030C0000")
    options += ["-w", "-DNB_BUILD", "-DNB_COMPACT_ASSERTIONS"] if unit.stem == "nanobind" else WARNINGS
    return run_compiler(build, ["-c", *options, str(unit), "-o", str(unit.with_suffix(".o"))])


def link_module(build: Build) -> str:
    """Write the module from all objects of the folder, and return what the linker says."""
    objects = sorted(build.folder.glob("*.o"))
    options = OPEN[build.target.split("-")[1]]
    if "windows" in build.target:
        options = [str(write_import_library(build, objects))]
    return run_compiler(build, ["-shared", *ADDED, *map(str, objects), *options, "-o", str(find_module(build))])


def write_import_library(build: Build, objects: list[Path]) -> Path:
    """The interpreter's library as far as the objects ask for it, for the linker of Windows."""
    definitions, library = build.folder / "python.def", build.folder / "libpython.a"
    definitions.write_text(define_python(objects), encoding="utf-8")
    machine = "i386:x86-64" if build.target.startswith("x86_64") else "arm64"
    command = [sys.executable, "-m", "ziglang", "dlltool", "-m", machine, "-d", str(definitions), "-l", str(library)]
    subprocess.run(command, check=True)
    return library


def define_python(objects: list[Path]) -> str:
    """A list of definitions with the names of the interpreter that the objects import."""
    wanted = {name.decode() for unit in objects for name in re.findall(rb"\b__imp_(_?Py\w+)\0", unit.read_bytes())}
    version = "".join(map(str, sys.version_info[:2])) if sys.version_info < (3, 12) else "3"
    return "\n".join([f"LIBRARY python{version}.dll", "EXPORTS", *sorted(wanted), ""])


def find_module(build: Build) -> Path:
    return build.folder / ("_core.pyd" if "windows" in build.target else "_core.so")


def run_compiler(build: Build, arguments: list[str]) -> str:
    command = [sys.executable, "-m", "ziglang", "c++", "-target", build.target, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=build.folder)
    return done.stderr.strip() or ("" if done.returncode == 0 else f"exit status {done.returncode}")


def find_binding_headers(build: Build) -> list[Path]:
    import nanobind

    inside = Path(nanobind.include_dir()), Path(nanobind.include_dir()).parent / "ext" / "robin_map" / "include"
    if build.target == name_own_target():
        return [Path(sysconfig.get_path("include")), Path(sysconfig.get_path("platinclude")), *inside]
    # A copy, since Python.h looks for pyconfig.h beside itself first, and this machine's is there.
    config = build.folder / "python"
    if not config.exists():
        shutil.copytree(sysconfig.get_path("include"), config)
        (config / "pyconfig.h").write_text(PYCONFIG, encoding="utf-8")
    return [config, *inside]


def lay_out_package(module: Path, folder: Path) -> None:
    """The sources of the package with another module, for PYTHONPATH."""
    shutil.copytree(PACKAGE, folder / "committee", ignore=shutil.ignore_patterns("_core*.so", "__pycache__"))
    shutil.copy(module, folder / "committee" / f"_core{sysconfig.get_config_var('EXT_SUFFIX')}")


if __name__ == "__main__":
    main()
