"""How an estimator grows: which parameter counts its members, up to where, and who chooses the number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from committee.base import CommitteeEstimator

if TYPE_CHECKING:
    from collections.abc import Collection

    from committee.typing import EstimatorLike

__all__ = ["GrowthPlan", "find_last_step", "plan_growth"]

_MANY_ROWS = 10_000
"""Rows above which early_stopping="auto" of the `HistGradientBoosting*` stops early."""


@dataclass(frozen=True)
class GrowthPlan:
    """How the candidates of a search grow.

    Attributes
    ----------
    parameter : str
        Name of the parameter that counts members or rounds, as `set_params` of the estimator takes it.
    last : int
        The most members.
    finds_rounds : bool
        Whether the search finds the number of rounds, in place of the estimator's own early stopping.
    settings : dict
        Parameters that every candidate has while the search grows it.
    """

    parameter: str
    last: int
    finds_rounds: bool = False
    settings: dict[str, Any] = field(default_factory=dict)


def find_last_step(estimator: EstimatorLike) -> tuple[str, EstimatorLike]:
    """The estimator at the end of a pipeline, and the prefix of its parameters.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from committee import RandomForestClassifier
    >>> find_last_step(make_pipeline(StandardScaler(), RandomForestClassifier()))
    ('randomforestclassifier__', RandomForestClassifier())
    """
    if not isinstance(estimator, Pipeline):
        return "", estimator
    name, last = estimator.steps[-1]
    return f"{name}__", last


def plan_growth(estimator: EstimatorLike, searched: Collection[str], n_rows: int) -> GrowthPlan | None:
    """How an estimator grows by warm starts; None if it does not, or if the space has the number of its members.

    Parameters
    ----------
    estimator : estimator
        As the user gave it.
    searched : collection of str
        Names of the parameters of the space.
    n_rows : int
        Number of training rows.

    Examples
    --------
    >>> from committee import GradientBoostingClassifier, RandomForestClassifier
    >>> plan_growth(GradientBoostingClassifier(), (), 1000).finds_rounds
    True
    >>> plan_growth(RandomForestClassifier(n_estimators=50), (), 1000)
    GrowthPlan(parameter='n_estimators', last=50, finds_rounds=False, settings={'warm_start': True})
    """
    prefix, last = find_last_step(estimator)
    params = last.get_params(deep=False) if isinstance(last, CommitteeEstimator) else {}
    parameter = "max_iter" if "max_iter" in params else "n_estimators"
    if not {parameter, "warm_start"} <= params.keys() or prefix + parameter in searched or params["warm_start"]:
        return None
    settings: dict[str, Any] = {"warm_start": True}
    finds, stops, count = False, params.get("early_stopping", False), params[parameter]
    if "defaults" in params:
        if params["boosting"] == "dart" or stops == "oob" or params.get("init") is not None:
            return None
        tuned = params["defaults"] == "tuned" or (params["defaults"] == "auto" and (count == "auto" or stops is True))
        patient = params["n_iter_no_change"] != "auto" or tuned
        finds = stops is True or (stops == "auto" and patient and params["n_iter_no_change"] is not None)
        settings |= {"early_stopping": False, "defaults": "tuned" if tuned else "scikit-learn"}
        count = (1000 if tuned else 100) if count == "auto" else count
    elif "early_stopping" in params:
        finds = stops is True or (stops == "auto" and n_rows > _MANY_ROWS)
        settings["early_stopping"] = False
    if getattr(last, "oob_patience", None) is not None:
        return None
    named = {prefix + name: value for name, value in settings.items()}
    return GrowthPlan(prefix + parameter, int(count), finds, named)
