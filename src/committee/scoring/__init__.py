"""Scoring of predictions that are known already, by the scorers of scikit-learn."""

from committee.scoring.known_predictions import (
    KnownClasses,
    KnownDecision,
    KnownPredictions,
    KnownProbabilities,
    KnownValues,
    wrap_predictions,
)
from committee.scoring.scorer import Scorer, choose_score

__all__ = [
    "KnownClasses",
    "KnownDecision",
    "KnownPredictions",
    "KnownProbabilities",
    "KnownValues",
    "Scorer",
    "choose_score",
    "wrap_predictions",
]
