"""Read a table in chunks, so that it may be larger than memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.json
import pyarrow.parquet

from committee.cli.errors import CommandError
from committee.cli.table import (
    BLOCK_BYTES,
    BatchReader,
    check_header_option,
    check_names,
    check_nesting,
    explain_reading,
    find_file,
    find_format,
    open_binary,
    open_decompressed,
    open_feather,
    read_line_blocks,
    read_source,
    read_text_options,
)
from committee.cli.text_format import TextOptions, check_text_columns

__all__ = ["TableStream", "open_stream"]

# Rows of a chunk.
MOST_ROWS = 1 << 16


@dataclass(frozen=True)
class TableStream:
    """A table that is read in chunks.

    Parameters
    ----------
    name : str
        Its name.
    path : pathlib.Path or None
        The file; None for a bundled table.
    schema : pyarrow.Schema
        Its columns; for a text table, inferred from the first block.
    encoding : str
        Encoding of a text table.
    target : str or None
        The target column of a bundled table.
    text_options : TextOptions or None
        How a text table is read.
    """

    name: str
    path: Path | None
    schema: pa.Schema
    encoding: str
    target: str | None = None
    text_options: TextOptions | None = None

    def read_chunks(self, columns: Sequence[str], texts: Sequence[str]) -> Iterator[pa.Table]:
        """The rows in order, at most ``MOST_ROWS`` at a time.

        Parameters
        ----------
        columns : sequence of str
            Names of the columns to read.
        texts : sequence of str
            Columns to read as text, if the file format has no types.

        Yields
        ------
        pyarrow.Table
            The next rows.
        """
        for block in self._read_blocks(list(columns), self._choose_types(columns, texts)):
            for start in range(0, block.num_rows, MOST_ROWS):
                yield block.slice(start, MOST_ROWS)

    def _read_blocks(self, columns: list[str], types: dict[str, pa.DataType]) -> Iterator[pa.Table]:
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
                    batch.validate(full=True)
                    yield pa.table(batch).select(columns)
            else:
                assert self.text_options is not None
                with _open_text(self.path, self.text_options, types) as reader:
                    for batch in reader:
                        yield pa.table(batch)

    def _choose_types(self, columns: Sequence[str], texts: Sequence[str]) -> dict[str, pa.DataType]:
        """Types to parse text as; integers as float64, since a later block may contain fractions."""
        types = {}
        for column in columns:
            found = self.schema.field(column).type
            if column in texts:
                types[column] = pa.string()
            elif pa.types.is_null(found) or pa.types.is_integer(found):
                types[column] = pa.float64()
            else:
                types[column] = found
        return types


def open_stream(name: str, encoding: str, header: bool | None = None) -> TableStream:
    """Open a table and read its schema.

    Parameters
    ----------
    name : str
        Path of a file, or a key of ``committee.datasets.BUNDLED``.
    encoding : str
        Encoding of a text table.
    header : bool or None
        Whether the first line of a text table holds the column names; None if it does in case a model knows them.

    Returns
    -------
    TableStream
        With the schema.
    """
    path = find_file(name)
    check_header_option(path, name, header)
    options = None
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
                raise CommandError(f"'{name}' holds no lines of JSON.", "Write one object per line.")
            schema = first.schema
        elif kind in (".feather", ".arrow", ".arrows", ".ipc"):
            schema = open_feather(path).schema
        else:
            options = read_text_options(path, encoding, header)
            with _open_text(path, options, None) as reader:
                schema = reader.schema
            check_text_columns(schema, path, encoding)
    if options is None or not options.looks_headless:
        check_names(schema.names, name)
    return TableStream(path.name, path, schema, encoding, text_options=options)


def _open_text(
    path: Path, text_options: TextOptions, types: dict[str, pa.DataType] | None
) -> pyarrow.csv.CSVStreamingReader:
    options = text_options.make_arguments()
    options["read_options"].block_size = BLOCK_BYTES
    if types is not None:
        options["convert_options"].column_types = types
        options["convert_options"].include_columns = list(types)
    return pyarrow.csv.open_csv(open_decompressed(path), **options)


def _iterate_batches(reader: BatchReader) -> Iterator[pa.RecordBatch]:
    if hasattr(reader, "num_record_batches"):
        for i in range(reader.num_record_batches):
            yield reader.get_batch(i)
    else:
        yield from reader


def _parse_lines(path: Path, schema: pa.Schema | None) -> Iterator[pa.Table]:
    """Parse JSON Lines in blocks that end with a complete line."""
    options = pyarrow.json.ParseOptions(
        explicit_schema=schema, unexpected_field_behavior="infer" if schema is None else "ignore"
    )
    for lines in read_line_blocks(path):
        check_nesting(lines, path)
        yield _parse_json(lines, options)


def _parse_json(lines: bytes, options: pyarrow.json.ParseOptions) -> pa.Table:
    return pyarrow.json.read_json(
        pa.BufferReader(lines), read_options=pyarrow.json.ReadOptions(block_size=BLOCK_BYTES), parse_options=options
    )
