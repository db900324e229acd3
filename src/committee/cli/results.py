"""Results of a fit: scores with standard errors, the leaderboard of AutoML, the model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Comparison",
    "DepthCandidate",
    "FitResults",
    "Leaderboard",
    "LeaderboardEntry",
    "ScoreEstimate",
    "describe_texts",
]


@dataclass(frozen=True)
class ScoreEstimate:
    """A score on unseen rows.

    Parameters
    ----------
    mean : float
        The score.
    error : float
        Its standard error.
    folds : tuple of float
        One score per fold; empty if it was computed on all rows at once.
    """

    mean: float
    error: float
    folds: tuple[float, ...] = ()

    @classmethod
    def of_folds(cls, folds: tuple[float, ...]) -> ScoreEstimate:
        """The mean over folds, and its standard error."""
        return cls(float(np.mean(folds)), float(np.std(folds, ddof=1) / np.sqrt(len(folds))), folds)

    @classmethod
    def of_blocks(cls, score: float, without: NDArray[np.float64]) -> ScoreEstimate:
        """A score on all rows, with the jackknife standard error from the scores without each block [Efron1981]."""
        n, spread = len(without), float(((without - without.mean()) ** 2).sum())
        return cls(score, float(np.sqrt((n - 1) / n * spread)))


@dataclass(frozen=True)
class Comparison:
    """One metric: the score of the model, of the baseline, and their difference.

    The scores are paired, so the difference has a smaller standard error than either score.
    """

    model: ScoreEstimate
    baseline: ScoreEstimate
    difference: ScoreEstimate

    @classmethod
    def of_folds(cls, model: tuple[float, ...], baseline: tuple[float, ...]) -> Comparison:
        """From the scores of each fold."""
        difference = tuple(m - b for m, b in zip(model, baseline, strict=True))
        return cls(*map(ScoreEstimate.of_folds, (model, baseline, difference)))


@dataclass(frozen=True)
class DepthCandidate:
    """A tree depth with its cross-validated score on all rows."""

    max_depth: int | None
    score: ScoreEstimate


@dataclass(frozen=True)
class LeaderboardEntry:
    """A member of an AutoML ensemble: its own score, its weight, and its fit time in seconds."""

    name: str
    score: ScoreEstimate
    weight: float
    seconds: float


@dataclass(frozen=True)
class Leaderboard:
    """The members of an AutoML ensemble, the best first.

    Parameters
    ----------
    metric : str
        Name of the metric.
    sign : int
        1 if larger is better, -1 if smaller is.
    committee : ScoreEstimate
        Score of the ensemble, with weights fitted on other rows.
    entries : tuple of LeaderboardEntry
        The members.
    left_out : tuple of str
        Members that were not fitted within the time budget.
    seconds : float
        Time of the fit.
    """

    metric: str
    sign: int
    committee: ScoreEstimate
    entries: tuple[LeaderboardEntry, ...]
    left_out: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class FitResults:
    """The results of a fit.

    Parameters
    ----------
    estimator : str
        Name of the class.
    params : dict
        Parameters set by the user or by the depth search.
    comparisons : dict of str to Comparison
        By metric.
    model : estimator
        Fitted on all rows.
    predictions : ndarray of shape (n_rows,) or (n_rows, n_classes)
        Out-of-fold predictions: values, probabilities of the classes, or classes if the model has no probabilities.
    notices : tuple of str
        Warnings for the user.
    candidates : tuple of DepthCandidate
        The depths tried; empty if nothing was searched.
    importances : dict of str to float
        By feature, largest first; empty if the model has none.
    n_leaves, depth : int or None
        Of a single tree fitted on all rows.
    leaderboard : Leaderboard or None
        Of an AutoML ensemble.
    """

    estimator: str
    params: dict[str, Any]
    comparisons: dict[str, Comparison]
    model: Any
    predictions: NDArray[Any]
    notices: tuple[str, ...] = ()
    candidates: tuple[DepthCandidate, ...] = ()
    importances: dict[str, float] = field(default_factory=dict)
    n_leaves: int | None = None
    depth: int | None = None
    leaderboard: Leaderboard | None = None


def describe_texts(model: Any) -> tuple[str, ...]:
    """Sentences about the columns that a fitted model reads as free text, none without such columns.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    tuple of str
    """
    inputs = getattr(getattr(model, "_schema", None), "inputs", None)
    places = [] if inputs is None else [k for k, kind in enumerate(inputs.kinds) if kind == "text"]
    places += getattr(getattr(model, "_texts", None), "places", ())
    names = getattr(model, "feature_names_in_", range(getattr(model, "n_features_in_", 0)))
    return tuple(
        f"Column '{names[k]}' is free text: it is read as words (--set text_columns=None for categories)."
        for k in sorted(places)
    )
