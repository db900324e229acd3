"""Ensemble learning on one fast engine, behind scikit-learn's interface.

Every public name is importable from here and loaded when it is first used, so that ``import committee`` costs
little more than ``import sklearn.base``. The packages ``datasets``, ``inspection``, ``io``, ``plots``, ``scoring`` and
``search`` are there in the same way.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from committee import moved

if TYPE_CHECKING:
    from committee import datasets as datasets
    from committee import inspection as inspection
    from committee import io as io
    from committee import plots as plots
    from committee import scoring as scoring
    from committee import search as search
    from committee.automatic.estimators import CommitteeClassifier, CommitteeRegressor
    from committee.data.binned_tables import bin_table
    from committee.data.blocks.binned_file import BinnedFile
    from committee.data.estimates import estimate_fit
    from committee.data.spilling import memory_limit
    from committee.data.survival_targets import make_survival_target
    from committee.engines.cluster import cluster
    from committee.engines.versions import show_versions
    from committee.ensembles.adaboost.arcing import ArcingClassifier
    from committee.ensembles.adaboost.classifier import AdaBoostClassifier
    from committee.ensembles.adaboost.regressor import AdaBoostRegressor
    from committee.ensembles.additive.estimators import ExplainableBoostingClassifier, ExplainableBoostingRegressor
    from committee.ensembles.bagging.estimators import BaggingClassifier, BaggingRegressor
    from committee.ensembles.boostexter.classifier import BoosTexterClassifier
    from committee.ensembles.boosting.distributional import DistributionalBoostingRegressor
    from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
    from committee.ensembles.boosting.hist import HistGradientBoostingClassifier, HistGradientBoostingRegressor
    from committee.ensembles.boosting.ordinal import OrdinalGradientBoostingClassifier
    from committee.ensembles.boosting.ranker import GradientBoostingRanker
    from committee.ensembles.boosting.survival import GradientBoostingSurvivalAnalysis
    from committee.ensembles.combining.selection import EnsembleSelectionClassifier, EnsembleSelectionRegressor
    from committee.ensembles.combining.stacking import StackingClassifier, StackingRegressor
    from committee.ensembles.combining.super_learner import SuperLearnerClassifier, SuperLearnerRegressor
    from committee.ensembles.combining.voting import VotingClassifier, VotingRegressor
    from committee.ensembles.forest.embedding import RandomTreesEmbedding
    from committee.ensembles.forest.estimators import (
        ExtraTreesClassifier,
        ExtraTreesRegressor,
        RandomForestClassifier,
        RandomForestRegressor,
    )
    from committee.ensembles.forest.isolation import IsolationForest
    from committee.ensembles.forest.survival import RandomSurvivalForest
    from committee.ensembles.partition_predictions import predict_partitions
    from committee.inspection.bias_variance import estimate_bias_variance, measure_bag_variance
    from committee.inspection.bootstrap_error import estimate_bootstrap_error
    from committee.inspection.diversity import measure_diversity
    from committee.inspection.majority_vote import measure_jury
    from committee.io.certificates.certificate import certify
    from committee.io.certificates.forgetting import forget
    from committee.io.certificates.model_card import model_card
    from committee.io.certificates.verification import verify
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

__version__ = "0.2.0"

__all__ = [
    "AdaBoostClassifier",
    "AdaBoostRegressor",
    "ArcingClassifier",
    "BaggingClassifier",
    "BaggingRegressor",
    "BernoulliNB",
    "BinnedFile",
    "BoosTexterClassifier",
    "CommitteeClassifier",
    "CommitteeRegressor",
    "DecisionStumpClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "DistributionalBoostingRegressor",
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "ExplainableBoostingClassifier",
    "ExplainableBoostingRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "ExtraTreesClassifier",
    "ExtraTreesRegressor",
    "GradientBoostingClassifier",
    "GradientBoostingRanker",
    "GradientBoostingRegressor",
    "GradientBoostingSurvivalAnalysis",
    "HistGradientBoostingClassifier",
    "HistGradientBoostingRegressor",
    "IsolationForest",
    "OrdinalGradientBoostingClassifier",
    "RandomForestClassifier",
    "RandomForestRegressor",
    "RandomSurvivalForest",
    "RandomTreesEmbedding",
    "SingleFeatureNB",
    "StackingClassifier",
    "StackingRegressor",
    "SuperLearnerClassifier",
    "SuperLearnerRegressor",
    "VotingClassifier",
    "VotingRegressor",
    "__version__",
    "bin_table",
    "certify",
    "cluster",
    "estimate_bias_variance",
    "estimate_bootstrap_error",
    "estimate_fit",
    "export_graphviz",
    "export_text",
    "forget",
    "load",
    "make_survival_target",
    "measure_bag_variance",
    "measure_diversity",
    "measure_jury",
    "memory_limit",
    "model_card",
    "plot_tree",
    "predict_partitions",
    "save",
    "show_versions",
    "verify",
]

# Where each public name lives; the imports above say the same to type checkers and editors.
_HOMES = {
    "AdaBoostClassifier": "committee.ensembles.adaboost.classifier",
    "AdaBoostRegressor": "committee.ensembles.adaboost.regressor",
    "ArcingClassifier": "committee.ensembles.adaboost.arcing",
    "BaggingClassifier": "committee.ensembles.bagging.estimators",
    "BaggingRegressor": "committee.ensembles.bagging.estimators",
    "BernoulliNB": "committee.learners.naive_bayes",
    "BinnedFile": "committee.data.blocks.binned_file",
    "BoosTexterClassifier": "committee.ensembles.boostexter.classifier",
    "CommitteeClassifier": "committee.automatic.estimators",
    "CommitteeRegressor": "committee.automatic.estimators",
    "DecisionStumpClassifier": "committee.learners.stump",
    "DecisionTreeClassifier": "committee.learners.tree",
    "DecisionTreeRegressor": "committee.learners.tree",
    "DistributionalBoostingRegressor": "committee.ensembles.boosting.distributional",
    "EnsembleSelectionClassifier": "committee.ensembles.combining.selection",
    "EnsembleSelectionRegressor": "committee.ensembles.combining.selection",
    "ExplainableBoostingClassifier": "committee.ensembles.additive.estimators",
    "ExplainableBoostingRegressor": "committee.ensembles.additive.estimators",
    "ExtraTreeClassifier": "committee.learners.tree",
    "ExtraTreeRegressor": "committee.learners.tree",
    "ExtraTreesClassifier": "committee.ensembles.forest.estimators",
    "ExtraTreesRegressor": "committee.ensembles.forest.estimators",
    "GradientBoostingClassifier": "committee.ensembles.boosting.estimators",
    "GradientBoostingRanker": "committee.ensembles.boosting.ranker",
    "GradientBoostingRegressor": "committee.ensembles.boosting.estimators",
    "GradientBoostingSurvivalAnalysis": "committee.ensembles.boosting.survival",
    "HistGradientBoostingClassifier": "committee.ensembles.boosting.hist",
    "HistGradientBoostingRegressor": "committee.ensembles.boosting.hist",
    "IsolationForest": "committee.ensembles.forest.isolation",
    "OrdinalGradientBoostingClassifier": "committee.ensembles.boosting.ordinal",
    "RandomForestClassifier": "committee.ensembles.forest.estimators",
    "RandomForestRegressor": "committee.ensembles.forest.estimators",
    "RandomSurvivalForest": "committee.ensembles.forest.survival",
    "RandomTreesEmbedding": "committee.ensembles.forest.embedding",
    "SingleFeatureNB": "committee.learners.single_feature_bayes",
    "StackingClassifier": "committee.ensembles.combining.stacking",
    "StackingRegressor": "committee.ensembles.combining.stacking",
    "SuperLearnerClassifier": "committee.ensembles.combining.super_learner",
    "SuperLearnerRegressor": "committee.ensembles.combining.super_learner",
    "VotingClassifier": "committee.ensembles.combining.voting",
    "VotingRegressor": "committee.ensembles.combining.voting",
    "bin_table": "committee.data.binned_tables",
    "certify": "committee.io.certificates.certificate",
    "cluster": "committee.engines.cluster",
    "estimate_bias_variance": "committee.inspection.bias_variance",
    "estimate_bootstrap_error": "committee.inspection.bootstrap_error",
    "estimate_fit": "committee.data.estimates",
    "export_graphviz": "committee.learners.export",
    "export_text": "committee.learners.export",
    "forget": "committee.io.certificates.forgetting",
    "load": "committee.io.model_file",
    "make_survival_target": "committee.data.survival_targets",
    "measure_bag_variance": "committee.inspection.bias_variance",
    "measure_diversity": "committee.inspection.diversity",
    "measure_jury": "committee.inspection.majority_vote",
    "memory_limit": "committee.data.spilling",
    "model_card": "committee.io.certificates.model_card",
    "plot_tree": "committee.plots.tree",
    "predict_partitions": "committee.ensembles.partition_predictions",
    "save": "committee.io.model_file",
    "show_versions": "committee.engines.versions",
    "verify": "committee.io.certificates.verification",
}
#: Public packages, which an attribute of this module loads. They are not in ``__all__``: a star import would
#: hide the ``io`` of the standard library.
_PACKAGES = frozenset({"datasets", "inspection", "io", "plots", "scoring", "search"})


moved.install()


def __getattr__(name: str) -> object:
    if name in _PACKAGES:
        return import_module(f"committee.{name}")  # which makes it an attribute
    if name not in _HOMES:
        raise AttributeError(f"module 'committee' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
