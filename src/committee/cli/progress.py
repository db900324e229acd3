"""The live progress display of a fit, on the error stream if that is a terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, TextColumn
from rich.text import Text

from committee.cli.fit_observer import FitObserver
from committee.cli.show import make_console

if TYPE_CHECKING:
    from rich.progress import Task, TaskID

    from committee.ensembles.progress import ProgressCallback

__all__ = ["FitDisplay", "watch_fits"]

# Lines: the whole fit, and the part that is running.
_MOST_LINES = 2
_BAR_WIDTH = 16


class _TimeLeft(ProgressColumn):
    """Estimated seconds to the end, at most to the end of the time budget."""

    def render(self, task: Task) -> Text:
        """The cell of a line."""
        left, elapsed = task.time_remaining, task.elapsed or 0.0
        budget = task.fields.get("budget")
        if budget is not None:
            rest = max(0.0, budget - elapsed)
            left = rest if left is None else min(left, rest)
        return Text("" if left is None else f"{_write_seconds(left)} left", style="progress.remaining")


class FitDisplay(FitObserver):
    """Progress lines on the error stream; also a listener of :func:`committee.ensembles.progress.listen`.

    Parameters
    ----------
    progress : rich.progress.Progress or None
        Where lines are shown; None shows nothing.
    budget : float or None
        Time budget of the first line in seconds.
    """

    def __init__(self, progress: Progress | None, budget: float | None = None) -> None:
        self._progress = progress
        self._budget = budget
        self._lines: list[TaskID | None] = []

    def open(self, title: str, total: int) -> ProgressCallback:
        """Add a line.

        Parameters
        ----------
        title : str
            Its label.
        total : int
            Number of steps.

        Returns
        -------
        callable
            Takes the number of completed steps and a note.
        """
        line: TaskID | None = None
        if self._progress is not None and len(self._lines) < _MOST_LINES:
            budget = None if self._lines else self._budget
            line = self._progress.add_task(title.lower(), total=total, note="", budget=budget)
        self._lines.append(line)

        def on_progress(done: int, note: str = "") -> None:
            if self._progress is not None and line is not None:
                self._progress.update(line, completed=done)
                if note:
                    self._progress.update(line, note=escape(note))

        return on_progress

    def close(self) -> None:
        """Remove the last line."""
        line = self._lines.pop()
        if self._progress is not None and line is not None:
            self._progress.remove_task(line)

    def on_fit_end(self) -> None:
        """Advance the first line by one step."""
        if self._progress is not None and self._lines and self._lines[0] is not None:
            self._progress.advance(self._lines[0])

    def on_score(self, text: str) -> None:
        """Show the score so far on the first line."""
        if self._progress is not None and self._lines and self._lines[0] is not None:
            self._progress.update(self._lines[0], note=escape(text))


@contextmanager
def watch_fits(verb: str, total: int | None, budget: float | None = None) -> Iterator[FitDisplay]:
    """Show the progress of the fits in the block, if the error stream is a terminal.

    Parameters
    ----------
    verb : str
        Label of the first line.
    total : int or None
        Number of models; None if the fit reports its own progress.
    budget : float or None
        Time budget in seconds.

    Yields
    ------
    FitDisplay
        Shows nothing without a terminal.
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
