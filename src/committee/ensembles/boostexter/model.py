"""What boosted words say: rounds of votes, added up for documents."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import expit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["HeldOut", "LabelTarget", "WordRounds", "WordVotes"]


@dataclass(frozen=True)
class LabelTarget:
    """Which labels a document has, and how scores of labels become answers.

    Attributes
    ----------
    classes : ndarray
        The classes; of a multilabel target the numbers of its columns.
    has : ndarray of bool of shape (n_documents, n_columns)
        Whether a document has a label. Two classes have one column, for the second: the first is its opposite, and
        every sum of AdaBoost.MH over both would be twice the sum over one.
    multilabel : bool
        Whether a document may have any number of labels.
    """

    classes: NDArray[Any]
    has: NDArray[np.bool_]
    multilabel: bool

    @property
    def binary(self) -> bool:
        """Whether there are two classes of which each document has one."""
        return not self.multilabel and len(self.classes) == 2

    def show_scores(self, scores: FloatArray) -> FloatArray:
        """Scores as `decision_function` gives them: one number a document for two classes."""
        return scores[:, 0] if self.binary else scores

    def spread_scores(self, scores: FloatArray) -> FloatArray:
        """A score for each class or label."""
        return np.hstack([-scores, scores]) if self.binary else scores

    def choose(self, scores: FloatArray) -> NDArray[Any]:
        """The class with the largest score, or every label with a positive one."""
        if self.multilabel:
            return (scores > 0).astype(np.int64)
        chosen: NDArray[Any] = self.classes.take(self.spread_scores(scores).argmax(axis=1))
        return chosen

    def estimate(self, scores: FloatArray) -> FloatArray:
        """Probabilities: the logistic function of twice the score, made to sum to one over classes."""
        shares: FloatArray = expit(2.0 * self.spread_scores(scores))
        return shares if self.multilabel else shares / shares.sum(axis=1, keepdims=True)

    def forget_rows(self) -> LabelTarget:
        """What is needed to answer."""
        return LabelTarget(self.classes, self.has[:0], self.multilabel)


@dataclass
class WordRounds:
    """The rounds so far: word, votes, weight and normaliser of each."""

    words: list[int] = field(default_factory=list)
    votes: list[FloatArray] = field(default_factory=list)
    alphas: list[float] = field(default_factory=list)
    normalizers: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.words)

    def add(self, stump: Any, normalizer: float) -> None:
        """One more round."""
        self.words.append(stump.word)
        self.votes.append(stump.votes)
        self.alphas.append(stump.alpha)
        self.normalizers.append(normalizer)

    def first(self, n_rounds: int) -> WordRounds:
        """The rounds up to a number."""
        return WordRounds(
            self.words[:n_rounds], self.votes[:n_rounds], self.alphas[:n_rounds], self.normalizers[:n_rounds]
        )

    def list_stumps(self, engine: Any) -> Iterator[Any]:
        """The stumps of the rounds, as the engine takes them."""
        for word, votes, alpha in zip(self.words, self.votes, self.alphas, strict=True):
            yield engine.WordStump(word, votes.ravel(), np.exp(votes).ravel(), alpha)

    def finalize(self) -> WordVotes:
        """What is kept of them."""
        return WordVotes(np.array(self.words, dtype=np.intp), np.array(self.votes))


@dataclass(frozen=True)
class WordVotes:
    """The votes of all rounds, added up once for each word.

    Attributes
    ----------
    words : ndarray of shape (n_rounds,)
        Column of the word of each round.
    votes : ndarray of shape (n_rounds, 2, n_columns)
        What is said of each label where the word is absent, and where it is present.
    """

    words: NDArray[np.intp]
    votes: FloatArray

    @cached_property
    def _sums(self) -> tuple[NDArray[np.intp], FloatArray, FloatArray]:
        """Distinct words, what the presence of each adds, and what is said where none is present."""
        distinct, places = np.unique(self.words, return_inverse=True)
        added = np.zeros((len(distinct), self.votes.shape[2]))
        np.add.at(added, places, self.votes[:, 1] - self.votes[:, 0])
        return distinct, added, self.votes[:, 0].sum(axis=0)

    def add_up(self, documents: Any) -> FloatArray:
        """Scores of documents (CSR, ones where a word is present), of shape (n_documents, n_columns)."""
        distinct, added, absent = self._sums
        scores: FloatArray = documents[:, distinct] @ added + absent
        return scores

    def stage(self, documents: Any) -> Iterator[FloatArray]:
        """Scores after each round; every one is an array of its own."""
        columns = documents.tocsc()
        scores = np.zeros((documents.shape[0], self.votes.shape[2]))
        for word, votes in zip(self.words, self.votes, strict=True):
            _add_round(scores, columns, word, votes)
            yield scores.copy()


def _add_round(scores: FloatArray, columns: Any, word: int, votes: FloatArray) -> None:
    """Add what one stump says of each document; `columns` is the table of words in CSC."""
    present = columns.indices[columns.indptr[word] : columns.indptr[word + 1]]
    scores += votes[0]
    scores[present] += votes[1] - votes[0]


class HeldOut:
    """The error on documents that are kept apart, round by round, and whether it still falls.

    Parameters
    ----------
    documents : CSR matrix
        Their words.
    target : LabelTarget
        Labels of all documents.
    rows : ndarray
        Which of these the documents are.
    patience : int or None
        Rounds without a smaller error after which it is enough; None: never, and nothing is measured.
    """

    def __init__(self, documents: Any, target: LabelTarget, rows: NDArray[np.intp], patience: int | None) -> None:
        self.errors: list[float] = []
        self._columns = documents.tocsc()
        self._target = target
        has = target.has[rows]
        self._has = np.hstack([~has, has]) if target.binary else has
        self._scores = np.zeros(has.shape)
        self._patience = patience

    def judge(self, stump: Any) -> None:
        """Measure the share of documents whose first label is not one of theirs, after one more round."""
        if self._patience is None:
            return
        _add_round(self._scores, self._columns, stump.word, stump.votes)
        first = self._target.spread_scores(self._scores).argmax(axis=1)
        self.errors.append(1.0 - float(self._has[np.arange(len(first)), first].mean()))

    @property
    def best(self) -> int | None:
        """Number of rounds with the smallest error, the first of equals; None where nothing is measured."""
        return None if self._patience is None else int(np.argmin(self.errors)) + 1

    @property
    def settled(self) -> bool:
        """Whether the error has not fallen for as many rounds as one is ready to wait."""
        if self._patience is None or not self.errors:
            return False
        return len(self.errors) - int(np.argmin(self.errors)) > self._patience
