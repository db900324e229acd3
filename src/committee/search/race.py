"""Races: under a budget, a candidate is fitted in one fold after another for as long as it keeps up with the best one.

The scores of two candidates in the same fold are those of the same rows: their difference tells more than either of
them. A candidate that is behind in the mean of its folds so far is cut, so that most of the time goes into candidates
that may win. The first fold is another one for each candidate. It finds the number of rounds alone; the other folds
are boosted as far, and what the mean of all then asks for is left to the growth of candidates.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee.search.candidates import FoldResult
from committee.search.growth import choose_size, find_last_gain, has_converged, is_hopeless

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.search.candidates import Candidate
    from committee.search.evaluation import Evaluator

__all__ = ["FoldRace", "can_race"]

_LEAST_FOLDS = 3


def can_race(evaluator: Evaluator) -> bool:
    """Whether the folds of a candidate can be fitted one after another, without a loss of time."""
    return evaluator.follows and evaluator.n_jobs in (None, 1) and evaluator.data.n_splits >= _LEAST_FOLDS


@dataclass(frozen=True)
class FoldRace:
    """The race of one candidate.

    Attributes
    ----------
    evaluator : Evaluator
        Fits and scores.
    rival : Candidate
        The best so far, with a result in every fold.
    is_late : callable
        Whether the time is over.
    """

    evaluator: Evaluator
    rival: Candidate
    is_late: Callable[[], bool]

    def run(self, one: Candidate) -> None:
        """Fit a candidate in the folds; it is done if it was cut or if a fit failed."""
        metric, n_splits = self.evaluator.metrics.main, self.evaluator.data.n_splits
        bars = self.rival.list_scores(metric)
        found: dict[int, dict[int, FoldResult]] = {}
        sizes: list[int] = []
        for k in np.roll(np.arange(n_splits), -(one.number % n_splits)).tolist():
            found[k] = self._grow_fold(one, k, sizes, bars[k])
            if one.done:
                return
            sizes = list(found[k]) if not sizes else sizes[: len(found[k])]
            curve = {size: float(np.mean([own[size].scores[metric] for own in found.values()])) for size in sizes}
            lead = max(curve.values()) - float(np.mean([bars[j] for j in found]))
            if len(found) < n_splits and (lead < 0.0 or self.is_late()):
                # A curve that was still rising is taken to rise as much again.
                rise = 0.0 if has_converged(curve) else find_last_gain(curve)
                one.estimate, one.done = float(bars.mean()) + min(lead + rise, 0.0), True
                break
        one.curve, one.size = curve, sizes[-1]
        one.best_size = max(curve, key=lambda size: curve[size])
        one.results = [
            found[k][one.best_size] if k in found else _leave_out(self.evaluator, k) for k in range(n_splits)
        ]

    def _grow_fold(self, one: Candidate, k: int, sizes: list[int], bar: float) -> dict[int, FoldResult]:
        """The results in one fold by the number of rounds: those of the folds before, or as many as it takes."""
        metric, last = self.evaluator.metrics.main, self.evaluator.find_last(one)
        results: dict[int, FoldResult] = {}
        curve: dict[int, float] = {}
        planned = iter(sizes)
        size: int | None = next(planned) if sizes else choose_size(0, last)
        while size is not None:
            one.models[k], results[size], error = self.evaluator.fit_fold(one.models[k], one.params, size, k)
            one.rate = getattr(one.models[k], "rate", None)
            one.seconds += results[size].fit_seconds + results[size].score_seconds
            if error:
                self.evaluator.record_failure(one, [results[size]] * self.evaluator.data.n_splits, error)
                break
            curve[size] = results[size].scores[metric]
            if sizes:
                size = next(planned, None)
            elif self.is_late() or size == last or has_converged(curve) or is_hopeless(curve, bar, one.rate):
                size = None
            else:
                size = choose_size(size, last)
        return results


def _leave_out(evaluator: Evaluator, k: int) -> FoldResult:
    """The result of a fold that a candidate was not fitted in."""
    assert evaluator.data.folds is not None
    return FoldResult(dict.fromkeys(evaluator.metrics.scorers, np.nan), evaluator.data.folds[k][1], None, 0.0, 0.0)
