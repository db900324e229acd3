"""What a search sets when no space is given: the parameters that matter most, by kind of estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from committee.exceptions import ParameterError
from committee.search.growth import find_last_step
from committee.search.space import IntegerRange, RealRange

if TYPE_CHECKING:
    from committee.typing import EstimatorLike

__all__ = ["default_space"]

_TREES: dict[str, Any] = {
    "max_depth": [None, 2, 3, 4, 6, 8, 12, 16],
    "min_samples_leaf": IntegerRange(1, 100, log=True),
    "max_features": RealRange(0.2, 1.0),
}
_FORESTS: dict[str, Any] = {
    "max_features": RealRange(0.05, 1.0),
    "min_samples_leaf": IntegerRange(1, 30, log=True),
    "max_leaf_nodes": [None, None, None, 4096, 1024, 256],
}
_ADABOOST: dict[str, Any] = {"learning_rate": RealRange(0.03, 2.0, log=True)}
_BAGS: dict[str, Any] = {"max_samples": RealRange(0.2, 1.0), "max_features": RealRange(0.3, 1.0)}
_SPACES: dict[str, dict[str, Any]] = {
    "GradientBoosting": {
        "learning_rate": RealRange(0.03, 0.2, log=True),
        "max_leaf_nodes": IntegerRange(4, 128, log=True),
        "min_samples_leaf": IntegerRange(1, 100, log=True),
        "max_features": RealRange(0.2, 1.0),
        "subsample": RealRange(0.4, 1.0),
        "reg_lambda": RealRange(0.01, 100.0, log=True),
    },
    "HistGradientBoosting": {
        "learning_rate": RealRange(0.02, 0.3, log=True),
        "max_leaf_nodes": IntegerRange(4, 128, log=True),
        "min_samples_leaf": IntegerRange(1, 100, log=True),
        "max_features": RealRange(0.2, 1.0),
        "l2_regularization": RealRange(0.01, 100.0, log=True),
    },
    "GradientBoostingSurvivalAnalysis": {
        "learning_rate": RealRange(0.02, 0.3, log=True),
        "max_depth": [2, 3, 4, 6],
        "min_samples_leaf": IntegerRange(1, 100, log=True),
        "max_features": RealRange(0.2, 1.0),
        "l2_regularization": RealRange(0.01, 100.0, log=True),
        "n_estimators": IntegerRange(30, 400, log=True),
    },
    "RandomSurvivalForest": {
        "max_features": RealRange(0.05, 1.0),
        "min_samples_leaf": IntegerRange(1, 60, log=True),
        "max_samples": [None, None, 0.9, 0.7, 0.5],
    },
    "RandomForest": {**_FORESTS, "max_samples": [None, None, 0.9, 0.7, 0.5]},
    "ExtraTrees": _FORESTS,
    "DecisionTree": _TREES,
    "ExtraTree": _TREES,
    "AdaBoost": _ADABOOST,
    "Arcing": {},
    "Bagging": _BAGS,
}
# Boosting of other targets has the parameters of boosting.
_SPACES |= dict.fromkeys(
    ("GradientBoostingRanker", "OrdinalGradientBoosting", "DistributionalBoosting"), _SPACES["GradientBoosting"]
)


def default_space(estimator: EstimatorLike) -> dict[str, Any]:
    """The space that a search uses when it is given none.

    Parameters
    ----------
    estimator : estimator
        An estimator of this library, or a pipeline whose last step is one.

    Returns
    -------
    dict
        Names of parameters, with lists or distributions.

    Examples
    --------
    >>> from committee import RandomForestClassifier
    >>> from committee.search import default_space
    >>> sorted(default_space(RandomForestClassifier()))
    ['max_features', 'max_leaf_nodes', 'max_samples', 'min_samples_leaf']
    """
    prefix, last = find_last_step(estimator)
    kind = type(last).__name__
    for suffix in ("Classifier", "Regressor"):
        kind = kind.removesuffix(suffix)
    own = type(last).__module__.partition(".")[0] == "committee"
    space = _SPACES.get(kind, {}) if own else {}
    if kind == "RandomForest" and not getattr(last, "bootstrap", True):
        space = {name: values for name, values in space.items() if name != "max_samples"}
    if not space:
        known = ", ".join(sorted(name for name, found in _SPACES.items() if found))
        raise ParameterError(
            f"There is no default space for {type(last).__name__}: give 'param_distributions'. Default spaces exist "
            f"for the estimators of these kinds: {known}."
        )
    return {prefix + name: values for name, values in space.items()}
