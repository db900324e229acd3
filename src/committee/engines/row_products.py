"""Products of the rows of two tables by the engine, with sums in a fixed order."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import issparse

from committee import _core

if TYPE_CHECKING:
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["multiply_rows"]


def multiply_rows(table: FloatMatrix | SparseMatrix, others: FloatArray) -> FloatArray:
    """Product of each row with each row of ``others``, the same on every machine and whatever other rows there are.

    BLAS and `numpy.einsum` sum in an order that depends on the processor, BLAS also on the number of rows.

    Parameters
    ----------
    table : ndarray or sparse matrix of shape (n_rows, n_columns)
        The rows.
    others : ndarray of shape (n_others, n_columns)
        What each is multiplied by.

    Returns
    -------
    ndarray of shape (n_rows, n_others)

    Examples
    --------
    >>> multiply_rows(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[3.0, 1.0]]))
    array([[5.],
           [1.]])
    """
    if issparse(table):
        product: FloatArray = table @ others.T
        return product
    return _core.multiply_rows(np.ascontiguousarray(table, dtype=np.float64), np.ascontiguousarray(others))
