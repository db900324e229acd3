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
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from committee.data import ClassTarget
from committee.ensembles.combining.convex_weights import blend_by_least_squares, blend_by_log_loss
from committee.ensembles.combining.metrics import choose_metric
from committee.ensembles.combining.selection import select_greedily, select_likeliest, select_nearest
from committee.ensembles.combining.weighted_ensemble import spell_out

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.ensembles.combining.out_of_fold import Folds
    from committee.typing import FloatArray

__all__ = ["Combination", "Estimate", "raise_shares"]

_N_ROUNDS, _N_SLOW_ROUNDS = 40, 15
"""Members that greedy selection adds, some of them again and again; fewer by metrics that are asked one mean at a time.
"""
_N_BLOCKS = 20
"""Blocks of the jackknife: the error of the standard error is about a sixth of it."""
_TINY = 1e-15
"""The least probability that is believed."""
_LEAST_SHARE, _POWERS = 1e-9, (0.5, 2.0)
"""The least share that is raised to a power, and where powers lie."""
_USUAL = {True: (None, "neg_log_loss"), False: (None, "neg_mean_squared_error")}
"""Metrics of classes and of values that are a mean over rows, None with its root taken for values."""


@dataclass(frozen=True)
class Estimate:
    """A score, larger for better, and its standard error."""

    score: float
    error: float


def raise_shares(shares: FloatArray, power: float) -> FloatArray:
    """Shares to a power, with sum one again; one changes nothing.

    Examples
    --------
    >>> raise_shares(np.array([[0.6, 0.4]]), 2.0).round(3)
    array([[0.692, 0.308]])
    """
    if power == 1.0:
        return shares
    logs = power * np.log(np.clip(shares, _LEAST_SHARE, None))
    return np.asarray(np.exp(logs - logsumexp(logs, axis=1, keepdims=True)))


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
        self._goal, self._classify = spell_out(target), isinstance(target, ClassTarget)

    def weigh(self, answers: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        """Weights of the members, not negative and with sum one.

        Parameters
        ----------
        answers : ndarray of shape (n_members, n_rows, width)
            Of each member about every row.
        rows : ndarray of int
            The rows to learn from.
        """
        if self._how == "selection":
            return self._select(answers, rows)
        blend = blend_by_log_loss if self._classify else blend_by_least_squares
        return blend(list(answers[:, rows]), self._goal[rows], None if self._weights is None else self._weights[rows])

    def _select(self, answers: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        if self._metric in _USUAL[self._classify]:
            # Of shares only those of the true classes count, and of values only how far they are off.
            select = select_likeliest if self._classify else select_nearest
            counts = select(self._reduce(answers, rows), self._share(rows), _N_ROUNDS)
        else:
            counts = select_greedily(answers[:, rows], self._choose_score(rows), _N_SLOW_ROUNDS, 1)
        return counts / counts.sum()  # type: ignore[no-any-return]

    def _reduce(self, answers: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        """Shares of the true classes, or errors: shape (n_members, n_rows)."""
        if self._classify:
            labels = self._target.labels[rows, 0]  # type: ignore[union-attr]
            return np.clip(answers[:, rows, labels], _TINY, None)
        return np.asarray(answers[:, rows, 0] - self._goal[rows, 0])

    def _share(self, rows: NDArray[np.intp]) -> FloatArray:
        weights = np.ones(len(rows)) if self._weights is None else self._weights[rows]
        return np.asarray(weights / weights.sum())

    def sharpen(self, mean: FloatArray, rows: NDArray[np.intp]) -> float:
        """The power of mean shares with the least log-loss; one where another metric or no class is asked for.

        Parameters
        ----------
        mean : ndarray of shape (n_rows, width)
            Mean answer about every row.
        rows : ndarray of int
            The rows to learn from.
        """
        if not self._classify or self._metric not in _USUAL[True] or mean.shape[1] < 2:
            return 1.0
        logs, share = np.log(np.clip(mean[rows], _LEAST_SHARE, None)), self._share(rows)
        true = logs[np.arange(len(rows)), self._target.labels[rows, 0]]  # type: ignore[union-attr]
        found = minimize_scalar(
            lambda power: float(share @ (logsumexp(power * logs, axis=1) - power * true)), bounds=_POWERS
        )
        return float(found.x)

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
                mean = np.einsum("m,mrc->rc", self.weigh(answers, others), answers)
                nested[fresh] = raise_shares(mean[fresh], self.sharpen(mean, others))
        return nested, np.flatnonzero(~np.isnan(nested[:, 0]))

    def score(self, answers: FloatArray, rows: NDArray[np.intp]) -> float:
        """Score of answers about some of the rows."""
        return self._leave_blocks_out(answers, rows, np.zeros(len(rows), dtype=np.intp), 1)[0]

    def estimate(self, answers: FloatArray, rows: NDArray[np.intp]) -> Estimate:
        """Score of answers about some of the rows, with its standard error."""
        blocks = self._draw_blocks(rows)
        n_blocks = int(blocks.max()) + 1
        score, without = self._leave_blocks_out(answers, rows, blocks, n_blocks)
        if n_blocks < 2:
            return Estimate(score, float("nan"))
        spread = float(((without - without.mean()) ** 2).sum())
        return Estimate(score, float(np.sqrt((n_blocks - 1) / n_blocks * spread)))

    def _leave_blocks_out(
        self, answers: FloatArray, rows: NDArray[np.intp], blocks: NDArray[np.intp], n_blocks: int
    ) -> tuple[float, FloatArray]:
        """The score on all rows, and without each block."""
        if self._metric not in _USUAL[self._classify]:
            kept = [rows[blocks != b] for b in range(n_blocks)] if n_blocks > 1 else []
            without = np.array([self._choose_score(some)(answers[some]) for some in kept])
            return float(self._choose_score(rows)(answers[rows])), without
        said, share = self._reduce(answers[None], rows)[0], self._share(rows)
        # A mean over rows: sums of the blocks are all that is needed.
        gains = share * (np.log(said) if self._classify else -(said**2))
        sums, sizes = (np.bincount(blocks, weights=part, minlength=n_blocks).astype(float) for part in (gains, share))
        rest = (sums.sum() - sums) / (sizes.sum() - sizes) if n_blocks > 1 else sums
        if self._metric is None and not self._classify:
            return -float(np.sqrt(-gains.sum())), -np.sqrt(np.maximum(-rest, 0.0))
        return float(gains.sum()), rest

    def _choose_score(self, rows: NDArray[np.intp]) -> Callable[[FloatArray], float]:
        weights = None if self._weights is None else self._weights[rows]
        return choose_metric(self._metric, self._target, rows, self._goal[rows], weights)

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
