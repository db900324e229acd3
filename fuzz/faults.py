"""Counts what comes of failed requests of the core for memory, for the page on reliability.

Usage: python -m fuzz.faults [--step 1] [--only WORD]. Writes the counts into fuzz/faults.json.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from fuzz.results import keep_counts
from fuzz.runner import ROOT

__all__ = ["compile_library", "fail_allocations"]


def compile_library(folder: Path) -> Path:
    """The library whose operator new fails on demand."""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        raise FileNotFoundError("A C++ compiler is needed to make allocations fail.")
    made, source = folder / "failing_new.so", ROOT / "tests" / "faults" / "failing_new.cpp"
    subprocess.run([compiler, "-O1", "-std=c++17", "-shared", "-fPIC", "-o", str(made), str(source)], check=True)
    return made


def fail_allocations(library: Path, steps: dict[str, int]) -> dict[str, dict[str, Any]]:
    """What comes of the calls of these names, by name, where every so many requests fail.

    A request that ends the process is counted and passed over.
    """
    import committee

    path = os.pathsep.join([str(Path(committee.__file__).parents[1]), str(ROOT)])
    env = os.environ | {"LD_PRELOAD": str(library), "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    found: dict[str, dict[str, Any]] = {}
    first, left = 1, list(steps)
    crashes: dict[str, int] = {}
    while left:
        words = [f"{steps[name]}:{name}" for name in left]
        command = [sys.executable, "-W", "ignore", "-m", "tests.faults.allocation", str(first), *words]
        done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=ROOT, check=False)
        reports = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        for counts in reports:
            if counts["at"] is None:
                name = counts["name"]
                found[name] = counts | {"crashes": crashes.get(name, 0)}
                left.remove(name)
        if not left:
            break
        if not reports or reports[-1]["at"] is None:
            raise RuntimeError(done.stderr[-2000:])
        crashes[left[0]] = crashes.get(left[0], 0) + 1
        print(f"{left[0]}: request {reports[-1]['at']} ended the process: {done.stderr[-300:]}", flush=True)
        first = reports[-1]["at"] + steps[left[0]]
    return found


def main() -> None:
    """Run all calls and write the counts."""
    from tests.faults.allocation import make_calls

    parser = argparse.ArgumentParser(prog="python -m fuzz.faults", description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="every so many requests (1)")
    parser.add_argument("--only", default="", metavar="WORD", help="only calls with this word")
    args = parser.parse_args()
    steps = {name: args.step for name in make_calls() if args.only in name}
    with tempfile.TemporaryDirectory() as folder:
        library = compile_library(Path(folder))
        found = fail_allocations(library, steps)
    for name, counts in found.items():
        print(f"{name}: {counts['requests']} requests, {counts['crashes']} crashes, wrong: {counts['wrong']}")
    if args.only or args.step > 1:
        return
    keep_counts(
        "allocations",
        {
            "calls": len(found),
            "failed": sum(counts["requests"] for counts in found.values()),
            "no memory": sum(counts["no memory"] for counts in found.values()),
            "succeeded": sum(counts["succeeded"] for counts in found.values()),
            "wrong": sum(len(counts["wrong"]) for counts in found.values()),
            "crashes": sum(counts["crashes"] for counts in found.values()),
        },
    )


if __name__ == "__main__":
    main()
