"""What the page of the lab gets."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from committee.exceptions import DataError
from committee.lab import LabState, answer_film, answer_state, read_link, record_scene
from committee.lab.answers import FILM_SIZE, QUICK_SIZE, FittedState, answer_bias, code_surface, make_grid, pack_array
from committee.lab.recording import choose_sizes

SMALL = LabState("moons", n=60, rounds=12, depth=1)


def unpack(packed: Any) -> np.ndarray:
    dtype = {"u8": np.uint8, "f32": "<f4"}[packed["dtype"]]
    return np.frombuffer(base64.b64decode(packed["data"]), dtype=dtype).reshape(packed["shape"])


def test_arrays_come_back() -> None:
    values = np.array([[0.5, -1.25], [3.0, 1e-3]])
    np.testing.assert_array_equal(unpack(pack_array(values)), values.astype(np.float32))
    codes = np.arange(6, dtype=np.uint8).reshape(2, 3)
    np.testing.assert_array_equal(unpack(pack_array(codes)), codes)


def test_a_code_is_a_class_and_a_confidence() -> None:
    codes = code_surface(np.array([[0.5, 0.5], [1.0, 0.0], [0.25, 0.75]]))
    assert codes.tolist() == [0, 31, 32 + 16]
    assert code_surface(np.array([[0.0, 0.0, 1.0]])).tolist() == [2 * 32 + 31]


def test_an_answer_has_all_that_is_shown() -> None:
    answer: Any = json.loads(json.dumps(answer_state(SMALL.at_round(5))))
    assert answer["task"] == "classification"
    assert (answer["rounds"], answer["round"]) == (12, 5)
    assert read_link(answer["link"]) == SMALL.at_round(5)
    assert set(answer["errors"]) == {"training", "test"}
    assert set(answer["losses"]) == {"training error", "exponential loss", "bound of the training error"}
    assert unpack(answer["weights"]["radii"]).shape == (12, 60)
    assert (unpack(answer["weights"]["radii"])[0] == 51).all()
    assert unpack(answer["margins"]).shape == (12, 60)
    assert answer["surface"]["first"] == 5
    assert unpack(answer["surface"]["codes"]).shape == (1, QUICK_SIZE, QUICK_SIZE)
    left, right, bottom, top = answer["box"]
    x, y = unpack(answer["train"]["x"]), unpack(answer["train"]["y"])
    assert left < x.min() <= x.max() < right
    assert bottom < y.min() <= y.max() < top
    assert set(unpack(answer["train"]["label"])) == {0, 1}


def test_the_surface_is_the_prediction_of_the_model() -> None:
    fitted = FittedState(SMALL)
    film: Any = answer_film(fitted, 1, 12)
    codes = unpack(film["codes"])
    assert codes.shape == (12, FILM_SIZE, FILM_SIZE)
    grid = make_grid(fitted.fit, FILM_SIZE)
    np.testing.assert_array_equal(codes[-1].ravel() // 32, fitted.fit.model.predict(grid))
    np.testing.assert_array_equal(codes[2].ravel() // 32, list(fitted.fit.model.staged_predict(grid))[2])
    member = unpack(film["member"])[4].ravel()
    np.testing.assert_array_equal(member, fitted.fit.model.estimators_[4].predict(grid))


def test_a_film_comes_in_pieces() -> None:
    fitted = FittedState(LabState(n=40, rounds=60, method="forest", depth=2))
    whole = fitted.film[0]
    pieces: list[Any] = [answer_film(fitted, first, 60) for first in (1, 51)]
    assert [piece["codes"]["shape"][0] for piece in pieces] == [50, 10]
    np.testing.assert_array_equal(np.concatenate([unpack(piece["codes"]) for piece in pieces]), whole)


def test_a_fit_to_values_has_curves() -> None:
    state = LabState("sine", algorithm="r2", method="boosting", n=40, rounds=7, rate=0.2, depth=2)
    answer: Any = answer_state(state)
    assert "surface" not in answer
    curve = answer["curve"]
    assert unpack(curve["after"]).shape == unpack(curve["member"]).shape == (7, unpack(curve["x"]).size)
    assert unpack(answer["values"]).shape == (7, 40)
    assert answer["weights"]["meaning"] == "gradient of the loss before this round"


@pytest.mark.parametrize(
    ("n_rounds", "sizes"), [(1, [1]), (5, [1, 2, 4, 5]), (46, [1, 2, 4, 9, 19, 46]), (80, [1, 2, 4, 9, 19, 39, 80])]
)
def test_bias_is_estimated_at_few_sizes(n_rounds: int, sizes: list[int]) -> None:
    assert choose_sizes(n_rounds) == sizes


def test_a_recording_holds_every_round() -> None:
    text = record_scene(SMALL, "Stumps on moons.")
    recorded = json.loads(text.removeprefix("window.LAB_RECORDING = ").removesuffix(";\n"))
    assert recorded["title"] == "Stumps on moons."
    assert unpack(recorded["films"][0]["codes"]).shape[0] == 12
    assert [one["members"] for one in recorded["bias"]] == [1, 2, 4, 9, 12]


def test_points_that_are_too_few_for_bootstrap_samples_have_no_bias(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise DataError("y has one class.")

    monkeypatch.setattr("committee.lab.answers.measure_bias", refuse)
    assert answer_bias(FittedState(SMALL), 2) == {"members": 2, "unknown": "y has one class."}
    monkeypatch.setattr("committee.lab.answers.measure_bias", lambda *_: {"members": 2, "bias": float("nan")})
    assert "unknown" in answer_bias(FittedState(SMALL), 2)
