"""Input of BoosTexter: documents, labels and tables of words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix, issparse

from committee.constraints import show_value
from committee.data.rows import count_rows, select_rows
from committee.data.targets import encode_classes, read_target
from committee.engines import get_engine
from committee.ensembles.boostexter.model import LabelTarget
from committee.exceptions import DataError, DataTypeError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.engines import WordTable
    from committee.typing import BoolArray

__all__ = ["check_documents", "learn_words", "make_word_table", "mark_present", "read_labels", "select_documents"]


def check_documents(X: Any) -> Any:
    """Documents for a vectoriser that the user passed, which may be of any type."""
    if isinstance(X, str | bytes) or not (hasattr(X, "__len__") or hasattr(X, "shape")):
        raise DataTypeError(f"X must be a collection of documents; got {show_value(X)}.")
    if not (X.shape[0] if hasattr(X, "shape") and X.shape else len(X)):
        raise DataError("X has no document; at least one is needed.")
    return X


def learn_words(vectorizer: Any, documents: Any) -> csr_matrix:
    """Fit a vectoriser to documents; the words that each of them has."""
    try:
        words = mark_present(vectorizer.fit_transform(documents))
    except (AttributeError, TypeError, ValueError, NotImplementedError) as error:
        if "empty vocabulary" in str(error):
            raise DataError(f"{error}. By default a word has at least two letters or digits (vectorizer=).") from None
        said = str(error).rstrip(".")
        raise DataError(f"The vectoriser cannot read the documents: {said}.") from error
    n_documents = count_rows(documents)
    if words.shape[0] != n_documents:
        raise DataError(f"The vectoriser made {words.shape[0]} rows of {n_documents} documents; pass a list of texts.")
    if words.shape[1] == 0:
        raise DataError("The vectoriser found no word in the documents.")
    return words


def select_documents(documents: Any, rows: NDArray[np.intp]) -> Any:
    """Some of the documents, or of the rows of a table."""
    if isinstance(documents, list | tuple):
        return [documents[row] for row in rows]
    return select_rows(documents, rows)


def read_labels(y: Any, n_rows: int, name: str, present: BoolArray) -> LabelTarget:
    """Classes, or zeros and ones for several labels, of the documents that are present."""
    array = read_target(y, n_rows, name, multi_output=True)
    if array.ndim == 2 and array.shape[1] > 1:
        try:
            has = array.astype(np.float64)
        except (TypeError, ValueError):
            has = np.full(array.shape, np.nan)
        if not ((has == 0) | (has == 1)).all():
            raise DataError(
                f"A y of two axes must hold zeros and ones that say which labels a document has; {name} does not learn "
                "several outputs of several classes. MultiLabelBinarizer of scikit-learn makes such a y of lists."
            )
        return LabelTarget(np.arange(array.shape[1]), has[present].astype(bool), multilabel=True)
    flat = read_target(array, n_rows, name, multi_output=False)[present]
    encoded = encode_classes(flat, name)
    classes = encoded.classes[0]
    has = encoded.labels == np.arange(len(classes))
    return LabelTarget(classes, has[:, 1:] if len(classes) == 2 else has, multilabel=False)


def make_word_table(words: csr_matrix, has: BoolArray) -> WordTable:
    """Documents and their labels in the engine's form."""
    columns, labels = words.tocsc(), csr_matrix(has)
    columns.sort_indices()
    table: WordTable = get_engine().WordTable(
        columns.indptr.astype(np.uint64),
        columns.indices.astype(np.uint32),
        labels.indptr.astype(np.uint64),
        labels.indices.astype(np.uint32),
        has.shape[1],
    )
    return table


def mark_present(X: Any, threshold: float | None = None, owner: str = "") -> csr_matrix:
    """Ones where a word is present, as CSR with sorted columns.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n_documents, n_words)
        Counts or other numbers.
    threshold : float, optional
        A word is present where its number is above it; by default where it is not zero.
    owner : str
        Class of the estimator, for the message.

    Examples
    --------
    >>> mark_present(np.array([[0, 2], [-1, 0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    if not issparse(X):
        table = np.asarray(X)
        present = csr_matrix(table != 0 if threshold is None else np.greater(table.astype(np.float64), threshold))
    else:
        if threshold is not None and threshold < 0:
            raise ParameterError(
                f"The 'binarize' parameter of {owner} must be >= 0 for a sparse X, because its zeros would all be "
                f"present otherwise; got {threshold}."
            )
        present = csr_matrix(X, dtype=np.float64, copy=True)
        present.sum_duplicates()
        present.data = present.data != 0 if threshold is None else present.data > threshold
    present = present.astype(np.float64)
    present.eliminate_zeros()
    present.sort_indices()
    return present
