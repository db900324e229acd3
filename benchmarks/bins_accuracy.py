"""Whether bins, or the way features and thresholds are drawn, cost forests accuracy.

Random forests and extra-trees with and without bins beside scikit-learn's, on the same rows with the same parameters.
A repetition draws a new table or a new split of a public data set, and every forest gets a new seed. The result is the
mean of the paired differences of the test scores and its 95 % interval. Scores: ROC AUC (two classes), accuracy
(several), R2 (regression). No time is compared here; `forests.py` does that. `bins_boosting.py` is about boosting.

    python benchmarks/bins_accuracy.py --seeds 24              # prints the table
    python benchmarks/bins_accuracy.py --only noisy --seeds 6  # some tables; prints only
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.ensemble
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import train_test_split

import committee

Split = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def draw_noisy(seed: int, n_train: int = 50_000) -> Split:
    """28 columns of several shapes; the classes overlap (best possible AUC about 0.8)."""
    rng = np.random.default_rng(seed)
    n = n_train + 20_000
    X = rng.normal(size=(n, 28))
    X[:, 7:14] = np.exp(X[:, 7:14])
    X[:, 14:18] = rng.gamma(1.0, size=(n, 4))
    X[:, 18:21] = rng.integers(0, 3, size=(n, 3))
    logit = (
        0.6 * X[:, 0] * X[:, 1] + 0.5 * np.abs(X[:, 2]) + 0.4 * np.log(X[:, 7]) - 0.3 * X[:, 14] + 0.4 * (X[:, 18] - 1)
    )
    y = (rng.random(n) < 1 / (1 + np.exp(-(logit - np.median(logit))))).astype(int)
    return X[:n_train], X[n_train:], y[:n_train], y[n_train:]


def draw_wide(seed: int) -> Split:
    """5,000 training rows of 2,000 columns, 30 of them informative."""
    X, y = make_classification(
        10_000, 2_000, n_informative=30, n_redundant=30, flip_y=0.1, class_sep=0.8, random_state=seed
    )
    return X[:5_000], X[5_000:], y[:5_000], y[5_000:]


def draw_wide_groups(seed: int) -> Split:
    """2,000 training rows of 1,000 columns; ten classes."""
    X, y = make_classification(
        6_000, 1_000, n_informative=40, n_redundant=100, n_classes=10, n_clusters_per_class=1, random_state=seed
    )
    return X[:2_000], X[2_000:], y[:2_000], y[2_000:]


def draw_heavy_tails(seed: int) -> Split:
    """20,000 rows of 10 columns with Cauchy values: an equal-width view of the range is useless."""
    rng = np.random.default_rng(seed)
    X = rng.standard_cauchy(size=(40_000, 10))
    logit = np.arctan(X[:, 0]) * np.arctan(X[:, 1]) + np.arctan(X[:, 2])
    y = (rng.random(40_000) < 1 / (1 + np.exp(-2 * logit))).astype(int)
    return X[:20_000], X[20_000:], y[:20_000], y[20_000:]


def draw_friedman(seed: int) -> Split:
    """Friedman's first function with 20 columns and noise."""
    rng = np.random.default_rng(seed)
    X = rng.random((30_000, 20))
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    y = y + rng.normal(scale=3.0, size=30_000)
    return X[:10_000], X[10_000:], y[:10_000], y[10_000:]


def draw_public(name: str, limit: int = 20_000) -> Callable[[int], Split]:
    """A new split in halves of a public data set (numeric columns only), from COMMITTEE_DATA."""

    def draw(seed: int) -> Split:
        table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
        target = table.pop("target")
        y = target.to_numpy(dtype=float) if pd.api.types.is_float_dtype(target) else pd.factorize(target)[0]
        X = table.select_dtypes("number").to_numpy(dtype=float)
        rows = np.random.default_rng(seed).permutation(len(y))[:limit]
        return tuple(train_test_split(X[rows], y[rows], test_size=0.5, random_state=seed))

    return draw


TABLES: dict[str, Callable[[int], Split]] = {
    "noisy 50,000 x 28": draw_noisy,
    "noisy 5,000 x 28": lambda seed: draw_noisy(seed, 5_000),
    "wide 5,000 x 2,000": draw_wide,
    "wide, 10 classes 2,000 x 1,000": draw_wide_groups,
    "Cauchy 20,000 x 10": draw_heavy_tails,
    "Friedman 10,000 x 20": draw_friedman,
    "higgs 3,750 x 28": draw_public("higgs_7500"),
    "magic 9,510 x 10": draw_public("magic_telescope"),
    "spambase 2,300 x 57": draw_public("spambase"),
    "zip digits 4,649 x 256": draw_public("zip_digits"),
    "california 10,000 x 8": draw_public("california_housing"),
}


@dataclass(frozen=True)
class Variant:
    """One of the forests that are compared."""

    library: str
    exact: bool = False

    def make(self, kind: str, classes: bool, seed: int, n_jobs: int) -> BaseEstimator:
        """An unfitted forest of 100 trees; the number of features per node is the same for all."""
        name = f"{kind}{'Classifier' if classes else 'Regressor'}"
        params = {
            "n_estimators": 100,
            "max_features": "sqrt" if classes else 1.0,
            "random_state": seed,
            "n_jobs": n_jobs,
            "bootstrap": kind == "RandomForest",
        }
        if self.library == "scikit-learn":
            return getattr(sklearn.ensemble, name)(**params)
        return getattr(committee, name)(exact=self.exact, **params)


REFERENCE = Variant("scikit-learn")
VARIANTS = {"bins": Variant("committee"), "exact": Variant("committee", exact=True)}


def score(model: BaseEstimator, X: np.ndarray, y: np.ndarray, classes: bool) -> float:
    """ROC AUC, accuracy or R2 on test rows."""
    if not classes:
        return float(r2_score(y, model.predict(X)))
    if len(np.unique(y)) == 2:
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))
    return float(accuracy_score(y, model.predict(X)))


def measure(draw: Callable[[int], Split], kind: str, seeds: int, n_jobs: int) -> dict[str, np.ndarray]:
    """Test scores by variant, one per repetition."""
    scores: dict[str, list[float]] = {"scikit-learn": [], **{name: [] for name in VARIANTS}}
    for seed in range(seeds):
        X, X_test, y, y_test = draw(seed)
        classes = y.dtype.kind == "i"
        for name, variant in [("scikit-learn", REFERENCE), *VARIANTS.items()]:
            model = variant.make(kind, classes, 1_000 + seed, n_jobs).fit(X, y)
            scores[name].append(score(model, X_test, y_test, classes))
    return {name: np.array(values) for name, values in scores.items()}


def describe_difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Mean paired difference, its 95 % interval, and a star where the interval excludes zero."""
    difference = ours - theirs
    half = stats.t.ppf(0.975, len(difference) - 1) * stats.sem(difference)
    mark = " *" if abs(difference.mean()) > half else ""
    return f"{difference.mean():+.4f} ± {half:.4f}{mark}"


def list_lines(words: argparse.Namespace) -> Iterator[str]:
    """The rows of the Markdown table, as they are measured."""
    yield "| table | forest | scikit-learn | bins − scikit-learn | exact − scikit-learn | bins − exact |"
    yield "|---|---|---|---|---|---|"
    for table, draw in TABLES.items():
        if words.only not in table:
            continue
        for kind in ["RandomForest", "ExtraTrees"]:
            began = time.perf_counter()
            scores = measure(draw, kind, words.seeds, words.jobs)
            yield (
                f"| {table} | {kind} | {scores['scikit-learn'].mean():.4f} | "
                f"{describe_difference(scores['bins'], scores['scikit-learn'])} | "
                f"{describe_difference(scores['exact'], scores['scikit-learn'])} | "
                f"{describe_difference(scores['bins'], scores['exact'])} |"
            )
            if words.verbose:
                print(f"({time.perf_counter() - began:.0f} s)", flush=True)


def main(argv: list[str] | None = None) -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=24)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    words = parser.parse_args(argv)
    for line in list_lines(words):
        print(line, flush=True)


if __name__ == "__main__":
    main()
