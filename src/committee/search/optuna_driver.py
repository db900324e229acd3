"""Optuna as the one who proposes candidates: its studies are asked for points of a space and get the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from committee.search.space import SearchSpace

__all__ = ["OptunaSampler", "is_study"]


def is_study(value: object) -> bool:
    """Whether something is a study of Optuna."""
    return hasattr(value, "ask") and hasattr(value, "tell") and hasattr(value, "trials")


class OptunaSampler:
    """Proposes points of a space by a study of Optuna.

    Positions in the unit interval are floats to Optuna, and choices are categories.

    Parameters
    ----------
    space : SearchSpace
        The parameters.
    seed : int
        Of the sampler, where the study is a new one.
    study : optuna.Study or None
        To be continued; None for a new one.
    """

    def __init__(self, space: SearchSpace, seed: int, study: Any = None) -> None:
        try:
            import optuna
        except ImportError as error:
            raise ImportError("TPESearch(sampler='optuna') needs Optuna; install committee[optuna].") from error
        if study is None:
            optuna.logging.set_verbosity(optuna.logging.WARNING)
            sampler = optuna.samplers.TPESampler(seed=int(seed % 2**32))
            study = optuna.create_study(direction="maximize", sampler=sampler)
        self.study = study
        self._sign = 1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else -1.0
        self._failed = optuna.trial.TrialState.FAIL
        self._trials: dict[int, Any] = {}
        self._distributions = {}
        for name in space.names:
            n_choices = space.count_choices(name)
            self._distributions[name] = (
                optuna.distributions.FloatDistribution(0.0, 1.0)
                if n_choices is None
                else optuna.distributions.CategoricalDistribution(list(range(n_choices)))
            )

    def ask(self) -> dict[str, float]:
        """The next point."""
        trial = self.study.ask(self._distributions)
        point = {name: float(value) for name, value in trial.params.items()}
        self._trials[id(point)] = trial
        return point

    def tell(self, point: Mapping[str, float], score: float) -> None:
        """Give the study the score of a point; NaN for one that failed."""
        trial = self._trials.pop(id(point))
        if np.isnan(score):
            self.study.tell(trial, state=self._failed)
        else:
            self.study.tell(trial, self._sign * score)
