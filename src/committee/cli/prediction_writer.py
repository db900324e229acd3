"""Files of answers, written piece by piece, and in their place only when they are whole."""

from __future__ import annotations

import lzma
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from committee.cli.errors import USAGE, CommandError
from committee.cli.output import refuse_writing
from committee.cli.table import COMPRESSED

__all__ = ["choose_writer", "write_chunks"]

Write = Callable[[pa.Table], None]
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


def choose_writer(place: Path | None) -> Callable[[], Any]:
    """What makes a file of answers, by its ending; it takes the tables one after another.

    Parameters
    ----------
    place : pathlib.Path or None
        The file: ``.csv`` or ``.tsv``, compressed or not, or ``.parquet``. None is the standard output, as CSV.

    Returns
    -------
    callable
        Makes a context that yields a function of a table.
    """
    if place is None:
        return lambda: _write_text(sys.stdout.buffer, ",")
    suffixes = [suffix.lower() for suffix in place.suffixes]
    packed = suffixes[-1:] and suffixes[-1] in COMPRESSED
    kind = "".join(suffixes[-2:-1] if packed else suffixes[-1:])
    if kind in _DELIMITERS:
        return lambda: _write_file(place, _DELIMITERS[kind])
    if kind in (".parquet", ".pq") and not packed:
        return lambda: _write_file(place, None)
    raise CommandError(
        f"'{place}' has no ending that names a format to write.", "Use .csv, .tsv, .csv.gz or .parquet.", USAGE
    )


def write_chunks(open_writer: Callable[[], Any], chunks: Iterable[pa.Table], name: str) -> int:
    """Write answers as they come.

    Parameters
    ----------
    open_writer : callable
        From :func:`choose_writer`.
    chunks : iterable of pyarrow.Table
        The answers.
    name : str
        Of the table that they are about.

    Returns
    -------
    int
        How many rows; there must be one.
    """
    n_rows = 0
    with open_writer() as write:
        for answers in chunks:
            write(answers)
            n_rows += answers.num_rows
        if n_rows == 0:
            raise CommandError(f"'{name}' has columns but no rows.", "There is nothing to predict.")
    return n_rows


@contextmanager
def _write_file(place: Path, delimiter: str | None) -> Iterator[Write]:
    """Beside its place first, and there only when it is whole."""
    part = place.with_name(f".{os.getpid()}.{place.name}")
    try:
        try:
            if delimiter is None:
                with _write_parquet(part) as write:
                    yield write
            else:
                with _open_packed(part) as out, _write_text(out, delimiter) as write:
                    yield write
            os.replace(part, place)
        except OSError as error:
            raise refuse_writing(place, error) from error
    finally:
        part.unlink(missing_ok=True)


def _open_packed(part: Path) -> Any:
    if part.suffix.lower() == ".xz":
        return lzma.open(part, "wb")
    return pa.output_stream(str(part), compression="detect")


@contextmanager
def _write_parquet(part: Path) -> Iterator[Write]:
    writer: Any = None

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
def _write_text(out: Any, delimiter: str) -> Iterator[Write]:
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
