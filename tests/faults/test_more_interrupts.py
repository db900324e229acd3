"""Ctrl-C in the fits that the contract does not list: at the first poll, in the middle and at the last one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import committee
from committee.search import RandomSearch
from tests.interrupts import count_polls, interrupt_at_poll

RNG = np.random.default_rng(0)
X = RNG.random(size=(6000, 5))
VALUES = X[:, 0] + X[:, 1] * X[:, 2]
RANKS = np.digitize(VALUES, [0.5, 1.0])
WORDS = sp.random(6000, 40, 0.1, format="csr", random_state=0)
QUERIES = np.arange(len(X)) // 20
MODELS: dict[str, tuple[Callable[[], Any], Any, dict[str, Any], Any]] = {
    "isolation": (lambda: committee.IsolationForest(n_estimators=3, max_samples=4000, n_jobs=1), X, {}, None),
    "survival": (lambda: committee.RandomSurvivalForest(n_estimators=2, max_depth=5, n_jobs=1), X, {}, np.exp(VALUES)),
    "boosted survival": (
        lambda: committee.GradientBoostingSurvivalAnalysis(n_estimators=2, n_jobs=1),
        X,
        {},
        np.exp(VALUES),
    ),
    "ranking": (lambda: committee.GradientBoostingRanker(n_estimators=2, n_jobs=1), X, {"qid": QUERIES}, RANKS),
    "ordered classes": (lambda: committee.OrdinalGradientBoostingClassifier(n_estimators=2, n_jobs=1), X, {}, RANKS),
    "additive": (
        lambda: committee.ExplainableBoostingRegressor(outer_bags=2, max_iter=3, interactions=2, n_jobs=1),
        X,
        {},
        VALUES,
    ),
    "words": (lambda: committee.BoosTexterClassifier(n_estimators=3, n_jobs=1), WORDS, {}, RANKS),
    "bag of stumps": (
        lambda: committee.BaggingClassifier(committee.DecisionStumpClassifier(), n_estimators=2, n_jobs=1),
        X,
        {},
        RANKS,
    ),
    "glass box": (
        lambda: committee.ExplainableBoostingRegressor(max_iter=3, outer_bags=2, random_state=0, n_jobs=1),
        X,
        {},
        VALUES,
    ),
    "distribution": (
        lambda: committee.DistributionalBoostingRegressor(n_estimators=2, random_state=0, n_jobs=1),
        X,
        {},
        VALUES,
    ),
    "several outputs": (
        lambda: committee.ExtraTreesRegressor(n_estimators=2, max_depth=5, random_state=0, n_jobs=1),
        X,
        {},
        np.column_stack([VALUES, -VALUES]),
    ),
    "stump": (lambda: committee.DecisionStumpClassifier(n_jobs=1), np.tile(X, (6, 2)), {}, np.tile(RANKS, 6)),
    "search": (
        lambda: RandomSearch(
            committee.DecisionTreeRegressor(n_jobs=1), {"max_depth": [2, 5]}, n_candidates=2, cv=2, n_jobs=1
        ),
        X,
        {},
        VALUES,
    ),
    "stack": (
        lambda: committee.StackingRegressor([("tree", committee.DecisionTreeRegressor(max_depth=4))], "mean", cv=2),
        X,
        {},
        VALUES,
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_fit_stops_at_a_poll_and_keeps_the_old_state(name: str) -> None:
    make, table, more, y = MODELS[name]
    model = make().set_params(**({"random_state": 0} if "random_state" in make().get_params() else {}))
    model.fit(table, y, **more)
    answers = model.predict(table[:200])
    n_polls = count_polls(lambda: model.fit(table, y, **more))
    before = dict(vars(model))
    assert n_polls >= 3
    for at in (1, (n_polls + 1) // 2, n_polls):
        interrupt_at_poll(at, lambda: model.fit(table, y, **more))
        assert vars(model).keys() == before.keys()
        assert all(vars(model)[key] is before[key] for key in before)
        np.testing.assert_array_equal(model.predict(table[:200]), answers)
