"""The story of each ensemble: its class, its parameters, its loop."""

from committee.ensembles.bagging import BaggingClassifier, BaggingRegressor
from committee.ensembles.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.ensembles.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from committee.ensembles.stacking import StackingClassifier, StackingRegressor
from committee.ensembles.super_learner import SuperLearnerClassifier, SuperLearnerRegressor
from committee.ensembles.voting import VotingClassifier, VotingRegressor

__all__ = [
    "BaggingClassifier",
    "BaggingRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
]
