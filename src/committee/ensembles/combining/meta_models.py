"""Meta-models that only weight the members: the mean, the majority vote, and fitted convex weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.member_predictions import sum_weighted

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["ConvexClassifier", "ConvexRegressor"]


class ConvexClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A convex combination of the members' class probabilities, whose columns stand side by side, member by member.

    Parameters
    ----------
    how : {"mean", "majority", "nonnegative"}
        Equal weights; a majority vote; or the convex weights with the least log-loss.
    n_members : int
        Number of members. With two classes each member has one column, the probability of the second class.
    """

    def __init__(self, how: str, n_members: int) -> None:
        self.how, self.n_members = how, n_members

    def fit(self, X: FloatArray, y: NDArray[np.intp], sample_weight: FloatArray | None = None) -> Self:
        """Fit the weights, if there are any to fit."""
        self.classes_ = np.arange(max(2, X.shape[1] // self.n_members))
        self.weights_ = np.full(self.n_members, 1.0 / self.n_members)
        if self.how == "nonnegative":
            y_true = np.eye(len(self.classes_))[y]
            self.weights_ = fit_convex_weights_log_loss(self._split_members(X), y_true, sample_weight)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """The weighted mean of the probabilities, or the fraction of the votes."""
        predictions = self._split_members(X)
        if self.how == "majority":
            predictions = [np.eye(len(self.classes_))[one.argmax(axis=1)] for one in predictions]
        return sum_weighted(self.weights_, predictions)

    def predict(self, X: FloatArray) -> NDArray[np.intp]:
        """The class of the largest probability, the first of equals."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _split_members(self, X: FloatArray) -> list[FloatArray]:
        columns = np.split(np.asarray(X), self.n_members, axis=1)
        if columns[0].shape[1] == 1:
            return [np.hstack([1.0 - second, second]) for second in columns]
        return columns


class ConvexRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A convex combination of the members' values, whose columns stand side by side, member by member.

    Parameters
    ----------
    how : {"mean", "nonnegative"}
        Equal weights, or the convex weights with the least squared error.
    n_members : int
        Number of members.
    """

    def __init__(self, how: str, n_members: int) -> None:
        self.how, self.n_members = how, n_members

    def fit(self, X: FloatArray, y: FloatArray, sample_weight: FloatArray | None = None) -> Self:
        """Fit the weights, if there are any to fit."""
        self.weights_ = np.full(self.n_members, 1.0 / self.n_members)
        if self.how == "nonnegative":
            y_true = np.asarray(y).reshape(len(y), -1)
            predictions = np.split(X, self.n_members, axis=1)
            self.weights_ = fit_convex_weights_squared_error(predictions, y_true, sample_weight)
        return self

    def predict(self, X: FloatArray) -> FloatArray:
        """The weighted mean of the values."""
        mean = sum_weighted(self.weights_, np.split(X, self.n_members, axis=1))
        return mean[:, 0] if mean.shape[1] == 1 else mean
