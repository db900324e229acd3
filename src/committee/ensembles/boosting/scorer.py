"""Scores of a boosted model while it is trained: minus its loss, or a scorer of scikit-learn; larger is better."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data.dataset import ClassTarget, ValueTarget
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.joined_loss import choose_labels, split_probabilities
from committee.ensembles.boosting.objective import read_target_columns
from committee.scoring import KnownDecision, KnownProbabilities, KnownValues, Scorer
from committee.scoring.direct import find_class_metric, find_value_metric

if TYPE_CHECKING:
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.custom_loss import CustomLoss
    from committee.ensembles.boosting.joined_loss import JoinedLoss
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.losses import LossFunction
    from committee.params import BoostingScoring
    from committee.typing import AnyArray, FloatArray

__all__ = ["BoostingScorer"]

_DEFAULT_HUBER_LEVEL = 0.9


class BoostingScorer:
    """How good scores are, as a number that is larger for better ones.

    Parameters
    ----------
    scoring : "loss", str, callable or None
        Minus the loss, the name of a scorer of scikit-learn, a scorer, or the estimator's own `score` (None).
    loss : LossFunction, CustomLoss or GroupLoss
        Turns scores into predictions.
    parameter : str
        Name of the parameter that ``scoring`` comes from, for error messages.
    """

    def __init__(self, scoring: BoostingScoring, loss: BoostingLoss, parameter: str = "scoring") -> None:
        self.loss = loss
        self.is_loss = isinstance(scoring, str) and scoring == "loss"
        self._scorer = Scorer(
            None if self.is_loss else scoring, parameter=parameter, alternatives="'loss', a scorer or "
        )
        self._scale = 1.0
        self._scaled: tuple[AnyArray, FloatArray, FloatArray] | None = None

    @property
    def runs_in_engine(self) -> bool:
        """Whether the engine can compute the score of the training rows."""
        return self.is_loss and self._scale == 1.0 and not self.loss.is_custom

    @property
    def sees_all_rows(self) -> bool:
        """Whether the score of a sample of the rows would be another."""
        return self.is_loss

    def fix_loss(self, booster: Booster) -> None:
        """Make the losses of different rounds comparable.

        Huber's loss turns linear at a distance that is adapted in every round; scores use that of the baseline.
        """
        target = booster.objective.target
        if self.loss.traits.is_adaptive and isinstance(target, ValueTarget):
            distances = np.abs(target.values - booster.baseline)[:, 0]
            level = _DEFAULT_HUBER_LEVEL if np.isnan(self.loss.parameter) else self.loss.parameter
            counts = booster.objective.weights
            self._scale = _find_quantile(distances, level, np.ones(len(distances)) if counts is None else counts) or 1.0

    def score_training(self, booster: Booster) -> float:
        """Score of all training rows."""
        if self.runs_in_engine:
            return -booster.state.measure_loss()
        bound = booster.objective.bound
        if self.is_loss and bound is not None:
            return -bound.measure(np.asfortranarray(booster.state.scores), booster.n_jobs)
        scores = np.asarray(booster.state.scores)
        return self.score_others(booster, booster.objective.target, scores, booster.dataset.weights)

    def score_others(
        self,
        booster: Booster,
        target: ClassTarget | ValueTarget,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> float:
        """Score of rows that a model in training has given scores, of shape (n_rows, n_scores)."""
        if not self.is_loss or not isinstance(self.loss, GroupLoss):
            return self.score(target, scores, weights)
        known = np.asarray(booster.state.scores)
        return -self.loss.measure_others(booster.objective.bound, known, read_target_columns(target), scores, weights)

    def score(self, target: ClassTarget | ValueTarget, scores: FloatArray, weights: FloatArray | None) -> float:
        """Score of rows whose scores, of shape (n_rows, n_scores), are known."""
        if self.is_loss:
            if isinstance(self.loss, GroupLoss):
                return -self.loss.measure(read_target_columns(target), scores, weights)
            y = target.labels if isinstance(target, ClassTarget) else target.values
            with np.errstate(over="ignore", invalid="ignore"):  # scores beyond all bounds have an infinite loss
                losses = self._find_losses(self.loss, y, scores)
                return -float(losses.mean() if weights is None else np.average(losses, weights=weights))
        predictions = self.loss.find_means(scores)
        if isinstance(target, ClassTarget) and predictions.shape[1] == 1 < target.n_classes[0]:
            predictions = np.concatenate((1.0 - predictions, predictions), axis=1)
        found = self._score_directly(target, scores, predictions, weights)
        if found is not None:
            return found
        if isinstance(target, ValueTarget):
            true = target.values[:, 0] if target.n_outputs == 1 else target.values
            return self._scorer.score_known(KnownValues(predictions), true, weights)
        if target.n_outputs > 1:
            chosen = target.decode(choose_labels(scores, target.n_classes))
            shares = split_probabilities(predictions, target.n_classes)
            known = KnownProbabilities(target.classes, shares, chosen)
            return self._scorer.score_known(known, target.decode(target.labels), weights)
        classes = target.classes[0]
        true = target.decode(target.labels)
        true = true[:, 0] if true.ndim == 2 and true.shape[1] == 1 else true
        return self._scorer.score_known(KnownDecision(classes, predictions, scores), true, weights)

    def _find_losses(self, loss: LossFunction | CustomLoss | JoinedLoss, y: AnyArray, scores: FloatArray) -> FloatArray:
        """The loss of each row.

        Huber's loss that turns linear at d is d² H_1(y / d, f / d); the scale of all other losses is 1. The target of
        the latest rows is kept: they come in every round.
        """
        if self._scale == 1.0:
            return loss.find_values(y, scores)
        if self._scaled is None or self._scaled[0] is not y:
            self._scaled = y, y / self._scale, np.empty(scores.shape, order="F")
        _, target, room = self._scaled
        losses = loss.find_values(target, np.divide(scores, self._scale, out=room))
        losses *= self._scale**2
        return losses

    def _score_directly(
        self,
        target: ClassTarget | ValueTarget,
        scores: FloatArray,
        predictions: FloatArray,
        weights: FloatArray | None,
    ) -> float | None:
        """The score without scikit-learn's scorer, where there is a function for it."""
        name = self._scorer.scoring
        if not isinstance(name, str):
            return None
        if isinstance(target, ValueTarget):
            of_values = find_value_metric(name)
            return None if of_values is None else of_values(target.values, predictions, weights)
        if target.n_outputs > 1 or predictions.shape[1] != len(target.classes[0]):
            return None
        of_classes = find_class_metric(name, target.classes[0])
        if name == "roc_auc":  # of the scores: the scorer prefers a decision function
            if scores.shape[1] != 1:
                return None
            predictions = np.concatenate((-scores, scores), axis=1)
        return None if of_classes is None else of_classes(target.labels[:, 0].astype(np.intp), predictions, weights)


def _find_quantile(values: FloatArray, level: float, counts: FloatArray) -> float:
    """The smallest value that a fraction ``level`` of all values does not exceed, each as often as it counts."""
    order = np.argsort(values, kind="stable")
    order = order[counts[order] > 0.0]
    below = counts[order].cumsum()
    place = np.searchsorted(below, level * below[-1] * (1.0 - 1e-12))
    return float(values[order[min(int(place), len(order) - 1)]])
