"""Cases that ask a fitted model: tables that do not match its own, and the functions that inspect it."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

import committee
from committee import inspection
from fuzz.draws import Draw, show_short
from fuzz.libraries import pa, pl
from fuzz.oracle import attempt, expect, guard
from fuzz.parameters import ESTIMATORS, JUNK, is_classifying, make_estimator
from fuzz.tables import draw_size, draw_table
from fuzz.targets import draw_target, draw_weights

__all__ = ["ask_anything", "fit_usual", "inspect_anything"]

N_ROWS, N_COLS = 40, 4
METHODS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "decision_function",
    "score_samples",
    "apply",
    "decision_path",
    "transform",
    "score",
    "staged_predict",
    "staged_predict_proba",
    "staged_decision_function",
    "predict_quantiles",
    "predict_interval",
    "predict_variance",
    "predict_members",
    "predictor",
    "margins",
)


def make_usual(*, classes: bool, frame: bool, ranks: bool = False) -> tuple[Any, Any]:
    """An ordinary table and its target; the frame has a category and gaps."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, N_COLS))
    signal = X[:, 0] + X[:, 1] * X[:, 2]
    y = np.where(signal > 0, "yes", "no") if classes else signal
    if ranks:
        y = np.digitize(signal, [-1.0, 0.0, 1.0])
    if frame:
        X = pd.DataFrame(X, columns=[f"c{i}" for i in range(N_COLS)])
        X["c3"] = pd.Categorical(np.where(X["c3"] > 0, "red", "blue"))
        X.loc[::7, "c1"] = np.nan
    return X, y


@cache
def fit_usual(name: str, frame: bool) -> tuple[Any, Any, Any]:
    """A fitted model with its table and target; a frame where the estimator takes categories."""
    classes = is_classifying(name)
    takes_categories = (
        "categorical_features" in ESTIMATORS[name]().get_params()
        if "estimators" not in ESTIMATORS[name].__init__.__annotations__
        else False
    )
    X, y = make_usual(classes=classes, frame=frame and takes_categories, ranks="Rank" in name)
    model = make_estimator(Draw(0, 0), name, {})
    if "oob_score" in model.get_params():
        model.set_params(oob_score=True, bootstrap=True, n_estimators=8)
    if "keep_leaf_samples" in model.get_params():
        model.set_params(keep_leaf_samples=True)
    y = np.exp(y) if "Survival" in name else y  # times
    queries = {"qid": np.arange(N_ROWS) // 8} if "Rank" in name else {}
    with guard():
        return model.fit(X, y, **queries), X, y


def draw_other(draw: Draw, X: Any) -> Any:
    """A table that is like the given one and yet another: columns dropped, added, in another order, of another type."""
    way = draw.pick(
        ("any", "any", "same", "order", "fewer", "more", "types", "empty", "library", "one row", "sparse", "renamed")
    )
    draw.note("rows", way)
    n_rows, n_cols = draw_size(draw)
    array = X.to_numpy() if hasattr(X, "to_numpy") else X
    if way == "any":
        return draw_table(draw, n_rows, draw.pick((N_COLS, N_COLS, n_cols)))
    if way == "empty":
        return X[:0]
    if way == "one row":
        return X.iloc[0] if hasattr(X, "iloc") and draw.chance(0.5) else array[0]
    if way == "sparse":
        return draw_table(draw, n_rows, N_COLS, "sparse")
    if way == "fewer":
        return X[["c0", "c2"]] if hasattr(X, "columns") else array[:, : draw.pick((0, 1, 3))]
    if way == "more":
        return X.assign(more=1.0) if hasattr(X, "assign") else np.hstack([array, array])
    if way == "order":
        return X[["c3", "c2", "c1", "c0"]] if hasattr(X, "columns") else array[:, ::-1]
    if way == "types":
        return array.astype(draw.pick((object, "U8", "S4"))) if draw.chance(0.6) else array.tolist()
    if way in ("library", "renamed") and hasattr(X, "columns"):
        if way == "renamed":
            return X.rename(columns={"c0": draw.pick(("c1", "C0", 0, "new"))})
        return pl.from_pandas(X) if draw.chance(0.5) else pa.Table.from_pandas(X)
    return X


def ask_anything(draw: Draw, name: str) -> None:
    """Ask a fitted model about a table that need not match."""
    model, X, _ = fit_usual(name, draw.chance(0.4))
    methods = [method for method in METHODS if hasattr(model, method)]
    method = draw.pick(methods)
    draw.note(name, method)
    other = draw_other(draw, X)
    given: tuple[Any, ...] = (other,)
    if method in ("score", "margins"):
        given = (other, draw_target(draw, N_ROWS, classes=is_classifying(name)))
    if method == "predictor":
        _ask_predictor(draw, model, other)
        return
    more = {}
    if method in ("predict_quantiles", "predict_interval") and draw.chance(0.5):
        more = {
            "q" if method == "predict_quantiles" else "coverage": draw.pick(
                (0.5, [0.1, 0.9], -1, 2, "a", math.nan, None, [])
            )
        }

    def work() -> Any:
        answer = getattr(model, method)(*given, **more)
        return list(answer) if hasattr(answer, "__next__") else answer

    answer = attempt(work)
    answer = answer[0] if isinstance(answer, tuple) else answer
    if method == "predict_proba" and not isinstance(answer, list):
        proba = np.asarray(answer)
        expect(
            np.isfinite(proba).all() and np.allclose(proba.sum(axis=1), 1, atol=1e-6), "probabilities sum to one", proba
        )
    if method in ("predict", "predict_quantiles", "predict_variance") and np.asarray(answer).dtype.kind == "f":
        expect(np.isfinite(np.asarray(answer)).all(), "predictions are finite where the target is", answer)


def _ask_predictor(draw: Draw, model: Any, other: Any) -> None:
    predictor = attempt(lambda: model.predictor())
    row = draw.pick(
        (other, (1.0, 2.0, 3.0, 4.0), {"c0": 1.0}, {}, (), [None] * 4, ("a",) * 4, {f"c{i}": "red" for i in range(4)})
    )
    draw.note("predictor", row)
    attempt(lambda: predictor.predict(row) if hasattr(predictor, "predict") else predictor(row))


# --- inspection --------------------------------------------------------------------------------------------------


def _pick_column(draw: Draw) -> Any:
    return draw.pick(
        (
            0,
            1,
            3,
            -1,
            4,
            "c0",
            "c3",
            "unknown",
            None,
            0.5,
            [0],
            [0, 1],
            (0, 1),
            [0, 0],
            ["c0", "c1"],
            [],
            [[0]],
            10**30,
            True,
        )
    )


def _pick_few(draw: Draw) -> Any:
    return draw.pick((1, 2, 3, 2, 3, 0, -1, 2.5, "a", None, math.nan, True))


def _pick_jobs(draw: Draw) -> Any:
    return draw.pick((None, 1, 2, 2, 0, -1, "a", 1.5))


def inspect_anything(draw: Draw, name: str) -> None:
    """Call a function of committee.inspection about a fitted model."""
    what = draw.pick(tuple(CALLS))
    draw.note("function", what)
    model, X, y = fit_usual(name, draw.chance(0.4))
    if draw.chance(0.03):
        model = draw.pick((None, 3, ESTIMATORS[name], make_estimator(draw, name, {})))
    rows = draw_other(draw, X) if draw.chance(0.35) else X
    target = draw_target(draw, N_ROWS, classes=is_classifying(name)) if draw.chance(0.35) else y
    found = attempt(lambda: CALLS[what](draw, model, rows, target))
    draw.note("gave", show_short(type(found)))
    if what == "shap_values":
        _check_shap(model, rows, found)


def _check_shap(model: Any, rows: Any, found: Any) -> None:
    values = np.asarray(found.values)
    expect(np.isfinite(values).all(), "SHAP values are finite", values)


def _weigh(draw: Draw) -> Any:
    return draw_weights(draw, N_ROWS) if draw.chance(0.3) else None


CALLS: dict[str, Callable[[Draw, Any, Any, Any], Any]] = {
    "permutation_importance": lambda d, m, X, y: inspection.permutation_importance(
        m,
        X,
        y,
        n_repeats=_pick_few(d),
        sample_weight=_weigh(d),
        random_state=0,
        n_jobs=_pick_jobs(d),
        scoring=d.pick((None, None, None, "accuracy", "r2", "roc_auc", "unknown", 3)),
    ),
    "shap_values": lambda d, m, X, y: inspection.shap_values(
        m,
        X,
        background=d.pick((None, None, X, 3, "a", [])),
        interactions=d.pick((False, False, True, "a")),
        n_jobs=_pick_jobs(d),
    ),
    "shap_importance": lambda d, m, X, y: inspection.shap_importance(m, X, n_jobs=_pick_jobs(d)),
    "partial_dependence": lambda d, m, X, y: inspection.partial_dependence(
        m,
        X,
        _pick_column(d),
        sample_weight=_weigh(d),
        grid_resolution=d.pick((3, 10, 2, 1, 0, -1, "a")),
        percentiles=d.pick(((0.05, 0.95), (0, 1), (0.5, 0.5), (1, 0), (-1, 2), (0.1,), "a")),
        method=d.pick(("auto", "brute", "recursion", "traversal", "unknown")),
        kind=d.pick(("average", "individual", "both", "unknown")),
        n_jobs=_pick_jobs(d),
    ),
    "accumulated_local_effects": lambda d, m, X, y: inspection.accumulated_local_effects(
        m, X, _pick_column(d), grid_resolution=d.pick((3, 10, 1, 0, "a")), sample_weight=_weigh(d)
    ),
    "accumulated_pair_effects": lambda d, m, X, y: inspection.accumulated_pair_effects(
        m, X, _pick_column(d), grid_resolution=d.pick((3, 5, 1, 0, "a")), sample_weight=_weigh(d)
    ),
    "friedman_h": lambda d, m, X, y: inspection.friedman_h(
        m, X, _pick_column(d), max_rows=d.pick((10, 5, 1, 0, -1, "a")), random_state=0
    ),
    "impurity_importance": lambda d, m, X, y: inspection.impurity_importance(m),
    "oob_importance": lambda d, m, X, y: inspection.oob_importance(
        m, X, y, kind=d.pick(("permutation", "impurity", "unknown")), n_repeats=_pick_few(d), sample_weight=_weigh(d)
    ),
    "drop_column_importance": lambda d, m, X, y: inspection.drop_column_importance(
        m, X, y, cv=d.pick((2, 3, 1, 0, 100, "a", None)), random_state=0
    ),
    "measure_diversity": lambda d, m, X, y: inspection.measure_diversity(
        d.pick((m, m, [m, m], [], [m], None, 3)), X, y, _weigh(d)
    ),
    "measure_proximity": lambda d, m, X, y: inspection.measure_proximity(m, X),
    "scale_proximity": lambda d, m, X, y: inspection.scale_proximity(
        d.numbers.random((5, 5)) if d.chance(0.5) else X, d.pick((2, 1, 0, 9, "a"))
    ),
    "estimate_bias_variance": lambda d, m, X, y: inspection.estimate_bias_variance(
        m, X, y, n_rounds=_pick_few(d), random_state=0, loss=d.pick((None, "squared", "zero_one", "unknown"))
    ),
    "estimate_bootstrap_error": lambda d, m, X, y: inspection.estimate_bootstrap_error(
        m, X, y, n_rounds=_pick_few(d), random_state=0, loss=d.pick((None, "squared", "zero_one", "unknown"))
    ),
    "measure_bag_variance": lambda d, m, X, y: inspection.measure_bag_variance(
        m, X, y, sizes=d.pick(((1, 2), (), (0,), ("a",), 3)), n_repeats=_pick_few(d), random_state=0
    ),
    "measure_jury": lambda d, m, X, y: inspection.measure_jury(
        d.pick((0.6, 0.0, 1.0, -1, 2, "a", math.nan, None)),
        sizes=d.pick(((1, 3), (), (0,), (-1,), (2.5,), "a", 3)),
        correlation=d.pick((0.0, 0.5, 1.0, -1, math.nan, "a")),
        n_rounds=d.pick((10, 1, 0, -1, "a")),
        random_state=0,
    ),
    "edge_bound": lambda d, m, X, y: inspection.edge_bound(d.pick((0.1, 0.5, 0.0, -1, 2, "a", math.nan)), _pick_few(d)),
    "vc_bound": lambda d, m, X, y: inspection.vc_bound(_pick_few(d), _pick_few(d)),
    "measure_margins": lambda d, m, X, y: inspection.measure_margins(
        X if d.chance(0.5) else d.numbers.random((5, 2)),
        y if d.chance(0.5) else np.arange(5) % 2,
        d.pick((1.0, 0, "a")),
    ),
    "suspect_labels": lambda d, m, X, y: inspection.suspect_labels(
        X if d.chance(0.3) else d.numbers.random((5, 2)), y if d.chance(0.3) else np.arange(5) % 2, _pick_few(d)
    ),
    "weigh_rows": lambda d, m, X, y: inspection.weigh_rows(
        X if d.chance(0.3) else d.numbers.random((5, 2)), y if d.chance(0.3) else np.arange(5) % 2
    ),
    "export_text": lambda d, m, X, y: committee.export_text(
        m, **d.pick(({}, {"max_depth": 2}, {"feature_names": ["a"]}, {"decimals": -1}, {"max_depth": "a"}))
    ),
    "export_graphviz": lambda d, m, X, y: committee.export_graphviz(
        m, **d.pick(({}, {"feature_names": ["a"]}, {"class_names": ["a"]}, {"max_depth": -1}))
    ),
    "estimate_fit": lambda d, m, X, y: committee.estimate_fit(
        *d.pick(((10, 3), (0, 0), (-1, 2), ("a", 1), (10**12, 10**6), (1.5, 2))), m
    ),
    "model_card": lambda d, m, X, y: committee.model_card(m),
    "certify": lambda d, m, X, y: committee.certify(m, X, y),
    "verify": lambda d, m, X, y: committee.verify(m, X, y),
    "forget": lambda d, m, X, y: committee.forget(
        m, X, y, d.pick(([0], [], [10**6], [-1], ["a"], range(100), np.arange(40) % 2 == 0))
    ),
    "junk": lambda d, m, X, y: getattr(
        inspection, d.pick(("shap_values", "weigh_rows", "suspect_labels", "measure_margins", "measure_proximity"))
    )(*(d.pick(JUNK) for _ in range(2))),
}
