"""Early stopping: the number of rounds by the scores of a validation set, or of several folds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.ensembles.boosting.booster import RoundCallback
from committee.ensembles.boosting.objective import require_target
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.scorer import BoostingScorer
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.typing import FloatArray

__all__ = ["EarlyStopping", "choose_rounds"]

_SCORED_ROWS = 10_000
"""Training rows that a scorer sees after each round; the loss is that of all rows."""


class EarlyStopping(RoundCallback):
    """Scores of the training rows and of a validation set after each round, and the rule that stops.

    Parameters
    ----------
    scorer : BoostingScorer
        Of both.
    validation : ValidationSet or None
        Rows that the rule is applied to; without any, to the training rows.
    patience : int
        Number of rounds without a score that is better by more than ``tol`` after which training stops.
    tol : float
        See ``patience``.
    seed : int
        Seed of the sample of training rows, where a scorer does not see all.
    training_scores, validation_scores : sequence of float
        Those of an earlier fit that is continued; by default the scores of the baseline come first.
    """

    def __init__(
        self,
        scorer: BoostingScorer,
        validation: ValidationSet | None,
        patience: int,
        tol: float,
        seed: int,
        training_scores: Sequence[float] | FloatArray = (),
        validation_scores: Sequence[float] | FloatArray = (),
    ) -> None:
        self.scorer, self.validation = scorer, validation
        self.training_scores: list[float] = list(training_scores)
        self.validation_scores: list[float] = list(validation_scores)
        self._patience, self._tol, self._seed = patience, tol, seed

    def before_training(self, booster: Booster) -> None:
        """Score the baseline, unless an earlier fit is continued."""
        self.scorer.fix_loss(booster)
        if not self.training_scores:
            self._score(booster)

    def after_round(self, booster: Booster) -> bool:
        """Score the latest round; whether the scores have stopped improving."""
        self._score(booster)
        scores = self.training_scores if self.validation is None else self.validation_scores
        return has_stopped_improving(scores, self._patience, self._tol)

    def describe(self) -> str:
        """The latest score."""
        if self.validation_scores:
            return f"held-out score {self.validation_scores[-1]:.4g}"
        return f"training score {self.training_scores[-1]:.4g}" if self.training_scores else ""

    def _score(self, booster: Booster) -> None:
        self.training_scores.append(self._score_training(booster))
        if self.validation is not None:
            scores = self.validation.update_scores(booster)
            own = self.validation
            self.validation_scores.append(self.scorer.score_others(booster, own.target, scores, own.weights))

    def _score_training(self, booster: Booster) -> float:
        dataset = booster.dataset
        if self.scorer.sees_all_rows or dataset.n_rows <= _SCORED_ROWS:
            return self.scorer.score_training(booster)
        rows = np.random.default_rng([self._seed, 2]).choice(dataset.n_rows, _SCORED_ROWS, replace=False)
        sample = dataset.take_rows(rows)
        scores = np.asarray(booster.state.scores)[rows]
        return self.scorer.score_others(booster, require_target(sample), scores, sample.weights)


def has_stopped_improving(scores: Sequence[float], patience: int, tol: float) -> bool:
    """Whether none of the last ``patience`` scores is better than the one before them by more than ``tol``.

    Examples
    --------
    >>> has_stopped_improving([0.1, 0.3, 0.3, 0.2], patience=2, tol=0.0)
    True
    """
    return len(scores) > patience and not max(scores[-patience:]) > scores[-patience - 1] + tol


def choose_rounds(
    folds: Sequence[tuple[Booster, ValidationSet]], last: int, scorer: BoostingScorer, patience: int, tol: float
) -> tuple[int, FloatArray]:
    """Boost all folds side by side until their mean score has stopped improving.

    Returns
    -------
    int
        The number of rounds with the best mean score, at least one.
    ndarray
        The mean scores, before the first round and after each.
    """
    if not folds:
        raise DataError(
            "No class has two rows, one of which could be held out to find the number of rounds; set 'early_stopping' "
            "to False."
        )
    means: list[float] = []
    scorer.fix_loss(folds[0][0])
    sizes = np.array([own.X.shape[0] if own.weights is None else own.weights.sum() for _, own in folds], dtype=float)
    for m in range(last + 1):
        for booster, _ in folds:
            booster.boost(m)
        scores = [scorer.score_others(b, own.target, own.update_scores(b), own.weights) for b, own in folds]
        means.append(float(np.average(scores, weights=sizes)))
        if has_stopped_improving(means, patience, tol):
            break
    return max(1, int(np.argmax(means))), np.array(means)
