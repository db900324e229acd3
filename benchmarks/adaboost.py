"""AdaBoost with stumps, compared with scikit-learn: `python benchmarks/adaboost.py`; --quick is a smoke test."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adaboost_jobs import EXACT
from benchmarks.machine import QUIET, describe_machine, list_cores, measure_load
from benchmarks.measure import Job, Outcome, run_in_turns
from benchmarks.report import OURS, RESULTS, Case, Claim, Report

SKLEARN = "scikit-learn"
LARGE, MANY, BATCH, ONE_ROW = "fit, many rows", "fit, many stumps", "predict, a batch", "predict, one row"
Outcomes = dict[str, dict[str, Outcome]]


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    large_rows: int = 100_000
    large_stumps: int = 200
    many_rows: int = 10_000
    many_stumps: int = 1000
    n_test: int = 20_000
    predict_stumps: int = 100
    predict_rows: int = 5_000
    repeats: int = 3


QUICK = Sizes(2_000, 10, 1_000, 20, 500, 5, 500, repeats=1)


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """All cases; scikit-learn takes minutes and is fitted once."""

    def case(title: str, function: str, kind: str, n_rows: int, n_estimators: int, **more: Any) -> Case:
        problem = {"kind": kind, "n_rows": n_rows, "n_test": sizes.n_test}
        jobs = {}
        for contender in (OURS, EXACT, SKLEARN):
            slow = contender == SKLEARN and function == "fit_stumps"
            options = {"contender": contender, "n_estimators": n_estimators, "problem": problem, "threads": threads}
            options |= {"repeats": 1 if slow else sizes.repeats, **more}
            jobs[contender] = Job(f"benchmarks.adaboost_jobs:{function}", options, threads)
        return Case(title, jobs)

    return [
        case(LARGE, "fit_stumps", "binary", sizes.large_rows, sizes.large_stumps),
        case(MANY, "fit_stumps", "gaussian", sizes.many_rows, sizes.many_stumps),
        case(BATCH, "predict_stumps", "binary", sizes.predict_rows, sizes.predict_stumps),
        case(ONE_ROW, "predict_stumps", "binary", sizes.predict_rows, sizes.predict_stumps, first=1),
    ]


def compare(case: str, ours: str) -> Any:
    """Speed-up over scikit-learn."""
    return lambda outcomes: outcomes[case][SKLEARN]["best"] / outcomes[case][ours]["best"]


def count_same_stumps(case: str) -> Any:
    """Fraction of the rounds before the first one in which the exact stump differs from scikit-learn's."""

    def count(outcomes: Outcomes) -> float:
        mine, theirs = outcomes[case][EXACT]["stumps"], outcomes[case][SKLEARN]["stumps"]
        pairs = zip(mine, theirs, strict=False)
        same = [a[0] == b[0] and abs(a[1] - b[1]) <= 1e-6 * max(1.0, abs(b[1])) for a, b in pairs]
        return (same.index(False) if False in same else len(same)) / max(len(mine), len(theirs))

    return count


def list_claims() -> list[Claim]:
    """The claims about AdaBoost with stumps."""
    return [
        Claim(f"{LARGE}: exact stumps, times faster", compare(LARGE, EXACT), 60.0),
        Claim(f"{LARGE}: stumps on bins, times faster", compare(LARGE, OURS), 200.0),
        Claim(f"{LARGE}: rounds with scikit-learn's stump", count_same_stumps(LARGE), 1.0, unit="of all"),
        Claim(f"{MANY}: exact stumps, times faster", compare(MANY, EXACT)),
        Claim(f"{MANY}: stumps on bins, times faster", compare(MANY, OURS), 60.0),
        Claim(f"{MANY}: rounds with scikit-learn's stump", count_same_stumps(MANY), 1.0, unit="of all"),
        Claim(f"{ONE_ROW}, times faster", compare(ONE_ROW, OURS), 500.0),
    ]


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data: a smoke test")
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is not idle")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="cases whose name contains WORD")
    parser.add_argument("--out", type=Path, help="folder of the report (benchmarks/results; none with --quick, --only)")
    arguments = parser.parse_args(words)
    load = measure_load(0.2 if arguments.quick else 2.0)
    if load > QUIET and not (arguments.quick or arguments.busy):
        raise SystemExit(f"other processes use {load:.0%} of the machine; wait, or pass --busy to measure anyway")
    sizes = QUICK if arguments.quick else Sizes()
    cases = list_cases(sizes, min(2, len(list_cores())))
    cases = [c for c in cases if not arguments.only or any(word in c.name for word in arguments.only)]
    names = {c.name for c in cases}
    claims = [claim for claim in list_claims() if claim.text.partition(":")[0].removesuffix(", times faster") in names]
    jobs = [job for case in cases for job in case.jobs.values()]
    found = iter(run_in_turns(jobs, 1, batched=arguments.quick))
    outcomes = {case.name: {contender: next(found) for contender in case.jobs} for case in cases}
    report = Report("adaboost", describe_machine(), load, arguments.quick, cases, outcomes, claims)
    folder = arguments.out or (None if arguments.quick or arguments.only else RESULTS)
    if folder is not None:
        report.write(folder)
    print(report.render())


if __name__ == "__main__":
    main()
