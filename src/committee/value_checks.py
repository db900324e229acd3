"""Values that no annotation describes: what kind of value one is, and reading it or refusing it with a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.exceptions import DataError, ParameterTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "accepts_arguments",
    "is_flag",
    "is_real",
    "is_whole",
    "read_callables",
    "read_coverage",
    "read_doubles",
    "read_levels",
]


def is_flag(value: object, wanted: bool) -> bool:
    """Whether a value is True, or False, of Python or NumPy, and not merely equal to it."""
    return isinstance(value, bool | np.bool_) and bool(value) is wanted


def is_whole(value: object) -> bool:
    """Whether a value is an integer of Python or NumPy; True and False are none."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def accepts_arguments(function: Any, n_arguments: int) -> bool:
    """Whether a function can be called with so many arguments, as far as its signature says.

    Examples
    --------
    >>> accepts_arguments(lambda y, predictions: 0.0, 2), accepts_arguments(lambda y, predictions: 0.0, 3)
    (True, False)
    """
    try:
        inspect.signature(function).bind(*range(n_arguments))
    except TypeError:
        return False
    except ValueError:  # of some compiled functions nothing is known
        return True
    return True


def is_real(value: object) -> bool:
    """Whether a value is a number of Python or NumPy, NaN included; True and False are none."""
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def read_callables(given: object, subject: str) -> tuple[Any, ...]:
    """The functions of a sequence, none for None.

    Examples
    --------
    >>> read_callables([len], "The argument 'callbacks'")
    (<built-in function len>,)
    >>> read_callables(["len"], "The argument 'callbacks'")
    Traceback (most recent call last):
    ...
    committee.exceptions.ParameterTypeError: The argument 'callbacks' must be a list of callables or None; got ['len'].
    """
    if given is None:
        return ()
    if not isinstance(given, Sequence) or not all(callable(one) for one in given):
        raise ParameterTypeError(f"{subject} must be a list of callables or None; got {show_value(given)}.")
    return tuple(given)


def read_doubles(value: object, subject: str, allowed: str) -> NDArray[np.float64]:
    """An array of doubles, or an error that says what is allowed instead.

    Examples
    --------
    >>> read_doubles([1, 2], "The 'weights' parameter", "numbers >= 0").tolist()
    [1.0, 2.0]
    """
    try:
        numbers = np.asarray(value)
        if numbers.dtype.kind == "c":
            raise TypeError
        return numbers.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ParameterTypeError(f"{subject} must be {allowed}; got {show_value(value)}.") from None


def read_levels(q: object) -> NDArray[np.float64]:
    """The levels of quantiles: one number or several.

    Examples
    --------
    >>> read_levels([0.1, 0.9]).tolist()
    [0.1, 0.9]
    """
    levels = read_doubles(q, "q", "a number in [0, 1] or a list of them")
    if levels.ndim > 1 or not ((levels >= 0.0) & (levels <= 1.0)).all():
        raise DataError(f"q must be a number in [0, 1] or a list of them; got {show_value(q)}.")
    return levels


def read_coverage(coverage: float) -> float:
    """The probability that an interval is to have.

    Examples
    --------
    >>> read_coverage(0.9)
    0.9
    """
    if not (is_real(coverage) and 0.0 < coverage < 1.0):
        raise DataError(f"coverage must be in (0, 1); got {show_value(coverage)}.")
    return float(coverage)
