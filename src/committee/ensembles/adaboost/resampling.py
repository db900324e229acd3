"""Boosting by resampling: each member is fitted on rows drawn in proportion to the weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.sampling import plan_samples
from committee.engines import get_engine

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.typing import FloatArray, IndexArray

__all__ = ["Resampling", "plan_resampling"]


@dataclass(frozen=True)
class Resampling:
    """A sample of the rows for each member, with replacement, in proportion to the weights.

    Attributes
    ----------
    seed : int
        Seed of the ensemble.
    n_draws : int
        Number of draws for each member.
    """

    seed: int
    n_draws: int

    def draw_counts(self, weights: FloatArray, member: int) -> IndexArray:
        """Number of times that each row is in the sample of a member."""
        engine = get_engine()
        sampling = engine.RowSampling()
        sampling.replace, sampling.n_draws = True, self.n_draws
        sampling.weights = weights.tolist()  # quicker than a conversion number by number
        return engine.draw_rows(sampling, self.seed, member, len(weights))

    def draw_rows(self, weights: FloatArray, member: int) -> NDArray[np.intp]:
        """Numbers of the rows in the sample of a member, ascending."""
        counts = self.draw_counts(weights, member)
        return np.repeat(np.arange(len(counts)), counts)


def plan_resampling(owner: str, dataset: Dataset, sample_weight: Any, seed: int) -> Resampling:
    """As many draws as there are rows, which sample weights count in the unit that they share.

    Parameters
    ----------
    owner : str
        Class name of the ensemble, for error messages.
    dataset : Dataset
        The training rows.
    sample_weight : array-like or None
        As passed to ``fit``.
    seed : int
        Seed of the ensemble.
    """
    return Resampling(seed, plan_samples(owner, dataset, bootstrap=True, sample_weight=sample_weight).n_draws)
