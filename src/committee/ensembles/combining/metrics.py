"""Losses and scores of predictions: log-loss and squared error with weights, or any of scikit-learn's scorers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data import ClassTarget
from committee.ensembles.out_of_bag import make_score_function, takes_sample_weight
from committee.exceptions import ParameterError
from committee.losses import apply_log

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.typing import FloatArray

__all__ = ["choose_metric", "measure_log_loss", "measure_squared_error", "target_matrix"]

_MIN_PROBABILITY = 1e-15


def target_matrix(target: ClassTarget | ValueTarget) -> FloatArray:
    """The true target in the columns of the predictions: one-hot classes of all outputs, or the values."""
    if isinstance(target, ClassTarget):
        return np.hstack([np.eye(n)[target.labels[:, k]] for k, n in enumerate(target.n_classes)])
    return target.values


def measure_log_loss(y_pred: FloatArray, y_true: FloatArray, weights: FloatArray | None = None) -> float:
    """Mean negative log-probability of the true classes, over rows and outputs.

    Examples
    --------
    >>> round(measure_log_loss(np.array([[0.5, 0.5], [0.1, 0.9]]), np.eye(2)), 4)
    0.3993
    """
    n_outputs = max(1.0, float(y_true[0].sum()))
    losses = -(y_true * apply_log(np.clip(y_pred, _MIN_PROBABILITY, None))).sum(axis=1) / n_outputs
    return float(np.average(losses, weights=weights))


def measure_squared_error(y_pred: FloatArray, y_true: FloatArray, weights: FloatArray | None = None) -> float:
    """Mean squared error, averaged over the columns.

    Examples
    --------
    >>> measure_squared_error(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]))
    2.0
    """
    return float(np.average(((y_pred - y_true) ** 2).mean(axis=1), weights=weights))


def choose_metric(
    metric: Callable[..., float] | str | None,
    target: ClassTarget | ValueTarget,
    rows: NDArray[np.intp],
    y_true: FloatArray,
    weights: FloatArray | None,
) -> Callable[[FloatArray], float]:
    """The function that scores averaged predictions, larger for better.

    Parameters
    ----------
    metric : str, callable or None
        None: minus the log-loss for classes, minus the squared error for values. A name is that of one of
        scikit-learn's scorers; a callable gets the true and the predicted target as numbers.
    target : ClassTarget or ValueTarget
        The target of all rows.
    rows : ndarray of int
        The rows that are predicted.
    y_true : ndarray of shape (n_rows, width)
        Their target, in the columns of the predictions.
    weights : ndarray or None
        Their weights; a function that has no parameter ``sample_weight`` is refused where there are any.
    """
    classify = isinstance(target, ClassTarget)
    if metric is None:
        metric = "neg_log_loss" if classify else "neg_mean_squared_error"
    if metric == "neg_log_loss" and classify:
        return lambda y_pred: -measure_log_loss(y_pred, y_true, weights)
    if metric == "neg_mean_squared_error" and not classify:
        return lambda y_pred: -measure_squared_error(y_pred, y_true, weights)
    if weights is not None and not isinstance(metric, str) and not takes_sample_weight(metric):
        raise ParameterError(
            f"The 'metric' parameter must be None, the name of a scorer or a function with the parameter "
            f"'sample_weight' where there are sample weights, which it has to count; got {metric!r}."
        )
    by_row = None
    if weights is not None:
        by_row = np.zeros(len(target.labels if isinstance(target, ClassTarget) else target.values))
        by_row[rows] = weights
    score = make_score_function(metric, target, by_row, "metric")
    return lambda y_pred: score(rows, y_pred)
