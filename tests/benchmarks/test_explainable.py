"""The benchmark of additive models on tiny data."""

from benchmarks.explainable import INTERPRET, OURS, render, run_case


def test_ours_is_fitted_and_scored() -> None:
    outcome = run_case("breast cancer", OURS, quick=True, n_jobs=1, peer_python=None)
    assert outcome is not None
    assert outcome["seconds"] > 0.0
    assert 0.8 < outcome["score"] <= 1.0


def test_a_contender_without_an_environment_is_named_on_the_page() -> None:
    assert run_case("diabetes", INTERPRET, quick=True, n_jobs=1, peer_python=None) is None
    ours = {"seconds": 2.0, "score": 0.5}
    page = render({"a": {OURS: ours, INTERPRET: {"seconds": 30.0, "score": 0.4}}, "b": {INTERPRET: None}}, "A machine.")
    assert "| a | committee | 2.00 | 0.5000 | 15.0 |" in page
    assert "| b | InterpretML | not measured | | |" in page
