"""What bins cost boosting: equal weight, narrow ends as in the core, slower and faster growth, LightGBM's bins.

Numeric columns are replaced by the numbers of their bins before the fit, and a column of at most 255 numbers has a bin
for each; so every rule is compared with the same rows, rounds and parameters. The mean of the paired differences of
the test scores over new splits, and its standard error. Needs COMMITTEE_DATA.

    python benchmarks/bins_boosting.py                          # prints the tables of all data sets
    python benchmarks/bins_boosting.py --only adult --seeds 10  # some of them
    python benchmarks/bins_boosting.py --housing                # the hundred splits of boosting.py, beside LightGBM
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

if not __package__:
    # Run as a script, Python searches the folder of this file for modules, not its parent.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss
from sklearn.model_selection import ShuffleSplit, train_test_split

import committee
from benchmarks.bin_rules import RULES, code_columns
from benchmarks.boosting_jobs import make_model, read_table

EQUAL, CORE, LIGHTS = "equal weight", "narrow ends, 1/8", "LightGBM's bins"
COMPARED = (CORE, "narrow ends, 1/2", LIGHTS)
OF_VALUES = ("california_housing", "diamonds", "abalone", "ames_housing", "wine_quality")
OF_CLASSES = (
    "higgs_7500",
    "magic_telescope",
    "spambase",
    "adult",
    "bank_marketing",
    "airlines_2k",
    "covertype",
)
MOST_ROWS = 20_640
SETTINGS = {"100 rounds of 31 leaves": (100, 31), "400 rounds of 6 leaves": (400, 6)}
HOUSING_ROUNDS, HOUSING_LEAVES = 800, 6
SOME_COLUMNS = {"income, age": [0, 1], "rooms, bedrooms, people": [2, 3, 4, 5], "latitude, longitude": [6, 7]}
"""Of California housing; those of rooms and people have long tails."""


def show_difference(ours: np.ndarray, theirs: np.ndarray) -> str:
    """Mean paired difference, its standard error, and a star where it is more than two of them."""
    difference = ours - theirs
    error = difference.std(ddof=1) / np.sqrt(len(difference))
    return f"{difference.mean():+.5f} ± {error:.5f}{' *' if abs(difference.mean()) > 2 * error else ''}"


def draw_split(name: str, seed: int) -> tuple[pd.DataFrame, pd.DataFrame, np.ndarray, np.ndarray]:
    """At most 20,640 rows of a public data set, 20 % of them for testing."""
    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    target = table.pop("target")
    y = target.to_numpy(dtype=float) if name in OF_VALUES else pd.factorize(target, sort=True)[0]
    rows = np.random.default_rng(seed).permutation(len(y))[:MOST_ROWS]
    return tuple(train_test_split(table.iloc[rows], y[rows], test_size=0.2, random_state=seed))


def code_frames(X: pd.DataFrame, X_test: pd.DataFrame, rule: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both tables with bins instead of numbers; categories stay."""
    numbers = X.select_dtypes("number").columns
    both = [table[numbers].to_numpy(dtype=float) for table in (X, X_test)]
    coded = code_columns(*both, RULES[rule])
    return tuple(
        table.drop(columns=numbers).join(pd.DataFrame(codes, table.index, numbers))[list(table.columns)]
        for table, codes in zip((X, X_test), coded, strict=True)
    )


def score_rules(name: str, seed: int) -> dict[tuple[str, str], float]:
    """R2 or minus the log-loss by setting and rule."""
    X, X_test, y, y_test = draw_split(name, seed)
    kind = committee.HistGradientBoostingRegressor if name in OF_VALUES else committee.HistGradientBoostingClassifier
    scores = {}
    for rule in (EQUAL, *COMPARED):
        coded, coded_test = code_frames(X, X_test, rule)
        for setting, (rounds, leaves) in SETTINGS.items():
            params = {"max_iter": rounds, "max_leaf_nodes": leaves, "early_stopping": False}
            model = kind(**params, random_state=seed, n_jobs=1).fit(coded, y)
            scores[setting, rule] = (
                model.score(coded_test, y_test)
                if name in OF_VALUES
                else -log_loss(y_test, model.predict_proba(coded_test), labels=model.classes_)
            )
    return scores


def list_tables(only: str, seeds: int) -> Iterator[str]:
    """The rows of a Markdown table."""
    yield f"| table | boosting | {EQUAL} | {' | '.join(COMPARED)} |"
    yield "|---|---|---|" + "---|" * len(COMPARED)
    for name in (*OF_VALUES, *OF_CLASSES):
        if only in name:
            found = [score_rules(name, seed) for seed in range(seeds)]
            for setting in SETTINGS:
                scores = {rule: np.array([one[setting, rule] for one in found]) for rule in (EQUAL, *COMPARED)}
                cells = [show_difference(scores[rule], scores[EQUAL]) for rule in COMPARED]
                yield f"| {name} | {setting} | {scores[EQUAL].mean():.4f} | {' | '.join(cells)} |"


def make_housing_model(who: str) -> Any:
    """Ours, or LightGBM so that a number of a bin is a bin."""
    model = make_model(who, "values", HOUSING_ROUNDS, HOUSING_LEAVES, 1)
    return model.set_params(min_data_in_bin=1, max_bin=256) if who == "LightGBM" else model


def list_housing(splits: int) -> Iterator[str]:
    """R2 of both libraries on the same bins, on the splits of boosting.py."""
    X, y = read_table("california_housing")
    scores: dict[tuple[str, str], list[float]] = {}
    for train, test in ShuffleSplit(splits, test_size=0.2, random_state=0).split(X):
        tables = {rule: code_columns(X[train], X[test], function) for rule, function in RULES.items()}
        for where, columns in SOME_COLUMNS.items():
            mixed = [table.copy() for table in tables[EQUAL]]
            for table, narrow in zip(mixed, tables[CORE], strict=True):
                table[:, columns] = narrow[:, columns]
            tables[f"{CORE}, of {where} only"] = tuple(mixed)
        for rule, (coded, coded_test) in tables.items():
            # LightGBM takes four times as long: its fits are for the rules that the two libraries use.
            for who in ("committee", "LightGBM") if rule in (EQUAL, CORE, LIGHTS) else ("committee",):
                model = make_housing_model(who).fit(coded, y[train])
                scores.setdefault((rule, who), []).append(model.score(coded_test, y[test]))
    found = {key: np.array(values) for key, values in scores.items()}
    yield "| bins | committee | less equal weight | LightGBM on the same bins | committee less LightGBM |"
    yield "|---|---|---|---|---|"
    for rule in dict.fromkeys(rule for rule, _ in found):
        ours, theirs = found[rule, "committee"], found.get((rule, "LightGBM"))
        less = show_difference(ours, found[EQUAL, "committee"]) if rule != EQUAL else ""
        beside = "| |" if theirs is None else f"{theirs.mean():.5f} | {show_difference(ours, theirs)} |"
        yield f"| {rule} | {ours.mean():.5f} | {less} | {beside}"
    less = show_difference(found[CORE, "committee"], found[LIGHTS, "LightGBM"])
    yield f"\nEach library on its own bins: committee less LightGBM {less}."


def main(words: list[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=40, help="splits of every data set")
    parser.add_argument("--only", default="", metavar="WORD", help="data sets whose name contains WORD")
    parser.add_argument("--housing", action="store_true", help="California housing, both libraries on the same bins")
    parser.add_argument("--splits", type=int, default=100, help="splits with --housing")
    options = parser.parse_args(words)
    lines = list_housing(options.splits) if options.housing else list_tables(options.only, options.seeds)
    for line in lines:
        print(line, flush=True)


if __name__ == "__main__":
    main()
