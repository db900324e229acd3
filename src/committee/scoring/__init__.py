"""Scoring of predictions that are known already, by the scorers of scikit-learn, and measures of rankings."""

from committee.scoring.known_predictions import (
    KnownClasses,
    KnownDecision,
    KnownPredictions,
    KnownProbabilities,
    KnownValues,
    wrap_predictions,
)
from committee.scoring.ranking import mean_average_precision, mean_ndcg
from committee.scoring.scorer import Scorer, choose_score

__all__ = [
    "KnownClasses",
    "KnownDecision",
    "KnownPredictions",
    "KnownProbabilities",
    "KnownValues",
    "Scorer",
    "choose_score",
    "mean_average_precision",
    "mean_ndcg",
    "wrap_predictions",
]
