"""Weights of the members from their out-of-fold predictions, and a nested estimate of the score on new rows.

The score of a mean on the rows that its weights were fitted to is optimistic. The nested estimate leaves out each fold
in turn: weights are fitted to the predictions of all other rows, and the mean with these weights predicts the fold, by
members that were not fitted on it. Its standard error is the jackknife's over blocks of rows or of groups,

    sqrt((B - 1) / B sum_b (s_b - s)²),

s_b the score without block b and s their mean [Efron1981].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget
from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.member_predictions import sum_weighted
from committee.ensembles.combining.metrics import choose_metric, target_matrix
from committee.ensembles.combining.selection import select_by_log_loss, select_by_squared_error, select_greedily
from committee.losses import apply_exp, apply_log, apply_softmax

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from committee.data import ValueTarget
    from committee.data.folds import Folds
    from committee.typing import FloatArray

__all__ = ["LEAST_SHARPENED", "JackknifeEstimate", "MemberCombiner", "sharpen_probabilities", "trace_scores"]

_N_ROUNDS, _N_SLOW_ROUNDS, _N_TRACED_ROUNDS = 40, 15, 15
"""Rounds of greedy selection; fewer for metrics that score one mean at a time, and where models are traced."""
_N_BLOCKS = 20
"""Blocks of the jackknife: the relative error of the standard error is about one sixth."""
_MAX_TRACED_ROWS = 1000
"""Rows on which the score by number of models is measured, at little cost beside the fits."""
_MIN_PROBABILITY = 1e-15
LEAST_SHARPENED, _POWERS = 1e-9, (0.5, 2.0)
"""Lower bound of probabilities that are raised to a power, and the bounds of the power."""
_POWER_STEPS = 1 << 16
_MAX_ROOT_STEPS, _ROOT_PRECISION = 40, 1e-6
_ROW_MEANS = {True: (None, "neg_log_loss"), False: (None, "neg_mean_squared_error")}
"""Metrics of classes and of values that are a mean over rows; of None for values, the root is taken afterwards."""


@dataclass(frozen=True)
class JackknifeEstimate:
    """A score, larger for better, and its standard error."""

    score: float
    error: float


def sharpen_probabilities(probabilities: FloatArray, power: float) -> FloatArray:
    """Probabilities to a power, normalised to sum one; the power one changes nothing.

    Examples
    --------
    >>> sharpen_probabilities(np.array([[0.6, 0.4]]), 2.0).round(3)
    array([[0.692, 0.308]])
    """
    if power == 1.0:
        return probabilities
    return apply_softmax(power * apply_log(np.clip(probabilities, LEAST_SHARPENED, None)))


class MemberCombiner:
    """Fits weights to out-of-fold predictions, and estimates scores.

    Parameters
    ----------
    target : ClassTarget or ValueTarget
        The target of all rows.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    groups : ndarray of shape (n_rows,) or None
        Groups of rows.
    metric : str, callable or None
        The metric to maximise.
    how : {"selection", "nonnegative"}
        How weights are fitted.
    seed : int
        Of the jackknife's blocks.
    """

    def __init__(
        self,
        target: ClassTarget | ValueTarget,
        weights: FloatArray | None,
        groups: ArrayLike | None,
        metric: Callable[..., float] | str | None,
        how: str,
        seed: int,
    ) -> None:
        self._target, self._weights = target, weights
        self._groups = None if groups is None else np.asarray(groups)
        self._metric, self._how, self._seed = metric, how, seed
        self._y_true = target_matrix(target)
        self._labels = target.labels[:, 0] if isinstance(target, ClassTarget) else None
        self._drawn: tuple[NDArray[np.intp], NDArray[np.intp]] | None = None

    def fit_weights(self, predictions: FloatArray, rows: NDArray[np.intp], n_rounds: int = _N_ROUNDS) -> FloatArray:
        """Weights of the members, non-negative and with sum one.

        Parameters
        ----------
        predictions : ndarray of shape (n_members, n_rows, width)
            Of each member, for all rows.
        rows : ndarray of int
            The rows to fit the weights to.
        n_rounds : int, default=40
            Rounds of greedy selection.
        """
        if len(predictions) == 1:
            return np.ones(1)
        if self._how == "selection":
            return self._select(predictions, rows, n_rounds)
        weights = None if self._weights is None else self._weights[rows]
        fit = fit_convex_weights_squared_error if self._labels is None else fit_convex_weights_log_loss
        return fit(list(predictions[:, rows]), self._y_true[rows], weights)

    def _select(self, predictions: FloatArray, rows: NDArray[np.intp], n_rounds: int) -> FloatArray:
        if self._is_row_mean():
            # Only the probabilities of the true classes matter, or the errors of values.
            select = select_by_squared_error if self._labels is None else select_by_log_loss
            counts = select(self._reduce(predictions, rows), self._row_weights(rows), n_rounds)
        else:
            counts = select_greedily(predictions[:, rows], self._choose_score(rows), _N_SLOW_ROUNDS, 1)
        return np.asarray(counts / counts.sum())

    def _is_row_mean(self) -> bool:
        """Whether the metric is a mean over rows."""
        return self._metric in _ROW_MEANS[self._labels is not None]

    def _reduce(self, predictions: FloatArray, rows: NDArray[np.intp]) -> FloatArray:
        """Probabilities of the true classes, or errors: shape (n_members, n_rows)."""
        if self._labels is not None:
            return np.clip(predictions[:, rows, self._labels[rows]], _MIN_PROBABILITY, None)
        return np.asarray(predictions[:, rows, 0] - self._y_true[rows, 0])

    def _row_weights(self, rows: NDArray[np.intp]) -> FloatArray:
        weights = np.ones(len(rows)) if self._weights is None else self._weights[rows]
        return np.asarray(weights / weights.sum())

    def fit_power(self, mean: FloatArray, rows: NDArray[np.intp]) -> float:
        """The power of mean probabilities with the least log-loss; one for other metrics and for values.

        Parameters
        ----------
        mean : ndarray of shape (n_rows, width)
            Mean predictions for all rows.
        rows : ndarray of int
            The rows to fit the power to.
        """
        if self._labels is None or not self._is_row_mean() or mean.shape[1] < 2:
            return 1.0
        # Classes as rows: sums over few numbers that lie side by side are slow.
        logs, row_weights = apply_log(np.clip(mean[rows].T, LEAST_SHARPENED, None)), self._row_weights(rows)
        true = float(row_weights @ logs[self._labels[rows], np.arange(len(rows))])

        def differentiate(power: float) -> tuple[float, float]:
            # The powers are bounded, so that no exponential underflows.
            shares = apply_exp(power * logs)
            shares /= shares.sum(axis=0)
            shares *= logs
            means = shares.sum(axis=0)
            shares *= logs
            bends = shares.sum(axis=0)
            bends -= means * means
            return float(row_weights @ means) - true, float(row_weights @ bends)

        # Without the last bits of what is minimised.
        return round(_find_root(differentiate, *_POWERS) * _POWER_STEPS) / _POWER_STEPS

    def predict_nested(
        self, predictions: FloatArray, rows: NDArray[np.intp], folds: Folds, n_rounds: int = _N_ROUNDS
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """Predictions with weights that were fitted without the predicted fold, and the rows that have them."""
        known = np.zeros(predictions.shape[1], dtype=bool)
        known[rows] = True
        nested = np.full(predictions.shape[1:], np.nan)
        for _, test in folds:
            left_out = np.zeros_like(known)
            left_out[test] = True
            fresh = np.flatnonzero(left_out & known & np.isnan(nested[:, 0]))
            others = np.flatnonzero(known & ~left_out)
            if len(fresh) and len(others):
                mean = sum_weighted(self.fit_weights(predictions, others, n_rounds), predictions)
                nested[fresh] = sharpen_probabilities(mean[fresh], self.fit_power(mean, others))
        return nested, np.flatnonzero(~np.isnan(nested[:, 0]))

    def score(self, predictions: FloatArray, rows: NDArray[np.intp]) -> float:
        """Score of the predictions of some rows."""
        return self._leave_blocks_out(predictions, rows, np.zeros(len(rows), dtype=np.intp), 1)[0]

    def estimate(self, predictions: FloatArray, rows: NDArray[np.intp]) -> JackknifeEstimate:
        """Score of the predictions of some rows, with its standard error."""
        # The rows of one estimate after the other are mostly the same.
        if self._drawn is None or self._drawn[0] is not rows:
            self._drawn = rows, self._draw_blocks(rows)
        blocks = self._drawn[1]
        n_blocks = int(blocks.max()) + 1
        score, without = self._leave_blocks_out(predictions, rows, blocks, n_blocks)
        if n_blocks < 2:
            return JackknifeEstimate(score, float("nan"))
        squares = float(((without - without.mean()) ** 2).sum())
        return JackknifeEstimate(score, float(np.sqrt((n_blocks - 1) / n_blocks * squares)))

    def _leave_blocks_out(
        self, predictions: FloatArray, rows: NDArray[np.intp], blocks: NDArray[np.intp], n_blocks: int
    ) -> tuple[float, FloatArray]:
        """The score on all rows, and without each block."""
        if not self._is_row_mean():
            kept = [rows[blocks != b] for b in range(n_blocks)] if n_blocks > 1 else []
            without = np.array([self._choose_score(some)(predictions[some]) for some in kept])
            return float(self._choose_score(rows)(predictions[rows])), without
        reduced, row_weights = self._reduce(predictions[None], rows)[0], self._row_weights(rows)
        # A mean over rows: the sums of the blocks suffice.
        gains = row_weights * (-(reduced**2) if self._labels is None else apply_log(reduced))
        sums = np.bincount(blocks, weights=gains, minlength=n_blocks).astype(float)
        sizes = np.bincount(blocks, weights=row_weights, minlength=n_blocks).astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):  # a block may have all the weight
            rest = (sums.sum() - sums) / (sizes.sum() - sizes) if n_blocks > 1 else sums
        if self._metric is None and self._labels is None:
            return -float(np.sqrt(-gains.sum())), -np.sqrt(np.maximum(-rest, 0.0))
        return float(gains.sum()), rest

    def _choose_score(self, rows: NDArray[np.intp]) -> Callable[[FloatArray], float]:
        weights = None if self._weights is None else self._weights[rows]
        return choose_metric(self._metric, self._target, rows, self._y_true[rows], weights)

    def _draw_blocks(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """The block of each row: stratified by class, groups kept whole."""
        rng = np.random.default_rng([self._seed, 1])
        if self._groups is not None:
            names, members = np.unique(self._groups[rows], return_inverse=True)
            return (rng.permutation(len(names)) % _N_BLOCKS)[members]
        order = rng.permutation(len(rows))
        if self._labels is not None:
            order = order[np.argsort(self._labels[rows][order], kind="stable")]
        blocks = np.empty(len(rows), dtype=np.intp)
        blocks[order] = np.arange(len(rows)) % _N_BLOCKS
        return blocks


def _find_root(differentiate: Callable[[float], tuple[float, float]], bottom: float, top: float) -> float:
    """Where a convex function of a number is least between two bounds, by Newton's method from one on."""
    at, low, high = 1.0, bottom, top
    for _ in range(_MAX_ROOT_STEPS):
        slope, bend = differentiate(at)
        low, high = (at, high) if slope < 0.0 else (low, at)
        new = at - slope / bend if bend > 0.0 else at if slope == 0.0 else low if slope > 0.0 else high
        if not low < new < high:
            # A bound that was not tried yet, or what is between those that were.
            end, is_bound = (high, high == top) if new >= high else (low, low == bottom)
            new = end if is_bound or end == at else 0.5 * (low + high)
        if abs(new - at) < _ROOT_PRECISION:
            return new
        at = new
    return at


def trace_scores(
    names: list[str],
    predictions: FloatArray,
    rows: NDArray[np.intp],
    folds: Folds,
    combiner: MemberCombiner,
    first: int,
) -> list[dict[str, Any]]:
    """The nested score after each model of the portfolio, in the order of the fits.

    Weights are fitted to the rows of every other fold and scored on the rest, and the reverse.

    Parameters
    ----------
    names : list of str
        The model of each member; stages of one model follow one another.
    predictions : ndarray of shape (n_members, n_rows, width)
        Out-of-fold predictions.
    rows : ndarray of int
        The rows that have them; a sample is used if there are many.
    folds : list of (train, test)
        Rows of one test set stay together.
    combiner : MemberCombiner
        Fits the weights.
    first : int
        The first member that may have weight if there are several.

    Returns
    -------
    list of dict
        ``name``, ``score`` and its standard ``error``.
    """
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), _MAX_TRACED_ROWS)).astype(np.intp)]
    tests = [test for _, test in folds]
    # Training rows play no part: the members are fitted already.
    halves = [(rows, np.concatenate(half)) for half in (tests[::2], tests[1::2]) if half]
    trace = []
    for end in range(1, len(names) + 1):
        if end < len(names) and names[end] == names[end - 1]:
            continue
        some = predictions[min(first, end - 1) : end]
        nested, known = combiner.predict_nested(some, rows, halves, _N_TRACED_ROUNDS)
        if len(known):
            estimate = combiner.estimate(nested, known)
            trace.append({"name": names[end - 1], "score": estimate.score, "error": estimate.error})
    return trace
