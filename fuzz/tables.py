"""Tables of every kind: arrays of all types and layouts, sparse matrices, and what is no table at all."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from fuzz.draws import EXTREMES, Draw
from fuzz.frames import make_frame

__all__ = ["draw_size", "draw_table", "draw_values"]

DTYPES = ("?", "b", "h", "i", "q", "B", "H", "I", "Q", "e", "f", "d", "g", "F", "D", "S3", "U3", "O", "M8[s]", "m8[ns]")
FORMATS = ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
_FOLDER = tempfile.TemporaryDirectory(prefix="fuzz-tables-")


def draw_size(draw: Draw) -> tuple[int, int]:
    """Rows and columns: none, one, two, some, and now and then many."""
    rows = draw.pick_name({"0": 3, "1": 4, "2": 5, "some": 50, "more": 34, "many": 4})
    cols = draw.pick_name({"0": 2, "1": 14, "2": 18, "some": 60, "wide": 5, "very wide": 1})
    sizes = {"some": (3, 13), "more": (13, 60), "many": (60, 700)}
    widths = {"some": (3, 7), "wide": (7, 60), "very wide": (60, 1500)}
    n_rows = int(rows) if rows.isdigit() else draw.random.randrange(*sizes[rows])
    n_cols = int(cols) if cols.isdigit() else draw.random.randrange(*widths[cols])
    return min(n_rows, 20) if n_cols > 60 else n_rows, n_cols


def draw_values(draw: Draw, n_rows: int, n_cols: int) -> Any:
    """Doubles: mostly ordinary, else with ties, gaps, constants and extremes."""
    rng = draw.numbers
    kind = draw.pick_name(
        {"normal": 40, "whole": 25, "gaps": 12, "constant": 4, "extreme": 8, "scaled": 6, "infinite": 5}
    )
    draw.note("values", kind)
    X = rng.normal(size=(n_rows, n_cols))
    if kind == "whole":
        X = rng.integers(-2, 4, size=X.shape).astype(float)
    elif kind == "gaps":
        X[rng.random(X.shape) < draw.pick((0.1, 0.5, 0.95, 1.0))] = np.nan
    elif kind == "constant":
        X[:] = draw.pick(EXTREMES)
    elif kind == "extreme":
        X = rng.choice(np.array([v for v in EXTREMES if not np.isinf(v)]), size=X.shape)
    elif kind == "scaled":
        X *= 10.0 ** rng.integers(-300, 300, size=n_cols)
    elif kind == "infinite" and X.size:
        X.flat[rng.integers(X.size)] = draw.pick((np.inf, -np.inf))
    return X


def draw_table(draw: Draw, n_rows: int, n_cols: int, kind: str | None = None) -> Any:
    """A table of that size, or nearly; by no means always a valid one."""
    kind = kind or draw.pick_name({"plain": 38, "array": 22, "sparse": 12, "frame": 24, "junk": 4})
    draw.note("table", f"{kind} of {n_rows} rows and {n_cols} columns")
    X = draw_values(draw, n_rows, n_cols)
    makers: dict[str, Callable[[Draw, Any], Any]] = {
        "plain": lambda _, X: X,
        "array": _make_array,
        "sparse": _make_sparse,
        "frame": make_frame,
        "junk": _make_junk,
    }
    return makers[kind](draw, X)


# --- arrays ------------------------------------------------------------------------------------------------------


def _make_array(draw: Draw, X: Any) -> Any:
    if draw.chance(0.6):
        X = _cast(draw, X, draw.pick(DTYPES))
    layout = draw.pick(
        ("C", "F", "strided", "reversed", "read-only", "swapped", "mapped", "masked", "list", "transposed")
    )
    draw.note("layout", layout)
    return _lay_out(draw, X, layout)


def _cast(draw: Draw, X: Any, code: str) -> Any:
    draw.note("dtype", code)
    if code == "O":
        X = X.astype(object)
        if X.size:
            X.flat[draw.numbers.integers(X.size)] = draw.pick(
                (None, "text", 10**30, b"x", True, [1], {}, 1j, np.nan, "")
            )
        return X
    if code in ("S3", "U3"):
        return np.round(X).astype(code)
    with np.errstate(all="ignore"):
        if np.dtype(code).kind in "biuMm":
            X = np.nan_to_num(X, posinf=0, neginf=0)
        cast = X.astype(code)
    if np.dtype(code).kind in "iu" and cast.size and draw.chance(0.4):
        limits = np.iinfo(code)
        cast.flat[draw.numbers.integers(cast.size)] = draw.pick((limits.min, limits.max, min(limits.max, 2**53 + 1)))
    return cast


def _lay_out(draw: Draw, X: Any, layout: str) -> Any:
    if layout == "F":
        return np.asfortranarray(X)
    if layout == "strided":
        return np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
    if layout == "reversed":
        return X[::-1, ::-1].copy()[::-1, ::-1]
    if layout == "transposed":
        return X.T.copy().T
    if layout == "read-only":
        X = X.copy()
        X.flags.writeable = False
    elif layout == "swapped":
        return X.astype(X.dtype.newbyteorder(">"))
    elif layout == "mapped" and X.size and X.dtype != object:
        path = Path(_FOLDER.name, "mapped")
        np.asarray(X).tofile(path)
        return np.memmap(path, dtype=X.dtype, mode="r", shape=X.shape)
    elif layout == "masked":
        return np.ma.masked_array(X, mask=draw.numbers.random(X.shape) < draw.pick((0.0, 0.3)))
    elif layout == "list":
        return X.tolist()
    return X


# --- sparse matrices ---------------------------------------------------------------------------------------------


def _make_sparse(draw: Draw, X: Any) -> Any:
    X = np.where(draw.numbers.random(X.shape) < 0.5, 0.0, X)
    form = draw.pick(FORMATS)
    matrix = (sp.coo_array if draw.chance(0.5) else sp.coo_matrix)(X)
    if draw.chance(0.2):
        with np.errstate(all="ignore"):
            matrix = matrix.astype(draw.pick(("f", "i", "?", "D", "q", "B")))
    draw.note("sparse", f"{form} of {matrix.dtype}")
    matrix = matrix.asformat(form)
    if form in ("csr", "csc", "bsr") and draw.chance(0.5):
        damage = draw.pick((_unsort, _duplicate, _misplace, _misstep, _shorten, _widen, _leave_zeros))
        draw.note("damage", damage.__name__)
        damage(draw, matrix)
    elif form == "coo" and matrix.nnz and draw.chance(0.3):
        place = matrix.coords[0] if hasattr(matrix, "coords") else matrix.row
        place[draw.numbers.integers(matrix.nnz)] = draw.pick((-1, matrix.shape[0], 2**30))
    return matrix


def _unsort(draw: Draw, matrix: Any) -> None:
    for first, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        order = draw.numbers.permutation(end - first) + first
        matrix.indices[first:end], matrix.data[first:end] = matrix.indices[order], matrix.data[order]
    matrix.has_sorted_indices = draw.chance(0.2)  # which may be a lie


def _duplicate(draw: Draw, matrix: Any) -> None:
    for first, end in zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True):
        if end - first > 1:
            matrix.indices[first + 1] = matrix.indices[first]


def _misplace(draw: Draw, matrix: Any) -> None:
    if matrix.indices.size:
        wrong = draw.pick((-1, -(2**31), 2**31 - 1, 2**30, 77, matrix.shape[1], matrix.shape[0]))
        matrix.indices[draw.numbers.integers(matrix.indices.size)] = wrong


def _misstep(draw: Draw, matrix: Any) -> None:
    matrix.indptr[draw.numbers.integers(matrix.indptr.size)] = draw.pick((-1, 10**6, 2**31 - 1, 0, 3))


def _shorten(draw: Draw, matrix: Any) -> None:
    matrix.indices = matrix.indices[: len(matrix.indices) // 2]


def _widen(draw: Draw, matrix: Any) -> None:
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    if matrix.indices.size and draw.chance(0.5):
        matrix.indices[-1] = draw.pick((2**32, 2**62, -(2**40)))


def _leave_zeros(draw: Draw, matrix: Any) -> None:
    matrix.data[::2] = 0


# --- what is no table --------------------------------------------------------------------------------------------


def _make_junk(draw: Draw, X: Any) -> Any:
    which = draw.random.randrange(14)
    draw.note("junk", which)
    if which == 0:
        return None
    if which == 1:
        return X.ravel()
    if which == 2:
        return X[None]
    if which == 3:
        return [[1.0, 2.0], [3.0]] * max(1, len(X) // 2)
    if which == 4:
        return draw.pick(("text", b"bytes", 3, 1.5, True, object(), print, int, range(5), np.float64(2), {1, 2}))
    if which == 5:
        return {"a": list(X[:, 0]) if X.shape[1] else []}
    if which == 6:
        return (row for row in X)
    if which == 7:
        return [["a"] * X.shape[1]] * len(X)
    if which == 8:
        return np.zeros((len(X), X.shape[1]), dtype=[("a", "f8"), ("b", "i4")])
    if which == 9:
        return np.array(3.0)
    if which == 10:
        return np.broadcast_to(np.float64(1.0), (len(X), max(1, X.shape[1])))
    if which == 11:
        return [object() for _ in range(len(X))]
    if which == 12:
        return np.asmatrix(X)
    return [[None] * X.shape[1]] * len(X)
