"""DART: boosting that drops some of its trees in each round [RashmiGiladBachrach2015]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee.ensembles.boosting.rounds import Rounds

__all__ = ["Dart"]


class Dart:
    """Drops rounds at random, and shares their weight with the round that was grown without them.

    With k dropped rounds and a learning rate ν, the new round counts by ν / (k + ν) and the dropped ones by
    k / (k + ν) of what they were: the sum neither overshoots nor falls short of what it was.

    Parameters
    ----------
    drop_rate : float
        Chance of each earlier round to be dropped; where chance drops none, one is.
    skip_drop : float
        Chance of a round to drop none.
    seed : int
        Of all chances.
    """

    def __init__(self, drop_rate: float, skip_drop: float, seed: int) -> None:
        self._drop_rate, self._skip_drop, self._seed = drop_rate, skip_drop, seed

    def drop_trees(self, rounds: Rounds) -> list[int]:
        """Take some rounds out of the scores; their numbers."""
        step = rounds.trees_per_round
        n = int(rounds.state.n_trees) // step
        rng = np.random.default_rng([self._seed, 3, n])
        if n == 0 or rng.random() < self._skip_drop:
            return []
        dropped = np.flatnonzero(rng.random(n) < self._drop_rate)
        chosen = [int(k) for k in dropped] or [int(rng.integers(n))]
        for k in chosen:
            rounds.state.readd_trees(k * step, (k + 1) * step, -1.0)
        return chosen

    def put_back(self, rounds: Rounds, dropped: list[int]) -> None:
        """Scale the newest round and the dropped ones, and put these back into the scores."""
        if not dropped:
            return
        state, step = rounds.state, rounds.trees_per_round
        rate = float(state.params.learning_rate)
        newest = int(state.n_trees) - step
        share = 1.0 / (len(dropped) + rate)
        state.readd_trees(newest, newest + step, share - 1.0)
        for tree in range(newest, newest + step):
            state.scale_tree(tree, share)
        for k in dropped:
            for tree in range(k * step, (k + 1) * step):
                state.scale_tree(tree, len(dropped) * share)
            state.readd_trees(k * step, (k + 1) * step, 1.0)
