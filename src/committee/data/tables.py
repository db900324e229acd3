"""From columns that have been read to the one matrix that everything below works on.

At fit the columns decide what the schema is; at prediction the schema decides what the columns must be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from committee.constraints import join_phrases, show_value
from committee.data.columns import Column, find_observed
from committee.data.dataset import Schema
from committee.data.dates import compute_part, find_parts
from committee.data.inputs import DATE_KINDS, InputColumns, describe_kind
from committee.data.text_features import compute_text_features, learn_topics, list_text_parts
from committee.exceptions import DataError, DataTypeError, ParameterError
from committee.typing import BoolArray, FloatMatrix

if TYPE_CHECKING:
    from committee.data.word_encoding import WordEncoding
    from committee.typing import AnyArray, AnyDType

__all__ = ["Table", "choose_categories", "encode_columns", "encode_table", "match_table"]

_FLOAT32 = np.dtype(np.float32)
_FLOAT64 = np.dtype(np.float64)
#: The largest number of levels whose codes float32 holds exactly.
_FLOAT32_EXACT = 1 << 24


@dataclass(frozen=True)
class Table:
    """An input that has been read but not yet encoded: exactly one of the three forms is set.

    Attributes
    ----------
    n_rows, n_features : int
        The shape.
    names : tuple of str or None
        Names of the columns, if all have one.
    matrix : ndarray of float32 or float64, or None
        All columns, if all are numbers of one type.
    sparse : CSC or CSR matrix, or None
        The same, sparse.
    columns : list of Column, or None
        Each column by itself.
    """

    n_rows: int
    n_features: int
    names: tuple[str, ...] | None = None
    matrix: FloatMatrix | None = None
    sparse: Any = None
    columns: list[Column] | None = None

    def name_column(self, index: int) -> str:
        """A column as a sentence calls it."""
        return f"column {index}" if self.names is None else f"column {self.names[index]!r}"

    def split_columns(self) -> list[Column]:
        """Each column by itself."""
        if self.columns is not None:
            return self.columns
        assert self.matrix is not None
        return [Column(self.name_column(j), values=self.matrix[:, j]) for j in range(self.n_features)]

    def select_columns(self, places: list[int]) -> Table:
        """Some of the columns, in the order given."""
        return replace(
            self,
            n_features=len(places),
            names=None if self.names is None else tuple(self.names[j] for j in places),
            matrix=None if self.matrix is None else self.matrix[:, places],
            sparse=None if self.sparse is None else self.sparse.tocsc()[:, places],
            columns=None if self.columns is None else [self.columns[j] for j in places],
        )

    def stack_numbers(self) -> Table:
        """The same with a matrix in place of its columns, if all of them are numbers; rows of it are taken at once."""
        if self.columns is None or any(c.values is None or c.kind != "number" for c in self.columns):
            return self
        dtype = _choose_dtype(self.columns, np.zeros(self.n_features, dtype=bool), ())
        matrix = _stack([column.as_numbers() for column in self.columns], self.n_rows, dtype)
        return replace(self, matrix=matrix, columns=None)

    def take_rows(self, rows: NDArray[np.intp]) -> Table:
        """Some of the rows, as if they had been read alone."""
        return replace(
            self,
            n_rows=len(rows),
            matrix=None if self.matrix is None else self.matrix[rows],
            sparse=None if self.sparse is None else self.sparse.tocsr()[rows],
            columns=None if self.columns is None else [column.take_rows(rows) for column in self.columns],
        )


def choose_categories(table: Table, requested: Any, estimator_name: str) -> BoolArray:
    """Which columns are categories, from the ``categorical_features`` parameter."""
    chosen = np.zeros(table.n_features, dtype=bool)
    if requested is None:
        return chosen
    if isinstance(requested, str) and requested == "from_dtype":
        if table.columns is not None:
            chosen[:] = [column.levels is not None for column in table.columns]
        return chosen
    wanted = np.asarray(requested, dtype=object).reshape(-1).tolist()
    subject = f"The 'categorical_features' parameter of {estimator_name}"
    if wanted and all(isinstance(w, bool | np.bool_) for w in wanted):
        if len(wanted) != table.n_features:
            raise ParameterError(
                f"categorical_features set as a boolean mask must have shape (n_features,). {subject} must have one "
                f"entry for each of the {table.n_features} features when it is a mask; got {len(wanted)}."
            )
        chosen[:] = wanted
        return chosen
    if not all(isinstance(w, str | int | np.integer) for w in wanted):
        raise _refuse_kinds(requested, wanted, subject)
    for one in wanted:
        chosen[_find_column(table, one, subject)] = True
    return chosen


def _refuse_kinds(requested: Any, wanted: list[Any], subject: str) -> ParameterError:
    """scikit-learn's sentence names the type of an array, or those of its objects; the first one is shown after it."""
    kind = np.asarray(requested).dtype
    kinds = ", ".join(sorted({type(w).__name__ for w in wanted})) if kind.kind == "O" else kind.name
    one = next(w for w in wanted if not isinstance(w, str | int | np.integer))
    return ParameterError(
        f"categorical_features must be an array-like of bool, int or str, got: {kinds}. {subject} must hold indices, "
        f"names or a mask; got {show_value(one)}."
    )


def _find_column(table: Table, wanted: Any, subject: str) -> int:
    if isinstance(wanted, str):
        if table.names is None:
            raise ParameterError(
                "categorical_features should be passed as an array of integers or as a boolean mask when the model is "
                f"fitted on data without feature names. {subject} names {wanted!r}, but X has no column names. Use "
                "indices or a mask."
            )
        if wanted not in table.names:
            shown = join_phrases([repr(n) for n in table.names[:8]], "and")
            raise ParameterError(
                f"categorical_features has an item value {wanted!r} which is not a valid feature name of the training "
                f"data. {subject} names {wanted!r}, which is no column of X; its columns are {shown}."
            )
        return table.names.index(wanted)
    if isinstance(wanted, bool):
        raise ParameterError(f"{subject} must hold either indices and names or a mask, not both.")
    if not 0 <= wanted < table.n_features:
        raise ParameterError(
            f"categorical_features set as integer indices must be in [0, n_features - 1]. {subject} must hold indices "
            f"in [0, {table.n_features - 1}]; got {wanted}."
        )
    return int(wanted)


def encode_table(
    table: Table,
    chosen: BoolArray,
    unseen: str,
    counted: BoolArray | None = None,
    texts: BoolArray | None = None,
) -> tuple[FloatMatrix, Schema]:
    """The matrix and its schema, with a code in place of every value of the chosen columns.

    A row that does not count (its weight is zero) is as good as absent, so a level that only such rows have is
    unseen and their code is missing. Columns of free text are given by `texts`, which precedes `chosen`.
    """
    none = (None,) * table.n_features
    if table.matrix is not None and not chosen.any():
        return table.matrix, Schema(table.n_features, table.names, none, table.matrix.dtype, unseen)
    arrays, schema = encode_columns(table, chosen, unseen, counted, texts)
    return _stack(arrays, table.n_rows, schema.dtype), schema


def encode_columns(
    table: Table,
    chosen: BoolArray,
    unseen: str,
    counted: BoolArray | None = None,
    texts: BoolArray | None = None,
) -> tuple[list[AnyArray], Schema]:
    """As `encode_table`, with each feature by itself; the columns may be of different lengths."""
    columns = table.split_columns()
    categories: list[AnyArray | None] = []
    arrays: list[AnyArray] = []
    parts: list[tuple[str, ...]] = []
    texts = np.zeros(len(columns), dtype=bool) if texts is None else texts
    words = [learn_topics(column, counted) if is_text else None for column, is_text in zip(columns, texts, strict=True)]
    chosen = chosen & ~texts
    for column, is_category, encoding in zip(columns, chosen.tolist(), words, strict=True):
        own = _find_column_parts(column, counted) if encoding is None else list_text_parts(encoding)
        parts.append(own)
        if encoding is not None:
            categories += [None] * len(own)
            # A column that stands for blocks is described, not stacked.
            is_whole = column.n_held is None
            arrays += compute_text_features(column, encoding) if is_whole else [np.empty(0)] * len(own)
        elif is_category:
            if column.kind != "number":
                raise _refuse_category(column)
            levels, codes = _drop_uncounted(*column.as_levels(), counted)
            categories.append(levels)
            arrays.append(_codes_as_numbers(codes, len(levels)))
        elif column.holds_text:
            raise DataTypeError(
                f"X {column.where} holds text, and 'categorical_features' does not say that it is a category. "
                "Add it there or to 'text_columns', or leave 'categorical_features' at 'from_dtype'."
            )
        else:
            categories += [None] * len(own)
            arrays += _expand(column, own)
    inputs = _record_inputs(table, columns, parts, words)
    dtype = _choose_dtype(columns, chosen, categories)
    if inputs is None:
        return arrays, Schema(table.n_features, table.names, tuple(categories), dtype, unseen)
    names = None if table.names is None else tuple(inputs.name_features("{}"))
    return arrays, Schema(len(arrays), names, tuple(categories), dtype, unseen, inputs)


def _find_column_parts(column: Column, counted: BoolArray | None) -> tuple[str, ...]:
    """The features of a column."""
    if column.kind == "number":
        return ("value",)
    if column.elements is not None:
        return tuple(map(str, range(column.elements.shape[1])))
    assert column.values is not None
    return find_parts(column.values, counted) if column.kind in DATE_KINDS else ("seconds",)


def _expand(column: Column, parts: tuple[str, ...]) -> list[AnyArray]:
    """The features of a column that holds no category."""
    if column.elements is not None:
        return list(column.elements.T)
    if column.kind not in DATE_KINDS:
        return [column.as_numbers()]
    assert column.values is not None
    return [compute_part(column.values, part) for part in parts]


def _record_inputs(
    table: Table, columns: list[Column], parts: list[tuple[str, ...]], words: list[WordEncoding | None]
) -> InputColumns | None:
    kinds = tuple(column.kind if own is None else "text" for column, own in zip(columns, words, strict=True))
    if all(kind == "number" for kind in kinds):
        return None
    return InputColumns(table.names, kinds, tuple(parts), tuple(words) if "text" in kinds else None)


def _refuse_category(column: Column) -> ParameterError:
    return ParameterError(
        f"X {column.where} holds {column.describe()}, which cannot be a category, but 'categorical_features' says so. "
        "Leave it out there, or turn it into text."
    )


def _drop_uncounted(
    levels: AnyArray, codes: NDArray[np.int64], counted: BoolArray | None
) -> tuple[AnyArray, NDArray[np.int64]]:
    if counted is None or counted.all():
        return levels, codes
    kept = find_observed(codes[counted], len(levels))
    renumber = np.full(len(levels) + 1, -1, dtype=np.int64)
    renumber[kept] = np.arange(len(kept))
    return levels[kept], renumber[codes]


def match_table(table: Table, schema: Schema) -> FloatMatrix:
    """The matrix for prediction: every column as the schema wants it."""
    as_fitted = not schema.has_categories or (table.matrix is not None and _holds_codes(table.matrix, schema))
    if table.matrix is not None and schema.inputs is None and as_fitted:
        return table.matrix
    columns = table.split_columns()
    arrays: list[AnyArray] = []
    for j, column in enumerate(columns):
        kind, parts = ("number", ("value",)) if schema.inputs is None else schema.inputs.of_column(j)
        levels = schema.categories[len(arrays)]
        if schema.inputs is not None and kind == "text" and (column.holds_text or column.is_missing):
            arrays += compute_text_features(column, schema.inputs.words_of(j))
        elif levels is not None and column.kind == "number":
            arrays.append(_match_levels(column, levels, schema.unseen))
        elif column.kind == kind and not column.holds_text and _fits(column, parts):
            arrays += _expand(column, parts)
        elif column.is_missing:
            arrays += [np.full(table.n_rows, np.nan)] * len(parts)
        else:
            then = "categories" if levels is not None else describe_kind(kind, len(parts))
            raise DataTypeError(f"X {schema.name_input(j)} held {then} at fit and holds {column.describe()} now.")
    return _stack(arrays, table.n_rows, _choose_dtype(columns, schema.are_categories, schema.categories))


def _holds_codes(matrix: FloatMatrix, schema: Schema) -> bool:
    """Whether a table of numbers is as an ensemble's members are fitted on it, so that no column needs a look alone."""
    counts = schema.code_counts
    if counts is None or schema.inputs is not None or schema.unseen != "missing":
        return False
    codes = matrix[:, schema.are_categories]
    known = (codes >= 0.0) & (codes < counts) & (np.floor(codes) == codes)
    return bool((known | np.isnan(codes)).all())


def _fits(column: Column, parts: tuple[str, ...]) -> bool:
    return column.elements is None or column.elements.shape[1] == len(parts)


def _match_levels(column: Column, levels: AnyArray, unseen: str) -> FloatMatrix:
    if column.values is not None and unseen == "missing" and _are_codes(levels):
        # As in ensembles, whose members are fitted on codes: a number is its own code, or none.
        numbers = column.values.astype(np.float64) + 0.0
        numbers[~((numbers >= 0.0) & (numbers < len(levels)) & (np.floor(numbers) == numbers))] = np.nan
        return numbers
    found, codes = column.as_levels()
    # A column that is missing throughout has no levels and so no kind.
    if len(found) and len(levels) and (found.dtype == object) != (levels.dtype == object):
        then, now = ("text", "numbers") if levels.dtype == object else ("numbers", "text")
        raise DataTypeError(f"X {column.where} held categories that are {then} at fit and holds {now} now.")
    index = {level: code for code, level in enumerate(levels.tolist())}
    known = [index.get(level, -1) for level in found.tolist()]
    if unseen == "error" and -1 in known:
        stranger = found.tolist()[known.index(-1)]
        raise DataError(
            f"X {column.where} holds the category {stranger!r}, which did not occur in training. "
            "With unseen='missing' it would count as a missing value."
        )
    renumber = np.array([*known, -1], dtype=np.int64)
    return _codes_as_numbers(renumber[codes], len(levels))


def _are_codes(levels: AnyArray) -> bool:
    return levels.dtype != object and np.array_equal(levels, np.arange(len(levels)))


def _codes_as_numbers(codes: NDArray[np.int64], n_levels: int) -> FloatMatrix:
    """Codes with NaN for missing ones, in four bytes where these hold them: all columns wait to be stacked."""
    is_exact = n_levels <= _FLOAT32_EXACT
    numbers: FloatMatrix = codes.astype(np.float32) if is_exact else codes.astype(np.float64)
    numbers[codes < 0] = np.nan
    return numbers


def _choose_dtype(columns: list[Column], chosen: BoolArray, categories: Any) -> AnyDType:
    if any(levels is not None and len(levels) > _FLOAT32_EXACT for levels in categories):
        return _FLOAT64
    found_float32 = False
    for column, is_category in zip(columns, chosen.tolist(), strict=True):
        held = column.values if column.elements is None else column.elements
        if is_category:
            continue
        if held is not None and held.dtype == _FLOAT32:
            found_float32 = True
        elif not column.neutral:
            return _FLOAT64
    return _FLOAT32 if found_float32 else _FLOAT64


def _stack(arrays: list[AnyArray], n_rows: int, dtype: AnyDType) -> FloatMatrix:
    matrix = np.empty((n_rows, len(arrays)), dtype=dtype, order="F")
    for j, array in enumerate(arrays):
        matrix[:, j] = array
    return matrix
