"""Kernel ridge regression with a Gaussian kernel on encoded features, by the Nyström method.

With landmarks z_1 .. z_m among the rows and k(x, z) = exp(-|x - z|² / w), a row has the m features φ(x) = L⁻¹ k(x, z),
LL' the kernel matrix of the landmarks [WilliamsSeeger2001]; classes are regressed as 0 and 1 [Rifkin2003]. The
leave-one-out prediction of a row needs no other fit: with leverage h the residual grows by 1 / (1 - h). Width and
penalty are those with the least sum of squares of such residuals.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.automatic.baseline_members import BaselineMember, softmax
from committee.automatic.encoding import fit_encoding
from committee.data.rows import multiply_rows
from committee.engines.formula import Arithmetic, ConstantTerm, LinearTerm, RowFunction
from committee.losses import apply_exp, apply_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = ["KernelMember"]

_N_LANDMARKS = 600
_N_TRIAL_LANDMARKS = 150
"""Landmarks while the width is chosen."""
_WIDTHS = (0.05, 0.15, 0.5, 1.5)
"""Candidates for the width, in medians of squared distances."""
_PENALTIES = np.logspace(-4, 4, 17)
_JITTER = 1e-8
"""Added to the diagonal of the kernel matrix, which close landmarks make singular."""
_MIN_COMPLEMENT = 1e-6
"""Lower bound of one minus the leverage."""


class KernelMember(BaselineMember):
    """Kernel ridge regression; class probabilities are the softmax of a multiple of the regressed values.

    Parameters
    ----------
    classify, categories
        As in `BaselineMember`.
    n_landmarks : int, default=600
        The most landmarks; a fit takes the cube of their number.
    """

    n_landmarks = _N_LANDMARKS  # of members from model files, which do not hold it

    def __init__(self, classify: bool, categories: Sequence[int] = (), n_landmarks: int = _N_LANDMARKS) -> None:
        super().__init__(classify, categories)
        self.n_landmarks = n_landmarks

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        self.encoding_ = fit_encoding(X, counts, self.categories)
        table = self.encoding_.encode(X)
        # Duplicate rows are one landmark, so that a row of weight two gives the same model as two rows.
        distinct = np.unique(table, axis=0)
        order = np.random.default_rng(len(distinct)).permutation(len(distinct))
        trial = distinct[order[:_N_TRIAL_LANDMARKS]]
        distances = _measure_distances(trial, trial)
        unit = float(np.median(distances[distances > 0.0])) if (distances > 0.0).any() else 1.0
        fits = [_Ridge(table, trial, unit * width, y_true, counts) for width in _WIDTHS]
        width = min(fits, key=lambda fit: fit.score).width
        ridge = _Ridge(table, distinct[order[: self.n_landmarks]], width, y_true, counts)
        self.landmarks_, self.width_ = ridge.landmarks, width
        self.coef_, self.intercept_ = ridge.find_coefficients()
        loo_scores = ridge.predict_loo()
        self.slope_ = _find_slope(loo_scores, y_true, counts) if self.classify and y_true.shape[1] > 1 else 1.0
        self._left_out: FloatArray | None = self._link(loo_scores)

    def pop_loo_predictions(self) -> FloatArray:
        """Leave-one-out predictions of the training rows, given width, penalty and slope; not kept afterwards."""
        predictions, self._left_out = self._left_out, None
        assert predictions is not None
        return predictions

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        rows = self.encoding_.encode(X)
        distances = _measure_distances(rows, self.landmarks_, multiply_rows(rows, self.landmarks_))
        return self._link(multiply_rows(apply_exp(distances / -self.width_), self.coef_.T) + self.intercept_)

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        def constant(value: float) -> FormulaTerm:
            return ConstantTerm(np.array([value]))

        rows, n_landmarks = self.encoding_.to_term(row), len(self.landmarks_)
        products = LinearTerm(rows, self.landmarks_, np.zeros(n_landmarks))
        own = RowFunction("sum", Arithmetic("*", rows, rows))
        lengths = Arithmetic("+", own, ConstantTerm((self.landmarks_ * self.landmarks_).sum(axis=1)))
        distances = Arithmetic("max", Arithmetic("-", lengths, Arithmetic("*", constant(2.0), products)), constant(0.0))
        near = RowFunction("exp", Arithmetic("/", distances, constant(-self.width_)), is_exact=False)
        scores = LinearTerm(near, np.ascontiguousarray(self.coef_.T), np.asarray(self.intercept_))
        if not self.classify:
            return scores
        return RowFunction("softmax", Arithmetic("*", constant(self.slope_), scores), is_exact=False)

    def _link(self, scores: FloatArray) -> FloatArray:
        return softmax(self.slope_ * scores) if self.classify else scores


class _Ridge:
    """Ridge regression on the landmarks' features, with the penalty chosen by leave-one-out."""

    def __init__(self, table: FloatArray, landmarks: FloatArray, width: float, y_true: FloatArray, counts: FloatArray):
        from scipy.linalg import cholesky, solve_triangular

        self.landmarks, self.width = landmarks, width
        near = apply_exp(_measure_distances(landmarks, landmarks) / -width)
        self._root = cholesky(near + _JITTER * len(near) * np.eye(len(near)), lower=True)
        features = apply_exp(_measure_distances(table, landmarks) / -width)
        features = solve_triangular(self._root, features.T, lower=True, overwrite_b=True).T
        self._y_true, self._n = y_true, float(counts.sum())
        self._centre, self._mean = counts @ features / self._n, counts @ y_true / self._n
        features -= self._centre
        weighted = features * counts[:, None]
        squares, self._axes = np.linalg.eigh(features.T @ weighted)
        self._squares = np.clip(squares, 0.0, None)
        self._along = self._axes.T @ (weighted.T @ (y_true - self._mean))
        rotated = features @ self._axes
        self._rotated, self._rotated_squares = rotated, rotated * rotated
        # The largest of equally good penalties: with a row or two all are.
        scores = [(float(counts @ ((y_true - self._predict_loo(p)) ** 2).sum(axis=1)), -p) for p in _PENALTIES]
        self.score, self._penalty = min(scores)[0], -min(scores)[1]

    def _predict_loo(self, penalty: float) -> FloatArray:
        """Leave-one-out predictions with a penalty; of rows with a weight, one is left out."""
        predicted = self._rotated @ (self._along / (self._squares + penalty)[:, None]) + self._mean
        leverage = self._rotated_squares @ (1.0 / (self._squares + penalty)) + 1.0 / self._n
        complement = np.clip(1.0 - leverage, _MIN_COMPLEMENT, None)[:, None]
        return np.asarray(self._y_true - (self._y_true - predicted) / complement)

    def find_coefficients(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients of the kernel at the landmarks, and the intercept."""
        from scipy.linalg import solve_triangular

        inner = self._axes @ (self._along / (self._squares + self._penalty)[:, None])
        coef = solve_triangular(self._root, inner, lower=True, trans="T")
        return coef, np.asarray(self._mean - self._centre @ inner)

    def predict_loo(self) -> FloatArray:
        """Leave-one-out predictions with the chosen penalty."""
        return self._predict_loo(self._penalty)


def _measure_distances(rows: FloatArray, others: FloatArray, products: FloatArray | None = None) -> FloatArray:
    """Squared distances of all pairs, of which the products may be known."""
    products = rows @ others.T if products is None else products
    squares = (rows * rows).sum(axis=1)[:, None] + (others * others).sum(axis=1) - 2.0 * products
    return np.asarray(np.maximum(squares, 0.0))


def _find_slope(scores: FloatArray, y_true: FloatArray, counts: FloatArray) -> float:
    """The multiple of the scores whose softmax has the least log-loss."""
    from scipy.optimize import minimize_scalar

    def log_loss(log_slope: float) -> float:
        probabilities = softmax(float(apply_exp(np.asarray(log_slope))) * scores)
        return -float(counts @ apply_log(np.clip((probabilities * y_true).sum(axis=1), 1e-15, None)))

    return float(apply_exp(minimize_scalar(log_loss, bounds=(-3.0, 5.0), method="bounded").x))
