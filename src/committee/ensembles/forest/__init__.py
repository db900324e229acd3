"""Random forests, extra-trees, survival forests, isolation forests and the embedding by random trees."""

from committee.ensembles.forest.embedding import RandomTreesEmbedding
from committee.ensembles.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.ensembles.forest.isolation import IsolationForest
from committee.ensembles.forest.survival import RandomSurvivalForest

__all__ = [
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "IsolationForest",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RandomTreesEmbedding",
]
