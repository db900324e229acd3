"""Smaller learning rates in a search that has a budget.

A smaller learning rate is hardly ever worse and takes proportionally more rounds, so that it decides mostly how long a
candidate takes. Under a budget, candidates of the default space are therefore compared at one rate: the estimator's
own, or half of it if that is better for the estimator as it was given and leaves most of the time to others. Before
the time is over, the best candidate is tried with half its rate. Each of these is a candidate like the others: it wins
only if its score is the best.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from committee.search.run import SearchRun

__all__ = ["RateSteps"]

_FACTOR = 2.0
_FIRST_SHARE, _LAST_SHARE = 0.2, 0.6
"""Of the budget, that the first step and the last one may take."""
_SLACK = 1.1
"""A step takes a little longer than its rounds: the curve of a small rate is flat."""


class RateSteps:
    """When, and how, the learning rate of the best candidate is halved.

    Parameters
    ----------
    run : SearchRun
        Has a budget.
    name : str
        Name of the parameter.
    least : float
        The smallest rate.

    Attributes
    ----------
    params : dict
        What later candidates set: the smaller rate, once it has won.
    """

    def __init__(self, run: SearchRun, name: str, least: float) -> None:
        self._run, self._name, self._least = run, name, least
        self._is_first, self._ended = True, False
        self.params: dict[str, Any] = {}

    def is_due(self) -> bool:
        """Whether a step is next."""
        run, best = self._run, self._run.find_best()
        if self._ended or run.budget is None or best is None or best.rate is None or best.rate / _FACTOR < self._least:
            return False
        needed = _SLACK * _FACTOR * run.measure_wall(best)
        if self._is_first:
            self._is_first = needed <= _FIRST_SHARE * run.budget
            return self._is_first
        return needed <= _LAST_SHARE * run.budget and not run.has_time(1.0, needed)

    def take_step(self) -> None:
        """Evaluate the best candidate with a smaller rate."""
        run, best = self._run, self._run.find_best()
        assert best is not None
        assert best.rate is not None
        assert run.evaluator.growth is not None
        rate = best.rate / _FACTOR
        one = run.begin({**best.params, self._name: rate})
        one.last = int(_FACTOR * (best.last or run.evaluator.growth.last))
        # Every fold counts: a candidate that won by luck in some is not to decide by these alone.
        run.evaluate([one], race=False)
        if run.find_best() is one:
            self.params = {self._name: rate}
        self._ended, self._is_first = not self._is_first, False
