"""Tuning beside scikit-learn's searches and Optuna with LightGBM: `python -m benchmarks.tuning`.

All contenders have the same budget, threads, training rows and five folds, and begin with the defaults of their
estimator. Whenever a contender finds a better candidate by its own folds, the time and the parameters are noted; after
its time is over each of these is fitted on all training rows and scored on 30 % of the rows, which no search saw
(log-loss, or root mean squared error). "best at" is when the last one was found. "ours at" is the time from which on
`TPESearch` is at least as good on the test rows as the contender at its end, and "times" how many times the contender's
own time that saves.

The last three columns are the same for the mean of the candidate's five models in the folds, in place of one model that
is fitted on all training rows: `final="folds"` of our searches, and the models that Optuna's trial has fitted. It costs
no further fit, and five times the size and the prediction time. scikit-learn's searches keep no models of folds.

The second table has the mean over the tables of the loss of the best candidate so far, relative to that of LightGBM's
defaults fitted on all training rows, after parts of the budget. Before a contender's first candidate is done it counts
as that one.

`GridSearchCV` and `RandomizedSearchCV` have no budget: they are called for one candidate after another, the grid in
random order. Optuna prunes trials by the median after each fold, and LightGBM stops early on the test rows of the fold.
These three count a candidate that begins in time and ends after it; ours begin only what they expect to end in time.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ParameterGrid,
    RandomizedSearchCV,
    StratifiedKFold,
    train_test_split,
)

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.lanes import add_lanes, run_in_lanes, show_lanes
from benchmarks.machine import measure_load, show_machine
from benchmarks.report import RESULTS
from committee import GradientBoostingClassifier, GradientBoostingRegressor
from committee.search import HalvingSearch, IntegerRange, RealRange, TPESearch

THREADS = 1
TABLES = {
    "magic_telescope": True,
    "wine_quality": False,
    "california_housing": False,
    "bank_marketing": True,
    "spambase": True,
    "higgs_7500": True,
    "abalone": False,
}
"""Whether the target is a class."""
SPACE = {
    "learning_rate": RealRange(0.02, 0.3, log=True),
    "num_leaves": IntegerRange(4, 128, log=True),
    "min_child_samples": IntegerRange(1, 100, log=True),
    "colsample_bytree": RealRange(0.2, 1.0),
    "subsample": RealRange(0.4, 1.0),
    "reg_lambda": RealRange(0.01, 100.0, log=True),
    "n_estimators": IntegerRange(50, 1000, log=True),
}
GRID = {
    "learning_rate": [0.03, 0.1],
    "num_leaves": [15, 31, 63],
    "min_child_samples": [5, 20, 60],
    "n_estimators": [100, 300, 900],
    "colsample_bytree": [0.5, 1.0],
}


@dataclass
class Task:
    """A table, split, with its folds."""

    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    classify: bool
    folds: list[tuple[np.ndarray, np.ndarray]]

    @property
    def scoring(self) -> str:
        """The metric of the searches."""
        return "neg_log_loss" if self.classify else "neg_root_mean_squared_error"

    def measure(self, *models: Any) -> float:
        """The loss of a fitted model, or of the mean of several, on the test rows."""
        if self.classify:
            shares = np.mean([model.predict_proba(self.X_test) for model in models], axis=0)
            return float(log_loss(self.y_test, shares, labels=models[0].classes_))
        return float(root_mean_squared_error(self.y_test, np.mean([m.predict(self.X_test) for m in models], axis=0)))

    def fit_folds(self, model: Any) -> list[Any]:
        """A model for the training rows of each fold."""
        return [clone(model).fit(self.X.iloc[train], self.y[train]) for train, _ in self.folds]


@dataclass
class Trace:
    """When a contender found what, and how many candidates it looked at."""

    found: list[tuple[float, Any]] = field(default_factory=list)
    folds: list[list[Any]] = field(default_factory=list)
    n_candidates: int = 0
    best: float = -np.inf

    def note(self, seconds: float, score: float, model: Any, folds: list[Any] | None = None) -> None:
        """Keep a model, and those of its folds where they are fitted, if it is the best so far."""
        self.n_candidates += 1
        if score > self.best:
            self.best = score
            self.found.append((seconds, model))
            self.folds += [] if folds is None else [folds]


def load(name: str, classify: bool, n_rows: int | None, split: int = 0) -> Task:
    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    target = "target" if "target" in table else table.columns[-1]
    if n_rows is not None:
        table = table.sample(min(n_rows, len(table)), random_state=0)
    X, y = table.drop(columns=[target]), table[target]
    for column in X.select_dtypes(exclude="number"):
        X[column] = X[column].astype("category")
    labels = pd.factorize(y, sort=True)[0] if classify else y.to_numpy(np.float64)
    stratify = labels if classify else None
    X_train, X_test, y_train, y_test = train_test_split(X, labels, test_size=0.3, random_state=split, stratify=stratify)
    splitter = (StratifiedKFold if classify else KFold)(5, shuffle=True, random_state=split)
    folds = list(splitter.split(X_train, y_train))
    return Task(X_train.reset_index(drop=True), y_train, X_test, y_test, classify, folds)


# --- contenders ------------------------------------------------------------------------------------------------------


def run_ours(kind: Any, task: Task, budget: float) -> Trace:
    trace = Trace()
    maker = GradientBoostingClassifier if task.classify else GradientBoostingRegressor
    estimator = maker(random_state=0, n_jobs=THREADS)

    def note(report: Any) -> None:
        trace.n_candidates = report.n_candidates
        if report.best_score > trace.best:
            trace.best = report.best_score
            trace.found.append((report.seconds, clone(estimator).set_params(**report.params)))

    search = kind(
        estimator, budget=budget, scoring=task.scoring, cv=task.folds, refit=False, callbacks=[note], random_state=0
    )
    search.fit(task.X, task.y)
    # Callbacks do not see the models of the folds, which the search has: they are fitted again here.
    trace.folds = [task.fit_folds(model) for _, model in trace.found] if kind is TPESearch else []
    return trace


def make_lightgbm(task: Task, **params: Any) -> Any:
    import lightgbm

    maker = lightgbm.LGBMClassifier if task.classify else lightgbm.LGBMRegressor
    return maker(n_jobs=THREADS, verbose=-1, random_state=0, subsample_freq=1, **params)


def run_searches(steps: Iterator[Any], task: Task, budget: float) -> Trace:
    """Searches of one candidate each, until the time is over."""
    trace, began = Trace(), time.perf_counter()
    for search in steps:
        search.fit(task.X, task.y)
        seconds = time.perf_counter() - began
        trace.note(seconds, float(search.best_score_), clone(search.estimator).set_params(**search.best_params_))
        if seconds > budget:
            break
    return trace


def run_grid(task: Task, budget: float) -> Trace:
    grid = list(ParameterGrid(GRID))
    order = np.random.default_rng(0).permutation(len(grid))
    points: list[dict[str, Any]] = [{}, *(grid[k] for k in order)]
    lists = ({name: [value] for name, value in point.items()} for point in points)
    model = make_lightgbm(task)
    steps = (GridSearchCV(model, one, scoring=task.scoring, cv=task.folds, refit=False) for one in lists)
    return run_searches(steps, task, budget)


def run_random(task: Task, budget: float) -> Trace:
    model, shared = make_lightgbm(task), {"scoring": task.scoring, "cv": task.folds, "refit": False}

    def list_steps() -> Iterator[Any]:
        yield GridSearchCV(model, {}, **shared)
        for seed in range(10_000):
            yield RandomizedSearchCV(model, SPACE, n_iter=1, random_state=seed, **shared)

    return run_searches(list_steps(), task, budget)


def run_optuna(task: Task, budget: float) -> Trace:
    import lightgbm
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    trace, began = Trace(), time.perf_counter()

    def measure(trial: Any) -> float:
        params = {}
        if trial.number:
            for name, values in SPACE.items():
                if name == "n_estimators":
                    continue
                suggest = trial.suggest_int if isinstance(values, IntegerRange) else trial.suggest_float
                params[name] = suggest(name, values.low, values.high, log=values.log)
        losses, rounds, models = [], [], []
        for k, (train, test) in enumerate(task.folds):
            model = make_lightgbm(task, n_estimators=1000, **params)
            rows = task.X.iloc[test], task.y[test]
            stop = lightgbm.early_stopping(20, verbose=False)
            model.fit(task.X.iloc[train], task.y[train], eval_set=[rows], callbacks=[stop])
            fold = Task(None, task.y, rows[0], rows[1], task.classify, [])
            losses.append(fold.measure(model))
            rounds.append(model.best_iteration_ or 1000)
            models.append(model)
            trial.report(float(np.mean(losses)), k)
            if trial.should_prune():
                trace.n_candidates += 1
                raise optuna.TrialPruned
        loss = float(np.mean(losses))
        found = make_lightgbm(task, n_estimators=int(np.mean(rounds)), **params)
        trace.note(time.perf_counter() - began, -loss, found, models)
        return loss

    study = optuna.create_study(
        sampler=optuna.samplers.TPESampler(seed=0), pruner=optuna.pruners.MedianPruner(n_startup_trials=5)
    )
    study.optimize(measure, timeout=budget)
    return trace


OURS, BASE = "committee, TPESearch", "GridSearchCV, LightGBM"
"""The second begins with LightGBM's defaults as they are."""
SHARES = (0.05, 0.1, 0.2, 0.5, 1.0)
CONTENDERS: dict[str, Callable[[Task, float], Trace]] = {
    OURS: lambda task, budget: run_ours(TPESearch, task, budget),
    "committee, HalvingSearch": lambda task, budget: run_ours(HalvingSearch, task, budget),
    "GridSearchCV, LightGBM": run_grid,
    "RandomizedSearchCV, LightGBM": run_random,
    "Optuna, LightGBM": run_optuna,
}


# --- report ----------------------------------------------------------------------------------------------------------


@dataclass
class Outcome:
    """What a contender did on a table: when it found candidates, their losses on test rows, and how many it saw."""

    times: list[float]
    losses: list[float]
    fold_losses: list[float]
    n_candidates: int

    def find_loss(self, seconds: float, losses: list[float]) -> float:
        """The loss of the best candidate after some time."""
        return losses[max(0, sum(at <= seconds for at in self.times) - 1)]


def run_contender(name: str, contender: str, budget: float, n_rows: int | None, split: int) -> Outcome | None:
    """One contender on one table; None if its package is absent."""
    warnings.filterwarnings("ignore", module="lightgbm")
    task = load(name, TABLES[name], n_rows, split)
    try:
        trace = CONTENDERS[contender](task, budget)
    except ImportError as error:
        print(f"{contender} is left out: {error}", flush=True)
        return None
    losses = [task.measure(model.fit(task.X, task.y)) for _, model in trace.found]
    fold_losses = [task.measure(*models) for models in trace.folds]
    print(name, contender, trace.n_candidates, losses[-1], fold_losses[-1:], flush=True)
    return Outcome([seconds for seconds, _ in trace.found], losses, fold_losses, trace.n_candidates)


def compare(ours: list[float], times: list[float], final: float, at: float) -> str:
    """When all later candidates of ours are as good as a loss that was found at some time, and how much sooner."""
    good = [k for k in range(len(ours)) if max(ours[k:]) <= final]
    return f"{times[good[0]]:.1f} | {at / times[good[0]]:.1f}" if good else "not | "


def list_rows(name: str, outcomes: dict[str, Outcome]) -> Iterator[str]:
    """Rows of a Markdown table."""
    ours = outcomes[OURS]
    for contender, own in outcomes.items():
        final, at, is_other = own.losses[-1], own.times[-1], contender != OURS
        reached = compare(ours.losses, ours.times, final, at) if is_other else " | "
        folds = " | | "
        if own.fold_losses:
            own_folds = own.fold_losses[-1]
            other = compare(ours.fold_losses, ours.times, own_folds, at) if is_other else " | "
            folds = f"{own_folds:.5f} | {other}"
        yield f"| {name} | {contender} | {own.n_candidates} | {at:.1f} | {final:.5f} | {reached} | {folds} |"


def list_curves(outcomes: dict[str, dict[str, Outcome]], budget: float) -> Iterator[str]:
    """Rows of the table of mean losses over time."""
    yield "| contender | " + " | ".join(f"{share * budget:.3g} s" for share in SHARES) + " | end |"
    yield "|---|" + "---|" * (len(SHARES) + 1)
    base = {name: own[BASE].losses[0] for name, own in outcomes.items() if BASE in own}
    for contender, form in itertools.product(CONTENDERS, ("losses", "fold_losses")):
        found = [(own[contender], base[name]) for name, own in outcomes.items() if contender in own and name in base]
        if not found or not all(getattr(own, form) for own, _ in found):
            continue
        cells = []
        for seconds in [*(share * budget for share in SHARES), np.inf]:
            ratios = [own.find_loss(seconds, getattr(own, form)) / first for own, first in found]
            cells.append(f"{100.0 * (np.exp(np.mean(np.log(ratios))) - 1.0):+.2f} %")
        yield f"| {contender}{', mean of the folds' if form == 'fold_losses' else ''} | {' | '.join(cells)} |"


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each contender on each table")
    parser.add_argument("--quick", action="store_true", help="two tables of 1,500 rows, 4 seconds each")
    parser.add_argument("--out", type=Path, help="folder of the page (benchmarks/results; none with --quick)")
    parser.add_argument("--split", type=int, default=0, help="seed of the split into training and test rows, and folds")
    parser.add_argument("--only", nargs="+", default=list(CONTENDERS), choices=CONTENDERS, help="these contenders")
    add_lanes(parser)
    arguments = parser.parse_args(words)
    budget, tables = arguments.budget, list(TABLES)
    if arguments.quick:
        budget, tables = 4.0, tables[:2]
    load_before, n_rows = measure_load(), 1_500 if arguments.quick else None
    calls = [(name, who, budget, n_rows, arguments.split) for name in tables for who in arguments.only]
    found = iter(run_in_lanes(run_contender, calls, arguments.lanes, THREADS))
    outcomes = {name: {who: own for who in arguments.only if (own := next(found)) is not None} for name in tables}
    lines = [
        "| table | contender | candidates | best at, s | test loss | ours at, s | times "
        "| folds: test loss | ours at, s | times |",
        "|---|---|---|---|---|---|---|---|---|---|",
        *itertools.chain(*(list_rows(name, own) for name, own in outcomes.items())),
    ]
    page = ["# Tuning", "", "`python -m benchmarks.tuning`", "", *lines, "", *list_curves(outcomes, budget), ""]
    page += [*str(__doc__).split("\n\n", 1)[1].strip().splitlines(), ""]
    machine = f"{show_machine()}; load before the run {load_before:.2f}. {show_lanes(arguments.lanes, THREADS)}"
    page += [f"{budget:g} s each, {THREADS} thread; {machine}", ""]
    print("\n".join(page))
    folder = arguments.out or (None if arguments.quick else RESULTS)
    if folder is not None:
        (folder / "tuning.md").write_text("\n".join(page), encoding="utf-8")


if __name__ == "__main__":
    main()
