"""Members that read words: a linear model and naive Bayes on the weights of terms, beside the other columns.

Their table is sparse: the columns that everybody sees first, then the weights of all terms.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from committee.automatic.baseline_members import PlainMember, soften
from committee.automatic.encoding import learn_encoding

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.automatic.encoding import TableEncoding
    from committee.typing import FloatArray

__all__ = ["WordBayesMember", "WordLinearMember", "WordMember"]

_LOUDNESS = 4.0
"""What the weights of terms, of length one, are multiplied with beside columns of standard deviation one."""
_INVERSE_PENALTY, _PENALTY = 1.0, 1.0
"""C of the logistic model, and the ridge."""
_MOST_STEPS = 100
_N_PRIOR = 0.1
"""Weight that every class is taken to have of every term beforehand."""


class WordMember(PlainMember):
    """A member whose table ends with weights of terms.

    Parameters
    ----------
    classify : bool
        Whether y holds numbers of classes rather than values.
    categories : sequence of int
        Columns that hold codes.
    n_columns : int
        Columns before the terms.
    """

    def __init__(self, classify: bool, categories: Sequence[int] = (), n_columns: int = 0) -> None:
        super().__init__(classify, categories)
        self.n_columns = n_columns


class WordLinearMember(WordMember):
    """A logistic model or a ridge regression on the encoded columns and the weights of terms."""

    encoding_: TableEncoding

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression, Ridge

        self.encoding_ = learn_encoding(X[:, : self.n_columns], counts, self.categories)
        table, n_answers = self._join(X), goal.shape[1]
        if self.classify and n_answers == 1:
            self.coef_, self.intercept_ = np.zeros((1, table.shape[1])), np.zeros(1)
            return
        if not self.classify:
            ridge = Ridge(_PENALTY, solver="sparse_cg", tol=1e-6).fit(table, goal[:, 0], sample_weight=counts)
            self.coef_, self.intercept_ = ridge.coef_[None, :], np.array([float(ridge.intercept_)])
            return
        model = LogisticRegression(C=_INVERSE_PENALTY, max_iter=_MOST_STEPS)
        with warnings.catch_warnings():
            # A model that is nearly there is as good a member.
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(table, goal.argmax(axis=1), sample_weight=counts)
        self.coef_, self.intercept_ = model.coef_, model.intercept_
        if n_answers == 2:
            halves = np.array([-0.5, 0.5])
            self.coef_, self.intercept_ = halves[:, None] * self.coef_, halves * self.intercept_

    def _join(self, X: Any) -> Any:
        dense = self.encoding_.encode(X[:, : self.n_columns])
        return sparse.hstack([sparse.csr_matrix(dense), _LOUDNESS * X[:, self.n_columns :]], format="csr")

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        scores = np.asarray(self._join(X) @ self.coef_.T + self.intercept_)
        return soften(scores) if self.classify else scores


class WordBayesMember(WordMember):
    """Naive Bayes on the weights of terms alone: of all weight in the texts of a class, the share that each term has.

    A text whose terms have weights w scores log p_c + Σ_t w_t log θ_ct for class c [McCallumNigam1998].
    """

    def _learn(self, X: NDArray[Any], goal: FloatArray, counts: FloatArray) -> None:
        weighed = np.asarray((X[:, self.n_columns :].T @ (goal * counts[:, None])).T) + _N_PRIOR
        self.logs_ = np.log(weighed) - np.log(weighed.sum(axis=1, keepdims=True))
        self.prior_ = np.log(counts @ goal / counts.sum())

    def _answer(self, X: NDArray[Any]) -> FloatArray:
        return soften(np.asarray(_LOUDNESS * (X[:, self.n_columns :] @ self.logs_.T)) + self.prior_)
