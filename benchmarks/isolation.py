"""Isolation forests, compared with scikit-learn: `python benchmarks/isolation.py`; --quick is a smoke test.

The score is the ROC AUC of the anomalies, the mean over several seeds. In the public data sets (COMMITTEE_DATA) the
most frequent class is normal, and rows of the rarest class, a twentieth as many, are the anomalies.
"""

from __future__ import annotations

import importlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, time_calls, time_fit
from benchmarks.report import OURS, Case, Claim, ratio
from benchmarks.suite import list_options, run_suite

SKLEARN = "scikit-learn"
SCATTERED = "scattered rows around a blob"
PUBLIC = ("covertype", "ionosphere", "letter", "magic_telescope", "mushroom", "pima_diabetes", "spambase", "zip_digits")
FIT, SCORE = f"{SCATTERED}: fit", f"{SCATTERED}: score_samples"
SHARE = 0.05


@dataclass(frozen=True)
class Sizes:
    """Sizes of the table that is made, seeds over which scores are averaged, and numbers of repetitions."""

    n_rows: int = 100_000
    n_seeds: int = 10
    repeats: int = 5
    rounds: int = 1


QUICK = Sizes(n_rows=2_000, n_seeds=2, repeats=1)


# --- child process -----------------------------------------------------------------------------------------------


def make_problem(contender: str, name: str, n_rows: int) -> tuple[Any, np.ndarray]:
    """A table, and which of its rows are anomalies; scikit-learn gets the codes of categories."""
    rng = np.random.default_rng(0)
    if name == SCATTERED:
        X, odd = rng.normal(size=(n_rows, 28)), rng.random(n_rows) < 0.02
        X[odd] = rng.normal(scale=1.5, size=(odd.sum(), 28))
        return X, odd
    import pandas as pd

    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    target = table.pop("target").astype(str)
    counts = target.value_counts()
    normal = np.flatnonzero(target == counts.index[0])
    rare = np.flatnonzero(target == counts.index[-1])
    rare = rng.permutation(rare)[: max(1, int(SHARE * len(normal)))]
    rows = rng.permutation(np.concatenate([normal, rare]))
    table, odd = table.iloc[rows].reset_index(drop=True), np.isin(rows, rare)
    if contender == OURS:
        return table, odd
    codes = {c: table[c].astype("category").cat.codes for c in table if not pd.api.types.is_numeric_dtype(table[c])}
    return table.assign(**codes).to_numpy(dtype=np.float64), odd


def make_forest(contender: str, seed: int, n_jobs: int) -> Any:
    module = {OURS: "committee", SKLEARN: "sklearn.ensemble"}[contender]
    return importlib.import_module(module).IsolationForest(random_state=seed, n_jobs=n_jobs)


def fit_forest(contender: str, name: str, n_rows: int, n_seeds: int, repeats: int, threads: int) -> Outcome:
    from sklearn.metrics import roc_auc_score

    X, odd = make_problem(contender, name, n_rows)
    make_forest(contender, 0, 1).fit(X[:300])
    _, outcome = time_fit(lambda: make_forest(contender, 0, threads).fit(X), repeats)
    scores = [-make_forest(contender, seed, threads).fit(X).score_samples(X) for seed in range(n_seeds)]
    return {**outcome, "score": float(np.mean([roc_auc_score(odd, score) for score in scores]))}


def score_rows(contender: str, name: str, n_rows: int, n_seeds: int, repeats: int, threads: int) -> Outcome:
    X, _ = make_problem(contender, name, n_rows)
    forest = make_forest(contender, 0, threads).fit(X)
    return time_calls(lambda: forest.score_samples(X), repeats)


# --- parent process ----------------------------------------------------------------------------------------------


def list_cases(sizes: Sizes) -> list[Case]:
    """Fits, each with its detection, and the scoring of all rows."""
    threads = min(2, len(list_cores()))
    folder = os.environ.get("COMMITTEE_DATA")
    public = [name for name in PUBLIC if folder and (Path(folder) / f"{name}.parquet").is_file()]

    def pair(title: str, function: str, name: str) -> Case:
        options = {"name": name, "n_rows": sizes.n_rows, "n_seeds": sizes.n_seeds, "repeats": sizes.repeats}
        return Case(
            title,
            {
                who: Job(f"benchmarks.isolation:{function}", {"contender": who, "threads": threads, **options}, threads)
                for who in (OURS, SKLEARN)
            },
        )

    return [
        pair(FIT, "fit_forest", SCATTERED),
        pair(SCORE, "score_rows", SCATTERED),
        *(pair(f"{name}: fit", "fit_forest", name) for name in public),
    ]


CLAIMS = [
    Claim("100 trees on 100,000 x 28, fit, times faster than scikit-learn", ratio(FIT, SKLEARN), 5),
    Claim("scores of 100,000 rows, times faster", ratio(SCORE, SKLEARN), 3),
]


def main(words: list[str] | None = None) -> None:
    arguments = list_options(__doc__).parse_args(words)
    sizes = QUICK if arguments.quick else Sizes()
    run_suite("isolation", arguments, list_cases(sizes), CLAIMS, sizes.rounds)


if __name__ == "__main__":
    main()
