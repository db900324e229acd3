"""The members that the automatic committee may have, in the order in which they are worth their time.

A new one is a line in `PORTFOLIO`. How a member comes to answers about rows that it has not seen:

``"bag"``
    It draws samples of the rows, so that one fit gives out-of-bag answers for all of them.
``"folds"``
    It is fitted once for each fold, and the mean of these models is the member.
``"whole"``
    As folds, but then it is fitted once more on all rows: cheap to fit, and one model is enough.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from committee.automatic.plain_members import LinearMember, NeighbourMember, PlainMember, PriorMember
from committee.base import seed_estimator
from committee.ensembles.boosting import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from committee.ensembles.forest import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["PORTFOLIO", "PRIOR", "Entry", "Setting", "choose_entries"]

_MOST_NEIGHBOUR_ROWS = 20_000
"""Rows above which neighbours are left out unless asked for: asking them costs rows times rows."""


@dataclass(frozen=True)
class Entry:
    """One member of the portfolio.

    Attributes
    ----------
    name : str
        Its name in the leaderboard.
    kinds : tuple of type
        The classes for classes and for values.
    way : {"bag", "folds", "whole"}
        Where its out-of-fold answers come from.
    params : dict
        What it is made with.
    """

    name: str
    kinds: tuple[type[Any], type[Any]]
    way: Literal["bag", "folds", "whole"]
    params: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Setting:
    """What all members of one fit have in common.

    Attributes
    ----------
    classify : bool
        Whether classes are predicted.
    categories : list of int
        Columns that hold codes.
    grouped : bool
        Whether rows come in groups.
    own_folds : bool
        Whether all members go through the folds, those that draw samples as well.
    n_jobs : int or None
        Threads of a single fit.
    seed : int
        Of all randomness.
    """

    classify: bool
    categories: list[int]
    grouped: bool
    own_folds: bool
    n_jobs: int | None
    seed: int

    def make_member(self, entry: Entry, number: int) -> Any:
        """A member that is not fitted yet, with a seed of its own."""
        kind = entry.kinds[0] if self.classify else entry.kinds[1]
        if issubclass(kind, PlainMember):
            return kind(classify=self.classify, categories=self.categories)
        member = kind(**entry.params, n_jobs=self.n_jobs, categorical_features=self.categories or None)
        if self.grouped and entry.way == "bag":
            member.set_params(bootstrap="group")
        return seed_estimator(member, self.seed, number)

    def goes_through_folds(self, entry: Entry) -> bool:
        """Whether an entry's answers come from folds."""
        return entry.way != "bag" or self.own_folds


#: Always there: what members must beat, and what keeps shares of a forest away from zero.
PRIOR = Entry("prior", (PriorMember, PriorMember), "whole")

_BOOSTING = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)
_EXTRA = (ExtraTreesClassifier, ExtraTreesRegressor)
_FOREST = (RandomForestClassifier, RandomForestRegressor)
# How long to boost is part of an entry: rows that stop it early would be lost, and those of the fold would leak.
_FIXED = {"early_stopping": False}
_BAGGED = {"n_estimators": 150, "bootstrap": True}

PORTFOLIO = (
    Entry("boosting", _BOOSTING, "folds", {**_FIXED, "max_leaf_nodes": 15, "max_features": 0.7}),
    Entry("extra trees", _EXTRA, "bag", _BAGGED),
    Entry("linear", (LinearMember, LinearMember), "whole"),
    Entry("forest", _FOREST, "bag", _BAGGED),
    Entry("neighbours", (NeighbourMember, NeighbourMember), "whole"),
    Entry(
        "slow boosting",
        _BOOSTING,
        "folds",
        {**_FIXED, "learning_rate": 0.05, "max_iter": 300, "max_leaf_nodes": 31, "max_features": 0.5},
    ),
    Entry(
        "shallow boosting",
        _BOOSTING,
        "folds",
        {**_FIXED, "max_iter": 200, "max_depth": 3, "min_samples_leaf": 5, "max_features": 0.5},
    ),
)


def choose_entries(names: Sequence[str] | None, n_members: int | None, n_rows: int) -> list[Entry]:
    """The entries to fit, in order.

    Parameters
    ----------
    names : sequence of str or None
        The names that were asked for; None for all that suit the size of the table.
    n_members : int or None
        The most entries.
    n_rows : int
        Rows of the table.

    Examples
    --------
    >>> [entry.name for entry in choose_entries(["forest", "linear"], 1, 100)]
    ['forest']
    """
    by_name = {entry.name: entry for entry in PORTFOLIO}
    if names is not None:
        chosen = [by_name[name] for name in names]
    else:
        chosen = [e for e in PORTFOLIO if e.name != "neighbours" or n_rows <= _MOST_NEIGHBOUR_ROWS]
    return chosen[:n_members]
