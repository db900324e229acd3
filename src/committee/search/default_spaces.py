"""What a search sets when no space is given: the parameters that matter most, by kind of estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from committee.ensembles.boosting.settings import FEATURE_SHARE, LEAF_ROWS, resolve_settings
from committee.exceptions import ParameterError
from committee.search.growth import find_last_step
from committee.search.space import IntegerRange, RealRange

if TYPE_CHECKING:
    from committee.typing import EstimatorLike

__all__ = ["default_space", "list_starts"]

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
        "learning_rate": RealRange(0.02, 0.2, log=True),
        "max_leaf_nodes": IntegerRange(4, 128, log=True),
        "min_samples_leaf": IntegerRange(1, 100, log=True),
        "max_features": RealRange(0.2, 1.0),
        "subsample": RealRange(0.4, 1.0),
        "reg_lambda": RealRange(0.01, 100.0, log=True),
        "growth": ["mixed", "leaf"],
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

_STARTED = ("max_leaf_nodes", "min_samples_leaf", "max_features", "subsample", "reg_lambda", "growth")
_STARTS: dict[str, list[tuple[Any, ...]]] = {
    "GradientBoosting": [
        (21, 9, 0.25, 0.9, 0.1, "mixed"),
        (16, 14, 0.9, 0.9, 0.2, "leaf"),
        (14, 20, 0.45, 0.9, 0.1, "mixed"),
        (8, 3, 0.85, 0.6, 0.1, "leaf"),
        (14, 20, 0.7, 0.9, 50.0, "mixed"),
        (77, 40, 0.3, 0.7, 0.2, "leaf"),
    ],
}
"""What the candidates of `TPESearch` begin with: settings that were among the best of 40 random ones on several tables
(samples of adult, diamonds, airlines, german credit). They were found with ``growth="leaf"``."""


def list_starts(estimator: EstimatorLike, n_rows: int) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The parameters of an estimator as it is, with values in place of "auto", and good ones to begin with.

    Parameters
    ----------
    estimator : estimator
        As the user gave it.
    n_rows : int
        The number of training rows of a fold.

    Returns
    -------
    tuple of dict and list of dict
        Those of the estimator, and the others.

    Examples
    --------
    >>> from committee import GradientBoostingClassifier
    >>> given, starts = list_starts(GradientBoostingClassifier(reg_lambda=0.5), 1000)
    >>> given["max_leaf_nodes"], given["reg_lambda"], given["growth"], starts[0]["max_leaf_nodes"]
    (31, 0.5, 'mixed', 21)
    """
    prefix, last = find_last_step(estimator)
    starts = _STARTS.get(_find_kind(last), [])
    if not starts:
        return {}, []
    settings = resolve_settings(last)
    names = _STARTED if _may_choose_growth(last) else _STARTED[:-1]
    given = {prefix + name: getattr(settings, name) for name in names}
    if settings.min_samples_leaf is None:
        given[f"{prefix}min_samples_leaf"] = LEAF_ROWS
    if settings.max_features == "auto":
        given[f"{prefix}max_features"] = FEATURE_SHARE
    if "growth" in names:
        given[f"{prefix}growth"] = settings.find_growth_of(n_rows)
    return given, [dict(zip(given, own, strict=False)) for own in starts]


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
    kind = _find_kind(last)
    space = _SPACES.get(kind, {})
    if kind == "RandomForest" and not getattr(last, "bootstrap", True):
        space = {name: values for name, values in space.items() if name != "max_samples"}
    if "growth" in space and not _may_choose_growth(last):
        space = {name: values for name, values in space.items() if name != "growth"}
    if not space:
        known = ", ".join(sorted(name for name, found in _SPACES.items() if found))
        raise ParameterError(
            f"There is no default space for {type(last).__name__}: give 'param_distributions'. Default spaces exist "
            f"for the estimators of these kinds: {known}."
        )
    return {prefix + name: values for name, values in space.items()}


def _may_choose_growth(last: EstimatorLike) -> bool:
    """Whether boosting was left to choose how its trees grow, and mixed growth is possible."""
    return resolve_settings(last).growth == "auto" and getattr(last, "engine", "cpu") != "gpu"


def _find_kind(last: EstimatorLike) -> str:
    """The name of an estimator of this library without its task; nothing for others."""
    if type(last).__module__.partition(".")[0] != "committee":
        return ""
    return type(last).__name__.removesuffix("Classifier").removesuffix("Regressor")
