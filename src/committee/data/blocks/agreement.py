"""What the columns of all blocks are together, as if the table had been read whole.

Each column becomes one `Column` that stands for all rows: its levels are those of all blocks, its dates are those that
decide on the calendar parts. From these the schema is made by the code that encodes whole tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.columns import Column, find_observed
from committee.data.dates import PARTS, compute_part
from committee.data.inputs import DATE_KINDS, describe_kind
from committee.data.tables import Table
from committee.exceptions import DataTypeError

if TYPE_CHECKING:
    from committee.data.blocks.opened import OpenedSource
    from committee.typing import AnyArray, BoolArray, FloatArray

__all__ = ["agree_columns"]

_FLOAT32 = np.dtype(np.float32)


def agree_columns(
    opened: OpenedSource, chosen: BoolArray | None, counted: BoolArray | None, counts: FloatArray | None = None
) -> Table:
    """A table of columns that stand for all rows of the blocks.

    Parameters
    ----------
    opened : OpenedSource
        The blocks.
    chosen : ndarray of bool of shape (n_features,) or None
        Columns that are categories whatever their type; None if their type decides.
    counted : ndarray of bool of shape (n_rows,) or None
        Rows that count; others neither add levels nor calendar parts. None for all.
    counts : ndarray of shape (n_rows,) or None
        As how many rows each row counts; None for one.

    Returns
    -------
    Table
        Its columns are of different lengths; it can be described but not stacked.
    """
    wheres = [opened.name_column(j) for j in range(opened.n_features)]
    facts = [_ColumnFacts(where, bool(chosen is not None and chosen[j])) for j, where in enumerate(wheres)]
    needed = [j for j, fact in enumerate(facts) if not _take_plain(opened, j, fact)]
    names = None if opened.names is None else [opened.names[j] for j in needed]
    if needed:
        for block, rows, table in opened.iterate_tables(names):
            own = None if counted is None else counted[rows]
            own_counts = None if counts is None else counts[rows]
            columns = table.split_columns()
            for j, column in zip(needed, columns, strict=True):
                facts[j].add(column, own, opened.name_block(block))
                facts[j].count(column, own_counts)
    merged = [fact.merge() for fact in facts]
    return Table(opened.n_rows, opened.n_features, opened.names, columns=merged)


def _take_plain(opened: OpenedSource, column: int, fact: _ColumnFacts) -> bool:
    """Whether a column is known to be plain numbers, so that no block needs to be read for it."""
    if opened.names is None or fact.is_category:
        return False
    kind = opened.source.find_plain_kind(opened.names[column])
    if kind is None:
        return False
    fact.precisions.add({"single": "single", "double": "double", "truth": "neutral"}[kind])
    return True


@dataclass
class _ColumnFacts:
    """What is known of a column from the blocks so far."""

    where: str
    is_category: bool
    first_kind: str | None = None
    kind: str | None = None
    seen_in: str = ""
    width: int = 0
    has_levels: bool = False
    precisions: set[str] = field(default_factory=set)
    levels: dict[Any, None] = field(default_factory=dict)
    declared: list[list[Any] | None] = field(default_factory=list)
    moments: list[AnyArray] = field(default_factory=list)
    plain_text: bool = True
    n_held: float = 0.0

    def add(self, column: Column, counted: BoolArray | None, block: str) -> None:
        """Add a block's column."""
        self.first_kind = self.first_kind or column.kind
        held = column.values if column.elements is None else column.elements
        if held is not None:
            single = held.dtype == _FLOAT32
            self.precisions.add("neutral" if column.neutral else "single" if single else "double")
        if column.levels is not None:
            self.has_levels = True
            self._declare(column)
        if column.is_missing:
            return
        kind = "text" if column.holds_text else "levels" if column.levels is not None else column.kind
        width = 0 if column.elements is None else column.elements.shape[1]
        self._compare(kind, width, block)
        if column.levels is not None or self.is_category:
            self._add_levels(column, counted)
        elif kind in DATE_KINDS:
            self._add_moments(column, counted)

    def count(self, column: Column, counts: FloatArray | None) -> None:
        """Count the rows that have a text, and note whether it came with a categorical type."""
        if column.holds_text and column.codes is not None and not column.is_missing:
            held = column.codes >= 0
            self.n_held += float(held.sum() if counts is None else counts[held].sum())
            self.plain_text &= column.plain_text

    def _declare(self, column: Column) -> None:
        """Note the order that a type of categories declares; the order of text is that of the alphabet."""
        own = None if column.declared is None else column.declared.tolist()
        if own not in self.declared:
            self.declared.append(own)

    def _compare(self, kind: str, width: int, block: str) -> None:
        if self.kind is None:
            self.kind, self.width, self.seen_in = kind, width, block
        elif (kind, width) != (self.kind, self.width):
            then, now = _describe(self.kind, self.width), _describe(kind, width)
            raise DataTypeError(
                f"X {self.where} holds {then} in {self.seen_in} and {now} in {block}. Every block must hold the same."
            )

    def _add_levels(self, column: Column, counted: BoolArray | None) -> None:
        if column.kind != "number":
            return
        levels, codes = column.as_levels()
        if counted is not None and not counted.all():
            levels = levels[find_observed(codes[counted], len(levels))]
        self.levels.update(dict.fromkeys(levels.tolist()))

    def _add_moments(self, column: Column, counted: BoolArray | None) -> None:
        """Of each calendar part the dates with its smallest and its largest value."""
        assert column.values is not None
        known = np.isfinite(column.values)
        seconds = column.values[known if counted is None else known & counted]
        if not len(seconds):
            return
        parts = [compute_part(seconds, part) for part in PARTS]
        self.moments.append(seconds[[k for part in parts for k in (int(part.argmin()), int(part.argmax()))]])

    def merge(self) -> Column:
        """The column that stands for all rows."""
        if self.has_levels or (self.is_category and self.kind in (None, "number")):
            return self._merge_levels()
        kind = self.kind or self.first_kind or "number"
        dtype = _FLOAT32 if "single" in self.precisions and "double" not in self.precisions else np.dtype(np.float64)
        neutral = self.precisions <= {"neutral"}
        if kind == "list" and self.width:
            return Column(self.where, kind=kind, elements=np.full((1, self.width), np.nan, dtype=dtype))
        values = np.concatenate(self.moments) if self.moments else np.full(1, np.nan, dtype=dtype)
        return Column(self.where, values=values, kind=kind, neutral=neutral)

    def _merge_levels(self) -> Column:
        found = list(self.levels)
        order = self.declared[0] if len(self.declared) == 1 and self.declared[0] is not None else None
        known = sorted(found) if order is None else [level for level in order if level in self.levels]
        is_text = any(isinstance(level, str) for level in known) or self.kind == "text"
        levels = np.empty(len(known), dtype=object if is_text else np.float64)
        levels[:] = known
        if not self.has_levels:  # numbers that the user calls categories
            return Column(self.where, values=levels, neutral=self.precisions <= {"neutral"})
        codes = np.arange(len(levels), dtype=np.int64)
        plain = is_text and self.plain_text
        return Column(self.where, levels=levels, codes=codes, plain_text=plain, n_held=self.n_held if is_text else None)


def _describe(kind: str, width: int) -> str:
    named = {"text": "text", "levels": "categories that are numbers"}
    return named[kind] if kind in named else describe_kind(kind, width or None)
