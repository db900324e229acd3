"""Tables in blocks, and targets and weights that are columns of the table: what `fit` does before data intake.

A fit that is decorated with `opens_table` takes, besides tables, a path, a list of paths or tables, a data set of
PyArrow, a lazy frame, an iterator or a callable; and the name of a column as ``y`` and ``sample_weight``.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from committee.constraints import join_phrases
from committee.data.block_mapping import enter_cluster
from committee.data.blocks.binned_file import BinnedFile
from committee.data.blocks.opened import OpenedSource, count_offsets, load_block
from committee.data.estimates import estimate_fit
from committee.data.frames import find_frame, read_block
from committee.data.memory import find_limit, show_bytes
from committee.data.sources import is_source, open_blocks
from committee.data.sources.dask_source import collect_dask
from committee.data.spilling import spill_large
from committee.exceptions import DataError, DataSizeError, DataTypeError

if TYPE_CHECKING:
    from committee.base import CommitteeEstimator
    from committee.data.sources import BlockSource

__all__ = ["open_table", "opens_table"]

_Fit = TypeVar("_Fit", bound=Callable[..., object])


def opens_table(fit: _Fit) -> _Fit:
    """Decorate a `fit`: it takes tables in blocks, and names of columns as y and sample_weight.

    Parameters
    ----------
    fit : method
        Its first arguments are the table and the target; ``sample_weight`` may follow.

    Returns
    -------
    method
        With the same signature.
    """
    signature = inspect.signature(fit)

    @functools.wraps(fit)
    def call(self: object, *args: Any, **given: Any) -> object:
        # Most calls are plain: an array or a frame, and arrays beside it.
        X = args[0] if args else given.get("X")
        y = args[1] if len(args) > 1 else given.get("y")
        weights = args[2] if len(args) > 2 else given.get("sample_weight")
        if isinstance(X, BinnedFile) and not getattr(self, "bins_columns", True):
            raise DataTypeError(f"{type(self).__name__} learns from values, and X is a file of bins.")
        if not (isinstance(y, str) or isinstance(weights, str) or isinstance(X, OpenedSource) or is_source(X)):
            return fit(self, *args, **given)
        bound = signature.bind(self, *args, **given)
        own = bound.arguments
        if (isinstance(X, OpenedSource) or is_source(X)) and not getattr(self, "accepts_blocks", True):
            raise DataTypeError(
                f"{type(self).__name__} needs the whole table in memory, and X is a table in blocks "
                f"({type(X).__name__}). Read it into a frame first. Forests, bags of trees, boosting, AdaBoost on "
                "trees and isolation forests learn from blocks."
            )
        own["X"], own["y"], own["sample_weight"] = open_table(X, own.get("y"), own.get("sample_weight"))
        if "sample_weight" not in signature.parameters:
            own.pop("sample_weight")
        opened = own["X"]
        try:
            own_source = opened.source if isinstance(opened, OpenedSource) else None
            with _prepare_memory(self, opened), enter_cluster(own_source):
                return fit(*bound.args, **bound.kwargs)
        finally:
            if isinstance(own["X"], OpenedSource) and own["X"] is not X:
                own["X"].source.close()

    return cast("_Fit", call)


def _prepare_memory(estimator: object, X: Any) -> AbstractContextManager[None]:
    """Refuse a fit that needs more memory than is stated; keep in files what does not fit."""
    if not isinstance(X, OpenedSource):
        return nullcontext()
    needs = estimate_fit(X.n_rows, X.n_features, cast("CommitteeEstimator", estimator))
    limit = find_limit()
    if limit is not None and limit.n_bytes is not None and needs.memory > limit.n_bytes:
        raise DataSizeError(
            f"{type(estimator).__name__} on {X.n_rows:,} rows and {X.n_features:,} columns needs about "
            f"{show_bytes(needs.memory)} of memory besides its files; the limit is {show_bytes(limit.n_bytes)}. "
            "Raise it, or take fewer rows."
        )
    return spill_large(needs.memory + needs.disk)


def open_table(X: Any, y: Any = None, sample_weight: Any = None) -> tuple[Any, Any, Any]:
    """The table without its target and weights, and these as arrays, where they are names of columns.

    Parameters
    ----------
    X : table or source of tables
        See :mod:`committee.data.sources`.
    y : array-like, str or None
        The target, or the name of its column.
    sample_weight : array-like, str or None
        The weights, or the name of their column.

    Returns
    -------
    tuple of X, y and sample_weight
        X is an OpenedSource if it was a source, and a frame without the named columns if it was a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> X, y, _ = open_table(pd.DataFrame({"size": [1.0, 2.0], "price": [10, 20]}), "price")
    >>> list(X.columns), list(y)
    (['size'], [10, 20])
    """
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    if isinstance(X, BinnedFile):
        own = [X.read_column(name) if isinstance(name, str) else name for name in (y, sample_weight)]
        return X, own[0], own[1]
    is_lazy = hasattr(X, "collect_schema") and hasattr(X, "sink_parquet")
    if is_source(X) or (is_lazy and (named or find_limit() is not None)):
        return _open_source(X, y, sample_weight)
    if not named:
        return X, y, sample_weight
    frame = find_frame(X) if not isinstance(X, np.ndarray | list | tuple) and not hasattr(X, "tocsc") else None
    if frame is None:
        raise DataTypeError(
            f"A target or weights by name ({named[0]!r}) need a table whose columns have names, such as a frame or a "
            f"Parquet file; X is of type {type(X).__name__}."
        )
    for name in named:
        _check_named(name, list(frame.columns))
    columns = [frame[name].to_native() if isinstance(name, str) else name for name in (y, sample_weight)]
    return frame.drop(*set(named)).to_native(), columns[0], columns[1]


def _check_named(name: str, names: Sequence[str]) -> None:
    if name not in names:
        shown = join_phrases([repr(n) for n in names[:8]] or ["none"], "and") + (", ..." if len(names) > 8 else "")
        raise DataError(f"There is no column {name!r} in X; its columns are {shown}.")


def _open_source(X: Any, y: Any, sample_weight: Any) -> tuple[OpenedSource, Any, Any]:
    limit = find_limit()
    source = open_blocks(X, _as_arrow, None if limit is None else limit.folder)
    named = [name for name in (y, sample_weight) if isinstance(name, str)]
    names, width = (source.names, 0) if source.names is not None else _look_at_first(source)
    if names is None and named:
        raise DataTypeError(
            f"A target or weights by name ({named[0]!r}) need blocks whose columns have names; those of X have none."
        )
    for name in named:
        _check_named(name, names or ())
    row_counts, taken = _take_columns(source, named)
    kept = None if names is None else tuple(name for name in names if name not in named)
    opened = OpenedSource(source, kept, width if kept is None else len(kept), count_offsets(row_counts), read_block)
    own = [taken[name] if isinstance(name, str) else collect_dask(name) for name in (y, sample_weight)]
    return opened, own[0], own[1]


def _look_at_first(source: BlockSource) -> tuple[tuple[str, ...] | None, int]:
    """Names and number of the columns, from the first block that has rows."""
    for block in range(source.n_blocks):
        table = read_block(load_block(source, block, None), None)
        if table.n_rows or block + 1 == source.n_blocks:
            return table.names, table.n_features
    raise DataError("X gives no table; a source for fit must give at least one.")


def _take_columns(source: BlockSource, named: Sequence[str]) -> tuple[list[int], dict[str, Any]]:
    """The rows of each block, and the named columns of all blocks."""
    if source.row_counts is not None and not named:
        return list(source.row_counts), {}
    counts: list[int] = []
    pieces: dict[str, list[Any]] = {name: [] for name in named}
    for block in range(source.n_blocks):
        found = load_block(source, block, list(dict.fromkeys(named)) or None)
        frame = None if isinstance(found, np.ndarray) or hasattr(found, "tocsc") else find_frame(found)
        if frame is None:
            counts.append(int(found.shape[0]) if hasattr(found, "shape") else len(found))
            continue
        counts.append(len(frame))
        for name in pieces:
            if name not in frame.columns:
                raise DataError(f"Block {block} of X ({source.name_block(block)}) has no column {name!r}.")
            if len(frame):
                pieces[name].append(frame[name].to_native())
    return counts, {name: _join_pieces(found) for name, found in pieces.items()}


def _join_pieces(pieces: list[Any]) -> Any:
    """The column of all blocks, of the type that one table would have."""
    if not pieces:
        return np.empty(0)
    if all(hasattr(piece, "iloc") for piece in pieces):
        import pandas as pd

        return pd.concat(pieces, ignore_index=True)
    arrays = [np.asarray(piece) for piece in pieces]
    if any(array.dtype.kind in "OUST" for array in arrays):
        arrays = [array.astype(object) for array in arrays]
    return np.concatenate(arrays)


def _as_arrow(table: Any) -> Any:
    """Any frame as a table of PyArrow."""
    frame = find_frame(table)
    if frame is None:
        raise DataTypeError(f"An iterator for fit must give tables; got {type(table).__name__}.")
    return frame.to_arrow()
