"""What the children of the forest suite do: one function a job."""

from __future__ import annotations

import os
import pickle
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.measure import Outcome, time_calls, time_fit
from committee.cli.bench.contenders import make_forest

WARM_UP_ROWS = 60


def make_problem(kind: str, n_rows: int, n_test: int) -> data.Problem:
    if kind == "iris":
        from sklearn.datasets import load_iris

        X, y = load_iris(return_X_y=True)
        return data.Problem(X, y, X, y)
    if kind in ("covertype", "california_housing"):
        import pandas

        table = pandas.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{kind}.parquet")
        table = table.sample(frac=1.0, random_state=0)
        target = table.pop("target")
        y = target.cat.codes.to_numpy() if target.dtype == "category" else target.to_numpy()
        if kind == "covertype":
            y = y - y.min()
        codes = [c.cat.codes if c.dtype == "category" else c for _, c in table.items()]
        X = np.column_stack([np.asarray(c, dtype=np.float32) for c in codes])
        rest = slice(n_rows, n_rows + n_test) if n_test else slice(0, n_rows)
        return data.Problem(X[:n_rows], y[:n_rows], X[rest], y[rest])
    return data.make_problem(kind, n_rows, n_test)


def warm_up(contender: str, name: str, threads: int) -> None:
    """Fit a few rows, so that every library is loaded before the clock starts."""
    few = data.make_problem("binary", WARM_UP_ROWS, 1)
    make_forest(contender, name, {"n_estimators": 2}, threads).fit(few.X, few.y)


def fit_ranger(name: str, params: dict[str, Any], found: data.Problem, repeats: int, threads: int) -> Outcome:
    """A forest of R's ranger in a process of its own, timed inside it: reading the tables does not count."""
    is_class = name.endswith("Classifier")
    n_rows, n_cols = found.X.shape
    n_tries = int(np.sqrt(n_cols)) if is_class else n_cols
    numbers = (n_rows, len(found.X_test), n_cols, params["n_estimators"], n_tries, threads, repeats)
    words = ["classes" if is_class else "values", *map(str, numbers), str(bool(params.get("oob_score"))).upper()]
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "plan.txt").write_text(" ".join(words))
        for file, array, kind in (("X", found.X, "<f4"), ("X_test", found.X_test, "<f4")):
            np.ascontiguousarray(array, dtype=kind).tofile(Path(folder) / f"{file}.raw")
        for file, target in (("y", found.y), ("y_test", found.y_test)):
            np.asarray(target, dtype="<f8").tofile(Path(folder) / f"{file}.raw")
        script = Path(__file__).with_name("ranger_fit.R")
        told = subprocess.run(
            ["Rscript", "--vanilla", script, folder], check=True, capture_output=True, text=True
        ).stdout
    seconds, cpu, score = ([float(word) for word in line.split()] for line in told.splitlines())
    return {"seconds": seconds, "cpu": cpu, "score": score[0]}


def fit_forest(
    contender: str, name: str, params: dict[str, Any], problem: dict[str, Any], repeats: int, threads: int
) -> Outcome:
    found = make_problem(**problem)
    if contender == "ranger":
        return fit_ranger(name, params, found, repeats, threads)
    warm_up(contender, name, threads)
    forest, outcome = time_fit(lambda: make_forest(contender, name, params, threads).fit(found.X, found.y), repeats)
    score = forest.oob_score_ if params.get("oob_score") else forest.score(found.X_test, found.y_test)
    return {**outcome, "score": float(score), "table_mb": found.X.nbytes / 2**20}


def predict_forest(
    contender: str,
    name: str,
    params: dict[str, Any],
    problem: dict[str, Any],
    repeats: int,
    threads: int,
    n_rows: int | None = None,
) -> Outcome:
    found = make_problem(**problem)
    forest = make_forest(contender, name, params, threads).fit(found.X, found.y)
    rows = found.X_test[:n_rows]
    if n_rows == 1:
        # A thread costs more than a row: one is every library's best.
        forest.set_params(n_jobs=1)
    return {**time_calls(lambda: forest.predict(rows), repeats), "score": forest.score(found.X_test, found.y_test)}


def pickle_forest(
    contender: str, name: str, params: dict[str, Any], problem: dict[str, Any], repeats: int, threads: int
) -> Outcome:
    found = make_problem(**problem)
    forest = make_forest(contender, name, params, threads).fit(found.X, found.y)
    outcome = time_calls(lambda: pickle.loads(pickle.dumps(forest)), repeats)
    return {**outcome, "bytes": len(pickle.dumps(forest))}
