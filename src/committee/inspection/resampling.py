"""Repeated fits of an estimator on bootstrap samples of one table."""

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

    from committee.typing import AnyArray, EstimatorLike

__all__ = ["check_bootstrap_input", "check_count", "draw_bootstrap", "fit_rows", "predict_out_of_bag"]


def check_bootstrap_input(estimator: EstimatorLike, X: Any, y: Any) -> tuple[Any, AnyArray]:
    """Table and target, checked: equally many rows, and an estimator that can be cloned, fitted and predict."""
    if isinstance(estimator, type) or not all(hasattr(estimator, n) for n in ("fit", "predict", "get_params")):
        raise ParameterTypeError(
            "The 'estimator' argument must be an object with the methods fit, predict and get_params; "
            f"got {show_value(estimator)}."
        )
    try:
        target = np.asarray(y)
        table = np.asarray(X) if isinstance(X, (list, tuple)) else X
    except ValueError:
        raise DataError("X and y must be arrays whose rows have the same lengths.") from None
    if target.ndim != 1:
        raise DataError(f"y must be a 1d array; got an array of shape {target.shape}.")
    if not hasattr(table, "shape") or len(table.shape) != 2:
        raise DataError("X must be a table with rows and columns: an array, a sparse matrix or a frame.")
    if count_rows(table) != len(target):
        raise DataError(f"X and y must have the same number of rows; got {count_rows(table)} and {len(target)}.")
    if len(target) < 2:
        raise DataError(f"A bootstrap needs at least 2 rows; got {len(target)}.")
    return table, target


def check_count(name: str, value: object, least: int) -> int:
    """An argument that must be an int of at least a given size."""
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool):
        raise ParameterTypeError(f"The {name!r} argument must be an int >= {least}; got {value!r}.")
    if value < least:
        raise ParameterError(f"The {name!r} argument must be an int >= {least}; got {value}.")
    return int(value)


def draw_bootstrap(n_rows: int, seed: int, member: int, n_draws: int | None = None) -> NDArray[np.intp]:
    """Rows drawn with replacement; they depend on (seed, member) alone."""
    return np.random.default_rng([seed, member]).integers(n_rows, size=n_draws or n_rows)


def fit_rows(
    estimator: EstimatorLike, X: Any, y: AnyArray, rows: NDArray[np.intp], seed: int, member: int
) -> EstimatorLike:
    """A clone of the estimator with its own seed, fitted on some rows."""
    fitted: EstimatorLike = seed_estimator(clone(estimator), seed, member).fit(select_rows(X, rows), y[rows])
    return fitted


def predict_out_of_bag(
    estimator: EstimatorLike, X: Any, y: AnyArray, *, n_rounds: int, seed: int, n_jobs: int | None
) -> Iterator[tuple[NDArray[np.intp], AnyArray]]:
    """For each round the rows outside its bootstrap sample, and the estimator's predictions for them.

    A sample that contains every row, which happens with very few rows, gives an empty round.
    """
    # Arguments, not a closure: joblib maps large arrays into its processes instead of copying them.
    rounds: Iterable[tuple[NDArray[np.intp], AnyArray]] = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_predict_round)(estimator, X, y, seed, member) for member in range(n_rounds)
    )
    yield from rounds


def _predict_round(
    estimator: EstimatorLike, X: Any, y: AnyArray, seed: int, member: int
) -> tuple[NDArray[np.intp], AnyArray]:
    rows = draw_bootstrap(len(y), seed, member)
    out_of_bag = np.setdiff1d(np.arange(len(y)), rows)
    if not len(out_of_bag):
        return out_of_bag, y[:0]
    fitted = fit_rows(estimator, X, y, rows, seed, member)
    return out_of_bag, np.asarray(fitted.predict(select_rows(X, out_of_bag)))
