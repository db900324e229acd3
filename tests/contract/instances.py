"""An instance of every exported estimator; those that are made of others get members of this library."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

import committee


def fill_required(cls: Any) -> dict[str, Any]:
    """Arguments that a constructor asks for and has no default of: the members of a committee."""
    if "portfolio" in inspect.signature(cls).parameters:
        # One member of each kind shows all that the automatic committee promises.
        return {"portfolio": ["linear", "forest", "neighbours"]}
    if "estimators" not in inspect.signature(cls).parameters:
        return {}
    kind = "Classifier" if cls.__name__.endswith("Classifier") else "Regressor"
    tree, extra = getattr(committee, f"DecisionTree{kind}"), getattr(committee, f"ExtraTree{kind}")
    members = [("shallow", tree(max_depth=3, random_state=1)), ("deep", tree(max_depth=6, random_state=2))]
    filled: dict[str, Any] = {"estimators": [*members, ("extra", extra(max_depth=5, random_state=3))]}
    if "final_estimator" in inspect.signature(cls).parameters:
        # What is made of others keeps the promises that these keep; the usual logistic model knows no gaps and
        # changes with the scale of the weights.
        filled["final_estimator"] = tree(max_depth=2, random_state=4)
    return filled


def make_instance(cls: Any, **params: Any) -> Any:
    known = inspect.signature(cls).parameters
    return cls(**fill_required(cls), **{k: v for k, v in params.items() if k in known})


def shape_target(model: Any, signal: Any) -> Any:
    """Numbers as an estimator of numbers takes them: relevances are whole and not negative, times positive."""
    if "Survival" in type(model).__name__:
        return np.exp(signal)
    if model.__sklearn_tags__().target_tags.positive_only:
        return np.clip(np.round(signal - np.min(signal)), 0.0, 31.0)
    return signal
