"""Wide sparse tables, beside LightGBM, XGBoost and scikit-learn: `python -m benchmarks.sparse`.

Three tables. "wide": 50,000 rows, 1,000,000 columns and 200,000 entries anywhere, which would be 93 GiB of bytes; full
trees on it are chains of tens of thousands of nodes. "popular": as large, but half of the entries are in 2,000 columns,
which the target depends on, and the score is the accuracy on 50,000 other rows. "text": the eight largest topics of
Reuters-21578, words by TF-IDF; the score is the accuracy on the documents of its test part.

Each fit runs in a process of its own. The peak is the largest resident memory of that process, its table included.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import measure_load, show_machine
from benchmarks.report import OURS, RESULTS

LIGHTGBM, XGBOOST, SKLEARN = "LightGBM", "XGBoost", "scikit-learn"
THREADS = 2
LIMIT = 40  # seconds of a job


@dataclass(frozen=True)
class Job:
    """A fit: of which table, family and library."""

    table: str
    family: str
    contender: str = OURS


JOBS = (
    *(Job("wide", "boosting", contender) for contender in (OURS, LIGHTGBM, XGBOOST)),
    Job("wide", "gradient boosting"),
    Job("wide", "3 full trees of a forest"),
    Job("wide", "3 full extra-trees"),
    Job("wide", "100 trees of depth 10"),
    Job("wide", "bagging, depth 5"),
    Job("wide", "tree, depth 10"),
    Job("wide", "AdaBoost, stumps"),
    Job("wide", "AdaBoost, depth 3"),
    Job("wide", "isolation forest"),
    *(Job("popular", "boosting", contender) for contender in (OURS, LIGHTGBM, XGBOOST)),
    *(Job("text", "boosting", contender) for contender in (OURS, LIGHTGBM, XGBOOST)),
    *(Job("text", "random forest", contender) for contender in (OURS, SKLEARN)),
    *(Job("text", "extra-trees", contender) for contender in (OURS, SKLEARN)),
    *(Job("text", "AdaBoost, stumps", contender) for contender in (OURS, SKLEARN)),
    Job("text", "BoosTexter"),
)


# --- tables ----------------------------------------------------------------------------------------------------------


def make_wide(n_rows: int, n_columns: int, n_entries: int, seed: int, popular: int) -> tuple[Any, np.ndarray]:
    """Entries anywhere, or half of them in a few columns, which two classes depend on."""
    rng = np.random.default_rng(seed)
    rows, columns = rng.integers(0, n_rows, n_entries), rng.integers(0, n_columns, n_entries)
    if popular:
        columns[::2] = rng.integers(0, popular, len(columns[::2]))
    values = rng.integers(1, 4, n_entries).astype(np.float64)
    X = sp.coo_array((values, (rows, columns)), shape=(n_rows, n_columns)).tocsr()
    signs = np.where(columns % 2 == 0, 1.0, -1.0) * (columns < popular if popular else 1)
    score = np.bincount(rows, signs * values, minlength=n_rows) + rng.normal(size=n_rows)
    return X, (score > 0).astype(np.int64)


def read_documents() -> tuple[Any, np.ndarray, np.ndarray]:
    """Texts, topics, and which documents are for training."""
    import pandas as pd

    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / "reuters_r52.parquet")
    texts = table["title"].fillna("").astype(str) + " " + table["text"].fillna("").astype(str)
    return texts, table["target"].astype(str).to_numpy(), (table["split"] == "train").to_numpy()


def load(job: Job, quick: bool) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Training rows, their classes, test rows and theirs."""
    if job.table != "text":
        size = (2_000, 100_000, 8_000) if quick else (50_000, 1_000_000, 200_000)
        popular = 0 if job.table == "wide" else 200 if quick else 2_000
        return (*make_wide(*size, 0, popular), *make_wide(*size, 1, popular))
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.preprocessing import LabelEncoder

    texts, topics, train = read_documents()
    names, counts = np.unique(topics, return_counts=True)
    kept = np.isin(topics, names[np.argsort(-counts)[:8]])
    if quick:
        kept &= np.arange(len(topics)) % 8 == 0
    texts, topics, train = texts[kept], topics[kept], train[kept]
    y = LabelEncoder().fit_transform(topics)
    if job.family == "BoosTexter":
        return texts[train].to_numpy(), y[train], texts[~train].to_numpy(), y[~train]
    words = TfidfVectorizer(dtype=np.float64)
    return words.fit_transform(texts[train]), y[train], words.transform(texts[~train]), y[~train]


# --- models ----------------------------------------------------------------------------------------------------------


def make_lightgbm(rounds: int, rate: float) -> Any:
    import lightgbm

    return lightgbm.LGBMClassifier(n_estimators=rounds, learning_rate=rate, n_jobs=THREADS, verbose=-1, random_state=0)


def make_xgboost(rounds: int, rate: float) -> Any:
    import xgboost

    return xgboost.XGBClassifier(
        n_estimators=rounds,
        learning_rate=rate,
        tree_method="hist",
        grow_policy="lossguide",
        max_leaves=31,
        max_depth=0,
        n_jobs=THREADS,
        random_state=0,
    )


def make_ours(family: str, rounds: int, rate: float) -> Any:
    import committee as cm

    jobs: dict[str, Any] = {"n_jobs": THREADS, "random_state": 0}
    makers: dict[str, Callable[[], Any]] = {
        "boosting": lambda: cm.HistGradientBoostingClassifier(
            max_iter=rounds, learning_rate=rate, early_stopping=False, **jobs
        ),
        "gradient boosting": lambda: cm.GradientBoostingClassifier(**jobs),
        "3 full trees of a forest": lambda: cm.RandomForestClassifier(n_estimators=3, **jobs),
        "3 full extra-trees": lambda: cm.ExtraTreesClassifier(n_estimators=3, **jobs),
        "100 trees of depth 10": lambda: cm.RandomForestClassifier(max_depth=10, **jobs),
        "bagging, depth 5": lambda: cm.BaggingClassifier(cm.DecisionTreeClassifier(max_depth=5), **jobs),
        "tree, depth 10": lambda: cm.DecisionTreeClassifier(max_depth=10, **jobs),
        "AdaBoost, stumps": lambda: cm.AdaBoostClassifier(n_estimators=50, **jobs),
        "AdaBoost, depth 3": lambda: cm.AdaBoostClassifier(
            cm.DecisionTreeClassifier(max_depth=3), n_estimators=50, **jobs
        ),
        "isolation forest": lambda: cm.IsolationForest(**jobs),
        "random forest": lambda: cm.RandomForestClassifier(**jobs),
        "extra-trees": lambda: cm.ExtraTreesClassifier(**jobs),
        "BoosTexter": lambda: cm.BoosTexterClassifier(n_estimators=200, n_jobs=THREADS),
    }
    return makers[family]()


def make_sklearn(family: str) -> Any:
    import sklearn.ensemble as skl

    if family == "AdaBoost, stumps":
        return skl.AdaBoostClassifier(n_estimators=50, random_state=0)
    kind = {"random forest": skl.RandomForestClassifier, "extra-trees": skl.ExtraTreesClassifier}[family]
    return kind(n_jobs=THREADS, random_state=0)


def make_model(job: Job, quick: bool) -> Any:
    """The model of a job; libraries of boosting have the same rounds, leaves and learning rate."""
    rounds = 3 if quick else 20 if job.table == "text" else 100
    makers: dict[str, Callable[[], Any]] = {
        OURS: partial(make_ours, job.family, rounds, 0.1),
        LIGHTGBM: partial(make_lightgbm, rounds, 0.1),
        XGBOOST: partial(make_xgboost, rounds, 0.1),
        SKLEARN: partial(make_sklearn, job.family),
    }
    return makers[job.contender]()


# --- child process ---------------------------------------------------------------------------------------------------


def read_peak() -> int:
    """Largest resident memory of this process, in bytes."""
    # Not ru_maxrss, which begins with the peak of the parent process.
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def run_child(job: Job, quick: bool) -> None:
    X, y, X_test, y_test = load(job, quick)
    model = make_model(job, quick)
    start = time.perf_counter()
    model.fit(X, y)
    fitted = time.perf_counter()
    answers = model.predict(X_test)
    done = time.perf_counter()
    scored = job.table != "wide"
    print(
        json.dumps(
            {
                "fit": fitted - start,
                "predict": done - fitted,
                "peak": read_peak(),
                "score": float(np.mean(answers == y_test)) if scored else None,
            }
        )
    )


# --- report ----------------------------------------------------------------------------------------------------------


def run_job(job: Job, quick: bool, limit: float) -> dict[str, Any] | None:
    """What a child measured; None if it took longer than the limit."""
    command = [sys.executable, "-m", "benchmarks.sparse", "--job", job.table, job.family, job.contender]
    root = Path(__file__).resolve().parents[1]
    try:
        done = subprocess.run(
            [*command, *(["--quick"] if quick else [])], cwd=root, capture_output=True, text=True, timeout=limit
        )
    except subprocess.TimeoutExpired:
        return None
    if done.returncode:
        raise SystemExit(f"{job}: {done.stderr}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def list_rows(found: dict[Job, dict[str, Any] | None]) -> list[str]:
    """Rows of a Markdown table; ratios are to our fit of the same table and family."""
    lines = [
        "| table | model | library | fit, s | times ours | predict, s | peak, MB | accuracy |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for job, measured in found.items():
        if measured is None:
            lines.append(f"| {job.table} | {job.family} | {job.contender} | over {LIMIT} | | | | |")
            continue
        ours = found.get(Job(job.table, job.family))
        ratio = f"{measured['fit'] / ours['fit']:.2f}" if ours and job.contender != OURS else ""
        score = "" if measured["score"] is None else f"{measured['score']:.4f}"
        lines.append(
            f"| {job.table} | {job.family} | {job.contender} | {measured['fit']:.2f} | {ratio} "
            f"| {measured['predict']:.2f} | {measured['peak'] / 1e6:.0f} | {score} |"
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--job", nargs=3, metavar=("TABLE", "FAMILY", "LIBRARY"), help="run one fit in this process")
    parser.add_argument("--only", help="part of the name of a table or family")
    arguments = parser.parse_args()
    if arguments.job:
        run_child(Job(*arguments.job), arguments.quick)
        return
    load_before = measure_load()
    found: dict[Job, dict[str, Any] | None] = {}
    for job in JOBS:
        if arguments.only and arguments.only not in f"{job.table} {job.family}":
            continue
        found[job] = run_job(job, arguments.quick, LIMIT)
        print(job, found[job], flush=True)
    lines = ["# Wide sparse tables", "", "`python -m benchmarks.sparse`", "", *list_rows(found), ""]
    lines += [*str(__doc__).split("\n\n", 1)[1].strip().splitlines(), ""]
    lines += [f"{THREADS} threads; {show_machine()}; load before the run {load_before:.2f}.", ""]
    print("\n".join(lines))
    if not arguments.quick and not arguments.only:
        (RESULTS / "sparse.md").write_text("\n".join(lines))


if __name__ == "__main__":
    main()
