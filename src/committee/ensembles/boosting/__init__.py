"""Gradient boosting."""

from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.ensembles.boosting.ranker import GradientBoostingRanker

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
]
