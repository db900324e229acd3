"""The benchmark of several targets on tiny data."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.measure import Job
from benchmarks.report import OURS, Case
from benchmarks.several_targets import (
    ADABOOST,
    AUTOMATIC,
    CLASSES,
    CONTENDERS,
    LABELS,
    NUMBERS,
    OURS_JOINT,
    QUICK,
    TargetsReport,
    fit_targets,
    make_table,
)

SIZES = vars(QUICK) | {"n_rows": 1200, "n_estimators": 20}


@pytest.mark.parametrize("case", [LABELS, CLASSES, NUMBERS])
@pytest.mark.parametrize("contender", [OURS, OURS_JOINT, ADABOOST, AUTOMATIC])
def test_ours_learns_something_of_every_target(case: str, contender: str) -> None:
    outcome = fit_targets(contender, case, SIZES, 1)
    assert outcome["seconds"]
    _, y = make_table(case, 1500)
    if case == NUMBERS:
        assert outcome["score"] > 0.1
        return
    shares = [np.bincount(y[:, k]) / len(y) for k in range(y.shape[1])]
    known = -float(np.mean([-(own * np.log(own)).sum() for own in shares]))
    assert outcome["score"] > known


@pytest.mark.parametrize(("contender", "package"), [("XGBoost", "xgboost"), ("CatBoost", "catboost")])
@pytest.mark.parametrize("case", [LABELS, CLASSES, NUMBERS])
def test_peers_are_scored_alike(case: str, contender: str, package: str) -> None:
    pytest.importorskip(package)
    ours, theirs = (fit_targets(who, case, SIZES, 1)["score"] for who in (OURS, contender))
    assert contender in CONTENDERS[case]
    assert abs(ours - theirs) < 0.3


def test_the_page_has_both_clocks() -> None:
    outcomes = {
        "a: fit": {
            OURS: {"best": 1.0, "median": 1.5, "cpu": [0.5, 0.75], "seconds": [1.0, 2.0], "score": 0.25},
            "XGBoost": {"best": 2.0, "median": 2.5, "cpu": [2.0], "seconds": [2.0], "score": 0.125},
        }
    }
    case = Case("a: fit", {who: Job("module:function", {}, 2) for who in outcomes["a: fit"]})
    page = TargetsReport("several_targets", {"cores": "2"}, 0.5, False, [case], outcomes, []).render()
    assert "| a: fit | 2 | XGBoost | 2 s | 2.5 s | 2.00 | 0.1250 |" in page
    assert "| a: fit | XGBoost | 2 s | 4.00 | 0.1250 |" in page
    assert "Others used 50% of the machine" in page
