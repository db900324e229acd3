"""The classes that model files may name. A file cannot bring any other into being, whatever is written in it.

Estimators are those that the package exports, under their own names. What they are made of besides is listed here:
a class that a new estimator keeps in its fitted state is one line.
"""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import committee
from committee.base import CommitteeEstimator

__all__ = [
    "STATES",
    "StateClass",
    "find_estimator",
    "is_default_none",
    "is_estimator",
    "is_training_only",
    "list_fields",
    "load_state_class",
    "name_state",
]


@dataclass(frozen=True)
class StateClass:
    """A class whose instances a file may hold.

    Attributes
    ----------
    home : str
        The module that it lives in.
    name : str
        Its name there.
    fields : tuple of str
        The attributes that are kept; empty for a dataclass, of which all fields are.
    blank : tuple of str
        Attributes that a loaded instance has as None: what is made when it is needed.
    """

    home: str
    name: str
    fields: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()


#: By the names that files use, which stay when a class moves or is renamed.
STATES = {
    "Schema": StateClass("committee.data.dataset", "Schema"),
    "InputColumns": StateClass("committee.data.inputs", "InputColumns"),
    "SamplePlan": StateClass("committee.data.sampling", "SamplePlan"),
    "TreeView": StateClass("committee.learners.tree_view", "TreeView", ("_trees", "_criterion", "_tree"), ("_cache",)),
    "IsolationSamples": StateClass("committee.ensembles.forest.isolation_samples", "IsolationSamples"),
    "LeafHazards": StateClass("committee.ensembles.forest.survival_leaves", "LeafHazards"),
    "LeafRecord": StateClass("committee.ensembles.forest.quantiles", "LeafRecord"),
    "ShareCalibration": StateClass(
        "committee.ensembles.forest.calibration", "ProbabilityCalibration", ("_n_classes", "_curves")
    ),
    "Steps": StateClass("committee.ensembles.forest.calibration", "_Steps", ("_places", "_heights")),
    "Sigmoid": StateClass("committee.ensembles.forest.calibration", "_Sigmoid", ("_slope", "_offset")),
    "SurvivalLink": StateClass("committee.ensembles.boosting.survival_link", "SurvivalLink"),
    "OrdinalLink": StateClass("committee.ensembles.boosting.ordinal_link", "OrdinalLink"),
    "ShapeAxis": StateClass("committee.ensembles.additive.shapes", "ShapeAxis"),
    "TermShape": StateClass("committee.ensembles.additive.shapes", "TermShape"),
    "LossFunction": StateClass("committee.losses", "LossFunction"),
    "JoinedLoss": StateClass("committee.ensembles.boosting.joined_loss", "JoinedLoss"),
    "LabelTarget": StateClass("committee.ensembles.boostexter.model", "LabelTarget"),
    "WordVotes": StateClass("committee.ensembles.boostexter.model", "WordVotes"),
    "BoostedTrees": StateClass(
        "committee.ensembles.adaboost.members",
        "BoostedTrees",
        ("estimator", "trees", "importances", "schema", "named", "seed"),
        ("_scored",),
    ),
    "BoostedMembers": StateClass("committee.ensembles.adaboost.members", "BoostedMembers", ("estimators", "classes")),
    "MemberSamples": StateClass("committee.ensembles.bagging.members", "MemberSamples"),
    "AnyMembers": StateClass(
        "committee.ensembles.bagging.members", "AnyMembers", ("samples", "n_classes", "estimators")
    ),
    "TreeMembers": StateClass(
        "committee.ensembles.bagging.tree_members",
        "TreeMembers",
        ("estimator", "trees", "importances", "schema", "samples", "named"),
    ),
    "Layer": StateClass("committee.ensembles.combining.stacking_layers", "Layer"),
    "FoldAverage": StateClass("committee.ensembles.combining.fold_average", "FoldAverage", ("models", "classes")),
    "ShareBlend": StateClass(
        "committee.ensembles.combining.meta_models", "ConvexClassifier", ("how", "n_members", "classes_", "weights_")
    ),
    "ValueBlend": StateClass(
        "committee.ensembles.combining.meta_models", "ConvexRegressor", ("how", "n_members", "weights_")
    ),
    "TableEncoding": StateClass("committee.automatic.encoding", "TableEncoding"),
    "WordEncoding": StateClass("committee.data.word_encoding", "WordEncoding"),
    "TextReader": StateClass("committee.automatic.views", "TextReader"),
    "LogScale": StateClass("committee.automatic.log_scale", "LogScale"),
    "ColumnPairs": StateClass("committee.automatic.paired_columns", "ColumnPairs"),
    "PairedMember": StateClass("committee.automatic.paired_columns", "PairedMember", ("pairs", "model")),
    "StackedMember": StateClass("committee.automatic.stacked_member", "StackedMember", ("bases", "model", "classes")),
}

#: Members of the automatic committee: where they live, and what they keep besides what all of them have.
_PLAIN = {
    "PriorMember": ("baseline_members", ("means_",)),
    "LinearMember": ("baseline_members", ("encoding_", "coef_", "intercept_")),
    "NeighbourMember": ("baseline_members", ("encoding_", "table_", "goal_", "counts_")),
    "KernelMember": ("kernel_member", ("encoding_", "landmarks_", "width_", "coef_", "intercept_", "slope_")),
    "FoldKernelMember": (
        "kernel_member",
        ("n_columns_", "encoding_", "landmarks_", "width_", "coef_", "intercept_", "slope_"),
    ),
    "NeuralMember": (
        "neural_member",
        ("n_columns_", "encoding_", "piece_columns_", "piece_starts_", "piece_widths_", "coefs_", "intercepts_"),
    ),
    "BayesMember": ("bayes_member", ("cuts_", "n_levels_", "logs_", "prior_", "slope_")),
    "WordLinearMember": ("word_members", ("n_columns", "encoding_", "coef_", "intercept_")),
    "WordBayesMember": ("word_members", ("n_columns", "logs_", "prior_")),
}
_LEAVES_OUT = ("KernelMember", "FoldKernelMember", "BayesMember")
STATES |= {
    name: StateClass(
        "committee.automatic." + home,
        name,
        ("classify", "categories", "classes_", *own),
        ("_left_out",) if name in _LEAVES_OUT else (),
    )
    for name, (home, own) in _PLAIN.items()
}

#: Algorithms of AdaBoost and arcing: the name in files, module and class.
_ALGORITHMS = {
    "DiscreteRule": ("algorithms", "DiscreteAdaBoost"),
    "SammeRule": ("algorithms", "Samme"),
    "SammeRRule": ("algorithms", "SammeR"),
    "RealRule": ("algorithms", "RealAdaBoost"),
    "GentleRule": ("additive", "GentleAdaBoost"),
    "LogitRule": ("additive", "LogitBoost"),
    "MajorityRule": ("arcing", "EqualVotes"),
}
STATES |= {name: StateClass("committee.ensembles.adaboost." + home, own) for name, (home, own) in _ALGORITHMS.items()}

#: Fitted attributes that predictions do not need; `strip=True` leaves them out. Arenas are stripped likewise.
_TRAINING_ONLY = frozenset(
    {"oob_decision_function_", "oob_prediction_", "oob_trace_", "oof_decision_function_", "oof_prediction_"}
    | {"_importances", "_gains", "_oob_halves", "_oob_labels", "_shapes"}
)

_NAMES = {(entry.home, entry.name): name for name, entry in STATES.items()}


def is_training_only(attribute: str) -> bool:
    """Whether a fitted attribute is of no use to a model that only predicts."""
    return attribute in _TRAINING_ONLY


def is_estimator(cls: type) -> bool:
    """Whether a class is an estimator that this package exports (a subclass by someone else is not)."""
    return issubclass(cls, CommitteeEstimator) and find_estimator(cls.__name__) is cls


def find_estimator(name: str) -> type[CommitteeEstimator] | None:
    """The exported estimator of that name, if there is one."""
    found = getattr(committee, name) if name in committee.__all__ else None
    return found if inspect.isclass(found) and issubclass(found, CommitteeEstimator) else None


def name_state(cls: type) -> str | None:
    """The name that files use for a class of fitted state; None if they may not hold it."""
    return _NAMES.get((cls.__module__, cls.__qualname__))


def load_state_class(name: str) -> type[Any]:
    """The class of that name, which must be one of `STATES`."""
    entry = STATES[name]
    found: type[Any] = getattr(import_module(entry.home), entry.name)
    return found


def is_default_none(value: object, field: str) -> bool:
    """Whether a field of a dataclass is None, as it is by default."""
    known = getattr(value, "__dataclass_fields__", {}).get(field)
    return known is not None and known.default is None and getattr(value, field) is None


def list_fields(name: str, cls: type[Any]) -> tuple[dict[str, bool], tuple[str, ...]]:
    """The fields of a class with whether a file may lack them, and the attributes that a loaded one has as None.

    A file may lack a field that has a default value: it was written before there was such a field.
    """
    entry = STATES[name]
    if entry.fields:
        return dict.fromkeys(entry.fields, False), entry.blank
    has_default = {f.name: f.default is not dataclasses.MISSING for f in dataclasses.fields(cls) if f.init}
    return has_default, entry.blank
