"""scikit-learn's callbacks (its version 1.9 or later): the members or rounds of a fit as tasks.

An estimator without callbacks does nothing here but look for the attribute that `set_callbacks` sets.
"""

from __future__ import annotations

import inspect
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from committee.base import not_fitted_error
from committee.ensembles.history import FitHistory, read_history
from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Self, TypeAlias

    from committee.ensembles.progress import ProgressCallback

    PartialFit: TypeAlias = Callable[[int], Mapping[str, object]]
    """The fitted attributes of an ensemble that has so many members or rounds."""

__all__ = [
    "FitCallbacksMixin",
    "FitInput",
    "TaskProgress",
    "end_step",
    "has_fit_callbacks",
    "report_tasks",
    "should_stop",
    "waits_for_members",
]


class FitCallbacksMixin:
    """`set_callbacks` of scikit-learn 1.9: each member or round of a fit is a task of the callbacks."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set scikit-learn's callbacks for the next fits.

        Their hooks are called around the whole fit and around each member or round. If a hook at the end of a task
        returns True, no further members or rounds are fitted, where an ensemble can do without them.

        Forests, bagging, AdaBoost, arcing, BoosTexter and gradient boosting pass the X, y and ``sample_weight`` of
        `fit` (with early stopping too, whatever rows it sets aside) and, to hooks that take ``fitted_estimator``, a
        copy that is fitted with the members or rounds so far; it is made only for these hooks, and so `ScoringMonitor`
        records a curve. Forests and bags of trees then report trees in groups, when a group is grown. Out-of-bag scores
        and calibrated probabilities exist at the end of the fit only. Other ensembles pass neither data nor estimators:
        voting, stacking, super learners, selection and committees cannot predict before their last step, and isolation
        forests and embeddings have no y to score.

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

    # The round of the first value of ``train_score_``.
    _first_training: ClassVar[int] = 1

    @property
    def history_(self) -> FitHistory:
        """The curves that the fit has recorded, see `committee.ensembles.history.FitHistory`."""
        if not hasattr(self, "n_features_in_"):
            raise not_fitted_error(self)
        return read_history(vars(self), self._first_training)


class FitInput(NamedTuple):
    """What the user gave to `fit`, for callbacks that ask for it."""

    X: Any
    y: Any
    sample_weight: Any = None

    def list_arguments(self) -> dict[str, Any]:
        """The arguments of scikit-learn's contexts."""
        metadata = None if self.sample_weight is None else {"sample_weight": self.sample_weight}
        return {"X": self.X, "y": self.y, "metadata": metadata}


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
    arguments : dict
        Arguments of all hooks.
    partial_fit : callable or None
        The fitted attributes after a number of steps.
    """

    def __init__(
        self,
        estimator: object,
        context: Any,
        title: str,
        span: range,
        on_progress: ProgressCallback | None,
        arguments: dict[str, Any],
        partial_fit: PartialFit | None,
    ) -> None:
        self._estimator, self._context, self._title = estimator, context, title
        self._arguments, self._partial_fit = arguments, partial_fit
        self.needs_members = partial_fit is not None and _takes_estimator(estimator)
        self._done, self._last, self._on_progress = span.start, span.stop, on_progress
        self.stopped = False
        self._task: Any = None
        self._begin()

    def __call__(self, done: int, note: str = "") -> None:
        """End the tasks up to a number, and begin the next one."""
        while self._done < done and self._task is not None:
            self._done += 1
            self._end(self._describe())
            self._begin()
        if self._on_progress is not None:
            self._on_progress(done, note)

    def close(self) -> None:
        """End the task that was begun and will not be done."""
        if self._task is not None:
            self._end({})

    def _begin(self) -> None:
        if self._done < self._last and not self.stopped:
            self._task = self._context.subcontext(task_name=self._title)
            self._task.call_on_fit_task_begin(estimator=self._estimator, **self._describe())

    def _end(self, arguments: dict[str, Any]) -> None:
        task, self._task = self._task, None
        self.stopped |= bool(task.call_on_fit_task_end(estimator=self._estimator, **arguments))

    def _describe(self) -> dict[str, Any]:
        """The arguments of a hook; scikit-learn calls the function only if the hook takes ``fitted_estimator``."""
        if not self.needs_members or self._partial_fit is None or self._done == 0:
            return self._arguments
        return {**self._arguments, "reconstruction_attributes": partial(self._partial_fit, self._done)}


def has_fit_callbacks(estimator: object) -> bool:
    """Whether `set_callbacks` was called, by the user or by a meta-estimator of scikit-learn."""
    return "_skl_callbacks" in getattr(estimator, "__dict__", {})


def _takes_estimator(estimator: Any) -> bool:
    """Whether a hook of a callback takes the estimator as it is fitted so far."""
    hooks = (
        getattr(callback, name)
        for callback in estimator._skl_callbacks
        for name in ("on_fit_task_begin", "on_fit_task_end")
    )
    return any("fitted_estimator" in inspect.signature(hook).parameters for hook in hooks)


def waits_for_members(on_progress: object) -> bool:
    """Whether a step may be reported only when its member can be used."""
    return isinstance(on_progress, TaskProgress) and on_progress.needs_members


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
    estimator: object,
    title: str,
    span: range,
    on_progress: ProgressCallback | None = None,
    *,
    given: FitInput | None = None,
    partial_fit: PartialFit | None = None,
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
    given : FitInput, optional
        What callbacks may ask for.
    partial_fit : callable, optional
        The fitted attributes after a number of steps, of this fit and an earlier one that it continues. An ensemble
        that has it sets its fitted attributes before the context ends.

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
        arguments = {} if given is None else given.list_arguments()
        context.call_on_fit_task_begin(estimator=estimator, **arguments)
        tasks = TaskProgress(estimator, context, title, span, on_progress, arguments, partial_fit)
        yield tasks
        tasks.close()
        # The estimator itself is fitted by now: nothing is to be replaced in its copy.
        fitted: dict[str, Any] = {} if partial_fit is None else {"reconstruction_attributes": {}}
        context.call_on_fit_task_end(estimator=estimator, **arguments, **fitted)
    finally:
        # The decorator tears the callbacks down after any method.
        with_callbacks(_end_fit)(estimator)


def _end_fit(_: object) -> None:
    """What is left to do in a fit when its callbacks are torn down: nothing."""
