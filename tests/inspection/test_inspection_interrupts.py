"""Ctrl-C in explanations and predictions: polls come after a bounded amount of work, however many trees or repeats."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest

from committee import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from committee.inspection import oob_importance, partial_dependence, permutation_importance, shap_values
from committee.learners.tree_rows import apply_trees
from tests.interrupts import count_polls, interrupt_at_poll

N_ROWS, N_TREES = 6000, 12
RNG = np.random.default_rng(0)
X = RNG.random(size=(N_ROWS, 6))
Y = X[:, 0] + X[:, 1] * X[:, 2] + 0.3 * RNG.normal(size=N_ROWS)
MANY = np.tile(X, (20, 1))


@cache
def forest() -> Any:
    return RandomForestRegressor(N_TREES, random_state=0, n_jobs=1).fit(X, Y)


@cache
def classifier() -> Any:
    return RandomForestClassifier(N_TREES, random_state=0, n_jobs=1).fit(X, Y > 0.7)


@cache
def boosted() -> Any:
    model = GradientBoostingRegressor(n_estimators=60, random_state=0, n_jobs=1)
    return model.set_params(early_stopping=False).fit(X, Y)


def explain_block() -> object:
    return shap_values(forest(), X[:8], n_jobs=1)


def explain_pairs() -> object:
    return shap_values(forest(), X[:1], interactions=True, n_jobs=1)


def explain_against() -> object:
    return shap_values(forest(), X[:4], background=X[:200], n_jobs=1)


def permute_oob() -> object:
    return oob_importance(forest(), X, Y, n_repeats=3)


def debias() -> object:
    return oob_importance(forest(), X, Y, kind="impurity")


def permute() -> object:
    return permutation_importance(forest(), X, Y, n_repeats=5, random_state=0, n_jobs=1)


def depend_by_rows() -> object:
    return partial_dependence(forest(), X[:50], [0, 1], grid_resolution=10, n_jobs=1)


def predict() -> object:
    return forest().predict(MANY)


def predict_classes() -> object:
    return classifier().predict_proba(MANY)


def predict_boosted() -> object:
    return boosted().predict(MANY)


def apply() -> object:
    return apply_trees(forest()._trees, MANY, 1)


# The least number of polls: one in some milliseconds of work, which is counted in steps through trees.
WORK: dict[Callable[[], object], int] = {
    explain_block: N_TREES + 4,
    explain_pairs: 5 * N_TREES,
    explain_against: 4 * N_TREES + 2,
    permute_oob: 5 * N_TREES,
    debias: N_TREES,
    permute: 6 * N_TREES,
    depend_by_rows: N_TREES,
    predict: N_TREES,
    predict_classes: N_TREES,
    predict_boosted: 20,
    apply: N_TREES,
}


@pytest.mark.parametrize("work", WORK, ids=lambda work: work.__name__)
def test_work_is_polled_and_stops(work: Callable[[], object]) -> None:
    work()  # what is made on first use is there
    n_polls = count_polls(work)
    assert n_polls >= WORK[work]
    for at in (1, n_polls // 2, n_polls):
        interrupt_at_poll(at, work)
    assert count_polls(work) == n_polls
