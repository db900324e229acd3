"""Sources whose blocks are tables in memory, or are made anew by an iterable."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.sources.parquet import FileSource
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from committee.data.sources.protocol import PlainKind

__all__ = ["IterableSource", "SequenceSource", "SpilledSource", "make_spill_folder", "spill_tables"]


class SequenceSource:
    """A list of tables, each a block.

    Parameters
    ----------
    tables : sequence of tables
        Frames, Arrow tables or arrays.

    Examples
    --------
    >>> import numpy as np
    >>> source = SequenceSource([np.zeros((2, 3)), np.ones((1, 3))])
    >>> source.n_blocks, source.load(1)
    (2, array([[1., 1., 1.]]))
    """

    names: tuple[str, ...] | None = None
    row_counts: Sequence[int] | None = None

    def __init__(self, tables: Sequence[Any]) -> None:
        self._tables = list(tables)
        self.n_blocks = len(self._tables)

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The table itself."""
        return self._tables[block]

    def name_block(self, block: int) -> str:
        """The place in the list."""
        return f"table {block} of the list"

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """The tables say it."""
        return None

    def find_version(self, block: int) -> Hashable:
        """The table is in memory and stays the same."""
        return id(self._tables[block])

    def close(self) -> None:
        """The tables belong to the caller."""


class IterableSource:
    """Tables of an iterable that can be begun anew, or of a function that makes an iterator.

    Parameters
    ----------
    begin : callable
        Gives an iterator over the same tables each time.
    """

    names: tuple[str, ...] | None = None
    row_counts: Sequence[int] | None = None

    def __init__(self, begin: Callable[[], Iterable[Any]]) -> None:
        self._begin = begin
        self.n_blocks = sum(1 for _ in self._start())
        if not self.n_blocks:
            raise DataError("X gives no table; an iterable for fit must give at least one.")
        self._running: tuple[int, Iterator[Any]] | None = None

    def _start(self) -> Iterator[Any]:
        tables = self._begin()
        if not isinstance(tables, Iterable):
            raise DataTypeError(f"A function as X must make an iterator over tables; it gave {show_value(tables)}.")
        return iter(tables)

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The table; going back to an earlier one begins anew."""
        if self._running is None or self._running[0] > block:
            self._running = (0, self._start())
        position, tables = self._running
        self._running = None
        for _ in range(position, block):
            next(tables, None)
        table = next(tables, _END)
        if table is _END:
            raise DataError(f"X gave {self.n_blocks} tables at first and fewer now; it must give the same each time.")
        self._running = (block + 1, tables)
        return table

    def name_block(self, block: int) -> str:
        """The place in the iteration."""
        return f"table {block} of the iterable"

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """The tables say it."""
        return None

    def find_version(self, block: int) -> Hashable:
        """What the iterable gives must be compared."""
        return None

    def close(self) -> None:
        """End the iteration."""
        self._running = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_running": None}


_END = object()


class SpilledSource(FileSource):
    """Tables that came only once, in Arrow files of a temporary folder.

    Parameters
    ----------
    folder : TemporaryDirectory
        Is removed when the source is closed.
    paths : sequence of str
        One file a table.
    has_names : bool
        Whether the tables have names; arrays have none.
    """

    def __init__(self, folder: tempfile.TemporaryDirectory[str], paths: Sequence[str], *, has_names: bool) -> None:
        self._folder: tempfile.TemporaryDirectory[str] | None = folder
        super().__init__(paths)
        if not has_names:
            self.names = None

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The table; an array if it was one."""
        table = super().load(block, columns)
        return table if self.names is not None else np.column_stack([column.to_numpy() for column in table.columns])

    def name_block(self, block: int) -> str:
        """The place in the iteration."""
        return f"table {Path(self._parts[block].path).stem} of the iterator"

    def close(self) -> None:
        """Remove the files."""
        super().close()
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process reads the files and leaves them.
        return {**super().__getstate__(), "_folder": None}


def make_spill_folder(folder: str | None) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder for tables that come only once."""
    return tempfile.TemporaryDirectory(prefix="committee-", dir=folder)


def spill_tables(tables: Iterable[Any], as_arrow: Callable[[Any], Any], folder: str | None = None) -> SpilledSource:
    """Write tables that come only once to Arrow files.

    Parameters
    ----------
    tables : iterable of tables
        Read once, one at a time.
    as_arrow : callable
        Makes a table of PyArrow of each.
    folder : str, optional
        Where the temporary folder is made.

    Returns
    -------
    SpilledSource
    """
    import pyarrow as pa

    held = make_spill_folder(folder)
    paths: list[str] = []
    has_names = True
    try:
        for number, table in enumerate(tables):
            if isinstance(table, np.ndarray):
                has_names = False
                arrow = _name_columns(table)
            else:
                arrow = as_arrow(table)
            path = str(Path(held.name) / f"{number}.arrow")
            with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, arrow.schema) as writer:
                writer.write_table(arrow.combine_chunks())
            paths.append(path)
        if not paths:
            raise DataError("X gives no table; an iterator for fit must give at least one.")
        return SpilledSource(held, paths, has_names=has_names)
    except BaseException:
        held.cleanup()
        raise


def _name_columns(array: Any) -> Any:
    import pyarrow as pa

    if array.ndim != 2:
        raise DataError(f"X gives an array of {array.ndim} axes; a table has two.")
    return pa.table({str(j): array[:, j] for j in range(array.shape[1])})
