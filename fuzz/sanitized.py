"""Programs in C++ under a sanitizer: the reader of trees with hostile arrays, and the thread pool with many callers.

Usage: python -m fuzz.sanitized trees --cases 10000 --seed 0, or python -m fuzz.sanitized pool --cases 2000. They are
compiled into build/sanitized first. With --keep the counts go into fuzz/faults.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

from fuzz.results import keep_counts
from fuzz.runner import ROOT

__all__ = ["PROGRAMS", "build_program", "find_compiler", "run_program"]


class Program(NamedTuple):
    """What is compiled, and how."""

    sanitizers: str
    sources: tuple[str, ...]
    """Patterns below the root."""
    guided: bool = False
    """Whether its inputs are chosen by the paths that they take (`fuzz.guided`)."""


SHARED = ("cpp/src/parallel/*.cpp", "cpp/src/base/file_memory.cpp")
TREES = (
    "fuzz/native/trees.cpp",
    *SHARED,
    "cpp/src/base/*.cpp",
    "cpp/src/predict/*.cpp",
    "cpp/src/explain/*.cpp",
    "cpp/src/tree/arena*.cpp",
    "cpp/src/tree/tree_summary.cpp",
    "cpp/src/split/impurity.cpp",
    "cpp/src/binning/bin_lookup.cpp",
)
BINS = ("fuzz/native/bins.cpp", *SHARED, "cpp/src/base/*.cpp", "cpp/src/binning/*.cpp")
#: The driver of guided programs, and the options of the compiler for the others; it is compiled without them.
DRIVER, REPORTED = "fuzz/native/guided.cpp", ("-fsanitize-coverage=trace-pc,trace-cmp", "-DCOMMITTEE_GUIDED")
PROGRAMS = {
    "trees": Program("address,undefined", TREES),
    "pool": Program("thread", ("fuzz/native/pool.cpp", *SHARED)),
    "guided_trees": Program("address,undefined", (DRIVER, *TREES), guided=True),
    "guided_bins": Program("address,undefined", (DRIVER, *BINS), guided=True),
}
FLAGS = ("-std=c++20", "-O1", "-g1", "-fno-omit-frame-pointer", "-ffp-contract=off", "-pthread")
RUNTIME = {"ASAN_OPTIONS": "abort_on_error=1", "TSAN_OPTIONS": "halt_on_error=1:abort_on_error=1"}


def find_compiler() -> str | None:
    """The C++ compiler of this machine."""
    return os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")


def build_program(name: str, instead: Mapping[Path, Path] | None = None, place: Path | None = None) -> Path:
    """Compile what has changed since the last time, and link it.

    `instead` has files to be compiled in place of others, into the folder `place`, which then has the program too.
    """
    program, compiler = PROGRAMS[name], find_compiler()
    if compiler is None:
        raise FileNotFoundError("A C++ compiler with sanitizers is needed.")
    folder = ROOT / "build" / "sanitized" / (program.sanitizers.replace(",", "-") + "-guided" * program.guided)
    sources = sorted({source for pattern in program.sources for source in ROOT.glob(pattern)})
    newest = max(path.stat().st_mtime for path in (*ROOT.glob("cpp/**/*.hpp"), *ROOT.glob("fuzz/native/*.hpp")))
    sanitize = (f"-fsanitize={program.sanitizers}", "-fno-sanitize-recover=all")

    def compile_source(source: Path) -> Path:
        made = folder / source.relative_to(ROOT).with_suffix(".o")
        if instead and place and source in instead:
            source, made = instead[source], place / source.with_suffix(".o").name
        if not made.exists() or made.stat().st_mtime < max(newest, source.stat().st_mtime) or source.parent == place:
            made.parent.mkdir(parents=True, exist_ok=True)
            include = (f"-I{ROOT / 'cpp' / 'include'}", f"-I{ROOT / 'cpp' / 'src'}")
            own = () if source == ROOT / DRIVER else (*sanitize, *(REPORTED if program.guided else ()))
            subprocess.run([compiler, *FLAGS, *own, *include, "-c", str(source), "-o", str(made)], check=True)
        return made

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        objects = list(threads.map(compile_source, sources))
    made = (place or folder) / name
    subprocess.run([compiler, *sanitize, "-pthread", "-o", str(made), *map(str, objects)], check=True)
    return made


def run_program(built: Path, seed: int, cases: int) -> dict[str, Any]:
    """What the program counted; a finding of the sanitizer or of the program itself is a crash."""
    command = [str(built), str(seed), str(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | RUNTIME)
    counts: dict[str, Any] = {} if done.returncode else json.loads(done.stdout)
    return {**counts, "seed": seed, "crashes": int(done.returncode != 0), "said": done.stderr[-4000:]}


def main() -> None:
    """Compile and run one program."""
    parser = argparse.ArgumentParser(prog="python -m fuzz.sanitized", description=__doc__)
    parser.add_argument("program", choices=[name for name, program in PROGRAMS.items() if not program.guided])
    parser.add_argument("--cases", type=int, default=10000, help="how many trees, or calls of each caller (10000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    args = parser.parse_args()
    counts = run_program(build_program(args.program), args.seed, args.cases)
    said = counts.pop("said")
    print(said, json.dumps(counts), sep="\n")
    if args.keep:
        keep_counts(args.program, counts)
    sys.exit(counts["crashes"])


if __name__ == "__main__":
    main()
