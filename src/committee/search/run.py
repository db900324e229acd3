"""One run of a search: its candidates, its clock, and who hears of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.search.candidates import Candidate
from committee.search.race import can_race

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from committee.search.evaluation import Evaluator

__all__ = ["SearchReport", "SearchRun"]


@dataclass(frozen=True)
class SearchReport:
    """What a callback of a search gets after each evaluation of a candidate.

    Attributes
    ----------
    number : int
        Number of the candidate; 0 is the estimator as given.
    params : dict
        What the candidate sets, the number of rounds that was found among it.
    score : float
        Its mean score.
    best_score : float
        The best mean score so far.
    seconds : float
        Since the search began.
    n_candidates : int
        Candidates so far.

    Examples
    --------
    >>> from committee.search import SearchReport
    >>> SearchReport(1, {"max_depth": 3}, 0.75, 0.8, 1.5, 2).best_score
    0.8
    """

    number: int
    params: dict[str, Any]
    score: float
    best_score: float
    seconds: float
    n_candidates: int


@dataclass
class SearchRun:
    """The state of a search while it runs.

    Attributes
    ----------
    evaluator : Evaluator
        Fits and scores.
    clock : callable
        The time in seconds.
    budget : float or None
        Seconds that there are.
    callbacks : sequence of callables
        Called with a `SearchReport`.
    candidates : list of Candidate
        All of them, in the order in which they were begun.
    stopped : bool
        Whether a callback ended the search.
    keeps_folds : bool
        Whether the winner is the models of its folds, which need no further fit.
    """

    evaluator: Evaluator
    clock: Callable[[], float]
    budget: float | None
    callbacks: Sequence[Callable[[SearchReport], object]]
    candidates: list[Candidate] = field(default_factory=list)
    stopped: bool = False
    keeps_folds: bool = False
    _walls: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.clock()

    @property
    def seconds(self) -> float:
        """Time since the run began."""
        return self.clock() - self._began

    @property
    def metric(self) -> str:
        """The metric that decides."""
        return self.evaluator.metrics.main

    def begin(self, params: Mapping[str, Any], point: Mapping[str, float] | None = None) -> Candidate:
        """A new candidate."""
        self.candidates.append(Candidate(len(self.candidates), dict(params), point))
        return self.candidates[-1]

    def evaluate(
        self, candidates: Sequence[Candidate], size: int | None = None, rows: float = 1.0, *, race: bool = True
    ) -> None:
        """Fit and score candidates, and report them; ``race``: with a budget, they race against the best one."""
        started, best = self.clock(), self.find_best()
        reach = -np.inf if best is None else best.mean_score(self.metric)
        races = race and self.budget is not None and size is None and rows == 1.0 and can_race(self.evaluator)
        rival = best if races else None
        self.evaluator.evaluate(candidates, size, rows, is_late=lambda: not self.has_time(0.0), best=reach, rival=rival)
        wall = (self.clock() - started) / len(candidates)
        for one in candidates:
            self._walls[one.number] = self._walls.get(one.number, 0.0) + wall
            self._report(one)

    def find_best(self) -> Candidate | None:
        """The best candidate of those that have all that the winner needs, the first of equals."""
        found = [one for one in self.candidates if self.is_complete(one)]
        scores = [one.mean_score(self.metric) for one in found]
        if not found or not np.isfinite(scores).any():
            return None
        return found[int(np.nanargmax(np.where(np.isfinite(scores), scores, np.nan)))]

    def is_complete(self, one: Candidate) -> bool:
        """Whether a candidate was scored with all rows and all members, or with those that the search found."""
        growth = self.evaluator.growth
        if not one.results or one.row_share < 1.0 or one.estimate is not None:
            return False
        return growth is None or growth.finds_rounds or one.size == growth.last

    def measure_wall(self, one: Candidate) -> float:
        """The time that a candidate took, in seconds."""
        return self._walls.get(one.number, 0.0)

    def has_time(self, share: float = 1.0, reserve: float = 0.0) -> bool:
        """Whether there is time for a share of a candidate like those before, and for the last fit of the winner.

        Some more seconds may be held in reserve.
        """
        if self.stopped:
            return False
        if self.budget is None:
            return True
        walls = list(self._walls.values())
        needed = share * (float(np.mean(walls)) if walls else 0.0)
        return self.seconds + needed + reserve + self._estimate_refit() <= self.budget

    def _estimate_refit(self) -> float:
        best, data = self.find_best(), self.evaluator.data
        if best is None or data.folds is None or self.keeps_folds:
            return 0.0
        return self._walls.get(best.number, 0.0) / max(1, data.n_splits - 1)

    def _report(self, one: Candidate) -> None:
        best = self.find_best()
        score = one.mean_score(self.metric)
        report = SearchReport(
            one.number,
            self.evaluator.describe_winner(one),
            score,
            score if best is None else best.mean_score(self.metric),
            self.seconds,
            len(self.candidates),
        )
        # Every callback is called, whatever the others return.
        answers = [bool(callback(report)) for callback in self.callbacks]
        self.stopped = self.stopped or any(answers)
