"""Weights of members, learnt from answers that they gave about rows they had not seen: not negative, sum one.

Two convex problems over the simplex. With E the matrix of the members' errors (a column each), least squares is

    min |E w|²,  w >= 0, sum w = 1,

whose solution is v / sum v for the non-negative least-squares solution v of  E v = 0, 1'v = 1  (scaling v by s turns
the objective into s² q + (s - 1)², least s is 1 / (1 + q), and q / (1 + q) rises with q = |E w|²) [Breiman1996c]. With
p_im the probability that member m gave to the class of row i, log-loss is that of mixture proportions,

    min -1/n sum_i log(sum_m w_m p_im),

solved by Newton steps that stay in the positive orthant [Kim2020b].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["blend_by_least_squares", "blend_by_log_loss"]

_RIDGE = 1e-10
"""Added to the diagonal, relative to its mean, so that members that agree entirely share their weight."""
_TINY = 1e-15
"""The least probability that is believed."""
_MOST_STEPS = 200
_TOLERANCE = 1e-10
"""Largest duality gap, in nats a row, at which the proportions count as found."""


def blend_by_least_squares(
    answers: list[FloatArray], goal: FloatArray, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Weights of the convex combination with the least squared error.

    Parameters
    ----------
    answers : list of ndarray of shape (n_rows, width)
        What each member said.
    goal : ndarray of shape (n_rows, width)
        What is true.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum one.

    Examples
    --------
    >>> goal = np.array([[0.0], [1.0], [2.0]])
    >>> blend_by_least_squares([goal + 1.0, goal - 3.0], goal).round(3)
    array([0.75, 0.25])
    """
    root = 1.0 if sample_weight is None else np.sqrt(sample_weight / sample_weight.mean())[:, None]
    errors = np.stack([((said - goal) * root).ravel() for said in answers], axis=1)
    return _solve_on_simplex(errors.T @ errors)


def _solve_on_simplex(gram: FloatArray) -> FloatArray:
    """The w on the simplex with the least w' G w."""
    scale = float(np.trace(gram)) / len(gram)
    if scale <= 0.0:  # no member errs at all
        return np.full(len(gram), 1.0 / len(gram))
    factor = _take_root(gram / scale)
    stacked = np.vstack([factor, np.ones(len(gram))])
    found, _ = nnls(stacked, np.concatenate([np.zeros(len(gram)), [1.0]]))
    return np.asarray(found / found.sum())


def _take_root(gram: FloatArray) -> FloatArray:
    """An upper triangle R with R'R = G, all but singular if G is."""
    size = len(gram)
    ridge = _RIDGE * max(float(np.trace(gram)) / size, np.finfo(float).tiny)
    return np.asarray(np.linalg.cholesky(gram + ridge * np.eye(size)).T, dtype=np.float64)


def blend_by_log_loss(
    answers: list[FloatArray], goal: FloatArray, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Weights of the mixture of the members' probabilities that makes the true classes likeliest.

    Parameters
    ----------
    answers : list of ndarray of shape (n_rows, width)
        The probabilities that each member gave, classes of all outputs side by side.
    goal : ndarray of shape (n_rows, width)
        1 for the true class of each output, 0 elsewhere.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Not negative, sum one.

    Examples
    --------
    A member that is right counts, one that knows nothing does not:

    >>> goal = np.eye(2)[[0, 1, 0, 1]]
    >>> blend_by_log_loss([0.8 * goal + 0.1, np.full((4, 2), 0.5)], goal).round(3)
    array([1., 0.])
    """
    hits = goal > 0.5
    # One row for each output of each row: the probability of what was true.
    likelihood = np.stack([said[hits] for said in answers], axis=1)
    counts = np.ones(len(likelihood)) if sample_weight is None else np.repeat(sample_weight, hits.sum(axis=1))
    likelihood = np.clip(likelihood, _TINY, None)
    share = counts / counts.sum()
    weights = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1])
    for _ in range(_MOST_STEPS):
        mixture = likelihood @ weights
        relative = likelihood / mixture[:, None]
        rise = share @ relative  # of the log-likelihood, for each member; 1 at the optimum where a weight is positive
        if rise.max() - 1.0 < _TOLERANCE:
            break
        weights = _step(weights, relative, rise, share, likelihood)
    return weights


def _step(
    weights: FloatArray, relative: FloatArray, rise: FloatArray, share: FloatArray, likelihood: FloatArray
) -> FloatArray:
    """One Newton step of  -sum log(Pw) + sum w  over w >= 0, halved until it helps."""
    hessian = (relative * share[:, None]).T @ relative
    root = _take_root(hessian)
    # Quadratic model at x: x'Hx/2 - x'(2 rise - 1), since H w = rise; written as least squares over x >= 0.
    goal, _ = nnls(root, np.linalg.solve(root.T, 2.0 * rise - 1.0))
    start = float(share @ np.log(likelihood @ weights))
    for halving in range(40):
        trial = weights + (goal - weights) * 0.5**halving
        trial = np.maximum(trial, 0.0)
        trial = trial / trial.sum()
        if float(share @ np.log(likelihood @ trial)) > start:
            return np.asarray(trial)
    # No step helps any more: what is left is rounding. The old fixed-point step cannot make it worse.
    settled = weights * rise
    return np.asarray(settled / settled.sum())
