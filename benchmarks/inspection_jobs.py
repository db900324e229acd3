"""What the children of the inspection suite do: one function a job."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.measure import Outcome, time_fit


def time_question(ask: Callable[[], Any], repeats: int) -> Outcome:
    """Seconds of a question that takes a while; one before it has loaded what is loaded late."""
    _, outcome = time_fit(ask, repeats)
    return {key: outcome[key] for key in ("seconds", "cpu")}


def make_values(n_rows: int, n_test: int) -> data.Problem:
    """The table of the other suites with a number to predict."""
    found = data.make_problem("binary", n_rows, n_test)
    rng = np.random.default_rng(0)
    table = np.concatenate([found.X, found.X_test])
    ranks = table.argsort(axis=0).argsort(axis=0) / len(table)
    y = (
        4 * ranks[:, 0] * ranks[:, 1]
        + np.sin(6 * ranks[:, 2])
        + ranks[:, 3:8].sum(axis=1)
        + rng.normal(0, 0.3, len(table))
    )
    return data.Problem(found.X, y[:n_rows], found.X_test, y[n_rows:])


def explain(
    contender: str, n_trees: int, n_leaves: int, n_rows: int, n_test: int, repeats: int, threads: int
) -> Outcome:
    """Shapley values of as many trees of as many leaves; the score is the largest error of the sum."""
    found = make_values(n_rows, n_test)
    if contender == "committee":
        from committee import RandomForestRegressor
        from committee.inspection import shap_values

        forest = RandomForestRegressor(n_trees, max_leaf_nodes=n_leaves, random_state=0, n_jobs=threads)
        forest.fit(found.X, found.y)
        shap_values(forest, found.X_test[:5])
        outcome = time_question(lambda: shap_values(forest, found.X_test, n_jobs=threads), repeats)
        apart = shap_values(forest, found.X_test).predictions - forest.predict(found.X_test)
        return {**outcome, "score": float(np.abs(apart).max())}
    if contender == "LightGBM":
        import lightgbm

        model = lightgbm.LGBMRegressor(n_estimators=n_trees, num_leaves=n_leaves, n_jobs=threads, verbose=-1)
        booster = model.fit(found.X, found.y).booster_
        return time_question(lambda: booster.predict(found.X_test, pred_contrib=True, num_threads=threads), repeats)
    import xgboost

    model = xgboost.XGBRegressor(
        n_estimators=n_trees, max_leaves=n_leaves, max_depth=0, grow_policy="lossguide", n_jobs=threads
    )
    booster, rows = model.fit(found.X, found.y).get_booster(), xgboost.DMatrix(found.X_test)
    return time_question(lambda: booster.predict(rows, pred_contribs=True), repeats)


def make_forest(contender: str, name: str, n_trees: int, threads: int) -> Any:
    room = {"committee": "committee", "scikit-learn": "sklearn.ensemble"}[contender]
    return getattr(importlib.import_module(room), name)(n_trees, random_state=0, n_jobs=threads)


def depend(contender: str, method: str, n_trees: int, n_rows: int, n_test: int, repeats: int, threads: int) -> Outcome:
    """Partial dependence of a regression forest on one feature, on scikit-learn's grid of 100 points."""
    found = make_values(n_rows, n_test)
    forest = make_forest(contender, "RandomForestRegressor", n_trees, threads).fit(found.X, found.y)
    if contender == "committee":
        from committee.inspection import partial_dependence
    else:
        from sklearn.inspection import partial_dependence
    call = lambda: partial_dependence(forest, found.X_test, [0], method=method)  # noqa: E731
    average = call()["average"][0]
    return {**time_question(call, repeats), "score": float(average.max() - average.min())}


def permute(contender: str, n_trees: int, n_rows: int, n_test: int, repeats: int, threads: int) -> Outcome:
    """Permutation importance of a classification forest, five shuffles a feature; the score is the largest one."""
    found = data.make_problem("binary", n_rows, n_test)
    forest = make_forest(contender, "RandomForestClassifier", n_trees, threads).fit(found.X, found.y)
    if contender == "committee":
        from committee.inspection import permutation_importance
    else:
        from sklearn.inspection import permutation_importance
    call = lambda: permutation_importance(forest, found.X_test, found.y_test, n_repeats=5, random_state=0)  # noqa: E731
    best = float(call().importances_mean.max())
    return {**time_question(call, repeats), "score": best}
