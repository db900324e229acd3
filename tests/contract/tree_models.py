"""Trees of every kind, small data for them, and everything that a fitted one answers: for the contract's tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee import (
    DecisionStumpClassifier,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

CLASS_CRITERIA = ("gini", "entropy", "log_loss", "gain_ratio")
VALUE_CRITERIA = ("squared_error", "absolute_error", "poisson")
MODELS: dict[str, tuple[Any, dict[str, Any]]] = {
    **{name: (DecisionTreeClassifier, {"criterion": name}) for name in CLASS_CRITERIA},
    **{name: (DecisionTreeRegressor, {"criterion": name}) for name in VALUE_CRITERIA},
    "stump": (DecisionStumpClassifier, {}),
    "stump of gini": (DecisionStumpClassifier, {"criterion": "gini"}),
    "extra classes": (ExtraTreeClassifier, {}),
    "extra values": (ExtraTreeRegressor, {}),
    "extra absolute error": (ExtraTreeRegressor, {"criterion": "absolute_error"}),
    "exact gini": (DecisionTreeClassifier, {"exact": True}),
    "exact squared error": (DecisionTreeRegressor, {"exact": True}),
    "exact extra values": (ExtraTreeRegressor, {"exact": True}),
    "best-first classes": (DecisionTreeClassifier, {"max_leaf_nodes": 15}),
    "best-first values": (DecisionTreeRegressor, {"max_leaf_nodes": 15}),
    "drawn features": (DecisionTreeClassifier, {"max_features": 2}),
    "monotonic": (DecisionTreeRegressor, {"monotonic_cst": [1, 0, -1, 0]}),
    "pruned": (DecisionTreeRegressor, {"ccp_alpha": 0.01}),
}
"""Models by name; the data below have the four features that the constraints name."""


def make_model(name: str, **params: Any) -> Any:
    cls, fixed = MODELS[name]
    known = cls().get_params()
    return cls(**{k: v for k, v in {"random_state": 5, **fixed, **params}.items() if k in known})


def is_classifier(name: str) -> bool:
    return "Classifier" in MODELS[name][0].__name__


def draw_data(
    name: str, n_rows: int, seed: int = 0, n_classes: int = 3, n_values: int | None = None
) -> tuple[Any, Any]:
    """A table with missing values and a target that depends on it; coarse if `n_values` is given."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 4))
    if n_values is not None:
        X = rng.integers(0, n_values, size=(n_rows, 4)).astype(float)
    signal = X[:, 0] - X[:, 1] * X[:, 2] + rng.normal(size=n_rows)
    signal = np.clip((signal - signal.mean()) / signal.std(), -3, 3)
    X[rng.random(X.shape) < 0.05] = np.nan
    if is_classifier(name):
        y = np.digitize(signal, np.linspace(-1, 1, n_classes + 1)[1:-1])
        y[:n_classes] = np.arange(n_classes)
        return X, y
    return X, np.round(signal + 3, 1 if n_values is not None else 6)


def describe_model(model: Any) -> dict[str, Any]:
    """The inside of a fitted tree, as arrays in the order of its nodes."""
    tree = model.tree_
    names = ("children_left", "children_right", "feature", "threshold", "missing_go_to_left", "impurity", "value")
    return {name: np.asarray(getattr(tree, name)) for name in names} | {"importances": model.feature_importances_}


def ask_model(model: Any, X: Any, **params: Any) -> dict[str, Any]:
    """Everything that a fitted tree answers to rows."""
    answers = {"predict": model.predict(X), "apply": model.apply(X)}
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(X)
        answers["predict_proba"] = np.hstack(shares) if isinstance(shares, list) else shares
    return answers


def assert_same_bytes(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert one.keys() == other.keys()
    for name, array in one.items():
        assert array.dtype == other[name].dtype
        np.testing.assert_array_equal(array, other[name], err_msg=name)


def assert_same_splits(one: dict[str, Any], other: dict[str, Any]) -> None:
    """The same questions in the same places; numbers that are sums of floats may differ in their last bits."""
    for name in ("children_left", "feature", "threshold", "missing_go_to_left"):
        np.testing.assert_array_equal(one[name], other[name], err_msg=name)
    np.testing.assert_allclose(one["importances"], other["importances"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(one["impurity"], other["impurity"], rtol=1e-9, atol=1e-12)
