"""What the children of the AdaBoost suite do: one function a job."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.measure import Outcome, time_calls, time_fit
from committee.cli.bench.contenders import make_adaboost

EXACT = "committee, exact"
WARM_UP_ROWS = 200


def make_model(contender: str, n_estimators: int, threads: int) -> Any:
    return make_adaboost(contender, n_estimators, threads, exact=contender == EXACT)


def make_problem(kind: str, n_rows: int, n_test: int) -> data.Problem:
    if kind != "gaussian":
        return data.make_problem(kind, n_rows, n_test)
    # Ten dimensions, the label the sign of the sum [FriedmanHastieTibshirani2000].
    X = np.random.default_rng(0).normal(size=(n_rows + n_test, 10)).astype(np.float32)
    y = (X.sum(axis=1) > 0).astype(np.int64)
    return data.Problem(X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:])


def list_stumps(model: Any) -> list[list[float]]:
    """Feature and threshold of every stump."""
    return [[int(m.tree_.feature[0]), float(m.tree_.threshold[0])] for m in model.estimators_]


def fit_stumps(contender: str, n_estimators: int, problem: dict[str, Any], repeats: int, threads: int) -> Outcome:
    found, few = make_problem(**problem), make_problem(problem["kind"], WARM_UP_ROWS, 1)
    make_model(contender, 2, threads).fit(few.X, few.y)
    model, outcome = time_fit(lambda: make_model(contender, n_estimators, threads).fit(found.X, found.y), repeats)
    return {**outcome, "score": float(model.score(found.X_test, found.y_test)), "stumps": list_stumps(model)}


def predict_stumps(
    contender: str, n_estimators: int, problem: dict[str, Any], repeats: int, threads: int, first: int | None = None
) -> Outcome:
    found = make_problem(**problem)
    model = make_model(contender, n_estimators, threads).fit(found.X, found.y)
    rows = found.X_test[:first]
    return {**time_calls(lambda: model.predict(rows), repeats), "score": model.score(found.X_test, found.y_test)}
