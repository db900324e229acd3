"""Boosting in stages: the models of all folds grow on until what they say out of fold hardly gets better.

How long to boost is the one choice that no entry of a portfolio can make beforehand. Rows that stop a fit early would
be lost to it, and those of the fold would leak; so each stage is a candidate of its own, and whoever weighs the
candidates chooses among the stages as among members.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.data.rows import select_rows
from committee.ensembles.combining.member_predictions import Classes, predict_member
from committee.ensembles.combining.metrics import measure_log_loss, measure_squared_error
from committee.ensembles.combining.out_of_fold import Candidate, average_answers

if TYPE_CHECKING:
    from committee.ensembles.combining.out_of_fold import Folds
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["Course", "boost_in_stages", "measure_answers"]

_LEAST_GAIN = 0.003
"""Share of the loss that a stage must save for another, twice as dear, to be worth its time."""
_FAR_BEHIND = 2.0
"""Times the loss of the best member that leave another one without weight beside it."""


@dataclass(frozen=True)
class Course:
    """How far boosting may go.

    Attributes
    ----------
    rounds : list of int
        Rounds of each stage, rising.
    deadline : float or None
        By the clock of `time.perf_counter`: after it no stage is begun but the first.
    rival : float or None
        Loss of the best member so far, out of fold.
    """

    rounds: list[int]
    deadline: float | None = None
    rival: float | None = None

    def is_over(self, losses: list[float]) -> bool:
        """Whether another stage, as dear as all before, is not worth its time.

        It is late, the last one hardly helped, or the rival would be far ahead even if the next saved as much again.
        """
        if self.deadline is not None and time.perf_counter() > self.deadline:
            return True
        if len(losses) < 2:
            return False
        gain = losses[-2] - losses[-1]
        hopeless = self.rival is not None and losses[-1] - gain > _FAR_BEHIND * self.rival
        return hopeless or gain < _LEAST_GAIN * losses[-2]


def boost_in_stages(
    one: Candidate, training: TrainingSet, folds: Folds, classes: Classes, course: Course, n_jobs: int
) -> list[Candidate]:
    """A candidate for each stage: fold models of so many rounds, and what they say about rows that they have not seen.

    Parameters
    ----------
    one : Candidate
        Its member has ``n_estimators`` and ``warm_start``.
    training : TrainingSet
        What is learnt.
    folds : list of (train, test)
        From `plan_folds`.
    classes : list of ndarray or None
        As the member knows them.
    course : Course
        The stages, and what ends them early.
    n_jobs : int
        Folds at a time.

    Returns
    -------
    list of Candidate
        Up to the first stage that is hardly better than the one before, or worse, or far behind the rival.
    """
    training.prepare([one.member], n_jobs)
    models = [clone(one.member).set_params(warm_start=True) for _ in folds]
    stages: list[Candidate] = []
    losses: list[float] = []
    for number in course.rounds:
        heard = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_go_on)(model, number, training, one, fold, classes)
            for model, fold in zip(models, folds, strict=True)
        )
        answers = average_answers([(test, said) for (_, test), said in zip(folds, heard, strict=True)], training.n_rows)
        # Trees of a fit are never changed, so that a shallow copy stays at its stage.
        stages.append(replace(one, by_fold=[copy(model) for model in models], answers=answers))
        losses.append(measure_answers(answers, training, classes))
        if course.is_over(losses):
            break
    return stages


def _go_on(model: Any, number: int, training: TrainingSet, one: Candidate, fold: Any, classes: Classes) -> FloatArray:
    train, test = fold
    training.teach(model.set_params(n_estimators=number), train, one.params)
    return predict_member(model, select_rows(training.X, test), one.method, classes)


def measure_answers(answers: FloatArray, training: TrainingSet, classes: Classes) -> float:
    """Log-loss or squared error of answers about the rows that have some."""
    known = np.isfinite(answers).all(axis=1)
    weights = None if training.weights is None else training.weights[known]
    if not known.any() or (weights is not None and not weights.any()):
        return float("inf")
    said, true = answers[known], training.y[known]
    if classes is None:
        return measure_squared_error(said, true[:, None], weights)
    return measure_log_loss(said, np.eye(len(classes[0]))[true], weights)
