"""Bagging, pasting, random subspaces and random patches."""

from committee.ensembles.bagging.estimators import BaggingClassifier, BaggingRegressor

__all__ = ["BaggingClassifier", "BaggingRegressor"]
