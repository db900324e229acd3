"""Boosting in stages: the models of all folds are boosted further until their out-of-fold loss hardly decreases.

The number of rounds cannot be fixed in the portfolio. Early stopping would cost a validation set, and stopping by the
test rows of the folds would leak. So each stage, a number of rounds, is a member of its own, and the weights select
among the stages as among all members.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from committee.automatic.time_limits import PILOT_ROUNDS, limit_rounds
from committee.data.rows import select_rows
from committee.data.spilling import carry_limit
from committee.ensembles.combining.member_predictions import Classes, align_classes
from committee.ensembles.combining.metrics import measure_log_loss, measure_squared_error
from committee.ensembles.combining.out_of_fold import MemberFit, average_fold_predictions

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.data.folds import Fold, Folds
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["MIN_GAIN", "BoostingSchedule", "boost_in_stages", "measure_loss"]

MIN_GAIN = 0.003
"""Relative decrease of the loss that a stage must bring for another one, twice as expensive, to follow."""
_MAX_LOSS_RATIO = 2.0
"""A member with this many times the loss of the best one gets no weight beside it."""
_MOST_KEPT = 1 << 20
"""Scores of a fold's rows up to which its state is kept between the stages, some 50 bytes for each."""


@dataclass(frozen=True)
class BoostingSchedule:
    """The stages of boosting, and what ends them early.

    Attributes
    ----------
    rounds : list of int
        Number of rounds of each stage, ascending.
    deadline : float or None
        By the clock of `time.perf_counter`: stages are expected to end before it.
    best_loss : float or None
        The least out-of-fold loss of the members that were fitted before.
    runs_all : bool
        Whether nothing ends them: they are those of an earlier fit.
    min_gain : float
        Relative decrease of the loss that a stage must bring for another one to follow.
    """

    rounds: list[int]
    deadline: float | None = None
    best_loss: float | None = None
    runs_all: bool = False
    min_gain: float = MIN_GAIN

    def should_stop(self, losses: list[float]) -> bool:
        """Whether to skip the next stage, which takes as long as all before.

        It is late, the last stage hardly helped, or the loss would still be far above the best one if the next stage
        brought the same gain again, or the last one the same relative gain: no further one would make up for it.
        """
        if self.deadline is not None and time.perf_counter() > self.deadline:
            return True
        if self.runs_all or len(losses) < 2:
            return False
        gain = losses[-2] - losses[-1]
        is_last = len(losses) == len(self.rounds) - 1
        expected = losses[-1] * (losses[-1] / losses[-2]) if is_last and gain > 0.0 else losses[-1] - gain
        hopeless = self.best_loss is not None and expected > _MAX_LOSS_RATIO * self.best_loss
        return hopeless or gain < self.min_gain * losses[-2]


def boost_in_stages(
    one: MemberFit, training: TrainingSet, folds: Folds, classes: Classes, schedule: BoostingSchedule, n_jobs: int
) -> list[MemberFit]:
    """A member for each stage: fold models with its number of rounds, and their out-of-fold predictions.

    Parameters
    ----------
    one : MemberFit
        Its estimator has ``n_estimators`` and ``warm_start``.
    training : TrainingSet
        The table and its target.
    folds : list of (train, test)
        From `plan_folds`.
    classes : list of ndarray or None
        As the member was fitted with them.
    schedule : BoostingSchedule
        The stages, and what ends them early.
    n_jobs : int
        Number of folds in parallel.

    Returns
    -------
    list of MemberFit
        Up to the first stage after which the schedule stops.
    """
    training.bin_table([one.estimator], n_jobs)
    fits = [_FoldFit(one, training, fold) for fold in folds]
    stages: list[MemberFit] = []
    losses: list[float] = []
    pilot = _TimedRounds(schedule.deadline)
    pilot.fit(fits, n_jobs)
    for planned in schedule.rounds:
        n_rounds = pilot.limit(planned, is_first=not stages)
        if stages and n_rounds == stages[-1].fold_models[0].n_estimators:
            break
        by_fold = _run_folds(partial(_FoldFit.boost_and_predict, n_rounds=n_rounds, classes=classes), fits, n_jobs)
        pairs = [(test, predicted) for (_, test), predicted in zip(folds, by_fold, strict=True)]
        predictions = average_fold_predictions(pairs, training.n_rows)
        # A further fit never changes trees that are there already, so that a shallow copy stays at its stage.
        stages.append(replace(one, fold_models=[copy(fit.model) for fit in fits], predictions=predictions))
        losses.append(measure_loss(predictions, training, classes))
        pilot.done = n_rounds
        if n_rounds < planned or schedule.should_stop(losses):
            break
    return stages


def _run_folds(function: Callable[[_FoldFit], Any], fits: list[_FoldFit], n_jobs: int) -> list[Any]:
    """What the function returns for each fold, in parallel if there is more than one thread."""
    function = carry_limit(function)
    if n_jobs == 1:
        return [function(fit) for fit in fits]
    results: list[Any] = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(function)(fit) for fit in fits)
    return results


class _TimedRounds:
    """The rounds that end before a deadline, by the time of those so far; without a deadline, all.

    Parameters
    ----------
    deadline : float or None
        By the clock of `time.perf_counter`.
    """

    def __init__(self, deadline: float | None) -> None:
        self._deadline, self._begun, self.done = deadline, time.perf_counter(), 0

    def fit(self, fits: list[_FoldFit], n_jobs: int) -> None:
        """Time a few rounds, with which the first stage begins."""
        if self._deadline is None:
            return
        self.done = PILOT_ROUNDS
        _run_folds(partial(_FoldFit.boost, n_rounds=PILOT_ROUNDS), fits, n_jobs)

    def limit(self, planned: int, *, is_first: bool) -> int:
        """The rounds of a stage; as many as there are if another stage would end too late."""
        if self._deadline is None:
            return planned
        now = time.perf_counter()
        return limit_rounds(planned, self.done, now - self._begun, self._deadline - now, is_first=is_first)


class _FoldFit:
    """The model of a fold, which is boosted from stage to stage.

    Parameters
    ----------
    one : MemberFit
        The member.
    training : TrainingSet
        The table and its target.
    fold : (train, test)
        The rows to fit, and those to predict.
    """

    def __init__(self, one: MemberFit, training: TrainingSet, fold: Fold) -> None:
        # Not fitted, and its parameters are never changed in place: a shallow copy is a clone.
        self.model: Any = copy(one.estimator)
        self.model.warm_start = True
        train, test = fold
        self._dataset = training.weigh_dataset(self.model, train, one.params)
        self._rows = self.model.encode_rows(select_rows(training.X, test), self._dataset)
        self._booster: Booster | None = None

    def boost(self, n_rounds: int) -> None:
        """Boost up to a number of rounds."""
        self.model.n_estimators = n_rounds
        booster = self.model.continue_fit(self._dataset, self._booster)
        # What a large table needs while it is boosted is not kept for all folds: a warm start computes it again.
        self._booster = booster if self._dataset.n_rows * booster.loss.n_scores <= _MOST_KEPT else None

    def boost_and_predict(self, n_rounds: int, classes: Classes) -> FloatArray:
        """Boost, and predict the rows of the fold."""
        self.boost(n_rounds)
        predicted: FloatArray = self.model.predict_encoded(self._rows)
        return predicted if classes is None else align_classes(predicted, self.model, classes)


def measure_loss(predictions: FloatArray, training: TrainingSet, classes: Classes) -> float:
    """Log-loss or squared error of the rows that have predictions."""
    known = np.isfinite(predictions).all(axis=1)
    weights = None if training.weights is None else training.weights[known]
    if not known.any() or (weights is not None and not weights.any()):
        return float("inf")
    y_pred, y_true = predictions[known], training.y[known]
    if classes is None:
        return measure_squared_error(y_pred, y_true[:, None], weights)
    # As a single class: only the probabilities of the true classes matter.
    likelihood = y_pred[np.arange(len(y_pred)), y_true][:, None]
    return measure_log_loss(likelihood, np.ones_like(likelihood), weights)
