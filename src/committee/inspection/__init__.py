"""Looking at estimators and ensembles: what their error is made of, and what each feature does in them."""

from __future__ import annotations

from committee.inspection.bias_variance import BagVariance, BiasVariance, estimate_bias_variance, measure_bag_variance
from committee.inspection.bootstrap_error import BootstrapError, estimate_bootstrap_error
from committee.inspection.shap import ShapValues, shap_values

__all__ = [
    "BagVariance",
    "BiasVariance",
    "BootstrapError",
    "ShapValues",
    "estimate_bias_variance",
    "estimate_bootstrap_error",
    "measure_bag_variance",
    "shap_values",
]
