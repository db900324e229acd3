"""Meta-models that only weigh the members: mean, majority, and weights that are not negative and sum to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.ensembles.combining.convex_weights import blend_by_least_squares, blend_by_log_loss

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["ShareBlend", "ValueBlend"]


class ShareBlend(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A weighted mean of class shares that stand side by side, member by member.

    Parameters
    ----------
    how : {"mean", "majority", "nonnegative"}
        Equal weights; equal votes for the class of the largest share; or weights that make the true classes
        likeliest.
    n_members : int
        Members whose shares there are; of two classes only the second one's share is there.
    """

    def __init__(self, how: str, n_members: int) -> None:
        self.how, self.n_members = how, n_members

    def fit(self, X: FloatArray, y: NDArray[np.intp], sample_weight: FloatArray | None = None) -> Self:
        """Learn the weights, if there are any to learn."""
        self.classes_ = np.arange(max(2, X.shape[1] // self.n_members))
        self.weights_ = np.full(self.n_members, 1.0 / self.n_members)
        if self.how == "nonnegative":
            self.weights_ = blend_by_log_loss(self._part(X), np.eye(len(self.classes_))[y], sample_weight)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """The weighted mean of the shares, or the share of votes."""
        total: Any = 0.0
        for weight, shares in zip(self.weights_, self._part(X), strict=True):
            vote = np.eye(len(self.classes_))[shares.argmax(axis=1)] if self.how == "majority" else shares
            total = total + weight * vote
        return np.asarray(total)

    def predict(self, X: FloatArray) -> NDArray[np.intp]:
        """The class of the largest share, the first of equals."""
        return self.predict_proba(X).argmax(axis=1)  # type: ignore[no-any-return]

    def _part(self, X: FloatArray) -> list[FloatArray]:
        parts = np.split(np.asarray(X), self.n_members, axis=1)
        if parts[0].shape[1] == 1:
            return [np.hstack([1.0 - part, part]) for part in parts]
        return parts


class ValueBlend(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A weighted mean of values that stand side by side, member by member.

    Parameters
    ----------
    how : {"mean", "nonnegative"}
        Equal weights, or those (not negative, sum one) with the least squared error.
    n_members : int
        Members whose values there are.
    """

    def __init__(self, how: str, n_members: int) -> None:
        self.how, self.n_members = how, n_members

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: FloatArray | None = None) -> Self:
        """Learn the weights, if there are any to learn."""
        self.weights_ = np.full(self.n_members, 1.0 / self.n_members)
        if self.how == "nonnegative":
            goal = np.asarray(y).reshape(len(y), -1)
            self.weights_ = blend_by_least_squares(np.split(X, self.n_members, axis=1), goal, sample_weight)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """The weighted mean of the values."""
        total: Any = 0.0
        for weight, values in zip(self.weights_, np.split(X, self.n_members, axis=1), strict=True):
            total = total + weight * values
        return np.asarray(total[:, 0] if total.shape[1] == 1 else total)
