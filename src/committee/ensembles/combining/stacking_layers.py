"""One layer of a stack: fitted members, and their predictions as the columns of the next layer's table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from committee.data.rows import count_rows, select_rows
from committee.engines.formula import JoinedTerms, TakenColumns
from committee.ensembles.combining.member_predictions import Classes, drop_redundant_columns, predict_member
from committee.ensembles.combining.oob_correction import correct_oob_columns, estimate_oob_noise
from committee.ensembles.combining.out_of_fold import has_oob_predictions
from committee.ensembles.member_formulas import predict_term
from committee.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import BoolArray, EstimatorLike, FloatArray

__all__ = ["Layer", "join_columns"]


@dataclass
class Layer:
    """Fitted members of one layer.

    Attributes
    ----------
    names : list of str
        Their names.
    members : list of estimators
        Fitted.
    methods : list of str
        The method that each predicts by.
    classes : list of ndarray, or None
        As the members were fitted with them.
    widths : list of int
        Number of columns of each.
    """

    names: list[str]
    members: list[EstimatorLike]
    methods: list[str]
    classes: Classes
    widths: list[int]

    def predict(self, X: Any) -> FloatArray:
        """Columns of the members' predictions, side by side."""
        return self.to_columns(self.predict_members(X))

    def predict_members(self, X: Any) -> list[FloatArray]:
        """Predictions of each member."""
        pairs = zip(self.members, self.methods, strict=True)
        return [predict_member(member, X, method, self.classes) for member, method in pairs]

    def to_columns(self, predictions: list[FloatArray]) -> FloatArray:
        """Predictions as columns, without probabilities that follow from the others."""
        pairs = zip(predictions, self.methods, strict=True)
        columns = [drop_redundant_columns(predicted, method, self.classes) for predicted, method in pairs]
        self.widths = [own.shape[1] for own in columns]
        return np.hstack(columns)

    def to_term(self, owner: object, formulas: list[ModelFormula]) -> FormulaTerm:
        """`predict`, as a term of a formula."""
        parts: list[FormulaTerm] = []
        for formula, method in zip(formulas, self.methods, strict=True):
            term = predict_term(owner, formula, method, self.classes)
            numbers = np.arange(term.width)[None, :].astype(np.float64)
            kept = drop_redundant_columns(numbers, method, self.classes)[0].astype(int)
            parts.append(term if len(kept) == term.width else TakenColumns(term, tuple(kept.tolist())))
        return parts[0] if len(parts) == 1 else JoinedTerms(tuple(parts))

    def correct_oob(self, columns: FloatArray, training: TrainingSet, known: BoolArray) -> FloatArray:
        """Columns for a linear meta-model, with the noise of out-of-bag predictions corrected (`oob_correction.py`).

        Parameters
        ----------
        columns : ndarray of shape (n_known, n_columns)
            From `to_columns`.
        training : TrainingSet
            What the members were fitted on.
        known : ndarray of bool
            Which of its rows have columns.
        """
        noise, min_signal, first = np.zeros((columns.shape[1],) * 2), 1.0, 0
        for member, method, width in zip(self.members, self.methods, self.widths, strict=True):
            span = slice(first, first + width)
            first += width
            # Indices of classes cannot be averaged.
            if not has_oob_predictions(member) or (method == "predict" and self.classes is not None):
                continue
            noise[span, span], fraction = estimate_oob_noise(member, training.X, training.n_rows, method, self.classes)
            min_signal = min(min_signal, fraction)
        if min_signal == 1.0:
            return columns
        weights = None if training.weights is None else training.weights[known]
        corrected = correct_oob_columns(columns, noise, min_signal, weights)
        is_probability = np.repeat([method == "predict_proba" for method in self.methods], self.widths)
        return np.where(is_probability, np.clip(corrected, 0.0, 1.0), corrected)


def join_columns(columns: FloatArray, X: Any, rows: NDArray[np.intp] | None = None) -> Any:
    """The members' columns followed by the columns of the table itself, for all rows or some.

    Examples
    --------
    >>> join_columns(np.array([[0.5], [0.25]]), np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[0.5 , 1.  , 2.  ],
           [0.25, 3.  , 4.  ]])
    """
    if rows is not None and len(rows) < count_rows(X):
        X = select_rows(X, rows)
    if sparse.issparse(X):
        return sparse.hstack([columns, X], format=X.format)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    table = np.asarray(X)
    if table.dtype.kind in "mMV":
        raise DataError(f"passthrough=True adds the columns of X, which must be numbers; its type is {table.dtype}.")
    return np.hstack([columns, table])
