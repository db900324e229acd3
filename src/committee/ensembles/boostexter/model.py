"""The model of BoosTexter: votes of the rounds, summed for documents, and early stopping."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import expit

from committee.losses import apply_exp

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from scipy.sparse import csc_matrix, csr_matrix

    from committee.engines import Engine, WordStump
    from committee.typing import AnyArray, FloatArray

__all__ = ["BoosTexterEarlyStopping", "LabelTarget", "WordRounds", "WordVotes", "make_stump"]

_VOTE_STEP = 2.0**-36
"""Sums of votes below 2^17 are exact."""


@dataclass(frozen=True)
class LabelTarget:
    """The labels of the documents, and how scores of labels become predictions.

    Attributes
    ----------
    classes : ndarray
        The classes; of a multilabel target the numbers of its columns.
    has : ndarray of bool of shape (n_documents, n_columns)
        Whether a document has a label. For two classes there is one column, for the second: the first is its
        opposite, and every sum of AdaBoost.MH over both would be twice the sum over one.
    multilabel : bool
        Whether a document may have any number of labels.
    """

    classes: AnyArray
    has: NDArray[np.bool_]
    multilabel: bool

    @property
    def binary(self) -> bool:
        """Whether there are two classes of which each document has one."""
        return not self.multilabel and len(self.classes) == 2

    def to_decision(self, scores: FloatArray) -> FloatArray:
        """Scores as `decision_function` returns them: one number for each document for two classes."""
        return scores[:, 0] if self.binary else scores

    def to_class_scores(self, scores: FloatArray) -> FloatArray:
        """A score for each class or label."""
        return np.hstack([-scores, scores]) if self.binary else scores

    def to_labels(self, scores: FloatArray) -> AnyArray:
        """The class with the largest score, or every label with a positive one."""
        if self.multilabel:
            return (scores > 0).astype(np.int64)
        classes: AnyArray = self.classes.take(self.to_class_scores(scores).argmax(axis=1))
        return classes

    def to_proba(self, scores: FloatArray) -> FloatArray:
        """Probabilities: the logistic function of twice the score, normalised over classes."""
        own: FloatArray = expit(2.0 * self.to_class_scores(scores))
        return own if self.multilabel else own / own.sum(axis=1, keepdims=True)

    def without_rows(self) -> LabelTarget:
        """The target without the training documents: what prediction needs."""
        return LabelTarget(self.classes, self.has[:0], self.multilabel)


def make_stump(engine: Engine, word: int, votes: FloatArray, alpha: float) -> WordStump:
    """A stump whose votes are multiples of a small power of two.

    Sums of such votes are exact, in whatever order they are added: the score after the last round is the prediction,
    and labels whose votes are equal stay equal.
    """
    exact = np.round(votes / _VOTE_STEP) * _VOTE_STEP
    return engine.WordStump(word, exact.ravel(), apply_exp(exact).ravel(), round(alpha / _VOTE_STEP) * _VOTE_STEP)


@dataclass
class WordRounds:
    """Word, votes, weight and normaliser of each round so far."""

    words: list[int] = field(default_factory=list)
    votes: list[FloatArray] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.words)

    def append(self, stump: WordStump, normalizer: float) -> None:
        """Add a round."""
        self.words.append(stump.word)
        self.votes.append(stump.votes)
        self.alphas.append(stump.alpha)
        self.normalizers.append(normalizer)

    def truncate(self, n_rounds: int) -> WordRounds:
        """The first rounds."""
        return WordRounds(
            self.words[:n_rounds], self.votes[:n_rounds], self.alphas[:n_rounds], self.normalizers[:n_rounds]
        )

    def make_stumps(self, engine: Engine) -> Iterator[WordStump]:
        """The stumps of the rounds in the engine's form."""
        for word, votes, alpha in zip(self.words, self.votes, self.alphas, strict=True):
            yield make_stump(engine, word, votes, alpha)

    def finalize(self) -> WordVotes:
        """The fitted model."""
        return WordVotes(np.array(self.words, dtype=np.intp), np.array(self.votes))


@dataclass(frozen=True)
class WordVotes:
    """The votes of all rounds.

    Attributes
    ----------
    words : ndarray of shape (n_rounds,)
        Column of the word of each round.
    votes : ndarray of shape (n_rounds, 2, n_columns)
        Votes for each label where the word is absent, and where it is present.
    """

    words: NDArray[np.intp]
    votes: FloatArray

    @cached_property
    def _sums(self) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
        """Distinct words, the score that the presence of each adds, and the score where none is present."""
        distinct, index = np.unique(self.words, return_inverse=True)
        added = np.zeros((len(distinct), self.votes.shape[2]))
        np.add.at(added, index, self.votes[:, 1] - self.votes[:, 0])
        return distinct, added, self.votes[:, 0].sum(axis=0)

    def score(self, documents: csr_matrix) -> FloatArray:
        """Scores of documents (ones where a word is present), of shape (n_documents, n_columns)."""
        distinct, added, absent = self._sums
        scores: FloatArray = documents[:, distinct] @ added + absent
        return scores

    def staged_scores(self, documents: csr_matrix) -> Iterator[FloatArray]:
        """Scores after each round; each is a new array."""
        columns = documents.tocsc()
        scores = np.zeros((documents.shape[0], self.votes.shape[2]))
        for word, votes in zip(self.words, self.votes, strict=True):
            _add_round(scores, columns, word, votes)
            yield scores.copy()


def _add_round(scores: FloatArray, columns: csc_matrix, word: int, votes: FloatArray) -> None:
    """Add the votes of one stump to the scores, in place; `columns` is the table of words."""
    present = columns.indices[columns.indptr[word] : columns.indptr[word + 1]]
    scores += votes[0]
    scores[present] += votes[1] - votes[0]


class BoosTexterEarlyStopping:
    """Error on a validation set after each round, and whether it has stopped falling.

    Parameters
    ----------
    documents : CSR matrix
        Words of the validation set.
    target : LabelTarget
        Labels of all documents.
    rows : ndarray
        Numbers of the validation documents among these.
    weights : ndarray
        Weights of all documents.
    patience : int or None
        Rounds without a smaller error after which to stop; None: never, and nothing is measured.
    """

    def __init__(
        self,
        documents: csr_matrix,
        target: LabelTarget,
        rows: NDArray[np.intp],
        weights: FloatArray,
        patience: int | None,
    ) -> None:
        self.errors: list[float] = []
        self._columns = documents.tocsc()
        self._target = target
        has = target.has[rows]
        self._has = np.hstack([~has, has]) if target.binary else has
        self._scores = np.zeros(has.shape)
        self._weights = weights[rows]
        self._patience = patience

    def update(self, stump: WordStump) -> None:
        """Add a round, and measure the share of the weight of documents whose first label is wrong."""
        if self._patience is None:
            return
        _add_round(self._scores, self._columns, stump.word, stump.votes)
        first = self._target.to_class_scores(self._scores).argmax(axis=1)
        self.errors.append(1.0 - float(np.average(self._has[np.arange(len(first)), first], weights=self._weights)))

    @property
    def n_best(self) -> int | None:
        """Number of rounds with the smallest error, the first of equals; None if nothing is measured."""
        return None if self._patience is None else int(np.argmin(self.errors)) + 1

    @property
    def should_stop(self) -> bool:
        """Whether the error has not fallen for as many rounds as the patience."""
        if self._patience is None or not self.errors:
            return False
        return len(self.errors) - int(np.argmin(self.errors)) > self._patience
