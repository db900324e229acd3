"""Members for text: a linear model and naive Bayes on tf-idf weights, and on the other columns.

Their table is sparse: the columns that all members get first, then the tf-idf weights of all terms.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from committee.automatic.baseline_members import BaselineMember, softmax
from committee.automatic.encoding import fit_encoding
from committee.losses import apply_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.automatic.encoding import TableEncoding
    from committee.typing import FloatArray, SparseMatrix

__all__ = ["WordBayesMember", "WordLinearMember", "WordMember"]

_TERM_SCALE = 4.0
"""Factor of the tf-idf weights of a text, which have length one, beside columns of standard deviation one."""
_INVERSE_PENALTY, _PENALTY = 1.0, 1.0
"""C of the logistic model, and the penalty of the ridge regression."""
_MAX_STEPS = 100
_N_PRIOR = 0.1
"""Pseudo-count of every term in every class."""


class WordMember(BaselineMember):
    """Base class of members whose table ends with tf-idf weights.

    Parameters
    ----------
    classify : bool
        Whether y holds indices of classes rather than values.
    categories : sequence of int
        Columns that hold codes of categories.
    n_columns : int
        Number of columns before the terms.
    """

    def __init__(self, classify: bool, categories: Sequence[int] = (), n_columns: int = 0) -> None:
        super().__init__(classify, categories)
        self.n_columns = n_columns


class WordLinearMember(WordMember):
    """Logistic or ridge regression on the encoded columns and the tf-idf weights."""

    encoding_: TableEncoding

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression, Ridge

        self.encoding_ = fit_encoding(X[:, : self.n_columns], counts, self.categories)
        table, width = self._join(X), y_true.shape[1]
        if self.classify and width == 1:
            self.coef_, self.intercept_ = np.zeros((1, table.shape[1])), np.zeros(1)
            return
        if not self.classify:
            ridge = Ridge(_PENALTY, solver="sparse_cg", tol=1e-6).fit(table, y_true[:, 0], sample_weight=counts)
            self.coef_, self.intercept_ = ridge.coef_[None, :], np.array([float(ridge.intercept_)])
            return
        model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=_MAX_STEPS)
        with warnings.catch_warnings():
            # A model that has nearly converged is as good a member.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(table, y_true.argmax(axis=1), sample_weight=counts)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        if width == 2:
            halves = np.array([-0.5, 0.5])
            self.coef_, self.intercept_ = halves[:, None] * self.coef_, halves * self.intercept_

    def _join(self, X: Any) -> SparseMatrix:
        dense = self.encoding_.encode(X[:, : self.n_columns])
        return sparse.hstack([sparse.csr_matrix(dense), _TERM_SCALE * X[:, self.n_columns :]], format="csr")

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        scores = np.asarray(self._join(X) @ self.coef_.T + self.intercept_)
        return softmax(scores) if self.classify else scores


class WordBayesMember(WordMember):
    """Multinomial naive Bayes on the tf-idf weights alone.

    θ_ct is the fraction of term t in the total weight of the texts of class c. A text with weights w scores
    log p_c + Σ_t w_t log θ_ct for class c [McCallumNigam1998].
    """

    def _fit(self, X: NDArray[Any], y_true: FloatArray, counts: FloatArray) -> None:
        sums = np.asarray((X[:, self.n_columns :].T @ (y_true * counts[:, None])).T) + _N_PRIOR
        self.logs_ = apply_log(sums) - apply_log(sums.sum(axis=1, keepdims=True))
        self.prior_ = apply_log(counts @ y_true / counts.sum())

    def _predict_columns(self, X: NDArray[Any]) -> FloatArray:
        return softmax(np.asarray(_TERM_SCALE * (X[:, self.n_columns :] @ self.logs_.T)) + self.prior_)
