"""Texts as numbers: tf-idf weights of words for linear members, and a few topics for all others.

A text has tf-idf weights of its words and bigrams, by scikit-learn's vectorizer: for term t that occurs c times,
(1 + log c) (1 + log ((1 + n) / (1 + n_t))), where n_t of n texts have it, scaled to length one. Topics are the first
components of latent semantic analysis [Deerwester1990], which trees and neighbours can use.
Neither depends on the target, so that both may be fitted on all rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from committee.data.blas_threads import limit_blas

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from committee.typing import FloatArray, SparseMatrix

__all__ = ["WordEncoding", "fit_word_encoding", "is_free_text"]

_MAX_TERMS = 20_000
"""The number of terms of a column, the most frequent ones."""
_N_TOPICS = 30
_LEAST_DISTINCT, _LEAST_WORDS = 0.5, 3.0
"""Fraction of distinct values and mean number of words from which strings are free text."""
_TFIDF_PARAMS: dict[str, Any] = {"ngram_range": (1, 2), "sublinear_tf": True, "strip_accents": "unicode"}


def is_free_text(distinct: Collection[str], n_texts: float) -> bool:
    """Whether strings are free text: at least half of them are distinct, and these have three words on average.

    Parameters
    ----------
    distinct : collection of str
        The distinct strings of a column.
    n_texts : float
        The number of rows that have one.

    Examples
    --------
    >>> is_free_text(["a word of thanks", "many words make a text"], 3), is_free_text(["Rio de Janeiro", "Paris"], 90)
    (True, False)
    """
    if len(distinct) < 2 or len(distinct) < _LEAST_DISTINCT * n_texts:
        return False
    return sum(len(text.split()) for text in distinct) >= _LEAST_WORDS * len(distinct)


@dataclass(frozen=True, eq=False)
class WordEncoding:
    """Encoding of the texts of one column.

    Attributes
    ----------
    terms : ndarray of str
        Words and bigrams.
    rarities : ndarray of shape (n_terms,)
        Inverse document frequencies: the second factor of the weight above.
    axes : ndarray of shape (n_terms, n_topics)
        Components of latent semantic analysis.
    """

    terms: NDArray[Any]
    rarities: FloatArray
    axes: FloatArray

    @property
    def n_topics(self) -> int:
        """The number of topics."""
        return int(self.axes.shape[1])

    @cached_property
    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.terms.tolist(), **_TFIDF_PARAMS)
        vectorizer.idf_ = self.rarities
        return vectorizer

    def to_tfidf(self, texts: list[str]) -> SparseMatrix:
        """Tf-idf weights, a CSR matrix of shape (n_rows, n_terms)."""
        if not len(self.terms):
            return sparse.csr_matrix((len(texts), 0))
        return self._vectorizer.transform(texts)

    def to_topics(self, tfidf: SparseMatrix) -> FloatArray:
        """Topics of texts, from their tf-idf weights, of shape (n_rows, n_topics)."""
        return np.asarray(tfidf @ self.axes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, WordEncoding):
            return NotImplemented
        return all(np.array_equal(getattr(self, name), getattr(other, name)) for name in ("terms", "rarities", "axes"))

    def __hash__(self) -> int:
        return hash(tuple(self.terms.tolist()))

    def __getstate__(self) -> dict[str, Any]:
        # The vectorizer is made when it is needed.
        return {"terms": self.terms, "rarities": self.rarities, "axes": self.axes}


def fit_word_encoding(texts: list[str]) -> WordEncoding:
    """The terms of some texts, their inverse document frequencies, and the topics.

    Parameters
    ----------
    texts : list of str
        Empty where missing.

    Examples
    --------
    >>> words = fit_word_encoding(["free prize", "free money", "see you", "see you soon"])
    >>> words.terms.tolist()
    ['free', 'see', 'see you', 'you']
    >>> words.to_tfidf(["see a free film"]).toarray().round(2)
    array([[0.71, 0.71, 0.  , 0.  ]])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    for min_df in (2, 1):
        try:
            vectorizer = TfidfVectorizer(min_df=min_df, max_features=_MAX_TERMS, **_TFIDF_PARAMS)
            weights = vectorizer.fit_transform(texts)
        except ValueError:
            # No term is in so many texts, or there is no word at all.
            continue
        terms = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        return WordEncoding(terms, np.asarray(vectorizer.idf_), _find_axes(weights))
    return WordEncoding(np.empty(0, dtype=object), np.empty(0), np.empty((0, 0)))


def _find_axes(weights: SparseMatrix) -> FloatArray:
    from sklearn.decomposition import TruncatedSVD

    n_topics = min(_N_TOPICS, weights.shape[0])
    if weights.shape[1] <= n_topics:
        return np.eye(weights.shape[1])
    # A fixed seed: topics do not depend on the estimator's seed. One thread: nor on the number of threads.
    with limit_blas():
        return np.ascontiguousarray(TruncatedSVD(n_topics, random_state=0).fit(weights).components_.T)
