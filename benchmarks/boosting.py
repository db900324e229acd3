"""Gradient boosting, compared with other libraries: `python benchmarks/boosting.py`; --quick is a smoke test."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome
from benchmarks.report import OURS, Case, Claim, ratio, value
from benchmarks.suite import leave_out, list_options, run_suite

LIGHT, QUANTISED = "LightGBM", "LightGBM quantised"
PEERS = (LIGHT, QUANTISED, "XGBoost", "hessboost")
SKLEARN = "scikit-learn"
SLOW = (SKLEARN, "CatBoost")
ALL = (OURS, *PEERS)
SYMMETRIC, COMPILED = "CatBoost symmetric", "lleaves"
COVERTYPE, HOUSING, IRIS = "covertype, 7 classes", "housing, 800 rounds of 6 leaves", "iris, 100 rounds"
BATCH, ONE_ROW = "predict, a batch", "predict, one row"
VECTORS = "covertype, one tree a round for all classes"
TEN, HUNDRED = "housing over ten splits", "housing over a hundred splits"
ADULT, ROBUST = "adult with categories", "Huber's loss, 20,000 rows"
#: Losses of scikit-learn beside ours by Huber's: those of its histograms, and of its slow class, which has that loss.
ROBUST_PEERS = tuple(f"{SKLEARN}, {loss}" for loss in ("squared_error", "absolute_error", "quantile", "huber"))
FRAMES = ("NumPy", "pandas", "Polars", "Arrow")
#: Rows of fits whose memory is compared; smaller ones may find all that they need among what was freed before.
LEAST_WEIGHED = 100_000
LOSSES = {"squared_error": "squared error", "huber": "Huber's loss"}


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rows: int = 100_000
    n_test: int = 50_000
    rounds: int = 100
    many_leaves_rounds: int = 50
    large_rows: int = 1_000_000
    large_rounds: int = 20
    housing_rounds: int = 800
    housing_splits: tuple[int, int] = (10, 100)
    covertype_rounds: int = 30
    robust_rows: int = 20_000
    prediction_rows: int = 6_000
    prediction_rounds: int = 500
    repeats: int = 2
    prediction_repeats: int = 5
    turns: int = 2


QUICK = Sizes(1_000, 500, 5, 3, 3_000, 3, 20, (2, 3), 3, 600, 1_000, 10, repeats=1, prediction_repeats=1, turns=1)


def name_fit(n_rows: int, leaves: int, threads: int) -> str:
    return f"fit, {n_rows:,} rows, {leaves} leaves, {threads} thread{'s' if threads > 1 else ''}"


def name_threads(title: str, threads: int) -> str:
    return f"{title}, {threads} thread{'s' if threads > 1 else ''}"


def can_compile() -> bool:
    """Whether lleaves and a compatible llvmlite (before 0.45) are installed."""
    try:
        import lleaves  # noqa: F401
        from llvmlite import binding
    except ImportError:
        return False
    return hasattr(binding, "PassManagerBuilder")


def list_cases(sizes: Sizes, threads_of_fits: list[int]) -> list[Case]:
    """All cases, for every number of threads."""
    most_threads = threads_of_fits[-1]

    def case(title: str, who: tuple[str, ...], problem: tuple[Any, ...], function: str = "fit", **own: Any) -> Case:
        kind, n_rows, n_test, task = problem
        threads = own.pop("threads", most_threads)
        options: dict[str, Any] = {"task": task, "rounds": sizes.rounds, "leaves": 31, "threads": threads}
        options |= {"repeats": sizes.repeats, "problem": {"kind": kind, "n_rows": n_rows, "n_test": n_test}, **own}
        name = f"benchmarks.boosting_jobs:{function}_boosting"
        return Case(title, {c: Job(name, {"contender": c, **options}, threads) for c in who})

    cases = []
    for n_rows in (sizes.n_rows, sizes.large_rows):
        for leaves in (31, 255):
            small = sizes.rounds if leaves == 31 else sizes.many_leaves_rounds
            rounds = small if n_rows == sizes.n_rows else sizes.large_rounds
            for threads in threads_of_fits:
                # The slow libraries are measured only with all threads, where they are fastest.
                slow = SLOW if threads == most_threads and (n_rows, leaves) != (sizes.large_rows, 255) else ()
                problem = ("binary", n_rows, sizes.n_test, "binary")
                title = name_fit(n_rows, leaves, threads)
                more = {"rounds": rounds, "leaves": leaves, "threads": threads}
                more["repeats"] = sizes.repeats if n_rows == sizes.n_rows else 1
                cases.append(case(title, (*ALL, *slow), problem, **more))
    iris = ("iris", 150, 150, "classes")
    cases.append(case(IRIS, (*ALL, *SLOW), iris, threads=1))
    binary = ("binary", sizes.prediction_rows, sizes.n_test, "binary")
    who = (OURS, LIGHT, "XGBoost", SYMMETRIC, *((COMPILED,) if can_compile() else ()))
    for title, n_rows, threads in (*((BATCH, None, threads) for threads in threads_of_fits), (ONE_ROW, 1, 1)):
        more = {"rounds": sizes.prediction_rounds, "n_rows": n_rows, "threads": threads}
        more["repeats"] = sizes.prediction_repeats
        cases.append(case(name_threads(title, threads), who, binary, "predict", **more))
    values = ("values", sizes.robust_rows, sizes.n_test, "values")
    cases.append(case(ROBUST, (OURS, LIGHT, *ROBUST_PEERS), values, "robust"))
    for frame in FRAMES:
        # LightGBM reads no frame of Polars.
        own = (OURS, *(() if frame == "Polars" else (LIGHT,)))
        more = {"rounds": sizes.rounds, "repeats": sizes.prediction_repeats, "frame": frame, "threads": 1}
        cases.append(case(f"{ONE_ROW} of {frame}", own, binary, "frame", **more))
    return cases + (list_real_cases(sizes, threads_of_fits, case) if os.environ.get("COMMITTEE_DATA") else [])


def list_real_cases(sizes: Sizes, all_threads: list[int], case: Any) -> list[Case]:
    """The cases on public data sets, which are not part of the repository."""
    cases = []
    covertype = ("covertype", sizes.n_rows, sizes.n_test, "classes")
    housing = ("california_housing", min(16_512, sizes.n_rows), min(4_128, sizes.n_test), "values")
    for threads in all_threads:
        slow = SLOW if threads == all_threads[-1] else ()
        more = {"rounds": sizes.covertype_rounds, "threads": threads}
        cases.append(case(name_threads(COVERTYPE, threads), (*ALL, *slow), covertype, **more))
        more = {"rounds": sizes.housing_rounds, "leaves": 6, "threads": threads}
        cases.append(case(name_threads(HOUSING, threads), (*ALL, *slow), housing, **more))
    adult = ("adult", min(39_073, sizes.n_rows), min(9_769, sizes.n_test), "binary")
    cases.append(case(ADULT, (OURS, LIGHT, QUANTISED, SKLEARN), adult, "categories"))
    who = (OURS, "committee, vectors", "XGBoost, vectors")
    cases.append(case(VECTORS, who, covertype, rounds=sizes.covertype_rounds, threads=all_threads[-1]))
    for title, n_splits in zip((TEN, HUNDRED), sizes.housing_splits, strict=True):
        for loss, name in LOSSES.items():
            more = {"rounds": sizes.housing_rounds, "leaves": 6, "loss": loss, "n_splits": n_splits}
            cases.append(case(f"{title}, {name}", (OURS, LIGHT), housing, "split", threads=1, **more))
    return cases


def list_claims(cases: list[Case], least_ratio: float) -> list[Claim]:
    """The claims about gradient boosting; `least_ratio` is the required speed-up of every fit."""
    fits = [c for c in cases if c.name.startswith(("fit, ", COVERTYPE, HOUSING))]
    claims = [
        Claim(f"{c.name}: {peer} over ours", ratio(c.name, peer), least_ratio)
        for c in fits
        for peer in c.jobs
        if peer != OURS and c.name != VECTORS
    ]
    names = {c.name for c in cases}
    one_row = name_threads(ONE_ROW, 1)
    wanted = [(IRIS, LIGHT, 1.0), (one_row, SYMMETRIC, 10.0), (one_row, "XGBoost", 20.0), (one_row, COMPILED, 1.0)]
    for batch in [n for n in names if n.startswith(BATCH)]:
        wanted += [(batch, "XGBoost", 4.0), (batch, LIGHT, 10.0), (batch, COMPILED, 1.5), (batch, SYMMETRIC, 1.0)]
    measured = {(c.name, who) for c in cases for who in c.jobs}
    claims += [
        Claim(f"{name}: {peer} over ours", ratio(name, peer), least)
        for name, peer, least in sorted(wanted)
        if (name, peer) in measured
    ]
    wanted = [(ADULT, LIGHT, 2.0), (ADULT, QUANTISED, 2.0), *((ROBUST, peer, 1.0) for peer in ROBUST_PEERS)]
    claims += [
        Claim(f"{name}: {peer} over ours", ratio(name, peer), least)
        for name, peer, least in wanted
        if (name, peer) in measured
    ]
    claims += [
        Claim(f"{ONE_ROW} of {frame}", value(f"{ONE_ROW} of {frame}", OURS, "best", 1e-3), 0.2, False, "ms")
        for frame in FRAMES
        if (f"{ONE_ROW} of {frame}", OURS) in measured
    ]
    weighed = [
        c
        for c in fits
        if LIGHT in c.jobs
        and (c.name.startswith(COVERTYPE) or "1,000,000" in c.name)
        and c.jobs[LIGHT].options["problem"]["n_rows"] >= LEAST_WEIGHED
    ]
    claims += [
        Claim(f"{c.name}: {LIGHT}'s peak memory over ours", ratio(c.name, LIGHT, "memory_mb"), 1.0) for c in weighed
    ]
    splits = [c for c in cases if c.name.startswith((TEN, HUNDRED)) and LIGHT in c.jobs]
    for c in splits:
        text = f"{c.name}: mean R² of ours less LightGBM's"
        claims += [
            Claim(text, lambda o, n=c.name: count_errors(o[n]), -2.0, unit="standard errors"),
            Claim(text, lambda o, n=c.name: find_difference(o[n])[0], unit="of R²"),
        ]
    return claims


def find_difference(outcomes: dict[str, Outcome]) -> tuple[float, float]:
    """Mean over the splits of our R² less LightGBM's, and the standard error of that mean."""
    differences = np.subtract(outcomes[OURS]["scores"], outcomes[LIGHT]["scores"])
    return float(np.mean(differences)), float(np.std(differences, ddof=1) / np.sqrt(len(differences)))


def count_errors(outcomes: dict[str, Outcome]) -> float:
    """The difference in standard errors: within two of them it may be the choice of the splits.

    Ten splits can distinguish models whose R² differs by 0.001 or more, a hundred by 0.0003. What the bins have to do
    with it is measured by `bins_boosting.py --housing`.
    """
    mean, error = find_difference(outcomes)
    return mean / error


def count_turns(case: Case, sizes: Sizes) -> int:
    """How often a case runs.

    Cases with a million rows, predictions and a hundred splits run once: their fits take seconds, and for
    predictions the training takes longer than what is measured.
    """
    return 1 if case.name.startswith(("predict, ", f"fit, {sizes.large_rows:,} rows", HUNDRED)) else sizes.turns


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="a library to leave out")
    parser.add_argument(
        "--threads", type=int, help="threads of all fits, for machines with many cores (default: one and two)"
    )
    arguments = parser.parse_args(words)
    sizes, many = QUICK if arguments.quick else Sizes(), arguments.threads
    cases = list_cases(sizes, [many] if many else sorted({1, min(2, len(list_cores()))}))
    leave_out(cases, arguments.without)
    claims = list_claims(cases, 1.0 if many else 2.0)
    name = f"boosting_{many}_threads" if many else "boosting"
    run_suite(name, arguments, cases, claims, lambda case: count_turns(case, sizes))


if __name__ == "__main__":
    main()
