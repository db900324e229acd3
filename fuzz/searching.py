"""Cases of the searches: any parameters of theirs, spaces that do not fit, estimators of every kind."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import scipy.stats
from sklearn.base import clone

from committee.search import IntegerRange, RealRange
from fuzz.asking import make_usual
from fuzz.draws import Draw, show_short
from fuzz.oracle import attempt, expect
from fuzz.parameters import FEW, JUNK, SEARCHES, draw_params, is_classifying, make_estimator

__all__ = ["search_anything"]


def _draw_space(draw: Draw, model: Any) -> Any:
    """Values or distributions of some parameters."""
    numbers = (
        [1, 2, 3],
        [1],
        [],
        (2, None),
        "abc",
        [math.nan, -1],
        ["a", object],
        np.array([1, 2]),
        [[1], [2]],
        3,
        None,
        scipy.stats.randint(1, 4),
        scipy.stats.uniform(0.1, 0.5),
        scipy.stats.norm,
    )
    names = list(model.get_params(deep=True)) if hasattr(model, "get_params") else ["max_depth"]
    few: list[Any] = draw.random.sample(names, min(len(names), draw.pick((1, 1, 2, 3))))
    few += [draw.pick(("unknown", "", 3))] if draw.chance(0.1) else []
    space = {}
    for name in few:
        usual = getattr(model, str(name), None)
        way = draw.pick_name({"usual": 50, "range": 20, "any": 30})
        space[name] = attempt(lambda: _draw_range(draw)) if way == "range" else draw.pick(numbers)
        space[name] = [usual, usual] if way == "usual" else space[name]
        if str(name).rpartition("__")[2] in FEW:
            space[name] = [1, 2]
    return space


def _draw_range(draw: Draw) -> Any:
    """A range of numbers; its ends may be the wrong way round, equal, infinite or next to each other."""
    kind = draw.pick((IntegerRange, RealRange))
    low, high = draw.pick((1, 1, 0, 0.5, 1e-300, 1.0)), draw.pick((4, 4, 2, 2**40, math.nextafter(1.0, 2.0), 1e300))
    if draw.chance(0.15):
        low, high = draw.pick((low, -3, math.nan, "a", None)), draw.pick((high, 1, math.inf, "b", 10**400))
    return kind(low, high, log=draw.pick((False, False, True)))


def search_anything(draw: Draw, name: str) -> None:
    """Search for parameters of an estimator, in a small table."""
    name = "DecisionTreeClassifier" if name.startswith("Committee") else name  # which fits a hundred times as long
    which = draw.pick(tuple(SEARCHES))
    model = make_estimator(draw, name, {})
    if draw.chance(0.03):
        model = draw.pick(JUNK)
    params = draw_params(draw, which, junk=draw.pick((0.0, 0.0, 0.15, 0.5)))
    params.pop("estimator", None)
    if which != "TunedThreshold":
        params = {"n_candidates": 2, "cv": 2, "random_state": 0} | params
        params["param_distributions"] = _draw_space(draw, model) if draw.chance(0.9) else draw.pick(JUNK)
        if params.get("n_candidates") is None:
            params["n_candidates"] = 2
    draw.note(which, show_short({key: show_short(value)[:60] for key, value in params.items()}))
    X, y = make_usual(classes=is_classifying(name) or which == "TunedThreshold", frame=False, ranks="Rank" in name)
    y = np.exp(y) if "Survival" in name and y.dtype.kind == "f" else y
    search = SEARCHES[which](model, **params)
    before = repr(clone(model).get_params()) if hasattr(model, "get_params") else None
    attempt(lambda: search.fit(X, y))
    expect(before is None or repr(clone(model).get_params()) == before, "the estimator is left as it is")
    if which == "TunedThreshold":
        expect(0.0 <= search.best_threshold_ <= 1.0, "a threshold is a probability", search.best_threshold_)
    else:
        n_candidates = len(search.cv_results_["params"])
        expect(0 <= search.best_index_ < n_candidates == search.n_candidates_, "the winner is a candidate")
    if hasattr(search, "predict") and (hasattr(search, "best_estimator_") or which == "TunedThreshold"):
        answer = attempt(lambda: search.predict(X))
        expect(len(answer) == len(X), "every row has an answer", answer)
