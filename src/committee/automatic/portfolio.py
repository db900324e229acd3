"""The members that the automatic committee may have, in the order in which they are worth their time.

A new one is a line in `PORTFOLIO`. How a member comes to answers about rows that it has not seen:

``"bag"``
    It draws samples of the rows, so that one fit gives out-of-bag answers for all of them.
``"stages"``
    It is boosted in the folds, and goes on as long as that helps (`stages.py`); the mean of the folds' models is the
    member, and every stage is a candidate.
``"whole"``
    It is fitted once for each fold and once more on all rows: cheap to fit, and one model is enough.
``"left out"``
    One fit tells what it would say about each row without it.

What a member sees is a view (`views.py`): the table, the table with the words of its texts, or the table with the
logarithm of the target; entries whose view a table does not offer are left out.

Where the user has folds of his own, or rows weigh differently, bags and those that tell go through the folds as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.automatic.baseline_members import LinearMember, NeighbourMember, PlainMember, PriorMember
from committee.automatic.bayes_member import BayesMember
from committee.automatic.kernel_member import KernelMember
from committee.automatic.stages import Course
from committee.automatic.word_members import WordBayesMember, WordLinearMember, WordMember
from committee.base import seed_estimator
from committee.ensembles.boosting.estimators import GradientBoostingClassifier, GradientBoostingRegressor
from committee.ensembles.forest.estimators import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from committee.exceptions import ParameterError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from committee.automatic.views import View
    from committee.ensembles.combining.member_predictions import Classes
    from committee.ensembles.combining.training_set import TrainingSet

__all__ = ["PORTFOLIO", "PRIOR", "Entry", "Setting", "choose_entries", "list_rounds", "plan_course"]

_MOST_ROWS = {"neighbours": 20_000, "kernel": 20_000}
"""Rows above which a member is left out unless asked for: neighbours cost rows times rows, the kernel much memory."""
_ENCODED, _MOST_ENCODED = ("linear", "kernel", "neighbours", "naive bayes"), 1e8
"""Members that see a dense table of all features, and the cells up to which a sparse one becomes that unasked."""
_WIDE, _WIDE_BINS = 100, 63
"""Columns from which on boosting has fewer bins: its time goes into searching them, and a column among many need not be
cut as finely (scores on image tables are level or better)."""
_ROUNDS = (30, 60, 120, 240, 480, 960)
"""The stages of boosting."""
_NOTHING_LEFT = 1e-4
"""Share of the prior's loss, out of fold, that is not worth boosting for."""
_MOST_TREES, _MOST_CELLS = 5000, 7e9
"""Trees of one fold's model, of which every class has its own in each round, and these times rows times features: time
is not without end."""


@dataclass(frozen=True)
class Entry:
    """One member of the portfolio.

    Attributes
    ----------
    name : str
        Its name in the leaderboard.
    kinds : tuple of type or None
        The classes for classes and for values; None where it can predict nothing of the kind.
    way : {"bag", "stages", "whole", "left out"}
        Where its out-of-fold answers come from.
    params : dict
        What it is made with.
    by_code : bool
        Whether it takes the codes of categories as numbers: another look at them, and the better one where levels are
        few rows each or in an order.
    view : {"table", "words", "logs"}
        What it sees.
    """

    name: str
    kinds: tuple[type[Any] | None, type[Any] | None]
    way: Literal["bag", "stages", "whole", "left out"]
    params: dict[str, Any] = field(default_factory=dict)
    by_code: bool = False
    view: View = "table"


@dataclass(frozen=True)
class Setting:
    """What all members of one fit have in common.

    Attributes
    ----------
    n_classes : int
        How many classes are predicted; none for values.
    categories : list of int
        Columns that hold codes.
    n_columns : int
        Columns of the table, before words.
    grouped : bool
        Whether rows come in groups.
    own_folds : bool
        Whether all members go through the folds, those that draw samples as well.
    n_jobs : int or None
        Threads of a single fit.
    seed : int
        Of all randomness.
    deadline : float or None
        By the clock of `time.perf_counter`: after it no stage is begun.
    """

    n_classes: int
    categories: list[int]
    n_columns: int
    grouped: bool
    own_folds: bool
    n_jobs: int | None
    seed: int
    deadline: float | None = None

    @property
    def classify(self) -> bool:
        """Whether classes are predicted."""
        return self.n_classes > 0

    @property
    def classes(self) -> Classes:
        """The classes as members know them: by number."""
        return [np.arange(self.n_classes)] if self.classify else None

    def make_member(self, entry: Entry, number: int) -> Any:
        """A member that is not fitted yet, with a seed of its own."""
        kind = entry.kinds[0] if self.classify else entry.kinds[1]
        assert kind is not None
        if issubclass(kind, WordMember):
            return kind(classify=self.classify, categories=self.categories, n_columns=self.n_columns)
        if issubclass(kind, PlainMember):
            return kind(classify=self.classify, categories=self.categories)
        categories = None if entry.by_code else self.categories or None
        params = dict(entry.params)
        if entry.way == "stages":
            # Many trees a round are dear, so that there have to be fewer rounds.
            params["learning_rate"] = 0.05 if self.n_classes <= 2 else 0.1
            if self.n_columns >= _WIDE:
                params["max_bins"] = _WIDE_BINS
        member = kind(**params, n_jobs=self.n_jobs, categorical_features=categories)
        if self.grouped and entry.way == "bag":
            member.set_params(bootstrap="group")
        return seed_estimator(member, self.seed, number)

    def goes_through_folds(self, entry: Entry) -> bool:
        """Whether an entry's answers come from folds."""
        own = entry.way == "bag" or (entry.way == "left out" and not self.grouped)
        return self.own_folds or not own


#: Always there: what members must beat, and what keeps shares of a forest away from zero.
PRIOR = Entry("prior", (PriorMember, PriorMember), "whole")

_BOOSTING = (GradientBoostingClassifier, GradientBoostingRegressor)
_EXTRA = (ExtraTreesClassifier, ExtraTreesRegressor)
_FOREST = (RandomForestClassifier, RandomForestRegressor)
_STEADY = {"early_stopping": False}
_SHALLOW = {**_STEADY, "max_depth": 3}
_BAGGED = {"n_estimators": 150, "bootstrap": True}

PORTFOLIO = (
    Entry("boosting", _BOOSTING, "stages", _STEADY),
    Entry("linear of words", (WordLinearMember, WordLinearMember), "whole", view="words"),
    Entry("naive bayes of words", (WordBayesMember, None), "whole", view="words"),
    Entry("extra trees", _EXTRA, "bag", _BAGGED, by_code=True),
    Entry("linear", (LinearMember, LinearMember), "whole"),
    Entry("kernel", (KernelMember, KernelMember), "left out"),
    Entry("shallow boosting", _BOOSTING, "stages", _SHALLOW),
    Entry("shallow boosting of logs", (None, GradientBoostingRegressor), "stages", _SHALLOW, view="logs"),
    Entry("forest", _FOREST, "bag", _BAGGED),
    Entry("boosting by code", _BOOSTING, "stages", {**_STEADY, "max_leaf_nodes": 12}, by_code=True),
    Entry("neighbours", (NeighbourMember, NeighbourMember), "whole"),
    Entry("naive bayes", (BayesMember, None), "left out"),
)


def list_rounds(n_rows: int, n_features: int, n_classes: int) -> list[int]:
    """Rounds of the stages of boosting, fewer where tables are large and classes many.

    Examples
    --------
    >>> list_rounds(1000, 10, 2)
    [30, 60, 120, 240, 480, 960]
    >>> list_rounds(1000, 10, 26)
    [30, 60, 120, 192]
    """
    n_trees = min(_MOST_TREES, int(_MOST_CELLS / (n_rows * n_features)))
    most = max(_ROUNDS[0], n_trees // (n_classes if n_classes > 2 else 1))
    kept = [number for number in _ROUNDS if number < most]
    return [*kept, min(most, _ROUNDS[len(kept)])] if len(kept) < len(_ROUNDS) else kept


def plan_course(training: TrainingSet, setting: Setting, losses: Sequence[float]) -> Course:
    """How far to boost, after members with these losses, the prior's first.

    Where one of them has learnt nearly all that there is to learn, the first stage has to do.
    """
    rounds = list_rounds(training.n_rows, training.X.shape[1], setting.n_classes)
    if not losses:
        return Course(rounds, setting.deadline)
    best = min(losses)
    return Course(rounds[:1] if best < _NOTHING_LEFT * losses[0] else rounds, setting.deadline, best)


def choose_entries(
    names: Sequence[str] | None,
    n_members: int | None,
    n_rows: int,
    n_sparse: int = 0,
    *,
    classify: bool = True,
    views: Collection[str] = ("table",),
) -> list[Entry]:
    """The entries to fit, in order.

    Parameters
    ----------
    names : sequence of str or None
        The names that were asked for; None for all that suit the table.
    n_members : int or None
        The most entries.
    n_rows : int
        Rows of the table.
    n_sparse : int, default=0
        Cells of a sparse table, empty ones included.
    classify : bool, default=True
        Whether classes are predicted.
    views : collection of str, default=("table",)
        What there is to see.

    Examples
    --------
    >>> [entry.name for entry in choose_entries(["forest", "linear"], 1, 100)]
    ['forest']
    """
    able = {e.name: e for e in PORTFOLIO if e.kinds[not classify] is not None and e.view in views}
    if names is not None:
        blind = [name for name in names if name not in able]
        if blind:
            raise ParameterError(f"The 'portfolio' parameter names {blind[0]!r}, {_NEEDS[blind[0]]}.")
        return [able[name] for name in names][:n_members]
    chosen = [e for e in able.values() if n_rows <= _MOST_ROWS.get(e.name, n_rows)]
    if "logs" in views:
        # One of the three that are boosted learns logarithms instead, so that it takes no longer.
        chosen = [e for e in chosen if e.name != "shallow boosting"]
    if n_sparse > _MOST_ENCODED:
        chosen = [e for e in chosen if e.name not in _ENCODED]
    return chosen[:n_members]


def _tell_need(entry: Entry) -> str:
    if entry.view == "words":
        told = "which needs columns of text"
    elif entry.view == "logs":
        told = "which needs a positive target with a long tail"
    else:
        told = ""
    return " and ".join(part for part in (told, "which needs classes" if entry.kinds[1] is None else "") if part)


_NEEDS = {entry.name: _tell_need(entry) for entry in PORTFOLIO}
