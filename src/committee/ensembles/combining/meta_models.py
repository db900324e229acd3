"""Meta-models that only weight the members: the mean, the majority vote, and fitted convex weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

from committee.data import Schema
from committee.engines.formula import (
    ModelFormula,
    OneHotTerm,
    RowFunction,
    TableRow,
    TakenColumns,
    add_weighted,
    join_two_classes,
)
from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.member_predictions import sum_weighted

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
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
        n_columns = X.shape[1] // self.n_members
        # Of two classes the second has a column, of one class the only one: it is certain.
        alone = n_columns == 1 and not np.any(y) and bool((np.asarray(X) == 1.0).all())
        self.classes_ = np.arange(1 if alone else max(2, n_columns))
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

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the meta-model computes for a row; exports are written from it."""
        n, n_classes = self.n_members, len(self.classes_)
        width = 1 if n_classes == 2 else n_classes
        row = TableRow(n * width) if row is None else row
        terms = _split_row(row, n)
        if row.width == n and n_classes > 1:
            terms = [join_two_classes(term) for term in terms]
        if self.how == "majority":
            terms = [OneHotTerm(RowFunction("argmax", term), n_classes) for term in terms]
        mean = add_weighted(self.weights_, terms)
        return ModelFormula(row, _plain_schema(row), RowFunction("argmax", mean), (self.classes_,), mean)

    def predict(self, X: FloatArray) -> NDArray[np.intp]:
        """The class of the largest probability, the first of equals."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _split_members(self, X: FloatArray) -> list[FloatArray]:
        columns = np.split(np.asarray(X), self.n_members, axis=1)
        if columns[0].shape[1] == 1 and len(self.classes_) > 1:
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

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the meta-model computes for a row; exports are written from it."""
        row = TableRow(self.n_members) if row is None else row
        return ModelFormula(row, _plain_schema(row), add_weighted(self.weights_, _split_row(row, self.n_members)))

    def predict(self, X: FloatArray) -> FloatArray:
        """The weighted mean of the values."""
        mean = sum_weighted(self.weights_, np.split(X, self.n_members, axis=1))
        return mean[:, 0] if mean.shape[1] == 1 else mean


def _split_row(row: FormulaTerm, n_members: int) -> list[FormulaTerm]:
    """The columns of each member."""
    return [TakenColumns(row, tuple(own.tolist())) for own in np.split(np.arange(row.width), n_members)]


def _plain_schema(row: FormulaTerm) -> Schema:
    return Schema(row.width, None, (None,) * row.width, np.dtype(np.float64))
