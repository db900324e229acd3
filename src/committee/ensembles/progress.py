"""How far a long fit is, told on the standard error stream: by Rich where it is installed, as plain text elsewhere."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["show_progress"]

_PLAIN_SECONDS = 2.0
"""Seconds between two lines of plain text."""


@contextmanager
def show_progress(title: str, total: int, *, verbose: int) -> Iterator[Callable[[int], None] | None]:
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
        yield lambda done: bar.update(task, completed=done)


def _write_lines(title: str, total: int) -> Iterator[Callable[[int], None]]:
    started = time.monotonic()
    told = started

    def tell(done: int) -> None:
        nonlocal told
        now = time.monotonic()
        if now - told >= _PLAIN_SECONDS or done >= total:
            told = now
            sys.stderr.write(f"{title}: {done} of {total}, {now - started:.0f} s\n")
            sys.stderr.flush()

    yield tell
