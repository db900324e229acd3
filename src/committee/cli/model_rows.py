"""A model beside a table: the columns that it knows, found by name, checked, and read piece by piece."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.problem import write_numbers
from committee.cli.stream import TableStream, check_kinds
from committee.cli.table import TEXT_FORMATS, find_format

__all__ = ["ModelRows", "load_model"]


def load_model(name: str, trusted: Sequence[str]) -> Any:
    """Read a model file.

    Parameters
    ----------
    name : str
        Its path.
    trusted : sequence of str
        Types of other libraries that it may hold.

    Returns
    -------
    estimator
        Checked, and mapped rather than copied.
    """
    from committee.io.model_file import load

    if Path(name).is_dir():
        raise CommandError(f"'{name}' is a folder, not a model file.", "Name one file in it.", USAGE)
    if not Path(name).is_file():
        raise CommandError(f"There is no model file '{name}'.", "committee fit -o writes one.", USAGE)
    return load(name, trusted=list(trusted))


class ModelRows:
    """The rows of a table as a model takes them.

    Parameters
    ----------
    model : estimator
        Fitted.
    stream : TableStream
        The table.
    beside : sequence of str
        Columns of the table that are wanted as well.
    """

    def __init__(self, model: Any, stream: TableStream, beside: Sequence[str] = ()) -> None:
        self.model = model
        self.stream = stream
        self.beside = list(beside)
        self.names = self._find_columns()
        schema = getattr(model, "_schema", None)
        levels = getattr(schema, "categories", ())
        named = list(zip(self.names, levels, strict=False))
        # Levels that are text are of dtype object; only then is a column text whatever it looks like.
        self._texts = [name for name, known in named if known is not None and known.dtype == object]
        check_kinds(stream, [name for name, known in named if known is None])
        for name in self.beside:
            if name not in stream.schema.names:
                raise CommandError(
                    f"'{stream.name}' has no column '{name}'.", suggest(name, list(stream.schema.names)), USAGE
                )

    def read(self) -> Iterator[tuple[pa.Table, Any]]:
        """Pieces of the table in order.

        Yields
        ------
        tuple of pyarrow.Table and table
            The columns as they were read, and the rows as the model takes them.
        """
        wanted = list(dict.fromkeys([*self.beside, *self.names]))
        kept_texts = [name for name in self.beside if name not in self.names] if self._stays_text() else []
        for chunk in self.stream.read_chunks(wanted, [*self._texts, *kept_texts]):
            yield chunk, self.take_rows(chunk)

    def take_rows(self, chunk: pa.Table) -> Any:
        """Columns as read, in the form that the model wants.

        Parameters
        ----------
        chunk : pyarrow.Table
            With at least the columns of the model.

        Returns
        -------
        pyarrow.Table, or ndarray for a model without names
        """
        columns = {name: write_numbers(chunk.column(name)) for name in self.names}
        if hasattr(self.model, "feature_names_in_"):
            return pa.table(columns).combine_chunks()
        try:
            numbers = [column.cast(pa.float64()).to_numpy() for column in columns.values()]
        except pa.ArrowException as error:
            raise CommandError(
                "The model was fitted on an array of numbers, and the table holds something else.",
                "Leave only columns of numbers.",
            ) from error
        return np.column_stack(numbers)

    def _find_columns(self) -> list[str]:
        found = self.stream.schema.names
        fitted = getattr(self.model, "feature_names_in_", None)
        if fitted is None:
            width = getattr(self.model, "n_features_in_", None)
            if width != len(found):
                raise CommandError(
                    f"The model knows no names of columns and wants {width} of them; "
                    f"'{self.stream.name}' has {len(found)}.",
                    "Leave only the columns that the model was fitted on, in their order.",
                )
            return list(found)
        missing = [str(name) for name in fitted if name not in found]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise CommandError(
                f"'{self.stream.name}' has no column '{missing[0]}'{more}, which the model was fitted on.",
                suggest(missing[0], list(found)),
            )
        return [str(name) for name in fitted]

    def _stays_text(self) -> bool:
        """A column that is only copied stays as it was written, unless its file says what it is."""
        path = self.stream.path
        return path is not None and find_format(path) in TEXT_FORMATS
