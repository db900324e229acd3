"""DART: boosting that drops some of its trees in each round [RashmiGiladBachrach2015]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.ensembles.boosting.booster import RoundCallback

if TYPE_CHECKING:
    from committee.ensembles.boosting.booster import Booster

__all__ = ["Dart"]


class Dart(RoundCallback):
    """Drops rounds at random, and scales them and the round that was grown without them.

    With k dropped rounds and a learning rate ν, the new round is scaled by 1 / (k + ν) and the dropped ones by
    k / (k + ν): their sum neither overshoots nor falls short of what it was.

    Parameters
    ----------
    drop_rate : float
        Probability of each earlier round to be dropped; if none is, one is chosen at random.
    skip_drop : float
        Probability of a round to drop none.
    seed : int
        Seed of all random numbers.
    """

    def __init__(self, drop_rate: float, skip_drop: float, seed: int) -> None:
        self._drop_rate, self._skip_drop, self._seed = drop_rate, skip_drop, seed
        self._dropped: list[int] = []

    def before_training(self, booster: Booster) -> None:
        """Earlier trees will change: sums over them cannot be kept from round to round."""
        booster.rescales_trees = True

    def before_round(self, booster: Booster) -> None:
        """Subtract some rounds from the scores."""
        step = booster.trees_per_round
        n_rounds = booster.state.n_trees // step
        rng = np.random.default_rng([self._seed, 3, n_rounds])
        self._dropped = []
        if n_rounds == 0 or rng.random() < self._skip_drop:
            return
        dropped = np.flatnonzero(rng.random(n_rounds) < self._drop_rate)
        self._dropped = [int(k) for k in dropped] or [int(rng.integers(n_rounds))]
        for k in self._dropped:
            booster.state.readd_trees(k * step, (k + 1) * step, -1.0)

    def after_round(self, booster: Booster) -> bool:
        """Scale the newest round and the dropped ones, and add the latter to the scores again."""
        if not self._dropped:
            return False
        state, step, n_dropped = booster.state, booster.trees_per_round, len(self._dropped)
        newest = state.n_trees - step
        scale = 1.0 / (n_dropped + state.params.learning_rate)
        state.readd_trees(newest, newest + step, scale - 1.0)
        for tree in range(newest, newest + step):
            state.scale_tree(tree, scale)
        for k in self._dropped:
            for tree in range(k * step, (k + 1) * step):
                state.scale_tree(tree, n_dropped * scale)
            state.readd_trees(k * step, (k + 1) * step, 1.0)
        return False
