"""Prediction intervals and variances of a forest's predictions, from its fitted trees."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import DataError

if TYPE_CHECKING:
    from committee.typing import BoolArray, FloatArray

__all__ = ["estimate_variance", "find_intervals"]

_LARGEST_PREDICTION = 1e140  # of whose squares sums are doubles

_BLOCK_VALUES = 1 << 22
"""Most elements of a matrix of rows by training rows held at a time (32 MB)."""
_ROUNDING = 1e-12
"""Relative, of sums of weights that are no whole numbers."""


def find_intervals(
    predictions: FloatArray,
    in_bag: BoolArray,
    errors: FloatArray,
    coverage: float,
    repeats: FloatArray | None = None,
) -> FloatArray:
    """Jackknife+-after-bootstrap [Kim2020].

    For each training row i, the trees for which it is out of bag are a forest of their own. Its prediction for x plus
    and minus its absolute error on i are two ends; the interval lies between a low quantile of the lower ends and a
    high quantile of the upper ends, which depend on the coverage.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows, n_trees)
        Prediction of each tree for each row.
    in_bag : ndarray of bool of shape (n_training_rows, n_trees)
        Whether a training row is in the sample of a tree.
    errors : ndarray of shape (n_training_rows,)
        Absolute out-of-bag error of each training row.
    coverage : float
        In (0, 1).
    repeats : ndarray of shape (n_training_rows,), optional
        As how many rows each training row counts, by default as one.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Lower and upper ends; infinite where there are too few training rows.
    """
    out = (~in_bag).astype(np.float64)
    used = np.flatnonzero(out.any(axis=1) & np.isfinite(errors))
    tree_weights = out[used] / out[used].sum(axis=1, keepdims=True)
    own = None if repeats is None else repeats[used]
    n = len(used) if own is None else float(own.sum())
    alpha, spread = 1.0 - coverage, errors[used]
    low_at, high_at = floor(alpha * (n + 1)), ceil((1.0 - alpha) * (n + 1))
    ends = np.empty((len(predictions), 2))
    step = max(1, _BLOCK_VALUES // max(1, len(used)))
    for start in range(0, len(predictions), step):
        block = slice(start, start + step)
        centres = predictions[block] @ tree_weights.T
        ends[block, 0] = _take_smallest(centres - spread, low_at, own)
        ends[block, 1] = _take_smallest(centres + spread, high_at, own)
    return ends


def _take_smallest(ends: FloatArray, k: int, repeats: FloatArray | None) -> FloatArray | float:
    """The k-th smallest end of each row, k from 1; infinite where there are not so many."""
    if k < 1:
        return -np.inf
    if k > (ends.shape[1] if repeats is None else repeats.sum()):
        return np.inf
    if repeats is None:
        return np.partition(ends, k - 1, axis=1)[:, k - 1]
    order = np.argsort(ends, axis=1, kind="stable")
    reached = np.cumsum(repeats[order], axis=1) >= k - _ROUNDING * k
    found: FloatArray = np.take_along_axis(ends, order, axis=1)[np.arange(len(ends)), reached.argmax(axis=1)]
    return found


def estimate_variance(
    predictions: FloatArray, counts: FloatArray, n_draws: int, repeats: FloatArray | None = None
) -> FloatArray:
    """Infinitesimal jackknife with its Monte Carlo bias subtracted [Wager2014].

    V(x) = sum_i Cov_t(N_ti, f_t(x))^2 - (n_draws / T^2) sum_t (f_t(x) - f(x))^2, with N_ti the number of times that
    row i is in the sample of tree t. The second term is the expectation of the sum if the covariances were zero. With
    few trees the difference may be negative; it is then zero. A row that counts as w rows is w terms of the sum, each
    with an equal part of its covariance.

    Parameters
    ----------
    predictions : ndarray of shape (n_rows, n_trees)
        Prediction of each tree for each row.
    counts : ndarray of shape (n_training_rows, n_trees)
        How often each training row is in the sample of each tree.
    n_draws : int
        Rows that were drawn for each tree.
    repeats : ndarray of shape (n_training_rows,), optional
        As how many rows each training row counts, by default as one.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    n_trees, n_terms = predictions.shape[1], float(n_draws)
    if repeats is not None:
        present = repeats[repeats > 0.0]
        counts = counts[repeats > 0.0] / np.sqrt(present)[:, np.newaxis]
        n_terms *= len(present) / float(present.sum())  # chance adds to the terms of a row once, not w times
    largest = float(np.abs(predictions).max()) if predictions.size else 0.0
    if not largest < _LARGEST_PREDICTION:
        raise DataError(f"Variances are of predictions below {_LARGEST_PREDICTION:.0e}, whose squares are numbers.")
    centred = predictions - predictions.mean(axis=1, keepdims=True)
    drawn = counts - counts.mean(axis=1, keepdims=True)
    variance = np.empty(len(predictions))
    step = max(1, _BLOCK_VALUES // len(counts))
    for start in range(0, len(predictions), step):
        block = slice(start, start + step)
        covariance = centred[block] @ drawn.T / n_trees
        variance[block] = (covariance**2).sum(axis=1)
    bias = n_terms / n_trees**2 * (centred**2).sum(axis=1)
    held: FloatArray = np.maximum(variance - bias, 0.0)
    return held
