"""Predictions of any model in one form: a column for each class, or one value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from committee.constraints import show_value
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["ResponseMethod", "find_weight_trace", "number_target", "predict_rounds", "predict_rows"]

# A class label.
ClassLabel: TypeAlias = str | int | float | np.generic
ResponseMethod: TypeAlias = Literal["auto", "predict_proba", "decision_function", "predict"]


def predict_rows(estimator: Any, X: Any, method: ResponseMethod) -> FloatArray:
    """Predictions for rows: values, or a score of each class, (n_rows, n_classes)."""
    if not is_classifier(estimator):
        return np.asarray(estimator.predict(X), dtype=np.float64)
    order = ("predict_proba", "decision_function", "predict") if method == "auto" else (method,)
    for name in order:
        if hasattr(estimator, name):
            return expand_columns(estimator, np.asarray(getattr(estimator, name)(X)), name)
    raise ParameterError(f"{type(estimator).__name__} has no method {order[0]!r}.")


def expand_columns(estimator: Any, output: NDArray[Any], method: str) -> FloatArray:
    """Convert the output of a method of a classifier to a column for each class."""
    classes = np.asarray(estimator.classes_)
    if method.endswith("predict"):
        return np.asarray(output[:, None] == classes, dtype=np.float64)
    if output.ndim == 1:
        return np.stack([-output, output], axis=1)
    if output.shape[1] != len(classes):
        raise DataError(f"{type(estimator).__name__} gives {output.shape[1]} columns for {len(classes)} classes.")
    return output.astype(np.float64)


def predict_rounds(estimator: Any, X: Any, rounds: Sequence[int]) -> list[tuple[int, FloatArray]]:
    """Numbers of some rounds, and the predictions after them."""
    wanted = sorted({int(number) for number in rounds})
    if not wanted or wanted[0] < 1:
        raise ParameterError(f"The 'rounds' argument must hold numbers of rounds from 1 on; got {list(rounds)!r}.")
    methods = ["staged_predict"]
    if is_classifier(estimator):
        methods = ["staged_predict_proba", "staged_decision_function", "staged_predict"]
    name = next((method for method in methods if hasattr(estimator, method)), None)
    if name is None:
        raise ParameterError(
            f"{type(estimator).__name__} has no predictions by round: it has no {' or '.join(methods)}."
        )
    found: list[tuple[int, FloatArray]] = []
    for number, output in enumerate(getattr(estimator, name)(X), start=1):
        if number in wanted:
            raw = np.array(output)
            found.append((number, expand_columns(estimator, raw, name) if is_classifier(estimator) else raw))
        if number >= wanted[-1]:
            break
    if not found:
        raise ParameterError(f"The model ended before round {wanted[0]}, the first of 'rounds'.")
    return found


def find_weight_trace(estimator: Any, n_rows: int) -> FloatArray | None:
    """Sample weights of each round, if the model has them for this number of rows."""
    trace = getattr(estimator, "sample_weights_trace_", None)
    return trace if trace is not None and trace.shape[1] == n_rows else None


def number_target(estimator: Any, y: Any, n_rows: int) -> NDArray[Any] | None:
    """Class indices, or values."""
    if y is None:
        return None
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise DataError(f"y must have a value for each of the {n_rows} rows of X; got shape {given.shape}.")
    if not is_classifier(estimator):
        return given.astype(np.float64)
    classes = np.asarray(estimator.classes_)
    unknown = ~np.isin(given, classes)
    if unknown.any():
        raise DataError(f"y holds {show_value(given[unknown].tolist()[0])}, which is none of the classes of the model.")
    return np.searchsorted(classes, given)
