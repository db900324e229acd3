"""Views: the training sets of the different kinds of members.

``"table"`` is the table with the topics of its texts; ``"words"`` the same with the tf-idf weights of all terms;
``"logs"`` the table with the logarithm of the target; ``"pairs"`` the table with sums and differences of its columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from committee.automatic.log_scale import is_skewed
from committee.automatic.paired_columns import make_paired_set
from committee.data.class_weights import combine_weights
from committee.data.rows import count_rows, select_rows
from committee.data.targets import encode_classes, read_target
from committee.data.text_columns import find_texts, lift_texts
from committee.data.word_encoding import WordEncoding, fit_word_encoding
from committee.ensembles.combining.training_set import TrainingSet
from committee.losses import apply_log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.params import CategoricalFeatures
    from committee.typing import BoolArray, FloatArray, SparseMatrix

__all__ = ["TextReader", "View", "find_counted_rows", "fit_text_reader", "make_views"]

View: TypeAlias = Literal["table", "words", "logs", "pairs"]


@dataclass(frozen=True)
class TextReader:
    """The columns of text and their encodings.

    Attributes
    ----------
    places : tuple of int
        Numbers of the columns.
    words : tuple of WordEncoding
        One for each.
    """

    places: tuple[int, ...] = ()
    words: tuple[WordEncoding, ...] = ()

    def split_texts(self, X: Any) -> tuple[Any, list[SparseMatrix]]:
        """The table with the lengths of its texts in their place, and their tf-idf weights, column by column."""
        if not self.places:
            return X, []
        table, columns = lift_texts(X, self.places)
        return table, [words.to_tfidf(texts) for words, texts in zip(self.words, columns, strict=True)]

    def add_topics(self, X: Any, tfidf: list[SparseMatrix]) -> tuple[Any, SparseMatrix | None]:
        """The table with the topics of its texts, and the same with the tf-idf weights; None without texts."""
        if not self.places:
            return X, None
        topics = [words.to_topics(weights) for words, weights in zip(self.words, tfidf, strict=True)]
        table = np.hstack([np.asarray(X, dtype=np.float64), *topics])
        return table, sparse.hstack([sparse.csr_matrix(table), *tfidf], format="csr")


def fit_text_reader(
    X: Any, text_columns: str | Sequence[str | int] | None, categories: CategoricalFeatures, counted: BoolArray | None
) -> TextReader:
    """Find the columns of text in a table, and fit their encodings.

    Parameters
    ----------
    X : table
        As the user passed it.
    text_columns : "auto", None or sequence of str or int
        The parameter of the estimator.
    categories : "from_dtype", None or sequence
        The parameter `categorical_features`; columns that it names are not text.
    counted : ndarray of bool of shape (n_rows,) or None
        Rows of positive weight, of which words are counted; None for all.
    """
    if text_columns is None:
        return TextReader()
    X = X if counted is None else select_rows(X, np.flatnonzero(counted))
    known: Any = () if categories is None or isinstance(categories, str) else np.asarray(categories, dtype=object)
    if len(known) and all(isinstance(one, bool | np.bool_) for one in known):
        known = np.flatnonzero(np.asarray(known, dtype=bool)).tolist()
    places = find_texts(X, text_columns, known)
    if not places:
        return TextReader()
    columns = lift_texts(X, places)[1]
    return TextReader(tuple(places), tuple(fit_word_encoding(texts) for texts in columns))


def find_counted_rows(
    X: Any, y: Any, sample_weight: ArrayLike | None, class_weight: Any, owner: str
) -> BoolArray | None:
    """The rows whose weight, that of their class included, is positive; None if all are.

    Parameters
    ----------
    X, y, sample_weight : as in `fit`
        The table, one target, and the weights.
    class_weight : dict, "balanced" or None
        As the constructor got it.
    owner : str
        Name of the class of the ensemble.
    """
    n_rows, target = count_rows(X), None
    if class_weight is not None:
        target = encode_classes(np.ravel(read_target(y, n_rows, owner, multi_output=True)), owner)
    weights = combine_weights(sample_weight, class_weight, target, n_rows, owner)
    return None if weights is None or weights.all() else weights > 0.0


def make_views(
    training: TrainingSet, with_words: SparseMatrix | None, classify: bool, paired: Sequence[int] | None = None
) -> dict[View, TrainingSet]:
    """The training set of each view; views that would not differ from the table are left out.

    Parameters
    ----------
    training : TrainingSet
        The table with the target.
    with_words : CSR matrix or None
        The table followed by the tf-idf weights.
    classify : bool
        Whether classes are predicted.
    paired : sequence of int, optional
        The columns that hold codes of categories, if the table is widened by pairs of the others.
    """
    views: dict[View, TrainingSet] = {"table": training}
    if with_words is not None and with_words.shape[1] > training.X.shape[1]:
        views["words"] = TrainingSet(with_words, training.y, training.weights, training.groups)
    if not classify and is_skewed(training.y, training.weights):
        views["logs"] = TrainingSet(training.X, _take_logs(training.y), training.weights, training.groups)
    widened = None if paired is None else make_paired_set(training, paired)
    if widened is not None:
        views["pairs"] = widened
    return views


def _take_logs(values: FloatArray) -> FloatArray:
    # Rows of weight zero may have any value, and are not used.
    return apply_log(np.where(values > 0.0, values, 1.0))
