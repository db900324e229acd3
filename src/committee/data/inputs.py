"""How the columns of the user's table become features: a date or a text has several, a list one for each element.

A number or a category is one feature, so that most tables need no record of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data.word_encoding import WordEncoding
    from committee.typing import FloatArray

__all__ = ["DATE_KINDS", "KINDS", "InputColumns", "describe_kind"]

#: What a column can hold, and how a sentence calls it. Model files hold these keys.
KINDS = {
    "number": "numbers",
    "date": "dates without a time zone",
    "date_utc": "dates with a time zone",
    "duration": "durations",
    "time": "times of day",
    "list": "lists",
    "text": "text",
}
DATE_KINDS = frozenset({"date", "date_utc"})


def describe_kind(kind: str, width: int | None = None) -> str:
    """What a column of some kind holds, for a sentence.

    Examples
    --------
    >>> describe_kind("date"), describe_kind("list", 3)
    ('dates without a time zone', 'lists of 3 values')
    """
    if kind == "list" and width is not None:
        return f"lists of {width} value{'' if width == 1 else 's'}"
    return KINDS[kind]


@dataclass(frozen=True)
class InputColumns:
    """The columns of the user's table, if some of them hold something else than numbers and categories.

    Attributes
    ----------
    names : tuple of str or None
        Their names, if all have one.
    kinds : tuple of str
        For each column a key of `KINDS`; a category counts as a number.
    parts : tuple of tuple of str
        For each column its features: calendar parts of a date, positions in a list, length and topics of a text, the
        value itself otherwise.
    words : tuple of (WordEncoding or None), or None
        For each column of text its encoding, None for others; None if there is no text.

    Examples
    --------
    >>> columns = InputColumns(("size", "when"), ("number", "date"), (("value",), ("seconds", "month")))
    >>> columns.name_features("x{}")
    ['size', 'when (seconds)', 'when (month)']
    >>> columns.owners.tolist(), columns.sum_features(np.array([[1.0, 2.0, 3.0]]), axis=1).tolist()
    ([0, 1, 1], [[1.0, 5.0]])
    """

    names: tuple[str, ...] | None
    kinds: tuple[str, ...]
    parts: tuple[tuple[str, ...], ...]
    words: tuple[WordEncoding | None, ...] | None = None

    def __len__(self) -> int:
        return len(self.kinds)

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """For each column its first feature, and at the end the number of features."""
        return np.concatenate([[0], np.cumsum([len(own) for own in self.parts], dtype=np.intp)])

    @cached_property
    def owners(self) -> NDArray[np.intp]:
        """For each feature the column that it comes from."""
        return np.repeat(np.arange(len(self), dtype=np.intp), np.diff(self.starts))

    def of_column(self, column: int) -> tuple[str, tuple[str, ...]]:
        """The kind and the features of a column."""
        return self.kinds[column], self.parts[column]

    def words_of(self, column: int) -> WordEncoding:
        """The encoding of a column of text."""
        found = None if self.words is None else self.words[column]
        assert found is not None
        return found

    def list_features(self, column: int) -> list[int]:
        """The features of a column."""
        return list(range(int(self.starts[column]), int(self.starts[column + 1])))

    def sum_features(self, values: FloatArray, axis: int) -> FloatArray:
        """The sums over the features of each column, along an axis of features."""
        return np.asarray(np.add.reduceat(values, self.starts[:-1], axis=axis))

    def name_features(self, pattern: str) -> list[str]:
        """A name for each feature; the pattern makes the name of a column that has none from its number."""
        named = []
        for number, (kind, parts) in enumerate(zip(self.kinds, self.parts, strict=True)):
            column = pattern.format(number) if self.names is None else self.names[number]
            if kind == "number":
                named.append(column)
            elif kind == "list":
                named += [f"{column}[{position}]" for position in parts]
            else:
                named += [f"{column} ({part})" for part in parts]
        return named

    def without(self, column: int) -> InputColumns | None:
        """The record of the table without a column; None if what remains needs none."""
        kept = [k for k in range(len(self)) if k != column]
        kinds = tuple(self.kinds[k] for k in kept)
        if all(kind == "number" for kind in kinds):
            return None
        names = None if self.names is None else tuple(self.names[k] for k in kept)
        words = None if self.words is None else tuple(self.words[k] for k in kept)
        if words is not None and all(own is None for own in words):
            words = None
        return InputColumns(names, kinds, tuple(self.parts[k] for k in kept), words)

    def __getstate__(self) -> dict[str, Any]:
        return {"names": self.names, "kinds": self.kinds, "parts": self.parts, "words": self.words}
