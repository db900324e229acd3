"""Bags beside scikit-learn's: `python benchmarks/bagging.py`, with --quick to see only that it runs."""

from __future__ import annotations

import argparse
import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Called as a script, Python looks for modules beside this file rather than beside its folder.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data
from benchmarks.machine import QUIET, describe_machine, list_cores, measure_load
from benchmarks.measure import Job, Outcome, run_in_turns, time_calls, time_fit
from benchmarks.report import OURS, RESULTS, Case, Claim, Report, ratio

SKLEARN = "scikit-learn"
MOONS, MOONS_OOB, MOONS_ASK = "moons, 100 rows a tree: fit", "moons, bootstraps with out-of-bag: fit", "moons: predict"
LARGE, NEIGHBOURS = "full trees with out-of-bag: fit", "5-nearest neighbours: fit and predict"


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    n_members: int = 500
    n_rows: int = 20_000
    n_trees: int = 100
    repeats: int = 3
    rounds: int = 1


QUICK = Sizes(n_members=20, n_rows=500, n_trees=5, repeats=1, rounds=1)


# --- in the child ------------------------------------------------------------------------------------------------


def make_bag(contender: str, n_jobs: int, member: str | None = None, **params: Any) -> Any:
    room = {OURS: "committee", SKLEARN: "sklearn.ensemble"}[contender]
    neighbours = None if member is None else importlib.import_module("sklearn.neighbors").KNeighborsClassifier()
    bag = importlib.import_module(room).BaggingClassifier
    return bag(neighbours, random_state=0, n_jobs=n_jobs, **params)


def make_problem(kind: str, n_rows: int) -> data.Problem:
    if kind == "binary":
        return data.make_problem("binary", n_rows, 10_000)
    from sklearn.datasets import make_moons

    X, y = make_moons(10_500, noise=0.3, random_state=42)
    return data.Problem(X[:500], y[:500], X[500:], y[500:])


def fit_bag(contender: str, kind: str, n_rows: int, repeats: int, threads: int, params: dict[str, Any]) -> Outcome:
    found = make_problem(kind, n_rows)
    make_bag(contender, 1, **{**params, "n_estimators": 30}).fit(found.X[:300], found.y[:300])
    bag, outcome = time_fit(lambda: make_bag(contender, threads, **params).fit(found.X, found.y), repeats)
    judged = {"oob": float(bag.oob_score_)} if params.get("oob_score") else {}
    return {**outcome, "score": float(bag.score(found.X_test, found.y_test)), **judged}


def predict_bag(contender: str, kind: str, n_rows: int, repeats: int, threads: int, params: dict[str, Any]) -> Outcome:
    found = make_problem(kind, n_rows)
    bag = make_bag(contender, threads, **params).fit(found.X, found.y)
    return time_calls(lambda: bag.predict(found.X_test), repeats)


# --- in the parent -----------------------------------------------------------------------------------------------


def list_cases(sizes: Sizes) -> list[Case]:
    """Bags of trees, which share bins here, and of a member from elsewhere, where only the loop is ours."""
    threads = min(2, len(list_cores()))

    def pair(name: str, function: str, kind: str, **params: Any) -> Case:
        options = {"kind": kind, "n_rows": sizes.n_rows, "repeats": sizes.repeats, "threads": threads, "params": params}
        jobs = {
            contender: Job(f"benchmarks.bagging:{function}", {"contender": contender, **options}, threads)
            for contender in (OURS, SKLEARN)
        }
        return Case(name, jobs)

    many = {"n_estimators": sizes.n_members}
    return [
        pair(MOONS, "fit_bag", "moons", max_samples=100, **many),
        pair(MOONS_OOB, "fit_bag", "moons", oob_score=True, **many),
        pair(MOONS_ASK, "predict_bag", "moons", max_samples=100, **many),
        pair(LARGE, "fit_bag", "binary", oob_score=True, n_estimators=sizes.n_trees),
        pair(NEIGHBOURS, "fit_bag", "moons", member="neighbours", n_estimators=min(50, sizes.n_members)),
    ]


CLAIMS = [
    Claim("500 small trees on moons, fit, times faster than scikit-learn", ratio(MOONS, SKLEARN), 30),
    Claim("500 bootstraps with out-of-bag, fit, times faster", ratio(MOONS_OOB, SKLEARN)),
    Claim("prediction, times faster", ratio(MOONS_ASK, SKLEARN), 5),
    Claim("100 full trees on 20,000 x 28 with out-of-bag, times faster", ratio(LARGE, SKLEARN), 8),
]


def run_suite(arguments: argparse.Namespace) -> Report:
    """Measure."""
    load = measure_load(0.2 if arguments.quick else 2.0)
    if load > QUIET and not (arguments.quick or arguments.busy):
        raise SystemExit(f"others use {load:.0%} of the machine; wait, or say --busy if times need not mean anything")
    sizes = QUICK if arguments.quick else Sizes()
    claims = [] if arguments.only else CLAIMS
    cases = [c for c in list_cases(sizes) if not arguments.only or any(word in c.name for word in arguments.only)]
    found = iter(run_in_turns([job for case in cases for job in case.jobs.values()], sizes.rounds, arguments.quick))
    outcomes = {case.name: {contender: next(found) for contender in case.jobs} for case in cases}
    return Report("bagging", describe_machine(), load, arguments.quick, cases, outcomes, claims)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="tiny data, one round: shows that everything runs")
    parser.add_argument("--busy", action="store_true", help="measure even if the machine is not quiet")
    parser.add_argument("--only", action="append", default=[], metavar="WORD", help="cases whose name holds this")
    parser.add_argument("--out", type=Path, help="folder for the report (benchmarks/results; none if quick or --only)")
    arguments = parser.parse_args(words)
    report = run_suite(arguments)
    folder = arguments.out or (None if arguments.quick or arguments.only else RESULTS)
    if folder is not None:
        report.write(folder)
    print(report.render())


if __name__ == "__main__":
    main()
