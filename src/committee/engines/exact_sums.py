"""Sums over rows that neither their order nor their grouping can change: exact, and rounded once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee import _core

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray

__all__ = ["normalize_exactly", "sum_over_rows"]


def sum_over_rows(terms: AnyArray, factors: AnyArray | None = None) -> float:
    """The sum of the terms, or of their products with the factors, rounded once.

    Parameters
    ----------
    terms : ndarray of shape (n_rows,)
        Numbers.
    factors : ndarray of shape (n_rows,) or None
        Numbers.

    Returns
    -------
    float

    Examples
    --------
    >>> sum_over_rows(np.array([1e100, 1.0, -1e100]))
    1.0
    """
    own = None if factors is None else np.ascontiguousarray(factors, dtype=np.float64)
    return _core.round_exact(_core.sum_exactly(np.ascontiguousarray(terms, dtype=np.float64), own))


def normalize_exactly(weights: FloatArray) -> FloatArray:
    """Weights divided by their sum, column by column.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,) or (n_rows, n_columns)
        Numbers.

    Returns
    -------
    ndarray of the same shape

    Examples
    --------
    >>> normalize_exactly(np.array([1.0, 3.0]))
    array([0.25, 0.75])
    """
    if weights.ndim == 1:
        return weights / sum_over_rows(weights)
    return np.asarray(weights / np.array([sum_over_rows(column) for column in weights.T]))
