"""Pictures; the only room that imports matplotlib, and only when something is drawn.

Every display follows scikit-learn's convention: it is made by ``from_estimator`` (or ``from_predictions`` and the like,
from what was measured before), draws on ``ax`` or on a figure of its own, and holds what it shows and what it drew.
"""

from committee.plots.animation import animate_rounds
from committee.plots.bias_variance import BagVarianceDisplay, BiasVarianceDisplay
from committee.plots.boundary import DecisionBoundaryDisplay, DecisionBoundaryGridDisplay
from committee.plots.bounds import EdgeDisplay, ErrorBoundDisplay, VCBoundDisplay
from committee.plots.calibration import CalibrationDisplay
from committee.plots.curves import LearningCurveDisplay, OutOfBagDisplay, StagedCurveDisplay
from committee.plots.dependence import PartialDependenceDisplay
from committee.plots.diversity import JuryDisplay, KappaErrorDisplay
from committee.plots.effects import InteractionDisplay, LocalEffectsDisplay
from committee.plots.importance import ImportanceDisplay, ImportanceMapDisplay
from committee.plots.margins import MarginDisplay
from committee.plots.pair_effects import PairEffectsDisplay
from committee.plots.proximity import ProximityDisplay
from committee.plots.shap import ShapSummaryDisplay, ShapWaterfallDisplay
from committee.plots.tree import plot_tree
from committee.plots.tree_display import TreeDisplay
from committee.plots.weights import HeaviestRowsDisplay, RowWeightsDisplay

__all__ = [
    "BagVarianceDisplay",
    "BiasVarianceDisplay",
    "CalibrationDisplay",
    "DecisionBoundaryDisplay",
    "DecisionBoundaryGridDisplay",
    "EdgeDisplay",
    "ErrorBoundDisplay",
    "HeaviestRowsDisplay",
    "ImportanceDisplay",
    "ImportanceMapDisplay",
    "InteractionDisplay",
    "JuryDisplay",
    "KappaErrorDisplay",
    "LearningCurveDisplay",
    "LocalEffectsDisplay",
    "MarginDisplay",
    "OutOfBagDisplay",
    "PairEffectsDisplay",
    "PartialDependenceDisplay",
    "ProximityDisplay",
    "RowWeightsDisplay",
    "ShapSummaryDisplay",
    "ShapWaterfallDisplay",
    "StagedCurveDisplay",
    "TreeDisplay",
    "VCBoundDisplay",
    "animate_rounds",
    "plot_tree",
]
