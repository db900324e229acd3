"""Random forests, extra-trees and isolation forests."""

from committee.ensembles.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.ensembles.forest.isolation import IsolationForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
]
