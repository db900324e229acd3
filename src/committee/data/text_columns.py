"""Columns of free text: which ones they are, and the table without them.

Single estimators read such columns at intake, by `committee.data.text_features`. The automatic committee, whose members
of words need the tf-idf weights too, removes them from the table before intake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee.constraints import show_value
from committee.data.frames import find_frame
from committee.data.word_encoding import is_free_text
from committee.exceptions import ParameterError
from committee.typing import FloatArray

__all__ = ["find_texts", "lift_texts"]

_STRINGS = frozenset({"String", "Object"})
"""Types of the columns of a frame in which text is looked for unasked."""


def find_texts(X: Any, requested: Any, categories: Any = ()) -> list[int]:
    """Numbers of the columns that hold free text.

    Parameters
    ----------
    X : array, nested lists, sparse matrix or frame
        The table.
    requested : "auto", None or sequence of str or int
        Names or numbers of the columns; None for none of them. ``"auto"`` recognises them: strings, at least half of
        them distinct, these of three words or more on average.
    categories : sequence of str or int
        Columns that are known to be something else.

    Examples
    --------
    >>> X = [["a word of thanks", "red"], ["many words make a text", "blue"]]
    >>> find_texts(X, "auto"), find_texts(X, [1]), find_texts(X, None)
    ([0], [1], [])
    """
    if requested is None or (isinstance(requested, str) and not len(categories) and _has_numbers_only(X)):
        return []
    names, columns = _open_table(X)
    if not isinstance(requested, str):
        found = [_find_column(one, names, len(columns)) for one in requested]
        for k, one in zip(found, requested, strict=True):
            if columns[k] is None or not any(isinstance(value, str) for value in _list_values(columns[k])):
                raise ParameterError(f"The 'text_columns' parameter names {one!r}, a column without text.")
        return sorted(set(found))
    known = {_find_column(one, names, len(columns)) for one in categories} if columns else set()
    return [
        k
        for k, column in enumerate(columns)
        if k not in known and _may_be_text(column) and _are_free_text(_list_values(column))
    ]


def lift_texts(X: Any, places: Sequence[int]) -> tuple[Any, list[list[str]]]:
    """The table with the length in characters in place of each text, and the texts themselves, column by column.

    Parameters
    ----------
    X : array, nested lists, sparse matrix or frame
        The table.
    places : sequence of int
        The columns that hold text. Where X has no text there, as a table of another kind, it is left as it is for the
        intake to check, and its rows have no words.

    Returns
    -------
    table
        Of the kind of X; nested lists become an array. The length is missing where a text is.
    list of list of str
        Missing ones are empty.

    Examples
    --------
    >>> lift_texts([["a word of thanks", 2.0], [None, 3.0]], [0])
    (array([[16.0, 2.0],
           [nan, 3.0]], dtype=object), [['a word of thanks', '']])
    """
    names, columns = _open_table(X)
    n_rows = int(X.shape[0]) if hasattr(X, "shape") else len(X)
    if max(places) >= len(columns) or any(columns[k] is None for k in places):
        return X, [[""] * n_rows for _ in places]
    found = [_list_values(columns[k]) for k in places]
    texts = [[value if isinstance(value, str) else "" for value in values] for values in found]
    return _put_lengths(X, names, {k: (columns[k], values) for k, values in zip(places, found, strict=True)}), texts


def _put_lengths(X: Any, names: list[Any] | None, texts: dict[int, tuple[Any, list[Any]]]) -> Any:
    if names is None:
        table = np.array(X, dtype=object)
        for k, (_, values) in texts.items():
            table[:, k] = _measure_lengths(values)
        return table
    frame = find_frame(X)
    if frame.implementation.is_pandas():
        table = frame.to_native().copy(deep=False)
        for k, (_, values) in texts.items():
            table.isetitem(k, _measure_lengths(values))
        return table
    strange = [names[k] for k, (column, _) in texts.items() if str(column.dtype) != "String"]
    if strange:
        raise ParameterError(f"Text must be of type string to be read as such; turn column {strange[0]!r} into that.")
    return frame.with_columns(*(column.str.len_chars() for column, _ in texts.values())).to_native()


def _open_table(X: Any) -> tuple[list[Any] | None, list[Any]]:
    """Names of the columns, if there are any, and the columns; None for one of numbers only."""
    if isinstance(X, np.ndarray | list | tuple):
        table = X if isinstance(X, np.ndarray) else _read_rows(X)
        if table.ndim != 2:
            return None, []
        return None, [column if table.dtype.kind in "OU" else None for column in table.T]
    if X is None or isinstance(X, str | bytes | dict | set) or hasattr(X, "tocsc"):
        return None, [None] * (int(X.shape[1]) if hasattr(X, "tocsc") else 0)
    frame = find_frame(X)
    if frame is None:
        return None, []
    return list(frame.columns), list(frame.iter_columns())


def _has_numbers_only(X: Any) -> bool:
    """Whether the types of a pandas frame say so; they take less time than to open it."""
    types = getattr(X, "dtypes", None)
    return (
        getattr(X, "ndim", 0) == 2 and types is not None and all(getattr(one, "kind", "O") in "biuf" for one in types)
    )


def _read_rows(X: Any) -> Any:
    if not any(isinstance(value, str) for row in X if isinstance(row, list | tuple) for value in row):
        return np.zeros((len(X), len(X[0]) if len(X) and hasattr(X[0], "__len__") else 0))
    try:
        return np.array(X, dtype=object)
    except ValueError:
        # Rows of different lengths; intake raises the error.
        return np.zeros(0)


def _may_be_text(column: Any) -> bool:
    if column is None or isinstance(column, np.ndarray):
        return column is not None
    return str(column.dtype) in _STRINGS


def _list_values(column: Any) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column.to_list()  # type: ignore[no-any-return]


def _are_free_text(values: list[Any]) -> bool:
    texts = [value for value in values if isinstance(value, str)]
    return is_free_text(set(texts), len(texts))


def _measure_lengths(values: list[Any]) -> FloatArray:
    return np.array([float(len(value)) if isinstance(value, str) else np.nan for value in values])


def _find_column(one: Any, names: list[Any] | None, n_columns: int) -> int:
    if names is not None and one in names:
        return names.index(one)
    whole = isinstance(one, int | np.integer) and not isinstance(one, bool)
    if whole and -n_columns <= one < n_columns:
        return int(one) % n_columns
    raise ParameterError(f"There is no column {show_value(one)} in X, which has {n_columns}.")
