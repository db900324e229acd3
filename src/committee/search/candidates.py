"""A candidate of a search: its parameters, its models in the folds, and what they scored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.typing import AnyArray, FloatArray

__all__ = ["Candidate", "FoldResult"]


@dataclass(frozen=True)
class FoldResult:
    """What one model of a candidate predicted and scored.

    Attributes
    ----------
    scores : dict
        Score by metric; NaN where the fit failed.
    rows : ndarray of int
        Numbers of the rows that were predicted.
    predictions : ndarray of shape (n, width) or None
        Class probabilities, or values.
    fit_seconds, score_seconds : float
        Time of the last fit and of its scores.
    """

    scores: dict[str, float]
    rows: NDArray[np.intp]
    predictions: FloatArray | None
    fit_seconds: float
    score_seconds: float


@dataclass
class Candidate:
    """A candidate of a search.

    Attributes
    ----------
    number : int
        In the order in which candidates were begun.
    params : dict
        What it sets; empty for the estimator as it was given.
    point : mapping or None
        Where it lies in the space.
    size : int or None
        Members so far; None where candidates do not grow.
    best_size : int or None
        Members with the best mean score, where the search finds their number; otherwise `size`.
    results : list of FoldResult
        At `best_size`, one for each fold.
    curve : dict
        Mean score for each number of members that was looked at.
    seconds : float
        Time of all its fits and scores.
    stage : int
        How often it was chosen to go on.
    row_share : float
        Fraction of the training rows that its models were fitted on.
    done : bool
        Whether it has all members that it was to grow to, or stopped growing.
    models : list
        Fitted so far, one for each fold; dropped when the candidate is done.
    estimate : float or None
        Of a candidate that lost the race in some folds: the best score, and the mean difference in these folds.
    rate : float or None
        The learning rate of fits that are followed.
    last : int or None
        The most members, where they are other than those of the search.
    """

    number: int
    params: dict[str, Any]
    point: Mapping[str, float] | None = None
    size: int | None = None
    best_size: int | None = None
    results: list[FoldResult] = field(default_factory=list)
    curve: dict[int, float] = field(default_factory=dict)
    seconds: float = 0.0
    stage: int = 0
    row_share: float = 1.0
    done: bool = False
    models: list[Any] = field(default_factory=list)
    estimate: float | None = None
    rate: float | None = None
    last: int | None = None

    def list_scores(self, metric: str) -> FloatArray:
        """The score of each fold."""
        return np.array([result.scores[metric] for result in self.results], dtype=np.float64)

    def mean_score(self, metric: str) -> float:
        """The mean score over the folds, or its estimate; NaN if a fit failed."""
        if self.estimate is not None:
            return self.estimate
        return float(self.list_scores(metric).mean()) if self.results else np.nan

    def list_predictions(self, n_rows: int) -> AnyArray | None:
        """Predictions of all rows, NaN where there is none; None if a fold has none."""
        if not self.results or any(result.predictions is None for result in self.results):
            return None
        found = [(result.rows, result.predictions) for result in self.results if result.predictions is not None]
        if len({own.shape[1] for _, own in found}) > 1:
            return None
        table = np.full((n_rows, found[0][1].shape[1]), np.nan)
        for rows, own in found:
            table[rows] = own
        return table
