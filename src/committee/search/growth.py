"""How an estimator grows: which parameter counts its members, up to where, and who chooses the number."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sklearn.pipeline import Pipeline

from committee.base import CommitteeEstimator

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from committee.typing import EstimatorLike

__all__ = [
    "GrowthPlan",
    "choose_size",
    "find_last_gain",
    "find_last_step",
    "has_converged",
    "is_hopeless",
    "plan_growth",
]

_MANY_ROWS = 10_000
"""Rows above which early_stopping="auto" of the `HistGradientBoosting*` stops early."""
_CHUNK = 1.25
"""The number of members grows by this factor between two looks at the score, where the search finds the number."""
_FIRST = 10
_PATIENCE = 20
"""Rounds without a better score after which a candidate stops growing, at least; and a quarter of the best number."""
_SETTLED = 6.0
"""The sum of the learning rates of all rounds from which on the gain of the last doubling tells what is to come."""


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


def choose_size(size: int, last: int) -> int:
    """The number of rounds after which the score is looked at next.

    Examples
    --------
    >>> choose_size(0, 1000), choose_size(100, 1000), choose_size(900, 1000)
    (10, 125, 1000)
    """
    return min(last, max(size + _FIRST, int(size * _CHUNK)))


def has_converged(curve: Mapping[int, float]) -> bool:
    """Whether the best of some scores, by the number of rounds, lies long enough ago.

    Examples
    --------
    >>> has_converged({10: 0.5, 20: 0.7, 30: 0.6}), has_converged({10: 0.5, 20: 0.7, 30: 0.6, 40: 0.6})
    (False, True)
    """
    best = max(curve, key=lambda size: curve[size])
    return max(curve) - best >= max(_PATIENCE, best // 4)


def is_hopeless(curve: Mapping[int, float], best: float, rate: float | None = None) -> bool:
    """Whether a candidate would not reach the best score if the rounds to come brought the last gain again.

    The last gain is that of doubling the rounds. Where every doubling brings half of the one before or less, all
    doublings to come bring no more than the last one; slow learners, whose gains are large for long, go on.

    Parameters
    ----------
    curve : mapping
        Scores by the number of rounds.
    best : float
        The score to reach.
    rate : float, optional
        The learning rate: the smaller, the more rounds are waited for.

    Examples
    --------
    >>> is_hopeless({20: 0.5, 40: 0.6}, 0.8), is_hopeless({20: 0.5, 40: 0.6}, 0.8, rate=0.05)
    (True, False)
    """
    size = max(curve)
    if size < 4 * _FIRST or (rate is not None and size * rate < _SETTLED):
        return False
    return bool(max(curve.values()) + find_last_gain(curve) < best)


def find_last_gain(curve: Mapping[int, float]) -> float:
    """What the last doubling of the rounds brought, at least zero.

    Examples
    --------
    >>> find_last_gain({10: 0.5, 20: 0.75, 30: 0.8})
    0.30000000000000004
    """
    size = max(curve)
    half = max((own for own in curve if own <= size // 2), default=size)
    return max(curve[size] - curve[half], 0.0)
