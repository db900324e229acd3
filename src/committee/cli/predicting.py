"""The work behind ``committee predict``: a table goes through a model piece by piece."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError, suggest
from committee.cli.output import refuse_writing
from committee.cli.problem import write_numbers
from committee.cli.stream import TableStream, check_kinds
from committee.cli.table import COMPRESSED, TEXT_FORMATS, find_format

__all__ = ["Predictor", "choose_writer", "load_model"]

Write = Callable[[pa.Table], None]
_DELIMITERS = {".csv": ",", ".tsv": "\t"}


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

    if not Path(name).is_file():
        raise CommandError(f"There is no model file '{name}'.", "committee fit -o writes one.", USAGE)
    return load(name, trusted=list(trusted))


class Predictor:
    """A model beside the table that it is to predict.

    Parameters
    ----------
    model : estimator
        Fitted.
    stream : TableStream
        The table.
    probabilities : bool
        Whether the probability of each class is wanted.
    keep : sequence of str
        Columns of the table that are copied to the answer.
    """

    def __init__(self, model: Any, stream: TableStream, probabilities: bool, keep: Sequence[str]) -> None:
        self.model = model
        self.stream = stream
        self.probabilities = probabilities
        self.keep = list(keep)
        self._names = self._find_columns()
        schema = getattr(model, "_schema", None)
        levels = getattr(schema, "categories", ())
        named = list(zip(self._names, levels, strict=False))
        # Levels that are text are of dtype object; only then is a column text whatever it looks like.
        self._texts = [name for name, known in named if known is not None and known.dtype == object]
        check_kinds(stream, [name for name, known in named if known is None])
        self._check_keep()
        if probabilities and not hasattr(model, "predict_proba"):
            raise CommandError(
                f"{type(model).__name__} does not predict probabilities.", "Leave out --probabilities.", USAGE
            )

    def predict_chunks(self) -> Iterator[pa.Table]:
        """The answers in the order of the rows.

        Yields
        ------
        pyarrow.Table
            Columns that are kept, then the prediction, then the probabilities.
        """
        wanted = list(dict.fromkeys([*self.keep, *self._names]))
        kept_texts = [name for name in self.keep if name not in self._names] if self._stays_text() else []
        for chunk in self.stream.read_chunks(wanted, [*self._texts, *kept_texts]):
            rows = self._take_rows(chunk)
            answers = {name: chunk.column(name) for name in self.keep}
            answers |= _name_answers(self.model.predict(rows))
            if self.probabilities:
                answers |= _name_probabilities(self.model, rows)
            yield pa.table(answers)

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

    def _check_keep(self) -> None:
        for name in self.keep:
            if name not in self.stream.schema.names:
                raise CommandError(
                    f"'{self.stream.name}' has no column '{name}' to keep.",
                    suggest(name, list(self.stream.schema.names)),
                    USAGE,
                )
            if name.startswith(("prediction", "probability_")):
                raise CommandError(
                    f"The column '{name}' cannot be kept beside a prediction of that name.", "Rename it first.", USAGE
                )

    def _stays_text(self) -> bool:
        """A column that is only copied stays as it was written, unless its file says what it is."""
        path = self.stream.path
        return path is not None and find_format(path) in TEXT_FORMATS

    def _take_rows(self, chunk: pa.Table) -> Any:
        columns = {name: write_numbers(chunk.column(name)) for name in self._names}
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


def _name_answers(predicted: NDArray[Any]) -> dict[str, pa.Array]:
    if predicted.ndim == 1:
        return {"prediction": pa.array(predicted.tolist() if predicted.dtype.kind in "OU" else predicted)}
    return {f"prediction_{k}": pa.array(column.tolist()) for k, column in enumerate(predicted.T)}


def _name_probabilities(model: Any, rows: Any) -> dict[str, pa.Array]:
    shares = model.predict_proba(rows)
    if isinstance(shares, list):
        raise CommandError("The model has several outputs.", "Leave out --probabilities.", USAGE)
    return {f"probability_{label}": pa.array(shares[:, k]) for k, label in enumerate(model.classes_)}


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
                with pa.output_stream(str(part), compression="detect") as out, _write_text(out, delimiter) as write:
                    yield write
            os.replace(part, place)
        except OSError as error:
            raise refuse_writing(place, error) from error
    finally:
        part.unlink(missing_ok=True)


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
