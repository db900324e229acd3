"""Models of the benchmark of threads: what is fitted, to which table, and the jobs of its child processes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import forest_jobs, inspection_jobs
from benchmarks.boosting_jobs import make_model, score_model
from benchmarks.data import Problem
from benchmarks.report import OURS
from committee.cli.bench.contenders import PEERS, make_adaboost, make_forest

ADABOOST, SHAPLEY = "AdaBoostClassifier", "Shapley values"
SKLEARN = "scikit-learn"
#: The fastest first; scikit-learn and CatBoost do not fit the larger tables.
BOOSTERS = (OURS, "LightGBM", "LightGBM quantised", "XGBoost", "hessboost", SKLEARN, "CatBoost")
SLOW_BOOSTERS = (SKLEARN, "CatBoost")
EXPLAINERS = (OURS, "LightGBM", "XGBoost")
TEST_ROWS, PREDICTED_ROWS, EXPLAINED_ROWS = 20_000, 100_000, 5_000
MANY_ROWS, WARM_UP_ROWS = 500_000, 1_000
#: What the target of a table is.
TASKS = {"binary": "binary", "covertype": "classes", "california_housing": "values", "ranks": "values"}
Outcome = dict[str, float]  # "fit" and "predict", or "explain", in seconds; "score"


@dataclass(frozen=True)
class Work:
    """A model and the rows that it is fitted to."""

    family: str  # "boosting", "Shapley values" (of boosting), or a class of scikit-learn
    rows: int
    trees: int
    leaves: int = 0
    repeats: int = 1
    table: str = "binary"

    @property
    def title(self) -> str:
        """For the head of its section, which is found again by it."""
        trees = f"{self.trees} rounds of {self.leaves} leaves" if self.leaves else f"{self.trees} trees"
        where = "" if self.table in ("binary", "ranks") else f"{self.table.replace('_', ' ')}, "
        return f"{self.family}, {trees}, {where}{self.rows:,} rows"

    @property
    def is_public(self) -> bool:
        """Whether the table is a file in the folder COMMITTEE_DATA."""
        return self.table in ("covertype", "california_housing")

    @property
    def measured(self) -> tuple[str, ...]:
        """What is timed."""
        return ("explain",) if self.family == SHAPLEY else ("fit", "predict")

    def uses_threads(self, contender: str) -> bool:
        """Whether the library has threads for the model; scikit-learn's AdaBoost has none."""
        return self.family != ADABOOST or contender == OURS

    def list_contenders(self) -> list[str]:
        """The libraries that are installed and fit the model; the larger tables are left to the faster ones."""
        boosters = [who for who in BOOSTERS if self.rows <= MANY_ROWS or who not in SLOW_BOOSTERS]
        chosen = {"boosting": boosters, SHAPLEY: EXPLAINERS}.get(self.family, (OURS, SKLEARN))
        packages = {**PEERS, "hessboost": "hessboost"}
        return [who for who in chosen if find_spec(packages[who.removesuffix(" quantised")]) is not None]

    def make_model(self, contender: str, threads: int) -> Any:
        """A model of the library, not fitted."""
        if self.family == ADABOOST:
            return make_adaboost(contender, self.trees, threads)
        if self.leaves:
            return make_model(contender, TASKS[self.table], self.trees, self.leaves, threads)
        return make_forest(contender, self.family, {"n_estimators": self.trees}, threads)


def time_best(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least seconds of some calls, and what the last one returned."""
    best, returned = np.inf, None
    for _ in range(repeats):
        start = time.perf_counter()
        returned = call()
        best = min(best, time.perf_counter() - start)
    return float(best), returned


def make_explainer(contender: str, model: Any, X: Any, threads: int) -> Callable[[], Any]:
    """A call that computes the Shapley values of rows."""
    if contender == OURS:
        from committee.inspection import shap_values

        return lambda: shap_values(model, X, n_jobs=threads)
    if contender == "LightGBM":
        return lambda: model.booster_.predict(X, pred_contrib=True, num_threads=threads)
    import xgboost

    rows = xgboost.DMatrix(X)
    return lambda: model.get_booster().predict(rows, pred_contribs=True)


def run_job(found: Problem, work: Work, contender: str, threads: int) -> Outcome:
    """Fit, predict or explain, and score with a number of threads."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(threads):
        fitting, model = time_best(lambda: work.make_model(contender, threads).fit(found.X, found.y), 1)
        score = score_model(model, TASKS[work.table], found)
        if work.family == SHAPLEY:
            explain = make_explainer(contender, model, found.X_test[:EXPLAINED_ROWS], threads)
            return {"explain": time_best(explain, 1)[0], "score": score}
        predict = model.predict if TASKS[work.table] == "values" else model.predict_proba
        predicting, _ = time_best(lambda: predict(found.X[:PREDICTED_ROWS]), 2)
    return {"fit": fitting, "predict": predicting, "score": score}


def run_jobs(folder: Path, work: Work, contender: str, threads: list[int]) -> list[Outcome]:
    """A library with every number of threads, after a run that is not timed.

    That run has all rows and the most threads: imports, pages of memory, threads. Without threads it takes a few rows.
    Then each number of threads has its turn, as often as the work says, and the best counts: what else runs on the
    processor for a second slows one of the turns, not all of a number's.
    """
    found = read_table(folder, work)
    if not work.uses_threads(contender):
        few = Problem(found.X[:WARM_UP_ROWS], found.y[:WARM_UP_ROWS], found.X_test, found.y_test)
        run_job(few, work, contender, 1)
        return [run_turns(found, work, contender, [1])[0]] * len(threads)
    run_job(found, work, contender, threads[-1])
    return run_turns(found, work, contender, threads)


def run_turns(found: Problem, work: Work, contender: str, threads: list[int]) -> list[Outcome]:
    """The least of each time, number of threads by number of threads."""
    turns = [[run_job(found, work, contender, n) for n in threads] for _ in range(work.repeats)]
    return [{what: min(turn[k][what] for turn in turns) for what in turns[0][k]} for k in range(len(threads))]


def write_table(folder: Path, work: Work) -> None:
    """The rows of a work, for the processes of its jobs."""
    path = folder / f"{work.table}_{work.rows}.npz"
    if path.exists():
        return
    make = inspection_jobs.make_values if work.table == "ranks" else forest_jobs.make_problem
    kind = () if work.table == "ranks" else (work.table,)
    found = make(*kind, work.rows, TEST_ROWS)
    np.savez(path, X=found.X, y=found.y, X_test=found.X_test, y_test=found.y_test)


def read_table(folder: Path, work: Work) -> Problem:
    """What `write_table` has written."""
    with np.load(folder / f"{work.table}_{work.rows}.npz") as arrays:
        return Problem(**arrays)
