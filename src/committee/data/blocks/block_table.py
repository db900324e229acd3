"""A table in blocks where an array would stand: the `X` of a Dataset."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from committee.data.binning import allocate_table
from committee.data.block_mapping import map_blocks
from committee.data.blocks.opened import OpenedSource
from committee.data.checks import check_values
from committee.data.dataset import Schema
from committee.data.tables import match_table
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray, AnyDType, FloatMatrix

__all__ = ["BlockTable", "take_block_rows"]


@dataclass
class BlockTable:
    """Rows in blocks that are read again whenever they are needed; encoded as an array of all rows would be.

    Attributes
    ----------
    opened : OpenedSource
        The blocks and their columns.
    schema : Schema
        What the columns are, as all blocks together say.
    estimator : object
        Says by its class attributes which values it accepts.
    rows : ndarray of int64 or None
        Numbers of the rows that take part, ascending; None for all.
    columns : ndarray of int64 or None
        Features that take part; None for all.
    """

    opened: OpenedSource
    schema: Schema
    estimator: type
    rows: AnyArray | None = None
    columns: AnyArray | None = None
    _checksums: dict[int, int] = field(default_factory=dict, repr=False)

    ndim = 2

    @property
    def n_blocks(self) -> int:
        """The number of blocks; some may be empty."""
        return self.opened.source.n_blocks

    @property
    def offsets(self) -> AnyArray:
        """The first row of each block among the rows that take part, and at the end their number."""
        if self.rows is None:
            return self.opened.offsets
        return np.searchsorted(self.rows, self.opened.offsets).astype(np.int64)

    @property
    def dtype(self) -> AnyDType:
        """float32 or float64."""
        return self.schema.dtype

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        n_rows = self.opened.n_rows if self.rows is None else len(self.rows)
        return n_rows, self.schema.n_features if self.columns is None else len(self.columns)

    @cached_property
    def _ascends(self) -> bool:
        return self.rows is None or bool((np.diff(self.rows) > 0).all())

    def __len__(self) -> int:
        return self.shape[0]

    def block_name(self, block: int) -> str:
        """A block as a sentence calls it."""
        return self.opened.name_block(block)

    def load(self, block: int) -> FloatMatrix:
        """The rows of a block that take part: codes where a column is a category, NaN where a value is missing.

        Parameters
        ----------
        block : int
            Its number.

        Returns
        -------
        ndarray of shape (n_rows_of_block, n_features), in Fortran order
        """
        first, last = self.opened.offsets[block], self.opened.offsets[block + 1]
        chosen = None
        if self.rows is not None:
            if not self._ascends:
                raise DataTypeError("Rows of a table in blocks are read in ascending order, each once.")
            low, high = np.searchsorted(self.rows, [first, last])
            chosen = self.rows[low:high] - first
        if first == last or (chosen is not None and not len(chosen)):
            return np.empty((0, self.shape[1]), dtype=self.dtype, order="F")
        matrix: AnyArray = self._encode(block)
        if chosen is not None and len(chosen) < len(matrix):
            matrix = np.asfortranarray(matrix[chosen])
        return matrix if self.columns is None else np.asfortranarray(matrix[:, self.columns])

    def _encode(self, block: int) -> FloatMatrix:
        table = self.opened.load_table(block)
        release_memory()
        matrix = match_table(table, self.schema).astype(self.dtype, copy=False)
        if self.opened.source.find_version(block) is None:
            checksum = zlib.crc32(np.ascontiguousarray(matrix.T).data)
            if self._checksums.setdefault(block, checksum) != checksum:
                raise DataError(
                    f"The {self.block_name(block)} has other values than when it was read first; a table must stay "
                    "the same while it is learnt from."
                )
        try:
            check_values(self.estimator, matrix, self.schema, first_row=int(self.opened.offsets[block]))
        except DataError as error:
            raise DataError(f"{error} (In {self.block_name(block)}.)") from None
        return matrix

    def iterate(self) -> Iterator[tuple[int, FloatMatrix]]:
        """The blocks with rows, each with the number of its first row."""
        offsets = self.offsets
        for block in range(self.n_blocks):
            if offsets[block] < offsets[block + 1]:
                yield int(offsets[block]), self.load(block)

    def collect(self) -> FloatMatrix:
        """All rows in one array."""
        matrix = allocate_table(*self.shape, self.dtype == np.float64)
        for start, block in self.iterate():
            matrix[start : start + len(block)] = block
        return matrix

    def take(self, rows: AnyArray) -> FloatMatrix:
        """Some rows in one array, by number, in any order."""
        order = np.argsort(rows, kind="stable")
        wanted = np.asarray(rows)[order]
        matrix = allocate_table(len(wanted), self.shape[1], self.dtype == np.float64)
        items, places = [], []
        for block, offset in enumerate(self.offsets[:-1]):
            low, high = np.searchsorted(wanted, self.offsets[block : block + 2])
            if low < high:
                items.append((block, wanted[low:high] - offset))
                places.append(order[low:high])
        for place, found in zip(places, map_blocks(self, take_block_rows, items, self), strict=True):
            matrix[place] = found
        return matrix

    def __getitem__(self, key: Any) -> BlockTable:
        """A selection of rows by number, or ``[:, columns]``; nothing is read."""
        if isinstance(key, tuple):
            rows, columns = key
            if not (isinstance(rows, slice) and rows == slice(None)):
                raise DataTypeError("Select rows or columns of a table in blocks, not both at once.")
            own = np.arange(self.shape[1]) if self.columns is None else self.columns
            return replace(self, columns=own[columns], _checksums={})
        wanted = np.arange(len(self))[key] if isinstance(key, slice) or _is_mask(key) else np.asarray(key)
        return replace(self, rows=wanted if self.rows is None else self.rows[wanted])

    def __array__(self, *_: object, **__: object) -> NoReturn:
        self.opened.__array__()


def release_memory() -> None:
    """Return what PyArrow keeps of the blocks before, so that the memory of a fit does not grow with their number."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()


def take_block_rows(item: tuple[int, AnyArray], table: BlockTable) -> FloatMatrix:
    """Some rows of a block, by number in it."""
    block, rows = item
    found: AnyArray = table.load(block)[rows]
    return found


def _is_mask(key: Any) -> bool:
    return np.asarray(key).dtype == bool
