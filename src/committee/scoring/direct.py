"""Common metrics of known predictions, computed without the checks of scikit-learn's scorers.

Ensemble selection and traces of scores measure hundreds of predictions of the same rows. A scorer of scikit-learn
checks the type of the target and all parameters in each call, which takes ten times as long as the metric itself. The
functions of this module compute the same sums in the same order, so that the values are equal to the last bit. What
scikit-learn refuses or warns about (a class without rows, predictions that are not finite) is left to its scorer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import xlogy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import AnyArray, FloatArray

    ClassMetric = Callable[[NDArray[np.intp], FloatArray, FloatArray | None], float | None]
    ValueMetric = Callable[[FloatArray, FloatArray, FloatArray | None], float | None]

__all__ = ["explain_variance", "find_class_metric", "find_value_metric"]


def find_class_metric(name: str, classes: AnyArray) -> ClassMetric | None:
    """The function of a scorer's name that scores probabilities; None where only scikit-learn has it.

    Parameters
    ----------
    name : str
        Name of a scorer of scikit-learn.
    classes : ndarray
        The classes; scorers refuse some types, so that those are left to them.

    Returns
    -------
    callable or None
        Takes the class index of each row, probabilities of shape (n_rows, n_classes) and weights or None. It returns
        None for rows that scikit-learn refuses or warns about.

    Examples
    --------
    >>> metric = find_class_metric("accuracy", np.array(["no", "yes"]))
    >>> metric(np.array([0, 1]), np.array([[0.9, 0.1], [0.8, 0.2]]), None)
    0.5
    """
    return _CLASS_METRICS.get(name) if _are_plain(classes) else None


def find_value_metric(name: str) -> ValueMetric | None:
    """The function of a scorer's name that scores values; None where only scikit-learn has it.

    Returns
    -------
    callable or None
        Takes the true and the predicted values, of shape (n_rows, n_outputs), and weights or None. It returns None for
        rows that scikit-learn refuses or warns about.

    Examples
    --------
    >>> find_value_metric("neg_mean_absolute_error")(np.array([[1.0], [2.0]]), np.array([[1.0], [4.0]]), None)
    -1.0
    """
    return _VALUE_METRICS.get(name)


def explain_variance(true: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> float:
    """R², the mean over outputs; NaN for a single row, which has no variance to explain.

    Examples
    --------
    >>> explain_variance(np.array([[1.0], [2.0], [3.0]]), np.array([[1.0], [2.0], [4.0]]), None)
    0.5
    """
    if len(true) < 2:
        return np.nan
    own: FloatArray | float = 1.0 if weights is None else weights[:, None]
    residual = (own * (true - predicted) ** 2).sum(axis=0)
    total = (own * (true - np.average(true, axis=0, weights=weights)) ** 2).sum(axis=0)
    constant = total == 0.0
    explained = 1.0 - residual / np.where(constant, 1.0, total)
    return float(np.where(constant, residual == 0.0, explained).mean())


def _are_plain(classes: AnyArray) -> bool:
    """Whether scikit-learn takes the classes for classes: integers, flags or texts."""
    return classes.dtype.kind in "biuU" or (
        classes.dtype.kind == "O" and all(isinstance(each, str) for each in classes.tolist())
    )


def _can_weigh(weights: FloatArray | None) -> bool:
    return weights is None or bool(np.isfinite(total := weights.sum()) and total > 0.0)


def _measure_accuracy(labels: NDArray[np.intp], shares: FloatArray, weights: FloatArray | None) -> float | None:
    if not len(labels) or not _can_weigh(weights):
        return None
    return float(np.average(shares.argmax(axis=1) == labels, weights=weights))


def _measure_balanced_accuracy(
    labels: NDArray[np.intp], shares: FloatArray, weights: FloatArray | None
) -> float | None:
    """The mean over the classes of the fraction of their rows that is right."""
    chosen, n_classes = shares.argmax(axis=1), shares.shape[1]
    counts = np.bincount(labels * n_classes + chosen, weights=weights, minlength=n_classes**2)
    matrix = counts.reshape(n_classes, n_classes)
    sizes = matrix.sum(axis=1)
    if not (sizes > 0).all():
        return None
    return float((matrix.diagonal() / sizes).mean())


def _measure_binary_auc(positive: NDArray[np.bool_], scores: FloatArray, weights: FloatArray | None) -> float | None:
    """Area under the ROC curve; points of the curve that lie on a straight line are left out, as scikit-learn does."""
    if weights is not None:
        counted = weights != 0.0
        positive, scores, weights = positive[counted], scores[counted], weights[counted]
    if not len(scores) or positive.all() or not positive.any():
        return None
    order = np.argsort(-scores, kind="stable")
    sorted_scores, hits = scores[order], positive[order].astype(np.float64)
    ends = np.append(np.flatnonzero(np.diff(sorted_scores)), len(order) - 1)
    if weights is None:
        true_positives = hits.cumsum()[ends]
        false_positives = 1.0 + ends - true_positives
    else:
        own = weights[order]
        true_positives, false_positives = (hits * own).cumsum()[ends], ((1.0 - hits) * own).cumsum()[ends]
    if len(ends) > 2:
        corners = np.ones(len(ends), dtype=bool)
        corners[1:-1] = (np.diff(false_positives, 2) != 0.0) | (np.diff(true_positives, 2) != 0.0)
        true_positives, false_positives = true_positives[corners], false_positives[corners]
    if not (true_positives[-1] > 0.0 and false_positives[-1] > 0.0):
        return None
    hit_rate = np.append(0.0, true_positives) / true_positives[-1]
    false_rate = np.append(0.0, false_positives) / false_positives[-1]
    return float((np.diff(false_rate) * (hit_rate[1:] + hit_rate[:-1]) / 2.0).sum())


def _measure_auc(labels: NDArray[np.intp], shares: FloatArray, weights: FloatArray | None) -> float | None:
    if shares.shape[1] != 2 or not np.isfinite(shares).all():
        return None
    return _measure_binary_auc(labels == 1, shares[:, 1], weights)


def _measure_auc_ovr(labels: NDArray[np.intp], shares: FloatArray, weights: FloatArray | None) -> float | None:
    """The mean of the areas of each class against the others; the area of the second of two classes."""
    n_classes = shares.shape[1]
    if n_classes == 2:
        return _measure_auc(labels, shares, weights)
    if n_classes < 2 or not np.isfinite(shares).all() or not np.allclose(1, shares.sum(axis=1)):
        return None
    areas = [_measure_binary_auc(labels == k, shares[:, k], weights) for k in range(n_classes)]
    known = [area for area in areas if area is not None]
    return float(np.average(np.array(known))) if len(known) == n_classes else None


def _measure_log_loss(labels: NDArray[np.intp], shares: FloatArray, weights: FloatArray | None) -> float | None:
    """Minus the mean of minus the log-probabilities of the true classes, which are bounded as scikit-learn does."""
    n_classes = shares.shape[1]
    if n_classes < 2 or not _can_weigh(weights) or not np.bincount(labels, minlength=n_classes).all():
        return None
    if not (shares.min() >= 0.0 and shares.max() <= 1.0) or not np.isclose(shares.sum(axis=1), 1.0).all():
        return None
    own = shares[np.arange(len(labels)), labels] if n_classes > 2 else np.abs((labels == 0) - shares[:, 1])
    bound = np.finfo(np.float64).eps
    return -float(np.average(-xlogy(1.0, np.clip(own, bound, 1.0 - bound)), weights=weights))


def _measure_mean(losses: FloatArray, weights: FloatArray | None) -> FloatArray | None:
    """Mean loss of each output."""
    if not len(losses) or not _can_weigh(weights) or not np.isfinite(losses).all():
        return None
    return np.asarray(np.average(losses, axis=0, weights=weights))


def _measure_absolute_error(true: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> float | None:
    errors = _measure_mean(np.abs(predicted - true), weights)
    return None if errors is None else -float(np.average(errors))


def _measure_squared_error(true: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> float | None:
    errors = _measure_mean((true - predicted) ** 2, weights)
    return None if errors is None else -float(np.average(errors))


def _measure_root_squared_error(true: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> float | None:
    errors = _measure_mean((true - predicted) ** 2, weights)
    return None if errors is None else -float(np.average(np.sqrt(errors)))


def _measure_r2(true: FloatArray, predicted: FloatArray, weights: FloatArray | None) -> float | None:
    if len(true) < 2 or not _can_weigh(weights) or not np.isfinite(predicted).all():
        return None
    return explain_variance(true, predicted, weights)


_CLASS_METRICS: dict[str, ClassMetric] = {
    "accuracy": _measure_accuracy,
    "balanced_accuracy": _measure_balanced_accuracy,
    "neg_log_loss": _measure_log_loss,
    "roc_auc": _measure_auc,
    "roc_auc_ovr": _measure_auc_ovr,
}
_VALUE_METRICS: dict[str, ValueMetric] = {
    "neg_mean_absolute_error": _measure_absolute_error,
    "neg_mean_squared_error": _measure_squared_error,
    "neg_root_mean_squared_error": _measure_root_squared_error,
    "r2": _measure_r2,
}
