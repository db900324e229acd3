"""What models answer to rows, in one form whatever their methods are: a column for each class, or a number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import is_classifier

from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["Asked", "ask", "ask_rounds", "find_trace", "number_target"]

Asked: TypeAlias = Literal["auto", "predict_proba", "decision_function", "predict"]


def ask(estimator: Any, rows: Any, method: Asked) -> FloatArray:
    """Answers to rows: numbers, or for each class how sure the model is of it, (n_rows, n_classes)."""
    if not is_classifier(estimator):
        return np.asarray(estimator.predict(rows), dtype=np.float64)
    order = ("predict_proba", "decision_function", "predict") if method == "auto" else (method,)
    for name in order:
        if hasattr(estimator, name):
            return spread_answers(estimator, np.asarray(getattr(estimator, name)(rows)), name)
    raise ParameterError(f"{type(estimator).__name__} has no method {order[0]!r}.")


def spread_answers(estimator: Any, answers: NDArray[Any], method: str) -> FloatArray:
    """A column for each class."""
    classes = np.asarray(estimator.classes_)
    if method.endswith("predict"):
        return np.asarray(answers[:, None] == classes, dtype=np.float64)
    if answers.ndim == 1:
        return np.stack([-answers, answers], axis=1)
    if answers.shape[1] != len(classes):
        raise DataError(f"{type(estimator).__name__} gives {answers.shape[1]} columns for {len(classes)} classes.")
    return answers.astype(np.float64)


def ask_rounds(estimator: Any, rows: Any, rounds: Sequence[int]) -> list[tuple[int, FloatArray]]:
    """Answers after some rounds, with their numbers."""
    wanted = sorted({int(number) for number in rounds})
    if not wanted or wanted[0] < 1:
        raise ParameterError(f"The 'rounds' argument must hold numbers of rounds from 1 on; got {list(rounds)!r}.")
    methods = ["staged_predict"]
    if is_classifier(estimator):
        methods = ["staged_predict_proba", "staged_decision_function", "staged_predict"]
    name = next((method for method in methods if hasattr(estimator, method)), None)
    if name is None:
        raise ParameterError(
            f"{type(estimator).__name__} cannot be asked round by round: it has no {' or '.join(methods)}."
        )
    found: list[tuple[int, FloatArray]] = []
    for number, answers in enumerate(getattr(estimator, name)(rows), start=1):
        if number in wanted:
            raw = np.array(answers)
            found.append((number, spread_answers(estimator, raw, name) if is_classifier(estimator) else raw))
        if number >= wanted[-1]:
            break
    if not found:
        raise ParameterError(f"The model ended before round {wanted[0]}, the first of 'rounds'.")
    return found


def find_trace(estimator: Any, n_rows: int) -> FloatArray | None:
    """Weights of the rows in each round, if the model kept those of as many rows."""
    trace = getattr(estimator, "sample_weights_trace_", None)
    return trace if trace is not None and trace.shape[1] == n_rows else None


def number_target(estimator: Any, y: Any, n_rows: int) -> NDArray[Any] | None:
    """Classes by number, or values as they are."""
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
        raise DataError(f"y holds {given[unknown].tolist()[0]!r}, which is none of the classes of the model.")
    return np.searchsorted(classes, given)
