"""Documents as they come: lists, arrays and columns of text."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.constraints import show_value
from committee.exceptions import DataError, DataTypeError

__all__ = ["read_texts"]


def read_texts(X: Any) -> list[str] | None:
    """The documents of X, or None if X is no collection of text.

    Parameters
    ----------
    X : object
        A list, tuple, array or series of str, or a frame whose only column is one, counts as text.

    Examples
    --------
    >>> read_texts(("to be", "or not"))
    ['to be', 'or not']
    >>> read_texts([[0.0, 1.0]]) is None
    True
    """
    values = _list_values(X)
    if values is None or not any(isinstance(value, str) for value in values):
        return None
    for row, value in enumerate(values):
        if isinstance(value, str):
            continue
        if value is None or value != value:
            raise DataError(f"Document {row} is missing; drop it or make it an empty text.")
        raise DataTypeError(f"Every document must be a str; document {row} is {show_value(value)}.")
    return [str(value) for value in values]


def _list_values(X: Any) -> list[Any] | None:
    """The values of anything with one axis, or with two of which the second is a single column of a frame."""
    if isinstance(X, list | tuple):
        return list(X)
    if isinstance(X, np.ndarray):
        return X.tolist() if X.ndim == 1 and X.dtype.kind in "OUT" else None
    if hasattr(X, "column_names") and hasattr(X, "column"):  # a table of PyArrow
        return X.column(0).to_pylist() if len(X.column_names) == 1 else None
    if hasattr(X, "shape") and hasattr(X, "columns"):  # a lazy frame has no shape, and warns if its columns are read
        return _list_values(X[X.columns[0]]) if len(X.columns) == 1 else None
    for name in ("to_pylist", "to_list"):
        if callable(getattr(X, name, None)) and not isinstance(X, type):
            listed = getattr(X, name)()
            return listed if isinstance(listed, list) else None
    return None
