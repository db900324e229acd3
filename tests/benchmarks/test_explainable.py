"""The benchmark of additive models on tiny data."""

import numpy as np
import pytest

from benchmarks.explainable import INTERPRET, OURS, find_error, join_splits, make_frame, make_rows, render, run_split


def test_ours_is_fitted_and_scored() -> None:
    outcomes = run_split("breast cancer", 1, n_rows=300, quick=True, peer_python=None)
    assert list(outcomes) == [OURS]
    assert outcomes[OURS]["seconds"] > 0.0
    assert 0.8 < outcomes[OURS]["score"] <= 1.0
    assert join_splits([outcomes])[INTERPRET] is None


def test_splits_are_of_the_same_rows() -> None:
    first, second = (make_rows("drawn", 100, split) for split in (0, 1))
    assert len(first["y_test"]) == 25
    assert first["y_test"].tolist() != second["y_test"].tolist()
    values = [sorted([*rows["y"].tolist(), *rows["y_test"].tolist()]) for rows in (first, second)]
    assert values[0] == values[1]


def test_the_error_is_the_larger_of_bootstrap_and_spread() -> None:
    def outcome(score: float, error: float) -> dict[str, dict[str, float]]:
        return {
            OURS: {"seconds": 2.0, "score": score, "error": error},
            INTERPRET: {"seconds": 30.0, "score": 0.4},
        }

    steady, spread = (join_splits([outcome(0.5, 0.1), outcome(score, 0.1)])[OURS] for score in (0.5, 0.9))
    assert steady is not None
    assert spread is not None
    assert steady["difference"] == pytest.approx(0.1)
    assert steady["error"] == pytest.approx(0.1 / 2**0.5)
    assert spread["error"] == pytest.approx(0.2)


def test_the_page_has_differences_and_names_who_is_not_measured() -> None:
    ours, peer = {"seconds": 2.0, "score": 0.5, "difference": 0.1, "error": 0.01}, {"seconds": 30.0, "score": 0.4}
    page = render({"a": {OURS: ours, INTERPRET: peer}, "b": {INTERPRET: None}}, "A machine.", 5_000, 3)
    assert "at most 5,000 rows" in page
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
