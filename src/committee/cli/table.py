"""Read a table from a file of any format that pyarrow supports, or a bundled one."""

import codecs
import difflib
import errno
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.json
import pyarrow.parquet

from committee.cli.errors import DATA, USAGE, CommandError
from committee.datasets import BUNDLED, load_table

BatchReader: TypeAlias = pa.ipc.RecordBatchFileReader | pa.ipc.RecordBatchStreamReader
COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".lz4")
_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_TAB_SEPARATED = (".tsv", ".tab")
TEXT_FORMATS = (".csv", ".txt", *_TAB_SEPARATED)
_ARROW_MAGIC = b"ARROW1"
_OLD_FEATHER_MAGIC = b"FEA1"
_FRACTIONS = {mark: re.compile(rf"[-+]?\d+[{mark}]\d+(?:[eE][-+]?\d+)?") for mark in ",."}
# The default spellings of a missing value, and that of the UCI repository.
_MISSING_WORDS = [*pyarrow.csv.ConvertOptions().null_values, "?"]

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


def read_source(name: str, encoding: str) -> Source:
    """Read a file, or a bundled table if no file has this name.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED``.
    encoding : str
        Encoding of a text table.

    Returns
    -------
    Source
        The columns as read.
    """
    path = find_file(name)
    if path is None:
        return _read_bundled(name)
    kind = find_format(path)
    with explain_reading(path, kind):
        table = _READERS[kind](path, encoding)
    check_names(table.column_names, name)
    if table.num_rows == 0:
        raise CommandError(f"'{name}' has columns but no rows.", "A table needs at least a few rows.")
    return Source(path.name, table)


def find_file(name: str) -> Path | None:
    """The file of this name; None if there is none and a bundled table has the name.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED``.

    Returns
    -------
    pathlib.Path or None
        A file that is not empty.
    """
    path = Path(name)
    if name in BUNDLED and not path.exists():
        return None
    if not path.exists():
        raise CommandError(f"There is no file '{name}'.", _suggest_path(path), USAGE)
    if path.is_dir():
        raise CommandError(f"'{name}' is a folder, not a table.", "Name one file in it.", USAGE)
    find_format(path)
    if path.stat().st_size == 0:
        raise CommandError(f"'{path}' is empty.", "A table needs a line of column names and rows below it.")
    return path


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
    if not suffixes or suffixes[-1] not in _READERS:
        raise CommandError(
            f"'{path}' has no extension of a table format.", f"Known extensions: {', '.join(_READERS)}.", USAGE
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
    while path.suffix.lower() in (*COMPRESSED, *_READERS):
        path = path.with_suffix("")
    return path.name


def find_text_options(path: Path, encoding: str) -> dict[str, Any]:
    """Options to read a text table: delimiter, decimal point, encoding, missing values.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    encoding : str
        Value of ``--encoding``.

    Returns
    -------
    dict
        Arguments for the readers of ``pyarrow.csv``.
    """
    _check_encoding(encoding)
    with open_decompressed(path) as stream:
        head: bytes = stream.read(1 << 16)
    _check_text(path, head, encoding)
    tabs = find_format(path) in _TAB_SEPARATED
    text = head.decode(encoding, errors="replace")
    delimiter = "\t" if tabs else _find_delimiter(text)
    return {
        "read_options": pyarrow.csv.ReadOptions(encoding=encoding),
        "parse_options": pyarrow.csv.ParseOptions(delimiter=delimiter, newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            strings_can_be_null=True, null_values=_MISSING_WORDS, decimal_point=_find_decimal_point(text, delimiter)
        ),
    }


def _check_encoding(encoding: str) -> None:
    hint = "Common ones: utf-8, latin-1, utf-16."
    try:
        codecs.lookup(encoding)
    except (LookupError, ValueError) as error:  # ValueError: a name with a null character
        raise CommandError(f"'{encoding}' is no encoding.", hint, USAGE) from error
    try:
        # Codecs such as base64 change bytes to bytes, others can only encode.
        codecs.getincrementaldecoder(encoding)().decode(",".encode(encoding), final=True)
    except (LookupError, ValueError) as error:
        raise CommandError(f"'{encoding}' is no encoding of text.", hint, USAGE) from error


def check_text_columns(schema: pa.Schema, path: Path, encoding: str) -> None:
    """Check that every column of a text table could be decoded.

    Parameters
    ----------
    schema : pyarrow.Schema
        As read; pyarrow returns text that is not valid as bytes, without an error.
    path : pathlib.Path
        The file.
    encoding : str
        Value of ``--encoding``.
    """
    garbled = [field.name for field in schema if pa.types.is_binary(field.type)]
    if garbled:
        raise _wrong_encoding(path, encoding, f" in column '{garbled[0]}'")


def _read_text(path: Path, encoding: str) -> pa.Table:
    options = find_text_options(path, encoding)
    with open_decompressed(path) as stream:
        table = pyarrow.csv.read_csv(stream, **options)
    check_text_columns(table.schema, path, encoding)
    return table


def _check_text(path: Path, head: bytes, encoding: str) -> None:
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            if encoding.replace("_", "-").lower().startswith(name):
                return
            raise CommandError(f"'{path}' is written in {name}, not {encoding}.", f"Add --encoding {name}.")
    if b"\0" in head and not encoding.lower().startswith(("utf-16", "utf-32", "utf_16", "utf_32")):
        raise CommandError(
            f"'{path}' holds bytes that are no text.", "Check that the extension is that of the true format."
        )
    first_line = head.split(b"\n", 1)[0]
    try:
        first_line.decode(encoding)
    except UnicodeError as error:
        raise _wrong_encoding(path, encoding, " in the line of column names") from error


def _wrong_encoding(path: Path, encoding: str, where: str) -> CommandError:
    return CommandError(
        f"'{path}' is not valid {encoding}{where}.", "Name its encoding, for instance --encoding latin-1.", DATA
    )


def _find_delimiter(head: str) -> str:
    first_line = head.lstrip("\ufeff").split("\n", 1)[0]
    # Of equal counts max takes the first, so a table of one column gets the comma.
    return max(",;\t|", key=first_line.count)


def _find_decimal_point(head: str, delimiter: str) -> str:
    """A comma if numbers are written with a comma and none with a point."""
    if delimiter == ",":
        return "."
    cells = [cell.strip(' "\r') for line in head.split("\n")[1:] for cell in line.split(delimiter)]
    commas, points = (any(_FRACTIONS[mark].fullmatch(cell) for cell in cells) for mark in ",.")
    return "," if commas and not points else "."


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


def _read_parquet(path: Path, _: str) -> pa.Table:
    return pyarrow.parquet.ParquetFile(open_binary(path)).read()


def _read_feather(path: Path, _: str) -> pa.Table:
    return open_feather(path).read_all()


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


def _read_json_lines(path: Path, _: str) -> pa.Table:
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


_READERS: dict[str, Callable[[Path, str], pa.Table]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".tab": _read_text,
    ".txt": _read_text,
    ".parquet": _read_parquet,
    ".pq": _read_parquet,
    ".feather": _read_feather,
    ".arrow": _read_feather,
    ".arrows": _read_feather,
    ".ipc": _read_feather,
    ".jsonl": _read_json_lines,
    ".ndjson": _read_json_lines,
}
