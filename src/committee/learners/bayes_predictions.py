"""Base of the naive Bayes classifiers: predictions from the joint log-probability of rows and classes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeAlias

import numpy as np

from committee.base import ClassifierScoreMixin, CommitteeEstimator, not_fitted_error
from committee.data.intake import take_in_rows
from committee.data.targets import encode_classes, read_target
from committee.engines.formula import ModelFormula, RowFunction, TableRow
from committee.exceptions import DataError
from committee.losses import apply_exp, apply_log
from committee.params import ArrayLike

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Schema
    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["BaseNaiveBayes", "ClassPrior", "FitPrior", "encode_known", "sum_by_code"]

FitPrior: TypeAlias = Annotated[
    bool,
    "Whether the prior of a class is its fraction of the weight; False: all classes have the same prior.",
]
ClassPrior: TypeAlias = Annotated[
    Annotated[Any, ArrayLike("of one probability for each class")] | None,
    "Priors of the classes, instead of those estimated from the data.",
]


def encode_known(y: Any, classes: NDArray[Any], n_rows: int, name: str) -> NDArray[np.intp]:
    """Number of each row's class among known classes."""
    target = encode_classes(read_target(y, n_rows, name, multi_output=False), name)
    found = target.classes[0]
    known = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in found.tolist() if label not in known]
    if unknown:
        raise DataError(f"The target label(s) {unknown} in y do not exist in the initial classes {classes.tolist()}.")
    renumber = np.array([known[label] for label in found.tolist()], dtype=np.intp)
    return renumber[target.labels[:, 0]]


def sum_by_code(codes: NDArray[np.intp], weights: FloatArray, n_codes: int) -> FloatArray:
    """Sum of the weights of each code."""
    return np.bincount(codes, weights, n_codes).astype(np.float64, copy=False)


class BaseNaiveBayes(ClassifierScoreMixin, CommitteeEstimator):
    """Predictions from the joint log-probability of rows and classes, which a subclass computes."""

    accepts_blocks: ClassVar[bool] = False

    _schema: Schema
    classes_: NDArray[Any]
    class_log_prior_: FloatArray

    def __sklearn_is_fitted__(self) -> bool:
        return "_schema" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)

    def _joint_log_proba(self, rows: FloatMatrix | SparseMatrix) -> FloatArray:
        """Joint log-probability of each class and rows that were read."""
        raise NotImplementedError

    def _joint_term(self, row: FormulaTerm) -> FormulaTerm:
        """`_joint_log_proba`, as a term of a formula."""
        raise NotImplementedError

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        self._check_fitted()
        row = TableRow(self._schema.n_features) if row is None else row
        joint = self._joint_term(row)
        shares = RowFunction("softmax", joint, is_exact=False)
        return ModelFormula(row, self._schema, RowFunction("argmax", joint), (self.classes_,), shares)

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
        return self._joint_log_proba(take_in_rows(self, X, self._schema))

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
        return np.asarray(self.classes_.take(joint.argmax(axis=1)))

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
        shifted: FloatArray = joint - joint.max(axis=1, keepdims=True)
        return shifted - apply_log(apply_exp(shifted).sum(axis=1, keepdims=True))

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
        return apply_exp(self.predict_log_proba(X))
