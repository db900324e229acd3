"""Read a table from a file of any format that pyarrow supports, or a bundled one."""

import difflib
import errno
import lzma
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

from committee.cli.errors import USAGE, CommandError
from committee.cli.text_format import TextOptions, check_text_columns, find_text_options, make_header_error
from committee.datasets import BUNDLED, STORED, find_table_file, load_table
from committee.exceptions import DataError

BatchReader: TypeAlias = pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")
_TAB_SEPARATED = (".tsv", ".tab")
TEXT_FORMATS = (".csv", *_TAB_SEPARATED, ".txt")
_BLOCK_FORMATS = (".parquet", ".pq", ".arrow", ".feather", ".ipc")
_ARROW_MAGIC = b"ARROW1"
_OLD_FEATHER_MAGIC = b"FEA1"

# Errors of a file's place and not of its content.
_NOT_OPENED = (errno.EACCES, errno.EPERM, errno.ENOENT, errno.ENAMETOOLONG, errno.EMFILE, errno.ELOOP)
# Bytes of text that are parsed at a time: large enough to keep all threads busy.
BLOCK_BYTES = 1 << 22
_DEEPEST_JSON = 500
_END_OF_LINE = 2
_BRACKETS = np.zeros(256, dtype=np.int8)
_BRACKETS[[*b"[{"]], _BRACKETS[[*b"]}"]], _BRACKETS[ord("\n")] = 1, -1, _END_OF_LINE


@dataclass(frozen=True)
class Source:
    """A table as read, with all columns.

    Parameters
    ----------
    name : str
        Its name.
    table : pyarrow.Table
        All columns.
    target : str or None
        The target column of a bundled table.
    """

    name: str
    table: pa.Table
    target: str | None = None


def read_source(name: str, encoding: str, header: bool | None = None) -> Source:
    """Read a file, or a bundled table if no file has this name.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED``.
    encoding : str
        Encoding of a text table.
    header : bool or None
        Whether the first line of a text table holds the column names; None if it must look like that.

    Returns
    -------
    Source
        The columns as read.
    """
    path = find_file(name)
    check_header_option(path, name, header)
    if path is None:
        return _read_bundled(name)
    kind = find_format(path)
    with explain_reading(path, kind):
        table = _read_text(path, encoding, header) if kind in TEXT_FORMATS else _READERS[kind](path)
    check_names(table.column_names, name)
    if table.num_rows == 0:
        raise CommandError(f"'{name}' has columns but no rows.", "A table needs at least a few rows.")
    return Source(path.name, table)


def may_be_large(name: str) -> bool:
    """Whether a table is of a format that is read in blocks if it does not fit in memory.

    Parameters
    ----------
    name : str
        Path of a file or a folder.

    Returns
    -------
    bool
    """
    path = Path(name)
    return path.is_dir() or (path.is_file() and path.suffix.lower() in _BLOCK_FORMATS)


def find_file(name: str) -> Path | None:
    """The file of this name; None if there is none and a bundled table has the name.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED`` or ``committee.datasets.STORED``.

    Returns
    -------
    pathlib.Path or None
        A file that is not empty.
    """
    path = Path(name)
    if name in BUNDLED and not path.exists():
        return None
    if name in STORED and not path.exists():
        try:
            path = find_table_file(name)
        except DataError as error:
            raise CommandError(f"There is no file '{name}'.", str(error), USAGE) from None
    if not path.exists():
        raise CommandError(f"There is no file '{name}'.", _suggest_path(path), USAGE)
    if path.is_dir():
        raise CommandError(f"'{name}' is a folder, not a table.", "Name one file in it.", USAGE)
    find_format(path)
    if path.stat().st_size == 0:
        raise CommandError(f"'{path}' is empty.", "A table needs a line of column names and rows below it.")
    return path


def check_header_option(path: Path | None, name: str, header: bool | None) -> None:
    """Refuse ``--header`` and ``--no-header`` for a table that is no text.

    Parameters
    ----------
    path : pathlib.Path or None
        The file; None for a bundled table.
    name : str
        Name of the table.
    header : bool or None
        Value of the option.
    """
    if header is not None and (path is None or find_format(path) not in TEXT_FORMATS):
        option = "--header" if header else "--no-header"
        raise CommandError(f"{option} is for text tables; '{name}' is none.", "Leave it out.", USAGE)


def _read_bundled(name: str) -> Source:
    bundled = load_table(name)
    columns = {column: pa.array(bundled.data[:, i]) for i, column in enumerate(bundled.feature_names)}
    columns[bundled.target_name] = pa.array(bundled.target)
    return Source(f"{name} (bundled)", pa.table(columns), bundled.target_name)


def _suggest_path(path: Path) -> str:
    siblings = [p.name for p in path.parent.iterdir() if p.is_file()] if path.parent.is_dir() else []
    near = difflib.get_close_matches(path.name, siblings, n=1)
    if near:
        return f"Did you mean '{path.with_name(near[0])}'?"
    return f"Give the path of a table, or one of the bundled names: {', '.join(BUNDLED)}."


@contextmanager
def explain_reading(path: Path, kind: str) -> Iterator[None]:
    """Convert errors of the readers in the block to an error about the file.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    kind : str
        Its format, from :func:`find_format`.

    Yields
    ------
    None
    """
    try:
        yield
    except (pa.ArrowException, UnicodeError, OSError, EOFError, lzma.LZMAError) as error:
        if isinstance(error, OSError) and error.errno in _NOT_OPENED:
            raise CommandError(
                f"'{path}' could not be opened: {os.strerror(error.errno)}.",
                "Check the path and the permissions.",
                USAGE,
            ) from error
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise CommandError(
            f"'{path}' could not be read as {kind.lstrip('.')}: {reason}.",
            "Check that the extension is that of the true format and that the file is complete.",
        ) from error


def find_format(path: Path) -> str:
    """The format of a table by its extension.

    Parameters
    ----------
    path : pathlib.Path
        The file; an extension such as ``.gz`` may follow.

    Returns
    -------
    str
        For instance ``".csv"``.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    if not suffixes or suffixes[-1] not in FORMATS:
        raise CommandError(
            f"'{path}' has no extension of a table format.", f"Known extensions: {', '.join(FORMATS)}.", USAGE
        )
    return suffixes[-1]


def cut_format(name: str) -> str:
    """The name of a table without the extensions of its format and compression.

    Parameters
    ----------
    name : str
        Name of a file, or of a bundled table.

    Returns
    -------
    str

    Examples
    --------
    >>> cut_format("houses.2024.csv.gz"), cut_format("wine")
    ('houses.2024', 'wine')
    """
    path = Path(name)
    while path.suffix.lower() in (*COMPRESSED, *FORMATS):
        path = path.with_suffix("")
    return path.name


def read_text_options(path: Path, encoding: str, header: bool | None) -> TextOptions:
    """How to read a text table, from its first bytes.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    encoding : str
        Value of ``--encoding``.
    header : bool or None
        Value of ``--header``.

    Returns
    -------
    TextOptions
    """
    with open_decompressed(path) as stream:
        head: bytes = stream.read(1 << 16)
    return find_text_options(path, head, encoding, "\t" if find_format(path) in _TAB_SEPARATED else None, header)


def _read_text(path: Path, encoding: str, header: bool | None) -> pa.Table:
    options = read_text_options(path, encoding, header)
    if options.looks_headless:
        raise make_header_error(path.name, options)
    with open_decompressed(path) as stream:
        table = pyarrow.csv.read_csv(stream, **options.make_arguments())
    check_text_columns(table.schema, path, encoding)
    return table


def check_names(columns: Sequence[str], name: str) -> None:
    """Check that column names are unique.

    Parameters
    ----------
    columns : sequence of str
        The names.
    name : str
        Name of the table.
    """
    counts = Counter(columns)
    twice = next((column for column in columns if counts[column] > 1), None)
    if twice is not None:
        raise CommandError(
            f"'{name}' has two columns named '{twice}'.", "Rename one of them: column names must be unique."
        )


def open_decompressed(path: Path) -> pa.NativeFile:
    """Open a file for sequential reading, decompressed if its extension is that of a compressed file.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    pyarrow.NativeFile
        Open for reading.
    """
    if path.suffix.lower() == ".xz":  # not supported by pyarrow
        return pa.PythonFile(lzma.open(path, "rb"), mode="r")
    return pa.input_stream(str(path), compression="detect")


def open_binary(path: Path) -> pa.NativeFile:
    """Open a file of a binary format for random access; a compressed file is decompressed in memory.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    pyarrow.NativeFile
        Open.
    """
    if path.suffix.lower() not in COMPRESSED:
        return pa.memory_map(str(path))
    with open_decompressed(path) as stream:
        return pa.BufferReader(stream.read())


def _read_parquet(path: Path) -> pa.Table:
    return pyarrow.parquet.ParquetFile(open_binary(path)).read()


def _read_feather(path: Path) -> pa.Table:
    table = open_feather(path).read_all()
    table.validate(full=True)  # the offsets in a damaged file lead outside of it
    return table


def open_feather(path: Path) -> BatchReader:
    """A reader of record batches of a Feather or Arrow IPC file, or of an IPC stream.

    Parameters
    ----------
    path : pathlib.Path
        The file.

    Returns
    -------
    pyarrow.ipc.RecordBatchFileReader or pyarrow.ipc.RecordBatchStreamReader
        At the first batch.
    """
    file = open_binary(path)
    start = file.read(len(_ARROW_MAGIC))
    file.seek(0)
    if start[:4] == _OLD_FEATHER_MAGIC:
        raise CommandError(
            f"'{path}' has version 1 of the Feather format.", "Write it again with pyarrow 0.17 or later."
        )
    return pa.ipc.open_file(file) if start == _ARROW_MAGIC else pa.ipc.open_stream(file)


def _read_json_lines(path: Path) -> pa.Table:
    for lines in read_line_blocks(path):
        check_nesting(lines, path)
    with open_decompressed(path) as stream:
        return pyarrow.json.read_json(stream)


def read_line_blocks(path: Path) -> Iterator[bytes]:
    """The bytes of a text file in blocks that end with a complete line.

    Parameters
    ----------
    path : pathlib.Path
        The file, compressed or not.

    Yields
    ------
    bytes
        Not empty.
    """
    with open_decompressed(path) as stream:
        rest = b""
        while block := stream.read(BLOCK_BYTES):
            head, newline, tail = (rest + block).rpartition(b"\n")
            rest = tail
            if newline and head.strip():
                yield head
        if rest.strip():
            yield rest


def check_nesting(lines: bytes, path: Path) -> None:
    """Refuse lines of JSON with so many brackets inside one another that the parser would run out of stack.

    Parameters
    ----------
    lines : bytes
        Complete lines.
    path : pathlib.Path
        The file.
    """
    kinds = _BRACKETS[np.frombuffer(lines, dtype=np.uint8)]
    marks = kinds[kinds != 0]
    is_end = marks == _END_OF_LINE
    depths = np.cumsum(np.where(is_end, 0, marks), dtype=np.int64)
    before = np.maximum.accumulate(np.where(is_end, np.arange(len(marks)), -1))
    depths -= np.where(before < 0, 0, depths[before])
    if len(depths) and depths.max() > _DEEPEST_JSON:
        raise CommandError(
            f"'{path}' has values nested more than {_DEEPEST_JSON} deep.", "Write numbers, truth values and text."
        )


_READERS: dict[str, Callable[[Path], pa.Table]] = {
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".arrows": _read_feather,
    ".ipc": _read_feather,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}
FORMATS = (*TEXT_FORMATS, *_READERS)
