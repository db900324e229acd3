"""Learners that stand alone and serve as members of every ensemble."""

from committee.learners.export import export_graphviz, export_text
from committee.learners.stump import DecisionStumpClassifier
from committee.learners.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

__all__ = [
    "DecisionStumpClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "export_graphviz",
    "export_text",
]
