"""How naive Bayes models answer: log-probabilities of classes, and what is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np
from scipy.special import logsumexp
from sklearn.base import ClassifierMixin
from sklearn.exceptions import NotFittedError

from committee.base import CommitteeEstimator
from committee.data.intake import take_in_rows
from committee.data.targets import encode_classes, read_target
from committee.exceptions import DataError
from committee.params import (
    ArrayLike,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Schema
    from committee.typing import FloatArray

__all__ = ["BayesAnswers", "ClassPrior", "FitPrior", "encode_known", "sum_cells"]

FitPrior: TypeAlias = Annotated[
    bool,
    "Whether the prior of a class is its share of the weight; False: all classes have the same prior.",
]
ClassPrior: TypeAlias = Annotated[
    Annotated[Any, ArrayLike("of one probability for each class")] | None,
    "Priors of the classes, in place of those that the data give.",
]


def encode_known(y: Any, classes: NDArray[Any], n_rows: int, name: str) -> NDArray[np.intp]:
    """Number of each row's class among classes that were given before."""
    target = encode_classes(read_target(y, n_rows, name, multi_output=False), name)
    found = target.classes[0]
    known = {label: k for k, label in enumerate(classes.tolist())}
    strangers = [label for label in found.tolist() if label not in known]
    if strangers:
        raise DataError(f"The target label(s) {strangers} in y do not exist in the initial classes {classes.tolist()}.")
    renumber = np.array([known[label] for label in found.tolist()], dtype=np.intp)
    return renumber[target.labels[:, 0]]


def sum_cells(cells: NDArray[np.intp], weights: FloatArray, n_cells: int) -> FloatArray:
    """Sum of the weights in each cell."""
    return np.bincount(cells, weights, n_cells).astype(np.float64, copy=False)


class BayesAnswers(ClassifierMixin, CommitteeEstimator):  # type: ignore[misc]
    """From the joint log-probability of rows and classes to answers."""

    _schema: Schema
    classes_: NDArray[Any]
    class_log_prior_: FloatArray

    def __sklearn_is_fitted__(self) -> bool:
        return "_schema" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _join(self, rows: Any) -> FloatArray:
        """Joint log-probability of rows that were taken in."""
        raise NotImplementedError

    def predict_joint_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of P(c) P(x | c), not normalised.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        self._check_fitted()
        return self._join(take_in_rows(self, X, self._schema))

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the most probable one, the first of equals.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        joint = self.predict_joint_log_proba(X)
        return self.classes_.take(joint.argmax(axis=1))  # type: ignore[no-any-return]

    def predict_log_proba(self, X: Any) -> FloatArray:
        """Logarithm of the probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. A row that is impossible in every class has the priors.
        """
        joint = self.predict_joint_log_proba(X)
        impossible = np.isneginf(joint).all(axis=1)
        if impossible.any():
            joint[impossible] = self.class_log_prior_
        normalised: FloatArray = joint - logsumexp(joint, axis=1, keepdims=True)
        return normalised

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return np.exp(self.predict_log_proba(X))
