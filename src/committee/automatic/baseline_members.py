"""Members other than trees: the class frequencies, a linear model and nearest neighbours on encoded features.

They are fitted on the table as it was read (numbers, codes of categories, NaN) and keep arrays only, so that a model
file can hold them. Weights count rows: a row of weight two is the same as two rows.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator

from committee.automatic.encoding import fit_encoding
from committee.data import Schema
from committee.engines.formula import ConstantTerm, LinearTerm, ModelFormula, RowFunction, refuse_formula
from committee.engines.row_products import multiply_rows
from committee.losses import apply_exp, apply_log, apply_sigmoid, apply_softplus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = [
    "BaselineMember",
    "LinearMember",
    "NeighbourMember",
    "PriorMember",
    "fit_few_steps",
    "fit_two_classes",
    "softmax",
]

_N_NEIGHBOURS = 15
_MAX_NEIGHBOURS = 60
"""Number of candidate rows if some have a weight below one."""
_INVERSE_PENALTY = 1.0
"""C of the logistic model."""
_MAX_STEPS = 200
_MAX_NEWTON_WORK, _MAX_NEWTON_STEPS, _NEWTON_PRECISION = 6e6, 20, 1e-6
"""Rows times squared columns up to which few steps of logistic regression of two classes are Newton's, the most of
these, and the expected decrease of the loss of a row at which they end."""
_STEPS_BEFORE = 8
"""The most steps of L-BFGS before a last one of Newton's."""
_LEAST_BEND, _LEAST_STEP = 1e-10, 1e-3
"""Of the second derivative of a row's loss, and of the part of a Newton step."""
_PENALTIES = np.logspace(-3, 6, 19)
"""Among which generalised cross-validation chooses."""


def softmax(scores: FloatArray) -> FloatArray:
    """Probabilities proportional to the exponentials of the scores, row by row.

    Examples
    --------
    >>> softmax(np.log(np.array([[3.0, 1.0]])))
    array([[0.75, 0.25]])
    """
    exponentials = apply_exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def fit_two_classes(table: FloatArray, y_true: FloatArray, counts: FloatArray) -> tuple[FloatArray, float]:
    """Coefficients and intercept of logistic regression of two classes, by Newton's method.

    Some four steps find what L-BFGS finds in forty. A step that does not decrease the loss is halved.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        The encoded rows.
    y_true : ndarray of shape (n_rows,)
        One for rows of the second class, zero for the others.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as.

    Examples
    --------
    >>> coef, intercept = fit_two_classes(np.array([[-1.0], [1.0]]), np.array([0.0, 1.0]), np.ones(2))
    >>> coef.round(3), abs(round(intercept, 3))
    (array([0.675]), 0.0)
    """
    rows = np.hstack([table, np.ones((len(table), 1))])
    penalty = np.full(rows.shape[1], 1.0 / _INVERSE_PENALTY)
    penalty[-1] = 0.0  # of the intercept
    signs = 1.0 - 2.0 * y_true

    def measure(coef: FloatArray) -> float:
        losses = apply_softplus(signs * (rows @ coef))
        return float(counts @ losses + 0.5 * penalty @ (coef * coef))

    coef = np.zeros(rows.shape[1])
    loss = measure(coef)
    for _ in range(_MAX_NEWTON_STEPS):
        positive = apply_sigmoid(rows @ coef)
        gradient = (counts * (positive - y_true)) @ rows + penalty * coef
        roots = rows * np.sqrt(counts * np.maximum(positive * (1.0 - positive), _LEAST_BEND))[:, None]
        # The product of an array with itself takes half the time of others.
        step = np.linalg.solve(roots.T @ roots + np.diag(penalty), gradient)
        decrease, size = 0.5 * float(gradient @ step), 1.0
        if decrease <= _NEWTON_PRECISION * float(counts.sum()):
            break
        while (new := measure(coef - size * step)) >= loss and size > _LEAST_STEP:
            size *= 0.5
        if new >= loss:
            break
        coef, loss = coef - size * step, new
    return coef[:-1], float(coef[-1])


def fit_few_steps(
    table: FloatArray, y_true: FloatArray, counts: FloatArray, max_steps: int
) -> tuple[FloatArray, FloatArray]:
    """Coefficients and intercepts of logistic regression after a few steps of L-BFGS, for two classes of the second.

    Loss, steps and tolerances are those of scikit-learn, whose checks of a table take a fifth of such a fit.

    Parameters
    ----------
    table : ndarray of shape (n_rows, n_columns)
        The encoded rows.
    y_true : ndarray of shape (n_rows, n_classes)
        One in the column of the class, zero in the others.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as.
    max_steps : int
        The most steps.

    Examples
    --------
    >>> table, y_true = np.array([[-1.0], [1.0]]), np.eye(2)
    >>> coef, intercept = fit_few_steps(table, y_true, np.ones(2), 20)
    >>> coef.round(3), np.abs(intercept.round(3))
    (array([[0.675]]), array([0.]))
    """
    from scipy.optimize import minimize

    rows = np.hstack([table, np.ones((len(table), 1))])
    goal = np.ascontiguousarray(y_true.T)[1 if y_true.shape[1] == 2 else 0 :]
    total = float(counts.sum())
    shares, penalty = counts / total, 1.0 / (_INVERSE_PENALTY * total)

    def measure(flat: FloatArray) -> tuple[float, FloatArray]:
        coef = flat.reshape(len(goal), -1)
        scores = (rows @ coef[0])[None] if len(goal) == 1 else (rows @ coef.T).T
        if len(goal) == 1:
            losses, residuals = apply_softplus(scores[0]), apply_sigmoid(scores)
        else:
            largest = scores.max(axis=0)
            residuals = apply_exp(scores - largest)
            sums = residuals.sum(axis=0)
            residuals /= sums
            losses = apply_log(sums) + largest
        losses = losses - (goal * scores).sum(axis=0)
        residuals -= goal
        residuals *= shares
        gradient = (rows.T @ residuals[0])[None] if len(goal) == 1 else (rows.T @ residuals.T).T
        gradient[:, :-1] += penalty * coef[:, :-1]
        loss = float(shares @ losses) + 0.5 * penalty * float((coef[:, :-1] ** 2).sum())
        return loss, gradient.ravel()

    options = {"maxiter": max_steps, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps}
    start = np.zeros(goal.shape[0] * rows.shape[1])
    found = minimize(measure, start, method="L-BFGS-B", jac=True, options=options).x.reshape(len(goal), -1)
    return found[:, :-1], found[:, -1]


def _leave_out_of_two_classes(
    table: FloatArray, y_true: FloatArray, counts: FloatArray, coef: FloatArray, tests: Sequence[NDArray[np.intp]]
) -> tuple[FloatArray, FloatArray]:
    """Scores of the rows of each test set by logistic regression of two classes on the other rows; NaN for the rest.

    They are one Newton step away from the fit on all rows, whose loss has no gradient: that of the other rows is minus
    the test set's [RadMaleki2020]. The fit itself gets a last such step; its coefficients are returned, too.

    Parameters
    ----------
    table, y_true, counts
        As in `fit_two_classes`.
    coef : ndarray of shape (n_columns + 1,)
        Coefficients and intercept of the fit on all rows.
    tests : sequence of ndarray of int
        The rows of each test set.
    """
    rows = np.hstack([table, np.ones((len(table), 1))])
    positive = apply_sigmoid(rows @ coef)
    roots = rows * np.sqrt(counts * np.maximum(positive * (1.0 - positive), _LEAST_BEND))[:, None]
    gradients = counts * (positive - y_true)
    bends = roots.T @ roots
    bends[np.diag_indices(len(bends) - 1)] += 1.0 / _INVERSE_PENALTY
    gradient = gradients @ rows
    gradient[:-1] += coef[:-1] / _INVERSE_PENALTY
    coef = coef - np.linalg.solve(bends, gradient)
    left_out = np.full(len(rows), np.nan)
    for test in tests:
        own = roots[test]
        step = np.linalg.solve(bends - own.T @ own, gradients[test] @ rows[test])
        left_out[test] = rows[test] @ (coef + step)
    return left_out, coef


def _leave_out_of_values(
    rows: FloatArray,
    residuals: FloatArray,
    counts: FloatArray,
    products: FloatArray,
    penalty: float,
    tests: Sequence[NDArray[np.intp]],
) -> FloatArray:
    """Values of the rows of each test set, less the mean of all, by ridge regression on the others; NaN for the rest.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
        Less their mean.
    residuals : ndarray of shape (n_rows,)
        The target less its mean.
    counts : ndarray of shape (n_rows,)
        How many rows each counts as.
    products : ndarray of shape (n_columns, n_columns)
        Of the columns of all rows.
    penalty : float
        As of the fit on all rows.
    tests : sequence of ndarray of int
        The rows of each test set.
    """
    total, along = float(counts.sum()), rows.T @ (counts * residuals)
    left_out = np.full(len(rows), np.nan)
    for test in tests:
        own, weights, goal = rows[test], counts[test], residuals[test]
        n_others = total - float(weights.sum())
        # The others' means, which are not zero any more.
        centre, mean = (weights @ own) / -n_others, float(weights @ goal) / -n_others
        roots = own * np.sqrt(weights)[:, None]
        others = products - roots.T @ roots - n_others * np.outer(centre, centre)
        others[np.diag_indices(len(others))] += penalty
        coef = np.linalg.solve(others, along - own.T @ (weights * goal) - n_others * mean * centre)
        left_out[test] = mean + (own - centre) @ coef
    return left_out


def _fit_by_scikit_learn(
    table: FloatArray, y_true: FloatArray, counts: FloatArray, max_steps: int
) -> tuple[FloatArray, FloatArray]:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=max_steps)
    with warnings.catch_warnings():
        # A model that has nearly converged is as good a member.
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(table, y_true.argmax(axis=1), sample_weight=counts)
    return model.coef_, model.intercept_


class BaselineMember(BaseEstimator):  # type: ignore[misc]
    """Base class of these members: rows by their weights, and the target as a matrix.

    Parameters
    ----------
    classify : bool
        Whether y holds indices of classes rather than values.
    categories : sequence of int
        Columns that hold codes of categories.
    """

    def __init__(self, classify: bool, categories: Sequence[int] = ()) -> None:
        self.classify, self.categories = classify, categories

    def __sklearn_clone__(self) -> Self:
        """The same parameters, which nobody changes: scikit-learn would copy the number of each category by itself."""
        return type(self)(**self.get_params(deep=False))

    def fit(self, X: NDArray[Any], y: NDArray[Any], sample_weight: FloatArray | None = None) -> Self:
        """Fit on the rows of positive weight."""
        self._fit(*self._prepare(X, y, sample_weight))
        return self

    def _prepare(
        self, X: NDArray[Any], y: NDArray[Any], sample_weight: FloatArray | None
    ) -> tuple[NDArray[Any], FloatArray, FloatArray]:
        """The rows of positive weight, their target as `_fit` takes it, and their weights."""
        counts = np.ones(len(y))
        if sample_weight is not None:
            counts = np.asarray(sample_weight, dtype=np.float64)
            positive = counts > 0.0
            X, y, counts = X[positive], y[positive], counts[positive]
        self.classes_ = None
        y_true = np.asarray(y, dtype=np.float64)[:, None]
        if self.classify:
            self.classes_, labels = np.unique(y, return_inverse=True)
            y_true = np.eye(len(self.classes_))[labels]
        return X, y_true, counts

    def predict_proba(self, X: NDArray[Any]) -> FloatArray:
        """Probability of each class that occurred in training."""
        return self._predict_columns(X)

    def predict(self, X: NDArray[Any]) -> NDArray[Any]:
        """The value of each row, or the most probable class."""
        columns = self._predict_columns(X)
        return columns[:, 0] if self.classes_ is None else self.classes_[columns.argmax(axis=1)]

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the member computes for a row of the committee's table; exports are written from it."""
        assert row is not None
        schema = Schema(row.width, None, (None,) * row.width, np.dtype(np.float64))
        columns = self._to_term(row)
        if self.classes_ is None:
            return ModelFormula(row, schema, columns)
        return ModelFormula(row, schema, RowFunction("argmax", columns), (self.classes_,), columns)

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        """`_predict_columns`, as a term of a formula."""
        raise refuse_formula(self, "has no formula")

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        """Fit to the target as one-hot classes or as one column of values; rows count as often as their weight."""
        raise NotImplementedError

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        """Probabilities of the classes, or one column of values."""
        raise NotImplementedError


class PriorMember(BaselineMember):
    """The frequencies of the classes, or the mean value, for every row: the baseline without features."""

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        self.means_ = np.average(y_true, axis=0, weights=counts)

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        return np.tile(self.means_, (X.shape[0], 1))

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        return ConstantTerm(self.means_)


class LinearMember(BaselineMember):
    """Logistic regression for classes, ridge regression for values, with a penalty by generalised cross-validation.

    With singular values s of the centred table, the penalty a leaves d(a) = sum s² / (s² + a) degrees of freedom; the
    penalty with the least n |residuals|² / (n - 1 - d(a))² is taken [Golub1979].

    Parameters
    ----------
    classify, categories
        As in `BaselineMember`.
    max_steps : int, default=200
        Steps of the logistic regression.
    """

    max_steps = _MAX_STEPS  # of members from model files, which do not hold it

    def __init__(self, classify: bool, categories: Sequence[int] = (), max_steps: int = _MAX_STEPS) -> None:
        super().__init__(classify, categories)
        self.max_steps = max_steps

    def fit_and_leave_out(self, X: NDArray[Any], y: NDArray[Any], tests: Sequence[NDArray[np.intp]]) -> FloatArray:
        """Fit on all rows, and predict those of each test set by the others, given encoding and penalty.

        Of values and of two classes, without another fit: the sums of all rows less those of the test set.

        Parameters
        ----------
        X, y
            As for `fit`.
        tests : sequence of ndarray of int
            The rows of each test set.

        Returns
        -------
        ndarray of shape (n_rows, width)
            NaN for rows of no test set.
        """
        return self._fit_by_encoding(*self._prepare(X, y, None), tests)

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        self._fit_by_encoding(X, y_true, counts, ())

    def _fit_by_encoding(
        self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray, tests: Sequence[NDArray[np.intp]]
    ) -> FloatArray:
        """Fit, and predict the rows of each test set by the others; NaN for the rest."""
        self.encoding_ = fit_encoding(X, counts, self.categories)
        table = self.encoding_.encode(X)
        fit = self._fit_logistic if self.classify else self._fit_ridge
        self.coef_, self.intercept_, left_out = fit(table, y_true, counts, tests)
        return left_out

    def _fit_logistic(
        self, table: FloatArray, y_true: FloatArray, counts: FloatArray, tests: Sequence[NDArray[np.intp]]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n_classes = y_true.shape[1]
        left_out = np.full(y_true.shape, np.nan)
        if n_classes == 1:
            return np.zeros((1, table.shape[1])), np.zeros(1), left_out
        if self.max_steps >= _MAX_STEPS:
            coef, intercept = _fit_by_scikit_learn(table, y_true, counts, self.max_steps)
        elif n_classes == 2 and table.size * table.shape[1] <= _MAX_NEWTON_WORK:
            single, constant = fit_two_classes(table, y_true[:, 1], counts)
            coef, intercept = single[None], np.array([constant])
        else:
            coef, intercept = fit_few_steps(
                table, y_true, counts, min(self.max_steps, _STEPS_BEFORE) if tests else self.max_steps
            )
        if tests:
            assert n_classes == 2, "of more classes there are more scores"
            scores, both = _leave_out_of_two_classes(table, y_true[:, 1], counts, np.append(coef[0], intercept), tests)
            coef, intercept = both[None, :-1], both[-1:]
            left_out = softmax(np.outer(scores, [-0.5, 0.5]))
        if n_classes == 2:
            coef, intercept = np.vstack([-0.5, 0.5]) * coef, np.array([-0.5, 0.5]) * intercept
        return coef, intercept, left_out

    def _fit_ridge(
        self, table: FloatArray, y_true: FloatArray, counts: FloatArray, tests: Sequence[NDArray[np.intp]]
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        n = counts.sum()
        roots, is_plain = np.sqrt(counts), bool((counts == 1.0).all())
        centre = (table if is_plain else table * counts[:, None]).sum(axis=0) / n
        mean = float((y_true[:, 0] * counts).sum() / n)
        rows, residuals = table - centre, roots * (y_true[:, 0] - mean)
        centred = rows if is_plain else roots[:, None] * rows
        products = centred.T @ centred
        squares, axes = np.linalg.eigh(products)
        squares = np.clip(squares, 0.0, None)
        along = axes.T @ (centred.T @ residuals)
        total = float(residuals @ residuals)
        best, chosen = np.inf, _PENALTIES[-1]
        for penalty in _PENALTIES:
            rotated = along / (squares + penalty)
            residual = max(0.0, total - 2.0 * float(rotated @ along) + float(rotated @ (squares * rotated)))
            freedom = n - 1.0 - float((squares / (squares + penalty)).sum())
            score = residual / freedom**2 if freedom > 0.0 else np.inf
            if score < best:
                best, chosen = score, penalty
        coef = axes @ (along / (squares + chosen))
        left_out = np.full(len(rows), np.nan)
        if tests:
            left_out = mean + _leave_out_of_values(rows, y_true[:, 0] - mean, counts, products, chosen, tests)
        return coef[None, :], np.array([mean - float(centre @ coef)]), left_out[:, None]

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        scores = multiply_rows(self.encoding_.encode(X), self.coef_) + self.intercept_
        return scores if self.classes_ is None else softmax(scores)

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        scores = LinearTerm(self.encoding_.to_term(row), self.coef_, self.intercept_)
        return scores if self.classes_ is None else RowFunction("softmax", scores, is_exact=False)


class NeighbourMember(BaselineMember):
    """The mean of the nearest rows on encoded features; for classes the class frequencies count as one more row.

    That row keeps probabilities away from zero. The last neighbour counts in part, so that a row of weight two is two
    neighbours.
    """

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        self.encoding_ = fit_encoding(X, counts, self.categories)
        self.table_, self.goal_, self.counts_ = self.encoding_.encode(X), y_true, counts

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        # Which of rows at equal distances count is the matter of scikit-learn, and no formula.
        raise refuse_formula(self, "keeps its training rows")

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        from sklearn.neighbors import NearestNeighbors

        # Rows of weight below one count for less, and more of them may be needed.
        n_candidates = _N_NEIGHBOURS if self.counts_.min() >= 1.0 else _MAX_NEIGHBOURS
        finder = NearestNeighbors(n_neighbors=min(n_candidates, len(self.table_)), algorithm="brute").fit(self.table_)
        near = finder.kneighbors(self.encoding_.encode(X), return_distance=False)
        counts = self.counts_[near]
        before = np.cumsum(counts, axis=1) - counts
        used = np.clip(_N_NEIGHBOURS - before, 0.0, counts)
        # One neighbour after another: the same sum for a row alone and among others.
        sums, total = np.zeros((len(near), self.goal_.shape[1])), np.zeros((len(near), 1))
        for k in range(near.shape[1]):
            sums += used[:, k, None] * self.goal_[near[:, k]]
            total += used[:, k, None]
        if self.classes_ is None:
            return np.asarray(sums / total)
        return np.asarray((sums + np.average(self.goal_, axis=0, weights=self.counts_)) / (total + 1.0))
