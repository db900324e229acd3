"""Cases that fit: hostile tables, targets, weights and parameters, and the contracts where a fit succeeds."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import clone

from fuzz.draws import Draw
from fuzz.oracle import Refusal, attempt, check_answers, compare_answers, copy_model, expect
from fuzz.oracle import ask as ask_model
from fuzz.parameters import ESTIMATORS, draw_params, is_classifying, make_estimator
from fuzz.tables import draw_size, draw_table
from fuzz.targets import draw_groups, draw_target, draw_weights, is_usual

__all__ = ["draw_name", "fit_anything", "fit_params", "take_rows"]

#: How often each estimator is drawn; what takes a hundred times as long is drawn more seldom.
SHARES = {
    name: 0.04 if name.startswith("Committee") else 0.5 if "estimators" in inspect.signature(cls).parameters else 1.0
    for name, cls in ESTIMATORS.items()
}
WITHOUT_TARGET = ("IsolationForest", "RandomTreesEmbedding")


def draw_name(draw: Draw) -> str:
    """The name of an estimator."""
    return draw.pick_name(SHARES)


def fit_anything(draw: Draw, name: str) -> None:
    """Fit to whatever table, target and weights the case draws."""
    n_rows, n_cols = draw_size(draw)
    params = draw_params(draw, name, n_cols=n_cols, junk=0.06) if draw.chance(0.5) else {}
    X = draw_table(draw, n_rows, n_cols)
    y = draw_target(draw, n_rows, classes=is_classifying(name) or "Rank" in name)
    _fit(draw, name, params, X, y, draw_weights(draw, n_rows))


def fit_params(draw: Draw, name: str) -> None:
    """Fit to an ordinary table with hostile parameters."""
    n_cols = draw.pick((1, 3, 5))
    n_rows = draw.pick((12, 30, 60))
    params = draw_params(draw, name, n_cols=n_cols, junk=draw.pick((0.0, 0.0, 0.15, 0.5)))
    X = draw.numbers.normal(size=(n_rows, n_cols))
    X = np.round(X, 1) if draw.chance(0.5) else X
    signal = X[:, 0] + 0.5 * draw.numbers.normal(size=n_rows)
    if is_classifying(name) or "Rank" in name:
        y: Any = np.digitize(signal, draw.pick(([0.0], [-0.5, 0.5])))
        y = np.array(["no", "yes", "maybe"])[y] if draw.chance(0.3) and "Rank" not in name else y
    else:
        y = np.exp(signal) if draw.chance(0.4) or "Survival" in name else signal
    _fit(draw, name, params, X, y, None)


def _fit(draw: Draw, name: str, params: dict[str, Any], X: Any, y: Any, weights: Any) -> None:
    more = _draw_more(draw, name, len(y) if hasattr(y, "__len__") else 3)
    kept = _keep(X), _keep(y), _keep(weights)
    model = attempt(lambda: make_estimator(draw, name, params))
    attempt(lambda: _call_fit(model, name, X, y, weights, more))
    expect(_is_kept(X, kept[0]) and _is_kept(y, kept[1]) and _is_kept(weights, kept[2]), "inputs are left as they are")
    plain = is_usual(y) and not is_classifying(name) and name not in WITHOUT_TARGET and not _asks_more(params)
    answers = check_answers(name, model, X, y if plain else None)
    _check_contracts(draw, name, model, X, y, weights, more, answers)


def _asks_more(params: dict[str, Any]) -> bool:
    """Whether parts of the case's own, or settings that reach beyond the targets, answer as they like."""
    return any(
        key in params
        for key in ("base_score", "learning_rate", "loss", "init", "estimator", "estimators", "final_estimator")
    )


def _call_fit(model: Any, name: str, X: Any, y: Any, weights: Any, more: dict[str, Any]) -> Any:
    given = dict(more)
    if weights is not None:
        given["sample_weight"] = weights
    return model.fit(X, **given) if name in WITHOUT_TARGET else model.fit(X, y, **given)


def _draw_more(draw: Draw, name: str, n: int) -> dict[str, Any]:
    known = inspect.signature(ESTIMATORS[name].fit).parameters
    if "qid" in known and draw.chance(0.9):
        return {"qid": np.arange(n) // 5 if draw.chance(0.8) else draw_groups(draw, n)}
    if "groups" in known and draw.chance(0.06):
        return {"groups": draw_groups(draw, n)}
    if "eval_set" in known and draw.chance(0.08):
        size = draw_size(draw)
        return {"eval_set": [(draw_table(draw, *size), draw_target(draw, size[0], classes=is_classifying(name)))]}
    if "X_val" in known and draw.chance(0.08):
        size = draw_size(draw)
        return {"X_val": draw_table(draw, *size), "y_val": draw_target(draw, size[0], classes=is_classifying(name))}
    return {}


# --- contracts ---------------------------------------------------------------------------------------------------


def _check_contracts(
    draw: Draw, name: str, model: Any, X: Any, y: Any, weights: Any, more: dict[str, Any], answers: dict[str, Any]
) -> None:
    """One contract of each case that was fitted, drawn by lot."""
    way = draw.pick(("threads", "row", "save", "mapped", "pickle", "deepcopy", "absent", "again", "none"))
    if way == "none" or name.startswith("Committee"):
        return
    draw.note("contract", way)
    if way in ("save", "mapped", "pickle", "deepcopy"):
        if way != "deepcopy" and not _can_be_saved(model):
            return
        twin = attempt(lambda: copy_model(model, way))
        compare_answers(answers, ask_model(twin, X), f"a copy by {way} answers the same")
    elif way == "row":
        _check_one_row(draw, name, model, X, answers)
    elif not isinstance(getattr(model, "random_state", 0), int | np.integer):
        return
    elif way in ("threads", "again"):
        twin = clone(model)
        if way == "threads" and "n_jobs" in twin.get_params():
            twin.set_params(n_jobs=2 if twin.get_params()["n_jobs"] != 2 else 1)
        attempt(lambda: _call_fit(twin, name, X, y, weights, more))
        compare_answers(answers, ask_model(twin, X), "the number of threads changes nothing, nor does a second fit")
    else:
        _check_absence(name, model, X, y, weights, more, answers)


def _can_be_saved(model: Any) -> bool:
    """Whether all parts are the library's own; functions and estimators of others need trust, or cannot be pickled."""

    def is_foreign(value: Any) -> bool:
        if isinstance(value, list | tuple):
            return any(map(is_foreign, value))
        module = type(value).__module__
        return callable(value) or module.startswith(("sklearn", "fuzz"))

    return not any(is_foreign(value) for value in model.get_params(deep=True).values())


def take_rows(X: Any, rows: Any) -> Any:
    """Some rows of a table, in the same kind of table; None where that cannot be said in one way."""
    if isinstance(X, np.ndarray) and X.ndim == 2:
        return X[rows]
    if isinstance(X, list):
        return [X[i] for i in rows]
    if type(X).__module__.startswith("pandas") and hasattr(X, "columns"):
        return X.iloc[rows]
    return None


def _check_one_row(draw: Draw, name: str, model: Any, X: Any, answers: dict[str, Any]) -> None:
    n = len(next(iter(answers.values()), ()))
    if not n:
        return
    at = draw.random.randrange(n)
    row = take_rows(X, np.array([at]))
    if row is None:
        return
    alone = ask_model(model, row)
    exact = not name.startswith(("Stacking", "Super", "Voting", "Ensemble")) and _can_be_saved(model)
    if name.startswith("Stacking") and any(
        np.abs(v).max(initial=0) > 1e15 for v in alone.values() if v.dtype.kind == "f"
    ):
        return  # the linear model of scikit-learn sums a batch in another order, and loses such numbers
    batches = {k: v for k, v in answers.items() if len(v) == n}  # rows are the second axis of some transformations
    alone = {k: alone[k] for k in batches}
    compare_answers(
        {k: v[at : at + 1] for k, v in batches.items()}, alone, "a row alone is a row of a batch", exact=exact
    )


def _check_absence(
    name: str, model: Any, X: Any, y: Any, weights: Any, more: dict[str, Any], answers: dict[str, Any]
) -> None:
    """Rows of weight zero are absent."""
    if more or not isinstance(weights, np.ndarray) or weights.ndim != 1 or weights.dtype.kind not in "iuf":
        return
    there = np.flatnonzero(weights > 0)
    if len(there) == len(weights) or not isinstance(X, np.ndarray) or not isinstance(y, np.ndarray):
        return
    if len(y) != len(weights):  # who has no use for a target does not look at it
        return
    # The classes of absent rows are classes nevertheless.
    if _holds_out_rows(name, model) or (is_classifying(name) and set(map(str, y[there])) != set(map(str, y))):
        return
    twin = clone(model)
    try:
        attempt(lambda: _call_fit(twin, name, X[there], y[there], weights[there], more))
    except Refusal as refusal:
        if "Every value of X is missing" in str(refusal):  # which is said of the table, whatever the weights
            return
        expect(False, "rows of weight zero are absent", refusal)
    compare_answers(answers, ask_model(twin, X), "rows of weight zero are absent", exact=False)


def _holds_out_rows(name: str, model: Any) -> bool:
    """Whether rows are held out or drawn by their place, which absent rows change."""
    params = model.get_params()
    if name.startswith(("Stacking", "Super", "Ensemble", "Voting", "Committee", "Bagging")):
        return True
    if params.get("early_stopping") not in (None, False) or params.get("n_iter_no_change") not in (None, "auto"):
        return True
    shares = (
        "subsample",
        "max_samples",
        "calibration",
        "min_samples_leaf",
        "min_samples_split",
        "boosting",
        "oob_patience",
    )
    usual = clone(ESTIMATORS[name]() if "estimators" not in params else model).get_params()
    return any(key in params and params[key] is not usual.get(key) and params[key] != usual.get(key) for key in shares)


def _keep(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) and value.dtype != object else None


def _is_kept(value: Any, before: Any) -> bool:
    return before is None or (
        value.dtype == before.dtype and np.array_equal(value, before, equal_nan=value.dtype.kind in "fcmM")
    )
