"""Progress of a long fit: to a listener, or to the standard error stream, with Rich where it is installed."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Protocol

from committee.ensembles.fit_callbacks import report_tasks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from committee.ensembles.fit_callbacks import FitInput, PartialFit

__all__ = ["Listener", "ProgressCallback", "listen", "show_progress"]

_PLAIN_SECONDS = 2.0
"""Seconds between two lines of plain text."""


class ProgressCallback(Protocol):
    """A function that reports progress."""

    def __call__(self, done: int, note: str = "") -> None:
        """Report that ``done`` steps are done, with a short note such as the latest score."""


class Listener(Protocol):
    """Receives the progress of fits, to show it in a way of its own."""

    def open(self, title: str, total: int) -> ProgressCallback:
        """A fit begins, possibly inside another one."""

    def close(self) -> None:
        """The latest fit that began has ended."""


# The listener of this thread; members fitted on other threads report nothing, their ensemble does.
_listening: ContextVar[Listener | None] = ContextVar("committee_listener", default=None)


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Send the progress of all fits of this thread to a listener, whatever their ``verbose``.

    Parameters
    ----------
    listener : Listener
        Is called when a fit begins, when it progresses and when it ends.
    """
    token = _listening.set(listener)
    try:
        yield
    finally:
        _listening.reset(token)


@contextmanager
def show_progress(
    title: str,
    total: int,
    *,
    verbose: int,
    estimator: object = None,
    done: int = 0,
    given: FitInput | None = None,
    partial_fit: PartialFit | None = None,
) -> Iterator[ProgressCallback | None]:
    """A progress callback, or None where nothing is shown.

    Parameters
    ----------
    title : str
        Description of the fit.
    total : int
        Number of steps.
    verbose : int
        0 shows nothing.
    estimator : estimator, optional
        Whose callbacks, set by `set_callbacks`, are called as well.
    done : int, default=0
        Steps of an earlier fit that are kept.
    given, partial_fit
        What these callbacks may ask for; see `report_tasks`.
    """
    span = range(done, total)
    with (
        _show_steps(title, total, verbose=verbose) as on_progress,
        report_tasks(estimator, title, span, on_progress, given=given, partial_fit=partial_fit) as reported,
    ):
        yield reported


@contextmanager
def _show_steps(title: str, total: int, *, verbose: int) -> Iterator[ProgressCallback | None]:
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
    last_written = started

    def on_progress(done: int, note: str = "") -> None:
        nonlocal last_written
        now = time.monotonic()
        if now - last_written >= _PLAIN_SECONDS or done >= total:
            last_written = now
            suffix = f" ({note})" if note else ""
            sys.stderr.write(f"{title}{suffix}: {done} of {total}, {now - started:.0f} s\n")
            sys.stderr.flush()

    yield on_progress
