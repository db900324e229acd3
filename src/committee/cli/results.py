"""What a study finds: scores with their errors, the standings of a committee's members, the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Candidate", "Comparison", "Estimate", "Findings", "Leaderboard", "Standing"]


@dataclass(frozen=True)
class Estimate:
    """A score on rows that were not seen.

    Parameters
    ----------
    mean : float
        The score.
    error : float
        Its standard error.
    folds : tuple of float
        One score a fold; empty if it comes from all rows at once.
    """

    mean: float
    error: float
    folds: tuple[float, ...] = ()

    @classmethod
    def of_folds(cls, folds: tuple[float, ...]) -> Estimate:
        """The average over folds, and the standard error of the mean."""
        return cls(float(np.mean(folds)), float(np.std(folds, ddof=1) / np.sqrt(len(folds))), folds)

    @classmethod
    def of_blocks(cls, score: float, without: NDArray[np.float64]) -> Estimate:
        """A score of all rows, with the jackknife's standard error from the scores without each block [Efron1981]."""
        n, spread = len(without), float(((without - without.mean()) ** 2).sum())
        return cls(score, float(np.sqrt((n - 1) / n * spread)))


@dataclass(frozen=True)
class Comparison:
    """One metric: the model's score, the naive one, and model minus naive.

    The two share their rows and so the difficulty of these, which makes the difference the sharper test.
    """

    model: Estimate
    baseline: Estimate
    difference: Estimate

    @classmethod
    def of_folds(cls, model: tuple[float, ...], baseline: tuple[float, ...]) -> Comparison:
        """From the scores of each fold."""
        difference = tuple(m - b for m, b in zip(model, baseline, strict=True))
        return cls(*map(Estimate.of_folds, (model, baseline, difference)))


@dataclass(frozen=True)
class Candidate:
    """A depth that was tried on all rows, with its cross-validated score."""

    max_depth: int | None
    score: Estimate


@dataclass(frozen=True)
class Standing:
    """A member of a committee: what it scores alone, what it weighs, and the seconds that it took."""

    name: str
    score: Estimate
    weight: float
    seconds: float


@dataclass(frozen=True)
class Leaderboard:
    """The members of an automatic committee, the best first.

    Parameters
    ----------
    metric : str
        What they are scored by.
    sign : int
        1 if larger is better, -1 if smaller is.
    committee : Estimate
        What the committee scores, weights learnt without the rows that they are tested on.
    standings : tuple of Standing
        Its members.
    left_out : tuple of str
        Members that the time was not enough for.
    seconds : float
        That the fit took.
    """

    metric: str
    sign: int
    committee: Estimate
    standings: tuple[Standing, ...]
    left_out: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Findings:
    """What a study found.

    Parameters
    ----------
    estimator : str
        Name of the class.
    params : dict
        What was set, by the user or by the search.
    comparisons : dict of str to Comparison
        By metric.
    model : estimator
        Fitted on all rows.
    answers : ndarray of shape (n_rows,) or (n_rows, n_classes)
        What models that had not seen a row predict for it: values, or probabilities of the model's classes where it
        has them and classes where not.
    notices : tuple of str
        What the user should know.
    candidates : tuple of Candidate
        The depths tried; empty if nothing was searched.
    importances : dict of str to float
        By feature, largest first; empty if the model has none.
    n_leaves, depth : int or None
        Of a single tree fitted on all rows.
    leaderboard : Leaderboard or None
        Of an automatic committee.
    """

    estimator: str
    params: dict[str, Any]
    comparisons: dict[str, Comparison]
    model: Any
    answers: NDArray[Any]
    notices: tuple[str, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    importances: dict[str, float] = field(default_factory=dict)
    n_leaves: int | None = None
    depth: int | None = None
    leaderboard: Leaderboard | None = None
