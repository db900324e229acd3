"""A clock for searches with a budget, whose tests must not depend on the time."""

from __future__ import annotations

from typing import Any


class Clock:
    """Time that passes only when a search looks at it."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def with_clock(search: Any, step: float) -> Any:
    search._clock = Clock(step)
    return search
