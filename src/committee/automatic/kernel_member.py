"""Kernel ridge regression with a Gaussian kernel on encoded features, by the Nyström method.

With landmarks z_1 .. z_m among the rows and k(x, z) = exp(-|x - z|² / w), a row has the m features φ(x) = L⁻¹ k(x, z),
LL' the kernel matrix of the landmarks [WilliamsSeeger2001]; classes are regressed as 0 and 1 [Rifkin2003]. The
leave-one-out prediction of a row needs no other fit: with leverage h the residual grows by 1 / (1 - h). Width and
penalty are those with the least sum of squares of such residuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.automatic.baseline_members import BaselineMember, softmax
from committee.automatic.encoding import fit_encoding
from committee.engines.formula import Arithmetic, ConstantTerm, LinearTerm, RowFunction, TableRow
from committee.engines.row_products import multiply_rows
from committee.losses import apply_exp, apply_log

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.typing import FloatArray

__all__ = ["FoldKernelMember", "KernelMember"]

_N_LANDMARKS, _N_FOLD_LANDMARKS = 600, 2400
_TRIAL_SHARE = 4
"""A fourth of the landmarks is used while the width is chosen."""
_WIDTHS = (0.05, 0.15, 0.5, 1.5)
"""Candidates for the width, in medians of squared distances."""
_PENALTIES = np.logspace(-4, 4, 17)
_JITTER = 1e-8
"""Added to the diagonal of the kernel matrix, which close landmarks make singular."""
_MIN_COMPLEMENT = 1e-6
"""Lower bound of one minus the leverage."""
_BLOCK_ROWS = 2048
"""Rows whose leave-one-out predictions with all penalties are computed at once."""


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
        trial = distinct[order[: max(1, self.n_landmarks // _TRIAL_SHARE)]]
        distances = _LandmarkDistances.measure(table, trial)
        apart = distances.among[distances.among > 0.0]
        unit = float(np.median(apart)) if len(apart) else 1.0
        width = _choose_width(lambda width: _Ridge(distances, unit * width, y_true, counts).score) * unit
        landmarks = distinct[order[: self.n_landmarks]]
        ridge = _Ridge(_LandmarkDistances.measure(table, landmarks), width, y_true, counts)
        self.landmarks_, self.width_ = landmarks, width
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


class FoldKernelMember(KernelMember):
    """A kernel of more landmarks, to be fitted in folds: leave-one-out predictions of landmarks are too good.

    Parameters
    ----------
    classify, categories
        As in `BaselineMember`.
    n_landmarks : int, default=2400
        The most landmarks; a fit takes the cube of their number.
    """

    n_landmarks = _N_FOLD_LANDMARKS

    def __init__(self, classify: bool, categories: Sequence[int] = (), n_landmarks: int = _N_FOLD_LANDMARKS) -> None:
        super().__init__(classify, categories, n_landmarks)

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        super()._fit(X, y_true, counts)
        self.pop_loo_predictions()
        self.n_columns_ = int(X.shape[1])

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the member computes for a row; the mean of the folds' models asks for it without one."""
        return super().to_formula(TableRow(self.n_columns_) if row is None else row)


@dataclass(frozen=True)
class _LandmarkDistances:
    """Squared distances of landmarks from one another, and of all rows from them."""

    among: FloatArray
    of_rows: FloatArray

    @classmethod
    def measure(cls, table: FloatArray, landmarks: FloatArray) -> _LandmarkDistances:
        among = _measure_distances(landmarks, landmarks)
        # Of a landmark from itself BLAS may find zero or a number close to it: the median is of distances above zero.
        np.fill_diagonal(among, 0.0)
        return cls(among, _measure_distances(table, landmarks))


class _Ridge:
    """Ridge regression on the landmarks' features, with the penalty chosen by leave-one-out."""

    def __init__(self, distances: _LandmarkDistances, width: float, y_true: FloatArray, counts: FloatArray) -> None:
        from scipy.linalg import cholesky, solve_triangular

        self.width = width
        near = apply_exp(distances.among / -width)
        near[np.diag_indices_from(near)] += _JITTER * len(near)
        self._root = cholesky(near, lower=True, overwrite_a=True, check_finite=False)
        features = apply_exp(distances.of_rows / -width)
        features = solve_triangular(self._root, features.T, lower=True, overwrite_b=True, check_finite=False).T
        self._y_true, self._counts, self._n = y_true, counts, float(counts.sum())
        self._centre, self._mean = counts @ features / self._n, counts @ y_true / self._n
        features -= self._centre
        # The product of an array with itself takes half the time of others.
        roots = features if (counts == 1.0).all() else features * np.sqrt(counts)[:, None]
        squares, self._axes = np.linalg.eigh(roots.T @ roots)
        self._squares = np.clip(squares, 0.0, None)
        self._along = self._axes.T @ (features.T @ (counts[:, None] * (y_true - self._mean)))
        self._rotated = features @ self._axes
        self._rotated_squares = self._rotated * self._rotated
        # The largest of equally good penalties: with a row or two all are.
        scores = [(score, -penalty) for score, penalty in zip(self._score_penalties(), _PENALTIES, strict=True)]
        self.score, self._penalty = min(scores)[0], -min(scores)[1]

    def _score_penalties(self) -> list[float]:
        """Sums of squares of the leave-one-out residuals, by penalty."""
        scores = np.zeros(len(_PENALTIES))
        # The residuals of two classes are the same but for their sign.
        columns = slice(1 if self._y_true.shape[1] == 2 else 0, None)
        for begin in range(0, len(self._y_true), _BLOCK_ROWS):
            rows = slice(begin, begin + _BLOCK_ROWS)
            residuals = self._find_loo_residuals(_PENALTIES, rows, columns)
            residuals *= residuals
            scores += self._counts[rows] @ residuals.sum(axis=1)
        return [float(score) for score in scores]

    def _find_loo_residuals(self, penalties: FloatArray, rows: slice, columns: slice) -> FloatArray:
        """Leave-one-out predictions less the target by row, column and penalty; a row leaves out one of its weight."""
        inverse = 1.0 / (self._squares[:, None] + penalties)
        shares = self._along[:, columns, None] * inverse[:, None, :]
        y_true = self._y_true[rows, columns]
        residuals = (self._rotated[rows] @ shares.reshape(len(shares), -1)).reshape(*y_true.shape, -1)
        residuals -= (y_true - self._mean[columns])[:, :, None]
        leverage = self._rotated_squares[rows] @ inverse + 1.0 / self._n
        residuals /= np.clip(1.0 - leverage, _MIN_COMPLEMENT, None)[:, None, :]
        return np.asarray(residuals)

    def find_coefficients(self) -> tuple[FloatArray, FloatArray]:
        """Coefficients of the kernel at the landmarks, and the intercept."""
        from scipy.linalg import solve_triangular

        inner = self._axes @ (self._along / (self._squares + self._penalty)[:, None])
        coef = solve_triangular(self._root, inner, lower=True, trans="T", check_finite=False)
        return coef, np.asarray(self._mean - self._centre @ inner)

    def predict_loo(self) -> FloatArray:
        """Leave-one-out predictions with the chosen penalty."""
        residuals = self._find_loo_residuals(np.array([self._penalty]), slice(None), slice(None))[:, :, 0]
        return np.asarray(self._y_true + residuals)


def _choose_width(measure: Callable[[float], float]) -> float:
    """The candidate with the least score, the first of equals; of the outer two only the one on the better side."""
    narrow, wide = (measure(width) for width in _WIDTHS[1:3])
    outer = _WIDTHS[0 if narrow <= wide else 3]
    scores = sorted([(_WIDTHS[1], narrow), (_WIDTHS[2], wide), (outer, measure(outer))])
    return min(scores, key=lambda pair: pair[1])[0]


def _measure_distances(rows: FloatArray, others: FloatArray, products: FloatArray | None = None) -> FloatArray:
    """Squared distances of all pairs, of which the products may be known."""
    products = rows @ others.T if products is None else products
    squares = products * -2.0
    squares += (rows * rows).sum(axis=1)[:, None] + (others * others).sum(axis=1)
    return np.asarray(np.maximum(squares, 0.0, out=squares))


def _find_slope(scores: FloatArray, y_true: FloatArray, counts: FloatArray) -> float:
    """The multiple of the scores whose softmax has the least log-loss."""
    from scipy.optimize import minimize_scalar

    # Columns as rows: sums over few numbers that lie side by side are slow.
    apart = np.ascontiguousarray((scores - (scores * y_true).sum(axis=1, keepdims=True)).T)

    def log_loss(log_slope: float) -> float:
        sums = apply_exp(float(apply_exp(np.asarray(log_slope))) * apart).sum(axis=0)
        return float(counts @ apply_log(np.minimum(sums, 1e15)))

    return float(apply_exp(minimize_scalar(log_loss, bounds=(-3.0, 5.0), method="bounded").x))
