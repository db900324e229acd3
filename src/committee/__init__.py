"""Ensemble learning on one fast engine, behind scikit-learn's interface.

Every public name is importable from here and loaded when it is first used, so that ``import committee`` costs
little more than ``import sklearn.base``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from committee.learners import (
        DecisionStumpClassifier,
        DecisionTreeClassifier,
        DecisionTreeRegressor,
        ExtraTreeClassifier,
        ExtraTreeRegressor,
        export_graphviz,
        export_text,
    )
    from committee.plots import plot_tree

__version__ = "0.1.0"

# Where each public name lives; the imports above say the same to type checkers and editors.
_HOMES: dict[str, str] = {
    "DecisionStumpClassifier": "committee.learners",
    "DecisionTreeClassifier": "committee.learners",
    "DecisionTreeRegressor": "committee.learners",
    "ExtraTreeClassifier": "committee.learners",
    "ExtraTreeRegressor": "committee.learners",
    "export_graphviz": "committee.learners",
    "export_text": "committee.learners",
    "plot_tree": "committee.plots",
}

__all__ = [
    "DecisionStumpClassifier",
    "DecisionTreeClassifier",
    "DecisionTreeRegressor",
    "ExtraTreeClassifier",
    "ExtraTreeRegressor",
    "__version__",
    "export_graphviz",
    "export_text",
    "plot_tree",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'committee' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
