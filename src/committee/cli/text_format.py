"""The format of a text table, from its first bytes: encoding, delimiter, decimal point, whether it has column names."""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv

from committee.cli.errors import DATA, USAGE, CommandError

__all__ = ["TextOptions", "TextReading", "check_text_columns", "find_text_options", "make_header_error"]

_BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_FRACTIONS = {mark: re.compile(rf"[-+]?\d+[{mark}]\d+(?:[eE][-+]?\d+)?") for mark in ",."}
_NUMBER = re.compile(r"[-+]?(?:\d+(?:[.,]\d*)?|[.,]\d+)(?:[eE][-+]?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ][\d:.]+(?:Z|[-+]\d{2}:?\d{2})?)?")
# The default spellings of a missing value, and that of the UCI repository.
_MISSING_WORDS = [*pyarrow.csv.ConvertOptions().null_values, "?"]
# Lines below the first one that it is compared with.
_N_COMPARED = 200
# So many numbers do not ascend by chance.
_FEWEST_ASCENDING = 6


@dataclass(frozen=True)
class TextReading:
    """What the user says about a text table.

    Parameters
    ----------
    encoding : str
        Value of ``--encoding``.
    header : bool or None
        Value of ``--header``; None if neither that nor ``--no-header`` was given.
    """

    encoding: str = "utf-8"
    header: bool | None = None


@dataclass(frozen=True)
class TextOptions:
    """How to read a text table.

    Parameters
    ----------
    encoding : str
        Its encoding.
    delimiter, decimal_point : str
        Signs between cells and within numbers.
    first_cells : tuple of str
        The cells of the first line.
    header : bool
        Whether the first line holds the column names; otherwise they are ``column1``, ``column2`` and so on.
    looks_headless : bool
        Whether nobody said so and the first line looks like data.
    """

    encoding: str
    delimiter: str
    decimal_point: str
    first_cells: tuple[str, ...]
    header: bool = True
    looks_headless: bool = False

    def make_arguments(self) -> dict[str, Any]:
        """Arguments for the readers of ``pyarrow.csv``."""
        names = None if self.header else [f"column{k + 1}" for k in range(len(self.first_cells))]
        return {
            "read_options": pyarrow.csv.ReadOptions(encoding=self.encoding, column_names=names),
            "parse_options": pyarrow.csv.ParseOptions(delimiter=self.delimiter, newlines_in_values=True),
            "convert_options": pyarrow.csv.ConvertOptions(
                strings_can_be_null=True, null_values=_MISSING_WORDS, decimal_point=self.decimal_point
            ),
        }


def find_text_options(
    path: Path, head: bytes, encoding: str, delimiter: str | None, header: bool | None
) -> TextOptions:
    """Find how to read a text table.

    Parameters
    ----------
    path : pathlib.Path
        The file.
    head : bytes
        Its beginning.
    encoding : str
        Value of ``--encoding``.
    delimiter : str or None
        If the extension tells it.
    header : bool or None
        Value of ``--header``.

    Returns
    -------
    TextOptions
    """
    _check_encoding(encoding)
    _check_text(path, head, encoding)
    text = head.decode(encoding, errors="replace").lstrip("\ufeff")
    delimiter = delimiter or _find_delimiter(text)
    point = _find_decimal_point(text, delimiter)
    lines = _split_lines(text, delimiter)
    first = tuple(lines[0]) if lines else ()
    looks_headless = header is None and _looks_like_data(first, lines[1:])
    return TextOptions(encoding, delimiter, point, first, header is not False, looks_headless)


def make_header_error(name: str, options: TextOptions) -> CommandError:
    """The error for a table without column names.

    Parameters
    ----------
    name : str
        Name of the table.
    options : TextOptions
        How it is read.

    Returns
    -------
    CommandError
        To be raised.
    """
    shown = ", ".join(options.first_cells[:4]) + (", …" if len(options.first_cells) > 4 else "")
    return CommandError(
        f"The first line of '{name}' looks like data and not like column names: '{shown}'.",
        "Add --no-header if it is data (the columns are then column1, column2 and so on), or --header if it is not.",
        USAGE,
    )


def _split_lines(text: str, delimiter: str) -> list[list[str]]:
    """The cells of the first lines; the last one may be cut off and is left out, unless it is the only other."""
    reader, lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter), []
    try:
        for line in reader:
            if line:
                lines.append([cell.strip() for cell in line])
            if len(lines) > _N_COMPARED:
                break
    except csv.Error:
        return lines[:1]
    return lines[:-1] if len(lines) > 2 and not text.endswith("\n") else lines


def _looks_like_data(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first line reads like the lines below it.

    In every column of numbers or dates its cell is one, too, and one of these holds: a column of text has the cell
    further down; a cell is a date; a number occurs twice; or the numbers do not look like names (years, wavelengths,
    0, 1, 2 …), without columns of text or as fractions.
    """
    numbers: list[float] = []
    n_dates, n_texts, n_seen = 0, 0, 0
    for j, cell in enumerate(first):
        values = [row[j] for row in rows if len(row) > j and row[j] not in _MISSING_WORDS]
        if cell in _MISSING_WORDS or not values:
            continue
        kind = next((kind for kind in (_NUMBER, _DATE) if all(map(kind.fullmatch, values))), None)
        if kind is None:
            n_texts += 1
            n_seen += cell in values
        elif not kind.fullmatch(cell):
            return False
        elif kind is _DATE:
            n_dates += 1
        else:
            numbers.append(float(cell.replace(",", ".")))
    if n_seen and (numbers or n_dates or n_seen == n_texts > 1):
        return True
    if n_dates or len(set(numbers)) < len(numbers):
        return True
    fractions = any(number < 0 or number % 1 for number in numbers)
    return bool(numbers) and not _look_like_names(numbers) and (fractions or not n_texts)


def _look_like_names(numbers: list[float]) -> bool:
    """Whether numbers that differ may be the names of columns: they ascend, and not just by chance."""
    if any(a > b for a, b in itertools.pairwise(numbers)):
        return False
    counted = numbers[0] in (0, 1) and numbers[-1] - numbers[0] == len(numbers) - 1
    return counted or len(numbers) >= _FEWEST_ASCENDING or all(1800 <= number < 2200 for number in numbers)


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
    first_line = head.split("\n", 1)[0]
    for delimiter in ";\t|":
        # A line of data, where the commas may be those of numbers.
        if delimiter in first_line and any(_FRACTIONS[","].fullmatch(c.strip()) for c in first_line.split(delimiter)):
            return delimiter
    # Of equal counts max takes the first, so a table of one column gets the comma.
    return max(",;\t|", key=first_line.count)


def _find_decimal_point(head: str, delimiter: str) -> str:
    """A comma if numbers are written with a comma and none with a point."""
    if delimiter == ",":
        return "."
    cells = [cell.strip(' "\r') for line in head.split("\n")[1:] for cell in line.split(delimiter)]
    commas, points = (any(_FRACTIONS[mark].fullmatch(cell) for cell in cells) for mark in ",.")
    return "," if commas and not points else "."
