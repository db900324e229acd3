"""Run cases, or repeat one."""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from typing import Any

from fuzz.cases import label_case, run_case
from fuzz.results import RESULTS, read_results
from fuzz.runner import Runner

BAD = ("finding", "crash", "hang")


def run_many(first: int, last: int, args: argparse.Namespace) -> dict[str, Any]:
    """Run the cases and count what came of them."""
    counts: collections.Counter[str] = collections.Counter()
    findings = []
    end = time.monotonic() + args.seconds if args.seconds else float("inf")
    number = first
    with Runner() as runner:
        for number in range(first, last):
            if time.monotonic() > end:
                break
            if args.only:
                _, kind, name = label_case(args.seed, number)
                if args.only.lower() not in f"{kind} {name}".lower():
                    continue
            told = runner.run(args.seed, number)
            counts[f"{told['kind']}: {told['result']}"] += 1
            if told["result"] in BAD:
                findings.append(told)
                print(json.dumps(told), flush=True)
    return {
        "seed": args.seed,
        "first": first,
        "cases": sum(counts.values()),
        "counts": dict(sorted(counts.items())),
        "findings": len(findings),
    }


def main() -> None:
    """Read the options and run."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=1000, help="how many cases (1000)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case (0)")
    parser.add_argument("--seed", type=int, default=0, help="seed of all cases (0)")
    parser.add_argument("--seconds", type=float, default=0, help="stop after this time")
    parser.add_argument("--only", default="", metavar="WORD", help="only cases whose kind or estimator has this word")
    parser.add_argument("--keep", action="store_true", help="add the counts to fuzz/results.json")
    parser.add_argument("--repeat", metavar="SEED:CASE", help="show one case and run it in this process")
    args = parser.parse_args()
    if args.repeat:
        seed, number = map(int, args.repeat.split(":"))
        outcome = run_case(seed, number)
        print(*label_case(seed, number)[1:], sep=", ")
        print(*outcome.notes, f"{outcome.result}: {outcome.detail}", sep="\n")
        sys.exit(outcome.result in BAD)
    done = run_many(args.first, args.first + args.cases, args)
    print(json.dumps(done, indent=1))
    if args.keep:
        results = read_results()
        results["runs"].append(done)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    sys.exit(done["findings"] > 0)


if __name__ == "__main__":
    main()
