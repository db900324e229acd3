"""Columns of free text as features: which columns they are, and the length and the topics of each text.

What is learnt of a column depends on the set of its texts alone: neither on their order nor on how often one occurs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.columns import find_observed
from committee.data.weights import count_as_rows
from committee.data.word_encoding import WordEncoding, fit_word_encoding, is_free_text
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from committee.data.columns import Column
    from committee.data.tables import Table
    from committee.typing import AnyArray, BoolArray, FloatArray

__all__ = ["choose_texts", "compute_text_features", "learn_topics", "list_text_parts"]

_MAX_TEXTS = 100_000
"""The number of distinct texts from which the words and topics of a column are learnt."""


def choose_texts(
    table: Table,
    requested: Any,
    named: BoolArray,
    estimator_name: str,
    weights: FloatArray | None = None,
    row_weight: float | None = None,
) -> BoolArray:
    """Which columns hold free text, from the ``text_columns`` parameter.

    Parameters
    ----------
    table : Table
        The columns.
    requested : "auto", None or sequence of str or int
        The parameter.
    named : ndarray of bool of shape (n_features,)
        Columns that the user has named as categories.
    estimator_name : str
        For the sentences.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    row_weight : float or None
        The weight that counts as one row.

    Returns
    -------
    ndarray of bool of shape (n_features,)
    """
    chosen = np.zeros(table.n_features, dtype=bool)
    if requested is None:
        return chosen
    if isinstance(requested, str):
        if table.columns is None or not any(column.plain_text for column in table.columns):
            return chosen
        counts = None if weights is None else count_as_rows(weights, row_weight)
        found = [column.plain_text and _looks_like_text(column, counts) for column in table.columns]
        return np.array(found, dtype=bool) & ~named
    subject = f"The 'text_columns' parameter of {estimator_name}"
    for one in requested:
        place = _find_text_column(table, one, subject)
        column = None if table.columns is None else table.columns[place]
        if column is None or not column.holds_text:
            held = "numbers" if column is None else column.describe()
            raise ParameterError(f"{subject} names {one!r}, a column without text; it holds {held}.")
        if named[place]:
            raise ParameterError(f"{subject} names {one!r}, and so does 'categorical_features'. Leave it out of one.")
        chosen[place] = True
    return chosen


def _looks_like_text(column: Column, counts: FloatArray | None) -> bool:
    """Whether the strings of a column are free text; rows of weight zero do not count."""
    assert column.levels is not None
    assert column.codes is not None
    if column.n_held is not None:  # a column that stands for blocks
        return is_free_text(column.levels.tolist(), column.n_held)
    held = column.codes >= 0
    if counts is None:
        return is_free_text(column.levels.tolist(), float(held.sum()))
    held &= counts > 0.0
    levels = column.levels[find_observed(column.codes[held], len(column.levels))]
    return is_free_text(levels.tolist(), float(counts[held].sum()))


def _find_text_column(table: Table, wanted: Any, subject: str) -> int:
    if isinstance(wanted, str) and table.names is not None and wanted in table.names:
        return table.names.index(wanted)
    whole = isinstance(wanted, int | np.integer) and not isinstance(wanted, bool)
    if whole and -table.n_features <= wanted < table.n_features:
        return int(wanted) % table.n_features
    raise ParameterError(
        f"{subject} names {show_value(wanted)}, which is no column of X. It must hold names, or numbers below "
        f"{table.n_features}."
    )


def learn_topics(column: Column, counted: BoolArray | None) -> WordEncoding:
    """The words and topics of a column, from the distinct texts of the rows that count.

    Parameters
    ----------
    column : Column
        Of text.
    counted : ndarray of bool of shape (n_rows,) or None
        Rows of positive weight; None for all.

    Examples
    --------
    >>> from committee.data.columns import read_objects
    >>> learn_topics(read_objects(["free prize", "see you", "free prize", None], ""), None).terms.tolist()
    ['free', 'free prize', 'prize', 'see', 'see you', 'you']
    """
    assert column.levels is not None
    assert column.codes is not None
    levels = column.levels
    if counted is not None and not counted.all():
        levels = levels[find_observed(column.codes[counted], len(levels))]
    texts = sorted(levels.tolist())
    if len(texts) > _MAX_TEXTS:
        texts = [texts[k] for k in np.linspace(0, len(texts) - 1, _MAX_TEXTS).astype(np.intp).tolist()]
    return fit_word_encoding(texts)


def list_text_parts(words: WordEncoding) -> tuple[str, ...]:
    """The features of a column of text.

    Examples
    --------
    >>> list_text_parts(fit_word_encoding(["free", "prize"]))
    ('length', 'topic 0', 'topic 1')
    """
    return ("length", *(f"topic {k}" for k in range(words.n_topics)))


def compute_text_features(column: Column, words: WordEncoding) -> list[AnyArray]:
    """The length in characters and the topics of each row's text; NaN where it is missing.

    Parameters
    ----------
    column : Column
        Of text, or without any value.
    words : WordEncoding
        What was learnt at fit.

    Examples
    --------
    >>> from committee.data.columns import read_objects
    >>> words = fit_word_encoding(["free", "prize"])
    >>> compute_text_features(read_objects(["a prize", None], ""), words)
    [array([ 7., nan]), array([ 0., nan]), array([ 1., nan])]
    """
    if column.is_missing:
        n_rows = len(column.codes if column.codes is not None else column.as_numbers())
        return [np.full(n_rows, np.nan)] * (1 + words.n_topics)
    assert column.levels is not None
    assert column.codes is not None
    texts = column.levels.tolist()
    # The last place is that of the code -1, a missing text.
    features = np.full((1 + words.n_topics, len(texts) + 1), np.nan)
    features[0, :-1] = [len(text) for text in texts]
    features[1:, :-1] = words.to_topics(words.to_tfidf(texts)).T
    return [own[column.codes] for own in features]
