"""Conformal sets of classes from out-of-bag predictions.

The score of a training row says how strange its own class looks to the members that did not learn from it; a class
belongs to the set of a new row if it looks no stranger than that of most training rows [Johansson2014].

The mean of all members, which predicts new rows, varies less than that of the members that did not learn from a row.
The jackknife+-after-bootstrap [Kim2020] would predict new rows by the latter as well; p-values are convex in the scores
of strange classes, so that its sets are larger still. Here the scores are extrapolated to all members instead.
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.device_tables import copy_to_host
from committee.data.weights import count_as_rows
from committee.ensembles.class_scores import SET_METHODS, score_classes, score_own_classes
from committee.exceptions import DataError, NotFittedError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.ensembles.class_scores import SetMethod
    from committee.typing import BoolArray, FloatArray

__all__ = ["PredictionSetMixin", "extrapolate_scores", "find_class_sets"]

_FEW_VOTES = 4.0
"""A half of so few members says nothing about the distribution of the scores by many."""

_ROUNDING = 1e-12
"""Relative, of sums of probabilities in another order."""


def extrapolate_scores(
    scores: FloatArray, half_scores: FloatArray, half_votes: FloatArray, n_members: int, repeats: FloatArray | None
) -> tuple[FloatArray, FloatArray]:
    """Scores whose distribution is nearly that of scores by all members, and as how many rows each counts.

    A mean of k members varies with their draws, and by this the more the smaller k is: the distribution function of a
    score is F_k = F + a / k and terms of order 1 / k^2. Richardson's extrapolation [Richardson1911] takes it from the
    out-of-bag members of a row, k of them, and two halves of these, k1 and k2, to all B members:

        F_B = (1 + c) F_k - c (F_k1 + F_k2) / 2,    c = (1 / k - 1 / B) / ((1 / k1 + 1 / k2) / 2 - 1 / k),

    with c in [0, 1). Where few members vote for any class the terms of order 1 / k^2 are large, and the tail of F_B
    comes out too thin. Thus c is multiplied by max(0, 1 - 4 / min(k1, k2)): between F_k, whose tail is too thick, and
    the extrapolation, by another term of order 1 / k^2.

    Parameters
    ----------
    scores : ndarray of shape (n_rows,)
        Of each row's own class, by all members for which it is out of bag.
    half_scores, half_votes : ndarray of shape (n_rows, 2)
        The same by each half of these, and how many members it has.
    n_members : int
        B, of the whole ensemble.
    repeats : ndarray of shape (n_rows,) or None
        As how many rows each row counts.

    Returns
    -------
    scores, repeats : ndarray
        As `find_class_sets` takes them; some count negatively.

    Examples
    --------
    >>> extrapolate_scores(np.array([0.5]), np.array([[0.25, 0.75]]), np.array([[8.0, 8.0]]), 32, None)
    (array([0.5 , 0.25, 0.75]), array([ 1.25 , -0.125, -0.125]))
    """
    counts = np.ones(len(scores)) if repeats is None else repeats
    fewest = half_votes.min(axis=1)
    trusted = fewest > _FEW_VOTES
    shares = np.zeros(len(scores))
    votes, repeated = half_votes[trusted], counts[trusted]
    own = 1.0 / votes.sum(axis=1)
    # A row that is out of bag for all members has c = 0.
    reach = np.maximum(own - 1.0 / n_members, 0.0) / ((1.0 / votes).mean(axis=1) - own)
    shares[trusted] = repeated * reach * (1.0 - _FEW_VOTES / fewest[trusted])
    used = shares > 0.0
    halves = np.repeat(-0.5 * shares[used], 2)
    return np.concatenate([scores, half_scores[used].ravel()]), np.concatenate([counts + shares, halves])


def find_class_sets(
    probabilities: FloatArray, own_scores: FloatArray, repeats: FloatArray | None, alpha: float, method: SetMethod
) -> BoolArray:
    """Which classes belong to the set of each row: those of at most the score at the rank ceil((1 - alpha) * (n + 1)).

    Parameters
    ----------
    probabilities : ndarray of shape (n_rows, n_classes)
        Of the new rows.
    own_scores : ndarray of shape (n_training_rows,)
        Score of each training row's own class, out of bag.
    repeats : ndarray of shape (n_training_rows,) or None
        As how many rows each training row counts. Where some count negatively (`extrapolate_scores`) the score at a
        rank is the smallest from which on at least so many rows have smaller or equal ones.
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
    if rank > n * (1.0 + _ROUNDING):
        return np.ones(probabilities.shape, dtype=bool)
    order = np.argsort(own_scores, kind="stable")
    reached = np.cumsum(np.ones(len(order)) if repeats is None else repeats[order]) >= rank * (1.0 - _ROUNDING)
    at = len(order) - int(reached[::-1].argmin()) if not reached.all() else 0  # after the last that is not reached
    limit = float(own_scores[order[min(at, len(order) - 1)]])
    return score_classes(probabilities, method) <= limit + _ROUNDING


class PredictionSetMixin:
    """`predict_set` for bags and forests of classifiers; needs their out-of-bag predictions."""

    if TYPE_CHECKING:
        oob_decision_function_: Any
        classes_: Any
        oob_trace_: Any
        _oob_labels: NDArray[np.int32]
        _samples: Any

        def predict_proba(self, X: Any) -> Any:
            """Class probabilities."""

    def predict_set(self, X: Any, alpha: float = 0.1, *, method: SetMethod = "lac") -> BoolArray:
        """Sets of classes that hold the true one with probability of about ``1 - alpha`` or more.

        A class belongs to the set if its score is at most that at the rank ``ceil((1 - alpha) * (n + 1))`` of the
        out-of-bag scores of the n training rows, so that no rows are held out [Johansson2014]. A prediction of the
        members that did not learn from a row, k of B, varies more than that of all members, so that out-of-bag scores
        alone cover too often. The distribution of the scores by all members is therefore extrapolated from those by
        all and by either half of a row's out-of-bag members, as far as these are many: hardly with fewer than thirty
        members, almost fully with hundreds.

        If training and new rows are exchangeable the coverage is ``1 - alpha`` up to terms of order 1 / k^2 and a
        deviation of order 1 / sqrt(n) by chance. There is no bound for finite k and n; nor is there one for out-of-bag
        scores alone. A row of weight 3 counts as three. Needs ``oob_score`` at fit.

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
        if method not in SET_METHODS:
            raise ParameterError(f"method must be 'lac' or 'aps'; got {method!r}.")
        known, labels = np.asarray(self.oob_decision_function_), self._oob_labels
        rows = np.flatnonzero(np.isfinite(known).all(axis=1) & (labels >= 0))
        scores, repeats = score_own_classes(known[rows], labels[rows], method), self._count_calibration(rows)
        halves = self.__dict__.get("_oob_halves")  # files of an earlier state of this version lack it
        if halves is not None:
            column = 2 + 2 * SET_METHODS.index(method)
            own, votes = halves[rows, column : column + 2], halves[rows, :2]
            n_members = int(self.oob_trace_["n_estimators"][-1])
            scores, repeats = extrapolate_scores(scores, own, votes, n_members, repeats)
        return find_class_sets(probabilities, scores, repeats, float(alpha), method)

    def _count_calibration(self, rows: NDArray[np.intp]) -> FloatArray | None:
        plan = getattr(self._samples, "plan", self._samples)
        weights = getattr(plan, "weights", None)
        return None if weights is None else count_as_rows(np.asarray(weights))[rows]
