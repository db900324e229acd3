"""How sure a forest is: prediction intervals and the variance of its predictions, from the trees it already has."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["estimate_variance", "find_intervals"]

_BLOCK_VALUES = 1 << 22
"""Values of a table of rows by training rows that are held at a time (32 MB)."""


def find_intervals(answers: FloatArray, in_bag: NDArray[Any], errors: FloatArray, coverage: float) -> FloatArray:
    """Jackknife+-after-bootstrap [Kim2020].

    For each training row i, the trees that did not see it are a forest of their own: its prediction for x plus and
    minus its absolute error on i is one vote on where the target of x may lie, and the interval leaves out the share
    1 - coverage of the votes at each end.

    Parameters
    ----------
    answers : ndarray of shape (n_rows, n_trees)
        What each tree predicts.
    in_bag : ndarray of bool of shape (n_training_rows, n_trees)
        Whether a tree saw a training row.
    errors : ndarray of shape (n_training_rows,)
        Absolute out-of-bag error of each training row.
    coverage : float
        In (0, 1).

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Lower and upper ends; infinite where there are too few training rows to say.
    """
    out = (~in_bag).astype(np.float64)
    voting = np.flatnonzero(out.any(axis=1) & np.isfinite(errors))
    shares = out[voting] / out[voting].sum(axis=1, keepdims=True)
    n, alpha, spread = len(voting), 1.0 - coverage, errors[voting]
    low_at, high_at = floor(alpha * (n + 1)), ceil((1.0 - alpha) * (n + 1))
    ends = np.empty((len(answers), 2))
    step = max(1, _BLOCK_VALUES // max(1, n))
    for start in range(0, len(answers), step):
        block = slice(start, start + step)
        centres = answers[block] @ shares.T
        ends[block, 0] = _take_smallest(centres - spread, low_at)
        ends[block, 1] = _take_smallest(centres + spread, high_at)
    return ends


def _take_smallest(votes: FloatArray, k: int) -> Any:
    """The k-th smallest vote of each row, k from 1; infinite where there are not so many."""
    if k < 1:
        return -np.inf
    if k > votes.shape[1]:
        return np.inf
    return np.partition(votes, k - 1, axis=1)[:, k - 1]


def estimate_variance(answers: FloatArray, counts: NDArray[Any], n_draws: int) -> FloatArray:
    """Infinitesimal jackknife with its Monte Carlo bias taken off [Wager2014].

    V(x) = sum_i Cov_t(N_ti, f_t(x))^2 - (n_draws / T^2) sum_t (f_t(x) - f(x))^2, with N_ti how often tree t saw row
    i. The second term is what the sum would be on average if the covariances were zero. With few trees the difference
    may be negative; it is then zero.

    Parameters
    ----------
    answers : ndarray of shape (n_rows, n_trees)
        What each tree predicts.
    counts : ndarray of shape (n_training_rows, n_trees)
        How often each tree saw each training row.
    n_draws : int
        Rows that were drawn for each tree.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    n_trees = answers.shape[1]
    centred = answers - answers.mean(axis=1, keepdims=True)
    drawn = counts - counts.mean(axis=1, keepdims=True)
    variance = np.empty(len(answers))
    step = max(1, _BLOCK_VALUES // len(counts))
    for start in range(0, len(answers), step):
        block = slice(start, start + step)
        covariance = centred[block] @ drawn.T / n_trees
        variance[block] = (covariance**2).sum(axis=1)
    bias = n_draws / n_trees**2 * (centred**2).sum(axis=1)
    held: FloatArray = np.maximum(variance - bias, 0.0)
    return held
