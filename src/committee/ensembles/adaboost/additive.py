"""Boosting by regression: Gentle AdaBoost and LogitBoost [FriedmanHastieTibshirani2000].

Each round fits regressions to a working response and adds their predictions to f. For two classes there is one
regression a round, and f is half the log-odds; for more there is one for each class.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from committee.engines.exact_sums import normalize_exactly, sum_over_rows
from committee.engines.formula import Arithmetic, JoinedTerms, RowFunction
from committee.ensembles.adaboost.algorithms import Algorithm, RoundResult, as_term
from committee.losses import apply_exp, apply_sigmoid, apply_softmax

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.adaboost.algorithms import GroupPredictions, Link, WeightedSum
    from committee.typing import FloatArray, IndexArray

__all__ = ["ADDITIVE_ALGORITHMS", "AdditiveAlgorithm", "AdditiveFit", "GentleAdaBoost", "LogitBoost"]

_LARGEST_SUM = 1e300  # with the opposite sign a number still

_MAX_STEP = 4.0
"""LogitBoost's steps are shortened so that no regression adds more than this. Its authors clip the responses to 2 to 4
instead, which does not converge where a class is rarer than 1 in 5."""


@dataclass(frozen=True)
class AdditiveAlgorithm(Algorithm):
    """An algorithm whose members are regressions, `width` of them a round."""

    combine: ClassVar[Literal["votes", "scores", "values"]] = "values"

    @property
    def width(self) -> int:
        """Number of regressions in a round."""
        return self.n_classes if self.n_classes > 2 else 1

    def step_size(self, values: FloatArray) -> float:
        """Factor of the regressions of a round in f."""
        return self.learning_rate

    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult | None:
        """A round takes regressions instead of classes: see `AdditiveFit.add_round`."""
        raise NotImplementedError

    @abstractmethod
    def working_response(
        self, signs: FloatArray, sums: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Targets and weights of the next regressions, from +-1 for each class and f so far."""

    @abstractmethod
    def to_class_scores(self, values: FloatArray) -> FloatArray:
        """Terms of f for the classes, from the regressions of a round side by side."""

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """f, one column a class."""
        if self.n_classes == 1:
            return np.zeros_like(sums)
        return np.hstack([-sums, sums]) if self.width == 1 else self.to_class_scores(sums)

    @abstractmethod
    def class_score_term(self, values: FormulaTerm) -> FormulaTerm:
        """`to_class_scores`, as a term of a formula."""

    def decision_term(self, sums: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_decision`."""
        if self.n_classes == 1:
            return as_term(0.0)
        if self.width == 1:
            return JoinedTerms((Arithmetic("*", as_term(-1.0), sums), sums))
        return self.class_score_term(sums)

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """For two classes, the exponential loss."""
        return losses if self.n_classes == 2 else None


class GentleAdaBoost(AdditiveAlgorithm):
    """Gentle AdaBoost: f += E_w[y | x] by least squares, D *= exp(-y f); several classes one against the rest."""

    def working_response(
        self, signs: FloatArray, sums: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """Y itself, with weights w exp(-y f)."""
        exponents = -signs * sums
        own = weights * apply_exp(exponents - exponents.max(axis=0))
        return signs, normalize_exactly(own)

    def to_class_scores(self, values: FloatArray) -> FloatArray:
        """The regressions themselves."""
        return values

    def class_score_term(self, values: FormulaTerm) -> FormulaTerm:
        """`to_class_scores`."""
        return values

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Probability of each class against the rest from half its log-odds, normalised to sum to one."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        own = apply_sigmoid(2.0 * decision)
        return np.asarray(own / own.sum(axis=1, keepdims=True))

    def proba_term(self, decision: FormulaTerm) -> FormulaTerm:
        """`to_proba`."""
        if self.n_classes == 1:
            return as_term(1.0)
        own = RowFunction("sigmoid", Arithmetic("*", as_term(2.0), decision))
        return Arithmetic("/", own, RowFunction("sum", own))

    @property
    def link(self) -> Link:
        """For several classes `to_proba` is none of the links of a `TreeModel`."""
        return super().link if self.n_classes <= 2 else ("other", 1.0)


class LogitBoost(AdditiveAlgorithm):
    """LogitBoost: Newton steps on the multinomial log-likelihood."""

    def working_response(
        self, signs: FloatArray, sums: FloatArray, weights: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """(y - p) / (p (1 - p)) with weights w p (1 - p); y is 0 or 1, p is kept 1/(2n) away from both."""
        p = apply_sigmoid(2.0 * sums) if self.width == 1 else apply_softmax(self.to_class_scores(sums))
        p = np.clip(p, self.least, 1.0 - self.least)
        own = weights * p * (1.0 - p)
        return ((signs > 0.0) - p) / (p * (1.0 - p)), normalize_exactly(own)

    def step_size(self, values: FloatArray) -> float:
        """1/2 for two classes, where f is half the log-odds; shortened if a regression exceeds the largest step."""
        damped = _MAX_STEP / max(float(np.abs(values).max()), _MAX_STEP)
        return self.learning_rate * damped * (0.5 if self.width == 1 else 1.0)

    def to_class_scores(self, values: FloatArray) -> FloatArray:
        """(K - 1)/K times the difference from the mean over classes."""
        n = self.n_classes
        return np.asarray((n - 1) / n * (values - values.mean(axis=1, keepdims=True)))

    def class_score_term(self, values: FormulaTerm) -> FormulaTerm:
        """`to_class_scores`."""
        n = self.n_classes
        mean = Arithmetic("/", RowFunction("sum", values), as_term(n))
        return Arithmetic("*", as_term((n - 1) / n), Arithmetic("-", values, mean))

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Softmax of f; for two classes f is half the log-odds."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        return apply_softmax(decision)

    def proba_term(self, decision: FormulaTerm) -> FormulaTerm:
        """`to_proba`."""
        return as_term(1.0) if self.n_classes == 1 else RowFunction("softmax", decision)

    @property
    def link(self) -> Link:
        """Softmax of f; for two classes the logistic function of 2 f."""
        return ("logit", 2.0) if self.n_classes == 2 else ("softmax", 1.0)


ADDITIVE_ALGORITHMS: dict[str, type[AdditiveAlgorithm]] = {"gentle": GentleAdaBoost, "logit": LogitBoost}


class AdditiveFit:
    """f on the training rows, and the working response of the next round.

    Parameters
    ----------
    algorithm : AdditiveAlgorithm
        The algorithm.
    labels : ndarray of shape (n_rows,)
        Indices of the classes.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    sums : ndarray of shape (n_rows, width) or None
        Summed regressions of earlier rounds.
    """

    def __init__(
        self, algorithm: AdditiveAlgorithm, labels: IndexArray, weights: FloatArray | None, sums: FloatArray | None
    ) -> None:
        start = np.ones(len(labels)) if weights is None else weights
        self._algorithm, self._labels = algorithm, labels.astype(np.intp)
        self._weights = normalize_exactly(start)[:, None]
        columns = [1] if algorithm.width == 1 else range(algorithm.n_classes)
        self._signs = np.stack([np.where(labels == k, 1.0, -1.0) for k in columns], axis=1)
        self._sums = np.zeros_like(self._signs) if sums is None else sums.copy()
        self._loss = self._measure_loss()

    def working_response(self) -> tuple[FloatArray, FloatArray]:
        """Targets and weights, a column for each regression of the round."""
        return self._algorithm.working_response(self._signs, self._sums, self._weights)

    def add_round(self, values: FloatArray, weights: FloatArray) -> RoundResult:
        """Add the regressions of a round, of shape (n_rows, width), which were fitted with these weights."""
        algorithm, step = self._algorithm, self._algorithm.step_size(values)
        labels = (values[:, 0] > 0.0).astype(np.intp) if algorithm.width == 1 else values.argmax(axis=1)
        wrong = labels != self._labels
        error = sum_over_rows(self.average_weights(weights), wrong) if algorithm.n_classes > 1 else 0.0
        with np.errstate(over="ignore"):  # of the largest learning rates
            self._sums = np.clip(self._sums + step * values, -_LARGEST_SUM, _LARGEST_SUM)
        before, self._loss = self._loss, self._measure_loss()
        return RoundResult(error, step, self._loss / before if before > 0.0 else 0.0, np.empty((0, 0)))

    def average_weights(self, weights: FloatArray) -> FloatArray:
        """Weights of the rows in a round, the mean over its regressions."""
        return weights[:, 0] if weights.shape[1] == 1 else np.asarray(weights.mean(axis=1))

    def _measure_loss(self) -> float:
        """Mean of exp(-y f) over the rows and, for several classes, over the one-against-rest problems."""
        algorithm = self._algorithm
        scores = self._sums if algorithm.width == 1 else algorithm.to_class_scores(self._sums)
        with np.errstate(over="ignore"):
            losses = apply_exp(-self._signs * scores)
        own = self._weights if algorithm.width == 1 else np.broadcast_to(self._weights, losses.shape)
        return sum_over_rows(losses.ravel(), own.ravel()) / algorithm.width
