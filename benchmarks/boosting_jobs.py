"""Jobs that the child processes of the boosting suite run."""

from __future__ import annotations

import importlib
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import data
from benchmarks.forest_jobs import make_problem
from benchmarks.measure import Outcome, time_calls, time_fit
from committee.cli.bench.contenders import make_boosting

LIGHT = "LightGBM"
WARM_UP_ROWS = 200


class Compiled:
    """A LightGBM model compiled by lleaves. The compilation is not timed."""

    def __init__(self, task: str, rounds: int, leaves: int, threads: int) -> None:
        self.model, self.threads = make_model(LIGHT, task, rounds, leaves, threads), threads

    def fit(self, X: Any, y: Any) -> Compiled:
        """Train and compile."""
        import lleaves

        self.model.fit(X, y)
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder) / "model.txt")
            self.model.booster_.save_model(path)
            self.compiled = lleaves.Model(path)
            self.compiled.compile()
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probability of each of two classes."""
        found = self.compiled.predict(X, n_jobs=self.threads)
        return np.column_stack([1.0 - found, found])


class Hessboost:
    """hessboost with fit and predict methods."""

    def __init__(self, task: str, rounds: int, leaves: int, threads: int) -> None:
        objectives = {"binary": "binary:logistic", "classes": "multi:softprob", "values": "reg:squarederror"}
        self.task, self.rounds = task, rounds
        self.params: dict[str, Any] = {"objective": objectives[task], "max_leaves": leaves, "max_depth": 0}
        self.params |= {"grow_policy": "lossguide", "tree_method": "hist", "max_bin": 255, "nthread": threads}
        self.params |= {"learning_rate": 0.1, "reg_lambda": 0.0}

    def fit(self, X: Any, y: Any) -> Hessboost:
        """Build the DMatrix and train."""
        import hessboost

        if self.task == "classes":
            self.params["num_class"] = int(np.max(y)) + 1
        self.booster = hessboost.train(self.params, hessboost.DMatrix(X, y), self.rounds, verbose_eval=False)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Probability of each class, or values."""
        import hessboost

        found = self.booster.predict(hessboost.DMatrix(X))
        return np.column_stack([1.0 - found, found]) if self.task == "binary" else found

    def predict(self, X: Any) -> Any:
        """Class or value of each row."""
        found = self.predict_proba(X)
        return found if self.task == "values" else found.argmax(axis=1)


def make_model(contender: str, task: str, rounds: int, leaves: int, threads: int) -> Any:
    """A model with the same number of leaves, rounds and bins and the same learning rate in every library."""
    is_class = task != "values"
    if contender == "committee, vectors":
        return make_full(is_class, rounds, leaves, threads).set_params(multi_strategy="multi_output_tree")
    if contender == "XGBoost, vectors":
        return make_boosting("XGBoost", rounds, leaves, threads, is_class).set_params(
            multi_strategy="multi_output_tree"
        )
    if contender == "lleaves":
        return Compiled(task, rounds, leaves, threads)
    if contender == "hessboost":
        return Hessboost(task, rounds, leaves, threads)
    return make_boosting(contender, rounds, leaves, threads, is_class)


def make_full(is_class: bool, rounds: int, leaves: int, threads: int) -> Any:
    """GradientBoosting* with the settings of HistGradientBoosting*."""
    from committee import GradientBoostingClassifier, GradientBoostingRegressor

    made = GradientBoostingClassifier if is_class else GradientBoostingRegressor
    params = {"n_estimators": rounds, "max_leaf_nodes": leaves, "learning_rate": 0.1, "early_stopping": False}
    params |= {
        "subsample": 1.0,
        "max_features": None,
        "min_samples_leaf": 20,
        "reg_lambda": 0.0,
        "min_child_weight": 1e-3,
    }
    return made(random_state=0, n_jobs=threads, **params)


def score_model(model: Any, task: str, found: data.Problem) -> float:
    """AUC for two classes, accuracy for more, R² for regression."""
    if task == "binary":
        from sklearn.metrics import roc_auc_score

        return float(roc_auc_score(found.y_test, model.predict_proba(found.X_test)[:, 1]))
    predicted = np.asarray(model.predict(found.X_test)).ravel()
    if task == "classes":
        return float(np.mean(predicted == found.y_test))
    return float(1.0 - np.var(found.y_test - predicted) / np.var(found.y_test))


def warm_up(contender: str, task: str, threads: int) -> None:
    """Fit on a few rows, so that every library is loaded before the timing starts."""
    few = data.make_problem(task, WARM_UP_ROWS, 1)
    make_model(contender, task, 2, 4, threads).fit(few.X, few.y)


def fit_boosting(
    contender: str, task: str, problem: dict[str, Any], rounds: int, leaves: int, repeats: int, threads: int
) -> Outcome:
    found = make_problem(**problem)
    warm_up(contender, task, threads)
    model, outcome = time_fit(
        lambda: make_model(contender, task, rounds, leaves, threads).fit(found.X, found.y), repeats
    )
    return {**outcome, "score": score_model(model, task, found), "table_mb": found.X.nbytes / 2**20}


def predict_boosting(
    contender: str,
    task: str,
    problem: dict[str, Any],
    rounds: int,
    leaves: int,
    repeats: int,
    threads: int,
    n_rows: int | None = None,
) -> Outcome:
    found = make_problem(**problem)
    model = make_model(contender, task, rounds, leaves, threads).fit(found.X, found.y)
    rows = found.X_test[:n_rows]
    predict = model.predict if task == "values" else model.predict_proba
    return {**time_calls(lambda: predict(rows), repeats), "score": score_model(model, task, found)}


def categories_boosting(
    contender: str, task: str, problem: dict[str, Any], rounds: int, leaves: int, repeats: int, threads: int
) -> Outcome:
    """A public table with its columns of categories; LightGBM and scikit-learn take those of the frame as they are."""
    import pandas

    table = pandas.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{problem['kind']}.parquet")
    table = table.sample(frac=1.0, random_state=0)
    y = pandas.factorize(table.pop("target"), sort=True)[0]
    texts = [name for name in table if not pandas.api.types.is_numeric_dtype(table[name])]
    table = table.astype(dict.fromkeys(texts, "category"))
    n_train = min(problem["n_rows"], len(table) * 4 // 5)
    rest = slice(n_train, n_train + problem["n_test"])
    found = data.Problem(table[:n_train], y[:n_train], table[rest], y[rest])
    options = {"categorical_feature": texts} if contender.startswith(LIGHT) else {}

    def fit() -> Any:
        return make_model(contender, task, rounds, leaves, threads).fit(found.X, found.y, **options)

    warm_up(contender, task, threads)
    model, outcome = time_fit(fit, repeats)
    return {**outcome, "score": score_model(model, task, found)}


def robust_boosting(
    contender: str, task: str, problem: dict[str, Any], rounds: int, leaves: int, repeats: int, threads: int
) -> Outcome:
    """Regression by Huber's loss, or by what scikit-learn's histograms have in its place."""
    found = make_problem(**problem)
    warm_up("scikit-learn" if contender.startswith("scikit") else contender, task, threads)
    model, outcome = time_fit(lambda: make_robust(contender, rounds, leaves, threads).fit(found.X, found.y), repeats)
    return {**outcome, "score": score_model(model, task, found)}


def make_robust(contender: str, rounds: int, leaves: int, threads: int) -> Any:
    """Contenders of scikit-learn are ``"scikit-learn, <loss>"``; Huber's is that of its slow class."""
    library, _, loss = contender.partition(", ")
    if library != "scikit-learn":
        return make_with_loss(library, "huber", rounds, leaves, threads)
    if loss != "huber":
        options = {"quantile": 0.5} if loss == "quantile" else {}
        return make_model(library, "values", rounds, leaves, threads).set_params(loss=loss, **options)
    from sklearn.ensemble import GradientBoostingRegressor

    size = {"n_estimators": rounds, "max_leaf_nodes": leaves, "max_depth": None, "min_samples_leaf": 20}
    return GradientBoostingRegressor(loss=loss, alpha=0.96, learning_rate=0.1, random_state=0, **size)


def frame_boosting(
    contender: str,
    task: str,
    problem: dict[str, Any],
    rounds: int,
    leaves: int,
    repeats: int,
    threads: int,
    frame: str,
) -> Outcome:
    """Probabilities of one row that comes as an array or as a frame of the library it was trained with."""
    found = make_problem(**problem)
    names = [f"column {k}" for k in range(found.X.shape[1])]

    def convert(X: Any) -> Any:
        if frame == "NumPy":
            return X
        columns = dict(zip(names, np.ascontiguousarray(X.T), strict=True))
        if frame == "Arrow":
            import pyarrow

            return pyarrow.table(columns)
        module = importlib.import_module(frame.lower())
        return module.DataFrame(columns)

    model = make_model(contender, task, rounds, leaves, threads).fit(convert(found.X), found.y)
    row = convert(found.X_test[:1])
    return time_calls(lambda: model.predict_proba(row), repeats)


def split_boosting(
    contender: str,
    task: str,
    problem: dict[str, Any],
    rounds: int,
    leaves: int,
    repeats: int,
    threads: int,
    loss: str,
    n_splits: int,
) -> Outcome:
    """R² over random splits of a public data set, 80 % of the rows for training."""
    from sklearn.model_selection import ShuffleSplit

    X, y = read_table(problem["kind"])
    seconds, scores = [], []
    for train, test in ShuffleSplit(n_splits, test_size=0.2, random_state=0).split(X):
        model = make_with_loss(contender, loss, rounds, leaves, threads)
        began = time.perf_counter()
        model.fit(X[train], y[train])
        seconds.append(time.perf_counter() - began)
        scores.append(model.score(X[test], y[test]))
    return {"seconds": seconds, "cpu": [], "score": float(np.mean(scores)), "scores": scores}


def read_table(kind: str) -> tuple[Any, Any]:
    """Numeric columns and the target, in the order of the file."""
    import pandas

    table = pandas.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{kind}.parquet")
    target = table.pop("target")
    return table.to_numpy(dtype=np.float64), target.to_numpy()


def make_with_loss(contender: str, loss: str, rounds: int, leaves: int, threads: int) -> Any:
    """A regression model.

    Huber's loss becomes linear at the same residual in both libraries. LightGBM's default is 0.9 in units of the
    target. 96 % of its final residuals are smaller, and `alpha` is this quantile.
    """
    if contender.startswith(LIGHT):
        objective = {"squared_error": "regression"}.get(loss, loss)
        return make_model(contender, "values", rounds, leaves, threads).set_params(objective=objective)
    if loss == "huber":
        return make_full(False, rounds, leaves, threads).set_params(loss=loss, alpha=0.96)
    return make_model(contender, "values", rounds, leaves, threads).set_params(loss=loss)
