"""Defaults against defaults on public data: `python benchmarks/quality.py`, with --sets and --splits for a part of it.

Every contender gets the same three splits of at most 8,000 rows (three quarters to learn from), with the same threads,
in a child process. Categories reach those that know them as categories, and the others by their codes. Classes are
judged by log-loss and by errors, values by the root of the squared error; ranks are over contenders within a set, by
the mean over splits, and losses are reported like wins.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path
from typing import Any

if not __package__:
    # Called as a script, Python looks for modules beside this file rather than beside its folder.
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np

from benchmarks.machine import list_cores
from benchmarks.measure import Job, Outcome, run_in_turns

OURS = "committee"
CONTENDERS = (OURS, "CatBoost", "LightGBM", "XGBoost", "sklearn forest", "sklearn boosting")
#: Sets of the folder with numbers and categories in columns, by what is predicted; columns that give the answer away.
CLASS_SETS = (
    "adult", "airlines_2k", "bank_marketing", "covertype", "dna", "german_credit", "heart_cleveland", "higgs_7500",
    "ionosphere", "letter", "magic_telescope", "mushroom", "pima_diabetes", "sa_heart", "sonar", "spambase", "titanic",
    "vowel", "zip_digits",
)  # fmt: skip
VALUE_SETS = ("abalone", "ames_housing", "boston", "california_housing", "diamonds", "wine_quality")
TELLTALE = {"titanic": ["boat", "body", "name", "ticket", "home_dest", "home.dest"], "bank_marketing": ["duration"]}
MOST_ROWS = 8000


# --- in the child ------------------------------------------------------------------------------------------------


def read_split(name: str, split: int, most_rows: int) -> tuple[Any, Any, Any, Any]:
    """Table and target to learn from and to be scored on."""
    import pandas as pd
    from sklearn.model_selection import train_test_split

    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    if len(table) > most_rows:
        table = table.sample(most_rows, random_state=split)
    classify = name in CLASS_SETS
    y = table.pop("target")
    y = pd.factorize(y, sort=True)[0] if classify else y.to_numpy(dtype=np.float64)
    if classify:
        # A class of a single row cannot be on both sides.
        common = np.bincount(y)[y] >= 8
        table, y = table[common], pd.factorize(y[common], sort=True)[0]
    table = table.drop(columns=[c for c in TELLTALE.get(name, []) if c in table]).reset_index(drop=True)
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category").cat.remove_unused_categories()
    return train_test_split(table, y, random_state=split, stratify=y if classify else None)  # type: ignore[return-value]


def encode(contender: str, table: Any) -> Any:
    """The table as a contender takes it: categories, texts instead of them, or codes."""
    import pandas as pd

    table = table.copy()
    for column in table.columns:
        if not isinstance(table[column].dtype, pd.CategoricalDtype):
            continue
        if contender == "CatBoost":
            table[column] = table[column].astype(object).where(table[column].notna(), "missing").astype(str)
        # Of categories scikit-learn's boosting takes as many as it has bins.
        many = contender == "sklearn boosting" and table[column].cat.categories.size > 255
        if contender == "sklearn forest" or many:
            table[column] = table[column].cat.codes
    return table


def make_model(contender: str, classify: bool, table: Any, threads: int) -> Any:
    kind = "Classifier" if classify else "Regressor"
    if contender == OURS:
        import committee

        return getattr(committee, f"Committee{kind}")(random_state=0, n_jobs=threads)
    if contender == "CatBoost":
        import catboost

        texts = [c for c in table.columns if table[c].dtype == object or str(table[c].dtype).startswith("str")]
        options = {"cat_features": texts, "thread_count": threads, "random_seed": 0, "allow_writing_files": False}
        return getattr(catboost, f"CatBoost{kind}")(verbose=0, **options)
    if contender == "LightGBM":
        import lightgbm

        return getattr(lightgbm, f"LGBM{kind}")(n_jobs=threads, random_state=0, verbose=-1)
    if contender == "XGBoost":
        import xgboost

        return getattr(xgboost, f"XGB{kind}")(n_jobs=threads, random_state=0, enable_categorical=True)
    from sklearn import ensemble

    if contender == "sklearn forest":
        return getattr(ensemble, f"RandomForest{kind}")(n_jobs=threads, random_state=0)
    return getattr(ensemble, f"HistGradientBoosting{kind}")(random_state=0, categorical_features="from_dtype")


def judge(contender: str, name: str, splits: int, most_rows: int, threads: int) -> Outcome:
    """Losses of one contender on each split of one set, and the seconds of fitting and predicting."""
    from sklearn.metrics import log_loss

    classify, found = name in CLASS_SETS, []
    seconds = 0.0
    for split in range(splits):
        X, X_test, y, y_test = read_split(name, split, most_rows)
        X, X_test = encode(contender, X), encode(contender, X_test)
        model = make_model(contender, classify, X, threads)
        begun = time.perf_counter()
        model.fit(X, y)
        said = model.predict_proba(X_test) if classify else np.asarray(model.predict(X_test)).ravel()
        seconds += time.perf_counter() - begun
        if classify:
            labels = np.arange(said.shape[1])
            found.append([log_loss(y_test, said, labels=labels), float((said.argmax(axis=1) != y_test).mean())])
        else:
            found.append([float(np.sqrt(((said - y_test) ** 2).mean()))] * 2)
    loss, errors = np.mean(found, axis=0)
    return {"seconds": [seconds], "loss": float(loss), "errors": float(errors)}


# --- in the parent -----------------------------------------------------------------------------------------------


def rank(values: list[float]) -> list[float]:
    """Ranks from one for the least; equals share theirs.

    Examples
    --------
    >>> rank([0.2, 0.1, 0.2])
    [2.5, 1.0, 2.5]
    """
    from scipy.stats import rankdata

    return [float(r) for r in rankdata(values)]


def render(outcomes: dict[str, dict[str, Outcome]]) -> str:
    """Losses of every set, mean ranks and total seconds."""
    lines = ["| set | " + " | ".join(CONTENDERS) + " |", "|---" * (len(CONTENDERS) + 1) + "|"]
    ranks: dict[str, list[list[float]]] = {"loss": [], "errors": []}
    for name, found in outcomes.items():
        told = [f"{found[c]['loss']:.4g} / {found[c]['errors']:.4g}" for c in CONTENDERS]
        lines.append(f"| {name} | " + " | ".join(told) + " |")
        for measure, listed in ranks.items():
            listed.append(rank([found[c][measure] for c in CONTENDERS]))
    for measure, listed in ranks.items():
        means = np.mean(listed, axis=0)
        lines.append(f"| **mean rank by {measure}** | " + " | ".join(f"{mean:.2f}" for mean in means) + " |")
    totals = [sum(found[c]["best"] for found in outcomes.values()) for c in CONTENDERS]
    lines.append("| **seconds** | " + " | ".join(f"{total:.1f}" for total in totals) + " |")
    return "\n".join(lines)


def main(words: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", default=[*CLASS_SETS, *VALUE_SETS], help="names of data sets")
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--rows", type=int, default=MOST_ROWS, help="the most rows of a set")
    arguments = parser.parse_args(words)
    if "COMMITTEE_DATA" not in os.environ:
        raise SystemExit("COMMITTEE_DATA must name the folder of the data sets")
    threads = min(2, len(list_cores()))
    jobs = []
    for name in arguments.sets:
        options = {"name": name, "splits": arguments.splits, "most_rows": arguments.rows, "threads": threads}
        jobs += [Job("benchmarks.quality:judge", {"contender": c, **options}, threads) for c in CONTENDERS]
    found = iter(run_in_turns(jobs, 1, False))
    outcomes = {name: {c: next(found) for c in CONTENDERS} for name in arguments.sets}
    print(render(outcomes))


if __name__ == "__main__":
    main()
