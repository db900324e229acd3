"""What is checked of a table after it was encoded, whole or block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import all_finite_or_missing
from committee.exceptions import DataError

if TYPE_CHECKING:
    from committee.data.dataset import Schema

__all__ = ["check_shape", "check_values", "refuse_all_missing"]


def check_shape(n_rows: int, n_features: int) -> None:
    """Raise a DataError for a table without rows or columns."""
    shape = (n_rows, n_features)
    if n_rows == 0:
        raise DataError(f"X has 0 sample(s) (shape={shape}) while a minimum of 1 is required.")
    if n_features == 0:
        raise DataError(f"X has 0 feature(s) (shape={shape}) while a minimum of 1 is required.")


def check_values(estimator: object, matrix: Any, schema: Schema, *, first_row: int = 0) -> None:
    """Raise a DataError for values that an estimator does not accept.

    Parameters
    ----------
    estimator : estimator or its class
        Its class attributes say what it accepts.
    matrix : ndarray or sparse matrix
        Encoded rows.
    schema : Schema
        For the names of the columns.
    first_row : int, default=0
        The number of the first row, for the sentence.
    """
    values = matrix.data[:, None] if hasattr(matrix, "tocsc") else matrix
    if not getattr(estimator, "accepts_infinity", False) and not all_finite_or_missing(values):
        what = f"infinity or a value too large for dtype('{matrix.dtype}')"
        raise _refuse_value(np.isinf, matrix, schema, what, "", first_row)
    if not getattr(estimator, "accepts_missing", True) and np.isnan(values).any():
        name = estimator.__name__ if isinstance(estimator, type) else type(estimator).__name__
        raise _refuse_value(np.isnan, matrix, schema, "NaN", f" {name} does not accept missing values.", first_row)


def refuse_all_missing() -> DataError:
    """The error for a table without a single value."""
    return DataError("Every value of X is missing; there is nothing to learn from.")


def _refuse_value(find: Any, matrix: Any, schema: Schema, what: str, hint: str, first_row: int) -> DataError:
    if hasattr(matrix, "tocoo"):
        entries = matrix.tocoo()
        at = int(np.flatnonzero(find(entries.data))[0])
        row, column = int(entries.row[at]), int(entries.col[at])
    else:
        row, column = (int(k) for k in np.argwhere(find(matrix))[0])
    return DataError(f"Input X contains {what} in {schema.name_column(column)}, row {first_row + row}.{hint}")
