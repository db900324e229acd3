"""Texts as numbers: weights of words for those who can read them, and a few themes for everybody else.

A text becomes the tf-idf weights of its words and pairs of neighbouring words, by scikit-learn's vectorizer: of term t
that occurs c times, (1 + log c) (1 + log ((1 + n) / (1 + n_t))), n_t of n texts having it, scaled to length one. Themes
are the first axes of all texts' weights [Deerwester1990], along which trees and neighbours can tell texts apart.
Neither sees what is to be predicted, so that all rows may have part in them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["WordEncoding", "learn_words"]

_MOST_TERMS = 20_000
"""Terms of a column that are kept, the most frequent ones."""
_N_THEMES = 30
_HOW: dict[str, Any] = {"ngram_range": (1, 2), "sublinear_tf": True, "strip_accents": "unicode"}


@dataclass(frozen=True)
class WordEncoding:
    """What the texts of one column become.

    Attributes
    ----------
    terms : ndarray of str
        Words and pairs of words.
    rarities : ndarray of shape (n_terms,)
        The second factor of the weight above.
    axes : ndarray of shape (n_terms, n_themes)
        Where the themes lie.
    """

    terms: NDArray[Any]
    rarities: FloatArray
    axes: FloatArray

    def weigh(self, texts: list[str]) -> Any:
        """Weights of the terms, a CSR matrix of shape (n_rows, n_terms)."""
        from sklearn.feature_extraction.text import TfidfVectorizer

        if not len(self.terms):
            return sparse.csr_matrix((len(texts), 0))
        vectorizer = TfidfVectorizer(vocabulary=self.terms.tolist(), **_HOW)
        vectorizer.idf_ = self.rarities
        return vectorizer.transform(texts)

    def place(self, weights: Any) -> FloatArray:
        """The themes of texts whose weights are given, of shape (n_rows, n_themes)."""
        return np.asarray(weights @ self.axes)


def learn_words(texts: list[str]) -> WordEncoding:
    """The terms of some texts, how rare they are, and their themes.

    Parameters
    ----------
    texts : list of str
        Empty where missing.

    Examples
    --------
    >>> words = learn_words(["free prize", "free money", "see you", "see you soon"])
    >>> words.terms.tolist()
    ['free', 'see', 'see you', 'you']
    >>> words.weigh(["see a free film"]).toarray().round(2)
    array([[0.71, 0.71, 0.  , 0.  ]])
    """
    from sklearn.feature_extraction.text import TfidfVectorizer

    for least in (2, 1):
        try:
            vectorizer = TfidfVectorizer(min_df=least, max_features=_MOST_TERMS, **_HOW)
            weights = vectorizer.fit_transform(texts)
        except ValueError:
            # No term occurs so often, or there is no word at all.
            continue
        terms = np.asarray(vectorizer.get_feature_names_out(), dtype=object)
        return WordEncoding(terms, np.asarray(vectorizer.idf_), _find_axes(weights))
    return WordEncoding(np.empty(0, dtype=object), np.empty(0), np.empty((0, 0)))


def _find_axes(weights: Any) -> FloatArray:
    from sklearn.decomposition import TruncatedSVD

    n_themes = min(_N_THEMES, weights.shape[0])
    if weights.shape[1] <= n_themes:
        return np.eye(weights.shape[1])
    # A seed of its own: themes are to be the same whatever the committee's seed is.
    return np.ascontiguousarray(TruncatedSVD(n_themes, random_state=0).fit(weights).components_.T)
