"""A table with gaps and categories as plain numbers, for members that know no other: the linear one, the neighbours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["TableEncoding", "learn_encoding", "make_dense"]

_MOST_LEVELS = 20
"""Levels of a category that get a column of their own, the most frequent ones; all others have zeros in these."""
_FARTHEST = 5.0
"""Standard deviations beyond which a value says no more than that it is far."""


@dataclass(frozen=True)
class TableEncoding:
    """How columns become numbers of mean zero: standardised and clipped, with signs for gaps and for frequent levels.

    Attributes
    ----------
    numbers : ndarray of int
        Columns that hold numbers.
    means, scales : ndarray of float
        Their mean, which also stands in for missing values, and standard deviation.
    gaps : ndarray of int
        Columns that had missing values, each of which gets a sign of that.
    level_columns, level_codes : ndarray of int
        Category and code of each level that gets a sign.
    """

    numbers: NDArray[np.intp]
    means: FloatArray
    scales: FloatArray
    gaps: NDArray[np.intp]
    level_columns: NDArray[np.intp]
    level_codes: NDArray[np.intp]

    def encode(self, X: Any) -> FloatArray:
        """The rows as numbers without gaps, in C order.

        Parameters
        ----------
        X : ndarray or sparse matrix of shape (n_rows, n_features)
            Numbers and codes; NaN where a value is missing.
        """
        X = make_dense(X)
        values = np.asarray(X[:, self.numbers], dtype=np.float64)
        # Far values may be beyond what their difference from the mean can hold.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = np.clip((values - self.means) / self.scales, -_FARTHEST, _FARTHEST)
        scaled[np.isnan(values)] = 0.0
        return np.hstack([scaled, np.isnan(X[:, self.gaps]), X[:, self.level_columns] == self.level_codes])


def learn_encoding(X: Any, counts: FloatArray, categories: Sequence[int]) -> TableEncoding:
    """Means, deviations and frequent levels of a table.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_rows, n_features)
        Numbers and codes; NaN where a value is missing.
    counts : ndarray of shape (n_rows,)
        How many rows each stands for; positive.
    categories : sequence of int
        Columns that hold codes.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 1.0], [np.nan, 1.0]])
    >>> learn_encoding(X, np.ones(3), [1]).encode(X)
    array([[-1.,  0.,  0.,  1.],
           [ 1.,  0.,  1.,  0.],
           [ 0.,  1.,  1.,  0.]])
    """
    X = make_dense(X)
    numbers = np.setdiff1d(np.arange(X.shape[1]), np.asarray(categories, dtype=np.intp))
    means, scales = np.zeros(len(numbers)), np.ones(len(numbers))
    for k, column in enumerate(numbers):
        there = ~np.isnan(X[:, column])
        if there.any():
            means[k], scales[k] = _measure_column(X[there, column].astype(np.float64), counts[there])
    columns, codes = [], []
    for column in categories:
        there = ~np.isnan(X[:, column])
        weights = np.bincount(X[there, column].astype(np.intp), weights=counts[there])
        # The most frequent first, of equals the lower code.
        frequent = np.lexsort((np.arange(len(weights)), -weights))[:_MOST_LEVELS]
        frequent = frequent[weights[frequent] > 0.0]
        columns += [column] * len(frequent)
        codes += frequent.tolist()
    return TableEncoding(
        numbers,
        means,
        scales,
        np.flatnonzero(np.isnan(X).any(axis=0)),
        np.array(columns, dtype=np.intp),
        np.array(codes, dtype=np.intp),
    )


def make_dense(X: Any) -> NDArray[Any]:
    """The table as an array."""
    return X.toarray() if issparse(X) else X  # type: ignore[no-any-return]


def _measure_column(values: FloatArray, counts: FloatArray) -> tuple[float, float]:
    """Mean and standard deviation; one instead of a deviation of nothing, or of one that no float can hold."""
    largest = float(np.abs(values).max())
    if largest == 0.0:
        return 0.0, 1.0
    # Divided by the largest, so that squares stay within range.
    small = values / largest
    mean = float(np.average(small, weights=counts))
    deviation = float(np.sqrt(np.average((small - mean) ** 2, weights=counts)))
    # Equal values leave a deviation of rounding errors.
    return mean * largest, (deviation * largest if deviation > 1e-9 else largest)
