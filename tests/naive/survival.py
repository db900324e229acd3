"""Survival analysis by the definitions: pairs, risk sets and log-rank tables, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np


def find_concordance(event: Any, time: Any, risk: Any, earlier: Any = None, later: Any = None) -> float:
    """Sums over all pairs of rows."""
    n = len(time)
    earlier = np.ones(n) if earlier is None else earlier
    later = np.ones(n) if later is None else later
    right = total = 0.0
    for i in range(n):
        for j in range(n):
            comparable = event[i] and (time[i] < time[j] or (time[i] == time[j] and not event[j]))
            if i == j or not comparable:
                continue
            weight = earlier[i] * later[j]
            total += weight
            right += weight * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return right / total


def log_rank(event: Any, time: Any, left: Any, weights: Any = None) -> float:
    """The log-rank statistic of the rows on the left against the others; a weight counts rows."""
    weights = np.ones(len(time)) if weights is None else np.asarray(weights, dtype=float)
    difference = variance = 0.0
    for t in np.unique(time[event]):
        at_risk = time >= t
        died = event & (time == t)
        y, d = weights[at_risk].sum(), weights[died].sum()
        y_left, d_left = weights[at_risk & left].sum(), weights[died & left].sum()
        difference += d_left - y_left * d / y
        if y > 1.0:
            variance += y_left / y * (1.0 - y_left / y) * d * (y - d) / (y - 1.0)
    return difference**2 / variance if variance > 0.0 else 0.0


def nelson_aalen(event: Any, time: Any, weights: Any, at: float) -> float:
    """Cumulative hazard until a time."""
    return sum(
        weights[event & (time == t)].sum() / weights[time >= t].sum()
        for t in np.unique(time[event & (weights > 0)])
        if t <= at
    )


def kaplan_meier(event: Any, time: Any, weights: Any, at: float) -> float:
    """Probability to survive a time."""
    survival = 1.0
    for t in np.unique(time[event & (weights > 0)]):
        if t <= at:
            survival *= 1.0 - weights[event & (time == t)].sum() / weights[time >= t].sum()
    return survival


def remain_uncensored(event: Any, time: Any, at: float) -> float:
    """Kaplan-Meier of censoring; at equal times events come first."""
    survival = 1.0
    for t in np.unique(time[~event]):
        if t <= at:
            at_risk = (time >= t).sum() - (event & (time == t)).sum()
            survival *= 1.0 - (~event & (time == t)).sum() / at_risk
    return survival


def brier_score(train: tuple[Any, Any], event: Any, time: Any, survival: Any, at: float) -> float:
    """At one time, with the censoring of the training rows."""
    total = 0.0
    for e, t, s in zip(event, time, survival, strict=True):
        if t <= at:
            total += s**2 / remain_uncensored(*train, t) if e else 0.0
        else:
            total += (1.0 - s) ** 2 / remain_uncensored(*train, at)
    return total / len(time)


def dynamic_auc(train: tuple[Any, Any], event: Any, time: Any, risk: Any, at: float) -> float:
    """Pairs of a row with an event until a time and a row that survives it."""
    right = total = 0.0
    for i in np.flatnonzero(event & (time <= at)):
        weight = 1.0 / remain_uncensored(*train, time[i])
        for j in np.flatnonzero(time > at):
            total += weight
            right += weight * (1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0)
    return right / total
