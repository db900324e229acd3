"""The benchmark of additive models on tiny data."""

import numpy as np

from benchmarks.explainable import INTERPRET, OURS, find_error, make_frame, render, run_case


def test_ours_is_fitted_and_scored() -> None:
    outcomes = run_case("breast cancer", quick=True, n_jobs=1, peer_python=None)
    outcome = outcomes[OURS]
    assert outcome is not None
    assert outcome["seconds"] > 0.0
    assert 0.8 < outcome["score"] <= 1.0
    assert outcomes[INTERPRET] is None


def test_the_page_has_differences_and_names_who_is_not_measured() -> None:
    ours, peer = {"seconds": 2.0, "score": 0.5, "error": 0.01}, {"seconds": 30.0, "score": 0.4}
    page = render({"a": {OURS: ours, INTERPRET: peer}, "b": {INTERPRET: None}}, "A machine.")
    assert "| a | committee | 2.00 | 0.5000 | +0.1000 ± 0.0100 | 15.0 |" in page
    assert "| a | InterpretML | 30.00 | 0.4000 |  |  |" in page
    assert "| b | InterpretML | not measured | | | |" in page


def test_the_error_of_a_difference_shrinks_with_the_rows() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=4000)
    first, second = y + rng.normal(size=4000), y + rng.normal(size=4000)
    errors = [find_error("diabetes", y[:n], first[:n], second[:n], n_samples=100) for n in (250, 4000)]
    assert find_error("diabetes", y, first, first, n_samples=10) == 0.0
    assert 2.0 < errors[0] / errors[1] < 8.0


def test_texts_are_categories_with_missing_values() -> None:
    rows = {"names": np.array(["a", "b"]), "train a": np.array([1.0, 2.0]), "train b": np.array(["x", ""])}
    frame = make_frame(rows, "train", OURS)
    assert frame["b"].cat.categories.tolist() == ["x"]
    assert frame["b"].isna().tolist() == [False, True]
    assert make_frame(rows, "train", INTERPRET)["b"].tolist() == ["x", None]
