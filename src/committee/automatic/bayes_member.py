"""Naive Bayes on bins: every feature says for itself how much likelier a value makes each class.

Of n_c rows of class c let n_cfb lie in bin b of feature f, and q_fb be the share of all rows that do. With a prior of
m rows that are spread like q [Cestnik1990] the score of class c is

    log ((n_c + 1) / (n + C)) + s Σ_f log ((n_cfb + m q_fb) / (n_c + m)),

C the number of classes and b the bin that the row's value of f lies in. Features repeat one another, so that their
plain sum (s = 1) is far too sure of itself; s is the slope with the least log-loss. What would be said about a row
without it is known without another fit: one less in n_c and in each of its n_cfb. Numbers are cut at quantiles, into
about as many bins as a bin has rows [YangWebb2001]; a level of a category is a bin, and so are missing values.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import minimize_scalar

from committee.automatic.baseline_members import PlainMember, soften
from committee.automatic.encoding import make_dense

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BayesMember"]

_MOST_BINS = 32
_N_PRIOR_ROWS = 2.0
"""m above."""
_SLOPES = (0.0, 2.0)
"""Where the slope lies."""
_TINY = 1e-15
"""The least probability that is believed."""


class BayesMember(PlainMember):
    """Naive Bayes for classes, on features cut into bins."""

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        X = make_dense(X)
        self.cuts_, self.n_levels_ = self._cut(X, counts)
        bins, n_classes, n_features = self._find_bins(X), goal.shape[1], X.shape[1]
        labels, sizes, n_bins = goal.argmax(axis=1), counts @ goal, int(self.n_levels_.sum()) + n_features
        cells = (bins * n_classes + labels[:, None]).ravel()
        held = np.bincount(cells, np.repeat(counts, n_features), n_bins * n_classes).reshape(n_bins, n_classes)
        spread = _N_PRIOR_ROWS * held.sum(axis=1) / counts.sum()
        # What no row has says nothing.
        there = spread > 0.0
        self.logs_ = np.zeros(held.shape)
        self.logs_[there] = np.log(held[there] + spread[there, None]) - np.log(sizes + _N_PRIOR_ROWS)
        self.prior_ = np.log(sizes + 1.0) - np.log(counts.sum() + n_classes)
        prior, evidence = np.tile(self.prior_, (len(labels), 1)), self._add_up(bins)
        each, gone = np.arange(len(labels)), np.minimum(counts, 1.0)
        own = -n_features * np.log(sizes[labels] - gone + _N_PRIOR_ROWS)
        for column in bins.T:
            own += np.log(np.maximum(held[column, labels] - gone, 0.0) + spread[column])
        prior[each, labels] = np.log(sizes[labels] - gone + 1.0) - np.log(counts.sum() + n_classes)
        evidence[each, labels] = own
        self.slope_ = _find_slope(prior, evidence, goal, counts) if n_classes > 1 else 1.0
        self._left_out: FloatArray | None = soften(prior + self.slope_ * evidence)

    def forget_left_out(self) -> FloatArray:
        """What would be said about each training row without it (bins and slope know it); told once."""
        answers, self._left_out = self._left_out, None
        assert answers is not None
        return answers

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        return soften(self.prior_ + self.slope_ * self._add_up(self._find_bins(make_dense(X))))

    def _cut(self, X: NDArray[Any], counts: FloatArray) -> tuple[list[FloatArray], NDArray[np.intp]]:
        """Thresholds of each feature, none for categories, and how many bins it has besides that of missing values."""
        n_bins = int(np.clip(np.sqrt(counts.sum()), 2, _MOST_BINS))
        shares = np.arange(1, n_bins) / n_bins
        cuts, n_levels = [], []
        for column, values in enumerate(X.T):
            there = ~np.isnan(values)
            values, weights = values[there].astype(np.float64), counts[there]
            if column in self.categories:
                cuts.append(np.empty(0))
                n_levels.append(int(values.max()) + 1 if len(values) else 0)
                continue
            order = np.argsort(values, kind="stable")
            ends = np.cumsum(weights[order])
            places = np.searchsorted(ends, shares * ends[-1]) if len(values) else np.empty(0, dtype=np.intp)
            cuts.append(np.unique(values[order][places]))
            n_levels.append(len(cuts[-1]) + 1)
        return cuts, np.array(n_levels, dtype=np.intp)

    def _find_bins(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """The bin of each value, those of all features counted on; missing values and unknown levels have the last."""
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

    def _add_up(self, codes: NDArray[np.intp]) -> FloatArray:
        """Sum over the features of the logs of their shares within each class."""
        total = np.zeros((len(codes), self.logs_.shape[1]))
        for bins in codes.T:
            total += self.logs_[bins]
        return total


def _find_slope(prior: FloatArray, evidence: FloatArray, goal: FloatArray, counts: FloatArray) -> float:
    """The multiple of the evidence with the least log-loss."""

    def lose(slope: float) -> float:
        shares = soften(prior + slope * evidence)
        return -float(counts @ np.log(np.clip((shares * goal).sum(axis=1), _TINY, None)))

    return float(minimize_scalar(lose, bounds=_SLOPES, method="bounded").x)
