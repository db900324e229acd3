"""How good answers are: the usual measures with weights, and any other by its name or as a function."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget
from committee.ensembles.out_of_bag import choose_measure
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["choose_metric", "measure_log_loss", "measure_squared_error"]

_TINY = 1e-15
"""The least probability that is believed."""


def measure_log_loss(answers: FloatArray, goal: FloatArray, weights: FloatArray | None = None) -> float:
    """Mean negative logarithm of the probability of what is true, over rows and outputs.

    Examples
    --------
    >>> round(measure_log_loss(np.array([[0.5, 0.5], [0.1, 0.9]]), np.eye(2)), 4)
    0.3993
    """
    n_outputs = max(1.0, float(goal[0].sum()))
    losses = -(goal * np.log(np.clip(answers, _TINY, None))).sum(axis=1) / n_outputs
    return float(np.average(losses, weights=weights))


def measure_squared_error(answers: FloatArray, goal: FloatArray, weights: FloatArray | None = None) -> float:
    """Mean squared difference from what is true, summed over the columns of classes or averaged over outputs.

    Examples
    --------
    >>> measure_squared_error(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]))
    2.0
    """
    return float(np.average(((answers - goal) ** 2).mean(axis=1), weights=weights))


def choose_metric(
    metric: Any, target: Any, rows: NDArray[np.intp], goal: FloatArray, weights: FloatArray | None
) -> Callable[[FloatArray], float]:
    """A function of mean answers that says how good they are, larger for better.

    Parameters
    ----------
    metric : str, callable or None
        None: minus the log-loss for classes, minus the squared error for values. A name is that of one of
        scikit-learn's scorers; a callable gets the true and the predicted target as numbers.
    target : ClassTarget or ValueTarget
        The truth about all rows.
    rows : ndarray of int
        The rows that answers are about.
    goal : ndarray of shape (n_rows, width)
        The truth about these, in the columns of the answers.
    weights : ndarray or None
        Weights of these rows; only the measures above know what to do with them.
    """
    classify = isinstance(target, ClassTarget)
    if metric is None:
        metric = "neg_log_loss" if classify else "neg_mean_squared_error"
    if metric == "neg_log_loss" and classify:
        return lambda answers: -measure_log_loss(answers, goal, weights)
    if metric == "neg_mean_squared_error" and not classify:
        return lambda answers: -measure_squared_error(answers, goal, weights)
    if weights is not None:
        raise ParameterError(
            f"The 'metric' parameter must be None, 'neg_log_loss' or 'neg_mean_squared_error' where there are sample "
            f"weights, which it has to count; got {metric!r}."
        )
    measure = choose_measure(metric, target, "metric")
    return lambda answers: measure(rows, answers)
