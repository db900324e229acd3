"""Ctrl-C without a clock: the polls of the core are counted, and a chosen one finds SIGINT pending."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import pytest

from committee._core import testing


def count_polls(work: Callable[[], Any]) -> int:
    """How often the calling thread looks for signals during the work."""
    testing.start_polls()
    try:
        work()
        return int(testing.count_polls())
    finally:
        testing.stop_polls()


def interrupt_at_poll(
    at: int,
    work: Callable[[], Any],
    handler: Callable[..., Any] = signal.default_int_handler,
    error: type[BaseException] = KeyboardInterrupt,
) -> None:
    """The work raises what the handler of SIGINT raises, and does not go on to another poll."""
    before = signal.signal(signal.SIGINT, handler)
    testing.start_polls(at)
    try:
        with pytest.raises(error):
            work()
        assert testing.count_polls() == at
    finally:
        testing.stop_polls()
        signal.signal(signal.SIGINT, before)
