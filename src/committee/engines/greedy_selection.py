"""Greedy forward selection, with replacement, of the members of a mean of probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["select_by_likelihood"]


def select_by_likelihood(likelihood: FloatArray, n_rounds: int, least_gain: float) -> NDArray[np.intp]:
    """How often each member is in the mean with the least log-loss on the greedy path.

    Parameters
    ----------
    likelihood : ndarray of shape (n_members, n_rows)
        Probability of the true class, by each member; at least 1e-15.
    n_rounds : int
        Number of members to add.
    least_gain : float
        By which a mean must be better than the one before, relative to its size.

    Examples
    --------
    >>> select_by_likelihood(np.array([[0.9, 0.2], [0.2, 0.9], [0.4, 0.4]]), 2, 1e-13)
    array([1, 1, 0])
    """
    return np.asarray(_core.select_by_likelihood(likelihood, n_rounds, least_gain), dtype=np.intp)
