"""A source that has been opened: its columns and rows are known, and the target and the weights are taken out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from committee.data.sources import BlockSource
from committee.data.tables import Table
from committee.exceptions import CommitteeError, DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = ["OpenedSource", "count_offsets", "load_block"]


@dataclass
class OpenedSource:
    """What `fit` passes on in place of a path, an iterator or another table in blocks.

    Attributes
    ----------
    source : BlockSource
        The blocks.
    names : tuple of str or None
        Columns of X in the order of the first block, without target and weights; None if the blocks have no names.
    n_features : int
        Their number.
    offsets : ndarray of int64 of shape (n_blocks + 1,)
        The first row of each block, and at the end the number of rows.
    read : callable
        Makes a `Table` of a block and the names of its columns.
    rows : ndarray of int64 or None
        Numbers of the rows that take part, ascending; None for all.
    """

    source: BlockSource
    names: tuple[str, ...] | None
    n_features: int
    offsets: AnyArray
    read: Callable[[Any, Sequence[str] | None], Table] = field(repr=False)
    rows: AnyArray | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows that take part."""
        return int(self.offsets[-1]) if self.rows is None else len(self.rows)

    def select_rows(self, rows: AnyArray) -> OpenedSource:
        """The same with some of the rows, by ascending numbers; target and weights are selected by the caller."""
        if len(rows) > 1 and not bool((np.diff(rows) > 0).all()):
            raise DataTypeError(
                "X is a table in blocks, whose rows are read in ascending order, each once; a sample of them needs the "
                "whole table in memory."
            )
        return replace(self, rows=rows if self.rows is None else self.rows[rows])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.n_rows, self.n_features

    def name_column(self, index: int) -> str:
        """A column as a sentence calls it."""
        return f"column {index}" if self.names is None else f"column {self.names[index]!r}"

    def name_block(self, block: int) -> str:
        """A block as a sentence calls it."""
        return f"block {block} of X ({self.source.name_block(block)})"

    def load_table(self, block: int, names: Sequence[str] | None = None) -> Table:
        """The columns of a block, or some of them, read but not encoded."""
        wanted = self.names if names is None else names
        found = load_block(self.source, block, wanted)
        try:
            table = self.read(found, wanted)
        except CommitteeError as error:
            raise type(error)(f"{error} (In {self.name_block(block)}.)") from None
        n_rows = int(self.offsets[block + 1] - self.offsets[block])
        n_columns = self.n_features if wanted is None else len(wanted)
        if table.n_rows != n_rows or table.n_features != n_columns:
            raise DataError(
                f"The {self.name_block(block)} had {n_rows} rows and {n_columns} columns when it was read first and "
                f"has {table.n_rows} and {table.n_features} now; a table must stay the same while it is learnt from."
            )
        return table

    def iterate_tables(self, names: Sequence[str] | None = None) -> Iterator[tuple[int, slice, Table]]:
        """The rows of each block that take part: its number, where they are among all of them, and the table."""
        for block in range(self.source.n_blocks):
            first, last = int(self.offsets[block]), int(self.offsets[block + 1])
            if self.rows is None:
                if first < last:
                    yield block, slice(first, last), self.load_table(block, names)
                continue
            low, high = (int(k) for k in np.searchsorted(self.rows, [first, last]))
            if low < high:
                own = (self.rows[low:high] - first).astype(np.intp)
                yield block, slice(low, high), self.load_table(block, names).take_rows(own)

    def __array__(self, *_: object, **__: object) -> NoReturn:
        raise DataTypeError(
            "X is a table in blocks, which this estimator cannot read, since it needs the whole table. Forests, bags "
            "of trees, boosting, AdaBoost on trees and isolation forests learn from blocks."
        )


def load_block(source: BlockSource, block: int, columns: Sequence[str] | None) -> Any:
    """A block; an error says which one cannot be loaded."""
    try:
        return source.load(block, columns)
    except CommitteeError:
        raise
    except Exception as error:
        kind = type(error).__name__
        raise DataError(f"Block {block} of X ({source.name_block(block)}) cannot be loaded: {kind}: {error}") from error


def count_offsets(row_counts: Sequence[int]) -> AnyArray:
    """The first row of each block, and at the end the number of rows."""
    return np.concatenate([[0], np.cumsum(np.asarray(row_counts, dtype=np.int64))]).astype(np.int64)
