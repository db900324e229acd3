"""What the page gets for a state: one JSON object, with arrays as base64 of small types."""

from __future__ import annotations

import base64
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import CommitteeError
from committee.lab.curves import measure_bias, measure_curves
from committee.lab.fits import fit_rounds, pick_classes
from committee.lab.snippet import write_snippet
from committee.lab.state import write_link

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.lab.fits import RoundsFit
    from committee.lab.state import LabState
    from committee.typing import FloatArray

__all__ = ["FittedState", "answer_bias", "answer_film", "answer_state", "pack_array"]

#: Points along each axis of the surface of the first answer, and of those that follow for all rounds.
QUICK_SIZE, FILM_SIZE = 48, 96
# A code of the surface is class * 32 + confidence.
CONFIDENCES = 32
# A code of a weight is 51 times its square root: a radius, up to 25 times the mean weight.
_WEIGHT_UNIT = 51.0
_MOST_FILM_ROUNDS = 50

_DTYPES = {"uint8": "u8", "float32": "f32"}


def pack_array(values: NDArray[np.generic]) -> dict[str, object]:
    """An array for the page: type, shape and base64 of its bytes, least byte first.

    Parameters
    ----------
    values : ndarray
        Of type uint8, or numbers that become float32.

    Returns
    -------
    dict
    """
    array = values if values.dtype == np.uint8 else values.astype("<f4")
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return {"dtype": _DTYPES[array.dtype.name], "shape": list(array.shape), "data": data}


class FittedState:
    """A fit and what was computed from it; the server keeps some of them.

    Parameters
    ----------
    state : LabState
        Any of its rounds.
    """

    def __init__(self, state: LabState) -> None:
        self.fit: RoundsFit = fit_rounds(state)

    @cached_property
    def film(self) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
        """Codes of the surface after every round, and classes of every member, (n_rounds, size, size)."""
        grid = make_grid(self.fit, FILM_SIZE)
        shape = (self.fit.n_rounds, FILM_SIZE, FILM_SIZE)
        surface = code_surface(self.fit.predict_rounds(grid, 1, self.fit.n_rounds))
        members = pick_classes(self.fit.predict_each_member(grid)).astype(np.uint8)
        return surface.reshape(shape), members.reshape(shape)

    @cached_property
    def fixed(self) -> dict[str, object]:
        """The part of the answer that is the same for all rounds."""
        fit, curves = self.fit, measure_curves(self.fit)
        radii = np.minimum(255.0, np.round(_WEIGHT_UNIT * np.sqrt(fit.weights))).astype(np.uint8)
        answer: dict[str, object] = {
            "task": fit.state.task,
            "classes": list(fit.sample.class_names),
            "features": list(fit.sample.feature_names),
            "box": list(fit.sample.box),
            "train": _pack_points(fit.sample.X, fit.sample.y),
            "test": _pack_points(fit.sample.X_test, fit.sample.y_test),
            "rounds": fit.n_rounds,
            "members": fit.member_names(),
            "weights": {"meaning": fit.weights_mean, "radii": pack_array(radii)},
            "errors": {name: pack_array(curve) for name, curve in curves.errors.items()},
            "losses": {name: pack_array(curve) for name, curve in curves.losses.items()},
        }
        if curves.margins is not None:
            answer["margins"] = pack_array(np.round(127.5 * (curves.margins + 1.0)).astype(np.uint8))
        if curves.values is not None:
            answer["values"] = pack_array(curves.values)
            answer["curve"] = self._draw_curves()
        return answer

    def _draw_curves(self) -> dict[str, object]:
        x = self.fit.curve_x
        members = self.fit.predict_each_member(x[:, None])
        return {"x": pack_array(x), "after": pack_array(self.fit.curve_after), "member": pack_array(members)}

    def draw_surface(self, number: int) -> dict[str, object]:
        """The surface after one round, on the quick grid, and the class of its member."""
        grid = make_grid(self.fit, QUICK_SIZE)
        surface = code_surface(self.fit.predict_round(grid, number))
        member = self.fit.predict_member(grid, number).argmax(axis=1).astype(np.uint8)
        shape = (1, QUICK_SIZE, QUICK_SIZE)
        return {
            "first": number,
            "size": QUICK_SIZE,
            "codes": pack_array(surface.reshape(shape)),
            "member": pack_array(member.reshape(shape)),
        }


def make_grid(fit: RoundsFit, size: int) -> FloatArray:
    """Centres of the cells of a square grid over the box, from the bottom row up."""
    left, right, bottom, top = fit.sample.box
    steps = (np.arange(size) + 0.5) / size
    across, up = np.meshgrid(left + (right - left) * steps, bottom + (top - bottom) * steps)
    return np.column_stack([across.ravel(), up.ravel()])


def code_surface(predicted: FloatArray) -> NDArray[np.uint8]:
    """Class and confidence in one byte: 32 times the class, and 0 to 31 from a tie to certainty."""
    n_classes = predicted.shape[-1]
    winner = pick_classes(predicted)
    top = np.maximum(predicted[..., 0], predicted[..., 1]) if n_classes == 2 else predicted.max(axis=-1)
    share = (top - 1.0 / n_classes) / (1.0 - 1.0 / n_classes)
    level = np.clip(np.round((CONFIDENCES - 1) * share), 0, CONFIDENCES - 1)
    return np.asarray(winner * CONFIDENCES + level, dtype=np.uint8)


def _pack_points(X: FloatArray, y: NDArray[np.generic]) -> dict[str, object]:
    if X.shape[1] == 1:
        return {"x": pack_array(X[:, 0]), "y": pack_array(y)}
    return {"x": pack_array(X[:, 0]), "y": pack_array(X[:, 1]), "label": pack_array(y.astype(np.uint8))}


def answer_state(state: LabState, fitted: FittedState | None = None) -> dict[str, object]:
    """All that the page shows of a state.

    Parameters
    ----------
    state : LabState
        The state.
    fitted : FittedState, optional
        Its fit, if it was fitted before.

    Returns
    -------
    dict
        Ready for JSON.
    """
    fitted = FittedState(state) if fitted is None else fitted
    number = min(state.round or fitted.fit.n_rounds, fitted.fit.n_rounds)
    shown = state.at_round(number)
    answer = {**fitted.fixed, "round": number, "link": write_link(shown), "snippet": write_snippet(shown, fitted.fit)}
    if fitted.fit.is_classifier:
        answer["surface"] = fitted.draw_surface(number)
    return answer


def answer_film(fitted: FittedState, first: int, last: int) -> dict[str, object]:
    """Surfaces after some rounds, at most fifty.

    Parameters
    ----------
    fitted : FittedState
        A fit to classes.
    first, last : int
        Rounds, counted from 1 and included.

    Returns
    -------
    dict
        Ready for JSON.
    """
    first = max(1, first)
    last = min(last, fitted.fit.n_rounds, first + _MOST_FILM_ROUNDS - 1)
    surface, members = fitted.film
    return {
        "first": first,
        "size": FILM_SIZE,
        "codes": pack_array(surface[first - 1 : last]),
        "member": pack_array(members[first - 1 : last]),
    }


def answer_bias(fitted: FittedState, n_members: int) -> dict[str, object]:
    """Bias and variance over bootstrap samples for one size of the ensemble.

    Parameters
    ----------
    fitted : FittedState
        The fit.
    n_members : int
        Size of the ensemble.

    Returns
    -------
    dict
        Ready for JSON; without estimates where the points are too few for bootstrap samples.
    """
    n_members = max(1, min(n_members, fitted.fit.n_rounds))
    try:
        found = measure_bias(fitted.fit.state, fitted.fit.sample.X, fitted.fit.sample.y, n_members)
    except (CommitteeError, ValueError) as error:  # a sample of few points may lack a class
        return {"members": n_members, "unknown": str(error)}
    if not np.isfinite(list(found.values())).all():
        return {"members": n_members, "unknown": "Every point was in every sample."}
    return {**found}
