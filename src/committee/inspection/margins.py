"""Margins of rows with known classes, row weights of boosting, and suspected labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.constraints import show_value
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection.resampling import check_count
from committee.losses import apply_exp
from committee.value_checks import is_real, read_doubles

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.typing import AnyArray, FloatArray

__all__ = ["measure_margins", "suspect_labels", "weigh_rows"]


def measure_margins(scores: FloatArray, labels: AnyArray, largest: float = 1.0) -> FloatArray:
    """Score of the true class minus the largest other one, relative to its largest possible value [Schapire1998].

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Scores of the classes; the largest is the prediction.
    labels : ndarray of shape (n_rows,)
        Index of the true class.
    largest : float, default=1.0
        The difference that a unanimous ensemble would have.

    Returns
    -------
    ndarray of shape (n_rows,)
        In [-1, 1]; positive where the prediction is correct.

    Examples
    --------
    >>> import numpy as np
    >>> measure_margins(np.array([[0.75, 0.25], [0.5, 0.5], [0.0, 1.0]]), np.array([0, 1, 0])).tolist()
    [0.5, 0.0, -1.0]
    """
    scores, labels = _check_scores(scores, labels, "measure_margins")
    if not is_real(largest) or not largest > 0:
        raise ParameterError(f"The 'largest' argument must be a number > 0; got {show_value(largest)}.")
    each = np.arange(len(labels))
    if scores.shape[1] == 1:
        return np.ones(len(labels))
    others = scores.copy()
    others[each, labels] = -np.inf
    return np.asarray((scores[each, labels] - others.max(axis=1)) / largest)


def suspect_labels(scores: FloatArray, labels: AnyArray, n_suspects: int = 10) -> NDArray[np.intp]:
    """Rows whose own class has the lowest scores, lowest first: those with the largest weight in boosting.

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        Scores of the classes.
    labels : ndarray of shape (n_rows,)
        Index of the recorded class.
    n_suspects : int, default=10
        Number of rows to return.

    Returns
    -------
    ndarray of shape (n_suspects,)
        Row numbers; ties are in the order of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> suspect_labels(np.array([[2.0, -2.0], [1.0, -1.0], [-3.0, 3.0]]), np.array([0, 1, 0]), 2).tolist()
    [2, 1]
    """
    scores, labels = _check_scores(scores, labels, "suspect_labels")
    own = scores[np.arange(len(labels)), labels]
    return np.argsort(own, kind="stable")[: check_count("n_suspects", n_suspects, 0)]


def weigh_rows(scores: FloatArray, labels: AnyArray) -> FloatArray:
    r"""Row weights of the next boosting round, proportional to :math:`e^{-f_y(x) / (K - 1)}` [Zhu2009].

    Parameters
    ----------
    scores : ndarray of shape (n_rows, n_classes)
        f, a column for each class; for two classes -f and f.
    labels : ndarray of shape (n_rows,)
        Index of the recorded class.

    Returns
    -------
    ndarray of shape (n_rows,)
        Their sum is 1.

    Examples
    --------
    >>> import numpy as np
    >>> weigh_rows(np.array([[0.5, -0.5], [0.5, -0.5]]), np.array([0, 1])).round(3).tolist()
    [0.269, 0.731]
    """
    scores, labels = _check_scores(scores, labels, "weigh_rows")
    own = scores[np.arange(len(labels)), labels] / max(1, scores.shape[1] - 1)
    raised = apply_exp(own.min() - own)
    return np.asarray(raised / raised.sum())


def _check_scores(scores: ArrayLike, labels: ArrayLike, where: str) -> tuple[FloatArray, AnyArray]:
    """Scores and class indices as arrays of matching shapes."""
    if hasattr(scores, "predict"):
        raise ParameterTypeError(
            f"{where} takes scores of the classes, an array of shape (n_rows, n_classes); got {type(scores).__name__}. "
            "Pass its predict_proba(X), for instance; AdaBoostClassifier has methods for margins, weights and suspects."
        )
    scores = read_doubles(scores, f"The scores for {where}", "an array of numbers of shape (n_rows, n_classes)")
    try:
        labels = np.asarray(labels)
    except ValueError:
        raise DataError(f"{where} takes labels of shape (n_rows,); got {show_value(labels)}.") from None
    if scores.ndim != 2 or labels.shape != scores.shape[:1]:
        raise DataError(
            f"{where} takes scores of shape (n_rows, n_classes) and labels of shape (n_rows,); got {scores.shape} and "
            f"{labels.shape}."
        )
    if labels.dtype.kind not in "iub" or (len(labels) and not 0 <= labels.min() <= labels.max() < scores.shape[1]):
        raise DataError(f"{where} takes labels that are numbers of classes, from 0 to {scores.shape[1] - 1}.")
    return scores, labels.astype(np.intp)
