"""Out-of-bag: every row is judged by the members that did not see it, while the ensemble grows [Breiman1996b].

The ensemble adds its members' votes to `OutOfBag.sums` and `OutOfBag.n_votes` in place and calls `look` now and
then; the score at each look makes the trace, and the trace says when more members no longer help.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import Bunch

from committee.data import ClassTarget, ValueTarget
from committee.exceptions import DataError, warn_caller
from committee.foreign_names import check_scorer

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import BoolArray, FloatArray

    Rows = NDArray[np.intp] | slice

__all__ = ["LOOK_EVERY", "OutOfBag", "choose_measure"]

LOOK_EVERY = 5
"""Members between two looks at the score: a look costs a metric over all rows."""


class OutOfBag:
    """Votes of the members that did not see a row, their mean, its score, and the score's trace.

    Parameters
    ----------
    target : ClassTarget or ValueTarget
        What the members predict.
    score : True, callable or str
        True: accuracy (all outputs of a row must be right) or R². A callable gets the true and the predicted target
        as numbers (classes by their index) and is larger for better predictions. A name is that of a scorer of
        scikit-learn, which gets the classes themselves, or the probabilities.
    counted : ndarray of bool of shape (n_rows,) or None
        Rows that the score is about; rows of weight zero are absent from it.
    tol : float, default=0.0
        A score is better only if it is by more than this.
    patience : int or None, default=None
        Members that may come without a better score before the trace counts as settled.

    Attributes
    ----------
    sums : ndarray of float64 of shape (n_rows, width), C-contiguous
        Sum of the votes: class shares (outputs side by side) or values.
    n_votes : ndarray of uint32 of shape (n_rows,)
        How many members have voted on a row.
    settled : bool
        Whether the score has stood still for ``patience`` members.
    """

    def __init__(
        self,
        target: ClassTarget | ValueTarget,
        score: bool | str | Callable[..., float],
        *,
        counted: BoolArray | None = None,
        tol: float = 0.0,
        patience: int | None = None,
    ) -> None:
        if isinstance(target, ClassTarget):
            n_rows, width = len(target.labels), sum(target.n_classes)
        else:
            n_rows, width = target.values.shape
        self.target = target
        self.sums: FloatArray = np.zeros((n_rows, width))
        self.n_votes: NDArray[np.uint32] = np.zeros(n_rows, dtype=np.uint32)
        self.settled = False
        self._counted = counted
        self._measure = choose_measure(score, target)
        self._tol, self._patience = tol, patience
        self._trace: list[tuple[int, float]] = []
        self._best, self._best_at = -np.inf, 0

    def look(self, n_members: int) -> float:
        """Score the votes of the first ``n_members`` members, all of which have voted."""
        asked = self.n_votes > 0
        if self._counted is not None:
            asked &= self._counted
        rows = slice(None) if asked.all() else np.flatnonzero(asked)
        score = float(self._measure(rows, self._average(rows))) if asked.any() else np.nan
        self._trace.append((n_members, score))
        if score > self._best + self._tol:
            self._best, self._best_at = score, n_members
        elif self._patience is not None and n_members - self._best_at >= self._patience:
            self.settled = True
        return score

    def average(self) -> FloatArray:
        """The mean vote on each row, NaN where nobody voted."""
        return self._average(slice(None))

    def finalize(self) -> dict[str, Any]:
        """Fitted attributes that tell the result; warns where rows were in every sample."""
        voted = self.n_votes > 0
        if not (voted if self._counted is None else voted | ~self._counted).all():
            warn_caller(
                "Some inputs do not have OOB scores. This probably means too few trees were used to compute any "
                "reliable OOB estimates; their predictions are NaN, and the score leaves them out.",
                UserWarning,
            )
        counts, scores = zip(*self._trace, strict=True)
        told = {
            "oob_score_": scores[-1],
            "oob_trace_": Bunch(n_estimators=np.array(counts, dtype=np.intp), score=np.array(scores)),
        }
        mean = self.average()
        if isinstance(self.target, ClassTarget):
            parts = _part_outputs(mean, self.target)
            alike = len({part.shape[1] for part in parts}) == 1
            shares = parts[0] if len(parts) == 1 else np.stack(parts, axis=2) if alike else parts
            return {**told, "oob_decision_function_": shares}
        return {**told, "oob_prediction_": mean[:, 0] if self.target.n_outputs == 1 else mean}

    def _average(self, rows: Rows) -> FloatArray:
        with np.errstate(invalid="ignore"):
            mean: FloatArray = self.sums[rows] / self.n_votes[rows, np.newaxis]
        return mean


def _part_outputs(shares: FloatArray, target: ClassTarget) -> list[FloatArray]:
    return np.split(shares, np.cumsum(target.n_classes)[:-1], axis=1)


def _choose_labels(shares: FloatArray, target: ClassTarget) -> NDArray[np.intp]:
    """The class of the largest share for each output, of shape (n_rows, n_outputs)."""
    return np.stack([part.argmax(axis=1) for part in _part_outputs(shares, target)], axis=1)


def choose_measure(
    score: bool | str | Callable[..., float], target: ClassTarget | ValueTarget, parameter: str = "oob_score"
) -> Callable[[Rows, FloatArray], float]:
    """A function of some rows and their mean votes that says how good these are.

    Parameters
    ----------
    score : True, callable or str
        As in `OutOfBag`.
    target : ClassTarget or ValueTarget
        The truth about all rows.
    parameter : str, default="oob_score"
        Whose value the score is, for the sentence if there is no scorer of that name.
    """
    if isinstance(score, str):
        return _measure_by_name(score, target, parameter)

    def measure(rows: Rows, mean: FloatArray) -> float:
        true: NDArray[Any]
        predicted: NDArray[Any]
        if isinstance(target, ClassTarget):
            true, predicted = target.labels[rows].astype(np.intp), _choose_labels(mean, target)
            if score is True:
                return float((true == predicted).all(axis=1).mean())
        else:
            true, predicted = target.values[rows], mean
            if score is True:
                return _explain_variance(true, predicted)
        if target.n_outputs == 1:
            true, predicted = true[:, 0], predicted[:, 0]
        return float(score(true, predicted))  # type: ignore[operator]

    return measure


def _explain_variance(true: FloatArray, predicted: FloatArray) -> float:
    """R², the mean over outputs; what scikit-learn's metric gives, whose checks cost more than the sums."""
    if len(true) < 2:
        return np.nan  # one row has no variance to explain
    missed = ((true - predicted) ** 2).sum(axis=0)
    total = ((true - true.mean(axis=0)) ** 2).sum(axis=0)
    constant = total == 0.0
    shares = 1.0 - missed / np.where(constant, 1.0, total)
    return float(np.where(constant, missed == 0.0, shares).mean())


def _measure_by_name(
    name: str, target: ClassTarget | ValueTarget, parameter: str
) -> Callable[[Rows, FloatArray], float]:
    from sklearn.metrics import get_scorer

    check_scorer(name, parameter, "True, a function of the true and the predicted target, or ")
    scorer = get_scorer(name)

    def measure(rows: Rows, mean: FloatArray) -> float:
        asked = np.arange(len(mean))
        if isinstance(target, ClassTarget):
            true = target.decode(target.labels[rows])
            witness: Any = _ClassWitness(target, mean)
        else:
            true = target.values[rows]
            witness = _ValueWitness(target, mean)
        flat = true[:, 0] if true.ndim == 2 and true.shape[1] == 1 else true
        try:
            return float(scorer(witness, asked, flat))
        except (AttributeError, TypeError) as error:
            raise DataError(f"The scorer {name!r} cannot judge such predictions: {error}") from error

    return measure


class _ClassWitness(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers a scorer's questions with votes that are known already; a row's number stands for the row."""

    def __init__(self, target: ClassTarget, mean: FloatArray) -> None:
        self.target, self.mean = target, mean

    @property
    def classes_(self) -> Any:
        return self.target.classes[0] if self.target.n_outputs == 1 else self.target.classes

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        decoded = self.target.decode(_choose_labels(self.mean[rows], self.target))
        return decoded[:, 0] if decoded.ndim == 2 and decoded.shape[1] == 1 else decoded

    def predict_proba(self, rows: NDArray[np.intp]) -> Any:
        parts = _part_outputs(self.mean[rows], self.target)
        return parts[0] if len(parts) == 1 else parts


class _ValueWitness(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """As `_ClassWitness`, for numbers."""

    def __init__(self, target: ValueTarget, mean: FloatArray) -> None:
        self.target, self.mean = target, mean

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, rows: NDArray[np.intp]) -> FloatArray:
        return self.mean[rows, 0] if self.target.n_outputs == 1 else self.mean[rows]
