"""Boosting on workers that hold blocks of rows, to the bytes of boosting in this process."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest

import committee
from tests.engines.block_cases import make_table, make_target

X = make_table(2000)[0]
CLASSES = make_target(X, "softmax", 3)


def fit() -> committee.HistGradientBoostingClassifier:
    return committee.HistGradientBoostingClassifier(
        max_iter=3, random_state=0, categorical_features=[4, 7], early_stopping=False
    ).fit(X, CLASSES, np.arange(len(X)) % 3)


@pytest.fixture(scope="module")
def alone() -> committee.HistGradientBoostingClassifier:
    return fit()


def assert_equal(one: Any, other: Any) -> None:
    assert one._trees.nodes.tobytes() == other._trees.nodes.tobytes()
    assert one._trees.values.tobytes() == other._trees.values.tobytes()


def test_on_processes(alone: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "committee"), committee.cluster(2, distribute="always") as active:
        model = fit()
        # Three rounds: the trees of all classes take their steps together, in fewer than 20 round trips.
        assert 30 < active.traffic.rounds < 3 * 20 + 10
    assert_equal(model, alone)
    assert "with 4 blocks of rows on 2 workers" in caplog.text


def test_few_rows_stay_in_this_process(alone: Any, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "committee"), committee.cluster(2):
        assert_equal(fit(), alone)
    assert "2000 rows are fewer than 500000 for each of 2 workers" in caplog.text
