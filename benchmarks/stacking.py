"""Stacking, compared with scikit-learn: `python benchmarks/stacking.py`; --quick is a smoke test."""

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
OUT_OF_BAG = f"{OURS}, out of bag"
FIT, PREDICT = "fit", "predict"


@dataclass(frozen=True)
class Sizes:
    """Sizes of the data sets and models, and numbers of repetitions."""

    n_rows: int = 20_000
    n_test: int = 20_000
    n_trees: int = 100
    repeats: int = 1
    rounds: int = 1


QUICK = Sizes(n_rows=600, n_test=300, n_trees=12)


# --- child process -----------------------------------------------------------------------------------------------


def make_stack(contender: str, n_trees: int, threads: int, out_of_bag: bool = False) -> Any:
    """A forest, extra-trees, logistic regression and naive Bayes with a logistic meta-model.

    With out-of-bag predictions the extra-trees also need samples. Each tree gets four fifths of the rows, as many as a
    training fold has.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    module = importlib.import_module({OURS: "committee", SKLEARN: "sklearn.ensemble"}[contender])
    same = {"n_estimators": n_trees, "random_state": 0, "n_jobs": threads}
    extra = module.ExtraTreesClassifier(**same)
    if out_of_bag:
        extra = module.BaggingClassifier(module.ExtraTreeClassifier(), **same, bootstrap=False, max_samples=0.8)
    members = [
        ("forest", module.RandomForestClassifier(**same)),
        ("extra", extra),
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression())),
        ("bayes", GaussianNB()),
    ]
    return module.StackingClassifier(members, LogisticRegression(), cv="oob" if out_of_bag else 5)


def fit_stack(contender: str, sizes: dict[str, int], threads: int, out_of_bag: bool = False) -> Outcome:
    from sklearn.metrics import roc_auc_score

    found = data.make_problem("binary", sizes["n_rows"], sizes["n_test"])
    make_stack(contender, 4, threads, out_of_bag).fit(found.X[:200], found.y[:200])
    stack, outcome = time_fit(
        lambda: make_stack(contender, sizes["n_trees"], threads, out_of_bag).fit(found.X, found.y), sizes["repeats"]
    )
    return {**outcome, "score": float(roc_auc_score(found.y_test, stack.predict_proba(found.X_test)[:, 1]))}


def predict_stack(contender: str, sizes: dict[str, int], threads: int) -> Outcome:
    found = data.make_problem("binary", sizes["n_rows"] // 4, sizes["n_test"])
    stack = make_stack(contender, sizes["n_trees"], threads).fit(found.X, found.y)
    return time_calls(lambda: stack.predict_proba(found.X_test), 3)


# --- parent process ----------------------------------------------------------------------------------------------


def list_cases(sizes: Sizes) -> list[Case]:
    """Fit with folds, fit with out-of-bag predictions (not available in scikit-learn), and prediction."""
    threads = min(2, len(list_cores()))
    options = {"sizes": vars(sizes), "threads": threads}

    def job(function: str, contender: str, **more: Any) -> Job:
        return Job(f"benchmarks.stacking:{function}", {"contender": contender, **options, **more}, threads)

    fits = {OURS: job("fit_stack", OURS), OUT_OF_BAG: job("fit_stack", OURS, out_of_bag=True)}
    return [
        Case(FIT, {**fits, SKLEARN: job("fit_stack", SKLEARN)}),
        Case(PREDICT, {OURS: job("predict_stack", OURS), SKLEARN: job("predict_stack", SKLEARN)}),
    ]


def compare_scores(ours: str) -> Any:
    """Our score minus scikit-learn's."""

    def read(outcomes: dict[str, dict[str, Outcome]]) -> float:
        return float(outcomes[FIT][ours]["score"] - outcomes[FIT][SKLEARN]["score"])

    return read


CLAIMS = [
    Claim("5 folds, times faster than scikit-learn with the same settings", ratio(FIT, SKLEARN), 8),
    Claim("out of bag, times faster than scikit-learn with 5 folds", ratio(FIT, SKLEARN, ours=OUT_OF_BAG), 15),
    Claim("5 folds, our AUC less theirs", compare_scores(OURS), -0.002),
    Claim("out of bag, our AUC less theirs", compare_scores(OUT_OF_BAG), -0.002),
    Claim("prediction, times faster", ratio(PREDICT, SKLEARN)),
]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("stacking", arguments, list_cases(sizes), CLAIMS, sizes.rounds)


if __name__ == "__main__":
    main()
