"""Further divisions of the rows into folds, while a time budget lasts: a mean of more models varies less.

Members that are means over folds and have weight are fitted in the folds of other orders of the rows as well. Their
out-of-fold predictions become means over the orders, as their predictions of new rows do, and weights follow from them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from joblib import parallel_config

from committee.automatic.stages import BoostingSchedule, boost_in_stages
from committee.data.blas_threads import limit_blas
from committee.ensembles.combining.out_of_fold import MemberFit, predict_out_of_fold

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.automatic.portfolio import FitContext
    from committee.data.folds import Folds
    from committee.ensembles.combining.member_predictions import Classes
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["EntryFit", "FittedMembers", "divide_further"]

MOST_DIVISIONS = 6
"""How often rows are divided at most: six models have a sixth of the variance of one."""
_MARGIN = 1.1
"""Seconds that a further division may take, in those of the one before."""
_WEIGHTS_LEFT = 12
"""How often weights are fitted after the last division, most often for the nested estimate."""


@dataclass
class EntryFit:
    """The members of an entry as they were fitted.

    Attributes
    ----------
    fitted : list of MemberFit
        One, or the stages of boosting.
    training : TrainingSet
        That they were fitted to.
    finish : callable
        Makes a member of the committee of one of them.
    is_staged : bool
        Whether they are stages of boosting.
    n_jobs : int
        How many folds are fitted at once.
    seconds : float
        How long a division takes.
    n_divisions : list of int
        How often the rows were divided, for each member.
    """

    fitted: list[MemberFit]
    training: TrainingSet
    finish: Callable[[MemberFit], MemberFit]
    is_staged: bool
    n_jobs: int
    seconds: float
    n_divisions: list[int]

    def can_divide(self) -> bool:
        """Whether the members are means over folds."""
        return all(one.fold_models and one.fitted is None for one in self.fitted)

    def estimate_seconds(self, chosen: NDArray[np.intp]) -> float:
        """How long a division of some members takes, by that before: as long as the last of these stages."""
        if not self.is_staged:
            return self.seconds
        rounds = [one.fold_models[0].n_estimators for one in self.fitted]
        return self.seconds * float(rounds[chosen[-1]] / rounds[-1])

    def fit_further(self, chosen: NDArray[np.intp], folds: Folds, classes: Classes) -> None:
        """Fit some members in further folds."""
        with parallel_config(backend="threading"), limit_blas():
            if self.is_staged:
                rounds = [self.fitted[k].fold_models[0].n_estimators for k in chosen]
                schedule = BoostingSchedule(rounds, runs_all=True)
                first = replace(self.fitted[0], fold_models=[])
                found = boost_in_stages(first, self.training, folds, classes, schedule, self.n_jobs)
            else:
                found = [replace(self.fitted[k], fold_models=[]) for k in chosen]
                predict_out_of_fold(self.training, found, folds, classes, refit=False, n_jobs=self.n_jobs)
        for k, new in zip(chosen, found, strict=True):
            old, n = self.fitted[k], self.n_divisions[k]
            self.fitted[k] = replace(
                old,
                fold_models=[*old.fold_models, *new.fold_models],
                predictions=(n * old.predictions + new.predictions) / (n + 1),
            )
            self.n_divisions[k] += 1


@dataclass
class FittedMembers:
    """All members of a committee in the order of their fits, the seconds of each, and the entries that they are of.

    Attributes
    ----------
    members : list of MemberFit
        All members.
    seconds : list of float
        The time of each.
    entries : list of EntryFit
        What they are made of.
    skipped : list of str
        Names of entries that there was no time for.
    """

    members: list[MemberFit] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    entries: list[EntryFit] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)

    def add(self, entry: EntryFit, begun: float) -> list[MemberFit]:
        """Add the members of an entry whose fit began at this time; the members."""
        seconds = time.perf_counter() - begun
        entry.seconds = seconds / entry.n_divisions[0]
        finished = [entry.finish(one) for one in entry.fitted]
        self.entries.append(entry)
        self.members += finished
        self.seconds += [seconds] * len(finished)
        return finished


def divide_further(done: FittedMembers, weigh: Callable[[list[MemberFit]], FloatArray], context: FitContext) -> None:
    """Divide the rows again and again, and fit the members that have weight, largest weights first.

    Parameters
    ----------
    done : FittedMembers
        Members, and what they are made of; they are replaced.
    weigh : callable
        The weights of members.
    context : FitContext
        How rows are divided, and the deadline.
    """
    if context.divide is None or context.deadline is None:
        return
    # Each pass may give others weight.
    while _divide_once_more(done, weigh, context, context.divide, context.deadline):
        pass


def _divide_once_more(
    done: FittedMembers,
    weigh: Callable[[list[MemberFit]], FloatArray],
    context: FitContext,
    divide: Callable[[int], Folds],
    deadline: float,
) -> bool:
    """Fit the members that have weight in the folds of one more order; whether another pass may follow."""
    begun = time.perf_counter()
    weights = weigh(done.members)
    # Weights are all that follows.
    end = deadline - _WEIGHTS_LEFT * (time.perf_counter() - begun)
    places = np.cumsum([0] + [len(entry.fitted) for entry in done.entries])
    shares = [weights[begin : begin + len(entry.fitted)] for begin, entry in zip(places, done.entries, strict=False)]
    n_fitted, was_late = 0, False
    for k in sorted(range(len(shares)), key=lambda k: -float(shares[k].sum())):
        entry, chosen = done.entries[k], np.flatnonzero(shares[k] > 0.0)
        if not len(chosen) or not entry.can_divide():
            continue
        number = max(entry.n_divisions[one] for one in chosen)
        begun = time.perf_counter()
        if number >= MOST_DIVISIONS:
            continue
        if begun + _MARGIN * entry.estimate_seconds(chosen) > end:
            was_late = True
            continue
        entry.fit_further(chosen, divide(number), context.classes)
        taken = time.perf_counter() - begun
        for one in chosen:
            done.members[places[k] + one] = entry.finish(entry.fitted[one])
            done.seconds[places[k] + one] += taken
        n_fitted += 1
    return n_fitted > 0 and not was_late
