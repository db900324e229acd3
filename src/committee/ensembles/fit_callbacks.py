"""scikit-learn's callbacks (its version 1.9 or later): the members or rounds of a fit as tasks.

An estimator without callbacks does nothing here but look for the attribute that `set_callbacks` sets.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from committee.ensembles.progress import ProgressCallback

__all__ = ["FitCallbacksMixin", "TaskProgress", "end_step", "has_fit_callbacks", "report_tasks", "should_stop"]


class FitCallbacksMixin:
    """`set_callbacks` of scikit-learn 1.9: each member or round of a fit is a task of the callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks for the next fits.

        Their hooks are called around the whole fit and around each member or round; X, y and the fitted estimator are
        not passed. If a hook at the end of a task returns True, no further members or rounds are fitted, where an
        ensemble can do without them.

        Parameters
        ----------
        *callbacks : objects with the methods of `sklearn.callback.FitCallback`
            None at all removes those that were set.

        Returns
        -------
        self
        """
        try:
            from sklearn.callback import CallbackSupportMixin
        except ImportError:
            raise ParameterTypeError("set_callbacks needs scikit-learn 1.9 or later.") from None
        CallbackSupportMixin.set_callbacks(self, *callbacks)
        return self


class TaskProgress:
    """Turns the number of finished steps into tasks of scikit-learn's callbacks.

    Parameters
    ----------
    estimator : estimator
        The ensemble that is fitted.
    context : sklearn.callback.CallbackContext
        Of the whole fit.
    title : str
        Name of the tasks.
    span : range
        Numbers of the steps; those before were done by an earlier fit.
    on_progress : callable or None
        Is called as well.
    """

    def __init__(
        self, estimator: object, context: Any, title: str, span: range, on_progress: ProgressCallback | None
    ) -> None:
        self._estimator, self._context, self._title = estimator, context, title
        self._done, self._last, self._on_progress = span.start, span.stop, on_progress
        self.stopped = False
        self._task: Any = None
        self._begin()

    def __call__(self, done: int, note: str = "") -> None:
        """End the tasks up to a number, and begin the next one."""
        while self._done < done and self._task is not None:
            self._done += 1
            self._end()
            self._begin()
        if self._on_progress is not None:
            self._on_progress(done, note)

    def close(self) -> None:
        """End the task that was begun and will not be done."""
        if self._task is not None:
            self._end()

    def _begin(self) -> None:
        if self._done < self._last and not self.stopped:
            self._task = self._context.subcontext(task_name=self._title)
            self._task.call_on_fit_task_begin(estimator=self._estimator)

    def _end(self) -> None:
        task, self._task = self._task, None
        self.stopped |= bool(task.call_on_fit_task_end(estimator=self._estimator))


def has_fit_callbacks(estimator: object) -> bool:
    """Whether `set_callbacks` was called, by the user or by a meta-estimator of scikit-learn."""
    return "_skl_callbacks" in getattr(estimator, "__dict__", {})


def should_stop(on_progress: object) -> bool:
    """Whether a callback has asked to fit no further members or rounds."""
    return isinstance(on_progress, TaskProgress) and on_progress.stopped


def end_step(on_progress: ProgressCallback | None, done: int) -> bool:
    """Report the number of finished steps, if anybody wants to know; whether to stop."""
    if on_progress is None:
        return False
    on_progress(done)
    return should_stop(on_progress)


@contextmanager
def report_tasks(
    estimator: object, title: str, span: range, on_progress: ProgressCallback | None = None
) -> Iterator[ProgressCallback | None]:
    """Call scikit-learn's callbacks of an estimator around a fit and its steps.

    Parameters
    ----------
    estimator : estimator
        The ensemble that is fitted.
    title : str
        Name of the steps.
    span : range
        Their numbers.
    on_progress : callable or None
        Another function that reports progress.

    Yields
    ------
    callable or None
        To be called with the number of finished steps; `on_progress` itself if there are no callbacks.
    """
    if not has_fit_callbacks(estimator):
        yield on_progress
        return
    from sklearn.callback import CallbackSupportMixin, with_callbacks

    try:
        context = CallbackSupportMixin._init_callback_context(estimator, max_subtasks=len(span))
        context.call_on_fit_task_begin(estimator=estimator)
        tasks = TaskProgress(estimator, context, title, span, on_progress)
        yield tasks
        tasks.close()
        context.call_on_fit_task_end(estimator=estimator)
    finally:
        # The decorator tears the callbacks down after any method.
        with_callbacks(_end_fit)(estimator)


def _end_fit(_: object) -> None:
    """What is left to do in a fit when its callbacks are torn down: nothing."""
