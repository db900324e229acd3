"""Reading a table piece by piece, so that its size does not matter; the model says what its columns should be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from committee.cli.errors import CommandError
from committee.cli.problem import name_kind
from committee.cli.table import (
    check_names,
    check_text_columns,
    explain_reading,
    find_file,
    find_format,
    find_text_options,
    open_binary,
    open_feather,
    open_unpacked,
    read_source,
)

__all__ = ["TableStream", "check_kinds", "open_stream"]

# Rows of a piece, and bytes of text that are parsed at a time: large enough to keep the threads of a model busy.
MOST_ROWS = 1 << 16
_BLOCK_BYTES = 1 << 22


@dataclass(frozen=True)
class TableStream:
    """A table that is read as it is used.

    Parameters
    ----------
    name : str
        What to call it.
    path : pathlib.Path or None
        The file; None for a bundled table.
    schema : pyarrow.Schema
        Its columns; of a text table, as its first block tells.
    encoding : str
        Of a text table.
    target : str or None
        The target column, where the table itself knows it.
    """

    name: str
    path: Path | None
    schema: pa.Schema
    encoding: str
    target: str | None = None

    def read_chunks(self, columns: Sequence[str], texts: Sequence[str]) -> Iterator[pa.Table]:
        """The rows in order, at most ``MOST_ROWS`` at a time.

        Parameters
        ----------
        columns : sequence of str
            Which columns.
        texts : sequence of str
            Those of them that are text, whatever they look like in a file that does not say.

        Yields
        ------
        pyarrow.Table
            The next rows.
        """
        for piece in self._read_pieces(list(columns), self._settle_types(columns, texts)):
            for start in range(0, piece.num_rows, MOST_ROWS):
                yield piece.slice(start, MOST_ROWS)

    def _read_pieces(self, columns: list[str], types: dict[str, pa.DataType]) -> Iterator[pa.Table]:
        if self.path is None:
            yield read_source(self.name, self.encoding).table.select(columns)
            return
        kind = find_format(self.path)
        with explain_reading(self.path, kind):
            if kind in (".parquet", ".pq"):
                with pyarrow.parquet.ParquetFile(open_binary(self.path)) as file:
                    for batch in file.iter_batches(batch_size=MOST_ROWS, columns=columns):
                        yield pa.table(batch).select(columns)
            elif kind in (".jsonl", ".ndjson"):
                yield from _parse_lines(self.path, pa.schema(list(types.items())))
            elif kind in (".feather", ".arrow", ".arrows", ".ipc"):
                for batch in _iterate_batches(open_feather(self.path)):
                    yield pa.table(batch).select(columns)
            else:
                with _open_text(self.path, self.encoding, types) as reader:
                    for batch in reader:
                        yield pa.table(batch)

    def _settle_types(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.DataType]:
        """What text is parsed as: one block cannot know whether a later one has fractions or words."""
        settled = {}
        for column in columns:
            found = self.schema.field(column).type
            if column in texts:
                settled[column] = pa.string()
            elif pa.types.is_null(found) or pa.types.is_integer(found):
                settled[column] = pa.float64()
            else:
                settled[column] = found
        return settled


def open_stream(name: str, encoding: str) -> TableStream:
    """Look at the beginning of a table.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED``.
    encoding : str
        Encoding of a text table.

    Returns
    -------
    TableStream
        With the columns that were found.
    """
    path = find_file(name)
    if path is None:
        bundled = read_source(name, encoding)
        return TableStream(name, None, bundled.table.schema, encoding, bundled.target)
    kind = find_format(path)
    with explain_reading(path, kind):
        if kind in (".parquet", ".pq"):
            schema = pyarrow.parquet.ParquetFile(open_binary(path)).schema_arrow
        elif kind in (".jsonl", ".ndjson"):
            first = next(_parse_lines(path, None), None)
            if first is None:
                raise CommandError(f"'{name}' holds no lines of JSON.", "Write one object a line.")
            schema = first.schema
        elif kind in (".feather", ".arrow", ".arrows", ".ipc"):
            schema = open_feather(path).schema
        else:
            with _open_text(path, encoding, None) as reader:
                schema = reader.schema
            check_text_columns(schema, path, encoding)
    check_names(schema.names, name)
    return TableStream(path.name, path, schema, encoding)


def check_kinds(stream: TableStream, numbers: Sequence[str]) -> None:
    """Whether columns that a model knows as numbers are no text.

    Parameters
    ----------
    stream : TableStream
        The table.
    numbers : sequence of str
        Names of columns.
    """
    for column in numbers:
        kind = stream.schema.field(column).type
        if name_kind(kind) == "category" and not pa.types.is_dictionary(kind):
            raise CommandError(
                f"Column '{column}' is a number in the model and text in '{stream.name}'.",
                "Check that the table is of the same kind as the one that the model was fitted on.",
            )


def _open_text(path: Path, encoding: str, types: dict[str, pa.DataType] | None) -> Any:
    options = find_text_options(path, encoding)
    options["read_options"].block_size = _BLOCK_BYTES
    if types is not None:
        options["convert_options"].column_types = types
        options["convert_options"].include_columns = list(types)
    return pyarrow.csv.open_csv(open_unpacked(path), **options)


def _iterate_batches(reader: Any) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
    else:
        yield from reader


def _parse_lines(path: Path, schema: pa.Schema | None) -> Iterator[pa.Table]:
    """JSON lines, block by block, each ending with a line."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    with open_unpacked(path) as stream:
        rest = b""
        while block := stream.read(_BLOCK_BYTES):
            head, newline, tail = (rest + block).rpartition(b"\n")
            rest = tail
            if newline and head.strip():
                yield _parse_json(head, options)
        if rest.strip():
            yield _parse_json(rest, options)


def _parse_json(lines: bytes, options: Any) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(lines), read_options=pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES), parse_options=options
    )
