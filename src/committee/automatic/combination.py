"""From out-of-fold answers to weights, and to what the committee may be expected to score on fresh rows.

The score of a mean on the rows that its weights were chosen by is too good. The nested estimate leaves each fold out
in turn: weights are learnt from the answers about all other rows, and the mean with these weights answers for the
fold, by members that have not seen it. Its standard error is the jackknife's over blocks of rows or of groups,

    sqrt((B - 1) / B sum_b (s_b - s)²),

s_b the score without block b and s their mean [Efron1981].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget
from committee.ensembles.blend import blend_by_least_squares, blend_by_log_loss
from committee.ensembles.metric import choose_metric, measure_squared_error
from committee.ensembles.selection import select_greedily
from committee.ensembles.weighted_roster import spell_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.ensembles.out_of_fold import Folds
    from committee.typing import FloatArray

__all__ = ["Combination", "Estimate"]

_N_ROUNDS = 40
"""Members that greedy selection adds, some of them again and again."""
_N_BLOCKS = 20
"""Blocks of the jackknife: the error of the standard error is about a sixth of it."""


@dataclass(frozen=True)
class Estimate:
    """A score, larger for better, and its standard error."""

    score: float
    error: float


class Combination:
    """All that is known when members are weighed.

    Parameters
    ----------
    target : ClassTarget or ValueTarget
        The truth.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    groups : ndarray of shape (n_rows,) or None
        Rows that belong together.
    metric : str, callable or None
        What to be good at.
    how : {"selection", "nonnegative"}
        How weights are found.
    seed : int
        Of the jackknife's blocks.
    """

    def __init__(
        self,
        target: ClassTarget | ValueTarget,
        weights: FloatArray | None,
        groups: Any,
        metric: Any,
        how: str,
        seed: int,
    ) -> None:
        self._target, self._weights, self._groups = target, weights, groups
        self._metric, self._how, self._seed = metric, how, seed
        self._goal = spell_out(target)

    def weigh(self, answers: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        """Weights of the members, not negative and with sum one.

        Parameters
        ----------
        answers : ndarray of shape (n_members, n_rows, width)
            Of each member about every row.
        rows : ndarray of int
            The rows to learn from.
        """
        said = answers[:, rows]
        if self._how == "selection":
            counts = select_greedily(said, self._choose_score(rows), _N_ROUNDS, 1)
            return counts / counts.sum()  # type: ignore[no-any-return]
        blend = blend_by_log_loss if isinstance(self._target, ClassTarget) else blend_by_least_squares
        return blend(list(said), self._goal[rows], None if self._weights is None else self._weights[rows])

    def answer_nested(self, answers: FloatArray, rows: NDArray[np.intp], folds: Folds) -> tuple[FloatArray, Any]:
        """What committees say about rows that had no part in their weights, and which rows these are."""
        known = np.zeros(answers.shape[1], dtype=bool)
        known[rows] = True
        nested = np.full(answers.shape[1:], np.nan)
        for _, test in folds:
            left_out = np.zeros_like(known)
            left_out[test] = True
            fresh = np.flatnonzero(left_out & known & np.isnan(nested[:, 0]))
            others = np.flatnonzero(known & ~left_out)
            if len(fresh) and len(others):
                nested[fresh] = np.einsum("m,mrc->rc", self.weigh(answers, others), answers[:, fresh])
        return nested, np.flatnonzero(~np.isnan(nested[:, 0]))

    def score(self, answers: FloatArray, rows: NDArray[np.intp]) -> float:
        """Score of answers about some of the rows."""
        return float(self._choose_score(rows)(answers[rows]))

    def estimate(self, answers: FloatArray, rows: NDArray[np.intp]) -> Estimate:
        """Score of answers about some of the rows, with its standard error."""
        score = self.score(answers, rows)
        blocks = self._draw_blocks(rows)
        n_blocks = int(blocks.max()) + 1
        if n_blocks < 2:
            return Estimate(score, float("nan"))
        kept = [rows[blocks != b] for b in range(n_blocks)]
        without = np.array([self.score(answers, some) for some in kept])
        spread = float(((without - without.mean()) ** 2).sum())
        return Estimate(score, float(np.sqrt((n_blocks - 1) / n_blocks * spread)))

    def _choose_score(self, rows: NDArray[np.intp]) -> Callable[[FloatArray], float]:
        goal = self._goal[rows]
        weights = None if self._weights is None else self._weights[rows]
        if self._metric is None and not isinstance(self._target, ClassTarget):
            return lambda answers: -float(np.sqrt(measure_squared_error(answers, goal, weights)))
        return choose_metric(self._metric, self._target, rows, goal, weights)

    def _draw_blocks(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The block of each row: of every class about as many rows in each, groups whole."""
        rng = np.random.default_rng([self._seed, 1])
        if self._groups is not None:
            names, members = np.unique(self._groups[rows], return_inverse=True)
            return (rng.permutation(len(names)) % _N_BLOCKS)[members]
        order = rng.permutation(len(rows))
        if isinstance(self._target, ClassTarget):
            order = order[np.argsort(self._target.labels[rows, 0][order], kind="stable")]
        blocks = np.empty(len(rows), dtype=np.intp)
        blocks[order] = np.arange(len(rows)) % _N_BLOCKS
        return blocks
