"""Plots. This is the only package that imports matplotlib, and only when something is drawn.

Displays follow scikit-learn's convention: they are made by ``from_estimator`` (or, from results that exist already, by
``from_predictions`` and the like), draw on ``ax`` or on a new figure, and store the data and the artists.
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
from committee.plots.shapes import ShapeDisplay
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
    "ShapeDisplay",
    "StagedCurveDisplay",
    "TreeDisplay",
    "VCBoundDisplay",
    "animate_rounds",
    "plot_tree",
]
