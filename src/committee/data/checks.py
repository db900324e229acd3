"""What is checked of a table: shape, values, whole or block by block, and names against those of the fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import all_finite_or_missing
from committee.exceptions import DataError, warn_caller

if TYPE_CHECKING:
    from committee.base import CommitteeEstimator
    from committee.data.blocks.opened import OpenedSource
    from committee.data.dataset import Schema
    from committee.data.tables import Table

__all__ = ["check_shape", "check_values", "compare_names", "note_columns", "refuse_all_missing"]


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


def note_columns(estimator: CommitteeEstimator, schema: Schema) -> None:
    """Put ``n_features_in_`` and ``feature_names_in_`` on an estimator, once its fit has gone well."""
    estimator.n_features_in_ = schema.n_inputs
    if schema.input_names is not None:
        estimator.feature_names_in_ = np.array(schema.input_names, dtype=object)
    else:
        estimator.__dict__.pop("feature_names_in_", None)


def compare_names(name: str, table: Table | OpenedSource, schema: Schema) -> None:
    """Complain as scikit-learn does, word for word, since programs look for its words."""
    fitted, found = schema.input_names, table.names
    if fitted == found:
        return
    if fitted is None:
        warn_caller(f"X has feature names, but {name} was fitted without feature names", UserWarning)
        return
    if found is None:
        warn_caller(f"X does not have valid feature names, but {name} was fitted with feature names", UserWarning)
        return
    parts = ["The feature names should match those that were passed during fit.\n"]
    for heading, names in (
        ("Feature names unseen at fit time:\n", sorted(set(found) - set(fitted))),
        ("Feature names seen at fit time, yet now missing:\n", sorted(set(fitted) - set(found))),
    ):
        if names:
            parts += [heading, *(f"- {n}\n" for n in names[:5]), "- ...\n" if len(names) > 5 else ""]
    if len(parts) == 1:
        parts.append("Feature names must be in the same order as they were in fit.\n")
    raise DataError("".join(parts))
