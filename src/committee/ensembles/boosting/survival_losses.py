"""Losses of censored times: Cox's partial likelihood, accelerated failure times, hazards of intervals.

Their target has two columns, event and time. Scores rise with the risk. Sums over risk sets run in the order of the
times and then of the rows, whatever the threads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from committee.engines.formula import Arithmetic, ConstantTerm, RowFunction
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.exceptions import DataError
from committee.losses import LossFunction, apply_exp, apply_log, apply_log1p, apply_sigmoid, apply_softplus

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.engines.formula import FormulaTerm
    from committee.typing import BoolArray, FloatArray

    Derivatives: TypeAlias = tuple[FloatArray, FloatArray]

__all__ = ["AftLoss", "CoxLoss", "HazardLoss", "SurvivalLoss"]

_LARGEST_SCORE = 30.0
_FAR = 1e4  # where the hazard of a normal variable is its value within 1e-8
_LARGEST_SHIFT, _FURTHEST_SCORE = 700.0, 1e150
"""Scores of Cox's model that differ from the median by more than this count as differing by this."""
_LARGEST_GRADIENT, _LEAST_HESSIAN = 15.0, 1e-16
"""Bounds of the derivatives of accelerated failure times, as XGBoost has them."""
_MOST_LOG = 60.0
_LEAST_EVENTS = 0.5
"""Events that an interval without any counts as having, so that its hazard is not zero."""
_TINY = 1e-150
"""Its square is a number, too."""


@dataclass(frozen=True)
class CensoredRows:
    """Rows with their target, as the losses read them.

    Attributes
    ----------
    event : ndarray of bool of shape (n_rows,)
        Whether the event was observed.
    time : ndarray of shape (n_rows,)
        Time of the event or of censoring.
    weights : ndarray of shape (n_rows,)
        Weights in rows.
    """

    event: BoolArray
    time: FloatArray
    weights: FloatArray

    @classmethod
    def of(cls, target: FloatArray, weights: FloatArray | None) -> CensoredRows:
        """From the two columns of a target."""
        own = np.ones(len(target)) if weights is None else weights
        return cls(target[:, 0] > 0.0, np.ascontiguousarray(target[:, 1]), own)


class _BoundLoss:
    """A loss of some rows, with the methods of the engine's losses of groups."""

    def __init__(self, loss: SurvivalLoss, rows: CensoredRows) -> None:
        self.loss, self.rows, self.prepared = loss, rows, loss.prepare(rows)

    def find_gradients(self, scores: FloatArray, n_jobs: int) -> Derivatives:
        """Gradients and hessians by each score, of shape (n_rows, n_scores), columns contiguous."""
        gradients, hessians = self.loss.differentiate(self.rows, self.prepared, scores)
        return np.asfortranarray(gradients), np.asfortranarray(hessians)

    def measure(self, scores: FloatArray, n_jobs: int) -> float:
        """The mean loss of the rows."""
        values = self.loss.find_values(self.rows, self.prepared, scores)
        return float(np.average(values, weights=self.rows.weights))


class SurvivalLoss(GroupLoss):
    """What the losses of censored times share."""

    def bind(self, target: FloatArray, weights: FloatArray | None) -> BoundGroupLoss:
        """The loss of these rows."""
        return cast("BoundGroupLoss", _BoundLoss(self, CensoredRows.of(target, weights)))

    def prepare(self, rows: CensoredRows) -> Any:
        """What does not depend on the scores."""
        return None

    def differentiate(self, rows: CensoredRows, prepared: Any, scores: FloatArray) -> Derivatives:
        """Gradients and hessians by each score, both of shape (n_rows, n_scores)."""
        raise NotImplementedError

    def find_values(self, rows: CensoredRows, prepared: Any, scores: FloatArray) -> FloatArray:
        """Loss of each row."""
        raise NotImplementedError

    def find_risk(self, scores: FloatArray) -> FloatArray:
        """Risk of each row, of shape (n_rows,)."""
        return scores[:, 0]


# --- Cox's model -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RiskSets:
    """Rows in descending order of time, in groups of equal time.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Numbers of the rows.
    group : ndarray of shape (n_rows,)
        Group of each row in that order; the latest time is group 0.
    last : ndarray of shape (n_groups,)
        Position of the last row of each group.
    """

    order: NDArray[np.intp]
    group: NDArray[np.intp]
    last: NDArray[np.intp]

    @classmethod
    def of(cls, time: FloatArray) -> RiskSets:
        """From the times of the rows."""
        order = np.argsort(-time, kind="stable")
        ordered = time[order]
        is_last = np.append(ordered[1:] != ordered[:-1], True)
        return cls(order, np.concatenate(([0], np.cumsum(is_last)[:-1])), np.flatnonzero(is_last))

    def sum_at_risk(self, values: FloatArray) -> FloatArray:
        """For each group the sum over the rows that are at risk at its time."""
        return np.asarray(np.cumsum(values[self.order])[self.last])

    def sum_groups(self, values: FloatArray) -> FloatArray:
        """For each group the sum over its rows."""
        sums = np.bincount(self.group, weights=values[self.order], minlength=len(self.last))
        return np.asarray(sums, dtype=np.float64)


@dataclass(frozen=True)
class HazardSteps:
    """For each group of equal times the step of the cumulative hazard of the rows at risk.

    ``squared`` is its counterpart in the second derivative; ``tied`` and ``tied_squared`` are those of the rows that
    have their event at this time, which differ with Efron's ties.
    """

    all: FloatArray
    squared: FloatArray
    tied: FloatArray
    tied_squared: FloatArray


class CoxLoss(SurvivalLoss):
    """Minus Cox's log partial likelihood [Cox1972], with the ties of Breslow or Efron.

    Parameters
    ----------
    ties : {"breslow", "efron"}
        How events at the same time share a risk set [Efron1977].
    """

    def __init__(self, ties: str) -> None:
        self.ties = ties

    def prepare(self, rows: CensoredRows) -> RiskSets:
        """The risk sets."""
        return RiskSets.of(rows.time)

    def differentiate(self, rows: CensoredRows, prepared: RiskSets, scores: FloatArray) -> Derivatives:
        """Gradients and hessians by the score, both of shape (n_rows, 1)."""
        hazards, _ = _exponentiate(scores)
        steps = self.find_steps(rows, prepared, hazards)
        # Sums over the times until that of the row: groups come from the last time to the first.
        linear, square = (np.cumsum(step[::-1])[::-1][prepared.group] for step in (steps.all, steps.squared))
        died, group = rows.event[prepared.order], prepared.group
        linear = linear + np.where(died, steps.tied[group] - steps.all[group], 0.0)
        square = square + np.where(died, steps.tied_squared[group] - steps.squared[group], 0.0)
        ordered, n_rows = hazards[prepared.order], len(hazards)
        gradients, hessians = np.empty((n_rows, 1)), np.empty((n_rows, 1))
        gradients[prepared.order, 0] = ordered * linear - died
        hessians[prepared.order, 0] = np.maximum(ordered * linear - ordered**2 * square, 0.0)
        return gradients, hessians

    def find_values(self, rows: CensoredRows, prepared: RiskSets, scores: FloatArray) -> FloatArray:
        """Minus the contribution of each row to the log partial likelihood, with Breslow's ties."""
        hazards, shift = _exponentiate(scores)
        at_risk = np.maximum(prepared.sum_at_risk(rows.weights * hazards), _TINY)
        logs = np.empty(len(hazards))
        logs[prepared.order] = apply_log(at_risk)[prepared.group]
        return np.where(rows.event, logs - (scores[:, 0] - shift), 0.0)

    def estimate_hazard(self, rows: CensoredRows, scores: FloatArray, times: FloatArray) -> FloatArray:
        """Breslow's estimate of the cumulative hazard at score zero, at times of rows [Breslow1974]."""
        sets, (hazards, shift) = RiskSets.of(rows.time), _exponentiate(scores)
        steps = self.find_steps(rows, sets, hazards).all[::-1]
        known = rows.time[sets.order][sets.last][::-1]
        factor = float(apply_exp(np.clip(-shift, -_LARGEST_SHIFT, _LARGEST_SHIFT)))
        return np.asarray(np.cumsum(steps)[np.searchsorted(known, times)] * factor)

    def find_steps(self, rows: CensoredRows, sets: RiskSets, hazards: FloatArray) -> HazardSteps:
        """The steps of the cumulative hazard, by the ties of the loss."""
        own, died = rows.weights * hazards, rows.event & (rows.weights > 0.0)
        at_risk = np.maximum(sets.sum_at_risk(own), _TINY)
        deaths = sets.sum_groups(np.where(died, rows.weights, 0.0))
        if self.ties == "breslow":
            linear, square = deaths / at_risk, deaths / at_risk**2
            return HazardSteps(linear, square, linear, square)
        # Of d events at one time, the l-th leaves l / d of their hazards out of the risk set.
        counts = sets.sum_groups(died.astype(np.float64)).astype(np.intp)
        tied = sets.sum_groups(np.where(died, own, 0.0))
        owners = np.repeat(np.arange(len(counts)), counts)
        left_out = (np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)) / counts[owners]
        left = np.maximum(at_risk[owners] - left_out * tied[owners], _TINY)
        weight, kept = deaths[owners] / counts[owners], 1.0 - left_out

        def add(steps: FloatArray) -> FloatArray:
            sums = np.bincount(owners, weights=weight * steps, minlength=len(counts))
            return np.asarray(sums, dtype=np.float64)

        return HazardSteps(add(1.0 / left), add(1.0 / left**2), add(kept / left), add((kept / left) ** 2))


def _exponentiate(scores: FloatArray) -> tuple[FloatArray, float]:
    """Hazards relative to that of the median score, and this score."""
    if not np.abs(scores).max(initial=0.0) < _FURTHEST_SCORE:
        raise DataError(
            f"The scores grew beyond all bounds: the largest are no numbers below {_FURTHEST_SCORE:.0e}. Choose a "
            "smaller learning_rate."
        )
    shift = float(np.median(scores))
    return apply_exp(np.clip(scores[:, 0] - shift, -_LARGEST_SCORE, _LARGEST_SCORE)), shift


# --- accelerated failure times -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class FailureTimes:
    """The distribution of accelerated failure times: log T = -score + scale * Z.

    Attributes
    ----------
    distribution : {"normal", "logistic", "extreme"}
        Of Z: T is log-normal, log-logistic, or Weibull.
    scale : float
        Positive.
    """

    distribution: str
    scale: float

    def standardize(self, time: FloatArray, scores: FloatArray) -> FloatArray:
        """Values of Z."""
        return np.asarray((apply_log(time) + scores) / self.scale)

    def log_survival(self, z: FloatArray) -> FloatArray:
        """Logarithm of the probability that Z is larger."""
        if self.distribution == "normal":
            return np.asarray(log_ndtr(-z))
        if self.distribution == "logistic":
            return np.asarray(-apply_softplus(z))
        return np.asarray(-apply_exp(np.minimum(z, _MOST_LOG)))

    def log_density(self, z: FloatArray) -> FloatArray:
        """Logarithm of the density of Z."""
        if self.distribution == "normal":
            return np.asarray(-0.5 * z**2 - 0.5 * apply_log(np.asarray(2.0 * np.pi)))
        if self.distribution == "logistic":
            return np.asarray(z - 2.0 * apply_softplus(z))
        return np.asarray(z - apply_exp(np.minimum(z, _MOST_LOG)))

    def differentiate(self, event: BoolArray, z: FloatArray) -> Derivatives:
        """First and second derivative by z of minus the log-likelihood."""
        if self.distribution == "normal":
            # Density over survival; they are proportional to z far out, where the difference cancels.
            near = np.clip(z, -_FAR, _FAR)
            hazard = np.where(z < _FAR, apply_exp(-0.5 * near**2 - log_ndtr(-near)) / sqrt(2.0 * np.pi), z)
            return np.where(event, z, hazard), np.where(event, 1.0, np.clip(hazard * (hazard - z), 0.0, 1.0))
        if self.distribution == "logistic":
            p = apply_sigmoid(z)
            return np.where(event, 2.0 * p - 1.0, p), np.where(event, 2.0, 1.0) * p * (1.0 - p)
        grown = apply_exp(np.minimum(z, _MOST_LOG))
        return np.where(event, grown - 1.0, grown), grown

    def find_losses(self, rows: CensoredRows, scores: FloatArray) -> FloatArray:
        """Minus the log-likelihood of each row: of its density at an event, of its survival at censoring."""
        z = self.standardize(rows.time, scores)
        return -np.where(rows.event, self.log_density(z) - apply_log(self.scale * rows.time), self.log_survival(z))

    def fit_score(self, rows: CensoredRows) -> float:
        """The constant score of the largest likelihood."""
        logs = apply_log(rows.time)
        width = float(logs.max() - logs.min()) + 5.0 * self.scale + 1.0

        def average(score: float) -> float:
            return float(np.average(self.find_losses(rows, np.full(len(logs), score)), weights=rows.weights))

        bounds = (-float(logs.max()) - width, -float(logs.min()) + width)
        return float(minimize_scalar(average, bounds=bounds, method="bounded").x)

    def fit_scale(self, rows: CensoredRows, scores: FloatArray | None) -> FailureTimes:
        """The same with the scale of the largest likelihood, at these scores or at the best constant one."""

        def average(log_scale: float) -> float:
            other = replace(self, scale=float(apply_exp(np.asarray(log_scale))))
            own = np.full(len(rows.time), other.fit_score(rows)) if scores is None else scores
            return float(np.average(other.find_losses(rows, own), weights=rows.weights))

        found = minimize_scalar(average, bounds=(-4.0, 4.0), method="bounded", options={"xatol": 1e-4})
        return replace(self, scale=float(apply_exp(found.x)))


class AftLoss(SurvivalLoss):
    """Minus the log-likelihood of accelerated failure times [Barnwal2022].

    Parameters
    ----------
    failure_times : FailureTimes
        The distribution.
    """

    def __init__(self, failure_times: FailureTimes) -> None:
        self.failure_times = failure_times

    def differentiate(self, rows: CensoredRows, prepared: Any, scores: FloatArray) -> Derivatives:
        """Gradients and hessians by the score, both of shape (n_rows, 1)."""
        own = self.failure_times
        slope, curvature = own.differentiate(rows.event, own.standardize(rows.time, scores[:, 0]))
        gradients = np.clip(slope / own.scale, -_LARGEST_GRADIENT, _LARGEST_GRADIENT)
        with np.errstate(over="ignore"):  # the square of a large scale may be beyond doubles
            squared = np.square(np.float64(own.scale))
        hessians = np.clip(curvature / squared, _LEAST_HESSIAN, _LARGEST_GRADIENT)
        return gradients[:, None], hessians[:, None]

    def find_values(self, rows: CensoredRows, prepared: Any, scores: FloatArray) -> FloatArray:
        """Minus the log-likelihood of each row."""
        return self.failure_times.find_losses(rows, scores[:, 0])

    def find_baseline(self, target: FloatArray, weights: FloatArray | None) -> FloatArray:
        """The constant score of the largest likelihood."""
        return np.array([self.failure_times.fit_score(CensoredRows.of(target, weights))])


# --- hazards of intervals ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RowIntervals:
    """The intervals that rows go through.

    Attributes
    ----------
    at_risk, died : ndarray of bool of shape (n_rows, n_intervals)
        Whether each row is at risk in each interval, and whether it has its event there.
    cells, events : ndarray of intp
        Where they are true, as numbers of cells, one interval after the other.
    """

    at_risk: BoolArray
    died: BoolArray
    cells: NDArray[np.intp]
    events: NDArray[np.intp]

    @classmethod
    def of(cls, rows: CensoredRows, ends: FloatArray) -> RowIntervals:
        """From the times of rows and the ends of the intervals."""
        interval = np.searchsorted(ends, rows.time, side="left")[:, None]
        numbers = np.arange(len(ends))
        died = (interval == numbers) & rows.event[:, None]
        at_risk = (numbers < interval) | died
        return cls(at_risk, died, np.flatnonzero(at_risk.T), np.flatnonzero(died.T))


class HazardLoss(SurvivalLoss):
    """Minus the log-likelihood of discrete times: a logistic hazard for each interval [SingerWillett1993].

    A row goes through the intervals until that of its time; one that is censored has survived those before. Its loss
    is the sum of the log-losses of these intervals, without a copy of the row for each.

    Parameters
    ----------
    ends : ndarray of shape (n_intervals,)
        Where the intervals end, ascending; the first begins at 0.
    """

    def __init__(self, ends: FloatArray) -> None:
        self.ends = ends
        self.n_scores = len(ends)
        self.prediction_loss = LossFunction("squared_error", nan, len(ends))

    def prepare(self, rows: CensoredRows) -> RowIntervals:
        """The intervals of the rows."""
        return RowIntervals.of(rows, self.ends)

    def differentiate(self, rows: CensoredRows, prepared: RowIntervals, scores: FloatArray) -> Derivatives:
        """Gradients and hessians by each score, both of shape (n_rows, n_intervals)."""
        # Half of the cells are at risk or fewer: no exponentials of the others.
        p = apply_sigmoid(scores.ravel(order="F")[prepared.cells])
        gradients, hessians = np.zeros(scores.size), np.zeros(scores.size)
        gradients[prepared.cells] = p
        gradients[prepared.events] -= 1.0
        hessians[prepared.cells] = p * (1.0 - p)
        return gradients.reshape(scores.shape, order="F"), hessians.reshape(scores.shape, order="F")

    def find_values(self, rows: CensoredRows, prepared: RowIntervals, scores: FloatArray) -> FloatArray:
        """Minus the log-likelihood of each row."""
        losses = apply_softplus(scores) - np.where(prepared.died, scores, 0.0)
        return np.asarray(np.where(prepared.at_risk, losses, 0.0).sum(axis=1))

    def find_baseline(self, target: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Log-odds of the events of each interval among the rows at risk."""
        rows = CensoredRows.of(target, weights)
        intervals = self.prepare(rows)
        events, present = rows.weights @ intervals.died, rows.weights @ intervals.at_risk
        rate = np.maximum(events, _LEAST_EVENTS) / np.maximum(present, 2.0 * _LEAST_EVENTS)
        held = np.clip(rate, 1e-6, 1.0 - 1e-6)
        return apply_log(held) - apply_log1p(-held)

    def find_risk(self, scores: FloatArray) -> FloatArray:
        """The cumulative hazard, summed over the ends of the intervals."""
        steps = apply_softplus(scores)  # minus the logarithm of the probability to survive
        return np.asarray((steps * self._count_ends()).sum(axis=1))

    def risk_term(self, scores: FormulaTerm) -> FormulaTerm:
        """`find_risk` as a term of a formula."""
        return RowFunction("sum", Arithmetic("*", RowFunction("softplus", scores), ConstantTerm(self._count_ends())))

    def _count_ends(self) -> FloatArray:
        """How many intervals end with or after each."""
        return np.arange(len(self.ends), 0, -1, dtype=np.float64)
