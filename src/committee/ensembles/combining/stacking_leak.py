"""The leak test: the loss of a stack's meta-model on its training rows, against a nested estimate of the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.stats import t as student

from committee.data.sampling import read_groups
from committee.losses import apply_log

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.typing import FloatArray, Task

__all__ = ["LeakReport", "compare_losses", "measure_naive_loss", "measure_row_losses"]

_MIN_PROBABILITY = 1e-15
_ALLOWED = 0.05
"""Fraction of the naive model's loss by which the nested loss may exceed the inner one without a leak, besides what the
number of the meta-model's coefficients explains: the nested stacks are fitted on a fifth fewer rows."""


@dataclass(frozen=True)
class LeakReport:
    """Two estimates of a stack's loss: log-loss for probabilities, squared error for values, otherwise the error rate.

    Attributes
    ----------
    inner : float
        Mean loss of the meta-model on the rows that it was fitted on, that is, on the members' predictions.
    nested : float
        Mean loss of whole stacks on rows that they were not fitted on.
    naive : float
        Mean loss of the constant model that predicts the distribution of the target.
    gap : float
        nested - inner, as a fraction of naive.
    allowed : float
        The gap that is no leak: 0.05, and what fitting the k coefficients of a linear meta-model to n rows (or groups)
        explains where the losses are equal, 2k/n of the variance or k/n of the log-loss [Akaike1974].
    standard_error : float
        Of the gap, over rows or groups.
    p_value : float
        Probability of a gap this large if the true one were exactly the allowed one.
    alarm : bool
        Whether the p-value is below the level.
    """

    inner: float
    nested: float
    naive: float
    gap: float
    allowed: float
    standard_error: float
    p_value: float
    alarm: bool


def compare_losses(
    inner: FloatArray,
    nested: FloatArray,
    naive: float,
    weights: FloatArray | None,
    groups: ArrayLike | None,
    n_coefficients: int,
    task: Task,
    level: float,
) -> LeakReport:
    """Test whether the mean difference of two losses is larger than chance and fitting explain.

    Parameters
    ----------
    inner, nested : ndarray of shape (n_rows,)
        Loss of each row; NaN for rows without one.
    naive : float
        Mean loss of the constant model.
    weights, groups : array-like of shape (n_rows,) or None
        Weights and groups of the rows.
    n_coefficients : int
        Number of coefficients of the meta-model, if it is linear.
    task : {"classify", "regress"}
        What is predicted.
    level : float
        Of the test.
    """
    units = np.arange(len(inner)) if groups is None else read_groups(groups, len(inner))
    known = np.isfinite(inner) & np.isfinite(nested)
    counts = np.where(known, 1.0 if weights is None else weights, 0.0)
    inner, nested = (np.where(known, losses, 0.0) / naive for losses in (inner, nested))
    row_weights = counts / counts.sum()
    gap = float(row_weights @ (nested - inner))
    # Rows of a group are dependent: the group is the sampling unit, and its sum is what varies.
    sums = np.bincount(units, weights=row_weights * (nested - inner - gap))
    unit_weights = np.bincount(units, weights=row_weights)
    n_units = 1.0 / float(unit_weights @ unit_weights)
    standard_error = float(np.sqrt(sums @ sums))
    optimism = n_coefficients * (2.0 if task == "regress" else 1.0 / naive)
    allowed = _ALLOWED + optimism / n_units
    excess = (gap - allowed) / standard_error if standard_error > 0.0 else np.inf * np.sign(gap - allowed)
    p_value = float(student.sf(excess, max(1.0, n_units - 1.0)))
    return LeakReport(
        inner=float(row_weights @ inner) * naive,
        nested=float(row_weights @ nested) * naive,
        naive=naive,
        gap=gap,
        allowed=allowed,
        standard_error=standard_error,
        p_value=p_value,
        alarm=p_value < level,
    )


def measure_row_losses(model: Any, X: Any, y: NDArray[Any], task: Task) -> FloatArray:
    """Loss of each row, the mean over outputs.

    Parameters
    ----------
    model : fitted estimator
        The meta-model or the stack.
    X : table
        Rows to predict.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Indices of classes, or values.
    task : {"classify", "regress"}
        What is predicted.
    """
    y_true = y.reshape(len(y), -1)
    if task == "regress":
        predicted = np.asarray(model.predict(X)).reshape(len(y), -1)
        return np.asarray(((y_true - predicted) ** 2).mean(axis=1))
    if hasattr(model, "predict_proba"):
        probabilities = model.predict_proba(X)
        outputs = probabilities if isinstance(probabilities, list) else [probabilities]
        classes = model.classes_ if isinstance(model.classes_, list) else [model.classes_]
        pairs = enumerate(zip(outputs, classes, strict=True))
        losses = [_log_losses(output, np.asarray(c), y_true[:, k]) for k, (output, c) in pairs]
        return np.asarray(np.mean(losses, axis=0))
    predicted = np.asarray(model.predict(X)).reshape(len(y), -1)
    return np.asarray((y_true != predicted).mean(axis=1))


def _log_losses(probabilities: FloatArray, classes: NDArray[Any], y_true: NDArray[Any]) -> FloatArray:
    is_true = y_true[:, None] == classes
    return np.asarray(-apply_log(np.clip((probabilities * is_true).sum(axis=1), _MIN_PROBABILITY, None)))


def measure_naive_loss(y: NDArray[Any], task: Task, has_probabilities: bool) -> float:
    """Loss of a constant: entropy or error rate of the classes, or variance.

    Examples
    --------
    >>> measure_naive_loss(np.array([0.0, 2.0]), "regress", False)
    1.0
    """
    y_true = y.reshape(len(y), -1)
    if task == "regress":
        return float(y_true.var(axis=0).mean()) or 1.0
    frequencies = [np.bincount(y_true[:, k]) / len(y) for k in range(y_true.shape[1])]
    if has_probabilities:
        return float(np.mean([-(f[f > 0] * apply_log(f[f > 0])).sum() for f in frequencies])) or 1.0
    return float(np.mean([1.0 - f.max() for f in frequencies])) or 1.0
