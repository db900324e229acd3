"""Ensembles of named estimators: voting, stacking, super learning, ensemble selection."""

from committee.ensembles.combining.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
from committee.ensembles.combining.stacking import StackingClassifier, StackingRegressor
from committee.ensembles.combining.super_learner import SuperLearnerClassifier, SuperLearnerRegressor
from committee.ensembles.combining.voting import VotingClassifier, VotingRegressor

__all__ = [
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
]
