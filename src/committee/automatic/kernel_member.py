"""A smooth member: ridge regression on Gaussian bumps around some of the rows, on encoded features.

With landmarks z_1 .. z_m among the rows and k(x, z) = exp(-|x - z|² / w), a row becomes the m numbers
φ(x) = L⁻¹ k(x, z), LL' the kernel between landmarks [WilliamsSeeger2001]; shares of classes are regressed on as 0 and 1
[Rifkin2003]. What the model would say about a row had it not been there is known without another fit: with leverage h
the residual grows by 1 / (1 - h). Width and ridge are those with the least squares of such residuals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.automatic.baseline_members import PlainMember, soften
from committee.automatic.encoding import learn_encoding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["KernelMember"]

_N_LANDMARKS = 600
_N_TRIAL_LANDMARKS = 150
"""Landmarks while a width is looked for."""
_WIDTHS = (0.05, 0.15, 0.5, 1.5)
"""Among which the width is chosen, in medians of squared distances."""
_PENALTIES = np.logspace(-4, 4, 17)
_JITTER = 1e-8
"""Added to the diagonal of the kernel, so that landmarks close by do no harm."""
_TINY = 1e-6
"""The least share of itself that a row leaves to others."""


class KernelMember(PlainMember):
    """Kernel ridge regression; of classes a softmax of a multiple of the regressed shares."""

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        self.encoding_ = learn_encoding(X, counts, self.categories)
        table = self.encoding_.encode(X)
        # Rows that are there twice are one landmark, so that a weight of two is the same.
        distinct = np.unique(table, axis=0)
        order = np.random.default_rng(len(distinct)).permutation(len(distinct))
        trial = distinct[order[:_N_TRIAL_LANDMARKS]]
        distances = _measure_distances(trial, trial)
        unit = float(np.median(distances[distances > 0.0])) if (distances > 0.0).any() else 1.0
        fits = [_Ridge(table, trial, unit * width, goal, counts) for width in _WIDTHS]
        width = min(fits, key=lambda fit: fit.score).width
        ridge = _Ridge(table, distinct[order[:_N_LANDMARKS]], width, goal, counts)
        self.landmarks_, self.width_ = ridge.landmarks, width
        self.coef_, self.intercept_ = ridge.find_coefficients()
        without = ridge.leave_out()
        self.slope_ = _find_slope(without, goal, counts) if self.classify and goal.shape[1] > 1 else 1.0
        self._left_out: FloatArray | None = self._link(without)

    def forget_left_out(self) -> FloatArray:
        """What would be said about each training row without it (ridge, width and slope know it); told once."""
        answers, self._left_out = self._left_out, None
        assert answers is not None
        return answers

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        distances = _measure_distances(self.encoding_.encode(X), self.landmarks_)
        return self._link(np.exp(distances / -self.width_) @ self.coef_ + self.intercept_)

    def _link(self, scores: FloatArray) -> FloatArray:
        return soften(self.slope_ * scores) if self.classify else scores


class _Ridge:
    """Ridge regression on the landmarks' features, the ridge chosen by leaving rows out."""

    def __init__(self, table: FloatArray, landmarks: FloatArray, width: float, goal: FloatArray, counts: FloatArray):
        from scipy.linalg import cholesky, solve_triangular

        self.landmarks, self.width = landmarks, width
        near = np.exp(_measure_distances(landmarks, landmarks) / -width)
        self._root = cholesky(near + _JITTER * len(near) * np.eye(len(near)), lower=True)
        features = np.exp(_measure_distances(table, landmarks) / -width)
        features = solve_triangular(self._root, features.T, lower=True, overwrite_b=True).T
        self._goal, self._n = goal, float(counts.sum())
        self._centre, self._mean = counts @ features / self._n, counts @ goal / self._n
        features -= self._centre
        weighted = features * counts[:, None]
        squares, self._axes = np.linalg.eigh(features.T @ weighted)
        self._squares = np.clip(squares, 0.0, None)
        self._along = self._axes.T @ (weighted.T @ (goal - self._mean))
        turned = features @ self._axes
        self._turned, self._turned_squares = turned, turned * turned
        # The largest of equal ones: with a row or two there is nothing to choose by.
        scores = [(float(counts @ ((goal - self._predict(p)) ** 2).sum(axis=1)), -p) for p in _PENALTIES]
        self.score, self._penalty = min(scores)[0], -min(scores)[1]

    def _predict(self, penalty: float) -> FloatArray:
        """What is said about each row without one of its kind."""
        said = self._turned @ (self._along / (self._squares + penalty)[:, None]) + self._mean
        leverage = self._turned_squares @ (1.0 / (self._squares + penalty)) + 1.0 / self._n
        return np.asarray(self._goal - (self._goal - said) / np.clip(1.0 - leverage, _TINY, None)[:, None])

    def find_coefficients(self) -> tuple[FloatArray, FloatArray]:
        """Factors of the kernel at the landmarks, and the constant."""
        from scipy.linalg import solve_triangular

        inner = self._axes @ (self._along / (self._squares + self._penalty)[:, None])
        coef = solve_triangular(self._root, inner, lower=True, trans="T")
        return coef, np.asarray(self._mean - self._centre @ inner)

    def leave_out(self) -> FloatArray:
        """What is said about each row without one of its kind, by the ridge that is best at that."""
        return self._predict(self._penalty)


def _measure_distances(rows: FloatArray, others: FloatArray) -> FloatArray:
    """Squared distances between all pairs."""
    squares = (rows * rows).sum(axis=1)[:, None] + (others * others).sum(axis=1) - 2.0 * (rows @ others.T)
    return np.asarray(np.maximum(squares, 0.0))


def _find_slope(scores: FloatArray, goal: FloatArray, counts: FloatArray) -> float:
    """The multiple of the scores whose softmax has the least log-loss."""
    from scipy.optimize import minimize_scalar

    def lose(log_slope: float) -> float:
        shares = soften(np.exp(log_slope) * scores)
        return -float(counts @ np.log(np.clip((shares * goal).sum(axis=1), 1e-15, None)))

    return float(np.exp(minimize_scalar(lose, bounds=(-3.0, 5.0), method="bounded").x))
