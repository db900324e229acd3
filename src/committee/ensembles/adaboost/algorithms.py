"""The formulas of AdaBoost: error and weight of a member, and the factors of the row weights.

An algorithm is given what a member predicts for groups of training rows. A group is a leaf of a stump, whose rows have
one prediction, or a single row. A table has a row for each group and a column for each true class: entry (g, k) is
about the rows of class k in group g.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from committee.engines.formula import Arithmetic, ConstantTerm, JoinedTerms, RowFunction, TakenColumns
from committee.losses import apply_exp, apply_log, apply_sigmoid, apply_softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import BoolArray, FloatArray

    #: Sum over the rows of weight times the table's entry for the row's group and class.
    WeightedSum: TypeAlias = Callable[[FloatArray | BoolArray], float]
    #: A link of `TreeModel`, and the factor of f before it.
    Link: TypeAlias = tuple[Literal["logit", "softmax", "other"], float]

__all__ = [
    "ALGORITHMS",
    "Algorithm",
    "DiscreteAdaBoost",
    "GroupPredictions",
    "RealAdaBoost",
    "RoundResult",
    "Samme",
    "SammeR",
    "VotingAlgorithm",
    "as_term",
]

_MAX_HALVINGS = 10
"""Halvings of a step that would raise the exponential loss, before boosting ends."""
_CHANCE = 1e-12
"""An error that is so close to chance is chance: a member that is found twice has exactly this error then, up
to the rounding of sums."""
_LARGEST_VOTE = 1e300  # of which sums are numbers
_SCORE_STEP = 2.0**-36
"""Scores are multiples of this; sums below 2^17 are exact."""


@dataclass(frozen=True)
class GroupPredictions:
    """What a member predicts for each group of training rows.

    Attributes
    ----------
    labels : ndarray of shape (n_groups,)
        Indices of the predicted classes.
    probabilities : ndarray of shape (n_groups, n_classes) or None
        Probabilities of the classes, where the algorithm needs them.
    """

    labels: NDArray[np.intp]
    probabilities: FloatArray | None = None


@dataclass(frozen=True)
class RoundResult:
    """The outcome of one round.

    Attributes
    ----------
    error : float
        Weighted training error of the member, epsilon_t.
    weight : float
        Weight of the member, alpha_t.
    loss : float
        Factor of the mean exponential loss.
    factors : ndarray of shape (n_groups, n_classes) or None
        Factors of the row weights; None if nothing is left to learn.
    """

    error: float
    weight: float
    loss: float
    factors: FloatArray | None


@dataclass(frozen=True)
class Algorithm(ABC):
    """One form of AdaBoost: `run_round` is a round; the other methods turn summed predictions into f.

    The additive model f has a column for each class; the columns sum to zero. For two classes they are minus and plus
    half the log-odds of the second class. It minimises the expected exponential loss exp(-f_y / (K - 1)) [Zhu2009].

    Attributes
    ----------
    n_classes : int
        K.
    learning_rate : float
        Factor of every step.
    least : float
        Lower bound of probabilities: half the smallest relative row weight, 1/(2n) for equal weights.
    """

    n_classes: int
    learning_rate: float
    least: float
    combine: ClassVar[Literal["votes", "scores", "values"]] = "votes"
    two_classes: ClassVar[bool] = False

    @property
    def width(self) -> int:
        """Number of members in a round."""
        return 1

    @abstractmethod
    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult | None:
        """Error and weight of a member, and the factors of the row weights; None if it is no better than chance."""

    @abstractmethod
    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """f, of shape (n_rows, n_classes), from the summed predictions of members with these weights."""

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Probabilities whose log-odds f estimates [FriedmanHastieTibshirani2000, Zhu2009]."""
        return apply_softmax(decision / max(1, self.n_classes - 1))

    def to_output(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """What `decision_function` returns: f, for two classes its second column."""
        decision = self.to_decision(sums, weights)
        return decision[:, 1] if self.n_classes == 2 else decision

    def output_scale(self, weights: FloatArray) -> float:
        """Quotient of f and what `decision_function` returns."""
        return 1.0

    # The same as terms of a formula.

    @abstractmethod
    def decision_term(self, sums: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_decision`."""

    def proba_term(self, decision: FormulaTerm) -> FormulaTerm:
        """`to_proba`."""
        return RowFunction("softmax", Arithmetic("/", decision, as_term(max(1, self.n_classes - 1))))

    def output_term(self, sums: FormulaTerm, decision: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_output`, from the sums and from f."""
        return TakenColumns(decision, (1,)) if self.n_classes == 2 else decision

    def score_term(self, probabilities: FormulaTerm) -> FormulaTerm:
        """`to_scores`."""
        raise NotImplementedError

    @property
    def link(self) -> Link:
        """`to_proba` as the link of a `TreeModel`, and the factor of f before it."""
        return ("logit", 2.0) if self.n_classes == 2 else ("softmax", 1.0 / max(1, self.n_classes - 1))

    def term_weights(self, weights: FloatArray) -> FloatArray:
        """Factor of each member's decision in the ensemble's, given the weights of the members."""
        return weights

    def to_scores(self, probabilities: FloatArray) -> FloatArray:
        """Term of f from a member's probabilities; for algorithms that combine scores."""
        raise NotImplementedError

    def max_difference(self, weights: FloatArray) -> float:
        """Difference between two columns of f if all members agree; for scores, 1 for each member."""
        return float(np.abs(weights).sum())

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """Bound of the training error after each round; None if none is known."""
        return losses if self.n_classes == 2 else None

    def find_errors(self, predictions: GroupPredictions) -> BoolArray:
        """Table of whether a group's prediction differs from the true class."""
        return np.asarray(predictions.labels[:, None] != np.arange(self.n_classes))


class VotingAlgorithm(Algorithm):
    """Algorithms whose members vote for one class."""

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """Votes minus their mean: the additive model with terms 1 for the vote and -1/(K-1) elsewhere."""
        scale = (self.n_classes - 1) * self._scale()
        return np.asarray(scale * (sums - weights.sum() / self.n_classes))

    def decision_term(self, sums: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_decision`."""
        centred = Arithmetic("-", sums, as_term(weights.sum() / self.n_classes))
        return Arithmetic("*", as_term((self.n_classes - 1) * self._scale()), centred)

    def _scale(self) -> float:
        return 1.0

    def max_difference(self, weights: FloatArray) -> float:
        """All votes for one class and none for another."""
        return float((self.n_classes - 1) * self._scale() * np.abs(weights).sum())

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """Where the vote is wrong, at least half of the weighted votes are wrong; for two classes this is the loss."""
        alpha = self._scale() * weights
        rounds = (1.0 - errors) * apply_exp(-alpha / 2) + errors * apply_exp(alpha / 2)
        return np.asarray(np.cumprod(rounds))


class DiscreteAdaBoost(VotingAlgorithm):
    """AdaBoost of Freund and Schapire, labels -1 and 1 [FreundSchapire1997]."""

    two_classes = True

    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult | None:
        """Alpha = 1/2 log((1 - eps) / eps); D *= exp(-alpha y h). If eps > 1/2, alpha < 0 inverts the vote."""
        wrong = self.find_errors(predictions)
        error = weighted_sum(wrong)
        if error <= 0.0 or error >= 1.0:
            certain = 1.0 if error <= 0.0 else -1.0
            return RoundResult(error, certain, float(apply_exp(np.asarray(-1.0))), None)
        if abs(error - 0.5) <= _CHANCE:
            return None
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the factors
            odds = float(apply_log(np.asarray((1.0 - error) / error)))
            alpha = min(self.learning_rate * 0.5 * odds, _LARGEST_VOTE)
            raised, lowered = apply_exp(np.array([alpha, -alpha]))
            factors = np.where(wrong, raised, lowered)
            return RoundResult(error, float(alpha), weighted_sum(factors), factors)

    def _scale(self) -> float:
        # alpha is half of SAMME's, so that f is the sum of alpha h itself.
        return 2.0


class Samme(VotingAlgorithm):
    """SAMME, AdaBoost for K classes [Zhu2009]; for two classes the other common form of discrete AdaBoost."""

    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult | None:
        """Alpha = log((1 - eps) / eps) + log(K - 1); only the weights of wrong rows are raised, by exp(alpha)."""
        wrong, n_classes = self.find_errors(predictions), self.n_classes
        error = weighted_sum(wrong)
        if error <= 0.0:
            return RoundResult(0.0, 1.0, float(apply_exp(np.asarray(1.0 / n_classes - 1.0))), None)
        if error >= 1.0 - 1.0 / n_classes - _CHANCE:
            return None
        odds, others = apply_log(np.array([(1.0 - error) / error, n_classes - 1.0]))
        with np.errstate(over="ignore", invalid="ignore"):  # the caller checks the factors
            alpha = min(self.learning_rate * (odds + others), _LARGEST_VOTE)
            raised, scale = apply_exp(np.array([alpha, alpha * (1.0 / n_classes - 1.0)]))
            factors = np.where(wrong, raised, 1.0)
            loss = scale * weighted_sum(factors)
        return RoundResult(error, float(alpha), float(loss), factors)

    # `decision_function` has scikit-learn's scale: the weighted mean of 1 for the vote and -1/(K-1) elsewhere; for two
    # classes the difference of the two columns.

    def to_output(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """The weighted mean of the members' decisions."""
        if self.n_classes == 1:
            return np.zeros_like(sums)
        total = float(weights.sum()) or 1.0  # the smallest learning rates leave no weight
        if self.n_classes == 2:
            return np.asarray(2.0 * ((sums[:, 1] - sums[:, 0]) / total))
        return np.asarray((self.n_classes * (sums / total) - 1.0) / (self.n_classes - 1.0))

    def output_term(self, sums: FormulaTerm, decision: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_output`."""
        if self.n_classes == 1:
            return as_term(0.0)
        total = as_term(float(weights.sum()) or 1.0)
        if self.n_classes == 2:
            lead = Arithmetic("-", TakenColumns(sums, (1,)), TakenColumns(sums, (0,)))
            return Arithmetic("*", as_term(2.0), Arithmetic("/", lead, total))
        shares = Arithmetic("*", as_term(self.n_classes), Arithmetic("/", sums, total))
        return Arithmetic("/", Arithmetic("-", shares, as_term(1.0)), as_term(self.n_classes - 1))

    def output_scale(self, weights: FloatArray) -> float:
        """(K - 1)^2 / K times the sum of the weights; half of it for two classes."""
        if self.n_classes == 2:
            return float(weights.sum()) / 4.0
        return float(weights.sum()) * (self.n_classes - 1) ** 2 / self.n_classes

    def term_weights(self, weights: FloatArray) -> FloatArray:
        """The mean over the members."""
        return np.asarray(weights / weights.sum())


def _round_scores(scores: FloatArray) -> FloatArray:
    """Multiples of a small power of two, whose sums are exact: scores of classes that should be equal are.

    Weighted sums of probabilities differ in their last bits with the order of the rows.
    """
    return np.asarray(np.round(scores / _SCORE_STEP) * _SCORE_STEP)


def as_term(number: float) -> ConstantTerm:
    """A number as a term of a formula."""
    return ConstantTerm(np.array([float(number)]))


def _round_score_term(scores: FormulaTerm) -> FormulaTerm:
    """`_round_scores`."""
    return Arithmetic("*", RowFunction("round", Arithmetic("/", scores, as_term(_SCORE_STEP))), as_term(_SCORE_STEP))


class SammeR(Algorithm):
    """SAMME.R: the term of a member is made of the logarithms of its probabilities [Zhu2009].

    A row that a member gets wrong with certainty would receive all the weight, and the algorithm would diverge.
    Probabilities are therefore kept above 1/(2n) [SchapireSinger1999], and a step that would raise the exponential loss
    is halved until it lowers it.
    """

    combine = "scores"

    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult | None:
        """f_k = (K - 1)(log p_k - mean of log p); D *= exp(-f_y / (K - 1))."""
        assert predictions.probabilities is not None
        error = weighted_sum(self.find_errors(predictions))
        scores = self.to_scores(predictions.probabilities) / max(1, self.n_classes - 1)
        for halvings in range(_MAX_HALVINGS):
            step = self.learning_rate * 0.5**halvings
            with np.errstate(over="ignore", invalid="ignore"):  # an infinite loss halves the step again
                factors = apply_exp(-step * scores)
                loss = weighted_sum(factors)
            if loss < 1.0 or error <= 0.0:
                return RoundResult(error, step, loss, factors if error > 0.0 else None)
        return None

    def to_scores(self, probabilities: FloatArray) -> FloatArray:
        """(K - 1)(log p_k - mean of log p), with p kept above the lower bound."""
        logs = apply_log(np.maximum(probabilities, self.least))
        return _round_scores((self.n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True)))

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """The sums themselves."""
        return sums

    def decision_term(self, sums: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_decision`."""
        return sums

    def score_term(self, probabilities: FormulaTerm) -> FormulaTerm:
        """`to_scores`."""
        logs = RowFunction("log", Arithmetic("max", probabilities, as_term(self.least)))
        mean = Arithmetic("/", RowFunction("sum", logs), as_term(self.n_classes))
        return _round_score_term(Arithmetic("*", as_term(self.n_classes - 1), Arithmetic("-", logs, mean)))


class RealAdaBoost(SammeR):
    """Real AdaBoost: f = half the log-odds of the member's probability [FriedmanHastieTibshirani2000]."""

    two_classes = True

    def to_scores(self, probabilities: FloatArray) -> FloatArray:
        """-+ 1/2 log(p / (1 - p)), with p kept away from 0 and 1."""
        if self.n_classes == 1:
            return np.zeros_like(probabilities)
        p = np.clip(probabilities[:, 1], self.least, 1.0 - self.least)
        half = _round_scores(0.5 * apply_log(p / (1.0 - p)))
        return np.stack([-half, half], axis=1)

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """P = 1 / (1 + exp(-2 f)): f is half the log-odds."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        p = apply_sigmoid(2.0 * decision[:, 1])
        return np.stack([1.0 - p, p], axis=1)

    def proba_term(self, decision: FormulaTerm) -> FormulaTerm:
        """`to_proba`."""
        if self.n_classes == 1:
            return as_term(1.0)
        p = RowFunction("sigmoid", Arithmetic("*", as_term(2.0), TakenColumns(decision, (1,))))
        return JoinedTerms((Arithmetic("-", as_term(1.0), p), p))

    def score_term(self, probabilities: FormulaTerm) -> FormulaTerm:
        """`to_scores`."""
        if self.n_classes == 1:
            return as_term(0.0)
        raised = Arithmetic("max", TakenColumns(probabilities, (1,)), as_term(self.least))
        p = Arithmetic("min", raised, as_term(1.0 - self.least))
        odds = Arithmetic("/", p, Arithmetic("-", as_term(1.0), p))
        half = _round_score_term(Arithmetic("*", as_term(0.5), RowFunction("log", odds)))
        return JoinedTerms((Arithmetic("*", as_term(-1.0), half), half))


ALGORITHMS: dict[str, type[Algorithm]] = {
    "discrete": DiscreteAdaBoost,
    "samme": Samme,
    "samme.r": SammeR,
    "real": RealAdaBoost,
}
