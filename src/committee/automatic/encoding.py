"""A table with missing values and categories as numbers, for members that need them: linear, kernel, neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

from committee.engines.formula import Arithmetic, ConstantTerm, JoinedTerms, RowFunction, TakenColumns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = ["TableEncoding", "fit_encoding", "has_three_values", "make_dense"]

_MAX_CATEGORIES = 20
"""The most frequent categories of a column are one-hot encoded, up to this many; all others have zeros in these."""
_CLIP = 5.0
"""Standard deviations at which values are clipped."""


@dataclass(frozen=True)
class TableEncoding:
    """How columns are encoded: numbers standardised and clipped, indicators for missing values and frequent categories.

    Attributes
    ----------
    numbers : ndarray of int
        Columns that hold numbers.
    means, scales : ndarray of float
        Their mean, which also replaces missing values, and standard deviation.
    gaps : ndarray of int
        Columns that had missing values; each gets an indicator.
    level_columns, level_codes : ndarray of int
        Column and code of each category that gets an indicator.
    """

    numbers: NDArray[np.intp]
    means: FloatArray
    scales: FloatArray
    gaps: NDArray[np.intp]
    level_columns: NDArray[np.intp]
    level_codes: NDArray[np.intp]

    def encode(self, X: Any) -> FloatArray:
        """The encoded rows, without missing values, in C order.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Numbers and codes; NaN where a value is missing.
        """
        X = make_dense(X)
        values = np.asarray(X[:, self.numbers], dtype=np.float64)
        # The difference of an extreme value from the mean may overflow.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.clip((values - self.means) / self.scales, -_CLIP, _CLIP)
        scaled[np.isnan(values)] = 0.0
        return np.hstack([scaled, np.isnan(X[:, self.gaps]), X[:, self.level_columns] == self.level_codes])

    def to_term(self, row: FormulaTerm) -> FormulaTerm:
        """`encode`, as a term of a formula."""
        parts: list[FormulaTerm] = []
        if len(self.numbers):
            values = TakenColumns(row, tuple(self.numbers.tolist()))
            centred = Arithmetic("-", values, ConstantTerm(self.means))
            scaled = RowFunction("known", Arithmetic("/", centred, ConstantTerm(self.scales)))
            lowest, highest = (ConstantTerm(np.array([bound])) for bound in (-_CLIP, _CLIP))
            parts.append(Arithmetic("min", Arithmetic("max", scaled, lowest), highest))
        if len(self.gaps):
            parts.append(RowFunction("missing", TakenColumns(row, tuple(self.gaps.tolist()))))
        if len(self.level_columns):
            codes = ConstantTerm(self.level_codes.astype(np.float64))
            parts.append(Arithmetic("==", TakenColumns(row, tuple(self.level_columns.tolist())), codes))
        return parts[0] if len(parts) == 1 else JoinedTerms(tuple(parts))


def fit_encoding(X: Any, counts: FloatArray, categories: Sequence[int]) -> TableEncoding:
    """Means, standard deviations and frequent categories of a table.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Numbers and codes; NaN where a value is missing.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as; positive.
    categories : sequence of int
        Columns that hold codes.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> fit_encoding(X, np.ones(3), [1]).encode(X)
    array([[-1.,  0.,  0.,  1.],
           [ 1.,  0.,  1.,  0.],
           [ 0.,  1.,  1.,  0.]])
    """
    X = make_dense(X)
    numbers = np.setdiff1d(np.arange(X.shape[1]), np.asarray(categories, dtype=np.intp))
    means, scales = np.zeros(len(numbers)), np.ones(len(numbers))
    gaps = np.isnan(X).any(axis=0)
    whole = ~gaps[numbers]
    if len(X):
        means[whole], scales[whole] = _measure_columns(X[:, numbers[whole]].T, counts)
    for k in np.flatnonzero(~whole):
        known = ~np.isnan(X[:, numbers[k]])
        if known.any():
            means[k : k + 1], scales[k : k + 1] = _measure_columns(X[known, numbers[k]][None], counts[known])
    columns, codes = [], []
    for column in categories:
        known = ~np.isnan(X[:, column])
        weights = np.bincount(X[known, column].astype(np.intp), weights=counts[known])
        # The most frequent first, the lower code of equals.
        frequent = np.lexsort((np.arange(len(weights)), -weights))[:_MAX_CATEGORIES]
        frequent = frequent[weights[frequent] > 0.0]
        columns += [column] * len(frequent)
        codes += frequent.tolist()
    return TableEncoding(
        numbers,
        means,
        scales,
        np.flatnonzero(gaps),
        np.array(columns, dtype=np.intp),
        np.array(codes, dtype=np.intp),
    )


def make_dense(X: Any) -> NDArray[Any]:
    """The table as an array."""
    dense: NDArray[Any] = X.toarray() if issparse(X) else X
    return dense


def has_three_values(values: FloatArray) -> bool:
    """Whether a column has more than two values that differ, without missing ones.

    Examples
    --------
    >>> has_three_values(np.array([1.0, 2.0, np.nan, 3.0])), has_three_values(np.array([1.0, 2.0, np.nan]))
    (True, False)
    """
    known = values[~np.isnan(values)]
    return len(known) > 0 and bool(((known != known.min()) & (known != known.max())).any())


def _measure_columns(columns: NDArray[Any], counts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means and standard deviations; equal values get the largest magnitude instead of a deviation, zeros get one.

    Parameters
    ----------
    columns : ndarray of shape (n_columns, n_rows)
        The values of each column.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as.
    """
    scaled = np.array(columns, dtype=np.float64, order="C")
    largest = np.abs(scaled).max(axis=1)
    units = np.where(largest == 0.0, 1.0, largest)
    # Divided by the largest, so that squares do not overflow.
    scaled /= units[:, None]
    total = counts.sum()
    means = (scaled * counts).sum(axis=1) / total
    scaled -= means[:, None]
    scaled *= scaled
    scaled *= counts
    deviations = np.sqrt(scaled.sum(axis=1) / total)
    # Equal values have a deviation of rounding errors only.
    return means * units, np.where(deviations > 1e-9, deviations * units, units)
