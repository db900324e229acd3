"""The benchmark of predicted distributions on tiny data."""

import numpy as np

from benchmarks.distributions import NGBOOST, OURS, make_rows, render, run_case


def test_ours_is_fitted_and_scored() -> None:
    outcome = run_case("diabetes", OURS, quick=True, peer_python=None)
    assert outcome is not None
    assert outcome["seconds"] > 0.0
    assert 0.5 < outcome["coverage"] <= 1.0
    constant = np.abs(make_rows("diabetes", 200)["y_test"] - 150.0).mean()
    assert 0.0 < outcome["crps"] < constant


def test_a_contender_without_an_environment_is_named_on_the_page() -> None:
    assert run_case("diabetes", NGBOOST, quick=True, peer_python=None) is None
    page = render({"diabetes": {NGBOOST: None}}, "A machine.")
    assert "| diabetes | NGBoost | not measured | | | | |" in page
