"""Ensemble learning on one fast engine, behind scikit-learn's interface.

Every public name is importable from here and loaded when it is first used, so that ``import committee`` costs
little more than ``import sklearn.base``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from committee.automatic.ensemble import CommitteeClassifier, CommitteeRegressor
    from committee.ensembles.adaboost import AdaBoostClassifier
    from committee.ensembles.adaboost_regressor import AdaBoostRegressor
    from committee.ensembles.arcing import ArcingClassifier
    from committee.ensembles.bagging import BaggingClassifier, BaggingRegressor
    from committee.ensembles.boostexter import BoosTexterClassifier
    from committee.ensembles.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from committee.ensembles.forest import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from committee.ensembles.gradient_boosting import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.ensembles.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
    from committee.ensembles.stacking import StackingClassifier, StackingRegressor
    from committee.ensembles.super_learner import SuperLearnerClassifier, SuperLearnerRegressor
    from committee.ensembles.voting import VotingClassifier, VotingRegressor
    from committee.inspection.bias_variance import estimate_bias_variance, measure_bag_variance
    from committee.inspection.bootstrap_error import estimate_bootstrap_error
    from committee.inspection.diversity import measure_diversity
    from committee.inspection.jury import measure_jury
    from committee.io.model_file import load, save
    from committee.learners.export import export_graphviz, export_text
    from committee.learners.naive_bayes import BernoulliNB
    from committee.learners.single_feature_bayes import SingleFeatureNB
    from committee.learners.stump import DecisionStumpClassifier
    from committee.learners.tree import (
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
    )
    from committee.plots.tree import plot_tree

__version__ = "0.1.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ArcingClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BernoulliNB",
    "BoosTexterClassifier",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "DecisionStumpClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRegressor",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "SingleFeatureNB",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "estimate_bias_variance",
    "estimate_bootstrap_error",
    "export_graphviz",
    "export_text",
    "load",
    "measure_bag_variance",
    "measure_diversity",
    "measure_jury",
    "plot_tree",
    "save",
]

# Where each public name lives; the imports above say the same to type checkers and editors.
_HOMES = {
    "AdaBoostClassifier": "committee.ensembles.adaboost",
    "AdaBoostRegressor": "committee.ensembles.adaboost_regressor",
    "ArcingClassifier": "committee.ensembles.arcing",
    "BaggingClassifier": "committee.ensembles.bagging",
    "BaggingRegressor": "committee.ensembles.bagging",
    "BernoulliNB": "committee.learners.naive_bayes",
    "BoosTexterClassifier": "committee.ensembles.boostexter",
    "CommitteeClassifier": "committee.automatic.ensemble",
    "CommitteeRegressor": "committee.automatic.ensemble",
    "DecisionStumpClassifier": "committee.learners.stump",
    "DecisionTreeClassifier": "committee.learners.tree",
    "DecisionTreeRegressor": "committee.learners.tree",
    "EnsembleSelectionClassifier": "committee.ensembles.selection",
    "EnsembleSelectionRegressor": "committee.ensembles.selection",
    "ExtraTreeClassifier": "committee.learners.tree",
    "ExtraTreeRegressor": "committee.learners.tree",
    "ExtraTreesClassifier": "committee.ensembles.forest",
    "ExtraTreesRegressor": "committee.ensembles.forest",
    "GradientBoostingClassifier": "committee.ensembles.gradient_boosting",
    "GradientBoostingRegressor": "committee.ensembles.gradient_boosting",
    "HistGradientBoostingClassifier": "committee.ensembles.boosting",
    "HistGradientBoostingRegressor": "committee.ensembles.boosting",
    "RandomForestClassifier": "committee.ensembles.forest",
    "RandomForestRegressor": "committee.ensembles.forest",
    "SingleFeatureNB": "committee.learners.single_feature_bayes",
    "StackingClassifier": "committee.ensembles.stacking",
    "StackingRegressor": "committee.ensembles.stacking",
    "SuperLearnerClassifier": "committee.ensembles.super_learner",
    "SuperLearnerRegressor": "committee.ensembles.super_learner",
    "VotingClassifier": "committee.ensembles.voting",
    "VotingRegressor": "committee.ensembles.voting",
    "estimate_bias_variance": "committee.inspection.bias_variance",
    "estimate_bootstrap_error": "committee.inspection.bootstrap_error",
    "export_graphviz": "committee.learners.export",
    "export_text": "committee.learners.export",
    "load": "committee.io.model_file",
    "measure_bag_variance": "committee.inspection.bias_variance",
    "measure_diversity": "committee.inspection.diversity",
    "measure_jury": "committee.inspection.jury",
    "plot_tree": "committee.plots.tree",
    "save": "committee.io.model_file",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'committee' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
