"""Parameters of BoosTexter."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from committee.params import HasMethods, Interval, NEstimators

__all__ = [
    "BoosTexterAlgorithm",
    "BoosTexterPatience",
    "BoosTexterRounds",
    "NgramRange",
    "PresenceThreshold",
    "Vectorizer",
    "VoteSmoothing",
]

BoosTexterAlgorithm: TypeAlias = Annotated[
    Literal["real", "abstaining", "discrete"],
    "The votes of a stump. ``'real'``: a real number for each label where its word is present and another where it is "
    "absent. ``'abstaining'``: zero where it is absent. ``'discrete'``: +1 or -1, with one weight for all labels.",
]
BoosTexterRounds: TypeAlias = Annotated[
    NEstimators, "The number of rounds, each with a stump on one word; with ``n_iter_no_change``, the maximum."
]
Vectorizer: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit_transform", "transform")] | None,
    "Turns documents into words; cloned. Any vectoriser or transformer whose output is a table with a column for each "
    "word; a non-zero value means that the word is present. None: `CountVectorizer(binary=True)` of scikit-learn for "
    "text, nothing for a table.",
]
NgramRange: TypeAlias = Annotated[
    tuple[int, int],
    "Shortest and longest n-gram that counts as a word, where ``vectorizer`` is None and X is text.",
]
PresenceThreshold: TypeAlias = Annotated[
    float | None,
    "For a table: a word is present where its value is above the threshold. None: where it is not zero.",
]
VoteSmoothing: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | None,
    "Added to the weights, which sum to one, before the logarithm of their ratio is taken. None: 1/(n k) for n "
    "documents and k labels, as in the paper.",
]
BoosTexterPatience: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | None,
    "Early stopping: stop after this many rounds without a smaller error on a validation set (the fraction of its "
    "documents whose first label is wrong), and drop the rounds after the best one. None: no early stopping.",
]
