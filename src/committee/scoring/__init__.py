"""Scoring of predictions that are known already, by scikit-learn's scorers; scores of rankings and survival."""

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
from committee.scoring.survival import (
    BrierScorer,
    StepCurve,
    brier_scores,
    concordance_index,
    concordance_index_ipcw,
    cumulative_dynamic_auc,
    estimate_survival,
    integrated_brier_score,
)

__all__ = [
    "BrierScorer",
    "KnownClasses",
    "KnownDecision",
    "KnownPredictions",
    "KnownProbabilities",
    "KnownValues",
    "Scorer",
    "StepCurve",
    "brier_scores",
    "choose_score",
    "concordance_index",
    "concordance_index_ipcw",
    "cumulative_dynamic_auc",
    "estimate_survival",
    "integrated_brier_score",
    "mean_average_precision",
    "mean_ndcg",
    "wrap_predictions",
]
