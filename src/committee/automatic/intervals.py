"""How wide an interval around a prediction must be, from errors on rows that were not seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["find_margin", "rank_errors"]


def rank_errors(errors: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Errors from the smallest to the largest, each beside the rows up to it.

    Parameters
    ----------
    errors : ndarray of shape (n_rows,)
        Absolute errors; NaN where there is none.
    weights : ndarray of shape (n_rows,) or None
        How many rows a row stands for.

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


def find_margin(ranked: FloatArray, coverage: float) -> float:
    """The error that one more row stays within with this probability, all n + 1 of them being alike.

    Parameters
    ----------
    ranked : ndarray of shape (n_known, 2)
        As `rank_errors` makes it.
    coverage : float
        In (0, 1).

    Returns
    -------
    float
        The ⌈coverage (n + 1)⌉-th smallest error; infinite where there are not so many.

    Examples
    --------
    >>> ranked = rank_errors(np.arange(1.0, 10.0), None)
    >>> find_margin(ranked, 0.8), find_margin(ranked, 0.95)
    (8.0, inf)
    """
    counts = ranked[:, 1]
    wanted = coverage * ((counts[-1] if len(counts) else 0.0) + 1.0)
    # What floating point adds to a whole number must not cost a row.
    at = int(np.searchsorted(counts, wanted - 1e-9 * wanted))
    return float(ranked[at, 0]) if at < len(ranked) else float("inf")
