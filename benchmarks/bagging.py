"""Bagging, compared with scikit-learn: `python benchmarks/bagging.py`; --quick is a smoke test."""

from __future__ import annotations

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import data
from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, time_calls, time_fit
from benchmarks.report import OURS, Case, Claim, ratio
from benchmarks.suite import list_options, run_suite

SKLEARN = "scikit-learn"
MOONS, MOONS_OOB = "moons, 100 rows a tree: fit", "moons, bootstraps with out-of-bag: fit"
MOONS_PREDICT = "moons: predict"
LARGE, NEIGHBOURS = "full trees with out-of-bag: fit", "5-nearest neighbours: fit and predict"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_members: int = 500
    n_rows: int = 20_000
    n_trees: int = 100
    repeats: int = 3
    rounds: int = 1


QUICK = Sizes(n_members=20, n_rows=500, n_trees=5, repeats=1, rounds=1)


# --- child process -----------------------------------------------------------------------------------------------


def make_bag(contender: str, n_jobs: int, member: str | None = None, **params: Any) -> Any:
    module = {OURS: "committee", SKLEARN: "sklearn.ensemble"}[contender]
    neighbours = None if member is None else importlib.import_module("sklearn.neighbors").KNeighborsClassifier()
    bag = importlib.import_module(module).BaggingClassifier
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
    out_of_bag = {"oob": float(bag.oob_score_)} if params.get("oob_score") else {}
    return {**outcome, "score": float(bag.score(found.X_test, found.y_test)), **out_of_bag}


def predict_bag(contender: str, kind: str, n_rows: int, repeats: int, threads: int, params: dict[str, Any]) -> Outcome:
    found = make_problem(kind, n_rows)
    bag = make_bag(contender, threads, **params).fit(found.X, found.y)
    return time_calls(lambda: bag.predict(found.X_test), repeats)


# --- parent process ----------------------------------------------------------------------------------------------


def list_cases(sizes: Sizes) -> list[Case]:
    """Bagging of trees, which share bins, and of an estimator of scikit-learn, where only the loop differs."""
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
        pair(MOONS_PREDICT, "predict_bag", "moons", max_samples=100, **many),
        pair(LARGE, "fit_bag", "binary", oob_score=True, n_estimators=sizes.n_trees),
        pair(NEIGHBOURS, "fit_bag", "moons", member="neighbours", n_estimators=min(50, sizes.n_members)),
    ]


CLAIMS = [
    Claim("500 small trees on moons, fit, times faster than scikit-learn", ratio(MOONS, SKLEARN), 30),
    Claim("500 bootstraps with out-of-bag, fit, times faster", ratio(MOONS_OOB, SKLEARN)),
    Claim("prediction, times faster", ratio(MOONS_PREDICT, SKLEARN), 5),
    Claim("100 full trees on 20,000 x 28 with out-of-bag, times faster", ratio(LARGE, SKLEARN), 8),
]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("bagging", arguments, list_cases(sizes), CLAIMS, sizes.rounds)


if __name__ == "__main__":
    main()
