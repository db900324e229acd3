"""Members beside the trees: the frequencies alone, a linear model and nearest neighbours on encoded features.

They see what the committee's door made of a table (numbers, codes, NaN) and keep nothing but arrays, so that a model
file can hold them. Weights count rows: a row of weight two is two rows, and the committee scales them so.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from committee.automatic.encoding import learn_encoding

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["LinearMember", "NeighbourMember", "PlainMember", "PriorMember", "soften"]

_N_NEIGHBOURS = 15
_MOST_NEIGHBOURS = 60
"""Rows to look at where some weigh less than one."""
_INVERSE_PENALTY = 1.0
"""C of the logistic model."""
_MOST_STEPS = 200
_PENALTIES = np.logspace(-3, 6, 19)
"""Among which generalised cross-validation chooses the ridge."""


def soften(scores: FloatArray) -> FloatArray:
    """Shares that are in proportion to the exponentials of scores, row by row.

    Examples
    --------
    >>> soften(np.log(np.array([[3.0, 1.0]])))
    array([[0.75, 0.25]])
    """
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


class PlainMember(BaseEstimator):  # type: ignore[misc]
    """What these members share: which rows count and how often, and classes by their numbers.

    Parameters
    ----------
    classify : bool
        Whether y holds numbers of classes rather than values.
    categories : sequence of int
        Columns that hold codes.
    """

    def __init__(self, classify: bool, categories: Sequence[int] = ()) -> None:
        self.classify, self.categories = classify, categories

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Learn from rows of positive weight."""
        counts = np.ones(len(y))
        if sample_weight is not None:
            counts = np.asarray(sample_weight, dtype=np.float64)
            there = counts > 0.0
            X, y, counts = X[there], y[there], counts[there]
        self.classes_ = None
        goal = np.asarray(y, dtype=np.float64)[:, None]
        if self.classify:
            self.classes_, labels = np.unique(y, return_inverse=True)
            goal = np.eye(len(self.classes_))[labels]
        self._learn(X, goal, counts)
        return self

    def predict_proba(self, X: NDArray[Any]) -> FloatArray:
        """Probability of each class that was met in training."""
        return self._answer(X)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """The value of each row, or the likeliest class."""
        answer = self._answer(X)
        return answer[:, 0] if self.classes_ is None else self.classes_[answer.argmax(axis=1)]

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        raise NotImplementedError

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        raise NotImplementedError


class PriorMember(PlainMember):
    """The frequencies of the classes, or the mean value, whatever the row: what there is to know without features."""

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        self.means_ = np.average(goal, axis=0, weights=counts)

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        return np.tile(self.means_, (X.shape[0], 1))


class LinearMember(PlainMember):
    """A logistic model for classes, a ridge regression for values; the ridge is chosen by generalised cross-validation.

    With singular values s of the centred table, the ridge a leaves d(a) = sum s² / (s² + a) degrees of freedom, and the
    least of n |residuals|² / (n - 1 - d(a))² is taken [Golub1979].
    """

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        self.encoding_ = learn_encoding(X, counts, self.categories)
        table = self.encoding_.encode(X)
        fit = self._fit_shares if self.classify else self._fit_values
        self.coef_, self.intercept_ = fit(table, goal, counts)

    def _fit_shares(self, table: FloatArray, goal: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression

        n_classes = goal.shape[1]
        if n_classes == 1:
            return np.zeros((1, table.shape[1])), np.zeros(1)
        model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=_MOST_STEPS)
        with warnings.catch_warnings():
            # A model that is nearly there is as good a member.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(table, goal.argmax(axis=1), sample_weight=counts)
        if n_classes > 2:
            return model.coef_, model.intercept_
        return np.vstack([-0.5, 0.5]) * model.coef_, np.array([-0.5, 0.5]) * model.intercept_

    def _fit_values(self, table: FloatArray, goal: FloatArray, counts: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = counts.sum()
        centre, mean = np.average(table, axis=0, weights=counts), float(np.average(goal[:, 0], weights=counts))
        roots = np.sqrt(counts)
        shifted, rest = roots[:, None] * (table - centre), roots * (goal[:, 0] - mean)
        squares, axes = np.linalg.eigh(shifted.T @ shifted)
        squares = np.clip(squares, 0.0, None)
        along = axes.T @ (shifted.T @ rest)
        total = float(rest @ rest)
        best, chosen = np.inf, _PENALTIES[-1]
        for penalty in _PENALTIES:
            size = along / (squares + penalty)
            residual = max(0.0, total - 2.0 * float(size @ along) + float(size @ (squares * size)))
            freedom = n - 1.0 - float((squares / (squares + penalty)).sum())
            found = residual / freedom**2 if freedom > 0.0 else np.inf
            if found < best:
                best, chosen = found, penalty
        coef = axes @ (along / (squares + chosen))
        return coef[None, :], np.array([mean - float(centre @ coef)])

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        scores = self.encoding_.encode(X) @ self.coef_.T + self.intercept_
        return np.asarray(scores) if self.classes_ is None else soften(scores)


class NeighbourMember(PlainMember):
    """The mean of the nearest rows on encoded features; for classes one more row counts, made of the frequencies.

    That row keeps shares away from zero. The last neighbour counts as far as it is needed, so that rows of weight two
    are two neighbours.
    """

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        self.encoding_ = learn_encoding(X, counts, self.categories)
        self.table_, self.goal_, self.counts_ = self.encoding_.encode(X), goal, counts

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        from sklearn.neighbors import NearestNeighbors

        # Light rows count for less than one, and more of them may be needed.
        wanted = _N_NEIGHBOURS if self.counts_.min() >= 1.0 else _MOST_NEIGHBOURS
        finder = NearestNeighbors(n_neighbors=min(wanted, len(self.table_)), algorithm="brute").fit(self.table_)
        near = finder.kneighbors(self.encoding_.encode(X), return_distance=False)
        counts = self.counts_[near]
        before = np.cumsum(counts, axis=1) - counts
        shares = np.clip(_N_NEIGHBOURS - before, 0.0, counts)
        sums, total = np.einsum("rk,rkc->rc", shares, self.goal_[near]), shares.sum(axis=1, keepdims=True)
        if self.classes_ is None:
            return np.asarray(sums / total)
        return np.asarray((sums + np.average(self.goal_, axis=0, weights=self.counts_)) / (total + 1.0))
