"""Convex weights of members, fitted to out-of-fold predictions: non-negative, with sum one.

Two convex problems over the simplex. With E the matrix of the members' errors (one column each), least squares is

    min |E w|²,  w >= 0, sum w = 1,

whose solution is v / sum v for the non-negative least-squares solution v of  E v = 0, 1'v = 1  (scaling v by s turns
the objective into s² q + (s - 1)², minimal at s = 1 / (1 + q), where it is q / (1 + q), increasing in q = |E w|²)
[Breiman1996c]. With p_im the probability that member m predicts for the true class of row i, log-loss is that of
mixture proportions,

    min -1/n sum_i log(sum_m w_m p_im),

solved by Newton steps within the positive orthant [Kim2020b].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.optimize import nnls

from committee.losses import apply_log

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["fit_convex_weights_log_loss", "fit_convex_weights_squared_error", "round_weights"]

_RIDGE = 1e-10
"""Added to the diagonal, relative to its mean, so that members with equal predictions get equal weights."""
_MIN_PROBABILITY = 1e-15
_MAX_STEPS = 200
_WEIGHT_STEPS = 1 << 30
_TOLERANCE = 1e-10
"""Largest duality gap, in nats per row, at which the iteration has converged."""


def fit_convex_weights_squared_error(
    predictions: list[FloatArray], y_true: FloatArray, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Weights of the convex combination with the least squared error.

    Parameters
    ----------
    predictions : list of ndarray of shape (n_rows, width)
        Predictions of each member.
    y_true : ndarray of shape (n_rows, width)
        The true values.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Non-negative, with sum one.

    Examples
    --------
    >>> y_true = np.array([[0.0], [1.0], [2.0]])
    >>> fit_convex_weights_squared_error([y_true + 1.0, y_true - 3.0], y_true).round(3)
    array([0.75, 0.25])
    """
    root = 1.0 if sample_weight is None else np.sqrt(sample_weight / sample_weight.mean())[:, None]
    errors = np.stack([((predicted - y_true) * root).ravel() for predicted in predictions], axis=1)
    return _minimize_on_simplex(errors.T @ errors)


def _minimize_on_simplex(gram: FloatArray) -> FloatArray:
    """The w on the simplex with the least w' G w."""
    scale = float(np.trace(gram)) / len(gram)
    if scale <= 0.0:  # no member has any error
        return np.full(len(gram), 1.0 / len(gram))
    factor = _factorize(gram / scale)
    stacked = np.vstack([factor, np.ones(len(gram))])
    solution, _ = nnls(stacked, np.concatenate([np.zeros(len(gram)), [1.0]]))
    return round_weights(solution / solution.sum())


def round_weights(weights: FloatArray) -> FloatArray:
    """Weights in steps of 2^-30, with sum one: the last bits of linear algebra differ between platforms.

    Parameters
    ----------
    weights : ndarray of shape (n_members,)
        Non-negative, with sum one up to rounding errors.

    Examples
    --------
    >>> float(round_weights(np.full(3, 1.0 / 3.0)).sum())
    1.0
    """
    steps = np.rint(np.asarray(weights) * _WEIGHT_STEPS)
    steps[int(steps.argmax())] += _WEIGHT_STEPS - steps.sum()
    return np.asarray(steps / _WEIGHT_STEPS)


def _factorize(gram: FloatArray) -> FloatArray:
    """An upper triangle R with R'R = G plus a small ridge, so that a singular G has one as well."""
    size = len(gram)
    ridge = _RIDGE * max(float(np.trace(gram)) / size, np.finfo(float).tiny)
    return np.asarray(np.linalg.cholesky(gram + ridge * np.eye(size)).T, dtype=np.float64)


def fit_convex_weights_log_loss(
    predictions: list[FloatArray], y_true: FloatArray, sample_weight: FloatArray | None = None
) -> FloatArray:
    """Weights of the mixture of the members' probabilities with the least log-loss.

    Parameters
    ----------
    predictions : list of ndarray of shape (n_rows, width)
        Probabilities predicted by each member, classes of all outputs side by side.
    y_true : ndarray of shape (n_rows, width)
        1 for the true class of each output, 0 elsewhere.
    sample_weight : ndarray of shape (n_rows,), optional
        Weights of the rows.

    Returns
    -------
    ndarray of shape (n_members,)
        Non-negative, with sum one.

    Examples
    --------
    An accurate member gets all the weight, an uninformative one none:

    >>> y_true = np.eye(2)[[0, 1, 0, 1]]
    >>> fit_convex_weights_log_loss([0.8 * y_true + 0.1, np.full((4, 2), 0.5)], y_true).round(3)
    array([1., 0.])
    """
    is_true = y_true > 0.5
    # One row for each output of each row: the probability of the true class.
    likelihood = np.stack([predicted[is_true] for predicted in predictions], axis=1)
    counts = np.ones(len(likelihood)) if sample_weight is None else np.repeat(sample_weight, is_true.sum(axis=1))
    likelihood = np.clip(likelihood, _MIN_PROBABILITY, None)
    row_weights = counts / counts.sum()
    weights = np.full(likelihood.shape[1], 1.0 / likelihood.shape[1])
    for _ in range(_MAX_STEPS):
        mixture = likelihood @ weights
        ratios = likelihood / mixture[:, None]
        # Gradient of the log-likelihood; at the optimum it is 1 for every positive weight.
        gradient = row_weights @ ratios
        if gradient.max() - 1.0 < _TOLERANCE:
            break
        weights = _take_newton_step(weights, ratios, gradient, row_weights, likelihood)
    return round_weights(weights)


def _take_newton_step(
    weights: FloatArray, ratios: FloatArray, gradient: FloatArray, row_weights: FloatArray, likelihood: FloatArray
) -> FloatArray:
    """One Newton step of  -sum log(Pw) + sum w  over w >= 0, halved until the likelihood rises."""
    hessian = (ratios * row_weights[:, None]).T @ ratios
    root = _factorize(hessian)
    # Quadratic model at x: x'Hx/2 - x'(2 gradient - 1), since H w = gradient; written as least squares over x >= 0.
    minimum, _ = nnls(root, np.linalg.solve(root.T, 2.0 * gradient - 1.0))
    start = float(row_weights @ apply_log(likelihood @ weights))
    for halving in range(40):
        trial = weights + (minimum - weights) * 0.5**halving
        trial = np.maximum(trial, 0.0)
        trial = trial / trial.sum()
        if float(row_weights @ apply_log(likelihood @ trial)) > start:
            return np.asarray(trial)
    # No step raises the likelihood beyond rounding errors; a step of expectation maximisation never lowers it.
    updated = weights * gradient
    return np.asarray(updated / updated.sum())
