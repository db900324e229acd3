"""The rounds of a fit, and early stopping by the accuracy on a validation set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.ensembles.adaboost.algorithms import Algorithm, RoundResult
    from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees
    from committee.typing import FloatArray

__all__ = ["AccuracyEarlyStopping", "BoostingHistory"]


@dataclass
class BoostingHistory:
    """Results of the rounds so far.

    Attributes
    ----------
    errors, weights : list of float
        Weighted error and weight of each member (of each round, if it has several members).
    losses : list of float
        Mean exponential loss after each round.
    sample_weights : list of ndarray of shape (n_rows,)
        Row weights of each round, where they are kept.
    ended : bool
        Whether no further round is possible.
    """

    errors: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    sample_weights: list[FloatArray] = field(default_factory=list)
    ended: bool = False

    def __len__(self) -> int:
        return len(self.errors)

    def append(self, result: RoundResult) -> None:
        """Add a round."""
        self.errors.append(result.error)
        self.weights.append(result.weight)
        self.losses.append(result.loss * (self.losses[-1] if self.losses else 1.0))
        self.ended = result.factors is None

    def truncate(self, n_rounds: int) -> None:
        """Keep the first rounds only."""
        for rounds in (self.errors, self.weights, self.losses, self.sample_weights):
            del rounds[n_rounds:]


class AccuracyEarlyStopping:
    """Accuracy on a validation set after each round, and whether it has stopped rising.

    Parameters
    ----------
    X : array, CSR matrix or frame
        The validation rows in the form that members read.
    labels : ndarray
        Indices of their classes.
    weights : ndarray
        Their weights.
    algorithm : Algorithm
        The algorithm.
    patience : int
        Rounds without a better accuracy after which to stop.
    tol : float
        An accuracy is better only if it is by more than this.
    """

    def __init__(
        self,
        X: Any,
        labels: NDArray[np.intp],
        weights: FloatArray,
        algorithm: Algorithm,
        patience: int,
        tol: float,
    ) -> None:
        self._X, self._labels, self._weights, self._algorithm = X, labels, weights, algorithm
        self._patience, self._tol = patience, tol
        self._sums: FloatArray | float = 0.0
        self._best = -np.inf
        self.scores: list[float] = []
        self.n_best = 0

    def update(self, members: BoostedTrees | BoostedMembers, weights: list[float]) -> bool:
        """Add the members of the last round, given the weights of all rounds; whether to stop."""
        alphas = np.array(weights)
        self._sums = self._sums + members.sum_rounds(self._algorithm, self._X, alphas[-1:], range(1), None)
        decision = self._algorithm.to_decision(self._sums, alphas)
        self.scores.append(float(np.average(decision.argmax(axis=1) == self._labels, weights=self._weights)))
        if not self.n_best or self.scores[-1] > self._best + self._tol:
            self._best, self.n_best = self.scores[-1], len(self.scores)
        return len(self.scores) - self.n_best >= self._patience
