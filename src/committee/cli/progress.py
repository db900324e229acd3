"""The live display of a fit: how far it is, the score so far, the time left; only where somebody watches."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.text import Text

from committee.cli.show import make_console

if TYPE_CHECKING:
    from rich.progress import Task, TaskID

__all__ = ["FitDisplay", "watch_fits"]

# Lines: the whole, and the part that is being worked on.
_MOST_LINES = 2
_BAR_WIDTH = 16


class _TimeLeft(ProgressColumn):
    """Seconds until the end, as far as the pace tells, and until the budget ends at most."""

    def render(self, task: Task) -> Text:
        """The cell of a line."""
        left, elapsed = task.time_remaining, task.elapsed or 0.0
        budget = task.fields.get("budget")
        if budget is not None:
            rest = max(0.0, budget - elapsed)
            left = rest if left is None else min(left, rest)
        return Text("" if left is None else f"{_write_seconds(left)} left", style="progress.remaining")


class FitDisplay:
    """Lines on the error stream; it can be listened with to the fits of a thread.

    Parameters
    ----------
    progress : rich.progress.Progress or None
        Where lines go; None shows nothing.
    budget : float or None
        Seconds that the first line may take.
    """

    def __init__(self, progress: Progress | None, budget: float | None = None) -> None:
        self._progress = progress
        self._budget = budget
        self._lines: list[TaskID | None] = []

    def open(self, title: str, total: int) -> Any:
        """Begin a line.

        Parameters
        ----------
        title : str
            What is done.
        total : int
            How many steps it has.

        Returns
        -------
        callable
            Of the steps done and a note on them.
        """
        line: TaskID | None = None
        if self._progress is not None and len(self._lines) < _MOST_LINES:
            budget = None if self._lines else self._budget
            line = self._progress.add_task(title.lower(), total=total, note="", budget=budget)
        self._lines.append(line)

        def tell(done: int, note: str = "") -> None:
            if self._progress is not None and line is not None:
                kept: dict[str, Any] = {"note": escape(note)} if note else {}
                self._progress.update(line, completed=done, **kept)

        return tell

    def close(self) -> None:
        """End the latest line."""
        line = self._lines.pop()
        if self._progress is not None and line is not None:
            self._progress.remove_task(line)

    def advance(self) -> None:
        """One more step of the first line."""
        if self._progress is not None and self._lines and self._lines[0] is not None:
            self._progress.advance(self._lines[0])

    def note(self, text: str) -> None:
        """What came of the first line so far."""
        if self._progress is not None and self._lines and self._lines[0] is not None:
            self._progress.update(self._lines[0], note=escape(text))


@contextmanager
def watch_fits(verb: str, total: int | None, budget: float | None = None) -> Iterator[FitDisplay]:
    """Show the progress of what is fitted inside, if the error stream is a terminal.

    Parameters
    ----------
    verb : str
        What is done.
    total : int or None
        Steps, which the caller advances; None if the fit itself tells its own.
    budget : float or None
        Seconds that it may take.

    Yields
    ------
    FitDisplay
        Silent where nobody watches.
    """
    if not sys.stderr.isatty():
        yield FitDisplay(None)
        return
    from committee.ensembles.progress import listen

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=_BAR_WIDTH),
        MofNCompleteColumn(),
        _TimeLeft(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=make_console(stderr=True), transient=True) as progress:
        display = FitDisplay(progress, budget)
        if total is not None:
            display.open(verb, total)
        with listen(display):
            yield display


def _write_seconds(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    return time.strftime("%M:%S" if seconds < 3600 else "%H:%M:%S", time.gmtime(seconds))
