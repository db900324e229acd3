"""Fuzzing of the compiled core that is guided by coverage, under ASan and UBSan.

Usage: python -m fuzz.guided [trees] [bins] [border] --seconds 60 --seed 0. `trees` and `bins` are programs without
Python: the readers of what a model file says about trees and bins. `border` calls the functions of the compiled module
from Python (see `fuzz.border`). Each starts from the kept inputs in fuzz/native; with --grow they are replaced by the
shortest ones that reach all that was reached. With --keep the counts go into fuzz/faults.json, with --output into a
file that `python -m fuzz.results` adds to the page; of the border while it runs.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from fuzz.results import keep_counts, write_counts
from fuzz.runner import ROOT
from fuzz.sanitized import RUNTIME, build_program

__all__ = ["READERS", "pack_inputs", "read_corpus", "run_guided", "unpack_inputs", "write_corpus"]

#: Programs that read bytes.
READERS = ("trees", "bins")
#: Bytes of all kept inputs of a program together: the longest are left out.
MOST_KEPT = 60_000


def find_corpus(name: str) -> Path:
    """The file of the kept inputs: one a line, in base64."""
    return ROOT / "fuzz" / "native" / f"{name}.corpus"


def read_corpus(name: str) -> list[bytes]:
    """The kept inputs of a program."""
    path = find_corpus(name)
    return [base64.b64decode(line) for line in path.read_text("ascii").split()] if path.exists() else []


def write_corpus(name: str, inputs: Iterable[bytes]) -> None:
    """Keep inputs, the shortest first."""
    kept, size = [], 0
    for one in sorted(set(inputs), key=lambda one: (len(one), one)):
        size += len(one)
        if size <= MOST_KEPT:
            kept.append(base64.b64encode(one).decode("ascii"))
    find_corpus(name).write_text("\n".join(kept) + "\n", "ascii")


def pack_inputs(inputs: Iterable[bytes]) -> bytes:
    """Inputs as the programs read them: the length of each before its bytes."""
    return b"".join(struct.pack("<I", len(one)) + one for one in inputs)


def unpack_inputs(packed: bytes) -> list[bytes]:
    """Inputs that a program wrote."""
    inputs = []
    while len(packed) >= 4:
        size = struct.unpack_from("<I", packed)[0]
        inputs.append(packed[4 : 4 + size])
        packed = packed[4 + size :]
    return inputs


def run_guided(name: str, seed: int, cases: int, seconds: float, folder: Path) -> tuple[dict[str, Any], list[bytes]]:
    """Counts of a run, and the inputs worth keeping; of a crash, the input that ends the program."""
    built = build_program(f"guided_{name}")
    given, found = folder / f"{name}.{seed}.in", folder / f"{name}.{seed}.out"
    given.write_bytes(pack_inputs(read_corpus(name)))
    command = [str(built), str(seed), str(cases), str(seconds), str(given), str(found)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=os.environ | RUNTIME)
    if done.returncode == 0:
        return {**json.loads(done.stdout), "crashes": 0}, unpack_inputs(found.read_bytes())
    crash = Path(f"{found}.crash")
    inputs = unpack_inputs(crash.read_bytes()) if crash.exists() else []
    return {"crashes": 1, "said": done.stderr[-6000:], "input": [one.hex() for one in inputs]}, []


def _run_reader(name: str, args: argparse.Namespace) -> dict[str, Any]:
    """One program, in as many processes as asked for; counts of all of them."""
    build_program(f"guided_{name}")
    with tempfile.TemporaryDirectory(prefix="guided-") as folder, ThreadPoolExecutor(args.jobs) as threads:
        seeds = range(args.seed, args.seed + args.jobs)
        results = list(threads.map(lambda seed: run_guided(name, seed, args.cases, args.seconds, Path(folder)), seeds))
        if args.grow:
            write_corpus(name, [*read_corpus(name), *(one for _, inputs in results for one in inputs)])
            # Once more without new inputs: of those that all processes found, the shortest that reach everything.
            counts, inputs = run_guided(name, args.seed, 1, 0, Path(folder))
            if not counts["crashes"]:
                write_corpus(name, inputs)
    for counts, _ in results:
        if counts["crashes"]:
            print(counts["said"], *counts["input"], sep="\n")
    return add_counts([counts for counts, _ in results])


def add_counts(counts: list[dict[str, Any]]) -> dict[str, Any]:
    """Executions, new inputs and crashes of all processes, and the pairs of blocks of the one that reached most."""
    summed = {key: sum(one.get(key, 0) for one in counts) for key in ("executions", "new inputs", "crashes")}
    return {**summed, "pairs of blocks": max(one.get("pairs of blocks", 0) for one in counts)}


def main() -> None:
    """Run the programs that were named."""
    from fuzz.border import repeat, run_border

    parser = argparse.ArgumentParser(prog="python -m fuzz.guided", description=__doc__)
    parser.add_argument("programs", nargs="*", default=[*READERS, "border"], help="trees, bins, border (all)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each program; 0: no limit (60)")
    parser.add_argument("--cases", type=int, default=0, help="of each process; 0: no limit (0)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--repeat", help="one case of the border, as JSON")
    parser.add_argument("--grow", action="store_true", help="keep what was found in fuzz/native")
    parser.add_argument("--keep", action="store_true", help="write the counts into fuzz/faults.json")
    parser.add_argument("--output", type=Path, help="write the counts into this file, for fuzz.results")
    args = parser.parse_args()
    if args.repeat:
        repeat(args.repeat)
    crashes = 0
    for name in args.programs:
        counts = run_border(args) if name == "border" else _run_reader(name, args)
        print(name, json.dumps(counts), flush=True)
        crashes += counts["crashes"]
        if args.output:
            write_counts(args.output, f"guided {name}", counts)
        if args.keep:
            keep_counts(f"guided {name}", counts)
    sys.exit(min(crashes, 1))


if __name__ == "__main__":
    main()
