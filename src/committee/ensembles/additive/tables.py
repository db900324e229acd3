"""From the tables of outer bags to shape tables: cells of pairs, weights of cells, and terms that share nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.engines import BinnedMatrix
    from committee.typing import AnyArray, FloatArray

__all__ = ["FeatureCells", "TermTables", "center_tables", "group_cells", "order_by_value", "read_cells"]

_MOST_SWEEPS = 100
_SETTLED = 1e-12
_MISSING_BIN = 255


@dataclass(frozen=True)
class FeatureCells:
    """The bins of a feature.

    Attributes
    ----------
    codes : ndarray of shape (n_rows,)
        The bin of each row; missing values have the number after the last bin.
    weights : ndarray of shape (n_bins + 1,)
        Of the rows in each bin, and of those with missing values.
    thresholds : ndarray
        Between the bins of a number.
    """

    codes: AnyArray
    weights: FloatArray
    thresholds: FloatArray

    @property
    def n_bins(self) -> int:
        """Bins of values."""
        return len(self.weights) - 1


@dataclass
class TermTables:
    """The tables of one term in all bags, of shape (n_bags, n_scores, n_cells + 1, ...), and what is in the cells."""

    features: tuple[int, ...]
    values: FloatArray
    weights: FloatArray


def read_cells(bins: BinnedMatrix, feature: int, counts: FloatArray | None) -> FeatureCells:
    """The bins of a feature, with missing values as the last one.

    Parameters
    ----------
    bins : BinnedMatrix
        The table.
    feature : int
        A column of it.
    counts : ndarray of shape (n_rows,) or None
        As how many rows each row counts.
    """
    n_bins = int(bins.mapper.n_bins[feature])
    wide = bins.codes(feature)
    codes = np.minimum(wide, n_bins) if len(wide) else np.minimum(bins.column(feature), n_bins)
    thresholds = np.asarray(bins.mapper.thresholds(feature), dtype=np.float64)
    return FeatureCells(codes, np.bincount(codes, counts, n_bins + 1).astype(np.float64), thresholds)


def order_by_value(values: FloatArray) -> AnyArray:
    """The order of levels by what they add, of shape (n_scores, n_levels): by the score in which they differ most."""
    chosen = values[int(np.argmax(values.var(axis=1)))] if values.shape[1] else values[0]
    return np.argsort(chosen, kind="stable")


def group_cells(weights: FloatArray, most: int, order: AnyArray | None = None) -> AnyArray:
    """Neighbouring bins as at most so many cells of about equal weight.

    Parameters
    ----------
    weights : ndarray of shape (n_bins,)
        Of the bins.
    most : int
        Number of cells.
    order : ndarray of shape (n_bins,), optional
        Of the bins; by default their own.

    Returns
    -------
    ndarray of shape (n_bins,)
        The cell of each bin.

    Examples
    --------
    >>> group_cells(np.array([1.0, 1.0, 1.0, 1.0]), 2).tolist()
    [0, 0, 1, 1]
    """
    n_bins = len(weights)
    order = np.arange(n_bins) if order is None else order
    if n_bins <= most:
        numbers = np.arange(n_bins)
    else:
        own = weights[order]
        total = own.sum()
        middle = (np.cumsum(own) - own / 2.0) / total if total > 0.0 else np.arange(n_bins) / n_bins
        places = np.minimum((middle * most).astype(np.intp), most - 1)
        numbers = np.concatenate([[0], np.cumsum(np.diff(places) > 0)])
    cells = np.empty(n_bins, dtype=np.intp)
    cells[order] = numbers
    return cells


def center_tables(
    features: dict[int, TermTables], pairs: list[TermTables], cells: dict[int, AnyArray], baselines: FloatArray
) -> None:
    """Make the mean of every table zero, and of pairs those of rows and columns too, in place [Lengerich2020].

    What is taken from a pair is given to its features, and what is taken from these to the baselines. Scores of
    rows stay as they are.

    Parameters
    ----------
    features : dict
        The tables of features by number.
    pairs : list of TermTables
        Of pairs.
    cells : dict
        By feature: the cell in pairs of each bin, and of missing values.
    baselines : ndarray of shape (n_bags, n_scores)
        Is changed too.
    """
    for pair in pairs:
        largest = np.abs(pair.values).max(initial=0.0)
        for _ in range(_MOST_SWEEPS):
            moved = 0.0
            for axis, feature in enumerate(pair.features):
                means = _find_means(pair, axis)
                pair.values -= np.expand_dims(means, 3 - axis)
                features[feature].values += means[:, :, cells[feature]]
                moved = max(moved, float(np.abs(means).max(initial=0.0)))
            if moved <= _SETTLED * largest:
                break
    for term in features.values():
        total = term.weights.sum()
        means = (term.values * term.weights).sum(axis=2) / total
        term.values -= means[:, :, None]
        baselines += means


def _find_means(pair: TermTables, axis: int) -> FloatArray:
    """Means of each row (axis 0) or column of a pair, of shape (n_bags, n_scores, n_cells); zero without rows."""
    weights = pair.weights if axis == 0 else pair.weights.T
    values = pair.values if axis == 0 else np.swapaxes(pair.values, 2, 3)
    totals = weights.sum(axis=1)
    sums: FloatArray = (values * weights).sum(axis=3)
    return np.where(totals > 0.0, sums / np.where(totals > 0.0, totals, 1.0), 0.0)
