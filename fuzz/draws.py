"""Decisions of a case, all drawn from its seed and number, and written down as they are made."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

__all__ = ["EXTREMES", "Draw", "show_short"]

T = TypeVar("T")

#: Numbers at the edges of what doubles and integers can be.
EXTREMES: tuple[Any, ...] = (
    0.0,
    -0.0,
    1.0,
    np.nan,
    np.inf,
    -np.inf,
    1e308,
    -1e308,
    1.7976931348623157e308,
    1e271,
    1e200,
    1e154,
    1e-154,
    1e-300,
    5e-324,
    -5e-324,
    2.0**53 + 2,
    float(2**63),
    3.5e38,
    65520.0,
    1 / 3,
    1e16 + 2,
)


class Draw:
    """Draws the decisions of one case; equal seeds and numbers give equal decisions."""

    def __init__(self, seed: int, number: int) -> None:
        self.random = random.Random(f"{seed}:{number}")
        self.numbers = np.random.default_rng([seed, number])
        self.notes: list[str] = []

    def pick(self, options: Sequence[T]) -> T:
        """One of the options."""
        return options[self.random.randrange(len(options))]

    def pick_name(self, weights: dict[str, float]) -> str:
        """One of the names, as often as its weight says."""
        return self.random.choices(list(weights), list(weights.values()))[0]

    def chance(self, share: float) -> bool:
        """True in this share of all cases."""
        return self.random.random() < share

    def note(self, what: str, value: object) -> None:
        """Write down a decision, for whoever repeats the case."""
        self.notes.append(f"{what}: {show_short(value)}")


def show_short(value: object) -> str:
    """A value in at most 200 signs."""
    try:
        text = " ".join(repr(value).split())
    except Exception as error:
        text = f"<{type(value).__name__} without a repr: {type(error).__name__}>"
    return text if len(text) <= 200 else f"{text[:197]}..."
