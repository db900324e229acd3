"""Bins of single features that are finer than the bytes of a binned table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from committee.data.binning import MOST_BYTE_BINS
from committee.data.block_mapping import map_blocks
from committee.ensembles.additive.tables import FeatureCells, group_cells

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.data.blocks import BlockTable
    from committee.typing import AnyArray, FloatArray

__all__ = ["make_block_cells", "make_fine_cells", "place_thresholds", "read_column"]

# Thresholds of larger tables are those of so many rows.
_SAMPLED_ROWS = 200_000


def read_column(X: Any, feature: int) -> FloatArray | None:
    """The values of a column; None for tables that are only known by bins.

    Parameters
    ----------
    X : ndarray, CSC matrix or other table
        The encoded table.
    feature : int
        A column of it.
    """
    if isinstance(X, np.ndarray):
        return X[:, feature].astype(np.float64)
    if sp.issparse(X):
        column: FloatArray = X[:, [feature]].toarray().ravel().astype(np.float64)
        return column
    return None


def make_fine_cells(values: FloatArray, counts: FloatArray | None, max_bins: int) -> FeatureCells | None:
    """Bins of about equal weight, one for each distinct value where these suffice; None if bytes are as fine.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        A column of numbers; NaN where missing.
    counts : ndarray of shape (n_rows,) or None
        As how many rows each row counts.
    max_bins : int
        The most bins.

    Examples
    --------
    >>> make_fine_cells(np.arange(1000.0), None, 500).n_bins
    500
    """
    rows = _sample_rows(~np.isnan(values))
    thresholds = _find_thresholds(values[rows], None if counts is None else counts[rows], max_bins)
    return None if thresholds is None else _count_cells(_find_codes(values, thresholds), thresholds, counts)


def make_block_cells(
    X: BlockTable, columns: Sequence[FeatureCells], features: Sequence[int], counts: FloatArray | None, max_bins: int
) -> dict[int, FeatureCells]:
    """The same bins for columns of a table in blocks, by feature; those for which bytes are as fine are left out.

    Parameters
    ----------
    X : BlockTable
        Is read twice.
    columns : sequence of FeatureCells
        The bins of all features as bytes, which know the missing values.
    features : sequence of int
        Columns of numbers.
    counts, max_bins
        As in `make_fine_cells`.
    """
    rows = {feature: _sample_rows(columns[feature].codes < columns[feature].n_bins) for feature in features}
    offsets = X.offsets
    wanted = []
    for block in range(X.n_blocks):
        ends = {feature: np.searchsorted(own, offsets[block : block + 2]) for feature, own in rows.items()}
        wanted.append((block, {f: rows[f][low:high] - offsets[block] for f, (low, high) in ends.items()}))
    sampled = list(map_blocks(X, _take_values, wanted, X))
    thresholds: dict[int, FloatArray] = {}
    for feature, own in rows.items():
        values = np.concatenate([part[feature] for part in sampled])
        found = _find_thresholds(values, None if counts is None else counts[own], max_bins)
        if found is not None:
            thresholds[feature] = found
    del sampled
    coded = list(map_blocks(X, _code_block, list(range(X.n_blocks)), (X, thresholds))) if thresholds else []
    return {
        feature: _count_cells(np.concatenate([part[feature] for part in coded]), own, counts)
        for feature, own in thresholds.items()
    }


def _take_values(item: tuple[int, dict[int, AnyArray]], X: BlockTable) -> dict[int, FloatArray]:
    """Values of some rows of a block, by feature."""
    block, rows = item
    table = X.load(block)
    return {feature: table[own, feature].astype(np.float64) for feature, own in rows.items()}


def _code_block(block: int, shared: tuple[BlockTable, dict[int, FloatArray]]) -> dict[int, AnyArray]:
    """Bins of the rows of a block, by feature."""
    X, thresholds = shared
    table = X.load(block)
    return {feature: _find_codes(table[:, feature].astype(np.float64), own) for feature, own in thresholds.items()}


def _sample_rows(present: AnyArray) -> AnyArray:
    """Numbers of the rows that have a value, ascending; a sample of them if there are many."""
    rows = np.flatnonzero(present)
    if len(rows) <= _SAMPLED_ROWS:
        return rows
    return rows[np.sort(np.random.default_rng(len(rows)).choice(len(rows), _SAMPLED_ROWS, replace=False))]


def _find_thresholds(values: FloatArray, counts: FloatArray | None, max_bins: int) -> FloatArray | None:
    """Thresholds between bins of about equal weight; None if bytes can number all values."""
    distinct, places = np.unique(values, return_inverse=True)
    if len(distinct) <= MOST_BYTE_BINS:
        return None
    cells = group_cells(np.bincount(places, counts).astype(np.float64), max_bins)
    last = np.flatnonzero(np.diff(cells))
    return place_thresholds(distinct[last], distinct[last + 1])


def _find_codes(values: FloatArray, thresholds: FloatArray) -> AnyArray:
    """The bin of each value; missing values have the one after the last."""
    found = np.searchsorted(thresholds, values, side="left")
    return np.where(np.isnan(values), len(thresholds) + 1, found).astype(np.uint16)


def _count_cells(codes: AnyArray, thresholds: FloatArray, counts: FloatArray | None) -> FeatureCells:
    return FeatureCells(codes, np.bincount(codes, counts, len(thresholds) + 2).astype(np.float64), thresholds)


def place_thresholds(low: FloatArray, high: FloatArray) -> FloatArray:
    """A threshold in each interval [low, high): its middle, as a float32 number where one lies there.

    Parameters
    ----------
    low, high : ndarray
        Neighbouring values, ``low < high``.

    Examples
    --------
    >>> place_thresholds(np.array([1.0]), np.array([2.0]))
    array([1.5])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        middle = low / 2 + high / 2
        nearest = middle.astype(np.float32)
        below, above = (np.nextafter(nearest, np.float32(end)) for end in (-np.inf, np.inf))
        found = low
        # The last one that fits is taken.
        for given in (middle, above, below, nearest):
            tried: AnyArray = given.astype(np.float64)
            found = np.where((tried >= low) & (tried < high), tried, found)
    return np.asarray(found + 0.0)
