"""Bins of single features that are finer than the bytes of a binned table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from committee.data.binning import MOST_BYTE_BINS
from committee.ensembles.additive.tables import FeatureCells, group_cells

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray

__all__ = ["make_fine_cells", "place_thresholds", "read_column"]

# Thresholds of larger tables are those of so many rows.
_SAMPLED_ROWS = 200_000


def read_column(X: Any, feature: int) -> FloatArray | None:
    """The values of a column; None for tables that are only known by bins or blocks.

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
    present = np.flatnonzero(~np.isnan(values))
    if len(present) > _SAMPLED_ROWS:
        drawn = np.random.default_rng(len(present)).choice(len(present), _SAMPLED_ROWS, replace=False)
        present = present[np.sort(drawn)]
    distinct, places = np.unique(values[present], return_inverse=True)
    if len(distinct) <= MOST_BYTE_BINS:
        return None
    weights = np.bincount(places, None if counts is None else counts[present]).astype(np.float64)
    cells = group_cells(weights, max_bins)
    last = np.flatnonzero(np.diff(cells))
    thresholds = place_thresholds(distinct[last], distinct[last + 1])
    n_bins = len(thresholds) + 1
    codes = np.where(np.isnan(values), n_bins, np.searchsorted(thresholds, values, side="left")).astype(np.uint16)
    return FeatureCells(codes, np.bincount(codes, counts, n_bins + 1).astype(np.float64), thresholds)


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
