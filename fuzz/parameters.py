"""Parameters of every estimator, drawn from what its annotations allow, from the boundaries, and from what is wrong."""

from __future__ import annotations

import inspect
import math
import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import KFold

import committee
import committee.search
from committee.constraints import Interval, Options
from fuzz.draws import Draw, show_short

__all__ = ["ESTIMATORS", "SEARCHES", "draw_params", "is_classifying", "make_estimator"]

ESTIMATORS: dict[str, Any] = {
    name: found
    for name in committee.__all__
    if isinstance(found := getattr(committee, name), type) and issubclass(found, BaseEstimator)
}
SEARCHES: dict[str, Any] = {
    name: getattr(committee.search, name) for name in ("RandomSearch", "HalvingSearch", "TPESearch", "TunedThreshold")
}
#: Parameters whose size is work, or memory; a case gets little of it.
FEW = {"n_estimators": 4, "max_iter": 4, "n_rounds": 4, "n_bags": 2, "n_members": 2, "n_init": 2, "cv": 3}
FEW |= {
    "n_jobs": 3,
    "stopping_folds": 3,
    "n_iter_no_change": 3,
    "oob_patience": 3,
    "time_budget": 1,
    "verbose": 1,
    "max_samples": 200,
    "n_candidates": 3,
    "budget": 1,
}
#: What is set unless a case draws something else, so that fits are small and repeatable.
USUAL: dict[str, Any] = {
    "n_estimators": 3,
    "max_iter": 3,
    "random_state": 0,
    "n_rounds": 3,
    "n_bags": 2,
    "n_members": 1,
}
JUNK: tuple[Any, ...] = (
    "nonsense",
    None,
    -1,
    0,
    1,
    True,
    math.nan,
    math.inf,
    -math.inf,
    1e300,
    -1e-300,
    10**400,
    2**64,
    [],
    (),
    {},
    [1, 2],
    ["a"],
    {"a": 1},
    {0: 1.0, 1: 2.0},
    b"x",
    "",
    1j,
    np.array([1.0, 2.0]),
    np.array(3),
    np.float32(0.5),
    np.int8(1),
    np.bool_(True),
    object,
    print,
    LinearRegression(),
)


def is_classifying(name: str) -> bool:
    """Whether the estimator of that name predicts classes."""
    return name.endswith(("Classifier", "NB"))


def make_estimator(draw: Draw, name: str, params: dict[str, Any]) -> Any:
    """An estimator with these parameters, and with small ones where none is given."""
    cls = ESTIMATORS[name]
    known = inspect.signature(cls).parameters
    given = {key: value for key, value in USUAL.items() if key in known}
    if "portfolio" in known:
        given["portfolio"] = ["forest"]
    if "estimators" in known:
        given["estimators"] = _make_members(name, 2)
    given |= params
    draw.note(name, {k: show_short(v)[:60] for k, v in params.items()})
    return cls(**given)


def draw_params(draw: Draw, name: str, *, n_cols: int = 3, junk: float = 0.2) -> dict[str, Any]:
    """Some parameters; most of them allowed, some at the boundary, and a share that is not."""
    names = list(_list_hints(name))
    chosen = draw.random.sample(names, min(len(names), draw.pick((0, 0, 1, 1, 2, 3, 5, 8))))
    return {key: _draw_value(draw, name, key, n_cols, junk) for key in chosen}


@cache
def _list_hints(name: str) -> dict[str, Any]:
    init = (ESTIMATORS | SEARCHES)[name].__init__
    hints = get_type_hints(init, include_extras=True)
    return {key: hints.get(key, Any) for key in list(inspect.signature(init).parameters)[1:]}


def _draw_value(draw: Draw, name: str, key: str, n_cols: int, junk: float) -> Any:
    if draw.chance(junk):
        value = draw.pick(JUNK)
        big = isinstance(value, int | float) and not isinstance(value, bool) and value > FEW.get(key, math.inf)
        return FEW[key] if big else value
    if key in SPECIAL and draw.chance(0.8):
        return SPECIAL[key](draw, name, n_cols)
    options = _list_values(_list_hints(name)[key])
    limit = FEW.get(key, math.inf)
    numbers = (int, float)
    options = [v for v in options if not (isinstance(v, numbers) and not isinstance(v, bool) and v > limit)]
    if key in FEW:
        options = [v for v in options if isinstance(v, str | bool | None) or not math.isnan(v)] + [1, 2, FEW[key]]
    return draw.pick(options) if options else draw.pick(JUNK)


@cache
def _list_values_of(hint: Any, constraints: tuple[Any, ...]) -> list[Any]:
    if get_origin(hint) is Annotated:
        inner, *metadata = get_args(hint)
        return _list_values_of(inner, (*constraints, *(m for m in metadata if isinstance(m, Interval | Options))))
    if get_origin(hint) in (Union, types.UnionType):
        return [value for member in get_args(hint) for value in _list_values_of(member, constraints)]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    if hint is types.NoneType:
        return [None]
    if hint is bool:
        return [True, False, np.bool_(True)]
    if hint is str:
        return [n for c in constraints if isinstance(c, Options) for n in c.names] or ["accuracy", "r2", "neg_log_loss"]
    if hint in (int, float):
        interval = next((c for c in constraints if isinstance(c, Interval)), Interval(None, None))
        return _list_numbers(interval, hint)
    return []


def _list_values(hint: Any) -> list[Any]:
    return _list_values_of(hint, ())


def _list_numbers(interval: Interval, kind: type) -> list[Any]:
    low, high = interval.bounds()
    if kind is int:
        start = int(low) if interval.low is not None else 0
        found = [start, start + 1, start + 2, start + 7, 2**31, 2**62, 2**63, start - 1]
        if interval.high is not None:
            found += [int(high), int(high) + 1]
        return [v for v in found if v <= high + 1] if interval.high is not None else found
    found = [low, low / 2, 0.1, 0.3, 0.5, 0.9, 1.0, 2.0, 1e-300, 1e-12, 1e12, 1e300, high, math.nan, math.inf, -1.0]
    return found if interval.low is not None else [0.0, *found]


# --- parameters that no range describes --------------------------------------------------------------------------


def _make_members(name: str, n: int) -> list[tuple[str, Any]]:
    kind = "Classifier" if is_classifying(name) else "Regressor"
    tree = getattr(committee, f"DecisionTree{kind}")
    extra = getattr(committee, f"ExtraTree{kind}")
    return [("a", tree(max_depth=2, random_state=1)), ("b", extra(max_depth=3, random_state=2))][:n]


def _draw_member(draw: Draw, name: str, _: int) -> Any:
    kind = "Classifier" if is_classifying(name) else "Regressor"
    ours = [f"DecisionTree{kind}", f"ExtraTree{kind}", f"RandomForest{kind}", f"HistGradientBoosting{kind}"]
    ours += ["DecisionStumpClassifier", "BernoulliNB", "SingleFeatureNB"] if kind == "Classifier" else []
    theirs = LogisticRegression if kind == "Classifier" else LinearRegression
    name = draw.pick([*ours, *ours, "foreign", "other kind", "none", "class"])
    if name == "foreign":
        return theirs()
    if name == "other kind":
        return committee.DecisionTreeRegressor() if kind == "Classifier" else committee.DecisionTreeClassifier()
    if name in ("none", "class"):
        return None if name == "none" else committee.DecisionTreeClassifier
    cls = ESTIMATORS[name]
    known = inspect.signature(cls).parameters
    return cls(**{k: v for k, v in (USUAL | {"max_depth": 2}).items() if k in known and v is not None})


def _draw_members(draw: Draw, name: str, n_cols: int) -> Any:
    way = draw.pick_name({"members": 70, "empty": 5, "equal": 5, "bare": 5, "drop": 10, "odd": 5})
    members: list[Any] = [(f"m{i}", _draw_member(draw, name, n_cols)) for i in range(draw.pick((1, 2, 3)))]
    if way == "empty":
        return []
    if way == "equal":
        return [("same", member) for _, member in members]
    if way == "bare":
        return [member for _, member in members]
    if way == "drop":
        return [*members, ("gone", "drop")]
    return (
        [*members, draw.pick((("a", 3), ("a",), "ab", None, (1, members[0][1]), ("x__y", members[0][1])))]
        if way == "odd"
        else members
    )


def _draw_columns(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            [0],
            [n_cols - 1],
            [n_cols],
            [-1],
            [0, 0],
            [],
            ["c0"],
            ["unknown"],
            [True] * n_cols,
            [True] * (n_cols + 1),
            np.arange(n_cols) % 2 == 0,
            np.array([0.5]),
            [None],
            [[0]],
            "c0",
            [10**30],
            ["c0", 1],
        )
    )


def _draw_monotonic(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            [1] * n_cols,
            [0] * n_cols,
            [-1] + [0] * (n_cols - 1),
            [1] * (n_cols + 1),
            [2] * n_cols,
            [0.5] * n_cols,
            {"c0": 1},
            {"unknown": 1},
            {0: 1},
            {"c0": 7},
            np.ones(n_cols),
            [None] * n_cols,
            ["1"] * n_cols,
            [],
            {},
        )
    )


def _draw_groups_of_columns(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            "pairwise",
            "no_interactions",
            [[0]],
            [[0, n_cols - 1]],
            [{0}, {n_cols - 1}],
            [],
            [[]],
            [[n_cols]],
            [[-1]],
            [0],
            [["c0"]],
            [["unknown"]],
            "each",
            [[0.5]],
            [[0, 0]],
            [range(n_cols)],
            [None],
        )
    )


def _draw_class_weight(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            "balanced",
            "balanced_subsample",
            {0: 1.0, 1: 2.0},
            {0: 1, 1: 0},
            {"no": 1, "yes": 3},
            {"unknown": 1},
            {0: -1.0},
            {0: math.nan},
            {0: "a"},
            {},
            [{0: 1, 1: 2}, {0: 1, 1: 1}],
            [],
            {0: 1e300, 1: 1e-300},
            {None: 1},
        )
    )


def _draw_cv(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            2,
            3,
            "oob",
            "prefit",
            KFold(2),
            KFold(3, shuffle=True, random_state=0),
            [],
            [(np.arange(3), np.arange(3, 6))],
            [(np.arange(2, 8), np.arange(2)), (np.arange(4), np.arange(4, 8))],
            [([0, 1], [10**6])],
            [([], [0])],
            [(0, 1, 2)],
            [([0.5], [1.5])],
            [None],
        )
    )


class _SquaredLoss:
    """A loss of a user."""

    def gradient(self, y: Any, raw: Any) -> Any:
        return raw - y

    def hessian(self, y: Any, raw: Any) -> Any:
        return np.ones_like(raw)


class _BadLoss(_SquaredLoss):
    """A loss that gives no numbers."""

    def gradient(self, y: Any, raw: Any) -> Any:
        return np.full_like(np.asarray(raw, dtype=float), np.nan)


def _draw_loss(draw: Draw, name: str, n_cols: int) -> Any:
    known = [v for v in _list_values(_list_hints(name)["loss"]) if isinstance(v, str)]
    return draw.pick([*known, *known, _SquaredLoss(), _BadLoss(), lambda y, raw: (raw - y, np.ones_like(raw))])


def _draw_quantiles(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (0.1, 0.5, 1.0, 0.0, [0.1, 0.9], [0.9, 0.1], [0.5, 0.5], [], [2.0], [math.nan], ["a"], [0.5], [[0.5]])
    )


def _score(y: Any, predictions: Any) -> float:
    return float(len(y))


def _draw_scoring(draw: Draw, _: str, n_cols: int) -> Any:
    return draw.pick(
        (
            "accuracy",
            "r2",
            "neg_log_loss",
            "roc_auc",
            "unknown",
            True,
            False,
            None,
            _score,
            lambda *a: "a",
            lambda *a: math.nan,
        )
    )


SPECIAL: dict[str, Callable[[Draw, str, int], Any]] = {
    "alpha": _draw_quantiles,
    "categorical_features": _draw_columns,
    "class_prior": lambda d, *_: d.pick(([0.5, 0.5], [1.0], [0.2, 0.2], [-1, 2], ["a"], [], [math.nan, 1])),
    "class_weight": _draw_class_weight,
    "cv": _draw_cv,
    "estimator": _draw_member,
    "estimators": _draw_members,
    "final_estimator": _draw_member,
    "init": _draw_member,
    "interaction_cst": _draw_groups_of_columns,
    "layers": lambda d, n, k: d.pick((None, [], [[]], [_make_members(n, 1)], [_make_members(n, 2)], 3, "a")),
    "loss": _draw_loss,
    "metric": _draw_scoring,
    "monotonic_cst": _draw_monotonic,
    "ngram_range": lambda d, *_: d.pick(
        ((1, 1), (1, 2), (2, 1), (0, 1), (1,), (1.5, 2), (3, 3), ("a", "b"), (1, 10**9))
    ),
    "oob_score": _draw_scoring,
    "portfolio": lambda d, *_: d.pick((["forest"], ["linear"], [], ["unknown"], [3], ["forest", "forest"])),
    "quantile": _draw_quantiles,
    "random_state": lambda d, *_: d.pick(
        (0, 1, 2**32 - 1, 2**32, np.random.RandomState(1), np.random.default_rng(1), -1, 0.5)
    ),
    "scoring": _draw_scoring,
    "text_columns": lambda d, *_: d.pick(("auto", None, [], [0], ["c0"], ["unknown"], [99])),
    "vectorizer": lambda d, *_: d.pick((None, CountVectorizer(), CountVectorizer(min_df=10**6), CountVectorizer())),
    "weights": lambda d, *_: d.pick(
        ([1, 1], [1, 2], [0, 0], [-1, 1], [1], [math.nan, 1], ["a", "b"], "learned", None, [1e308, 1e308])
    ),
}
