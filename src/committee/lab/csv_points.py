"""Points from a table that the user picked: two columns, and a third that holds classes."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import DataError
from committee.lab.state import MOST_CLASSES, MOST_POINTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.typing import FloatArray

__all__ = ["MOST_BYTES", "read_csv_points"]

MOST_BYTES = 2_000_000
_MOST_NAMED = 30


@dataclass(frozen=True)
class _TextColumn:
    name: str
    values: tuple[str, ...]

    def parse(self) -> FloatArray | None:
        """Numbers, NaN where a cell is empty; None for a column of text."""
        try:
            numbers = np.array([float(value) if value else np.nan for value in self.values])
        except ValueError:
            return None
        return numbers if np.isfinite(numbers).any() and not np.isinf(numbers).any() else None


def _read_columns(content: bytes) -> list[_TextColumn]:
    if len(content) > MOST_BYTES:
        raise DataError(f"The lab reads tables of up to {MOST_BYTES // 1_000_000} MB; got {len(content) / 1e6:.1f} MB.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise DataError("The file is not text in UTF-8; save the table as CSV in UTF-8.") from None
    if "\0" in text:
        raise DataError("The file is not text; save the table as CSV.")
    first = text.lstrip().partition("\n")[0]
    separator = max(",;\t", key=first.count)
    rows = [row for row in csv.reader(io.StringIO(text), delimiter=separator) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise DataError("The table is empty: the lab needs a line with the names of the columns, and rows below it.")
    names, body = [cell.strip() for cell in rows[0]], rows[1:]
    uneven = next((at for at, row in enumerate(body, start=2) if len(row) != len(names)), None)
    if uneven is not None:
        raise DataError(
            f"Row {uneven} of the table has {len(body[uneven - 2])} cells, and the first row names {len(names)} "
            "columns; each row needs one cell for each name."
        )
    if len(names) < 2:
        raise DataError("The table has one column; the lab needs two of numbers. Are cells separated by , ; or tabs?")
    named = [name or f"column {at}" for at, name in enumerate(names, start=1)]
    return [_TextColumn(name, tuple(row[at].strip() for row in body)) for at, name in enumerate(named)]


def _find_column(columns: Sequence[_TextColumn], name: str) -> _TextColumn:
    found = next((column for column in columns if column.name == name), None)
    if found is None:
        known = ", ".join(column.name for column in columns[:_MOST_NAMED])
        raise DataError(f"The table has no column {name!r}; its columns are {known}.")
    return found


def read_csv_points(content: bytes, across: str = "", up: str = "", label: str = "") -> dict[str, object]:
    """Points of two columns of a CSV file.

    With a column of classes the points are to be classified; without one, the second column is a function of the first.

    Parameters
    ----------
    content : bytes
        The file: UTF-8, cells separated by commas, semicolons or tabs, names in the first line.
    across, up : str
        Names of two columns of numbers; by default the first two.
    label : str
        Name of the column of classes; by default the first other column with up to eight different values. "-" is none.

    Returns
    -------
    dict
        Names of the columns, those that were taken, and the points as a state has them.
    """
    columns = _read_columns(content)
    numeric = [column for column in columns if column.parse() is not None]
    few = [column for column in columns if 2 <= len(set(column.values) - {""}) <= MOST_CLASSES]
    if label == "":
        texts = [column for column in few if column not in numeric]
        spare = [column for column in few if len(numeric) > 2 and column.name not in (across, up)]
        chosen = next(iter([*texts, *reversed(spare)]), None)
    else:
        chosen = None if label == "-" else _find_column(columns, label)
    classes, codes = _number_classes(chosen, len(columns[0].values))
    free = [column.name for column in numeric if column is not chosen]
    if len(free) < 2 and not (across and up):
        raise DataError(
            f"The lab needs two columns of numbers; of the {len(columns)} columns of the table these are: "
            f"{', '.join(column.name for column in numeric[:_MOST_NAMED]) or 'none'}."
        )
    across = across or next(name for name in free if name != up)
    up = up or next(name for name in free if name != across)
    x, y = (_parse_numbers(_find_column(columns, name)) for name in (across, up))
    return {
        "columns": [{"name": c.name, "is_numeric": c in numeric, "has_few_values": c in few} for c in columns],
        "taken": {"across": across, "up": up, "label": chosen.name if chosen else "-"},
        "classes": classes,
        **_write_points(x, y, codes),
    }


def _parse_numbers(column: _TextColumn) -> FloatArray:
    numbers = column.parse()
    if numbers is None:
        wrong = next((value for value in column.values if value and not _is_number(value)), "")
        raise DataError(f"Column {column.name!r} must hold numbers to be an axis; it holds {wrong[:40]!r}.")
    return numbers


def _is_number(text: str) -> bool:
    try:
        return bool(np.isfinite(float(text)))
    except ValueError:
        return False


def _number_classes(column: _TextColumn | None, n_rows: int) -> tuple[list[str], FloatArray]:
    if column is None:
        return [], np.zeros(n_rows)
    classes = sorted(set(column.values) - {""})
    if not 2 <= len(classes) <= MOST_CLASSES:
        raise DataError(
            f"Column {column.name!r} has {len(classes)} different values; the lab shows 2 to {MOST_CLASSES} classes."
        )
    number = {name: float(at) for at, name in enumerate(classes)}
    return classes, np.array([number.get(value, np.nan) for value in column.values])


def _write_points(x: FloatArray, y: FloatArray, codes: FloatArray) -> dict[str, object]:
    rows = np.flatnonzero(np.isfinite(x) & np.isfinite(y) & np.isfinite(codes))
    n_known = len(rows)
    if n_known < 4:
        raise DataError(f"The lab needs four rows without empty cells; the chosen columns have {n_known}.")
    if n_known > MOST_POINTS:
        rows = np.sort(np.random.default_rng(0).choice(rows, MOST_POINTS, replace=False))
    is_class = bool(codes[rows].any())
    texts = [f"{x[row]:.6g},{y[row]:.6g}" + (f",{codes[row]:.0f}" if is_class else "") for row in rows]
    ends = []
    for values in (x[rows], y[rows]):
        room = 0.08 * max(float(np.ptp(values)), 1e-9)
        ends += [float(values.min()) - room, float(values.max()) + room]
    return {
        "points": "_".join(texts),
        "box": ",".join(f"{end:.6g}" for end in ends),
        "data": "points" if is_class else "line_points",
        "n_rows": len(x),
        "n_known": n_known,
        "n_taken": len(rows),
    }
