"""Members by the time of a prediction: the sum over the members with weight stays below a bound.

Members that are too slow alone are left out. Then the member with the least weight for its time is removed, and the
weights are fitted again, until the rest is fast enough.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.typing import FloatArray

__all__ = ["choose_fast_members", "time_prediction"]

_N_TIMES = 7
"""Predictions that are timed, after one that is not."""


def time_prediction(predict: Callable[[], Any]) -> float:
    """Microseconds of a call, the median of several."""
    predict()
    seconds = []
    for _ in range(_N_TIMES):
        begun = time.perf_counter()
        predict()
        seconds.append(time.perf_counter() - begun)
    return 1e6 * float(np.median(seconds))


def choose_fast_members(
    latencies: FloatArray, most: float, fit_weights: Callable[[list[int]], FloatArray]
) -> tuple[list[int], FloatArray]:
    """Members whose latencies have a sum of at most a bound, and their weights.

    Parameters
    ----------
    latencies : ndarray of shape (n_members,)
        Of each member.
    most : float
        The bound.
    fit_weights : callable
        The weights of some members, given by their numbers.

    Returns
    -------
    kept : list of int
        Numbers of the members that are left; some may have no weight.
    weights : ndarray of shape (n_kept,)
        Their weights.

    Examples
    --------
    >>> shares = np.array([0.6, 0.1, 0.3])
    >>> kept, weights = choose_fast_members(
    ...     np.array([50.0, 40.0, 20.0]), 80.0, lambda some: shares[some] / shares[some].sum()
    ... )
    >>> kept, weights.round(3).tolist()
    ([0, 2], [0.667, 0.333])
    """
    kept = np.flatnonzero(latencies <= most).tolist()
    if not kept:
        raise ParameterError(
            f"The 'max_latency_us' parameter must leave at least one model; the fastest takes "
            f"{float(np.min(latencies)):.0f} microseconds for a row, and {most:g} are allowed."
        )
    while True:
        weights = fit_weights(kept)
        used = [(float(w / latencies[k]), k) for k, w in zip(kept, weights, strict=True) if w > 0.0]
        if sum(float(latencies[k]) for _, k in used) <= most:
            return kept, weights
        kept.remove(min(used)[1])
