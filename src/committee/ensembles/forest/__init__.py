"""Random forests, extra-trees, isolation forests and the embedding by random trees."""

from committee.ensembles.forest.embedding import RandomTreesEmbedding
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
    "RandomTreesEmbedding",
]
