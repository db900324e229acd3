"""How the defaults of GradientBoosting* were chosen: `python benchmarks/boosting_defaults.py`.

The training set is 70 % of the rows of every public data set (in the folder COMMITTEE_DATA), at most 8,000; the other
rows are not used here. Candidates and the defaults of other libraries are evaluated by 3-fold cross-validation on the
training set. Each data set has two metrics: log-loss and accuracy for classification, squared and absolute error for
regression. The rank of a model is its mean rank over data sets and metrics.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import accuracy_score, log_loss, mean_absolute_error, mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

MOST_ROWS, MOST_CELLS = 8_000, 400_000
LEFT_OUT = {"titanic": ["boat", "body", "name", "ticket"], "titanic_kaggle": ["Name", "Ticket"]}
REGRESSION = ("abalone", "boston", "california_housing", "wine_quality", "ames_housing", "diamonds")
CLASSES = (
    *("adult", "bank_marketing", "german_credit", "heart_cleveland", "higgs_7500", "ionosphere", "magic_telescope"),
    *("pima_diabetes", "sa_heart", "sonar", "spambase", "titanic", "vowel", "dna", "letter", "zip_digits"),
)

#: The candidates, as changes of the defaults.
CANDIDATES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "all features and rows": {"max_features": None, "subsample": 1.0},
    "all rows": {"subsample": 1.0},
    "all features": {"max_features": None},
    "half of the features": {"max_features": 0.5},
    "0.3 of the features": {"max_features": 0.3},
    "15 leaves": {"max_leaf_nodes": 15},
    "depth 6": {"max_depth": 6},
    "leaves of 20 rows": {"min_samples_leaf": 20},
    "symmetric trees": {"growth": "symmetric", "subsample": 1.0, "max_features": None, "reg_lambda": 3.0},
    "rate 0.05": {"learning_rate": 0.05},
    "five folds": {"stopping_folds": 5},
    "one part held out": {"stopping_folds": None},
    "stop after 10": {"n_iter_no_change": 10},
}


def load_training_set(name: str) -> tuple[pd.DataFrame, Any]:
    """The training set."""
    frame = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet")
    y = frame.pop("target")
    frame = frame.drop(columns=LEFT_OUT.get(name, []))
    for column in frame.select_dtypes(["object", "string"]).columns:
        frame[column] = frame[column].astype("category")
    labels = y.to_numpy(np.float64) if name in REGRESSION else y.astype(str).astype("category").cat.codes.to_numpy()
    stratify = None if name in REGRESSION else labels
    X, _, labels, _ = train_test_split(frame, labels, test_size=0.3, random_state=0, stratify=stratify)
    n_rows = min(MOST_ROWS, MOST_CELLS // X.shape[1])
    return X.iloc[:n_rows].reset_index(drop=True), labels[:n_rows]


def list_contenders(classes: bool, wanted: list[str]) -> dict[str, Any]:
    """Model factories by name."""
    import committee

    kind = "Classifier" if classes else "Regressor"
    ours = getattr(committee, f"GradientBoosting{kind}")
    made = {name: (lambda own=own: ours(random_state=0, n_jobs=1, **own)) for name, own in CANDIDATES.items()}
    made["HistGradientBoosting"] = lambda: getattr(committee, f"HistGradientBoosting{kind}")(random_state=0, n_jobs=1)
    made["LightGBM"] = lambda: _make_peer("lightgbm", f"LGBM{kind}", n_jobs=1, random_state=0, verbose=-1)
    made["XGBoost"] = lambda: _make_peer("xgboost", f"XGB{kind}", n_jobs=1, random_state=0, enable_categorical=True)
    made["CatBoost"] = lambda: CatBoostPeer(classes)
    made["scikit-learn"] = lambda: _make_peer("sklearn.ensemble", f"HistGradientBoosting{kind}", random_state=0)
    return {name: make for name, make in made.items() if not wanted or name in wanted}


class CatBoostPeer:
    """CatBoost with its defaults; it needs the list of categorical columns, without missing values."""

    def __init__(self, classes: bool) -> None:
        name = "CatBoostClassifier" if classes else "CatBoostRegressor"
        self.model = _make_peer("catboost", name, random_seed=0, thread_count=1, verbose=False)
        self.model.set_params(allow_writing_files=False)

    def fit(self, X: Any, y: Any) -> CatBoostPeer:
        """Train."""
        named = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
        self.model.fit(self._fill(X), y, cat_features=named)
        self.classes_ = getattr(self.model, "classes_", None)
        return self

    def predict(self, X: Any) -> Any:
        """Values."""
        return self.model.predict(self._fill(X))

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class."""
        return self.model.predict_proba(self._fill(X))

    @staticmethod
    def _fill(X: Any) -> Any:
        named = [c for c in X.columns if isinstance(X[c].dtype, pd.CategoricalDtype)]
        return X.assign(**{c: X[c].astype(object).where(X[c].notna(), "missing").astype(str) for c in named})


def _make_peer(module: str, name: str, **params: Any) -> Any:
    return getattr(__import__(module, fromlist=[name]), name)(**params)


def evaluate(name: str, make: Any) -> tuple[float, float, float]:
    """Two errors and the fit time in seconds, as means over three folds."""
    X, y = load_training_set(name)
    folds = (
        KFold(3, shuffle=True, random_state=1)
        if name in REGRESSION
        else StratifiedKFold(3, shuffle=True, random_state=1)
    )
    found = []
    for train, test in folds.split(X, y):
        model = make()
        began = time.perf_counter()
        model.fit(X.iloc[train], y[train])
        seconds = time.perf_counter() - began
        if name in REGRESSION:
            predicted = model.predict(X.iloc[test])
            errors = mean_squared_error(y[test], predicted) ** 0.5, mean_absolute_error(y[test], predicted)
        else:
            probabilities = model.predict_proba(X.iloc[test])
            errors = (
                log_loss(y[test], probabilities, labels=model.classes_),
                1.0 - accuracy_score(y[test], probabilities.argmax(axis=1)),
            )
        found.append((*errors, seconds))
    return tuple(np.mean(found, axis=0))  # type: ignore[return-value]


def main() -> None:
    """Evaluate all models and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="*", default=[*REGRESSION, *CLASSES])
    parser.add_argument("--only", nargs="*", default=[], help="names of models; default: all")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    rows = []
    for name in arguments.sets:
        for who, make in list_contenders(name not in REGRESSION, arguments.only).items():
            first, second, seconds = evaluate(name, make)
            rows.append({"set": name, "who": who, "first": first, "second": second, "seconds": seconds})
            print(f"{name:20} {who:28} {first:10.4f} {second:10.4f} {seconds:7.2f} s", flush=True)
    table = pd.DataFrame(rows)
    ranks = (table.groupby("set")["first"].rank() + table.groupby("set")["second"].rank()) / 2
    relative = np.log(table["first"] / table.groupby("set")["first"].transform("min"))
    summary = table.assign(rank=ranks, behind=relative).groupby("who")[["rank", "behind", "seconds"]].mean()
    print(summary.sort_values("rank").to_string(float_format="%.3f"))


if __name__ == "__main__":
    main()
