"""Recordings: all answers of a state in one file, for a page without a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from committee.lab.answers import FittedState, answer_bias, answer_film, answer_state
from committee.lab.state import describe_choices

if TYPE_CHECKING:
    from committee.lab.state import LabState

__all__ = ["choose_sizes", "record_scene"]


def choose_sizes(n_rounds: int) -> list[int]:
    """Sizes of the ensemble at which bias and variance are estimated: about doubling.

    Parameters
    ----------
    n_rounds : int
        The largest.

    Returns
    -------
    list of int
    """
    sizes = [1]
    while sizes[-1] < n_rounds:
        following = 2 * sizes[-1] + (sizes[-1] > 2)
        sizes.append(following if 1.2 * following < n_rounds else n_rounds)
    return sizes


def record_scene(state: LabState, title: str) -> str:
    """A script that holds a state with all its rounds, to be loaded before those of the page.

    Parameters
    ----------
    state : LabState
        What to record; its round is shown first.
    title : str
        A sentence on what there is to see.

    Returns
    -------
    str
        JavaScript that defines ``LAB_RECORDING``.

    Examples
    --------
    >>> from committee.lab import LabState
    >>> record_scene(LabState(n=20, rounds=2), "Two stumps.")[:23]
    'window.LAB_RECORDING = '
    """
    fitted = FittedState(state)
    last = fitted.fit.n_rounds
    films = []
    if fitted.fit.is_classifier:
        first = 1
        while first <= last:
            films.append(answer_film(fitted, first, last))
            first += 50
    recorded = {
        "title": title,
        "choices": describe_choices(),
        "answer": answer_state(state, fitted),
        "films": films,
        "bias": [answer_bias(fitted, size) for size in choose_sizes(last)],
    }
    return f"window.LAB_RECORDING = {json.dumps(recorded)};\n"
