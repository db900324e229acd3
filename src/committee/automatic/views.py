"""The same rows as different members see them: the table, the table with words, and the target by its logarithm."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from committee.automatic.log_scale import is_skewed
from committee.automatic.word_encoding import WordEncoding, learn_words
from committee.data.text_columns import find_texts, lift_texts
from committee.ensembles.combining.training_set import TrainingSet

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["TextReader", "View", "learn_texts", "open_views"]

View: TypeAlias = Literal["table", "words", "logs"]


@dataclass(frozen=True)
class TextReader:
    """Which columns hold text, and what becomes of it.

    Attributes
    ----------
    places : tuple of int
        The columns.
    words : tuple of WordEncoding
        One for each.
    """

    places: tuple[int, ...] = ()
    words: tuple[WordEncoding, ...] = ()

    def lift(self, X: Any) -> tuple[Any, list[Any]]:
        """The table without its texts, for the door, and the weights of their terms."""
        if not self.places:
            return X, []
        table, texts = lift_texts(X, self.places)
        return table, [words.weigh(told) for words, told in zip(self.words, texts, strict=True)]

    def join(self, table: Any, weights: list[Any]) -> tuple[Any, Any]:
        """The table with themes for everybody, and with the weights of all terms for those who read words."""
        if not self.places:
            return table, None
        themes = [words.place(found) for words, found in zip(self.words, weights, strict=True)]
        whole = np.hstack([np.asarray(table, dtype=np.float64), *themes])
        return whole, sparse.hstack([sparse.csr_matrix(whole), *weights], format="csr")


def learn_texts(X: Any, asked: Any, categories: Any) -> TextReader:
    """Find the columns of text in a table, and learn their terms.

    Parameters
    ----------
    X : table
        As the user passed it.
    asked : "auto", None or sequence of str or int
        As `text_columns`.
    categories : "from_dtype", None or sequence
        As `categorical_features`; what it names is no text.
    """
    known: Any = () if categories is None or isinstance(categories, str) else np.asarray(categories, dtype=object)
    if len(known) and all(isinstance(one, bool | np.bool_) for one in known):
        known = np.flatnonzero(np.asarray(known, dtype=bool)).tolist()
    places = find_texts(X, asked, known)
    if not places:
        return TextReader()
    texts = lift_texts(X, places)[1]
    return TextReader(tuple(places), tuple(learn_words(told) for told in texts))


def open_views(training: TrainingSet, with_words: Any, classify: bool) -> dict[View, TrainingSet]:
    """What members of each kind learn from; views that say nothing of their own are not there.

    Parameters
    ----------
    training : TrainingSet
        The table with the target.
    with_words : CSR matrix or None
        The table with the weights of terms behind it.
    classify : bool
        Whether classes are predicted.
    """
    views: dict[View, TrainingSet] = {"table": training}
    if with_words is not None and with_words.shape[1] > training.X.shape[1]:
        views["words"] = TrainingSet(with_words, training.y, training.weights, training.groups)
    if not classify and is_skewed(training.y, training.weights):
        views["logs"] = TrainingSet(training.X, _take_logs(training.y), training.weights, training.groups)
    return views


def _take_logs(values: FloatArray) -> FloatArray:
    # Rows of weight zero may have any value, and are not looked at.
    return np.log(np.where(values > 0.0, values, 1.0))
