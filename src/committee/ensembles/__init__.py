"""The ensemble methods, one folder a family. Modules beside the folders are shared by several families."""

from committee.ensembles.adaboost import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    ArcingClassifier,
)
from committee.ensembles.additive import ExplainableBoostingClassifier, ExplainableBoostingRegressor
from committee.ensembles.bagging import BaggingClassifier, BaggingRegressor
from committee.ensembles.boostexter import BoosTexterClassifier
from committee.ensembles.boosting import (
    DistributionalBoostingRegressor,
    GradientBoostingClassifier,
    GradientBoostingRanker,
    GradientBoostingRegressor,
    GradientBoostingSurvivalAnalysis,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    OrdinalGradientBoostingClassifier,
)
from committee.ensembles.combining import (
    EnsembleSelectionClassifier,
    EnsembleSelectionRegressor,
    StackingClassifier,
    StackingRegressor,
    SuperLearnerClassifier,
    SuperLearnerRegressor,
    VotingClassifier,
    VotingRegressor,
)
from committee.ensembles.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomSurvivalForest,
)

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ArcingClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BoosTexterClassifier",
    "DistributionalBoostingRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExplainableBoostingClassifier",
    "ExplainableBoostingRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvivalAnalysis",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "OrdinalGradientBoostingClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
]
