"""Parameters that only BoosTexter has."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from committee.params import HasMethods, Interval, NEstimators

__all__ = [
    "Algorithm",
    "NgramRange",
    "Patience",
    "Rounds",
    "Threshold",
    "ValidationFraction",
    "Vectorizer",
    "VoteSmoothing",
]


Algorithm: TypeAlias = Annotated[
    Literal["real", "abstaining", "discrete"],
    "What a stump says: a real number for each label where its word is present and another where it is absent, "
    "nothing where it is absent (``'abstaining'``), or only yes or no with one weight for all (``'discrete'``).",
]
Rounds: TypeAlias = Annotated[
    NEstimators, "How many rounds, each with a stump on one word; with ``n_iter_no_change``, the most."
]
Vectorizer: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit_transform", "transform")] | None,
    "What makes words of the documents, cloned: any vectoriser or transformer whose output is a table with a column "
    "for each word; a value other than zero says that it is present. None: `CountVectorizer(binary=True)` of "
    "scikit-learn for text, nothing for a table.",
]
NgramRange: TypeAlias = Annotated[
    tuple[int, int],
    "Shortest and longest run of words that counts as a word, where ``vectorizer`` is None and X is text.",
]
Threshold: TypeAlias = Annotated[
    float | None,
    "Of a table, values above it say that the word is present. None: all values other than zero.",
]
VoteSmoothing: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | None,
    "What is added to the weights, which sum to one, before the logarithm of their ratio is taken. None: 1/(n k) for n "
    "documents and k labels, as in the paper.",
]
Patience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | None,
    "Stop when this many rounds have come without fewer errors on a part of the documents that is kept apart (the "
    "share of documents whose first label is wrong); rounds after the best one are dropped. None: no part is kept.",
]
ValidationFraction: TypeAlias = Annotated[
    float, Interval(0.0, 1.0, closed="neither"), "The part that is kept apart, with ``n_iter_no_change``."
]
