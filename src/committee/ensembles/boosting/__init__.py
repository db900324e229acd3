"""Gradient boosting."""

from committee.ensembles.boosting.distributional import DistributionalBoostingRegressor
from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.ensembles.boosting.ordinal import OrdinalGradientBoostingClassifier
from committee.ensembles.boosting.ranker import GradientBoostingRanker
from committee.ensembles.boosting.survival import GradientBoostingSurvivalAnalysis

__all__ = [
    "DistributionalBoostingRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvivalAnalysis",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "OrdinalGradientBoostingClassifier",
]
