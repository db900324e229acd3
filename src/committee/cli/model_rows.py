"""The rows of a table in the form that a model accepts: columns matched by name, checked, and read in chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.problem import name_kind, write_numbers
from committee.cli.stream import TableStream
from committee.cli.table import TEXT_FORMATS, find_format
from committee.cli.text_dates import read_text_dates, write_text_dates
from committee.cli.text_format import make_header_error
from committee.data.dataset import Schema
from committee.data.inputs import describe_kind

__all__ = ["ModelRows", "load_model", "name_model", "read_categories"]

# What text formats write as text.
_WRITTEN_KINDS = frozenset({"date", "date_utc", "duration", "time"})


def load_model(name: str, trusted: Sequence[str]) -> Any:
    """Read a model file.

    Parameters
    ----------
    name : str
        Its path.
    trusted : sequence of str
        Types of other libraries that may be loaded.

    Returns
    -------
    estimator
        Checked; its arrays are memory-mapped.
    """
    from committee.io.model_file import load

    if Path(name).is_dir():
        raise CommandError(f"'{name}' is a folder, not a model file.", "Name one file in it.", USAGE)
    if not Path(name).is_file():
        raise CommandError(f"There is no model file '{name}'.", "committee fit -o writes one.", USAGE)
    return load(name, trusted=list(trusted))


def name_model(model: Any) -> str:
    """The name of the class of a model, or of the one that a view is of.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    str
    """
    from committee.inspection.one_target import OneTarget

    return type(model.model if isinstance(model, OneTarget) else model).__name__


def read_categories(model: Any) -> Sequence[NDArray[Any] | None]:
    """Categories of each column that a model was fitted on.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    sequence of ndarray or None
        None for a column of numbers; empty if the model does not know.
    """
    schema: Schema | None = getattr(model, "_schema", None)
    return () if schema is None else [schema.categories[schema.list_features(k)[0]] for k in range(schema.n_inputs)]


def _list_kinds(model: Any, n_columns: int) -> Sequence[str]:
    """For each column that a model was fitted on a key of `KINDS`."""
    schema: Schema | None = getattr(model, "_schema", None)
    return ["number"] * n_columns if schema is None or schema.inputs is None else schema.inputs.kinds


class ModelRows:
    """The rows of a table in the form that a model accepts.

    Parameters
    ----------
    model : estimator
        Fitted.
    stream : TableStream
        The table.
    extra : sequence of str
        Columns of the table to read beside the features.
    """

    def __init__(self, model: Any, stream: TableStream, extra: Sequence[str] = ()) -> None:
        self.model = model
        self.stream = stream
        self.extra = list(extra)
        self.names = self._find_columns()
        named = list(zip(self.names, read_categories(model), strict=False))
        self._kinds = dict(zip(self.names, _list_kinds(model, len(self.names)), strict=True))
        # Text categories have dtype object; such a column is read as text even if it looks numeric.
        self._texts = [name for name, known in named if known is not None and known.dtype == object]
        self._texts += [name for name, kind in self._kinds.items() if kind == "text"]
        self._numbers = [name for name, known in named if known is None and name not in self._texts]
        for name in self.extra:
            if name not in stream.schema.names:
                raise CommandError(
                    f"'{stream.name}' has no column '{name}'.", suggest(name, list(stream.schema.names)), USAGE
                )

    def read(self) -> Iterator[tuple[pa.Table, Any]]:
        """Chunks of the table in order.

        Yields
        ------
        tuple of pyarrow.Table and table
            The columns as read, and the rows in the form that the model accepts.
        """
        columns = list(dict.fromkeys([*self.extra, *self.names]))
        texts = list(self._texts)
        if self._stays_text():
            texts += [name for name in self.extra if name not in self.names]
            # Types come from the first block, which may be empty in such a column, or hold days and no times.
            texts += [name for name, kind in self._kinds.items() if kind in _WRITTEN_KINDS]
        for chunk in self.stream.read_chunks(columns, texts):
            yield chunk, self.take_rows(chunk)

    def take_rows(self, chunk: pa.Table) -> Any:
        """Convert columns as read to the form that the model accepts.

        Parameters
        ----------
        chunk : pyarrow.Table
            With at least the columns of the model.

        Returns
        -------
        pyarrow.Table, or ndarray for a model without feature names
        """
        columns = {}
        for name, kind in self._kinds.items():
            column = self._match_dates(name, chunk.column(name))
            # A number of the model may be the seconds of a date: earlier versions of the command fitted to these.
            columns[name] = write_numbers(column) if kind == "number" else column
        if hasattr(self.model, "feature_names_in_"):
            return pa.table(columns).combine_chunks()
        try:
            numbers = [column.cast(pa.float64()).to_numpy() for column in columns.values()]
        except pa.ArrowException as error:
            raise CommandError(
                "The model was fitted on an array of numbers, and the table contains other types.",
                "Leave only columns of numbers.",
            ) from error
        return np.column_stack(numbers)

    def _match_dates(self, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
        """Dates as the model knows them: text where it was fitted on text, else dates, which may be text here."""
        if name in self._texts:
            return write_text_dates(column)
        kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
        if name not in self._numbers or name_kind(kind) != "category":
            return column
        if column.null_count == len(column):
            return pa.chunked_array([pa.nulls(len(column))])
        dates = read_text_dates(column)
        if dates is None:
            raise CommandError(
                f"Column '{name}' held {describe_kind(self._kinds[name])} at fit and is text in '{self.stream.name}'.",
                "Check that the table is of the same kind as the one that the model was fitted on.",
            )
        return dates

    def _find_columns(self) -> list[str]:
        found = self.stream.schema.names
        fitted = getattr(self.model, "feature_names_in_", None)
        if fitted is None:
            width = getattr(self.model, "n_features_in_", None)
            if width != len(found):
                raise CommandError(
                    f"The model has no feature names and needs {width} columns; '{self.stream.name}' has {len(found)}.",
                    "Leave only the columns that the model was fitted on, in their order.",
                )
            return list(found)
        missing = [str(name) for name in fitted if name not in found]
        options = self.stream.text_options
        if missing and options is not None and options.looks_headless:
            raise make_header_error(self.stream.name, options)
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise CommandError(
                f"'{self.stream.name}' has no column '{missing[0]}'{more}, which the model was fitted on.",
                suggest(missing[0], list(found)),
            )
        return [str(name) for name in fitted]

    def _stays_text(self) -> bool:
        """Whether copied columns are read as text: in text formats, which have no types."""
        path = self.stream.path
        return path is not None and find_format(path) in TEXT_FORMATS
