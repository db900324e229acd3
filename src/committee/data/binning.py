"""Calls of the engine for data: bins, sorted columns and the check for infinities.

The only module of this package that imports the compiled core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee import _core
from committee.data.block_mapping import map_blocks, map_blocks_elsewhere
from committee.data.memory import check_room_for
from committee.exceptions import DataError
from committee.typing import FloatArray, FloatMatrix, IndexArray, SparseMatrix

if TYPE_CHECKING:
    from committee.data.blocks import BlockTable
    from committee.typing import AnyArray

__all__ = [
    "MOST_BYTE_BINS",
    "all_finite_or_missing",
    "allocate_table",
    "bin_block",
    "bin_blocks",
    "bin_columns",
    "is_sound_table",
    "learn_block_bins",
    "load_bins",
    "load_block_bins",
    "make_builder",
    "sample_block",
    "save_bins",
    "select_columns",
    "set_spill_folder",
    "sort_and_bin",
    "sort_columns",
    "take_bytes",
]

MOST_BYTE_BINS = 255
"""The most bins of a column in a binned table."""

_SampleItem: TypeAlias = "tuple[int, AnyArray, FloatArray | None]"
"""A block, the rows of it that bins are learnt from, and the weights of its rows."""


#: Sparse tables of at least so many values (rows times columns), of which at most one in 16 is an entry, are kept by
#: their entries instead of as bytes; 0: all sparse tables. Fits do not depend on it.
ENTRIES_FROM = 1 << 24

#: Whether no value of a float32 or float64 table is infinite; NaN (missing) is fine. The core's own function, since
#: a wrapper would be a tenth of what a single row costs.
all_finite_or_missing = _core.all_finite_or_missing
#: The folder for large buffers that this thread makes; None for memory.
set_spill_folder = _core.set_spill_folder
#: An array in Fortran order that is still to be filled; in a file if it is large and there is a folder.
allocate_table = _core.allocate_table
#: Bins as bytes, and bins from bytes, which are checked.
save_bins, load_bins = _core.save_bins, _core.load_bins
#: A binned table that is written block by block.
make_builder = _core.BinnedBuilder
#: The order of every column of a dense table, as of `sort_columns`, and its bins without weights, as of `bin_columns`.
sort_and_bin = _core.sort_and_bin
#: Whether an array is an aligned table of float32 or float64 of that width, with rows and without infinities.
is_sound_table = _core.is_sound_table


def bin_columns(
    X: FloatMatrix | SparseMatrix,
    weights: FloatArray | None,
    n_levels: IndexArray,
    max_bins: int,
    n_jobs: int,
) -> _core.BinnedMatrix:
    """Learn the bins of every column and put the table into them.

    Parameters
    ----------
    X : ndarray or CSC matrix of shape (n_rows, n_features)
        Raw values; codes where a column is a category; NaN where missing.
    weights : ndarray of shape (n_rows,) or None
        Quantiles are weighted by these; rows of weight zero do not take part.
    n_levels : ndarray of shape (n_features,)
        The number of levels of a category, 0 for a number.
    max_bins : int
        At most 255.
    n_jobs : int
        As :func:`committee.base.resolve_jobs` gives it.
    """
    if isinstance(X, np.ndarray):
        return _core.BinMapper.fit_transform(X, weights, n_levels, max_bins, n_jobs)
    parts = (X.data, X.indices, X.indptr, X.shape)
    mapper = _core.BinMapper.fit_csc(*parts, weights, n_levels, max_bins, n_jobs)
    return mapper.transform_csc(*parts, n_jobs, ENTRIES_FROM)


def learn_block_bins(
    X: BlockTable, weights: FloatArray | None, n_levels: IndexArray, max_bins: int, n_jobs: int
) -> _core.BinMapper:
    """The bins of a table in blocks, to the bytes that the whole table gives; one pass over the blocks.

    Parameters
    ----------
    X : BlockTable
        The blocks.
    weights, n_levels, max_bins, n_jobs
        As in `bin_columns`.
    """
    rows, own_weights, complete = _core.choose_bin_sample(X.shape[0], weights)
    sample = allocate_table(len(rows), X.shape[1], X.dtype == np.float64)
    summary = None if complete else _core.TableSummary(X.dtype == np.float64, n_levels, max_bins)
    items: list[_SampleItem] = []
    places: list[tuple[int, int]] = []
    for block, start, stop in _list_blocks(X):
        low, high = (int(k) for k in np.searchsorted(rows, [start, stop]))
        own = None if weights is None or summary is None else weights[start:stop]
        items.append((block, (rows[low:high] - np.uint64(start)).astype(np.intp), own))
        places.append((low, high))
    shared = X, None if summary is None else (n_levels, max_bins), n_jobs
    for (low, high), (part, other) in zip(places, map_blocks(X, sample_block, items, shared), strict=True):
        sample[low:high] = part
        if summary is not None:
            summary.merge(other)
    if np.isnan(sample).all() and (summary is None or summary.is_all_missing):
        raise DataError("Every value of X is missing; there is nothing to learn from.")
    return _core.learn_bins(sample, own_weights, n_levels, max_bins, summary, n_jobs)


def sample_block(item: _SampleItem, shared: Any) -> tuple[AnyArray, _core.TableSummary | None]:
    """Some rows of a block, and the summary of all of its rows where one is needed."""
    (number, rows, weights), (X, summarized, n_jobs) = item, shared
    block = X.load(number)
    if summarized is None:
        return block[rows], None
    summary = _core.TableSummary(X.dtype == np.float64, *summarized)
    summary.add(block, weights, n_jobs)
    return block[rows], summary


def bin_blocks(
    X: BlockTable, weights: FloatArray | None, n_levels: IndexArray, max_bins: int, n_jobs: int
) -> _core.BinnedMatrix:
    """As `bin_columns`, for a table in blocks; two passes over the blocks."""
    mapper = learn_block_bins(X, weights, n_levels, max_bins, n_jobs)
    builder = _core.BinnedBuilder(mapper, X.shape[0])
    blocks = _list_blocks(X)
    answers = map_blocks_elsewhere(X, bin_block, [block for block, _, _ in blocks], (X, mapper, n_jobs))
    if answers is None:
        for block, start, _ in blocks:
            builder.write(X.load(block), start, n_jobs)
    else:
        for (_, start, _), (columns, codes) in zip(blocks, answers, strict=True):
            builder.write_bins(columns, start, codes)
    return builder.finish()


def bin_block(block: int, shared: Any) -> tuple[AnyArray, AnyArray]:
    """A block in bytes by column, and the codes of its wide columns."""
    X, mapper, n_jobs = shared
    return take_bytes(mapper.transform(X.load(block), n_jobs))


def take_bytes(bins: _core.BinnedMatrix) -> tuple[AnyArray, AnyArray]:
    """A binned table as it travels: a byte a value by column, and the codes of its wide columns one after another."""
    if bins.has_entries:
        return np.stack([bins.column(col) for col in range(bins.n_cols)]), np.empty(0, dtype=np.uint32)
    wide = [bins.wide_codes(col) for col in range(bins.n_cols)]
    return np.ascontiguousarray(bins.columns), np.concatenate([np.empty(0, dtype=np.uint32), *wide])


def load_block_bins(X: BlockTable, mapper: _core.BinMapper, block: int) -> _core.BinnedMatrix:
    """The binned rows of a block, for a host that keeps them."""
    return mapper.transform(X.load(block), 1)


def _list_blocks(X: BlockTable) -> list[tuple[int, int, int]]:
    """The blocks that have rows: number, first row and the row after the last."""
    offsets = X.offsets.tolist()
    return [(k, offsets[k], offsets[k + 1]) for k in range(X.n_blocks) if offsets[k] < offsets[k + 1]]


def select_columns(bins: _core.BinnedMatrix, columns: AnyArray) -> _core.BinnedMatrix:
    """Some columns of a table that is binned already, in the order given."""
    return _core.select_columns(bins, columns.astype(np.uint32))


def sort_columns(X: FloatMatrix | SparseMatrix, n_levels: IndexArray, n_jobs: int) -> _core.Presort:
    """Sort every column once, for exact splits; a sparse table is spread out for it."""
    if not isinstance(X, np.ndarray):
        check_room_for(X.shape[0], X.shape[1], X.dtype.itemsize)
        X = X.toarray(order="F")
    return _core.presort_columns(X, n_levels, n_jobs)
