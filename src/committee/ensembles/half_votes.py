"""Out-of-bag votes of two halves of the members: how much the scores of rows depend on the number of votes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.ensembles.class_scores import SET_METHODS, score_own_classes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["HalfVotes"]


class HalfVotes:
    """The votes of every other group of members, taken from the running sums of all votes.

    Parameters
    ----------
    sums : ndarray of shape (n_rows, n_classes)
        Whose shape the votes have; all zero so far.
    """

    def __init__(self, sums: FloatArray) -> None:
        # Votes up to a group of the first half are added and those before it subtracted, so that no copy of the sums
        # before the group is held.
        self._sums = np.zeros_like(sums)
        self._n_votes: NDArray[np.int64] = np.zeros(len(sums), dtype=np.int64)
        self._n_groups = 0

    def divide(self, sums: FloatArray, n_votes: NDArray[np.uint32]) -> None:
        """Take note of a group of members whose votes were added to the sums since the last call."""
        combine = np.add if self._n_groups % 2 == 0 else np.subtract
        combine(self._sums, sums, out=self._sums)
        combine(self._n_votes, n_votes, out=self._n_votes)
        self._n_groups += 1

    def score(self, sums: FloatArray, n_votes: NDArray[np.uint32], labels: NDArray[np.int32]) -> FloatArray:
        """Votes of each half and what they say of each row's own class.

        Parameters
        ----------
        sums, n_votes : ndarray
            Of all members, as they were at the last call of `divide`.
        labels : ndarray of shape (n_rows,)
            Number of each row's class.

        Returns
        -------
        ndarray of shape (n_rows, 2 + 2 * n_methods)
            The number of votes of each half, then its score by each of `SET_METHODS`; NaN without a vote.
        """
        first, n_first = self._sums, self._n_votes
        if self._n_groups % 2 == 0 and self._n_groups > 0:
            first, n_first = first + sums, n_first + n_votes
        counts, scores = [], []
        for own, n in ((first, n_first), (sums - first, n_votes - n_first)):
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = own / n[:, np.newaxis]
            counts.append(n)
            scores.append([np.where(n > 0, score_own_classes(mean, labels, method), np.nan) for method in SET_METHODS])
        pairs = [score for both in zip(*scores, strict=True) for score in both]
        return np.column_stack([*counts, *pairs]).astype(np.float64)
