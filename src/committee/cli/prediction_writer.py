"""Write files of predictions chunk by chunk; a file appears only when it is complete."""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, TypeAlias

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from committee.cli.errors import USAGE, CommandError
from committee.cli.output import make_write_error
from committee.cli.table import COMPRESSED

__all__ = ["choose_writer", "write_chunks"]

WriteChunk: TypeAlias = Callable[[pa.Table], None]
OpenWriter: TypeAlias = Callable[[], AbstractContextManager[WriteChunk]]
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def choose_writer(path: Path | None) -> OpenWriter:
    """Choose the writer of a file by its extension.

    Parameters
    ----------
    path : pathlib.Path or None
        The file: ``.csv`` or ``.tsv``, compressed or not, or ``.parquet``. None is the standard output, as CSV.

    Returns
    -------
    callable
        Returns a context manager that yields a function which writes a table.
    """
    if path is None:
        return lambda: _write_text(sys.stdout.buffer, ",")
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in COMPRESSED
    kind = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if kind in _DELIMITERS:
        return lambda: _write_file(path, _DELIMITERS[kind])
    if kind in (".parquet", ".pq") and not packed:
        return lambda: _write_file(path, None)
    raise CommandError(f"'{path}' has no extension of an output format.", "Use .csv, .tsv, .csv.gz or .parquet.", USAGE)


def write_chunks(open_writer: OpenWriter, chunks: Iterable[pa.Table], name: str) -> int:
    """Write tables one after the other.

    Parameters
    ----------
    open_writer : callable
        From :func:`choose_writer`.
    chunks : iterable of pyarrow.Table
        The tables.
    name : str
        Name of the input table.

    Returns
    -------
    int
        Number of rows, at least one.
    """
    n_rows = 0
    with open_writer() as write:
        for chunk in chunks:
            write(chunk)
            n_rows += chunk.num_rows
        if n_rows == 0:
            raise CommandError(f"'{name}' has columns but no rows.", "There is nothing to predict.")
    return n_rows


@contextmanager
def _write_file(path: Path, delimiter: str | None) -> Iterator[WriteChunk]:
    """Write to a temporary file in the same folder, and rename it when it is complete."""
    part = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        try:
            if delimiter is None:
                with _write_parquet(part) as write:
                    yield write
            else:
                with _open_compressed(part) as out, _write_text(out, delimiter) as write:
                    yield write
            os.replace(part, path)
        except OSError as error:
            raise make_write_error(path, error) from error
    finally:
        part.unlink(missing_ok=True)


def _open_compressed(part: Path) -> IO[bytes] | pa.NativeFile:
    if part.suffix.lower() == ".xz":
        return lzma.open(part, "wb")
    return pa.output_stream(str(part), compression="detect")


@contextmanager
def _write_parquet(part: Path) -> Iterator[WriteChunk]:
    writer: pyarrow.parquet.ParquetWriter | None = None

    def write(table: pa.Table) -> None:
        nonlocal writer
        if writer is None:
            writer = pyarrow.parquet.ParquetWriter(str(part), table.schema)
        writer.write_table(table)

    try:
        yield write
    finally:
        if writer is not None:
            writer.close()


@contextmanager
def _write_text(out: IO[bytes] | pa.NativeFile, delimiter: str) -> Iterator[WriteChunk]:
    header = True

    def write(table: pa.Table) -> None:
        nonlocal header
        buffer = pa.BufferOutputStream()
        options = pyarrow.csv.WriteOptions(include_header=header, delimiter=delimiter)
        pyarrow.csv.write_csv(table, buffer, options)
        out.write(memoryview(buffer.getvalue()))
        header = False

    yield write
    out.flush()
