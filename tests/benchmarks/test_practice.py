"""The suite of small tasks on tiny tables: every task has its measures, and every claim a number."""

from __future__ import annotations

import pytest

from benchmarks.practice import QUICK, list_cases, list_claims
from benchmarks.practice_jobs import OURS_ANEW, OURS_CLASSES, SKLEARN, fit_levels, predict_sets, refit_drifted
from benchmarks.report import OURS


@pytest.mark.parametrize("contender", [OURS, OURS_CLASSES])
def test_ordered_classes_have_probabilities(contender: str) -> None:
    found = fit_levels(contender, "drawn", 600, 3, 1, 1)
    assert set(found["measures"]) == {"QWK", "MAE", "log-loss"}
    assert found["score"] == found["measures"]["QWK"] > 0.0


@pytest.mark.parametrize("contender", [OURS, SKLEARN])
def test_sets_cover_what_was_asked_for(contender: str) -> None:
    measures = predict_sets(contender, 900, 40, 1, 1)["measures"]
    assert measures["coverage"] > 0.8
    assert 1.0 < measures["classes in a set"] <= 6.0


def test_leaves_follow_drifted_rows() -> None:
    measures = refit_drifted(OURS, 1200, 40, 1, 1)["measures"]
    assert measures["R²"] > measures["R² before"]
    assert refit_drifted(OURS_ANEW, 1200, 40, 1, 1)["measures"]["R² before"] == measures["R² before"]


def test_every_claim_has_a_number() -> None:
    pytest.importorskip("lightgbm", reason="the peer of most tasks; pip install 'committee[bench]'")
    cases = list_cases(QUICK, 1)
    outcome = {"best": 1.0, "measures": dict.fromkeys(["QWK", "log-loss", "coverage", "classes in a set", "R²"], 0.5)}
    outcome["measures"] |= {"F1": 0.5, "accuracy": 0.5}
    outcomes = {case.name: dict.fromkeys(case.jobs, outcome) for case in cases}
    reached = [claim.check(outcomes)["reached"] for claim in list_claims(cases)]
    assert len(reached) >= 9
    assert "nan" not in " ".join(reached)
