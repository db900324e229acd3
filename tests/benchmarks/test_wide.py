"""The benchmark of wide tables on tiny data."""

from __future__ import annotations

import pytest

from benchmarks.measure import Job
from benchmarks.report import OURS, Case
from benchmarks.wide import CONTENDERS, QUICK, SKLEARN, WideReport, fit_wide, list_cases, predict_wide

SIZES = vars(QUICK) | {"n_rows": 600, "n_columns": 70, "n_test": 300, "n_trees": 30, "n_rounds": 20}


@pytest.mark.parametrize("model", CONTENDERS)
def test_ours_learns_something(model: str) -> None:
    outcome = fit_wide(OURS, model, SIZES, 1)
    assert outcome["seconds"]
    assert outcome["score"] > 0.55
    assert predict_wide(OURS, model, SIZES, 1)["score"] == outcome["score"]


def test_every_contender_has_a_fit_and_a_prediction() -> None:
    cases = list_cases(QUICK, 1)
    assert len(cases) == 2 * len(CONTENDERS)
    assert all(OURS in case.jobs for case in cases)


def test_the_page_has_both_clocks() -> None:
    outcomes = {
        "a: fit": {
            OURS: {"best": 1.0, "median": 1.5, "cpu": [0.5, 0.75], "seconds": [1.0, 2.0], "score": 0.25},
            SKLEARN: {"best": 3.0, "median": 3.5, "cpu": [2.0], "seconds": [3.0], "score": 0.125},
        }
    }
    case = Case("a: fit", {who: Job("module:function", {}, 2) for who in outcomes["a: fit"]})
    page = WideReport("wide_any", {"cores": "2"}, 0.5, False, [case], outcomes, []).render()
    assert "| a: fit | 2 | scikit-learn | 3 s | 3.5 s | 3.00 | 0.1250 |" in page
    assert "| a: fit | scikit-learn | 2 s | 4.00 | 0.1250 |" in page
    assert page.rstrip().endswith(WideReport.notes[-1])
