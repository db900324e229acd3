"""Members that learn the logarithm of a positive target: prices and counts vary by factors rather than by amounts.

What such a member says is turned back by y = a exp(f). The factor a makes the mean of its out-of-fold answers that of
the target, since the exponential of a mean of logarithms lies below the mean [Duan1983]. Whether it is of use is for
whoever weighs the members to say, by their answers in the target's own unit.

Trees do not leave the range of what they have seen. A straight line in logarithms does: on ames_housing it was ahead of
all others but one out of fold, and a single large house of a fresh part made it the worst by far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from committee.ensembles.combining.out_of_fold import Candidate
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["LogScale", "is_skewed", "return_from_logs"]

_LEAST_SKEW = 0.7
"""Third standardised moment from which a distribution is taken to have a long tail."""
_FARTHEST = 2.0
"""Factor by which answers may lie outside of what the target has been."""


@dataclass(frozen=True)
class LogScale:
    """A fitted member for logarithms that answers in the target's own unit.

    Attributes
    ----------
    member : fitted estimator
        Predicts logarithms.
    factor : float
        What their exponential is multiplied with.
    lowest, highest : float
        Between which logarithms are believed.
    """

    member: Any
    factor: float
    lowest: float
    highest: float

    @property
    def n_estimators(self) -> int:
        """Rounds of the member, if it has rounds."""
        return int(self.member.n_estimators)

    def predict(self, X: Any) -> FloatArray:
        """Value of each row."""
        return self.factor * np.exp(np.clip(self.member.predict(X), self.lowest, self.highest))  # type: ignore[no-any-return]


def is_skewed(values: FloatArray, weights: FloatArray | None) -> bool:
    """Whether values are positive with a long tail to the right that their logarithms do not have.

    Examples
    --------
    >>> is_skewed(np.exp(np.arange(9.0)), None), is_skewed(np.arange(1.0, 9.0), None)
    (True, False)
    """
    if weights is not None:
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    if not (values > 0.0).all():
        return False
    skew = _measure_skew(values, weights)
    return skew > _LEAST_SKEW and abs(_measure_skew(np.log(values), weights)) < skew


def _measure_skew(values: FloatArray, weights: FloatArray | None) -> float:
    largest = float(np.abs(values).max()) or 1.0
    rest = values / largest - np.average(values / largest, weights=weights)
    variance = float(np.average(rest**2, weights=weights))
    return float(np.average(rest**3, weights=weights)) / variance**1.5 if variance > 0.0 else 0.0


def return_from_logs(one: Candidate, training: TrainingSet) -> Candidate:
    """A candidate that has learnt logarithms as one for the values themselves.

    Parameters
    ----------
    one : Candidate
        Its answers are logarithms.
    training : TrainingSet
        The values.
    """
    logs = np.log(training.y if training.weights is None else training.y[training.weights > 0.0])
    ends = float(logs.min() - np.log(_FARTHEST)), float(logs.max() + np.log(_FARTHEST))
    answers = np.exp(np.clip(one.answers, *ends))
    known = np.isfinite(answers[:, 0])
    weights = np.ones(len(known)) if training.weights is None else training.weights
    factor = float(weights[known] @ training.y[known] / (weights[known] @ answers[known, 0])) if known.any() else 1.0

    def turn(member: Any) -> LogScale:
        return LogScale(member, factor, *ends)

    by_fold = [turn(member) for member in one.by_fold]
    return replace(one, whole=None if one.whole is None else turn(one.whole), by_fold=by_fold, answers=factor * answers)
