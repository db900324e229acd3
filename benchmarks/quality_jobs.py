"""The job of a child process of the quality benchmark: fit and evaluate one model on one split of one data set.

All models get the same splits of at most 8,000 rows; three quarters are training data. Categorical columns are passed
as categories to libraries that support them, and as codes to the others. With ``develop`` only rows that are in no test
set of the benchmark are used, so that settings can be chosen without using the test sets. AutoGluon is not among the
models that are run by default (see `quality_autogluon.py`).
"""

from __future__ import annotations

import ast
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import quality_autogluon
from benchmarks.measure import Outcome

OURS = "committee"
BOOSTING = "boosting"
PEERS = ("CatBoost", "LightGBM", "XGBoost", "sklearn forest", "sklearn boosting")
PRESETS = (f"{OURS} preset=fast", f"{OURS} preset=best")
CONTENDERS = (OURS, BOOSTING, *PEERS)
#: The models that are ranked together: the AutoML estimator with a preset, or gradient boosting, with other libraries.
CONTESTS = ((OURS, *PEERS), (BOOSTING, *PEERS), *((preset, *PEERS) for preset in PRESETS), (OURS, *PRESETS, *PEERS))
#: Data sets with numeric and categorical columns, by task.
CLASS_SETS = (
    "adult", "airlines_2k", "bank_marketing", "covertype", "dna", "german_credit", "heart_cleveland", "higgs_7500",
    "ionosphere", "letter", "magic_telescope", "mnist", "mushroom", "pima_diabetes", "sa_heart", "sonar", "spambase",
    "titanic", "titanic_kaggle", "vowel", "zip_digits",
)  # fmt: skip
VALUE_SETS = ("abalone", "ames_housing", "boston", "california_housing", "diamonds", "wine_quality")
#: Columns that leak the target or are free text.
LEFT_OUT = {
    "titanic": ["boat", "body", "name", "ticket", "home_dest", "home.dest"],
    "titanic_kaggle": ["Name", "Ticket"],
    "bank_marketing": ["duration"],
}
SPLITS = (0, 1, 2)
MOST_ROWS = 8000
#: Minimum number of rows of a class, so that it occurs in training and test set and in the folds of a cross-validation.
LEAST_ROWS = 8


def read_split(name: str, split: int, most_rows: int, develop: bool = False) -> tuple[Any, Any, Any, Any]:
    """Training and test table, training and test target.

    Parameters
    ----------
    name : str
        Name of the data set.
    split : int
        Index of the split.
    most_rows : int
        Maximum number of rows; larger data sets are sampled.
    develop : bool, default=False
        Split only the rows that are in no test set of the benchmark.
    """
    import pandas as pd

    table = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    y = table.pop("target")
    y = pd.Series(pd.factorize(y, sort=True)[0]) if name in CLASS_SETS else y.astype(np.float64)
    if develop:
        tested = np.concatenate([_divide(y, name, one, most_rows)[1] for one in SPLITS])
        kept = np.setdiff1d(np.arange(len(y)), tested)
        table, y = table.iloc[kept].reset_index(drop=True), y.iloc[kept].reset_index(drop=True)
    train, test = _divide(y, name, split, most_rows)
    table = table.drop(columns=[c for c in LEFT_OUT.get(name, []) if c in table]).iloc[np.concatenate([train, test])]
    for column in table.columns:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category").cat.remove_unused_categories()
    goal = y.iloc[np.concatenate([train, test])]
    if name in CLASS_SETS:
        goal = pd.Series(pd.factorize(goal, sort=True)[0])
    goal, n_train = goal.to_numpy(), len(train)
    table = table.reset_index(drop=True)
    return table.iloc[:n_train], table.iloc[n_train:], goal[:n_train], goal[n_train:]


def _divide(y: Any, name: str, split: int, most_rows: int) -> tuple[Any, Any]:
    """Indices of the training and test rows."""
    from sklearn.model_selection import train_test_split

    if len(y) > most_rows:
        y = y.sample(most_rows, random_state=split)
    classify = name in CLASS_SETS
    if classify:
        y = y[y.map(y.value_counts()) >= LEAST_ROWS]
    rows = y.index.to_numpy()
    train, test = train_test_split(rows, random_state=split, stratify=y if classify else None)
    return train, test


def encode(contender: str, table: Any) -> Any:
    """The table in the form that a library accepts: with categories, strings or codes."""
    import pandas as pd

    table = table.copy()
    for column in table.columns:
        if not isinstance(table[column].dtype, pd.CategoricalDtype):
            continue
        if contender == "CatBoost":
            table[column] = table[column].astype(object).where(table[column].notna(), "missing").astype(str)
        # scikit-learn's boosting supports at most as many categories as it has bins.
        many = contender == "sklearn boosting" and table[column].cat.categories.size > 255
        if contender == "sklearn forest" or many:
            table[column] = table[column].cat.codes
    return table


def read_words(words: list[str]) -> dict[str, Any]:
    """Parameters from words such as ``n_members=2``: numbers and None, other values are strings.

    Examples
    --------
    >>> read_words(["preset=best", "time_budget=120", "subsample=0.5", "max_features=None"])
    {'preset': 'best', 'time_budget': 120, 'subsample': 0.5, 'max_features': None}
    """

    def read(value: str) -> Any:
        try:
            return ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return value

    return {name: read(value) for name, value in (word.split("=") for word in words)}


def make_model(contender: str, classify: bool, table: Any, threads: int) -> Any:
    """A model with its defaults; this library's and AutoGluon take parameters, as in ``committee n_members=2``."""
    kind = "Classifier" if classify else "Regressor"
    first, *words = contender.split()
    if first == quality_autogluon.NAME:
        return quality_autogluon.AutoGluonModel(classify, threads, read_words(words))
    if first in (OURS, BOOSTING):
        import committee

        params = read_words(words)
        family = {OURS: "Committee", BOOSTING: "GradientBoosting"}[first]
        return getattr(committee, family + kind)(random_state=0, n_jobs=threads, **params)
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


def evaluate(contender: str, name: str, split: int, most_rows: int, threads: int, develop: bool) -> Outcome:
    """Losses of one model on one split of one data set, and the time of fit and prediction in seconds."""
    from sklearn.metrics import log_loss

    classify = name in CLASS_SETS
    X, X_test, y, y_test = read_split(name, split, most_rows, develop)
    X, X_test = encode(contender, X), encode(contender, X_test)
    model = make_model(contender, classify, X, threads)
    begun = time.perf_counter()
    model.fit(X, y)
    predicted: Any = model.predict_proba(X_test) if classify else np.asarray(model.predict(X_test)).ravel()
    seconds = time.perf_counter() - begun
    if hasattr(model, "close"):
        model.close()
    if classify:
        loss = float(log_loss(y_test, predicted, labels=np.arange(predicted.shape[1])))
        errors = float((predicted.argmax(axis=1) != y_test).mean())
    else:
        loss = errors = float(np.sqrt(((predicted - y_test) ** 2).mean()))
    found: Outcome = {"seconds": seconds, "loss": loss, "errors": errors}
    if hasattr(model, "leaderboard_"):
        found["board"] = model.leaderboard_
    if hasattr(model, "score_estimate_"):
        found["estimate"] = [model.score_estimate_, model.score_error_]
    return found
