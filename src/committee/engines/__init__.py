"""Where rows are counted: engines that offer the same verbs, so that a learner does not know which one it uses."""

from __future__ import annotations

from typing import cast

from committee import _core
from committee.engines.protocol import Engine

__all__ = ["Engine", "get_engine"]


def get_engine() -> Engine:
    """The engine that grows and predicts trees: the compiled core, on the CPU."""
    return cast(Engine, _core)
