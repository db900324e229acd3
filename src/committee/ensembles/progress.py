"""How far a long fit is: told to whoever listens, or on the standard error stream, by Rich where it is installed."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Listener", "ProgressCallback", "listen", "show_progress"]

_PLAIN_SECONDS = 2.0
"""Seconds between two lines of plain text."""


class ProgressCallback(Protocol):
    """Says how much is done, and what came of it."""

    def __call__(self, done: int, note: str = "") -> None:
        """So many steps are done."""


class Listener(Protocol):
    """Whoever wants to show the progress of fits in a way of their own."""

    def open(self, title: str, total: int) -> ProgressCallback:
        """A fit begins, perhaps inside another one."""

    def close(self) -> None:
        """The latest fit that began has ended."""


# Of the thread that asked; members that are fitted on other threads tell nobody, their committee does.
_listening: ContextVar[Listener | None] = ContextVar("committee_listener", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send the progress of all fits of this thread to a listener, whatever their ``verbose`` says.

    Parameters
    ----------
    listener : Listener
        Told of each fit that begins, how far it is, and that it ends.
    """
    token = _listening.set(listener)
    try:
        yield
    finally:
        _listening.reset(token)


@contextmanager
def show_progress(title: str, total: int, *, verbose: int) -> Iterator[ProgressCallback | None]:
    """A function to tell how much is done, or None where nobody wants to know.

    Parameters
    ----------
    title : str
        What is going on.
    total : int
        How much there is to do.
    verbose : int
        0 for silence.
    """
    listener = _listening.get()
    if listener is not None:
        on_progress = listener.open(title, total)
        try:
            yield on_progress
        finally:
            listener.close()
        return
    if not verbose:
        yield None
        return
    try:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
    except ImportError:
        yield from _write_lines(title, total)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=total)

        def on_progress(done: int, note: str = "") -> None:
            bar.update(task, completed=done, description=f"{title} ({note})" if note else title)

        yield on_progress


def _write_lines(title: str, total: int) -> Iterator[ProgressCallback]:
    started = time.monotonic()
    told = started

    def on_progress(done: int, note: str = "") -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _PLAIN_SECONDS or done >= total:
            told = now
            said = f" ({note})" if note else ""
            sys.stderr.write(f"{title}{said}: {done} of {total}, {now - started:.0f} s\n")
            sys.stderr.flush()

    yield on_progress
