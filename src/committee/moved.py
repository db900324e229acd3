"""Where modules and classes are that pickles name by an earlier place.

A pickle names each class by module and name. Model files do not (`committee.io.registry`), but pickles of earlier
versions have to load as well: a module that has moved is one line in `MODULES`, an object that has got another name,
or another module than the rest of its old one, is one line in `NAMES`. Nothing is imported before a pickle asks for it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

__all__ = ["MODULES", "NAMES", "find_moved", "install"]

#: Old module -> the module that its objects are in now.
MODULES = {
    "committee.automatic.base_committee": "committee.automatic.base",
    "committee.automatic.ensemble": "committee.automatic.estimators",
    "committee.automatic.margins": "committee.automatic.intervals",
    "committee.automatic.plain_members": "committee.automatic.baseline_members",
    "committee.automatic.word_encoding": "committee.data.word_encoding",
    "committee.dialects": "committee.foreign_names",
    "committee.ensembles.adaboost": "committee.ensembles.adaboost.classifier",
    "committee.ensembles.adaboost_additive": "committee.ensembles.adaboost.additive",
    "committee.ensembles.adaboost_answers": "committee.ensembles.adaboost.predictions",
    "committee.ensembles.adaboost_learners": "committee.ensembles.adaboost.learners",
    "committee.ensembles.adaboost_members": "committee.ensembles.adaboost.members",
    "committee.ensembles.adaboost_regressor": "committee.ensembles.adaboost.regressor",
    "committee.ensembles.adaboost_rules": "committee.ensembles.adaboost.algorithms",
    "committee.ensembles.arcing": "committee.ensembles.adaboost.arcing",
    "committee.ensembles.bag_members": "committee.ensembles.bagging.members",
    "committee.ensembles.bag_noise": "committee.ensembles.combining.oob_correction",
    "committee.ensembles.bag_trees": "committee.ensembles.bagging.tree_members",
    "committee.ensembles.bagging": "committee.ensembles.bagging.estimators",
    "committee.ensembles.bagging_base": "committee.ensembles.bagging.base",
    "committee.ensembles.blend": "committee.ensembles.combining.convex_weights",
    "committee.ensembles.boostexter": "committee.ensembles.boostexter.classifier",
    "committee.ensembles.boostexter_intake": "committee.ensembles.boostexter.documents",
    "committee.ensembles.boostexter_params": "committee.ensembles.boostexter.params",
    "committee.ensembles.boostexter_votes": "committee.ensembles.boostexter.model",
    "committee.ensembles.boosting": "committee.ensembles.boosting.hist",
    "committee.ensembles.boosting_answers": "committee.ensembles.boosting.predictions",
    "committee.ensembles.boosting_base": "committee.ensembles.boosting.base",
    "committee.ensembles.boosting_custom": "committee.ensembles.boosting.custom_loss",
    "committee.ensembles.boosting_dart": "committee.ensembles.boosting.dart",
    "committee.ensembles.boosting_log": "committee.ensembles.boosting.callbacks",
    "committee.ensembles.boosting_params": "committee.ensembles.boosting.params",
    "committee.ensembles.boosting_rounds": "committee.ensembles.boosting.booster",
    "committee.ensembles.boosting_stopping": "committee.ensembles.boosting.early_stopping",
    "committee.ensembles.boosting_trees": "committee.ensembles.boosting.trees",
    "committee.ensembles.boosting_watch": "committee.ensembles.boosting.validation",
    "committee.ensembles.fold_average": "committee.ensembles.combining.fold_average",
    "committee.ensembles.forest": "committee.ensembles.forest.estimators",
    "committee.ensembles.forest_answers": "committee.ensembles.forest.predictions",
    "committee.ensembles.forest_base": "committee.ensembles.forest.base",
    "committee.ensembles.forest_calibration": "committee.ensembles.forest.calibration",
    "committee.ensembles.forest_importance": "committee.ensembles.forest.importance",
    "committee.ensembles.forest_intervals": "committee.ensembles.forest.intervals",
    "committee.ensembles.forest_quantiles": "committee.ensembles.forest.quantiles",
    "committee.ensembles.gradient_boosting": "committee.ensembles.boosting.estimators",
    "committee.ensembles.gradient_boosting_base": "committee.ensembles.boosting.fit",
    "committee.ensembles.lesson": "committee.ensembles.combining.training_set",
    "committee.ensembles.meta_models": "committee.ensembles.combining.meta_models",
    "committee.ensembles.metric": "committee.ensembles.combining.metrics",
    "committee.ensembles.out_of_fold": "committee.ensembles.combining.out_of_fold",
    "committee.ensembles.replies": "committee.ensembles.combining.member_predictions",
    "committee.ensembles.roster": "committee.ensembles.combining.named_ensemble",
    "committee.ensembles.selection": "committee.ensembles.combining.selection",
    "committee.ensembles.stacking": "committee.ensembles.combining.stacking",
    "committee.ensembles.stacking_base": "committee.ensembles.combining.stacking_base",
    "committee.ensembles.stacking_layers": "committee.ensembles.combining.stacking_layers",
    "committee.ensembles.stacking_leak": "committee.ensembles.combining.stacking_leak",
    "committee.ensembles.staged_answers": "committee.ensembles.staged_predictions",
    "committee.ensembles.super_learner": "committee.ensembles.combining.super_learner",
    "committee.ensembles.tree_growth": "committee.ensembles.forest_builder",
    "committee.ensembles.voting": "committee.ensembles.combining.voting",
    "committee.ensembles.voting_base": "committee.ensembles.combining.voting_base",
    "committee.ensembles.weighted_roster": "committee.ensembles.combining.weighted_ensemble",
    "committee.inspection.jury": "committee.inspection.majority_vote",
    "committee.inspection.response": "committee.inspection.model_access",
    "committee.learners.answers": "committee.learners.tree_estimator",
    "committee.learners.bayes_answers": "committee.learners.bayes_predictions",
    "committee.learners.growth": "committee.learners.tree_params",
}

#: Old module and name -> module and name now, where `MODULES` is not enough.
NAMES: dict[tuple[str, str], tuple[str, str]] = {
    ("committee.ensembles.forest_calibration", "ShareCalibration"): (
        "committee.ensembles.forest.calibration",
        "ProbabilityCalibration",
    ),
    ("committee.ensembles.meta_models", "ShareBlend"): (
        "committee.ensembles.combining.meta_models",
        "ConvexClassifier",
    ),
    ("committee.ensembles.meta_models", "ValueBlend"): (
        "committee.ensembles.combining.meta_models",
        "ConvexRegressor",
    ),
    ("committee.ensembles.adaboost_additive", "Gentle"): ("committee.ensembles.adaboost.additive", "GentleAdaBoost"),
    ("committee.ensembles.adaboost_additive", "Logit"): ("committee.ensembles.adaboost.additive", "LogitBoost"),
    ("committee.ensembles.adaboost_rules", "Discrete"): ("committee.ensembles.adaboost.algorithms", "DiscreteAdaBoost"),
    ("committee.ensembles.adaboost_rules", "Real"): ("committee.ensembles.adaboost.algorithms", "RealAdaBoost"),
    ("committee.ensembles.arcing", "Majority"): ("committee.ensembles.adaboost.arcing", "EqualVotes"),
}


def find_moved(module: str, name: str) -> object:
    """The object that `name` of `module` was in an earlier version.

    Examples
    --------
    >>> find_moved("committee.ensembles.voting", "VotingClassifier").__module__
    'committee.ensembles.combining.voting'
    """
    home, now = NAMES.get((module, name), (MODULES.get(module, ""), name))
    if not home:
        raise AttributeError(f"module {module!r} has no attribute {name!r}")
    return getattr(import_module(home), now)


class _MovedLoader(Loader):
    """A stand-in for a module that has moved: its attributes are looked up where they are now."""

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__getattr__ = lambda name: find_moved(module.__name__, name)  # type: ignore[method-assign]


class _MovedFinder(MetaPathFinder):
    """Finds the stand-ins; every other module is left to the finders before it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, _MovedLoader()) if fullname in MODULES else None


def install() -> None:
    """Let imports of earlier module names succeed; it is done once, by `import committee`."""
    if not any(isinstance(finder, _MovedFinder) for finder in sys.meta_path):
        sys.meta_path.append(_MovedFinder())
