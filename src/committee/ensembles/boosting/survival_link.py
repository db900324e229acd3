"""From the scores of a boosted survival model to its survival functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.ensembles.boosting.survival_losses import (
    AftLoss,
    CensoredRows,
    CoxLoss,
    FailureTimes,
    HazardLoss,
)
from committee.losses import apply_exp, apply_softplus

if TYPE_CHECKING:
    from committee.ensembles.boosting.survival_losses import SurvivalLoss
    from committee.typing import FloatArray

__all__ = ["SurvivalLink", "make_survival_link"]

_MOST_HAZARD = 700.0
"""Cumulative hazards beyond this mean that nobody survives."""


@dataclass(frozen=True)
class SurvivalLink:
    """What turns scores into cumulative hazards.

    Attributes
    ----------
    kind : {"cox", "hazard", "normal", "logistic", "extreme"}
        The loss, or the distribution of accelerated failure times.
    times : ndarray of shape (n_times,)
        Event times of Cox's model, ends of intervals; of failure times the event times of the training set.
    hazards : ndarray of shape (n_times,)
        Cumulative hazard of Cox's model at score zero; empty otherwise.
    scale : float
        Of the logarithms of failure times; 1 otherwise.
    """

    kind: str
    times: FloatArray
    hazards: FloatArray
    scale: float

    def blend(self, other: SurvivalLink, decay_rate: float) -> SurvivalLink:
        """The rate times this link's baseline hazard and scale, and the rest times those of a link of the same kind."""
        if decay_rate == 1.0 or self.kind == "hazard":
            return self
        if decay_rate == 0.0:
            return other
        times, rest = np.union1d(self.times, other.times), 1.0 - decay_rate
        hazards = self.hazards
        if self.kind == "cox":
            hazards = decay_rate * self._step_to(times) + rest * other._step_to(times)
        return SurvivalLink(self.kind, times, hazards, decay_rate * self.scale + rest * other.scale)

    def _step_to(self, at: FloatArray) -> FloatArray:
        """Cox's cumulative hazard at score zero, at some times."""
        steps: FloatArray = np.concatenate(([0.0], self.hazards))[np.searchsorted(self.times, at, side="right")]
        return steps

    def find_hazards(self, scores: FloatArray, at: FloatArray) -> FloatArray:
        """Cumulative hazard of each row at some times, of shape (n_rows, n_times)."""
        if self.kind == "cox":
            return np.asarray(apply_exp(np.minimum(scores, _MOST_HAZARD)) * self._step_to(at))
        if self.kind == "hazard":
            return self._interpolate(apply_softplus(scores), at)
        failure_times = FailureTimes(self.kind, self.scale)
        positive = np.maximum(at, np.finfo(np.float64).tiny)
        return -failure_times.log_survival(failure_times.standardize(positive, scores))

    def _interpolate(self, steps: FloatArray, at: FloatArray) -> FloatArray:
        """Hazards that are constant within each interval, and none after the last."""
        starts = np.concatenate(([0.0], self.times[:-1]))
        passed = np.clip((at[:, None] - starts) / (self.times - starts), 0.0, 1.0)
        return np.asarray(steps @ passed.T)


def make_survival_link(loss: SurvivalLoss, rows: CensoredRows, scores: FloatArray, times: FloatArray) -> SurvivalLink:
    """The link of a fitted model, from the scores of its training rows.

    Parameters
    ----------
    loss : SurvivalLoss
        That was minimised.
    rows : CensoredRows
        The training rows.
    scores : ndarray of shape (n_rows, n_scores)
        Their scores.
    times : ndarray of shape (n_event_times,)
        Distinct times of events.
    """
    none = np.empty(0)
    if isinstance(loss, CoxLoss):
        return SurvivalLink("cox", times, loss.estimate_hazard(rows, scores, times), 1.0)
    if isinstance(loss, HazardLoss):
        return SurvivalLink("hazard", loss.ends, none, 1.0)
    assert isinstance(loss, AftLoss)
    fitted = loss.failure_times.fit_scale(rows, scores[:, 0])
    return SurvivalLink(fitted.distribution, times, none, fitted.scale)
