"""Which inputs of `fit` are tables in blocks, and the source that reads each kind."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.sources.dask_source import DaskSource, is_dask
from committee.data.sources.parquet import FILE_ENDINGS, DatasetSource, FileSource, list_files, refuse_without_arrow
from committee.data.sources.ray_source import RaySource, is_ray
from committee.data.sources.tables import (
    IterableSource,
    SequenceSource,
    SpilledSource,
    make_spill_folder,
    spill_tables,
)
from committee.exceptions import DataTypeError

if TYPE_CHECKING:
    from committee.data.sources.protocol import BlockSource

__all__ = ["is_source", "open_blocks"]

_METHODS = ("n_blocks", "load", "name_block", "find_plain_kind", "find_version")


def is_source(X: Any) -> bool:
    """Whether X is a table in blocks, and no table or list of rows.

    Examples
    --------
    >>> is_source("sales.parquet"), is_source([np.zeros((2, 2)), np.zeros((1, 2))]), is_source([[1.0], [2.0]])
    (True, True, False)
    """
    if isinstance(X, np.ndarray):
        return False
    if is_dask(X) or is_ray(X):
        return True
    if isinstance(X, str):
        return X.lower().endswith(FILE_ENDINGS) or os.path.isdir(X)
    if isinstance(X, PathLike) or all(hasattr(X, name) for name in _METHODS):
        return True
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(item, PathLike) or _is_file_name(item) or _is_table(item) for item in X)
    if isinstance(X, bytes | dict | set | frozenset | range) or hasattr(X, "__array__") or hasattr(X, "shape"):
        return False
    if hasattr(X, "get_fragments") and hasattr(X, "schema"):
        return True
    if hasattr(X, "__arrow_c_stream__") or hasattr(X, "collect_schema") or hasattr(X, "__dataframe__"):
        return False
    return not isinstance(X, type) and (callable(X) or hasattr(X, "__iter__")) and not hasattr(X, "fit")


def _is_file_name(item: Any) -> bool:
    return isinstance(item, str) and item.lower().endswith(FILE_ENDINGS)


def _is_table(item: Any) -> bool:
    """Whether an item of a list is a table; a row of numbers is none."""
    return len(getattr(item, "shape", ())) == 2


def open_blocks(X: Any, as_arrow: Callable[[Any], Any], folder: str | None = None) -> BlockSource:
    """The source that reads X.

    Parameters
    ----------
    X : path, list of paths or tables, Dask or Ray collection, Arrow dataset, LazyFrame, iterable, callable or source
        For which `is_source` is true, or a lazy frame.
    as_arrow : callable
        Makes a table of PyArrow of any frame, for tables that come only once.
    folder : str, optional
        Where temporary files are written.

    Returns
    -------
    BlockSource

    Examples
    --------
    >>> open_blocks([np.zeros((2, 2)), np.zeros((1, 2))], lambda table: table).n_blocks
    2
    """
    if all(hasattr(X, name) for name in _METHODS):
        source: BlockSource = X
        return source
    if is_dask(X):
        return DaskSource(X)
    if is_ray(X):
        return RaySource(X)
    try:
        if isinstance(X, str | PathLike):
            return FileSource(list_files(Path(X)))
        if isinstance(X, list | tuple):
            if all(isinstance(item, str | PathLike) for item in X):
                return FileSource([file for item in X for file in list_files(Path(item))])
            return SequenceSource(X)
        if hasattr(X, "get_fragments"):
            return DatasetSource(X)
        if hasattr(X, "collect_schema"):
            return _spill_lazy(X, folder)
        if isinstance(X, Iterator):
            return spill_tables(X, as_arrow, folder)
    except ImportError:
        raise refuse_without_arrow(f"X ({type(X).__name__})") from None
    if callable(X):
        return IterableSource(X)
    if hasattr(X, "__iter__"):
        return IterableSource(X.__iter__)
    raise DataTypeError(f"X must be a table or a source of tables; got {show_value(X)}.")


def _spill_lazy(X: Any, folder: str | None) -> BlockSource:
    """The result of a lazy frame of Polars, computed in a stream and written to a temporary file."""
    held = make_spill_folder(folder)
    try:
        path = str(Path(held.name) / "0.parquet")
        X.sink_parquet(path, compression="zstd", maintain_order=True)
        return SpilledSource(held, [path], has_names=True)
    except BaseException:
        held.cleanup()
        raise
