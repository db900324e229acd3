"""Measures of rankings: NDCG and mean average precision over queries, with the interface of scikit-learn's metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.exceptions import DataError, ParameterError
from committee.losses import apply_exp2

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.typing import FloatArray

__all__ = ["mean_average_precision", "mean_ndcg"]


class _RankedRows:
    """The rows of positive weight, query by query and in the order of their scores.

    Attributes
    ----------
    relevance : ndarray
        Of each row.
    scores : ndarray
        Of each row; descending within a query.
    starts : ndarray
        The first row of each query.
    places : ndarray
        Of each row in its query, from zero.
    weights : ndarray
        Of each query: the mean of those of its rows.
    """

    def __init__(self, y_true: ArrayLike, y_score: ArrayLike, qid: ArrayLike | None, sample_weight: ArrayLike | None):
        relevance, scores = _read_column(y_true, "y_true"), _read_column(y_score, "y_score")
        n_rows = len(relevance)
        queries: NDArray[Any] = np.zeros(n_rows, np.intp)
        if qid is not None:
            queries = np.unique(np.asarray(qid), return_inverse=True)[1].reshape(-1)
        weights = np.ones(n_rows) if sample_weight is None else _read_column(sample_weight, "sample_weight")
        if not len(scores) == len(queries) == len(weights) == n_rows or n_rows == 0:
            raise DataError(
                f"y_true, y_score, qid and sample_weight must have an entry for each row; they have {n_rows}, "
                f"{len(scores)}, {len(queries)} and {len(weights)}."
            )
        if (relevance < 0.0).any():
            raise DataError(f"Relevances must not be negative; got {float(relevance.min())}.")
        rows = np.flatnonzero(weights > 0.0)
        if not len(rows):
            raise DataError("All rows have weight zero.")
        # Of rows with the same score the less relevant comes first.
        rows = rows[np.lexsort((relevance[rows], -scores[rows], queries[rows]))]
        own = queries[rows]
        self.starts = np.flatnonzero(np.concatenate(([True], own[1:] != own[:-1])))
        self.sizes = np.diff(self.starts, append=len(rows))
        self.places = np.arange(len(rows)) - np.repeat(self.starts, self.sizes)
        self.relevance, self.scores = relevance[rows], scores[rows]
        self.weights: FloatArray = np.add.reduceat(weights[rows], self.starts) / self.sizes

    def sum_queries(self, values: FloatArray) -> FloatArray:
        """Sum over the rows of each query."""
        return np.add.reduceat(values, self.starts)


def mean_ndcg(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean over queries of the normalised discounted cumulative gain of the first ``k`` rows.

    A row of relevance y at place i, from 1 on, adds (2^y - 1) / log2(1 + i); the sum is divided by that of the best
    order. Rows with the same score share their places, as in scikit-learn. A query without a relevant row counts 1,
    as in LightGBM and XGBoost.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevances, not negative.
    y_score : array-like of shape (n_samples,)
        Scores, the larger the more relevant.
    qid : array-like of shape (n_samples,), optional
        The query of each row; by default all rows are of one.
    k : int, optional
        Number of places; by default all.
    sample_weight : array-like of shape (n_samples,), optional
        Weights; a query has the mean of those of its rows, and rows of weight zero are absent.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(mean_ndcg([2, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]), 4)
    0.9639
    >>> mean_ndcg([2, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], qid=["a", "a", "b", "b"])
    1.0
    """
    ranked = _RankedRows(y_true, y_score, qid, sample_weight)
    discounts = 1.0 / np.log2(2.0 + np.arange(int(ranked.sizes.max())))
    discounts[_count_places(k, len(discounts)) :] = 0.0
    own, gains = discounts[ranked.places], apply_exp2(ranked.relevance) - 1.0
    # Ties: every row of the same score has the mean of their gains.
    new = np.concatenate(([True], ranked.scores[1:] != ranked.scores[:-1]))
    new[ranked.starts] = True
    ties = np.flatnonzero(new)
    counts = np.diff(ties, append=len(gains))
    shared = np.repeat(np.add.reduceat(gains, ties) / counts, counts)
    found = ranked.sum_queries(shared * own)
    order = np.lexsort((-gains, np.repeat(np.arange(len(ranked.sizes)), ranked.sizes)))
    best = ranked.sum_queries(gains[order] * own)
    values = np.where(best > 0.0, found / np.where(best > 0.0, best, 1.0), 1.0)
    return float(np.average(values, weights=ranked.weights))


def mean_average_precision(
    y_true: ArrayLike,
    y_score: ArrayLike,
    *,
    qid: ArrayLike | None = None,
    k: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> float:
    """Mean over queries of the average precision (MAP) of the first ``k`` rows.

    A row is relevant if its relevance is positive. The average precision of a query is the mean, over the relevant
    rows among the first k, of the share of relevant rows up to each; the mean is over as many rows as could be there.
    Of rows with the same score the less relevant comes first. A query without a relevant row counts 1.

    Parameters
    ----------
    y_true, y_score, qid, k, sample_weight
        As in `mean_ndcg`.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> round(mean_average_precision([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6]), 4)
    0.8333
    """
    ranked = _RankedRows(y_true, y_score, qid, sample_weight)
    relevant = (ranked.relevance > 0.0).astype(np.float64)
    n_places = _count_places(k, len(relevant))
    counts = np.cumsum(relevant)
    before = np.repeat(counts[ranked.starts] - relevant[ranked.starts], ranked.sizes)
    shares = relevant * (counts - before) / (1.0 + ranked.places) * (ranked.places < n_places)
    possible = np.minimum(ranked.sum_queries(relevant), n_places)
    values = np.where(possible > 0.0, ranked.sum_queries(shares) / np.maximum(possible, 1.0), 1.0)
    return float(np.average(values, weights=ranked.weights))


def _count_places(k: int | None, n_all: int) -> int:
    if k is None:
        return n_all
    if isinstance(k, bool | np.bool_) or int(k) != k or k < 1:
        raise ParameterError(f"The number of places, 'k', must be an int >= 1 or None; got {k!r}.")
    return int(k)


def _read_column(given: ArrayLike, name: str) -> FloatArray:
    column = np.asarray(given, dtype=np.float64)
    column = column[:, 0] if column.ndim == 2 and column.shape[1] == 1 else column
    if column.ndim != 1 or not np.isfinite(column).all():
        raise DataError(f"{name} must be one column of finite numbers; got an array of shape {column.shape}.")
    return column
