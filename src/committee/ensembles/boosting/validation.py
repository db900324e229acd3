"""Watching boosting: tables besides the training rows, a judge of scores, and when it is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.metrics import check_scoring

from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.intake import take_in_rows
from committee.data.targets import encode_classes, encode_values, read_target
from committee.data.weights import combine_weights
from committee.exceptions import DataError
from committee.foreign_names import check_scorer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.ensembles.boosting.rounds import Rounds
    from committee.typing import FloatArray

__all__ = ["HeldOut", "Judge", "Watch", "hold_out_rows", "read_held_out"]

_LOOKED_AT = 10_000
"""Training rows that a scorer looks at after each round; the loss is that of all rows."""


# --- rows besides the training rows --------------------------------------------------------------------------


class HeldOut:
    """Rows that no tree is grown from, with their scores by the trees so far.

    Parameters
    ----------
    X : ndarray or sparse matrix
        Taken in against the schema of the training rows.
    target : ClassTarget or ValueTarget
        With the classes of the training rows.
    weights : ndarray of shape (n_rows,) or None
        For means over rows.
    offset : ndarray of shape (n_rows, n_scores) or None
        What their scores start from, besides the baseline.
    """

    def __init__(
        self,
        X: Any,
        target: ClassTarget | ValueTarget,
        weights: FloatArray | None,
        offset: FloatArray | None = None,
    ) -> None:
        self.X, self.target, self.weights, self.offset = X, target, weights, offset
        self.scores: FloatArray | None = None
        self._n_added = 0

    def catch_up(self, rounds: Rounds) -> FloatArray:
        """Scores by all trees so far, of shape (n_rows, n_scores)."""
        if self.scores is None or rounds.dart is not None:
            self.scores = rounds.score_rows(self.X, self.offset)
        else:
            self.scores = self.scores + rounds.sum_newest(self.X, self._n_added)
        self._n_added = int(rounds.state.n_trees)
        return self.scores


def read_held_out(estimator: Any, dataset: Dataset, X: Any, y: Any, sample_weight: Any) -> HeldOut:
    """Take in rows that a user has kept apart.

    Parameters
    ----------
    estimator : estimator instance
        Whose ``class_weight`` goes into the weights.
    dataset : Dataset
        The training rows, whose columns and classes these rows must have.
    X, y, sample_weight
        As ``fit`` takes them.
    """
    rows = take_in_rows(estimator, X, dataset.schema)
    name, target = type(estimator).__name__, dataset.target
    found: ClassTarget | ValueTarget
    array = read_target(y, rows.shape[0], name, multi_output=isinstance(target, ValueTarget))
    if isinstance(target, ClassTarget):
        found = _match_classes(encode_classes(array, name), target)
    else:
        found = encode_values(array)
        assert target is not None
        if found.n_outputs != target.n_outputs:
            raise DataError(
                f"The rows kept apart have {found.n_outputs} outputs, the training rows {target.n_outputs}."
            )
    class_weight = getattr(estimator, "class_weight", None)
    weights = None
    if sample_weight is not None or class_weight is not None:
        weights = combine_weights(sample_weight, class_weight, found, rows.shape[0], name)
    return HeldOut(rows, found, weights)


def _match_classes(found: ClassTarget, known: ClassTarget) -> ClassTarget:
    index = {label: k for k, label in enumerate(known.classes[0].tolist())}
    unknown = [label for label in found.classes[0].tolist() if label not in index]
    if unknown:
        raise DataError(f"The rows kept apart have the class {unknown[0]!r}, which the training rows do not have.")
    renumber = np.array([index[label] for label in found.classes[0].tolist()], dtype=np.uint32)
    return ClassTarget(renumber[found.labels], known.classes, known.one_dimensional)


def hold_out_rows(
    dataset: Dataset, size: Any, seed: int, offset: FloatArray | None = None
) -> tuple[Dataset, HeldOut, NDArray[np.bool_]]:
    """Part the rows: those to learn from, those to judge by, and which of all rows these are.

    Of each class the same share is held out, and at least one row stays; rows of weight zero stay.

    Parameters
    ----------
    dataset : Dataset
        All rows.
    size : float or int
        A share, or a number of rows.
    seed : int
        Of the drawing.
    offset : ndarray of shape (n_rows, n_scores), optional
        What the scores of all rows start from.

    Examples
    --------
    >>> from committee.base import CommitteeEstimator
    >>> from committee.data.intake import take_in
    >>> data = take_in(CommitteeEstimator(), np.arange(20.0)[:, None], [0, 1] * 10, task="classify")
    >>> training, held_out, _ = hold_out_rows(data, 0.2, 0)
    >>> training.n_rows, held_out.target.labels.sum()
    (16, np.uint64(2))
    """
    n_rows = dataset.n_rows
    there = np.arange(n_rows) if dataset.weights is None else np.flatnonzero(dataset.weights > 0.0)
    share = int(size) / len(there) if isinstance(size, int | np.integer) else float(size)
    rng = np.random.default_rng([seed, 1])
    target = dataset.target
    labels = target.labels[there, 0] if isinstance(target, ClassTarget) else np.zeros(len(there), np.uint32)
    out = np.zeros(n_rows, dtype=bool)
    carry = 0.0
    for label in np.unique(labels):
        members = there[labels == label]
        wanted = share * len(members) + carry
        n_out = min(round(wanted), len(members) - 1)
        carry = min(wanted - n_out, 0.5)
        out[rng.permutation(members)[:n_out]] = True
    if not out.any():
        raise DataError(
            f"There are too few rows ({len(there)}) to hold any out for early stopping; set 'early_stopping' to False."
        )
    training, held_out = dataset.take_rows(np.flatnonzero(~out)), dataset.take_rows(np.flatnonzero(out))
    assert held_out.target is not None
    part = None if offset is None else offset[out]
    return training, HeldOut(held_out.X, held_out.target, held_out.weights, part), out


# --- judging -------------------------------------------------------------------------------------------------


class Judge:
    """How good scores are, as a number that is larger for better ones.

    Parameters
    ----------
    scoring : "loss", str, callable or None
        Minus the loss, the name of one of scikit-learn's scorers, a scorer, or the estimator's own `score` (None).
    loss : LossFunction
        What turns scores into predictions.
    parameter : str
        Where it was asked for.
    """

    def __init__(self, scoring: Any, loss: Any, parameter: str = "scoring") -> None:
        self.scoring, self.loss = scoring, loss
        self.is_loss = isinstance(scoring, str) and scoring == "loss"
        if isinstance(scoring, str) and not self.is_loss:
            check_scorer(scoring, parameter, "'loss', a scorer or ")
        self._unit = 1.0

    def prepare(self, rounds: Rounds) -> None:
        """See to it that losses of different rounds can be compared.

        Where Huber's loss turns linear moves from round to round; it is judged by where it turns at the baseline.
        """
        if getattr(self.loss, "name", None) == "huber":
            distances = np.abs(rounds.dataset.target.values - rounds.baseline)[:, 0]  # type: ignore[union-attr]
            level = 0.9 if np.isnan(self.loss.parameter) else float(self.loss.parameter)
            self._unit = float(np.quantile(distances, level)) or 1.0

    def judge_training(self, rounds: Rounds) -> float:
        """Judge the scores of all training rows by the loss."""
        if self._unit == 1.0 and not self.loss.is_custom:
            return -float(rounds.state.measure_loss())
        return self.judge(rounds.dataset.target, np.asarray(rounds.state.scores), rounds.dataset.weights)

    def judge(self, target: Any, scores: FloatArray, weights: FloatArray | None) -> float:
        """Judge the scores of rows, of shape (n_rows, n_scores)."""
        if self.is_loss:
            numbers = target.labels if isinstance(target, ClassTarget) else target.values
            # d² H_1(y / d, f / d) is Huber's loss that turns at d; one for all others.
            losses = self._unit**2 * self.loss.find_values(numbers / self._unit, scores / self._unit)
            return -float(np.average(losses, weights=weights))
        rows = np.arange(len(scores))
        witness: Any
        if isinstance(target, ClassTarget):
            witness, true = _ClassWitness(target, self.loss, scores), target.decode(target.labels)
        else:
            witness, true = _ValueWitness(self.loss, scores), target.values
        true = true[:, 0] if true.ndim == 2 and true.shape[1] == 1 else true
        scorer = check_scoring(witness, scoring=self.scoring)
        more = {} if weights is None else {"sample_weight": weights}
        return float(scorer(witness, rows, true, **more))


class _ClassWitness(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Answers a scorer's questions by scores that are known already; a row's number stands for the row."""

    def __init__(self, target: ClassTarget, loss: Any, scores: FloatArray) -> None:
        self.target, self.loss, self.scores = target, loss, scores

    @property
    def classes_(self) -> Any:
        return self.target.classes[0]

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> _ClassWitness:  # scikit-learn asks for it, and never calls it
        return self

    def decision_function(self, rows: NDArray[np.intp]) -> FloatArray:
        scores: FloatArray = self.scores[rows]
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, rows: NDArray[np.intp]) -> FloatArray:
        means: FloatArray = self.loss.find_means(self.scores[rows])
        return np.column_stack([1.0 - means[:, 0], means[:, 0]]) if means.shape[1] == 1 < len(self.classes_) else means

    def predict(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        return self.classes_.take(self.predict_proba(rows).argmax(axis=1))  # type: ignore[no-any-return]


class _ValueWitness(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """As `_ClassWitness`, for numbers."""

    def __init__(self, loss: Any, scores: FloatArray) -> None:
        self.loss, self.scores = loss, scores

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def fit(self, X: Any, y: Any) -> _ValueWitness:  # scikit-learn asks for it, and never calls it
        return self

    def predict(self, rows: NDArray[np.intp]) -> FloatArray:
        means: FloatArray = self.loss.find_means(self.scores[rows])
        return means[:, 0] if means.shape[1] == 1 else means


# --- when it is enough ---------------------------------------------------------------------------------------


class Watch:
    """Scores after each round, of the training rows and of rows held out, and the rule that stops.

    Parameters
    ----------
    judge : Judge
        Of both.
    held_out : HeldOut or None
        Rows that the rule looks at; without any it looks at the training rows.
    patience : int
        Rounds that may come without a score that is better by more than ``tol``.
    tol : float
        See ``patience``.
    seed : int
        Of the draw of training rows, where a scorer does not see all.
    """

    def __init__(self, judge: Judge, held_out: HeldOut | None, patience: int, tol: float, seed: int) -> None:
        self.judge, self.held_out = judge, held_out
        self.training_scores: list[float] = []
        self.held_out_scores: list[float] = []
        self._patience, self._tol, self._seed = patience, tol, seed

    def open(self, rounds: Rounds, training: Any = (), held_out: Any = ()) -> None:
        """Begin with the scores of an earlier fit, or those of the baseline."""
        self.judge.prepare(rounds)
        self.training_scores, self.held_out_scores = list(training), list(held_out)
        if not self.training_scores:
            self._measure(rounds)

    def look_before(self, rounds: Rounds) -> None:
        """Called in every round when its rows are drawn and before its trees are grown."""

    def look(self, rounds: Rounds) -> bool:
        """Measure the latest round; whether that was enough."""
        self._measure(rounds)
        return self._has_settled(self.held_out_scores if self.held_out is not None else self.training_scores)

    def describe(self) -> str:
        """The latest score in words."""
        held_out = bool(self.held_out_scores)
        scores = self.held_out_scores if held_out else self.training_scores
        return f"{'held-out' if held_out else 'training'} score {scores[-1]:.4g}" if scores else ""

    def _measure(self, rounds: Rounds) -> None:
        self.training_scores.append(self._judge_training(rounds))
        if self.held_out is not None:
            scores = self.held_out.catch_up(rounds)
            self.held_out_scores.append(self.judge.judge(self.held_out.target, scores, self.held_out.weights))

    def _judge_training(self, rounds: Rounds) -> float:
        if self.judge.is_loss:
            return self.judge.judge_training(rounds)
        scores, looked_at = np.asarray(rounds.state.scores), rounds.dataset
        if looked_at.n_rows > _LOOKED_AT:
            rows = np.random.default_rng([self._seed, 2]).choice(looked_at.n_rows, _LOOKED_AT, replace=False)
            scores, looked_at = scores[rows], looked_at.take_rows(rows)
        return self.judge.judge(looked_at.target, scores, looked_at.weights)

    def _has_settled(self, scores: list[float]) -> bool:
        """Whether none of the last rounds was better than the one before them."""
        if len(scores) <= self._patience:
            return False
        return not max(scores[-self._patience :]) > scores[-self._patience - 1] + self._tol
