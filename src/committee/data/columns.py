"""One column at a time: numbers with NaN where missing, levels with a code for each row, seconds, or lists.

A column comes here as an array, a list of Python objects or a series of pandas, Polars or PyArrow. It leaves as a
:class:`Column`, and whether its levels are used as a category is decided later.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.constraints import show_value
from committee.data import dates, lists
from committee.data.inputs import describe_kind
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from committee.typing import AnyArray

__all__ = [
    "Column",
    "encode_levels",
    "find_observed",
    "read_arrow_column",
    "read_arrow_matrix",
    "read_arrow_text",
    "read_lists",
    "read_objects",
    "read_pandas_text",
    "read_polars_column",
    "read_polars_matrix",
    "read_polars_text",
    "read_times",
    "refuse_kind",
]

_MISSING_CODE = -1
_NUMBERS = (int, float, np.number, np.bool_, Decimal, Fraction)
_TIMES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
#: Some of their values mean "missing" and can be neither hashed nor made a float: NumPy's masked constant and the
#: signalling NaN of decimal arithmetic.
_UNHASHABLE = (Decimal, np.ma.core.MaskedConstant)
_INTEGERS = frozenset(f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64))
_PLAIN_ARROW = _INTEGERS | {"bool", "float", "double"}
_PLAIN_POLARS = _INTEGERS | {"float32", "float64"}
_ARROW_TEXT = frozenset({"string", "large_string"})
#: Texts that are read faster one by one, as Python objects, than by a frame's library, which takes a tenth of a
#: millisecond and more for a single row.
_FEW_TEXTS = 500
#: Cells of a table that is read at once, not column by column.
_FEW_CELLS = 1 << 16
_MISSING_NAMES = frozenset({"NoneType", "NAType", "NaTType", "MaskedConstant"})
_HINTS = {
    "structs": "Spread it over one column for each field.",
    "binary data": "Turn it into numbers or text first.",
    "intervals": "Turn it into numbers first, for example its start.",
}


@dataclass(frozen=True)
class Column:
    """A column that has been read.

    Attributes
    ----------
    where : str
        The column as a sentence calls it.
    values : ndarray of float32 or float64, or None
        The numbers, if it holds numbers; seconds, if it holds dates, times or durations.
    levels : ndarray or None
        The distinct values that occur, text or numbers, if it came with levels. Text is of dtype object.
    codes : ndarray of int64 or None
        For each row the index of its level, -1 where missing.
    neutral : bool
        Whether the numbers have no precision of their own (booleans), so that a float32 table stays one.
    kind : str
        What it holds, a key of `inputs.KINDS`; a column with levels counts as a number.
    elements : ndarray of float32 or float64 of shape (n_rows, width), or None
        The elements, if it holds lists.
    declared : ndarray or None
        All levels that its type declares, in their order, if the type has one; also those that do not occur.
    plain_text : bool
        Whether the levels are strings that did not come with a categorical type, so that they may be free text.
    n_held : float or None
        The number of rows with a value, if the codes are not those of the rows.
    """

    where: str
    values: AnyArray | None = None
    levels: AnyArray | None = None
    codes: NDArray[np.int64] | None = None
    neutral: bool = False
    kind: str = "number"
    elements: AnyArray | None = None
    declared: AnyArray | None = None
    plain_text: bool = False
    n_held: float | None = None

    @property
    def holds_text(self) -> bool:
        """Whether the levels are text, so that the column cannot be read as numbers."""
        return self.levels is not None and self.levels.dtype == object

    @property
    def is_missing(self) -> bool:
        """Whether every row is missing, so that the column could hold anything."""
        if self.codes is not None:
            return not len(self.codes) or int(self.codes.max()) == _MISSING_CODE
        held = self.values if self.elements is None else self.elements
        return held is not None and bool(np.isnan(held).all())

    def describe(self) -> str:
        """What the column holds, for a sentence."""
        if self.holds_text:
            return "text"
        return describe_kind(self.kind, None if self.elements is None else self.elements.shape[1])

    def as_numbers(self) -> AnyArray:
        """The column as numbers; only if it does not hold text."""
        if self.values is not None:
            return self.values
        assert self.levels is not None
        assert self.codes is not None
        padded = np.append(self.levels.astype(np.float64), np.nan)
        return padded[self.codes]

    def as_levels(self) -> tuple[AnyArray, NDArray[np.int64]]:
        """The levels that occur and the code of each row; numbers become their sorted distinct values."""
        if self.levels is not None and self.codes is not None:
            return self.levels, self.codes
        assert self.values is not None
        # 0.0 and -0.0 are one level; adding zero makes them one value.
        values = self.values.astype(np.float64) + 0.0
        levels, codes = np.unique(values, return_inverse=True)
        if len(levels) and np.isnan(levels[-1]):
            levels = levels[:-1]
        return levels, np.where(np.isnan(values), _MISSING_CODE, codes.reshape(-1)).astype(np.int64)

    def take_rows(self, rows: NDArray[np.intp]) -> Column:
        """Some of the rows; levels that do not occur among them are dropped, as they are when a column is read."""
        if self.levels is None or self.codes is None:
            values = None if self.values is None else self.values[rows]
            elements = None if self.elements is None else self.elements[rows]
            return replace(self, values=values, elements=elements)
        codes = self.codes[rows]
        observed = find_observed(codes, len(self.levels))
        renumber = np.full(len(self.levels) + 1, _MISSING_CODE, dtype=np.int64)
        renumber[observed] = np.arange(len(observed))
        return Column(self.where, levels=self.levels[observed], codes=renumber[codes], plain_text=self.plain_text)


def refuse_kind(where: str, kind: str, name: str = "") -> DataTypeError:
    """The error for a column of a kind that cannot be learnt from."""
    described = f"{kind} ({name})" if name else kind
    return DataTypeError(f"X {where} holds {described}, which cannot be learnt from. {_HINTS.get(kind, '')}".rstrip())


# --- Python objects ----------------------------------------------------------------------------------------------


def read_objects(values: Sequence[Any], where: str) -> Column:
    """A column of Python objects: all numbers or all text, with anything that means "missing" in between."""
    found_types = set(map(type, values))
    if any(issubclass(found, _UNHASHABLE) for found in found_types):
        values = [None if v is np.ma.masked or (isinstance(v, Decimal) and v.is_nan()) else v for v in values]
        found_types = set(map(type, values))
    kinds: dict[str, type] = {}
    for found in found_types:
        kinds.setdefault(_find_kind(found), found)
    for kind in ("complex", "other"):
        if kind in kinds:
            raise _refuse_object(kind, kinds[kind], values, where)
    if "times" in kinds or "list" in kinds:
        return _read_times_or_lists(values, kinds, where)
    if "bytes" in kinds:
        values = [_decode(v, where) if isinstance(v, bytes) else v for v in values]
        kinds["text"] = str
    if "text" not in kinds:
        return Column(where, values=_read_numbers(values, where), neutral=set(kinds) == {"truth"})
    distinct = set(values)
    # A float NaN is how pandas and NumPy write a missing piece of text.
    number = next((v for v in distinct if isinstance(v, _NUMBERS) and not _is_nan(v)), None)
    if number is not None:
        text = next(v for v in values if isinstance(v, str))
        raise DataTypeError(
            f"X {where} mixes text and numbers, such as {show_value(text)} and {show_value(number)}. "
            "Make it one or the other."
        )
    return _encode_texts(values, where, distinct)


def _encode_texts(values: Sequence[Any], where: str, distinct: set[Any] | None = None, *, plain: bool = True) -> Column:
    """A column of text, and its distinct values if they are known; whatever is no text is missing."""
    distinct = set(values) if distinct is None else distinct
    levels = sorted(str(v) for v in distinct if isinstance(v, str))
    index: dict[Any, int] = dict.fromkeys(distinct, _MISSING_CODE)
    index.update((level, code) for code, level in enumerate(levels))
    codes = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
    return Column(where, levels=_text_array(levels), codes=codes, plain_text=plain)


def _read_times_or_lists(values: Sequence[Any], kinds: dict[str, type], where: str) -> Column:
    """Dates, times, durations or lists, with nothing but missing values in between; NaN is one."""
    missing = np.array([type(v).__name__ in _MISSING_NAMES or (isinstance(v, float) and v != v) for v in values])
    missing |= np.array([isinstance(v, np.datetime64 | np.timedelta64) and bool(np.isnat(v)) for v in values])
    held = "times" if "times" in kinds else "list"
    present = ((_find_value_kind(v), v) for v, gone in zip(values, missing, strict=True) if not gone)
    odd = next((v for kind, v in present if kind != held), None)
    if odd is not None:
        raise DataTypeError(
            f"X {where} mixes {'dates or times' if held == 'times' else 'lists'} and other values, such as "
            f"{show_value(odd)}. Make it one or the other."
        )
    if held == "times":
        kind, seconds = dates.read_object_times(values, missing, where)
        return Column(where, values=seconds, kind=kind)

    def read_elements(flat: list[Any]) -> AnyArray | None:
        found = read_objects(flat, where)
        return found.values if found.kind == "number" else None

    return _make_list_column(lists.read_object_lists(values, missing, where, read_elements), where)


def _find_value_kind(value: Any) -> str:
    found: type = type(value)
    return _find_kind(found)


@lru_cache(maxsize=256)
def _find_kind(found: type) -> str:
    if issubclass(found, str):
        return "text"
    if issubclass(found, bytes):
        return "bytes"
    # NaT is a datetime to Python's type system, so the missing ones come first.
    if found.__name__ in _MISSING_NAMES:
        return "missing"
    if issubclass(found, bool | np.bool_):
        return "truth"
    if issubclass(found, complex | np.complexfloating):
        return "complex"
    if issubclass(found, _TIMES) or found.__name__ == "Period":
        return "times"
    if issubclass(found, list | tuple | np.ndarray):
        return "list"
    return "number" if issubclass(found, _NUMBERS) else "other"


def _refuse_object(kind: str, found: type, values: Sequence[Any], where: str) -> Exception:
    if kind == "complex":
        return DataError(f"Complex data not supported: X {where} holds complex numbers.")
    sample = next(v for v in values if type(v) is found)
    return DataTypeError(
        f"Every argument must be a string, a number or missing; X {where} holds a value of type "
        f"{found.__name__}, {show_value(sample)}."
    )


def _read_numbers(values: Sequence[Any], where: str) -> NDArray[np.float64]:
    clean = [np.nan if type(v).__name__ in _MISSING_NAMES else v for v in values]
    try:
        return np.array(clean, dtype=np.float64)
    except OverflowError:
        raise DataError(f"Input X contains infinity or a value too large for dtype('float64') in {where}.") from None


def _is_nan(value: object) -> bool:
    return bool(value != value)


def _decode(value: bytes, where: str) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise refuse_kind(where, "binary data") from None


# --- levels ------------------------------------------------------------------------------------------------------


def encode_levels(levels: Sequence[Any], codes: AnyArray, where: str, *, ordered: bool) -> Column:
    """A column from the categories of its type and the code of each row.

    Levels that do not occur are dropped, so that "unseen" means the same for every kind of input. Levels without
    an order of their own are sorted. Text and numbers are kept, anything else (an interval, a date) becomes its
    text.
    """
    codes = codes.astype(np.int64)
    kinds = {_find_kind(found) for found in set(map(type, levels))}
    if kinds <= {"number", "truth"}:
        kept: AnyArray = np.array([float(level) for level in levels], dtype=np.float64)
    elif kinds <= {"text"}:
        kept = _text_array([str(level) for level in levels])
    elif "missing" in kinds:
        return _drop_missing_level(levels, codes, where, ordered=ordered)
    elif "text" in kinds and kinds & {"number", "truth"}:
        raise DataTypeError(f"X {where} has levels that mix text and numbers. Make them one or the other.")
    else:
        kept = _text_array([str(level) for level in levels])
    observed = find_observed(codes, len(kept))
    if not ordered:
        observed = observed[np.argsort(kept[observed], kind="stable")]
    renumber = np.full(len(kept) + 1, _MISSING_CODE, dtype=np.int64)
    renumber[observed] = np.arange(len(observed))
    return Column(where, levels=kept[observed], codes=renumber[codes], declared=kept if ordered else None)


def _drop_missing_level(levels: Sequence[Any], codes: NDArray[np.int64], where: str, *, ordered: bool) -> Column:
    present = [i for i, level in enumerate(levels) if type(level).__name__ not in _MISSING_NAMES]
    renumber = np.full(len(levels) + 1, _MISSING_CODE, dtype=np.int64)
    renumber[present] = np.arange(len(present))
    return encode_levels([levels[i] for i in present], renumber[codes], where, ordered=ordered)


def find_observed(codes: NDArray[np.int64], n_levels: int) -> NDArray[np.int64]:
    """The codes that occur, ascending; -1 (missing) is none of them."""
    return np.flatnonzero(np.bincount(codes + 1, minlength=n_levels + 1)[1:])


def _text_array(texts: Sequence[str]) -> AnyArray:
    array = np.empty(len(texts), dtype=object)
    array[:] = texts
    return array


# --- series of the frame libraries -------------------------------------------------------------------------------


def read_pandas_text(series: Any, where: str) -> Column:
    """A pandas series of text or of a categorical type."""
    if hasattr(series, "cat"):
        categories = series.cat.categories
        return encode_levels(categories.tolist(), series.cat.codes.to_numpy(), where, ordered=True)
    if len(series) <= _FEW_TEXTS and series.dtype != object:
        return _encode_texts(series.tolist(), where)
    codes, uniques = series.factorize()
    # pandas compares texts up to the first NUL: those that differ beyond it have become one level.
    values, is_known = series.to_numpy(dtype=object), codes >= 0
    if not np.array_equal(np.asarray(uniques, dtype=object)[codes[is_known]], values[is_known]):
        return _encode_texts(values.tolist(), where)
    return replace(encode_levels(uniques.tolist(), codes, where, ordered=False), plain_text=True)


def read_polars_text(series: Any, where: str) -> Column:
    """A Polars series of type String, Categorical or Enum."""
    import polars as pl

    if isinstance(series.dtype, pl.Enum):
        levels = series.dtype.categories
        physical = series
        ordered = True
    else:
        if len(series) <= _FEW_TEXTS:
            return _encode_texts(series.to_list(), where, plain=series.dtype == pl.String)
        # The codes of a Categorical depend on what else the process has seen; its text does not.
        text = series.cast(pl.String)
        levels = text.unique().drop_nulls().sort()
        physical = text.cast(pl.Enum(levels))
        ordered = False
    codes = physical.to_physical().cast(pl.Int64).fill_null(_MISSING_CODE).to_numpy()
    column = encode_levels(levels.to_list(), codes, where, ordered=ordered)
    return replace(column, plain_text=series.dtype == pl.String)


def read_arrow_text(chunked: Any, where: str) -> Column:
    """A PyArrow chunked array of text or of a dictionary type."""
    is_plain = not hasattr(chunked.type, "value_type")
    if is_plain and len(chunked) <= _FEW_TEXTS:
        return _encode_texts(chunked.to_pylist(), where)
    encoded = chunked.combine_chunks()
    if is_plain:
        encoded = encoded.dictionary_encode()
    codes = encoded.indices.cast("int64").fill_null(_MISSING_CODE).to_numpy(zero_copy_only=False)
    column = encode_levels(encoded.dictionary.to_pylist(), codes, where, ordered=bool(encoded.type.ordered))
    return replace(column, plain_text=is_plain)


def read_times(series: Any, where: str) -> Column:
    """Dates, times of day or durations of pandas, Polars, PyArrow or NumPy."""
    if isinstance(series, np.ndarray):
        kind, seconds = dates.read_array_times(series, where)
    elif hasattr(series, "iloc"):
        kind, seconds = dates.read_pandas_times(series, where)
    elif hasattr(series, "to_physical"):
        kind, seconds = dates.read_polars_times(series)
    else:
        kind, seconds = dates.read_arrow_times(series)
    return Column(where, values=seconds, kind=kind)


def read_lists(series: Any, where: str) -> Column:
    """Lists of pandas (with types of Arrow), Polars or PyArrow."""
    if hasattr(series, "iloc"):
        return _make_list_column(lists.read_arrow_lists(series.array.__arrow_array__(), where), where)
    if hasattr(series, "to_physical"):
        return _make_list_column(lists.read_polars_lists(series, where), where)
    return _make_list_column(lists.read_arrow_lists(series, where), where)


def _make_list_column(elements: AnyArray, where: str) -> Column:
    if elements.shape[1]:
        return Column(where, kind="list", elements=elements)
    return Column(where, values=np.full(len(elements), np.nan), neutral=True)  # no row has a list


def read_arrow_column(chunked: Any, where: str) -> Column | None:
    """A PyArrow chunked array of plain numbers, truth values or text; None if it holds anything else."""
    kind = str(chunked.type)
    if kind in _ARROW_TEXT or kind.startswith("dictionary<values=string"):
        return read_arrow_text(chunked, where)
    if kind not in _PLAIN_ARROW:
        return None
    if kind == "bool":
        return Column(where, values=chunked.cast("float64").to_numpy(), neutral=True)
    values = chunked.to_numpy()
    return Column(where, values=values if kind == "float" else values.astype(np.float64, copy=False))


def read_arrow_matrix(table: Any) -> AnyArray | None:
    """A small PyArrow table of plain numbers and truth values, at once; None for any other. Null becomes NaN.

    Columns of a large one are read one by one into memory that may be that of files.
    """
    if table.num_rows * table.num_columns > _FEW_CELLS:
        return None
    kinds = set(map(str, table.schema.types))
    single = kinds == {"float"}
    if not (single or kinds <= _PLAIN_ARROW - {"float"}):
        return None
    if single or ("double" in kinds and "bool" not in kinds):
        batches = table.to_batches()
        # PyArrow casts integers to the float64 beside them, as NumPy does; before version 16 it cannot.
        if len(batches) == 1 and hasattr(batches[0], "to_tensor"):
            at_once: AnyArray = batches[0].to_tensor(null_to_nan=True, row_major=False).to_numpy()
            return at_once
    matrix = np.empty((table.num_rows, table.num_columns), np.float32 if single else np.float64, order="F")
    for j, column in enumerate(table.columns):
        matrix[:, j] = (column.cast("float64") if str(column.type) == "bool" else column).to_numpy()
    return matrix


def read_polars_column(series: Any, where: str) -> Column | None:
    """A Polars series of plain numbers, truth values or text; None if it holds anything else."""
    import polars as pl

    if series.dtype == pl.String:
        return read_polars_text(series, where)
    if series.dtype == pl.Boolean:
        return Column(where, values=series.cast(pl.Float64).to_numpy(), neutral=True)
    if str(series.dtype).lower() not in _PLAIN_POLARS:
        return None
    values = series.to_numpy()
    # Small integers with nulls come as float32, without them as integers: they are the same column.
    return Column(where, values=values if series.dtype == pl.Float32 else values.astype(np.float64, copy=False))


def read_polars_matrix(frame: Any) -> AnyArray | None:
    """A Polars frame of float32 columns, or of float64 columns beside other plain numbers and truth values, at once.

    None for any other; the type of integers alone would depend on what is missing. Null becomes NaN.
    """
    kinds = {str(dtype).lower() for dtype in set(frame.dtypes)}
    plain = "float64" in kinds and kinds <= _PLAIN_POLARS - {"float32"} | {"boolean"}
    if not (plain or kinds == {"float32"}):
        return None
    matrix: AnyArray = frame.to_numpy(order="fortran")
    return matrix
