"""Naive Bayes on binned features.

Of n_c rows of class c let n_cfb lie in bin b of feature f, and q_fb be the fraction of all rows that do. With a prior
of m rows that are distributed like q [Cestnik1990] the score of class c is

    log ((n_c + 1) / (n + C)) + s Σ_f log ((n_cfb + m q_fb) / (n_c + m)),

C the number of classes and b the bin of the row's value of f. Features are dependent, so that their unscaled sum
(s = 1) is overconfident; s is the slope with the least log-loss. The leave-one-out prediction of a row needs no other
fit: one less in n_c and in each of its n_cfb. Numbers are binned at quantiles, into about as many bins as a bin has
rows [YangWebb2001]; each category is a bin, and so are missing values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from committee.automatic.baseline_members import BaselineMember, softmax
from committee.automatic.encoding import make_dense
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    LookupTerm,
    RowFunction,
    TakenColumns,
    add_weighted,
    find_bin,
)
from committee.losses import apply_log

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray

__all__ = ["BayesMember"]

_MAX_BINS = 32
_N_PRIOR_ROWS = 2.0
"""m above."""
_SLOPES = (0.0, 2.0)
"""Bounds of the slope."""
_MIN_PROBABILITY = 1e-15


class BayesMember(BaselineMember):
    """Naive Bayes for classes, on binned features."""

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        X = make_dense(X)
        self.cuts_, self.n_levels_ = self._find_thresholds(X, counts)
        bins, n_classes, n_features = self._find_bins(X), y_true.shape[1], X.shape[1]
        labels, sizes, n_bins = y_true.argmax(axis=1), counts @ y_true, int(self.n_levels_.sum()) + n_features
        cells = (bins * n_classes + labels[:, None]).ravel()
        histogram = np.bincount(cells, np.repeat(counts, n_features), n_bins * n_classes).reshape(n_bins, n_classes)
        prior_counts = _N_PRIOR_ROWS * histogram.sum(axis=1) / counts.sum()
        # Empty bins carry no information.
        filled = prior_counts > 0.0
        self.logs_ = np.zeros(histogram.shape)
        logs = apply_log(histogram[filled] + prior_counts[filled, None])
        self.logs_[filled] = logs - apply_log(sizes + _N_PRIOR_ROWS)
        self.prior_ = apply_log(sizes + 1.0) - apply_log(counts.sum() + n_classes)
        prior, log_ratios = np.tile(self.prior_, (len(labels), 1)), self._sum_logs(bins)
        # Leave-one-out: the row itself is taken from the counts of its own class.
        rows, removed = np.arange(len(labels)), np.minimum(counts, 1.0)
        own = -n_features * apply_log(sizes[labels] - removed + _N_PRIOR_ROWS)
        for column in bins.T:
            own += apply_log(np.maximum(histogram[column, labels] - removed, 0.0) + prior_counts[column])
        prior[rows, labels] = apply_log(sizes[labels] - removed + 1.0) - apply_log(counts.sum() + n_classes)
        log_ratios[rows, labels] = own
        self.slope_ = _find_slope(prior, log_ratios, y_true, counts) if n_classes > 1 else 1.0
        self._left_out: FloatArray | None = softmax(prior + self.slope_ * log_ratios)

    def pop_loo_predictions(self) -> FloatArray:
        """Leave-one-out predictions of the training rows, given bins and slope; they are not kept afterwards."""
        predictions, self._left_out = self._left_out, None
        assert predictions is not None
        return predictions

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        return softmax(self.prior_ + self.slope_ * self._sum_logs(self._find_bins(make_dense(X))))

    def _to_term(self, row: FormulaTerm) -> FormulaTerm:
        parts: list[FormulaTerm] = []
        first = 0
        for column, (cuts, n_levels) in enumerate(zip(self.cuts_, self.n_levels_.tolist(), strict=True)):
            value: FormulaTerm = TakenColumns(row, (column,))
            code = value if column in self.categories else find_bin(value, cuts)
            parts.append(LookupTerm(code, self.logs_[first : first + n_levels + 1]))
            first += n_levels + 1
        sums = Arithmetic("*", ConstantTerm(np.array([self.slope_])), add_weighted(np.ones(len(parts)), parts))
        return RowFunction("softmax", Arithmetic("+", ConstantTerm(self.prior_), sums), is_exact=False)

    def _find_thresholds(self, X: NDArray[Any], counts: FloatArray) -> tuple[list[FloatArray], NDArray[np.intp]]:
        """Thresholds of each feature, none for categories, and its number of bins without that of missing values."""
        n_bins = int(np.clip(np.sqrt(counts.sum()), 2, _MAX_BINS))
        quantiles = np.arange(1, n_bins) / n_bins
        cuts, n_levels = [], []
        for column, values in enumerate(X.T):
            known = ~np.isnan(values)
            values, weights = values[known].astype(np.float64), counts[known]
            if column in self.categories:
                cuts.append(np.empty(0))
                n_levels.append(int(values.max()) + 1 if len(values) else 0)
                continue
            order = np.argsort(values, kind="stable")
            ends = np.cumsum(weights[order])
            at = np.searchsorted(ends, quantiles * ends[-1]) if len(values) else np.empty(0, dtype=np.intp)
            cuts.append(np.unique(values[order][at]))
            n_levels.append(len(cuts[-1]) + 1)
        return cuts, np.array(n_levels, dtype=np.intp)

    def _find_bins(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """The bin of each value, numbered over all features; missing values and unknown categories are last."""
        bins = np.empty(X.shape, dtype=np.intp, order="F")
        first = 0
        for column, (cuts, n_levels) in enumerate(zip(self.cuts_, self.n_levels_, strict=True)):
            values = X[:, column]
            if column in self.categories:
                known = values < n_levels
                bins[:, column] = np.where(known, np.where(known, values, 0.0), n_levels)
            else:
                bins[:, column] = np.where(np.isnan(values), n_levels, np.searchsorted(cuts, values))
            bins[:, column] += first
            first += int(n_levels) + 1
        return bins

    def _sum_logs(self, bins: NDArray[np.intp]) -> FloatArray:
        """Sum over the features of the log-probabilities of their bins within each class."""
        total = np.zeros((len(bins), self.logs_.shape[1]))
        for column in bins.T:
            total += self.logs_[column]
        return total


def _find_slope(prior: FloatArray, log_ratios: FloatArray, y_true: FloatArray, counts: FloatArray) -> float:
    """The multiple of the summed logs with the least log-loss."""

    def log_loss(slope: float) -> float:
        probabilities = softmax(prior + slope * log_ratios)
        return -float(counts @ apply_log(np.clip((probabilities * y_true).sum(axis=1), _MIN_PROBABILITY, None)))

    return float(minimize_scalar(log_loss, bounds=_SLOPES, method="bounded").x)
