"""Run cases on all processors, or repeat one."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from fuzz.cases import BAD, label_case, run_case
from fuzz.many import Run
from fuzz.results import add_run


def read_options() -> argparse.Namespace:
    """The options of the call."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many cases (1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (0)")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--jobs", type=int, default=0, help="processes (one for each processor)")
    parser.add_argument("--only", default="", metavar="WORD", help="only cases whose kind or estimator has this word")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write counts and findings to this file of JSON")
    parser.add_argument("--keep", action="store_true", help="add the counts to fuzz/results.json")
    parser.add_argument("--repeat", metavar="SEED:CASE", help="show one case and run it in this process")
    return parser.parse_args()


def main() -> None:
    """Read the options and run."""
    args = read_options()
    if args.repeat:
        seed, number = map(int, args.repeat.split(":"))
        outcome = run_case(seed, number)
        print(*label_case(seed, number)[1:], sep=", ")
        print(*outcome.notes, f"{outcome.result}: {outcome.detail}", sep="\n")
        sys.exit(outcome.result in BAD)
    run = Run(
        args.seed,
        args.first,
        args.cases,
        only=args.only,
        seconds=args.seconds,
        n_jobs=args.jobs,
        place=args.output,
    )
    done = run.work()
    print(json.dumps(done, indent=1))
    if args.keep:
        add_run(done)
    sys.exit(bool(run.findings or run.failures))


if __name__ == "__main__":
    main()
