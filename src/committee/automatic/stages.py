"""Boosting in stages: the models of all folds grow on until what they say out of fold hardly gets better.

How long to boost is the one choice that no entry of a portfolio can make beforehand. Rows that stop a fit early would
be lost to it, and those of the fold would leak; so each stage is a candidate of its own, and whoever weighs the
candidates chooses among the stages as among members.
"""

from __future__ import annotations

import time
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from committee.data.rows import select_rows
from committee.ensembles.metric import measure_log_loss, measure_squared_error
from committee.ensembles.out_of_fold import Candidate, average_answers
from committee.ensembles.replies import Classes, ask_member

if TYPE_CHECKING:
    from committee.ensembles.lesson import Lesson
    from committee.ensembles.out_of_fold import Folds
    from committee.typing import FloatArray

__all__ = ["boost_in_stages"]

_LEAST_GAIN = 0.003
"""Share of the loss that a stage must save for another, twice as dear, to be worth its time."""


def boost_in_stages(
    one: Candidate,
    lesson: Lesson,
    folds: Folds,
    classes: Classes,
    rounds: list[int],
    n_jobs: int,
    deadline: float | None = None,
) -> list[Candidate]:
    """A candidate for each stage: fold models of so many rounds, and what they say about rows that they have not seen.

    Parameters
    ----------
    one : Candidate
        Its member has ``n_estimators`` and ``warm_start``.
    lesson : Lesson
        What is learnt.
    folds : list of (train, test)
        From `plan_folds`.
    classes : list of ndarray or None
        As the member knows them.
    rounds : list of int
        Rounds of each stage, rising.
    n_jobs : int
        Folds at a time.
    deadline : float, optional
        By the clock of `time.perf_counter`: after it no stage is begun but the first.

    Returns
    -------
    list of Candidate
        Up to the first stage that is hardly better than the one before, or worse.
    """
    goal = lesson.y[:, None] if classes is None else np.eye(len(classes[0]))[lesson.y]
    lesson.prepare([one.member], n_jobs)
    models = [clone(one.member).set_params(warm_start=True) for _ in folds]
    stages: list[Candidate] = []
    losses: list[float] = []
    for number in rounds:
        heard = Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_go_on)(model, number, lesson, one, fold, classes)
            for model, fold in zip(models, folds, strict=True)
        )
        answers = average_answers([(test, said) for (_, test), said in zip(folds, heard, strict=True)], lesson.n_rows)
        # Trees of a fit are never changed, so that a shallow copy stays at its stage.
        stages.append(replace(one, by_fold=[copy(model) for model in models], answers=answers))
        losses.append(_measure(answers, goal, lesson.weights, classes))
        late = deadline is not None and time.perf_counter() > deadline
        if late or (len(losses) > 1 and losses[-1] > (1.0 - _LEAST_GAIN) * losses[-2]):
            break
    return stages


def _go_on(model: Any, number: int, lesson: Lesson, one: Candidate, fold: Any, classes: Classes) -> FloatArray:
    train, test = fold
    lesson.teach(model.set_params(n_estimators=number), train, one.params)
    return ask_member(model, select_rows(lesson.X, test), one.method, classes)


def _measure(answers: FloatArray, goal: FloatArray, weights: FloatArray | None, classes: Classes) -> float:
    known = np.isfinite(answers).all(axis=1)
    measure = measure_squared_error if classes is None else measure_log_loss
    return measure(answers[known], goal[known], None if weights is None else weights[known])
