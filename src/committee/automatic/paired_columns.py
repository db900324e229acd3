"""A table that is widened by the sums and differences of its columns, and members that are fitted to it.

A split of a tree looks at one column. Where the target depends on how two columns compare, such as the place along a
coast or what the parts leave of a weight, one split of their sum or difference does what takes many otherwise. Columns
are taken in units of their standard deviations, so that each pair is turned by 45 degrees.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import get_tags

from committee.automatic.encoding import fit_encoding, has_three_values, make_dense
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    JoinedTerms,
    ModelFormula,
    TableRow,
    TakenColumns,
    present_formula,
)
from committee.ensembles.combining.training_set import TrainingSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.engines.formula import FormulaTerm
    from committee.ensembles.combining.out_of_fold import MemberFit
    from committee.typing import FloatArray

__all__ = ["ColumnPairs", "PairedMember", "PairedTrainingSet", "fit_pairs", "make_paired_set"]

_LEAST_COLUMNS, _MOST_COLUMNS = 2, 12
"""Columns of numbers of a table that is widened: of twelve there are 132 sums and differences."""
_SCALE_STEPS = 1 << 10
_FARTHEST = 1e100
"""Standard deviations at which values are clipped: no sum of two of them overflows."""
_BLOCK_ROWS = 1 << 16
"""Rows that are widened at once for predictions."""


@dataclass(frozen=True)
class ColumnPairs:
    """The columns whose pairs are added to a table.

    Attributes
    ----------
    numbers : ndarray of int
        The columns.
    scales : ndarray of float
        Their standard deviations.
    """

    numbers: NDArray[np.intp]
    scales: FloatArray

    @property
    def n_added(self) -> int:
        """The sums and differences of all pairs."""
        return len(self.numbers) * (len(self.numbers) - 1)

    def widen(self, X: Any) -> FloatArray:
        """The rows followed by the differences and the sums of all pairs; a missing value leaves none.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Numbers and codes; NaN where a value is missing.
        """
        table = np.asarray(make_dense(X), dtype=np.float64)
        with np.errstate(over="ignore"):
            scaled = np.clip(table[:, self.numbers] / self.scales, -_FARTHEST, _FARTHEST)
        first, second = self._pair()
        return np.hstack([table, scaled[:, first] - scaled[:, second], scaled[:, first] + scaled[:, second]])

    def to_term(self, row: FormulaTerm) -> FormulaTerm:
        """`widen`, as a term of a formula."""
        lowest, highest = (ConstantTerm(np.array([bound])) for bound in (-_FARTHEST, _FARTHEST))
        values = Arithmetic("/", TakenColumns(row, tuple(self.numbers.tolist())), ConstantTerm(self.scales))
        # The bound comes first: a comparison with NaN is false, and NaN stays.
        scaled = Arithmetic("min", highest, Arithmetic("max", lowest, values))
        left, right = (TakenColumns(scaled, tuple(places.tolist())) for places in self._pair())
        return JoinedTerms((row, Arithmetic("-", left, right), Arithmetic("+", left, right)))

    def _pair(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        first, second = np.triu_indices(len(self.numbers), 1)
        return first, second


def fit_pairs(X: Any, weights: FloatArray | None, categories: Sequence[int]) -> ColumnPairs | None:
    """The pairs of all columns that hold numbers of more than two values; None if these are too few or too many.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Numbers and codes; NaN where a value is missing. A sparse table is not widened.
    weights : ndarray of shape (n_rows,) or None
        How many rows each counts as.
    categories : sequence of int
        Columns that hold codes.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 2.0], [5.0, 1.0]])
    >>> fit_pairs(X, None, []).widen(X[1:2]).round(2)
    array([[ 3.  ,  2.  , -0.61,  4.29]])
    """
    if issparse(X):
        return None
    counts = np.ones(len(X)) if weights is None else weights
    X, counts = X[counts > 0.0], counts[counts > 0.0]
    encoding = fit_encoding(X, counts, categories)
    chosen = np.array([has_three_values(X[:, column]) for column in encoding.numbers], dtype=bool)
    if not _LEAST_COLUMNS <= np.count_nonzero(chosen) <= _MOST_COLUMNS:
        return None
    # Without the last bits: a row of weight two gives the same columns as two rows.
    parts, exponents = np.frexp(encoding.scales[chosen])
    scales = np.ldexp(np.round(parts * _SCALE_STEPS) / _SCALE_STEPS, exponents)
    return ColumnPairs(encoding.numbers[chosen], scales)


class PairedMember(BaseEstimator):  # type: ignore[misc]
    """A model of a widened table, as one that reads the table.

    Parameters
    ----------
    pairs : ColumnPairs
        How rows are widened.
    model : fitted estimator
        Of the widened table.
    """

    def __init__(self, pairs: ColumnPairs, model: Any) -> None:
        self.pairs, self.model = pairs, model

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Tags:
        return get_tags(self.model)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the model."""
        return np.asarray(self.model.classes_)

    @property
    def n_estimators(self) -> int:
        """Number of boosting rounds or trees of the model."""
        return int(self.model.n_estimators)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class."""
        return self._predict(X, self.model.predict_proba)

    def predict(self, X: Any) -> NDArray[Any]:
        """The value of each row, or its class."""
        return self._predict(X, self.model.predict)

    def _predict(self, X: Any, predict: Any) -> NDArray[Any]:
        blocks = [slice(begin, begin + _BLOCK_ROWS) for begin in range(0, max(1, X.shape[0]), _BLOCK_ROWS)]
        return np.concatenate([np.asarray(predict(self.pairs.widen(X[rows]))) for rows in blocks])

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What is computed for a row of the table; exports are written from it."""
        own = present_formula(self.model).schema
        n_columns = own.n_features - self.pairs.n_added
        row = TableRow(n_columns) if row is None else row
        inner = present_formula(self.model, self.pairs.to_term(row))
        schema = replace(own, n_features=n_columns, categories=own.categories[:n_columns])
        return replace(inner, row=row, schema=schema)


class PairedTrainingSet(TrainingSet):
    """A widened table with its target.

    Parameters
    ----------
    training : TrainingSet
        With the table as it is.
    pairs : ColumnPairs
        How it is widened.
    """

    def __init__(self, training: TrainingSet, pairs: ColumnPairs) -> None:
        super().__init__(pairs.widen(training.X), training.y, training.weights, training.groups)
        self._pairs = pairs

    def complete(self, one: MemberFit) -> MemberFit:
        """A member that was fitted to this table as one that reads the table as it was."""
        return replace(
            one,
            fitted=None if one.fitted is None else PairedMember(self._pairs, one.fitted),
            fold_models=[PairedMember(self._pairs, model) for model in one.fold_models],
        )


def make_paired_set(training: TrainingSet, categories: Sequence[int]) -> PairedTrainingSet | None:
    """The widened table with its target; None if the table has too few or too many columns of numbers, or is sparse.

    Parameters
    ----------
    training : TrainingSet
        The table with the target.
    categories : sequence of int
        Columns that hold codes.
    """
    pairs = fit_pairs(training.X, training.weights, categories)
    return None if pairs is None else PairedTrainingSet(training, pairs)
