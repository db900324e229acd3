"""Gradient boosting."""

from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor

__all__ = [
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
]
