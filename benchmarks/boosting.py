"""Gradient boosting beside its peers: `python benchmarks/boosting.py`, with --quick to see only that it runs."""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Called as a script, Python looks for modules beside this file rather than beside its folder.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import QUIET, describe_machine, list_cores, measure_load
from benchmarks.measure import Job, run_in_turns
from benchmarks.report import OURS, RESULTS, Case, Claim, Report, ratio

LIGHT, QUANTISED = "LightGBM", "LightGBM quantised"
PEERS = (LIGHT, QUANTISED, "XGBoost", "hessboost")
ALL = (OURS, *PEERS)
SLOW = ("scikit-learn", "CatBoost")
COVERTYPE, HOUSING, IRIS = "covertype, 7 classes", "housing, 800 rounds of 6 leaves", "iris, 100 rounds"
BATCH, ONE_ROW = "predict, a batch", "predict, one row"


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    n_rows: int = 100_000
    n_test: int = 50_000
    rounds: int = 100
    large_rows: int = 1_000_000
    large_rounds: int = 50
    housing_rounds: int = 800
    covertype_rounds: int = 30
    prediction_rounds: int = 500
    repeats: int = 2
    turns: int = 2


QUICK = Sizes(1_000, 500, 5, 3_000, 3, 20, 3, 10, repeats=1, turns=1)


def name_fit(n_rows: int, leaves: int, threads: int) -> str:
    return f"fit, {n_rows:,} rows, {leaves} leaves, {threads} thread{'s' if threads > 1 else ''}"


def list_cases(sizes: Sizes, most_threads: int) -> list[Case]:
    """All that is measured."""

    def case(title: str, who: tuple[str, ...], problem: tuple[Any, ...], function: str = "fit", **own: Any) -> Case:
        kind, n_rows, n_test, task = problem
        threads = own.pop("threads", most_threads)
        options: dict[str, Any] = {"task": task, "rounds": sizes.rounds, "leaves": 31, "threads": threads, **own}
        options |= {"problem": {"kind": kind, "n_rows": n_rows, "n_test": n_test}, "repeats": sizes.repeats}
        name = f"benchmarks.boosting_jobs:{function}_boosting"
        return Case(title, {c: Job(name, {"contender": c, **options}, threads) for c in who})

    cases = []
    for n_rows, rounds in ((sizes.n_rows, sizes.rounds), (sizes.large_rows, sizes.large_rounds)):
        for leaves in (31, 255):
            for threads in sorted({1, most_threads}):
                # The slow ones are measured once, where everybody is at their best.
                who = (*ALL, *SLOW) if (n_rows, leaves, threads) == (sizes.n_rows, 31, most_threads) else ALL
                problem = ("binary", n_rows, sizes.n_test, "binary")
                title = name_fit(n_rows, leaves, threads)
                cases.append(case(title, who, problem, rounds=rounds, leaves=leaves, threads=threads))
    iris = ("iris", 150, 150, "classes")
    cases.append(case(IRIS, (*ALL, "scikit-learn"), iris, threads=1))
    binary = ("binary", sizes.n_rows, sizes.n_test, "binary")
    for title, n_rows in ((BATCH, None), (ONE_ROW, 1)):
        more = {"rounds": sizes.prediction_rounds, "n_rows": n_rows, "threads": 1 if n_rows else most_threads}
        cases.append(case(title, (OURS, LIGHT, "XGBoost", "CatBoost"), binary, "predict", **more))
    if os.environ.get("COMMITTEE_DATA"):
        covertype = ("covertype", sizes.n_rows, sizes.n_test, "classes")
        cases.append(case(COVERTYPE, ALL, covertype, rounds=sizes.covertype_rounds))
        housing = ("california_housing", min(16_512, sizes.n_rows), min(4_128, sizes.n_test), "values")
        cases.append(case(HOUSING, ALL, housing, rounds=sizes.housing_rounds, leaves=6))
    return cases


def list_claims(cases: list[Case]) -> list[Claim]:
    """What the library promises of its boosting."""
    fits = [c for c in cases if c.name.startswith("fit, ") or c.name in (COVERTYPE, HOUSING)]
    claims = [Claim(f"{c.name}: {peer} over ours", ratio(c.name, peer), 2.0) for c in fits for peer in PEERS]
    names = {c.name for c in cases}
    wanted = [(IRIS, LIGHT, 1.0), (BATCH, "XGBoost", 4.0), (BATCH, LIGHT, 10.0)]
    wanted += [(ONE_ROW, "CatBoost", 10.0), (ONE_ROW, "XGBoost", 20.0)]
    claims += [Claim(f"{n}: {peer} over ours", ratio(n, peer), least) for n, peer, least in wanted if n in names]
    return claims


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: shows that everything runs")
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is not quiet")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="cases whose name holds this")
    parser.add_argument("--out", type=Path, help="folder for the report (benchmarks/results; none if quick or --only)")
    arguments = parser.parse_args(words)
    load = measure_load(0.2 if arguments.quick else 2.0)
    if load > QUIET and not (arguments.quick or arguments.busy):
        raise SystemExit(f"others use {load:.0%} of the machine; wait, or say --busy if times need not mean anything")
    sizes = QUICK if arguments.quick else Sizes()
    cases = list_cases(sizes, min(2, len(list_cores())))
    claims = [] if arguments.only else list_claims(cases)
    cases = [c for c in cases if not arguments.only or any(word in c.name for word in arguments.only)]
    jobs = [job for case in cases for job in case.jobs.values()]
    found = iter(run_in_turns(jobs, sizes.turns, batched=arguments.quick))
    outcomes = {case.name: {contender: next(found) for contender in case.jobs} for case in cases}
    report = Report("boosting", describe_machine(), load, arguments.quick, cases, outcomes, claims)
    folder = arguments.out or (None if arguments.quick or arguments.only else RESULTS)
    if folder is not None:
        report.write(folder)
    print(report.render())


if __name__ == "__main__":
    main()
