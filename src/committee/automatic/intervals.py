"""Half-width of prediction intervals, from the errors of out-of-fold predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["find_half_width", "rank_errors"]


def rank_errors(errors: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Sorted errors, each with the cumulated count of rows.

    Parameters
    ----------
    errors : ndarray of shape (n_rows,)
        Absolute errors; NaN for rows without one.
    weights : ndarray of shape (n_rows,) or None
        How many rows each counts as.

    Returns
    -------
    ndarray of shape (n_known, 2)

    Examples
    --------
    >>> rank_errors(np.array([0.5, np.nan, 0.2]), np.array([1.0, 1.0, 3.0])).tolist()
    [[0.2, 3.0], [0.5, 4.0]]
    """
    counts = np.ones(len(errors)) if weights is None else weights
    known = np.flatnonzero(np.isfinite(errors) & (counts > 0.0))
    order = known[np.argsort(errors[known], kind="stable")]
    return np.column_stack([errors[order], np.cumsum(counts[order])])


def find_half_width(ranked: FloatArray, coverage: float) -> float:
    """The bound of the error of a new row at this coverage, if all n + 1 rows are exchangeable.

    Parameters
    ----------
    ranked : ndarray of shape (n_known, 2)
        From `rank_errors`.
    coverage : float
        In (0, 1).

    Returns
    -------
    float
        The ⌈coverage (n + 1)⌉-th smallest error; infinite if there are fewer.

    Examples
    --------
    >>> ranked = rank_errors(np.arange(1.0, 10.0), None)
    >>> find_half_width(ranked, 0.8), find_half_width(ranked, 0.95)
    (8.0, inf)
    """
    counts = ranked[:, 1]
    rank = coverage * ((counts[-1] if len(counts) else 0.0) + 1.0)
    # A rounding error above an integer must not count as one more row.
    at = int(np.searchsorted(counts, rank - 1e-9 * rank))
    return float(ranked[at, 0]) if at < len(ranked) else float("inf")
