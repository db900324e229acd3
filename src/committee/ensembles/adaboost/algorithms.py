"""The formulas of boosting by votes and by probabilities: how good a member is, and what becomes of the weights.

A rule looks at what a member says of the training rows, group by group of rows that it answers alike (the leaves of
a stump, or every row by itself). Its tables have a row for each group and a column for the true class: entry (g, k)
is about the rows of class k in group g.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from scipy.special import expit, softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["RULES", "Answers", "Rule", "Step"]

_MOST_HALVINGS = 10
"""Of a step that would raise the exponential loss, before boosting ends."""


@dataclass(frozen=True)
class Answers:
    """What a member says of each group of training rows.

    Attributes
    ----------
    votes : ndarray of shape (n_groups,)
        Number of the class.
    shares : ndarray of shape (n_groups, n_classes) or None
        Probabilities of the classes, where the rule asks for them.
    """

    votes: NDArray[np.intp]
    shares: FloatArray | None = None


@dataclass(frozen=True)
class Step:
    """What one round comes to.

    Attributes
    ----------
    error : float
        Weight of the wrongly answered rows, epsilon_t.
    weight : float
        Weight of the member's vote, alpha_t.
    loss : float
        What the mean exponential loss is multiplied by.
    factors : ndarray of shape (n_groups, n_classes) or None
        What the weights of the rows are multiplied by; None if nothing is left to learn.
    """

    error: float
    weight: float
    loss: float
    factors: FloatArray | None


@dataclass(frozen=True)
class Rule(ABC):
    """One algorithm: `judge` is its round, the rest is how its sums become answers.

    The additive model is f, with one column a class that sum to zero (for two classes: half the log-odds of the second
    class and minus that), as minimises the expected exponential loss exp(-f_y / (K - 1)) [Zhu2009].

    Attributes
    ----------
    n_classes : int
        K.
    learning_rate : float
        What every step is multiplied by.
    least : float
        What probabilities are kept above: half the share of the lightest row, 1/(2n) where all are equal.
    """

    n_classes: int
    learning_rate: float
    least: float
    combine: ClassVar[Literal["votes", "scores", "values"]] = "votes"
    two_classes: ClassVar[bool] = False

    @property
    def width(self) -> int:
        """Members in a round."""
        return 1

    @abstractmethod
    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """The round, given a function that weighs a table by the rows' weights; None: no better than chance."""

    @abstractmethod
    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """f, of shape (n_rows, n_classes), from what the members with these weights sum up to."""

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Probabilities whose log-odds f estimates [FriedmanHastieTibshirani2000, Zhu2009]."""
        return np.asarray(softmax(decision / max(1, self.n_classes - 1), axis=1))

    @property
    def link(self) -> tuple[Literal["logit", "softmax", "other"], float]:
        """`to_proba` as the link of a `TreeModel`, and what f is multiplied by before it."""
        return ("logit", 2.0) if self.n_classes == 2 else ("softmax", 1.0 / max(1, self.n_classes - 1))

    def weigh_terms(self, weights: FloatArray) -> FloatArray:
        """What the decision of each member alone, with weight 1, is multiplied by in f."""
        return weights

    def score_shares(self, shares: FloatArray) -> FloatArray:
        """What a member adds to f, from its probabilities; for rules that combine scores."""
        raise NotImplementedError

    def span(self, weights: FloatArray) -> float:
        """The difference between two columns of f if all members agree; 1 a member where they have scores."""
        return float(np.abs(weights).sum())

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """Bound of the training error after each round; None where there is none."""
        return losses if self.n_classes == 2 else None

    def mark_wrong(self, answers: Answers) -> NDArray[np.bool_]:
        """Where a group's vote is not the true class."""
        return np.asarray(answers.votes[:, None] != np.arange(self.n_classes))


class VotingRule(Rule):
    """Rules whose members vote for one class."""

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """Votes against their mean: the additive model whose terms are 1 for the vote and -1/(K-1) elsewhere."""
        scale = (self.n_classes - 1) * self._scale()
        return np.asarray(scale * (sums - weights.sum() / self.n_classes))

    def _scale(self) -> float:
        return 1.0

    def span(self, weights: FloatArray) -> float:
        """All votes for one class and none for another."""
        return float((self.n_classes - 1) * self._scale() * np.abs(weights).sum())

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """Where the vote is wrong, at least half of the weighted votes are; for two classes this is the loss."""
        alpha = self._scale() * weights
        rounds = (1.0 - errors) * np.exp(-alpha / 2) + errors * np.exp(alpha / 2)
        return np.asarray(np.cumprod(rounds))


class Discrete(VotingRule):
    """AdaBoost as Freund and Schapire have it, labels -1 and 1 [FreundSchapire1997]."""

    two_classes = True

    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """Alpha = 1/2 log((1 - eps) / eps); D *= exp(-alpha y h). Worse than chance: alpha < 0 turns the vote."""
        wrong = self.mark_wrong(answers)
        error = weigh(wrong)
        if error <= 0.0 or error >= 1.0:
            certain = 1.0 if error <= 0.0 else -1.0
            return Step(error, certain, float(np.exp(-1.0)), None)
        if error == 0.5:
            return None
        alpha = self.learning_rate * 0.5 * np.log((1.0 - error) / error)
        factors = np.exp(alpha * np.where(wrong, 1.0, -1.0))
        return Step(error, float(alpha), weigh(factors), factors)

    def _scale(self) -> float:
        # alpha is half of what SAMME has, so that f is the sum of alpha h itself.
        return 2.0


class Samme(VotingRule):
    """SAMME, AdaBoost for K classes [Zhu2009]; for two classes Discrete in the other common form."""

    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """Alpha = log((1 - eps) / eps) + log(K - 1); only the weights of wrong rows are raised, by exp(alpha)."""
        wrong, n_classes = self.mark_wrong(answers), self.n_classes
        error = weigh(wrong)
        if error <= 0.0:
            return Step(0.0, 1.0, float(np.exp(1.0 / n_classes - 1.0)), None)
        if error >= 1.0 - 1.0 / n_classes:
            return None
        alpha = self.learning_rate * (np.log((1.0 - error) / error) + np.log(n_classes - 1.0))
        factors = np.exp(alpha * wrong)
        loss = np.exp(alpha * (1.0 / n_classes - 1.0)) * weigh(factors)
        return Step(error, float(alpha), float(loss), factors)


class SammeR(Rule):
    """SAMME.R: members vote with the logarithms of their probabilities [Zhu2009].

    A member that is certain and wrong would give a row all the weight, and the next members nothing to learn from:
    this is how the algorithm is known to diverge. Probabilities are therefore kept above 1/(2n)
    [SchapireSinger1999], and the step of a member that would raise the exponential loss is halved until it lowers it.
    """

    combine = "scores"

    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """f_k = (K - 1)(log p_k - mean of log p); D *= exp(-f_y / (K - 1))."""
        assert answers.shares is not None
        error = weigh(self.mark_wrong(answers))
        scores = self.score_shares(answers.shares) / max(1, self.n_classes - 1)
        for halvings in range(_MOST_HALVINGS):
            step = self.learning_rate * 0.5**halvings
            factors = np.exp(-step * scores)
            loss = weigh(factors)
            if loss < 1.0 or error <= 0.0:
                return Step(error, step, loss, factors if error > 0.0 else None)
        return None

    def score_shares(self, shares: FloatArray) -> FloatArray:
        """(K - 1)(log p_k - mean of log p), p kept away from 0."""
        logs = np.log(np.maximum(shares, self.least))
        return np.asarray((self.n_classes - 1) * (logs - logs.mean(axis=1, keepdims=True)))

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """The sums are f."""
        return sums


class Real(SammeR):
    """Real AdaBoost: f = half the log-odds of the member's probability [FriedmanHastieTibshirani2000]."""

    two_classes = True

    def score_shares(self, shares: FloatArray) -> FloatArray:
        """-+ 1/2 log(p / (1 - p)), p kept away from 0 and 1."""
        if self.n_classes == 1:
            return np.zeros_like(shares)
        p = np.clip(shares[:, 1], self.least, 1.0 - self.least)
        half = 0.5 * np.log(p / (1.0 - p))
        return np.stack([-half, half], axis=1)

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """P = 1 / (1 + exp(-2 f)): f is half the log-odds."""
        if self.n_classes == 1:
            return np.ones_like(decision)
        p = expit(2.0 * decision[:, 1])
        return np.stack([1.0 - p, p], axis=1)


RULES: dict[str, Any] = {"discrete": Discrete, "samme": Samme, "samme.r": SammeR, "real": Real}
