"""Inspection of estimators and ensembles: components of the error, and the effects of features."""

from __future__ import annotations

from committee.inspection.bias_variance import BagVariance, BiasVariance, estimate_bias_variance, measure_bag_variance
from committee.inspection.bootstrap_error import BootstrapError, estimate_bootstrap_error
from committee.inspection.bounds import edge_bound, vc_bound
from committee.inspection.dependence import partial_dependence
from committee.inspection.diversity import Diversity, measure_diversity
from committee.inspection.drop_column import drop_column_importance
from committee.inspection.effects import Interactions, accumulated_local_effects, friedman_h
from committee.inspection.importance import (
    Importance,
    impurity_importance,
    oob_importance,
    permutation_importance,
    shap_importance,
)
from committee.inspection.majority_vote import JuryCurve, measure_jury
from committee.inspection.margins import measure_margins, suspect_labels, weigh_rows
from committee.inspection.one_target import OneTarget
from committee.inspection.pair_effects import accumulated_pair_effects
from committee.inspection.proximity import measure_proximity, scale_proximity
from committee.inspection.shap import ShapValues, shap_values

__all__ = [
    "BagVariance",
    "BiasVariance",
    "BootstrapError",
    "Diversity",
    "Importance",
    "Interactions",
    "JuryCurve",
    "OneTarget",
    "ShapValues",
    "accumulated_local_effects",
    "accumulated_pair_effects",
    "drop_column_importance",
    "edge_bound",
    "estimate_bias_variance",
    "estimate_bootstrap_error",
    "friedman_h",
    "impurity_importance",
    "measure_bag_variance",
    "measure_diversity",
    "measure_jury",
    "measure_margins",
    "measure_proximity",
    "oob_importance",
    "partial_dependence",
    "permutation_importance",
    "scale_proximity",
    "shap_importance",
    "shap_values",
    "suspect_labels",
    "vc_bound",
    "weigh_rows",
]
