"""Conformal sets of classes from out-of-bag predictions.

The score of a training row says how strange its own class looks to the members that did not learn from it; a class
belongs to the set of a new row if it looks no stranger than that of most training rows [Johansson2014].
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from committee.data.device_tables import copy_to_host
from committee.data.weights import count_as_rows
from committee.exceptions import DataError, NotFittedError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import BoolArray, FloatArray

    SetMethod: TypeAlias = Literal["lac", "aps"]

__all__ = ["PredictionSetMixin", "find_class_sets", "score_classes"]

_ROUNDING = 1e-12
"""Relative, of sums of probabilities in another order."""


def score_classes(probabilities: FloatArray, method: SetMethod) -> FloatArray:
    """How strange each class looks in each row, of shape (n_rows, n_classes).

    ``"lac"``: one minus its probability [Sadinle2019]. ``"aps"``: the sum of the probabilities of all more
    probable classes, and half of that of the equally probable ones, its own included [Romano2020]; the random number
    that the paper multiplies its own probability by has its mean here, so that a row has the same set every time.

    Examples
    --------
    >>> score_classes(np.array([[0.5, 0.25, 0.25]]), "lac")
    array([[0.5 , 0.75, 0.75]])
    >>> score_classes(np.array([[0.5, 0.25, 0.25]]), "aps")
    array([[0.25, 0.75, 0.75]])
    """
    if method == "lac":
        return 1.0 - probabilities
    others = probabilities[:, None, :]
    larger = np.where(others > probabilities[:, :, None], others, 0.0).sum(axis=2)
    tied = np.where(others == probabilities[:, :, None], others, 0.0).sum(axis=2)
    scores: FloatArray = larger + 0.5 * tied
    return scores


def find_class_sets(
    probabilities: FloatArray, own_scores: FloatArray, repeats: FloatArray | None, alpha: float, method: SetMethod
) -> BoolArray:
    """Which classes belong to the set of each row.

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Of the new rows.
    own_scores : ndarray of shape (n_training_rows,)
        Score of each training row's own class, out of bag.
    repeats : ndarray of shape (n_training_rows,) or None
        As how many rows each training row counts.
    alpha : float
        The rate of errors.
    method : {"lac", "aps"}
        As in `score_classes`.

    Returns
    -------
    ndarray of bool of shape (n_rows, n_classes)

    Examples
    --------
    >>> find_class_sets(np.array([[0.9, 0.1], [0.6, 0.4]]), np.linspace(0.0, 0.8, 19), None, 0.2, "lac")
    array([[ True, False],
           [ True,  True]])
    """
    n = len(own_scores) if repeats is None else float(repeats.sum())
    rank = ceil((1.0 - alpha) * (n + 1) * (1.0 - _ROUNDING))
    if rank > n:
        return np.ones(probabilities.shape, dtype=bool)
    order = np.argsort(own_scores, kind="stable")
    reached = np.cumsum(np.ones(len(order)) if repeats is None else repeats[order]) >= rank * (1.0 - _ROUNDING)
    limit = float(own_scores[order][int(reached.argmax())])
    return score_classes(probabilities, method) <= limit + _ROUNDING


class PredictionSetMixin:
    """`predict_set` for bags and forests of classifiers; needs their out-of-bag predictions."""

    if TYPE_CHECKING:
        oob_decision_function_: Any
        classes_: Any
        _oob_labels: NDArray[np.int32]
        _samples: Any

        def predict_proba(self, X: Any) -> Any:
            """Class probabilities."""

    def predict_set(self, X: Any, alpha: float = 0.1, *, method: SetMethod = "lac") -> BoolArray:
        """Sets of classes that hold the true one with probability of about ``1 - alpha`` or more.

        The threshold is a quantile of the out-of-bag scores of the training rows, so that no rows are held out. If
        training and new rows are exchangeable the coverage holds up to the difference between a prediction of all
        members and one of those that did not learn from the row; since the former is the better one, sets tend to
        cover more rather than less. A row of weight 3 counts as three. Needs ``oob_score`` at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        alpha : float, default=0.1
            The rate of sets that may miss the true class, in (0, 1).
        method : {"lac", "aps"}, default="lac"
            ``"lac"``: classes of at least some probability, the same for all rows; the sets are the smallest on
            average [Sadinle2019], and may be empty. ``"aps"``: the most probable classes up to some sum of
            probabilities; sets are larger where the model is in doubt [Romano2020].

        Returns
        -------
        ndarray of bool of shape (n_samples, n_classes)
            Whether each class of ``classes_`` belongs to the set.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from committee import RandomForestClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
        >>> forest.predict_set(X[[0, 70, 120]], alpha=0.01).astype(int)
        array([[1, 0, 0],
               [0, 1, 1],
               [0, 0, 1]])
        """
        name = type(self).__name__
        probabilities = self.predict_proba(copy_to_host(X))
        if "_oob_labels" not in self.__dict__:
            raise NotFittedError(
                f"This {name} has no out-of-bag predictions of a single output with their classes. Fit it with "
                "oob_score=True."
            )
        if self.__dict__.get("_calibration") is not None:
            raise ParameterError(
                f"This {name} was calibrated on its out-of-bag predictions, which prediction sets need for "
                "themselves: fit it with calibration=None."
            )
        if not 0.0 < alpha < 1.0:
            raise DataError(f"alpha must be in (0, 1); got {alpha!r}.")
        if method not in ("lac", "aps"):
            raise ParameterError(f"method must be 'lac' or 'aps'; got {method!r}.")
        known, labels = np.asarray(self.oob_decision_function_), self._oob_labels
        rows = np.flatnonzero(np.isfinite(known).all(axis=1) & (labels >= 0))
        own_scores = score_classes(known[rows], method)[np.arange(len(rows)), labels[rows]]
        return find_class_sets(probabilities, own_scores, self._count_calibration(rows), float(alpha), method)

    def _count_calibration(self, rows: NDArray[np.intp]) -> FloatArray | None:
        plan = getattr(self._samples, "plan", self._samples)
        weights = getattr(plan, "weights", None)
        return None if weights is None else count_as_rows(np.asarray(weights))[rows]
