"""AdaBoost with stumps, compared with scikit-learn: `python benchmarks/adaboost.py`; --quick is a smoke test."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.adaboost_jobs import EXACT
from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome
from benchmarks.report import OURS, Case, Claim
from benchmarks.suite import list_options, run_suite

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
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("adaboost", arguments, list_cases(sizes, min(2, len(list_cores()))), list_claims(), 1)


if __name__ == "__main__":
    main()
