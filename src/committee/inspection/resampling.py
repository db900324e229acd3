"""Fitting an estimator over and over on bootstrap samples of one table; what the studies here have in common."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.base import seed_estimator
from committee.constraints import show_value
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

__all__ = ["check_count", "draw_bootstrap", "fit_on", "predict_out_of_bag", "read_study"]


def read_study(estimator: Any, X: Any, y: Any) -> tuple[Any, NDArray[Any]]:
    """The table and its target with as many rows, and an estimator that can be cloned and asked."""
    if isinstance(estimator, type) or not all(hasattr(estimator, n) for n in ("fit", "predict", "get_params")):
        raise ParameterTypeError(
            "The 'estimator' argument must be an object with the methods fit, predict and get_params; "
            f"got {show_value(estimator)}."
        )
    target = np.asarray(y)
    if target.ndim != 1:
        raise DataError(f"y must be a 1d array; got an array of shape {target.shape}.")
    table = np.asarray(X) if isinstance(X, (list, tuple)) else X
    if not hasattr(table, "shape") or len(table.shape) != 2:
        raise DataError("X must be a table with rows and columns: an array, a sparse matrix or a frame.")
    if count_rows(table) != len(target):
        raise DataError(f"X and y must have the same number of rows; got {count_rows(table)} and {len(target)}.")
    if len(target) < 2:
        raise DataError(f"A bootstrap needs at least 2 rows; got {len(target)}.")
    return table, target


def check_count(name: str, value: Any, least: int) -> int:
    """A whole number that is at least so large."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ParameterTypeError(f"The {name!r} argument must be an int >= {least}; got {value!r}.")
    if value < least:
        raise ParameterError(f"The {name!r} argument must be an int >= {least}; got {value}.")
    return int(value)


def draw_bootstrap(n_rows: int, seed: int, member: int, n_draws: int | None = None) -> NDArray[np.intp]:
    """Rows drawn with replacement, from (seed, member) alone."""
    return np.random.default_rng([seed, member]).integers(n_rows, size=n_draws or n_rows)


def fit_on(estimator: Any, X: Any, y: NDArray[Any], rows: NDArray[np.intp], seed: int, member: int) -> Any:
    """A fresh copy of the estimator, with randomness of its own, fitted on these rows."""
    fresh = seed_estimator(clone(estimator), seed, member)
    return fresh.fit(select_rows(X, rows), y[rows])


def predict_out_of_bag(
    estimator: Any, X: Any, y: NDArray[Any], *, n_rounds: int, seed: int, n_jobs: int | None
) -> Iterator[tuple[NDArray[np.intp], NDArray[Any]]]:
    """For each round the rows that its bootstrap sample left out, and what the estimator says about them.

    A sample that holds every row, as happens with very few of them, gives an empty round.
    """
    # Arguments, not a closure: joblib maps large arrays into its processes instead of copying them.
    rounds: Iterable[tuple[NDArray[np.intp], NDArray[Any]]] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_answer_round)(estimator, X, y, seed, member) for member in range(n_rounds)
    )
    yield from rounds


def _answer_round(
    estimator: Any, X: Any, y: NDArray[Any], seed: int, member: int
) -> tuple[NDArray[np.intp], NDArray[Any]]:
    rows = draw_bootstrap(len(y), seed, member)
    left_out = np.setdiff1d(np.arange(len(y)), rows)
    if not len(left_out):
        return left_out, y[:0]
    fitted = fit_on(estimator, X, y, rows, seed, member)
    return left_out, np.asarray(fitted.predict(select_rows(X, left_out)))
