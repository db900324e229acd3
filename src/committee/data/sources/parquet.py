"""Parquet files, Arrow files and data sets of PyArrow, by parts of about equal size."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from committee.data.sources.read_ahead import advise_ranges, list_group_ranges
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from committee.data.sources.protocol import PlainKind

__all__ = ["FILE_ENDINGS", "DatasetSource", "FileSource", "list_files", "refuse_without_arrow"]

#: Endings of the files that are read by blocks.
FILE_ENDINGS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_PARQUET = (".parquet", ".pq")
_BLOCK_VALUES = 1 << 23
"""Values of a block, about: 64 MB as float64."""
_PLAIN: dict[str, PlainKind] = {"float": "single", "double": "double", "bool": "truth"}
_PLAIN |= dict.fromkeys([f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)], "double")


@dataclass(frozen=True)
class _Part:
    """Some neighbouring rows of a file: whole groups of rows, or a part of one."""

    path: str
    groups: tuple[int, ...]
    start: int
    n_rows: int
    splits_group: bool


class FileSource:
    """Parquet and Arrow files, one after another.

    Parameters
    ----------
    paths : sequence of str
        The files, in the order of their rows.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet as pq, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pq.write_table(pa.table({"x": [1.0, 2.0, 3.0]}), folder + "/t.parquet", row_group_size=2)
    ...     source = FileSource([folder + "/t.parquet"])
    ...     source.n_blocks, source.row_counts, source.load(0)["x"].to_pylist()
    (1, [3], [1.0, 2.0, 3.0])
    """

    def __init__(self, paths: Sequence[str]) -> None:
        self._versions = {path: _find_file_version(path) for path in paths}
        schemas = [_read_schema(path) for path in paths]
        with _name_damaged_file(paths[0]):
            self.names: tuple[str, ...] | None = tuple(schemas[0].names)
        self._kinds = _agree_kinds(schemas)
        self._parts = [part for path in paths for part in _divide_file(path)]
        self.n_blocks = len(self._parts)
        self.row_counts: Sequence[int] | None = [part.n_rows for part in self._parts]
        self._stream: _RowStream | None = None
        self._latest = -1

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a block as a table of PyArrow."""
        part = self._parts[block]
        if _find_file_version(part.path) != self._versions[part.path]:
            raise DataError(f"{part.path} was changed while it was read; fit again.")
        wanted = None if columns is None else tuple(columns)
        table = self._read_split(part, wanted) if part.splits_group else _read_groups(part, wanted)
        # Blocks that are read one after the other; a worker of a cluster has some of them only.
        if block == self._latest + 1 and block + 1 < self.n_blocks:
            self._read_ahead(part, self._parts[block + 1], wanted)
        self._latest = block
        return table

    def _read_ahead(self, part: _Part, following: _Part, columns: tuple[str, ...] | None) -> None:
        """Let the system read the next block while this one is worked on."""
        if _is_parquet(following.path) and (part.path, part.groups) != (following.path, following.groups):
            metadata = _open_parquet(following.path).metadata
            advise_ranges(following.path, list_group_ranges(metadata, following.groups, columns))

    def _read_split(self, part: _Part, columns: tuple[str, ...] | None) -> Any:
        """A part of a group of rows; what comes before it is read as well, unless it was loaded last."""
        stream = self._stream
        if stream is None or not stream.is_at(part, columns):
            stream = _RowStream(part, columns)
        self._stream = stream
        return stream.take(part.n_rows)

    def name_block(self, block: int) -> str:
        """The file and its rows."""
        part = self._parts[block]
        if len(part.groups) == 1 and part.splits_group:
            return f"{part.path}, row group {part.groups[0]}, rows {part.start} to {part.start + part.n_rows - 1}"
        if part.groups:
            last = part.groups[-1]
            shown = f"group {last}" if part.groups[0] == last else f"groups {part.groups[0]} to {last}"
            return f"{part.path}, row {shown}"
        return part.path

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """From the schemas of all files."""
        return self._kinds.get(column)

    def find_version(self, block: int) -> Hashable:
        """Size and time of the file."""
        return self._versions[self._parts[block].path]

    def close(self) -> None:
        """Nothing is kept open."""
        self._stream = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None, "_latest": -1}


class _RowStream:
    """The rows of one group from the first on, a few at a time."""

    def __init__(self, part: _Part, columns: tuple[str, ...] | None) -> None:
        self._key = (part.path, part.groups, columns)
        self._batches = _open_parquet(part.path).iter_batches(
            part.n_rows, row_groups=list(part.groups), columns=None if columns is None else list(columns)
        )
        self._pending: list[Any] = []
        self._position = 0
        self.take(part.start)

    def is_at(self, part: _Part, columns: tuple[str, ...] | None) -> bool:
        return self._key == (part.path, part.groups, columns) and self._position == part.start

    def take(self, n_rows: int) -> Any:
        import pyarrow as pa

        taken, missing = [], n_rows
        while missing > 0:
            batch = self._pending.pop() if self._pending else next(self._batches)
            if batch.num_rows > missing:
                self._pending.append(batch.slice(missing))
                batch = batch.slice(0, missing)
            taken.append(batch)
            missing -= batch.num_rows
        self._position += n_rows
        return pa.Table.from_batches(taken) if taken else None


class DatasetSource:
    """A data set of PyArrow, by its fragments; Parquet fragments by groups of rows.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Its filters and partitions are kept.
    """

    def __init__(self, dataset: Any) -> None:
        self._schema = dataset.schema
        self._fragments = [part for whole in dataset.get_fragments() for part in _split_fragment(whole)]
        self.n_blocks = len(self._fragments)
        self.names: tuple[str, ...] | None = tuple(self._schema.names)
        self.row_counts: Sequence[int] | None = [fragment.count_rows() for fragment in self._fragments]
        self._kinds = _agree_kinds([self._schema])
        self._versions = [_find_fragment_version(fragment) for fragment in self._fragments]

    def load(self, block: int, columns: Sequence[str] | None = None) -> Any:
        """The rows of a fragment as a table of PyArrow, with the types of the whole data set."""
        fragment = self._fragments[block]
        if _find_fragment_version(fragment) != self._versions[block]:
            raise DataError(f"{self.name_block(block)} was changed while it was read; fit again.")
        return fragment.to_table(schema=self._schema, columns=None if columns is None else list(columns))

    def name_block(self, block: int) -> str:
        """The file of the fragment and its groups of rows."""
        fragment = self._fragments[block]
        groups = [group.id for group in getattr(fragment, "row_groups", None) or ()]
        path = getattr(fragment, "path", "") or f"fragment {block}"
        return f"{path}, row group {groups[0]}" if len(groups) == 1 else path

    def find_plain_kind(self, column: str) -> PlainKind | None:
        """From the schema of the data set."""
        return self._kinds.get(column)

    def find_version(self, block: int) -> Hashable:
        """Size and time of the file, if it is a local one."""
        return self._versions[block]

    def close(self) -> None:
        """Nothing is kept open."""


# --- files ---------------------------------------------------------------------------------------------------------


def list_files(path: Path) -> list[str]:
    """The files of a folder and of the folders in it, by name; a file alone.

    Files and folders whose names begin with "_" or "." are left out, as other readers of such folders do.
    """
    if path.is_file():
        return [str(path)]
    if not path.is_dir():
        raise DataError(f"There is no file or folder {path}.")
    found = []
    for file in sorted(path.rglob("*")):
        inner = file.relative_to(path).parts
        if file.suffix.lower() in FILE_ENDINGS and not any(part.startswith(("_", ".")) for part in inner):
            found.append(str(file))
    if not found:
        raise DataError(f"The folder {path} holds no file that ends in {', '.join(FILE_ENDINGS)}.")
    return found


def _find_file_version(path: str) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


def _find_fragment_version(fragment: Any) -> tuple[int, int] | None:
    path = getattr(fragment, "path", "")
    return _find_file_version(path) if path and os.path.exists(path) else None


def _split_fragment(fragment: Any) -> list[Any]:
    return fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]


def _is_parquet(path: str) -> bool:
    return path.lower().endswith(_PARQUET)


def _open_parquet(path: str) -> Any:
    from pyarrow import parquet

    return parquet.ParquetFile(path, memory_map=True)


def _open_arrow(path: str) -> Any:
    import pyarrow as pa

    return pa.ipc.open_file(pa.memory_map(path))


def _read_schema(path: str) -> Any:
    with _name_damaged_file(path):
        return _open_parquet(path).schema_arrow if _is_parquet(path) else _open_arrow(path).schema


@contextmanager
def _name_damaged_file(path: str) -> Iterator[None]:
    """Errors of Arrow, which are ``ValueError`` as well, and names that are no text, as sentences with the file."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read: {error}") from None


def _agree_kinds(schemas: Sequence[Any]) -> dict[str, PlainKind]:
    """Columns that are plain numbers in all files; float32 only if all of them say so."""
    kinds: dict[str, PlainKind] = {}
    for name in schemas[0].names:
        found = {_PLAIN.get(str(schema.field(name).type)) if name in schema.names else None for schema in schemas}
        kind = found.pop() if len(found) == 1 else None if None in found else "double"
        if kind is not None:
            kinds[name] = kind
    return kinds


def _divide_file(path: str) -> list[_Part]:
    """Parts of about `_BLOCK_VALUES` values: several small groups of rows together, a large one in pieces."""
    if not _is_parquet(path):
        return _divide_arrow(path)
    metadata = _open_parquet(path).metadata
    most = max(1, _BLOCK_VALUES // max(1, metadata.num_columns))
    parts: list[_Part] = []
    groups: list[int] = []
    n_rows = 0

    def flush() -> None:
        nonlocal n_rows
        if groups:
            parts.append(_Part(path, tuple(groups), 0, n_rows, splits_group=False))
        groups.clear()
        n_rows = 0

    for group in range(metadata.num_row_groups):
        size = metadata.row_group(group).num_rows
        if n_rows + size > most:
            flush()
        if size <= 2 * most:
            groups.append(group)
            n_rows += size
            continue
        step = -(-size // -(-size // most))
        for start in range(0, size, step):
            parts.append(_Part(path, (group,), start, min(step, size - start), splits_group=True))
    flush()
    return parts


def _divide_arrow(path: str) -> list[_Part]:
    with _name_damaged_file(path):
        reader = _open_arrow(path)
        sizes = [reader.get_batch(k).num_rows for k in range(reader.num_record_batches)]
    return [_Part(path, (k,), 0, size, splits_group=False) for k, size in enumerate(sizes)]


def _read_groups(part: _Part, columns: tuple[str, ...] | None) -> Any:
    import pyarrow as pa

    if _is_parquet(part.path):
        wanted = None if columns is None else list(columns)
        return _open_parquet(part.path).read_row_groups(list(part.groups), columns=wanted)
    reader = _open_arrow(part.path)
    table = pa.Table.from_batches([reader.get_batch(k) for k in part.groups], reader.schema)
    with _name_damaged_file(part.path):
        table.validate(full=True)  # the offsets in a damaged file lead outside of it
    return table if columns is None else table.select([name for name in columns if name in table.column_names])


def refuse_without_arrow(what: str) -> DataTypeError:
    """The error for a source that needs PyArrow."""
    return DataTypeError(f"{what} is read with pyarrow, which is not installed. Install it with pip.")
