"""Censored times as targets: whether the event of a row was observed, and the time of the event or of censoring."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.dataset import ValueTarget
from committee.data.targets import encode_values, read_target
from committee.exceptions import DataError
from committee.typing import BoolArray, FloatArray

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["SurvivalTarget", "encode_survival", "make_survival_target"]

_ALLOWED = (
    "a structured array or a frame with two columns, a boolean one (whether the event was observed) and one of times, "
    "or times alone, if every event was observed"
)


@dataclass(frozen=True)
class SurvivalTarget(ValueTarget):
    """Censored times to predict.

    Attributes
    ----------
    values : ndarray of float64 of shape (n_rows, n_columns), C-contiguous
        The times, or what an engine learns in their place.
    one_dimensional : bool
        True.
    event : ndarray of bool of shape (n_rows,)
        Whether the event was observed; otherwise the row is censored at its time.
    time : ndarray of float64 of shape (n_rows,)
        Time of the event or of censoring, at least 0 and finite.
    """

    event: BoolArray
    time: FloatArray

    @property
    def n_outputs(self) -> int:
        """One, however many columns stand for it."""
        return 1

    def take_rows(self, rows: AnyArray) -> SurvivalTarget:
        """Some of the rows, by index."""
        values = np.ascontiguousarray(self.values[rows])
        return replace(self, values=values, event=self.event[rows], time=self.time[rows])

    def to_structured(self) -> AnyArray:
        """The target as a structured array with the fields ``event`` and ``time``."""
        return make_survival_target(self.event, self.time)


def make_survival_target(event: Any, time: Any) -> AnyArray:
    """A structured array with the fields ``event`` and ``time``, as survival models take it as y.

    Parameters
    ----------
    event : array-like of shape (n_rows,)
        True or 1 where the event was observed, False or 0 where the row is censored.
    time : array-like of shape (n_rows,)
        Time of the event or of censoring.

    Returns
    -------
    ndarray of shape (n_rows,)

    Examples
    --------
    >>> make_survival_target([1, 0], [3.5, 7.0])
    array([( True, 3.5), (False, 7. )],
          dtype=[('event', '?'), ('time', '<f8')])
    """
    times = np.asarray(time, dtype=np.float64)
    made = np.empty(times.shape, dtype=[("event", "?"), ("time", "<f8")])
    made["event"], made["time"] = _read_events(np.asarray(event)), times
    return made


def encode_survival(y: Any, n_rows: int | None, estimator_name: str) -> SurvivalTarget:
    """Read a survival target.

    Parameters
    ----------
    y : structured array, frame or array of two columns (event, time), or array of times
        Times alone mean that every event was observed.
    n_rows : int or None
        The number of rows of X; None: any number.
    estimator_name : str
        For the sentences.

    Returns
    -------
    SurvivalTarget
    """
    if y is None:
        raise DataError(f"{estimator_name} requires y to be passed, but the target y is None.")
    event, time = _divide_columns(y)
    n_wanted = len(time) if n_rows is None and hasattr(time, "__len__") else n_rows
    times = read_target(time, 0 if n_wanted is None else n_wanted, estimator_name, multi_output=False)
    target = encode_values(times)
    values = target.values[:, 0]
    if len(values) and values.min() < 0.0:
        raise DataError(f"Times of {estimator_name} must be at least 0; got {values.min():.4g}.")
    events = np.ones(len(values), dtype=bool) if event is None else _read_events(np.asarray(event))
    if len(events) != len(values):
        raise DataError(f"y has {len(events)} events and {len(values)} times; each row has one of both.")
    return SurvivalTarget(target.values, one_dimensional=True, event=events, time=values)


def _divide_columns(y: Any) -> tuple[Any, Any]:
    """Events, None where all were observed, and times."""
    names = getattr(getattr(y, "dtype", None), "names", None)
    if names is not None:
        kinds = [y.dtype[name].kind for name in names]
        if len(names) != 2 or kinds.count("b") != 1:
            raise DataError(f"A survival target is {_ALLOWED}; got fields {', '.join(names)}.")
        first_is_event = kinds[0] == "b"
        return (y[names[0]], y[names[1]]) if first_is_event else (y[names[1]], y[names[0]])
    columns = getattr(y, "columns", None)
    if columns is not None and not callable(columns) and getattr(y, "ndim", 2) == 2 and len(columns) == 2:
        return _divide_frame(y)
    if hasattr(y, "columns") or hasattr(y, "toarray"):
        return None, y
    try:
        array = y if isinstance(y, np.ndarray) else np.asarray(y)
    except ValueError:
        raise DataError(f"A survival target is {_ALLOWED}; got lists of several lengths.") from None
    if array.ndim == 2 and array.shape[1] == 2:
        return array[:, 0], array[:, 1]
    return None, y


def _divide_frame(y: Any) -> tuple[AnyArray, AnyArray]:
    names = y.column_names if hasattr(y, "column_names") else list(y.columns)
    parts = [np.asarray(y[name]) for name in names]
    events = [k for k, part in enumerate(parts) if part.dtype.kind == "b"]
    if len(events) != 1:
        events = [k for k, name in enumerate(names) if str(name).lower() == "event"]
    if len(events) != 1:
        raise DataError(f"A survival target is {_ALLOWED}; got a frame with columns {', '.join(map(str, names))}.")
    return parts[events[0]], parts[1 - events[0]]


def _read_events(event: AnyArray) -> BoolArray:
    if event.dtype.kind == "b":
        return event
    found = np.unique(event.astype(np.float64) if event.dtype.kind in "iuf" else event)
    if event.dtype.kind == "O" and all(isinstance(value, bool | int | np.bool_) for value in event.ravel().tolist()):
        found = np.unique(event.astype(np.float64))
    if found.dtype.kind != "f" or not np.isin(found, (0.0, 1.0)).all():
        raise DataError(
            f"The event of a row is True (1) or False (0); got {show_value(found[~np.isin(found, (0, 1))][0])}."
        )
    return event.astype(bool)
