"""Jobs that the child processes of the suite of small tasks run; an outcome has its measures beside time and score."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measure import Outcome, time_calls, time_fit
from benchmarks.report import OURS

LIGHTGBM, SKLEARN, MORD, MAPIE, CREPES = "LightGBM", "scikit-learn", "mord", "MAPIE", "crepes"
OURS_CLASSES, LIGHTGBM_CLASSES = f"{OURS}, plain classes", f"{LIGHTGBM}, plain classes"
OURS_SPREAD = f"{OURS}, spread by row"
LIGHTGBM_ROUNDED = f"{LIGHTGBM}, rounded values"
OURS_FOLDS, OURS_ANEW, DISTILLED = f"{OURS}, in folds", f"{OURS}, fitted anew", f"{OURS}, distilled"
N_LEVELS, N_CLASSES, ALPHA, DECAY, RARE = 5, 6, 0.1, 0.5, 0.05
#: Rows of a fit before the clock starts, which loads the modules of a library.
N_WARM = 300
Table = tuple[np.ndarray, np.ndarray]


def draw_signal(n_rows: int, seed: int, drift: float = 0.0) -> Table:
    """Columns, and a signal that depends on products and thresholds of some; drift adds another column's influence."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 20))
    signal = np.sin(2.0 * X[:, 0]) + X[:, 1] * (X[:, 2] > 0.0) + X[:, 3] * X[:, 4] + 0.7 * np.abs(X[:, 5])
    return X, signal + drift * (X[:, 6] + 1.0) + 0.7 * rng.normal(size=n_rows)


def make_gradient_boosting(contender: str, kind: str, rounds: int, threads: int, **more: Any) -> Any:
    """The same leaves and rate in both libraries, and the same rounds but for ordered classes."""
    common: dict[str, Any] = {"n_estimators": rounds, "learning_rate": 0.1, "random_state": 0, "n_jobs": threads}
    if contender.startswith(LIGHTGBM):
        import lightgbm

        return getattr(lightgbm, f"LGBM{kind}")(num_leaves=31, verbose=-1, **common)
    import committee

    named = f"GradientBoosting{kind}"
    if kind == "Ordinal":
        # A tree a round, where plain classes have one for each class.
        named = "OrdinalGradientBoostingClassifier"
        common["n_estimators"] = 2 * rounds
    return getattr(committee, named)(max_leaf_nodes=31, min_samples_leaf=20, early_stopping=False, **common, **more)


def make_forest(contender: str, n_trees: int, threads: int, **more: Any) -> Any:
    import sklearn.ensemble

    import committee

    module = committee if contender.startswith(OURS) else sklearn.ensemble
    return module.RandomForestClassifier(n_trees, random_state=0, n_jobs=threads, **more)


# --- ordered classes ---------------------------------------------------------------------------------------------


def read_levels(table: str, n_rows: int) -> Table:
    """Ordered classes from 0: levels of a drawn signal, or grades of wines."""
    if table == "drawn":
        X, signal = draw_signal(n_rows * 5 // 4, 0)
        return X, np.digitize(signal, np.quantile(signal, [0.35, 0.65, 0.85, 0.95]))
    import pandas as pd

    name = table.removesuffix("_once")
    frame = pd.read_parquet(Path(os.environ["COMMITTEE_DATA"]) / f"{name}.parquet").sample(frac=1.0, random_state=0)
    if name != table:
        frame = frame.drop_duplicates([c for c in frame.columns if c != "target"])
    target = pd.to_numeric(frame.pop("target").astype(str)).to_numpy()
    columns = [c.cat.codes if c.dtype == "category" else c for _, c in frame.items()]
    X = np.column_stack([np.asarray(c, dtype=np.float64) for c in columns])
    # A grade that a handful of wines have joins its neighbour, so that both parts have every level.
    grades, counts = np.unique(target, return_counts=True)
    common = grades[counts >= 30]
    return X, np.searchsorted(common, np.clip(target, common[0], common[-1]))


def make_levels_model(contender: str, rounds: int, threads: int) -> Any:
    if contender == MORD:
        from mord import LogisticAT
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import StandardScaler

        return make_pipeline(StandardScaler(), LogisticAT())
    kind = (
        "Ordinal"
        if contender in (OURS, OURS_SPREAD)
        else "Regressor"
        if contender == LIGHTGBM_ROUNDED
        else "Classifier"
    )
    more = {"spread": "by_row"} if contender == OURS_SPREAD else {}
    return make_gradient_boosting(contender, kind, rounds, threads, **more)


def fit_levels(contender: str, table: str, n_rows: int, rounds: int, repeats: int, threads: int) -> Outcome:
    """Time of the fit; quadratically weighted kappa, mean absolute error and log-loss of other rows."""
    from sklearn.metrics import cohen_kappa_score, log_loss

    X, y = read_levels(table, n_rows)
    n_train, n_levels = len(y) * 4 // 5, int(y.max()) + 1
    make_levels_model(contender, 2, threads).fit(X[:N_WARM], y[:N_WARM])
    model, outcome = time_fit(
        lambda: make_levels_model(contender, rounds, threads).fit(X[:n_train], y[:n_train]), repeats
    )
    rows, true = X[n_train:], y[n_train:]
    predicted = np.asarray(model.predict(rows))
    if contender == LIGHTGBM_ROUNDED:
        predicted = np.clip(np.rint(predicted), 0, n_levels - 1).astype(int)
    kappa = float(cohen_kappa_score(true, predicted, weights="quadratic"))
    measures = {"QWK": kappa, "MAE": float(np.mean(np.abs(predicted - true)))}
    if hasattr(model, "predict_proba"):
        measures["log-loss"] = float(log_loss(true, model.predict_proba(rows), labels=np.arange(n_levels)))
    return {**outcome, "score": kappa, "measures": measures}


# --- sets of classes ---------------------------------------------------------------------------------------------


def draw_classes(n_rows: int, seed: int) -> Table:
    X, signal = draw_signal(n_rows, seed)
    edges = np.quantile(draw_signal(20_000, 99)[1], np.linspace(0.0, 1.0, N_CLASSES + 1)[1:-1])
    return X, np.digitize(signal, edges)


def find_sets(contender: str, train: Table, rows: np.ndarray, n_trees: int, threads: int) -> np.ndarray:
    """Fit, calibrate, and say which classes belong to the set of each row. Peers hold out a fifth of the rows."""
    X, y = train
    if contender == OURS:
        return np.asarray(make_forest(contender, n_trees, threads, oob_score=True).fit(X, y).predict_set(rows, ALPHA))
    n_fitted = len(y) * 4 // 5
    fitted, held = (X[:n_fitted], y[:n_fitted]), (X[n_fitted:], y[n_fitted:])
    forest = make_forest(contender, n_trees, threads)
    if contender == CREPES:
        from crepes import WrapClassifier

        wrapped = WrapClassifier(forest)
        wrapped.fit(*fitted)
        wrapped.calibrate(*held)
        return np.asarray(wrapped.predict_set(rows, labels=False, confidence=1.0 - ALPHA, seed=0), dtype=bool)
    forest.fit(*fitted)
    if contender == MAPIE:
        from mapie.classification import SplitConformalClassifier

        wrapped = SplitConformalClassifier(forest, confidence_level=1.0 - ALPHA, prefit=True).conformalize(*held)
        return np.asarray(wrapped.predict_set(rows)[1])[:, :, 0].astype(bool)
    own = 1.0 - forest.predict_proba(held[0])[np.arange(len(held[1])), held[1]]
    rank = min(len(own), int(np.ceil((len(own) + 1) * (1.0 - ALPHA))))
    return np.asarray(1.0 - forest.predict_proba(rows) <= np.sort(own)[rank - 1])


def predict_sets(contender: str, n_rows: int, n_trees: int, repeats: int, threads: int) -> Outcome:
    """Time from the rows to the sets of new rows; how many of these hold the class, and how large they are."""
    train, (rows, true) = draw_classes(n_rows, 0), draw_classes(max(N_WARM, n_rows // 2), 1)
    find_sets(contender, (train[0][:N_WARM], train[1][:N_WARM]), rows[:5], 2 * N_CLASSES, threads)
    sets, outcome = time_fit(lambda: find_sets(contender, train, rows, n_trees, threads), repeats)
    size = float(sets.sum(axis=1).mean())
    measures = {"coverage": float(sets[np.arange(len(true)), true].mean()), "classes in a set": size}
    return {**outcome, "score": -size, "measures": measures}


# --- leaves that follow new rows ---------------------------------------------------------------------------------


def refit_drifted(contender: str, n_rows: int, rounds: int, repeats: int, threads: int) -> Outcome:
    """Time to take a fourth as many drifted rows into a fitted model, and R² of other drifted rows."""
    old, new, (rows, true) = draw_signal(n_rows, 0), draw_signal(n_rows // 4, 1, 1.0), draw_signal(n_rows // 4, 2, 1.0)
    model = make_gradient_boosting(contender, "Regressor", rounds, threads).fit(*old)

    def score(fitted: Any) -> float:
        return float(1.0 - np.mean((true - fitted.predict(rows)) ** 2) / np.var(true))

    def refit() -> Any:
        if contender == OURS_ANEW:
            return make_gradient_boosting(contender, "Regressor", rounds, threads).fit(*new)
        if contender == LIGHTGBM:
            return model.booster_.refit(*new, decay_rate=DECAY)
        return model.refit_leaves(*new, decay_rate=DECAY)

    refit()
    fitted, outcome = time_fit(refit, repeats)
    return {**outcome, "score": score(fitted), "measures": {"R²": score(fitted), "R² before": score(model)}}


# --- thresholds --------------------------------------------------------------------------------------------------


def make_tuned(contender: str, n_trees: int, threads: int) -> Any:
    """A forest whose threshold has the best F1, out of bag or in five folds."""
    forest = make_forest(contender, n_trees, threads)
    if contender == SKLEARN:
        from sklearn.model_selection import TunedThresholdClassifierCV

        return TunedThresholdClassifierCV(forest, scoring="f1", cv=5)
    from committee.search import TunedThreshold

    return TunedThreshold(forest, scoring="f1", cv="oob" if contender == OURS else 5)


def tune_threshold(contender: str, n_rows: int, n_trees: int, repeats: int, threads: int) -> Outcome:
    """Time of the fit with its threshold, and F1 of other rows, of which one in twenty is positive."""
    from sklearn.metrics import f1_score

    X, signal = draw_signal(n_rows, 0)
    rows, other = draw_signal(n_rows, 1)
    edge = np.quantile(signal, 1.0 - RARE)
    y, true = (signal > edge).astype(int), (other > edge).astype(int)
    make_tuned(contender, 20, threads).fit(X[: 4 * N_WARM], y[: 4 * N_WARM])
    model, outcome = time_fit(lambda: make_tuned(contender, n_trees, threads).fit(X, y), repeats)
    plain = f1_score(true, model.estimator_.predict(rows), zero_division=0.0)
    found = float(f1_score(true, model.predict(rows)))
    return {**outcome, "score": found, "measures": {"F1": found, "F1 at 0.5": float(plain)}}


# --- distillation ------------------------------------------------------------------------------------------------


def measure_size(model: Any) -> int:
    """Bytes of the model file."""
    import committee

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.committee"
        committee.save(model, path)
        return path.stat().st_size


def time_one_row(contender: str, n_rows: int, repeats: int, threads: int) -> Outcome:
    """Time of one row's probabilities; accuracy and log-loss of other rows, and the size of the file."""
    from sklearn.metrics import log_loss

    from committee import CommitteeClassifier

    (X, y), (rows, true) = draw_classes(n_rows, 0), draw_classes(max(N_WARM, n_rows), 1)
    model = CommitteeClassifier(random_state=0, n_jobs=threads)
    made, outcome = time_fit(lambda: model.fit(X, y), 1)
    if contender == DISTILLED:
        made, outcome = time_fit(lambda: model.distill(X, y), 1)
    shares = made.predict_proba(rows)
    accuracy = float(np.mean(made.classes_[shares.argmax(axis=1)] == true))
    loss = float(log_loss(true, shares, labels=made.classes_))
    measures = {"accuracy": accuracy, "log-loss": loss, "seconds of the fit": outcome["seconds"][0]}
    call: Callable[[], object] = lambda: made.predict_proba(rows[:1])  # noqa: E731
    return {**time_calls(call, repeats), "score": -loss, "measures": measures, "bytes": measure_size(made)}
