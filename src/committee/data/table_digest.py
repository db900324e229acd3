"""Digests of tables, targets and weights: of their values, whatever holds them.

A column of numbers is a list of float64 values, with one zero and one NaN, in the order of the rows. Its zeros are
given by where they begin and end, so that a sparse column costs what its entries cost and has the digest of the dense
one. A text counts by the digest of its characters. Rows may come in any blocks. Rows of weight zero are left out: they
are absent from the fit as well.
"""

from __future__ import annotations

import hashlib
import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.blocks import BinnedFile, OpenedSource
from committee.data.columns import Column, read_objects
from committee.data.frames import read_frame
from committee.data.rows import collect_table
from committee.data.targets import read_target
from committee.data.weights import read_sample_weight
from committee.exceptions import CommitteeError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.data.tables import Table
    from committee.typing import AnyArray, BoolArray, FloatArray, SparseMatrix

__all__ = ["ColumnDigest", "TableDigest", "digest_table", "digest_target", "digest_weights", "find_counted"]

#: 2 MB, which stay in the cache of a core.
_VALUES_AT_A_TIME = 1 << 18
_TEXT_BYTES = 16


@dataclass(frozen=True)
class TableDigest:
    """The digest of a table.

    Attributes
    ----------
    n_rows : int
        Rows that count.
    names : tuple of str or None
        Names of the columns, if they have names. They are not part of the digests.
    columns : tuple of str
        The digest of each column, in hexadecimal.
    """

    n_rows: int
    names: tuple[str, ...] | None
    columns: tuple[str, ...]

    @property
    def whole(self) -> str:
        """One digest of all columns in their order."""
        return hashlib.sha256(",".join([str(self.n_rows), *self.columns]).encode("ascii")).hexdigest()


class ColumnDigest:
    """The digest of one column, whose rows come in blocks."""

    def __init__(self) -> None:
        self._kind = ""
        self._n_rows = 0
        self._n_unknown = 0  # rows that were missing before anything else was seen, which could be of any kind
        self._in_zeros = True
        self._values = hashlib.sha256()
        self._changes = hashlib.sha256()

    @property
    def is_empty(self) -> bool:
        """Whether no row was added yet."""
        return self._n_rows == 0 and self._n_unknown == 0

    def add_numbers(self, values: FloatArray) -> None:
        """Float64 values with one zero and one NaN (`_make_plain`)."""
        if not len(values):
            return
        held = values != 0.0
        if held.all():
            # Most columns hold no zero: nothing is to be looked for.
            if self._in_zeros:
                self._changes.update(struct.pack("<q", self._n_rows))
            self._in_zeros = False
        else:
            before = np.empty_like(held)
            before[0], before[1:] = not self._in_zeros, held[:-1]
            changes = np.flatnonzero(held != before) + self._n_rows
            self._changes.update(changes.astype("<i8").tobytes())
            self._in_zeros = not held[-1]
            values = values[held]
        self._values.update(np.ascontiguousarray(values, dtype="<f8").data)
        self._n_rows += len(held)

    def add_entries(self, rows: AnyArray, values: FloatArray, n_rows: int) -> None:
        """Rows that hold the values, ascending; all others hold zero. A column of which nothing was added yet."""
        held = values != 0.0
        rows, values = rows[held].astype(np.int64), values[held]
        if len(rows):
            apart = np.flatnonzero(np.diff(rows) != 1)
            first = np.concatenate([rows[:1], rows[apart + 1]])
            last = np.concatenate([rows[apart], rows[-1:]]) + 1
            changes = np.stack([first, last], axis=1).reshape(-1)
            changes = changes[changes < n_rows]
            self._changes.update(changes.astype("<i8").tobytes())
            self._values.update(values.astype("<f8").tobytes())
        self._n_rows += n_rows

    def add_known(self, values: FloatArray) -> None:
        """Plain numbers of a block, of which the first is not missing."""
        if self._kind == "":
            self._kind = "number"
            self._add_missing(self._n_unknown)
        self.add_numbers(values)

    def add(self, column: Column) -> None:
        """The rows of a block."""
        kind = _find_kind(column)
        if self._kind == "" and column.is_missing:
            self._n_unknown += len(_list_rows(column))
            return
        if self._kind == "":
            self._kind = kind
            self._add_missing(self._n_unknown)
        if column.is_missing:
            self._add_missing(len(_list_rows(column)))
        elif self._kind == "text" and column.levels is not None and column.codes is not None:
            marks = np.zeros((len(column.levels) + 1, _TEXT_BYTES), dtype=np.uint8)
            for place, level in enumerate(column.levels.tolist()):
                mark = hashlib.sha256(str(level).encode("utf-8", "surrogatepass")).digest()[:_TEXT_BYTES]
                marks[place] = np.frombuffer(mark, np.uint8)
            self._values.update(marks[column.codes].tobytes())
            self._n_rows += len(column.codes)
        elif column.elements is not None:
            self._values.update(_make_plain(np.ascontiguousarray(column.elements)).tobytes())
            self._n_rows += len(column.elements)
        else:
            self.add_numbers(_make_plain(column.as_numbers()))

    def _add_missing(self, n_rows: int) -> None:
        if self._kind == "text":
            self._values.update(bytes(_TEXT_BYTES * n_rows))
            self._n_rows += n_rows
        else:
            self.add_numbers(np.full(n_rows, np.nan))

    def finish(self) -> str:
        """The digest, in hexadecimal."""
        if self._kind == "" and self._n_unknown:
            self._add_missing(self._n_unknown)
        whole = hashlib.sha256(f"{self._kind or 'number'} {self._n_rows} ".encode("ascii"))
        whole.update(self._values.digest() + self._changes.digest())
        return whole.hexdigest()


def _find_kind(column: Column) -> str:
    if column.levels is None:
        width = "" if column.elements is None else str(column.elements.shape[1])
        return column.kind + width
    return "text" if column.holds_text else "category"


def _list_rows(column: Column) -> AnyArray:
    for held in (column.codes, column.values, column.elements):
        if held is not None:
            return held
    raise AssertionError("a column holds codes, values or lists")


def _make_plain(values: AnyArray) -> FloatArray:
    """Float64, with one zero and one NaN."""
    plain: FloatArray = np.add(values, 0.0, dtype=np.float64)  # -0.0 becomes 0.0
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = math.isfinite(np.dot(plain.ravel(), plain.ravel()))
    if not is_finite:
        plain[np.isnan(plain)] = np.nan
    return plain


def digest_table(X: Any, counted: BoolArray | None = None) -> TableDigest:
    """The digest of a table of any kind that `fit` takes.

    Parameters
    ----------
    X : array, nested lists, sparse matrix, frame, OpenedSource or list of documents
        The table; of a source in blocks what `opening.open_table` made of it.
    counted : ndarray of bool of shape (n_rows,), optional
        Rows that count; by default all.

    Returns
    -------
    TableDigest

    Examples
    --------
    >>> from scipy.sparse import csr_matrix
    >>> table = np.array([[0.0, 1.5], [2.0, 0.0]])
    >>> digest_table(table) == digest_table(csr_matrix(table)) == digest_table([[0, 1.5], [2, 0]])
    True
    """
    if isinstance(X, BinnedFile):
        raise DataTypeError("X is a file of bins, which does not hold the values of the table; pass the table.")
    if isinstance(X, OpenedSource):
        return _digest_blocks(X, counted)
    X = collect_table(X)
    documents = _find_documents(X)
    if documents is not None:
        kept = documents if counted is None else [one for one, counts in zip(documents, counted, strict=True) if counts]
        digest = ColumnDigest()
        digest.add(read_objects(kept, "column 0"))
        return TableDigest(len(kept), None, (digest.finish(),))
    table = read_frame(X)
    if counted is not None and not counted.all():
        table = table.take_rows(np.flatnonzero(counted))
    digests = [ColumnDigest() for _ in range(table.n_features)]
    _add_table(digests, table)
    return TableDigest(table.n_rows, table.names, tuple(one.finish() for one in digests))


def _find_documents(X: Any) -> list[Any] | None:
    """Texts without columns: a list, an array or a series of them."""
    if hasattr(X, "columns") or hasattr(X, "column_names") or hasattr(X, "tocsc"):
        return None
    if isinstance(X, list | tuple):
        return list(X) if len(X) and isinstance(X[0], str) else None
    shape = getattr(X, "shape", ())
    if len(shape) == 1 or (not shape and hasattr(X, "to_pylist")):
        items = X.to_pylist() if hasattr(X, "to_pylist") else X.tolist() if hasattr(X, "tolist") else list(X)
        return items if items and isinstance(items[0], str) else None
    return None


def _digest_blocks(X: OpenedSource, counted: BoolArray | None) -> TableDigest:
    digests = [ColumnDigest() for _ in range(X.n_features)]
    n_rows = 0
    for _, place, table in X.iterate_tables():
        if counted is not None and not counted[place].all():
            table = table.take_rows(np.flatnonzero(counted[place]))
        _add_table(digests, table)
        n_rows += table.n_rows
    return TableDigest(n_rows, X.names, tuple(one.finish() for one in digests))


def _add_table(digests: Sequence[ColumnDigest], table: Table) -> None:
    if table.sparse is not None:
        _add_sparse(digests, table.sparse)
    elif table.matrix is not None:
        step = max(1, _VALUES_AT_A_TIME // table.n_features)
        for start in range(0, table.n_rows, step):
            block = np.ascontiguousarray(table.matrix[start : start + step].T, dtype=np.float64)
            for digest, values in zip(digests, block, strict=True):
                if math.isnan(values[0]):
                    digest.add(Column("", values=values))
                else:
                    digest.add_known(_make_plain(values))
    else:
        for digest, column in zip(digests, table.columns or [], strict=True):
            digest.add(column)


def _add_sparse(digests: Sequence[ColumnDigest], matrix: SparseMatrix) -> None:
    columns = matrix.tocsc()
    if not columns.has_canonical_format:
        columns = columns.copy()
        columns.sum_duplicates()
    for j, digest in enumerate(digests):
        place = slice(int(columns.indptr[j]), int(columns.indptr[j + 1]))
        values = _make_plain(columns.data[place])
        if len(values) == matrix.shape[0] or not digest.is_empty:
            whole = np.zeros(matrix.shape[0])
            whole[columns.indices[place]] = values
            digest.add(Column("", values=whole))
        else:
            digest.add_entries(columns.indices[place], values, matrix.shape[0])


def digest_target(y: Any, n_rows: int, counted: BoolArray | None = None) -> str | None:
    """The digest of a target, or of groups; None if there is none.

    Parameters
    ----------
    y : array-like of shape (n_rows,) or (n_rows, n_outputs), or None
        Classes or values.
    n_rows : int
        Rows of the table.
    counted : ndarray of bool of shape (n_rows,), optional
        Rows that count; by default all.

    Returns
    -------
    str or None

    Examples
    --------
    >>> digest_target([0, 1, 1], 3) == digest_target(np.array([0.0, 1.0, 1.0]), 3)
    True
    """
    if y is None:
        return None
    array = read_target(y, n_rows, "A certificate", multi_output=True)
    array = array if counted is None else array[counted]
    outputs = [array] if array.ndim == 1 else list(array.T)
    parts = []
    for output in outputs:
        digest = ColumnDigest()
        digest.add(_read_output(output))
        parts.append(digest.finish())
    return hashlib.sha256(",".join([str(array.ndim), *parts]).encode("ascii")).hexdigest()


def _read_output(output: AnyArray) -> Column:
    if output.dtype.kind in "biuf":
        return Column("y", values=output.astype(np.float64))
    try:
        return read_objects(output.tolist(), "y")
    except CommitteeError:  # labels that no column of a table could hold
        return read_objects([repr(label) for label in output.tolist()], "y")


def find_counted(sample_weight: ArrayLike | None, n_rows: int) -> BoolArray | None:
    """Which rows have a weight; None if all have."""
    if sample_weight is None:
        return None
    counted: BoolArray = read_sample_weight(sample_weight, n_rows) > 0
    return None if counted.all() else counted


def digest_weights(sample_weight: ArrayLike | None, n_rows: int) -> str | None:
    """The digest of the weights that are not zero; None if they are equal, which is the same as none.

    Examples
    --------
    >>> digest_weights([2.0, 2.0, 0.0], 3) is None
    True
    """
    if sample_weight is None:
        return None
    weights = read_sample_weight(sample_weight, n_rows)
    weights = weights[weights > 0]
    if not len(weights) or (weights == weights[0]).all():
        return None
    digest = ColumnDigest()
    digest.add_numbers(_make_plain(weights))
    return digest.finish()
