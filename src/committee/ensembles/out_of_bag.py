"""Out-of-bag predictions and their score while an ensemble grows [Breiman1996b].

The ensemble adds the votes of its members to `OutOfBag.sums` and `OutOfBag.n_votes` in place and calls `score_votes`
every few members; the trace of the scores shows when more members no longer help.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from committee.constraints import show_value
from committee.data import ClassTarget, ValueTarget
from committee.ensembles.half_votes import HalfVotes
from committee.exceptions import DataError, ParameterTypeError, warn_caller
from committee.learners.tree_estimator import split_outputs
from committee.scoring.direct import explain_variance, find_class_metric, find_value_metric
from committee.scoring.known_predictions import KnownPredictions, KnownProbabilities, KnownValues
from committee.scoring.scorer import Scorer
from committee.value_checks import accepts_arguments, is_flag, is_real

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

    Rows = NDArray[np.intp] | slice

__all__ = ["SCORE_EVERY", "OutOfBag", "make_score_function", "takes_sample_weight"]

SCORE_EVERY = 5
"""Members between two scores: each costs a metric over all rows."""


class OutOfBag:
    """Votes of the members on their out-of-bag rows, the mean vote of each row, its score and the trace of scores.

    Parameters
    ----------
    target : ClassTarget or ValueTarget
        The target that the members predict.
    score : True, callable or str
        True: accuracy (all outputs of a row must be right) or R². A callable gets the true and the predicted target
        as numbers (classes by their index), and the weights if it has the parameter ``sample_weight``; it is larger
        for better predictions. A name is that of a scorer of scikit-learn, which gets the classes themselves, or the
        probabilities.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows in the score, equal by default; rows of weight zero are left out.
    tol : float, default=0.0
        A score is better only if it is by more than this.
    patience : int or None, default=None
        Members without a better score after which the score has converged.
    score_rows : callable, optional
        Scores the rows of some numbers (or a slice) by their mean votes, in place of ``score``.
    too_few : str
        The cause that the warning about rows without votes gives, in scikit-learn's words for the family.

    Attributes
    ----------
    sums : ndarray of float64 of shape (n_rows, width), C-contiguous
        Sum of the votes: class probabilities (outputs side by side) or values.
    n_votes : ndarray of uint32 of shape (n_rows,)
        Number of members that voted on each row.
    patience : int or None
        As in the constructor.
    converged : bool
        Whether the score did not improve for ``patience`` members.
    """

    def __init__(
        self,
        target: ClassTarget | ValueTarget,
        score: bool | str | Callable[..., float],
        *,
        weights: FloatArray | None = None,
        tol: float = 0.0,
        patience: int | None = None,
        score_rows: Callable[[Rows, FloatArray], float] | None = None,
        too_few: str = "too few trees were used to compute any reliable OOB estimates",
    ) -> None:
        if isinstance(target, ClassTarget):
            n_rows, width = len(target.labels), sum(target.n_classes)
        else:
            n_rows, width = target.values.shape
        self.target = target
        self.sums: FloatArray = np.zeros((n_rows, width))
        self.n_votes: NDArray[np.uint32] = np.zeros(n_rows, dtype=np.uint32)
        self.converged = False
        self._scored = None if weights is None else weights > 0.0
        self._score = make_score_function(score, target, weights) if score_rows is None else score_rows
        self._tol, self.patience, self._too_few = tol, patience, too_few
        self._trace: list[tuple[int, float]] = []
        self._best, self._best_at = -np.inf, 0
        self._halves = HalfVotes(self.sums) if isinstance(target, ClassTarget) and target.n_outputs == 1 else None

    def score_votes(self, n_members: int) -> float:
        """Score the votes after the first ``n_members`` members have voted."""
        if self._halves is not None:
            self._halves.divide(self.sums, self.n_votes)
        voted = self.n_votes > 0
        if self._scored is not None:
            voted &= self._scored
        rows = slice(None) if voted.all() else np.flatnonzero(voted)
        score = float(self._score(rows, self._average(rows))) if voted.any() else np.nan
        self._trace.append((n_members, score))
        if score > self._best + self._tol:
            self._best, self._best_at = score, n_members
        elif self.patience is not None and n_members - self._best_at >= self.patience:
            self.converged = True
        return score

    def average(self) -> FloatArray:
        """The mean vote on each row; NaN where no member voted."""
        return self._average(slice(None))

    def fitted_attributes(self) -> dict[str, Any]:
        """The fitted attributes about out-of-bag rows; warns if a row was in every sample."""
        voted = self.n_votes > 0
        if not (voted if self._scored is None else voted | ~self._scored).all():
            warn_caller(
                f"Some inputs do not have OOB scores. This probably means {self._too_few}. Their predictions are NaN, "
                "and the score leaves them out.",
                UserWarning,
            )
        counts, scores = zip(*self._trace, strict=True)
        fitted: dict[str, Any] = {
            "oob_score_": scores[-1],
            "oob_trace_": Bunch(n_estimators=np.array(counts, dtype=np.intp), score=np.array(scores)),
        }
        mean = self.average()
        if isinstance(self.target, ClassTarget):
            fitted["oob_decision_function_"] = _stack_outputs(split_outputs(mean, self.target.n_classes))
            if self.target.n_outputs == 1:
                # Prediction sets compare the probability of each row's own class; -1 for a row that does not count.
                labels = self.target.labels[:, 0].astype(np.int32)
                fitted["_oob_labels"] = labels if self._scored is None else np.where(self._scored, labels, np.int32(-1))
                assert self._halves is not None
                fitted["_oob_halves"] = self._halves.score(self.sums, self.n_votes, labels)
            return fitted
        return {**fitted, "oob_prediction_": mean[:, 0] if self.target.n_outputs == 1 else mean}

    def _average(self, rows: Rows) -> FloatArray:
        with np.errstate(invalid="ignore"):
            mean: FloatArray = self.sums[rows] / self.n_votes[rows, np.newaxis]
        return mean


def _stack_outputs(outputs: list[FloatArray]) -> FloatArray | list[FloatArray]:
    """The probabilities of a single output; of several, stacked along a third axis if they have as many classes."""
    if len(outputs) == 1:
        return outputs[0]
    same_width = len({output.shape[1] for output in outputs}) == 1
    return np.stack(outputs, axis=2) if same_width else outputs


def _choose_labels(probabilities: FloatArray, target: ClassTarget) -> NDArray[np.intp]:
    """The class of the largest probability for each output, of shape (n_rows, n_outputs)."""
    return np.stack([output.argmax(axis=1) for output in split_outputs(probabilities, target.n_classes)], axis=1)


def make_score_function(
    score: bool | str | Callable[..., float],
    target: ClassTarget | ValueTarget,
    weights: FloatArray | None = None,
    parameter: str = "oob_score",
) -> Callable[[Rows, FloatArray], float]:
    """A function of rows and their predictions that scores these; larger is better.

    Parameters
    ----------
    score : True, callable or str
        As in `OutOfBag`.
    target : ClassTarget or ValueTarget
        The target of all rows.
    weights : ndarray of shape (n_rows,), optional
        The weights of all rows.
    parameter : str, default="oob_score"
        Name of the parameter that the score comes from, for the message if there is no scorer of that name.

    Returns
    -------
    callable
        Takes the numbers of the rows (or a slice) and their predictions: class probabilities side by side, or values.
    """
    if isinstance(score, str):
        return _score_by_name(score, target, weights, parameter)
    weighted = weights is not None and takes_sample_weight(score)
    if callable(score) and not accepts_arguments(score, 2):
        raise ParameterTypeError(
            f"The {parameter!r} parameter must be a function of the true values and the predictions; got "
            f"{show_value(score)}, which does not take two arguments."
        )

    def compute(rows: Rows, mean: FloatArray) -> float:
        true: NDArray[Any]
        predicted: NDArray[Any]
        own = None if weights is None else weights[rows]
        if isinstance(target, ClassTarget):
            true, predicted = target.labels[rows].astype(np.intp), _choose_labels(mean, target)
            if is_flag(score, True):
                return float(np.average((true == predicted).all(axis=1), weights=own))
        else:
            true, predicted = target.values[rows], mean
            if is_flag(score, True):
                return explain_variance(true, predicted, own)
        if target.n_outputs == 1:
            true, predicted = true[:, 0], predicted[:, 0]
        assert callable(score)
        found = score(true, predicted, sample_weight=own) if weighted else score(true, predicted)
        if not is_real(found):
            raise ParameterTypeError(f"The {parameter!r} parameter must return a number; it gave {show_value(found)}.")
        return float(found)

    return compute


def takes_sample_weight(score: object) -> bool:
    """Whether a function has the parameter ``sample_weight``."""
    try:
        return callable(score) and "sample_weight" in signature(score).parameters
    except (TypeError, ValueError):  # a function of C without a signature
        return False


def _score_by_name(
    name: str, target: ClassTarget | ValueTarget, weights: FloatArray | None, parameter: str
) -> Callable[[Rows, FloatArray], float]:
    scorer = Scorer(
        name, parameter=parameter, alternatives="True, a function of the true and the predicted target, or "
    )

    direct = _find_direct(name, target)

    def compute(rows: Rows, mean: FloatArray) -> float:
        own = None if weights is None else weights[rows]
        found = None if direct is None else direct(rows, mean, own)
        if found is not None:
            return found
        true = target.decode(target.labels[rows]) if isinstance(target, ClassTarget) else target.values[rows]
        flat = true[:, 0] if true.ndim == 2 and true.shape[1] == 1 else true
        try:
            return scorer.score_known(_wrap_mean(target, mean), flat, own)
        except (AttributeError, TypeError) as error:
            raise DataError(f"The scorer {name!r} cannot score such predictions: {error}") from error

    return compute


def _find_direct(
    name: str, target: ClassTarget | ValueTarget
) -> Callable[[Rows, FloatArray, FloatArray | None], float | None] | None:
    """A function of rows, their predictions and weights in place of the scorer, where there is one."""
    if not isinstance(target, ClassTarget):
        of_values = find_value_metric(name)
        return None if of_values is None else lambda rows, mean, own: of_values(target.values[rows], mean, own)
    if target.n_outputs > 1:
        return None
    of_classes, labels = find_class_metric(name, target.classes[0]), target.labels[:, 0].astype(np.intp)
    return None if of_classes is None else lambda rows, mean, own: of_classes(labels[rows], mean, own)


def _wrap_mean(target: ClassTarget | ValueTarget, mean: FloatArray) -> KnownPredictions:
    """Mean predictions as an estimator that a scorer can call."""
    if not isinstance(target, ClassTarget):
        return KnownValues(mean)
    decoded = target.decode(_choose_labels(mean, target))
    decoded = decoded[:, 0] if decoded.ndim == 2 and decoded.shape[1] == 1 else decoded
    outputs = split_outputs(mean, target.n_classes)
    if target.n_outputs == 1:
        return KnownProbabilities(target.classes[0], outputs[0], decoded)
    return KnownProbabilities(target.classes, outputs, decoded)
