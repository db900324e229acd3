"""Tables of more columns than a cache line has bytes: `python benchmarks/wide.py`; --quick is a smoke test.

5,000 rows of 2,000 columns, two classes that depend on twenty of them. Forests and extra-trees beside scikit-learn,
boosting of 31 leaves beside LightGBM (default and quantised) and XGBoost, with the same trees, bins, learning rate and
threads. The score is the accuracy on rows that were not trained on. On a busy machine `--busy --threads 1`: there the
processor seconds on the page are what to compare.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.data import make_wide
from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, time_calls, time_fit
from benchmarks.report import OURS, Case, Claim, ProcessorReport, ratio
from benchmarks.suite import leave_out, list_options, run_suite
from committee.cli.bench.contenders import make_boosting, make_forest

SKLEARN, LIGHTGBM, QUANTISED, XGBOOST = "scikit-learn", "LightGBM", "LightGBM quantised", "XGBoost"
FOREST, EXTRA, BOOSTING = "random forest", "extra-trees", "boosting"
CONTENDERS = {
    FOREST: (OURS, SKLEARN),
    EXTRA: (OURS, SKLEARN),
    BOOSTING: (OURS, LIGHTGBM, QUANTISED, XGBOOST),
}
CLASSES = {FOREST: "RandomForestClassifier", EXTRA: "ExtraTreesClassifier"}
#: Rows and columns of a fit before the clock starts, which loads the modules of a library.
N_WARM = 200, 100


@dataclass(frozen=True)
class Sizes:
    """The table, the models, and numbers of repetitions."""

    n_rows: int = 5_000
    n_columns: int = 2_000
    n_test: int = 2_000
    n_trees: int = 100
    n_rounds: int = 50
    n_leaves: int = 31
    repeats: int = 3
    rounds: int = 1


QUICK = Sizes(n_rows=200, n_columns=150, n_test=100, n_trees=3, n_rounds=3, n_leaves=7, repeats=1, rounds=1)


# --- child process -----------------------------------------------------------------------------------------------


def choose_model(contender: str, model: str, sizes: dict[str, int], threads: int) -> Callable[[], Any]:
    """A function that makes an unfitted model."""
    if model == BOOSTING:
        return lambda: make_boosting(contender, sizes["n_rounds"], sizes["n_leaves"], threads)
    return lambda: make_forest(contender, CLASSES[model], {"n_estimators": sizes["n_trees"]}, threads)


def fit_wide(contender: str, model: str, sizes: dict[str, int], threads: int) -> Outcome:
    """Time of the fit, and the accuracy on other rows."""
    make, few = choose_model(contender, model, sizes, threads), make_wide(*N_WARM, 1)
    make().fit(few.X, few.y)
    found = make_wide(sizes["n_rows"], sizes["n_columns"], sizes["n_test"])
    fitted, outcome = time_fit(lambda: make().fit(found.X, found.y), sizes["repeats"])
    return {**outcome, "score": float((fitted.predict(found.X_test) == found.y_test).mean())}


def predict_wide(contender: str, model: str, sizes: dict[str, int], threads: int) -> Outcome:
    """Time of the probabilities of other rows."""
    found = make_wide(sizes["n_rows"], sizes["n_columns"], sizes["n_test"])
    fitted = choose_model(contender, model, sizes, threads)().fit(found.X, found.y)
    outcome = time_calls(lambda: fitted.predict_proba(found.X_test), sizes["repeats"])
    return {**outcome, "score": float((fitted.predict(found.X_test) == found.y_test).mean())}


# --- parent process ----------------------------------------------------------------------------------------------


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """A fit and a prediction of each model by each contender."""

    def make_job(function: str, contender: str, model: str) -> Job:
        options = {"contender": contender, "model": model, "sizes": vars(sizes), "threads": threads}
        return Job(f"benchmarks.wide:{function}", options, threads)

    return [
        Case(f"{model}: {what}", {who: make_job(function, who, model) for who in contenders})
        for what, function in (("fit", "fit_wide"), ("predict", "predict_wide"))
        for model, contenders in CONTENDERS.items()
    ]


class WideReport(ProcessorReport):
    """The page of wide tables."""

    notes = (
        "Scores are the accuracy on 2,000 other rows. Forests have 100 trees of full depth, boosting 50 rounds of",
        "31 leaves. *Predict*: the probabilities of these rows, by a model that is fitted already.",
    )


CLAIMS = [
    Claim("random forest, fit, times faster than scikit-learn", ratio(f"{FOREST}: fit", SKLEARN), 12.0),
    Claim("extra-trees, fit, times faster than scikit-learn", ratio(f"{EXTRA}: fit", SKLEARN), 8.0),
    Claim("boosting, fit, times faster than quantised LightGBM", ratio(f"{BOOSTING}: fit", QUANTISED), 2.0),
]


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave out a contender")
    parser.add_argument("--threads", type=int, default=min(2, len(list_cores())), help="threads of each model (2)")
    arguments = parser.parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    cases = list_cases(sizes, arguments.threads)
    leave_out(cases, arguments.without)
    claims = [] if arguments.without else CLAIMS
    run_suite("wide", arguments, cases, claims, sizes.rounds, WideReport)


if __name__ == "__main__":
    main()
