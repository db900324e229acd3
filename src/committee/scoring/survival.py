"""Scores of survival models: concordance, Brier scores and areas under curves, with weights for censoring.

y is a survival target: a structured array or frame of a boolean event and a time (`make_survival_target`). A risk is a
number that is larger for rows whose event is expected earlier, as `predict` of the survival models gives it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.survival_targets import encode_survival
from committee.data.weights import read_sample_weight
from committee.engines import get_engine
from committee.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.data.survival_targets import SurvivalTarget
    from committee.typing import EstimatorLike, FloatArray

__all__ = [
    "BrierScorer",
    "StepCurve",
    "brier_scores",
    "concordance_index",
    "concordance_index_ipcw",
    "cumulative_dynamic_auc",
    "estimate_survival",
    "integrated_brier_score",
]

_NAME = "a survival score"


@dataclass(frozen=True)
class StepCurve:
    """A function of time that is constant between its steps and continuous from the right.

    Attributes
    ----------
    times : ndarray of shape (n_steps,)
        Where it changes, ascending.
    heights : ndarray of shape (n_steps,)
        Its values from each of these times on.
    start : float
        Its value before the first.

    Examples
    --------
    >>> from committee.scoring import StepCurve
    >>> curve = StepCurve(np.array([1.0, 2.0]), np.array([0.5, 0.0]))
    >>> curve([0.0, 1.0, 1.5, 2.0])
    array([1. , 0.5, 0.5, 0. ])
    """

    times: FloatArray
    heights: FloatArray
    start: float = 1.0

    def __call__(self, at: ArrayLike) -> FloatArray:
        """The values at some times."""
        steps = np.searchsorted(self.times, np.asarray(at, dtype=np.float64), side="right")
        return np.concatenate(([self.start], self.heights))[steps]


def concordance_index(y: Any, risk: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """Harrell's concordance: the share of comparable pairs that the risks put in the right order [Harrell1996].

    A pair is comparable if the earlier of its times is an observed event; at equal times, if one of the rows is
    censored, which then counts as the later one. Equal risks count one half. It takes O(n log n).

    Parameters
    ----------
    y : structured array, or frame or array of two columns (event, time), of shape (n_rows,)
        The survival target.
    risk : array-like of shape (n_rows,)
        Larger for rows whose event is expected earlier.
    sample_weight : array-like of shape (n_rows,), optional
        A pair counts as often as the product of its weights.

    Returns
    -------
    float
        1 if all comparable pairs are in order, one half for risks that know nothing.

    Examples
    --------
    >>> from committee import make_survival_target
    >>> from committee.scoring import concordance_index
    >>> y = make_survival_target(event=[1, 1, 0, 1], time=[1.0, 2.0, 2.5, 4.0])
    >>> concordance_index(y, [3.0, 1.0, 2.0, 0.5])
    0.8
    """
    target, risks = _read_rows(y, risk)
    weights = _read_weights(sample_weight, len(risks))
    return _find_concordance(target, risks, np.where(target.event, weights, 0.0), weights)


def concordance_index_ipcw(
    y_train: Any, y: Any, risk: ArrayLike, *, tau: float | None = None, sample_weight: ArrayLike | None = None
) -> float:
    """Uno's concordance: pairs are weighted by the inverse probability of not being censored [Uno2011].

    It estimates the concordance that would be seen without censoring, up to the time ``tau``. Equal risks count one
    half.

    Parameters
    ----------
    y_train : as y
        Rows from which the distribution of censoring is estimated.
    y : structured array, or frame or array of two columns (event, time), of shape (n_rows,)
        The survival target of the rows that are scored.
    risk : array-like of shape (n_rows,)
        Larger for rows whose event is expected earlier.
    tau : float, optional
        Events from this time on do not count; by default all do.
    sample_weight : array-like of shape (n_rows,), optional
        A pair counts as often as the product of its weights.

    Returns
    -------
    float

    Examples
    --------
    >>> from committee import make_survival_target
    >>> from committee.scoring import concordance_index_ipcw
    >>> y = make_survival_target(event=[1, 0, 1, 1], time=[1.0, 2.0, 3.0, 4.0])
    >>> round(concordance_index_ipcw(y, y, [4.0, 3.0, 1.0, 2.0]), 3)
    0.571
    """
    target, risks = _read_rows(y, risk)
    weights = _read_weights(sample_weight, len(risks))
    counted = target.event if tau is None else target.event & (target.time < float(tau))
    inverse = np.zeros(len(risks))
    remaining = _estimate_censoring(encode_survival(y_train, None, _NAME))(target.time[counted])
    if not (remaining > 0.0).all():
        raise DataError(
            "At the time of an event all training rows are censored, so that it has no weight; set 'tau' to a time "
            "before."
        )
    inverse[counted] = weights[counted] / remaining**2
    return _find_concordance(target, risks, inverse, weights)


def brier_scores(y_train: Any, y: Any, survival: ArrayLike, times: ArrayLike) -> FloatArray:
    """Brier score at each of some times: the mean squared error of the probability to survive it [Graf1999].

    Rows that are censored before a time do not count there; the others are weighted by the inverse probability of
    not being censored.

    Parameters
    ----------
    y_train : as y
        Rows from which the distribution of censoring is estimated.
    y : structured array, or frame or array of two columns (event, time), of shape (n_rows,)
        The survival target of the rows that are scored.
    survival : array-like of shape (n_rows, n_times)
        Probability to survive each time, as `predict_survival_function` gives it.
    times : array-like of shape (n_times,)
        Times, ascending.

    Returns
    -------
    ndarray of shape (n_times,)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import make_survival_target
    >>> from committee.scoring import brier_scores
    >>> y = make_survival_target(event=[1, 1, 1, 1], time=[1.0, 2.0, 3.0, 4.0])
    >>> brier_scores(y, y, [[0.0, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0]], [1.5, 2.5])
    array([0.    , 0.0625])
    """
    target, at = encode_survival(y, None, _NAME), _read_times(times)
    probabilities = np.asarray(survival, dtype=np.float64)
    if probabilities.shape != (len(target.time), len(at)):
        raise DataError(
            f"survival must have the shape (n_rows, n_times), {(len(target.time), len(at))}; got {probabilities.shape}."
        )
    censoring = _estimate_censoring(encode_survival(y_train, None, _NAME))
    with np.errstate(divide="ignore"):
        at_event, at_time = 1.0 / censoring(target.time), 1.0 / censoring(at)
    at_event[~np.isfinite(at_event)], at_time[~np.isfinite(at_time)] = 0.0, 0.0
    passed = target.time[:, None] <= at
    died = (passed & target.event[:, None]) * at_event[:, None]
    errors = np.where(passed, probabilities**2 * died, (1.0 - probabilities) ** 2 * at_time)
    return np.asarray(errors.mean(axis=0))


def integrated_brier_score(y_train: Any, y: Any, survival: ArrayLike, times: ArrayLike) -> float:
    """Mean of the Brier score over time, by the trapezoidal rule between the first and the last time [Graf1999].

    Parameters
    ----------
    y_train, y, survival, times
        As in `brier_scores`; two times at least.

    Returns
    -------
    float
        Smaller is better; 0.25 for a model that says one half everywhere.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import make_survival_target
    >>> from committee.scoring import integrated_brier_score
    >>> y = make_survival_target(event=[1, 1, 1, 1], time=[1.0, 2.0, 3.0, 4.0])
    >>> integrated_brier_score(y, y, np.full((4, 3), 0.5), [1.5, 2.5, 3.5])
    0.25
    """
    at = _read_times(times)
    if len(at) < 2:
        raise DataError(f"An integral needs two times at least; got {len(at)}.")
    scores = brier_scores(y_train, y, survival, at)
    return float(np.trapezoid(scores, at) / (at[-1] - at[0]))


def cumulative_dynamic_auc(y_train: Any, y: Any, risk: ArrayLike, times: ArrayLike) -> tuple[FloatArray, float]:
    """Area under the ROC curve at each of some times: rows with an event until then against rows that survive it.

    Events are weighted by the inverse probability of not being censored [Uno2007, Hung2010].

    Parameters
    ----------
    y_train : as y
        Rows from which the distribution of censoring is estimated.
    y : structured array, or frame or array of two columns (event, time), of shape (n_rows,)
        The survival target of the rows that are scored.
    risk : array-like of shape (n_rows,)
        Larger for rows whose event is expected earlier.
    times : array-like of shape (n_times,)
        Times, ascending, at which rows have had events and others are at risk.

    Returns
    -------
    areas : ndarray of shape (n_times,)
        NaN where there are no such pairs.
    mean : float
        Their mean, weighted by the decrease of the survival function between the times.

    Examples
    --------
    >>> from committee import make_survival_target
    >>> from committee.scoring import cumulative_dynamic_auc
    >>> y = make_survival_target(event=[1, 1, 1, 1], time=[1.0, 2.0, 3.0, 4.0])
    >>> areas, mean = cumulative_dynamic_auc(y, y, [4.0, 2.0, 3.0, 1.0], [1.5, 2.5])
    >>> areas, round(mean, 3)
    (array([1.  , 0.75]), 0.875)
    """
    target, risks = _read_rows(y, risk)
    at = _read_times(times)
    remaining = _estimate_censoring(encode_survival(y_train, None, _NAME))(target.time)
    with np.errstate(divide="ignore"):
        inverse = np.where(target.event & (remaining > 0.0), 1.0 / remaining, 0.0)
    order = np.argsort(risks, kind="stable")
    _, first = np.unique(risks[order], return_index=True)
    time, weight = target.time[order], inverse[order]
    areas = np.array([_find_area(time, weight, first, t) for t in at])
    survival = estimate_survival(y)(at)
    drops = -np.diff(np.concatenate(([1.0], survival)))
    known = np.isfinite(areas) & (drops > 0.0)
    mean = float(np.average(areas[known], weights=drops[known])) if known.any() else float(np.nan)
    return areas, mean


def _find_area(time: FloatArray, weight: FloatArray, first: Any, at: float) -> float:
    """Of rows in ascending order of risk; ``first`` are the positions at which the risk changes."""
    cases = np.add.reduceat(np.where(time <= at, weight, 0.0), first)
    controls = np.add.reduceat((time > at).astype(np.float64), first)
    n_pairs = cases.sum() * controls.sum()
    below = np.cumsum(controls) - 0.5 * controls
    return float((cases * below).sum() / n_pairs) if n_pairs > 0.0 else float(np.nan)


@dataclass(frozen=True)
class BrierScorer:
    """A scorer for cross-validation and searches: minus the integrated Brier score of the survival functions.

    Parameters
    ----------
    times : array-like of shape (n_times,), optional
        Times of the integral; by default 50 between the 10th and the 90th percentile of the times of the rows.
    y_train : survival target, optional
        Rows from which the distribution of censoring is estimated; by default those that are scored.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import cross_val_score
    >>> from committee import RandomSurvivalForest, make_survival_target
    >>> from committee.scoring import BrierScorer
    >>> X = np.arange(60.0).reshape(-1, 1)
    >>> y = make_survival_target(np.ones(60), 1.0 + X[:, 0])
    >>> forest = RandomSurvivalForest(n_estimators=10, random_state=0)
    >>> bool((cross_val_score(forest, X, y, scoring=BrierScorer(), cv=3) < 0.0).all())
    True
    """

    times: Any = None
    y_train: Any = None

    def __call__(self, estimator: EstimatorLike, X: Any, y: Any) -> float:
        """The score of a fitted model on some rows; larger is better."""
        target = encode_survival(y, None, _NAME)
        times = self.times
        if times is None:
            low, high = np.percentile(target.time, (10, 90))
            if not high > low:
                raise DataError("The times of the rows do not differ; give 'times' to BrierScorer.")
            times = np.linspace(low, high, 50)
        model: Any = estimator
        survival = model.predict_survival_function(X, times)
        return -integrated_brier_score(y if self.y_train is None else self.y_train, y, survival, times)


# --- estimates ---------------------------------------------------------------------------------------------------


def estimate_survival(y: Any, sample_weight: ArrayLike | None = None) -> StepCurve:
    """The Kaplan-Meier estimate of the probability to survive [KaplanMeier1958].

    Parameters
    ----------
    y : structured array, or frame or array of two columns (event, time), of shape (n_rows,)
        The survival target.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    StepCurve
        A function of time.

    Examples
    --------
    >>> from committee import make_survival_target
    >>> curve = estimate_survival(make_survival_target(event=[1, 0, 1], time=[1.0, 2.0, 3.0]))
    >>> curve([0.5, 1.0, 2.5, 3.0]).round(3)
    array([1.   , 0.667, 0.667, 0.   ])
    """
    target = encode_survival(y, None, _NAME)
    weights = _read_weights(sample_weight, len(target.time))
    times, at_risk, events, _ = _count_at_risk(target, weights)
    return StepCurve(times, np.asarray(np.cumprod(1.0 - events / at_risk), dtype=np.float64))


def _estimate_censoring(target: SurvivalTarget) -> StepCurve:
    """The Kaplan-Meier estimate of not being censored; at equal times events come before censoring."""
    times, at_risk, events, censored = _count_at_risk(target, np.ones(len(target.time)))
    left = at_risk - events
    with np.errstate(invalid="ignore"):
        steps = np.where(left > 0.0, 1.0 - censored / left, 1.0)
    return StepCurve(times, np.cumprod(steps).astype(np.float64))


def _count_at_risk(target: SurvivalTarget, weights: FloatArray) -> tuple[FloatArray, ...]:
    """Distinct times of rows with a weight, and at each the rows at risk, the events and the censored rows."""
    present = weights > 0.0
    times, index = np.unique(target.time[present], return_inverse=True)
    own, event = weights[present], target.event[present]
    leaving = np.bincount(index, weights=own, minlength=len(times)).astype(np.float64)
    events = np.bincount(index, weights=own * event, minlength=len(times)).astype(np.float64)
    at_risk: FloatArray = leaving[::-1].cumsum()[::-1]
    return times, at_risk, events, leaving - events


# --- reading -----------------------------------------------------------------------------------------------------


def _read_rows(y: Any, risk: ArrayLike) -> tuple[SurvivalTarget, FloatArray]:
    target = encode_survival(y, None, _NAME)
    risks = np.ascontiguousarray(risk, dtype=np.float64)
    if risks.shape != target.time.shape:
        raise DataError(f"There must be one risk for each of the {len(target.time)} rows; got shape {risks.shape}.")
    if not np.isfinite(risks).all():
        raise DataError("Risks must be finite numbers.")
    return target, risks


def _read_weights(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    return np.asarray(read_sample_weight(sample_weight, n_rows), dtype=np.float64)


def _read_times(times: ArrayLike) -> FloatArray:
    at = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if at.ndim != 1 or len(at) == 0 or not np.isfinite(at).all() or (np.diff(at) <= 0.0).any():
        raise DataError("times must be finite and ascending, each once.")
    return at


def _find_concordance(target: SurvivalTarget, risks: FloatArray, earlier: FloatArray, later: FloatArray) -> float:
    event = (target.event & (earlier > 0.0)).astype(np.uint8)
    # Rows whose event does not count may still be the later ones of a pair.
    time = np.ascontiguousarray(target.time)
    sums = get_engine().sum_comparable_pairs(event, time, risks, earlier, np.ascontiguousarray(later))
    concordant, discordant, tied, _ = sums
    total = concordant + discordant + tied
    if total <= 0.0:
        raise DataError("There is no comparable pair: no row has an observed event before the time of another.")
    return float((concordant + 0.5 * tied) / total)
