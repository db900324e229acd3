"""Several targets, compared with XGBoost and CatBoost: `python benchmarks/several_targets.py`; --quick is a smoke test.

Labels, columns of classes and numbers, each drawn by a script; with the folder COMMITTEE_DATA also the ten most
frequent topics of Reuters articles, by their 200 most frequent words. All contenders have the same rounds, learning
rate, penalty, bins and threads. The library and XGBoost have trees of as many leaves, for each score one or (*one
tree*) for all scores together; CatBoost has one symmetric tree of its default depth for all (MultiRMSE,
MultiLogloss). XGBoost and CatBoost take one column of classes only, so that they fit a model to each, one after the
other. The score is of rows that were not trained on, by one function for all: minus the mean log-loss of the targets,
or their mean R². Larger is better. Beside them stand AdaBoost with trees of depth 4, as many of them, and the automatic
committee with its fast preset, an ensemble for each target.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, time_fit
from benchmarks.report import OURS, Case, Claim, ProcessorReport, ratio
from benchmarks.suite import leave_out, list_options, run_suite

XGBOOST, CATBOOST = "XGBoost", "CatBoost"
OURS_JOINT, XGBOOST_JOINT = f"{OURS}, one tree", f"{XGBOOST}, one tree"
ADABOOST, AUTOMATIC = f"{OURS}, AdaBoost", f"{OURS}, automatic"
LABELS, TOPICS, CLASSES, NUMBERS = "eight labels", "ten topics of Reuters", "three class targets", "five numbers"
CONTENDERS = {
    LABELS: (OURS, OURS_JOINT, ADABOOST, AUTOMATIC, XGBOOST, XGBOOST_JOINT, CATBOOST),
    TOPICS: (OURS, OURS_JOINT, XGBOOST, XGBOOST_JOINT, CATBOOST),
    CLASSES: (OURS, OURS_JOINT, ADABOOST, AUTOMATIC, XGBOOST, CATBOOST),
    NUMBERS: (OURS, OURS_JOINT, ADABOOST, AUTOMATIC, XGBOOST, XGBOOST_JOINT, CATBOOST),
}
N_TOPICS, N_WORDS = 10, 200
OUR_OWN = (ADABOOST, AUTOMATIC)
#: Rows of a fit before the clock starts, which loads the modules of a library.
N_WARM = 300


@dataclass(frozen=True)
class Sizes:
    """Rows to learn from, a quarter of them to score, rounds and leaves of the models, and numbers of repetitions."""

    n_rows: int = 5_000
    n_estimators: int = 100
    n_leaves: int = 31
    repeats: int = 2
    rounds: int = 1


QUICK = Sizes(n_rows=300, n_estimators=3, n_leaves=7, repeats=1, rounds=1)


# --- child process -----------------------------------------------------------------------------------------------


def make_table(case: str, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Columns and targets, of shape (n_rows, n_targets), which share some of the columns that they depend on."""
    if case == TOPICS:
        return read_topics(n_rows)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 30))
    n_targets = {LABELS: 8, CLASSES: 3, NUMBERS: 5}[case]
    shared = np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0)
    signals = []
    for k in range(n_targets):
        own = X[:, 3 + k] * X[:, 4 + k] + 0.7 * np.abs(X[:, 5 + k]) + 0.5 * X[:, 6 + k]
        signals.append(shared + own + rng.normal(size=n_rows))
    found = np.stack(signals, axis=1)
    if case == LABELS:
        return X, (found > np.quantile(found, np.linspace(0.5, 0.9, n_targets))[None, :]).astype(np.int64)
    if case == CLASSES:
        edges = [np.quantile(found[:, k], np.linspace(0.0, 1.0, k + 4)[1:-1]) for k in range(n_targets)]
        return X, np.stack([np.digitize(found[:, k], edges[k]) for k in range(n_targets)], axis=1)
    return X, found


def read_topics(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Counts of frequent words in articles, and which of the frequent topics each of these has."""
    import pandas as pd
    from sklearn.feature_extraction.text import CountVectorizer

    frame = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / "reuters_r90_multilabel.parquet").iloc[:n_rows]
    topics = frame["target"].astype(str).str.get_dummies("|")
    most = topics.sum().sort_values(ascending=False, kind="stable").index[:N_TOPICS]
    counts = CountVectorizer(max_features=N_WORDS).fit_transform(frame["text"].fillna("").astype(str))
    return counts.toarray().astype(np.float64), topics[most].to_numpy(np.int64)


def list_options_of(contender: str, sizes: dict[str, int], threads: int) -> dict[str, Any]:
    """The same settings in the words of each library."""
    rounds, leaves = sizes["n_estimators"], sizes["n_leaves"]
    joint = {"multi_strategy": "multi_output_tree"} if contender in (OURS_JOINT, XGBOOST_JOINT) else {}
    if contender in (OURS, OURS_JOINT):
        options = {"n_estimators": rounds, "max_leaf_nodes": leaves, "early_stopping": False, "random_state": 0}
        return options | {"learning_rate": 0.1, "min_child_weight": 1.0, "reg_lambda": 1.0, "n_jobs": threads} | joint
    if contender == CATBOOST:
        options = {"iterations": rounds, "learning_rate": 0.1, "l2_leaf_reg": 1.0, "border_count": 254}
        return options | {"thread_count": threads, "random_seed": 0, "verbose": False, "allow_writing_files": False}
    options = {"n_estimators": rounds, "max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
    options |= {"learning_rate": 0.1, "reg_lambda": 1.0, "min_child_weight": 1.0, "max_bin": 255, "n_jobs": threads}
    return options | {"tree_method": "hist", "random_state": 0} | joint


def make_model(contender: str, case: str, sizes: dict[str, int], threads: int) -> Callable[[], Any]:
    """A function that makes an unfitted model."""
    options, kind = list_options_of(contender, sizes, threads), "Regressor" if case == NUMBERS else "Classifier"
    if contender in OUR_OWN:
        return lambda: make_other(contender, kind, sizes, threads)
    if contender in (OURS, OURS_JOINT):
        import committee

        return lambda: getattr(committee, f"GradientBoosting{kind}")(**options)
    if contender == CATBOOST:
        import catboost

        losses = {NUMBERS: "MultiRMSE", CLASSES: "MultiClass"}
        options["loss_function"] = losses.get(case, "MultiLogloss")
        return lambda: getattr(catboost, f"CatBoost{kind}")(**options)
    import xgboost

    return lambda: getattr(xgboost, f"XGB{kind}")(**options)


def make_other(contender: str, kind: str, sizes: dict[str, int], threads: int) -> Any:
    """AdaBoost or the automatic committee."""
    import committee

    if contender == AUTOMATIC:
        return getattr(committee, f"Committee{kind}")(preset="fast", random_state=0, n_jobs=threads)
    # Boosting of the log-odds has probabilities that the log-loss can be measured of; its members are regression trees.
    tree = committee.DecisionTreeRegressor(max_depth=4)
    options = {"algorithm": "logit", "learning_rate": 0.1} if kind == "Classifier" else {}
    made = getattr(committee, f"AdaBoost{kind}")
    return made(tree, n_estimators=sizes["n_estimators"], random_state=0, n_jobs=threads, **options)


def fit_targets(contender: str, case: str, sizes: dict[str, int], threads: int) -> Outcome:
    """Time of the fit, and the score of other rows."""
    X, y = make_table(case, sizes["n_rows"] * 5 // 4)
    n_train = len(y) * 4 // 5
    make = make_model(contender, case, sizes, threads)
    apart = case == CLASSES and not contender.startswith(OURS)

    def fit(n_rows: int = n_train) -> Any:
        if apart:
            return [make().fit(X[:n_rows], y[:n_rows, k]) for k in range(y.shape[1])]
        return make().fit(X[:n_rows], y[:n_rows])

    fit(min(n_train, N_WARM))
    model, outcome = time_fit(fit, sizes["repeats"])
    return {**outcome, "score": score_rows(case, model, X[n_train:], y[n_train:])}


def score_rows(case: str, model: Any, X: np.ndarray, y: np.ndarray) -> float:
    """Minus the mean log-loss of the targets, or their mean R²."""
    from sklearn.metrics import log_loss, r2_score

    if case == NUMBERS:
        return float(r2_score(y, model.predict(X)))
    if isinstance(model, list):
        found = [own.predict_proba(X) for own in model]
    else:
        found = model.predict_proba(X)
    if not isinstance(found, list):
        # XGBoost and CatBoost give the probability of each label in a column.
        found = [np.stack([1.0 - shares, shares], axis=1) for shares in np.asarray(found, dtype=np.float64).T]
    losses = [log_loss(y[:, k], own, labels=np.arange(own.shape[1])) for k, own in enumerate(found)]
    return -float(np.mean(losses))


# --- parent process ----------------------------------------------------------------------------------------------


def name_case(case: str) -> str:
    return f"{case}: fit"


def list_cases(sizes: Sizes, threads: int) -> list[Case]:
    """A fit of each table by each contender that takes its targets."""

    def make_job(contender: str, case: str) -> Job:
        arguments = {"contender": contender, "case": case, "sizes": vars(sizes), "threads": threads}
        return Job("benchmarks.several_targets:fit_targets", arguments, threads)

    return [
        Case(name_case(case), {who: make_job(who, case) for who in contenders})
        for case, contenders in CONTENDERS.items()
        if case != TOPICS or os.environ.get("COMMITTEE_DATA")
    ]


class TargetsReport(ProcessorReport):
    """The page of several targets."""

    notes = (
        "Scores are minus the mean log-loss of the targets, of numbers their mean R²; larger is better. *One tree*: a",
        'round grows one tree for all scores (`multi_strategy="multi_output_tree"`). So does CatBoost, whose trees are',
        "symmetric and of depth 6. XGBoost and CatBoost take one column of classes only: their times of class targets",
        "are of one model for each, one after the other. *AdaBoost* has trees of depth 4 (of classes by",
        '`algorithm="logit"`), *automatic* is the automatic committee with `preset="fast"`: an ensemble for each',
        "target.",
    )


def lead(case: str, contender: str, peer: str) -> Callable[[dict[str, dict[str, Outcome]]], float]:
    """The score of a contender less that of a peer."""
    return lambda outcomes: float(outcomes[case][contender]["score"] - outcomes[case][peer]["score"])


CLAIMS = [
    Claim(f"{case}, fit, times faster than {peer}", ratio(name_case(case), peer), 1)
    for case in (LABELS, CLASSES, NUMBERS)
    for peer in (XGBOOST, CATBOOST)
]
CLAIMS += [
    Claim(
        f"{case}, score of the automatic committee less {peer}'s", lead(name_case(case), AUTOMATIC, peer), 0.0, unit=""
    )
    for case in (LABELS, CLASSES, NUMBERS)
    for peer in (XGBOOST, CATBOOST)
]


def main(words: list[str] | None = None) -> None:
    parser = list_options(__doc__)
    parser.add_argument("--without", action="append", default=[], metavar="NAME", help="leave out a contender")
    # Threads that wait for one another spin: on a busy machine processor seconds are fair with one thread only.
    parser.add_argument("--threads", type=int, default=min(2, len(list_cores())), help="threads of each fit (2)")
    arguments = parser.parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    cases = list_cases(sizes, arguments.threads)
    leave_out(cases, arguments.without)
    run_suite("several_targets", arguments, cases, CLAIMS, sizes.rounds, TargetsReport)


if __name__ == "__main__":
    main()
