"""A boosted model in training: Friedman's algorithm over the engine's state."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

import numpy as np

from committee.data.device_tables import copy_to_host
from committee.data.rows import densify_blocks
from committee.engines import get_engine
from committee.engines.block_boosting import open_block_boosting
from committee.engines.choice import start_boosting
from committee.engines.partition_bins import PartitionBins
from committee.exceptions import DataSizeError
from committee.learners.tree_rows import narrow_rows
from committee.losses import LossFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.data import Dataset
    from committee.engines import BinnedMatrix, Boosting, BoostingParams, Trees
    from committee.engines.gpu import DeviceBins
    from committee.ensembles.boosting.objective import Objective
    from committee.typing import FloatArray, FloatMatrix, IndexArray, SparseMatrix

__all__ = ["Booster", "InitialScores", "PreviousFit", "RoundCallback", "RoundLosses", "check_row_count"]

_MOST_ROWS = 1 << 30
"""A sum of gradients has 32 bits: beyond this many rows none is left for the gradient of one row."""


def check_row_count(n_rows: int) -> None:
    """Refuse more rows than the packed sums of gradients can hold."""
    if n_rows > _MOST_ROWS:
        raise DataSizeError(
            f"Gradient boosting learns from at most {_MOST_ROWS:,} rows; X has {n_rows:,}. Learn from a sample of them."
        )


@dataclass(frozen=True)
class PreviousFit:
    """The trees that a warm start continues.

    Attributes
    ----------
    trees : Trees
        The arena.
    slots : ndarray of shape (n_trees,)
        The score that each tree adds to.
    baseline : ndarray of shape (n_scores,)
        The constant that scores start from.
    gains : ndarray of shape (n_features,)
        Sum of the gains of each feature.
    """

    trees: Trees
    slots: IndexArray
    baseline: FloatArray
    gains: FloatArray


@dataclass(frozen=True)
class InitialScores:
    """What scores start from.

    Attributes
    ----------
    baseline : ndarray of shape (n_scores,) or None
        The constant of all rows; None: the one with the least loss.
    offset : ndarray of shape (n_rows, n_scores) or None
        Added to it, for each training row.
    previous : PreviousFit or None
        Trees of an earlier fit, whose baseline takes the place of the one above.
    engine : {"cpu", "gpu", "auto"}
        Where the rounds are computed.
    """

    baseline: FloatArray | None = None
    offset: FloatArray | None = None
    previous: PreviousFit | None = None
    engine: Literal["cpu", "gpu", "auto"] = "cpu"


class RoundLosses(NamedTuple):
    """Losses of each round: of the training rows after it, of its out-of-bag rows before and after it."""

    training: FloatArray
    out_of_bag_before: FloatArray
    out_of_bag_after: FloatArray


class RoundCallback:
    """Called before training and before and after each round; does nothing unless overridden."""

    @property
    def records_losses_only(self) -> bool:
        """Whether `record` can be called once, with the losses of all rounds, in place of the calls in each round."""
        return False

    def record(self, losses: RoundLosses) -> None:
        """Take the losses of all rounds."""

    def before_training(self, booster: Booster) -> None:
        """Called once, before the first round."""

    def before_round(self, booster: Booster) -> None:
        """Called when the rows of a round are drawn, before its gradients are computed."""

    def after_round(self, booster: Booster) -> bool:
        """Called when the trees of a round are added; whether training stops."""
        return False

    def describe(self) -> str:
        """The latest score or loss, as progress shows it."""
        return ""


class Booster:
    """A sum of trees in training.

    Parameters
    ----------
    dataset : Dataset
        The training rows.
    bins : BinnedMatrix, PartitionBins or DeviceBins
        Their table, binned, or its partitions on the workers of a cluster, or binned on a GPU.
    objective : Objective
        What is minimised.
    params : BoostingParams
        The engine's parameters.
    initial : InitialScores
        What the sum starts from.

    Attributes
    ----------
    state : Boosting
        The engine's state: scores of the training rows, and the trees grown so far.
    blocks : BlockBoosting or None
        The blocks of the training rows, where these are divided among hosts.
    baseline : ndarray of shape (n_scores,)
        The constant that scores start from.
    trees_per_round : int
        One for each score, or one for all of them.
    rescales_trees : bool
        Whether later rounds change earlier trees, as in DART.
    gradients : tuple of ndarray or None
        Gradients and hessians of the latest round, of shape (n_rows, n_scores), if the engine was given them.
    """

    def __init__(
        self,
        dataset: Dataset,
        bins: BinnedMatrix | PartitionBins | DeviceBins,
        objective: Objective,
        params: BoostingParams,
        initial: InitialScores,
    ) -> None:
        self.dataset, self.objective, self.loss = dataset, objective, objective.loss
        self.n_jobs = params.n_jobs
        self.trees_per_round = 1 if params.vector_leaves else self.loss.n_scores
        self.rescales_trees = False
        self.gradients: tuple[FloatArray, FloatArray] | None = None
        loss, previous = self.loss, initial.previous
        y = loss.lay_out(objective.y) if isinstance(loss, LossFunction) else None
        settings = (loss.name, loss.parameter, loss.n_scores, loss.levels)
        check_row_count(bins.n_rows)
        self.blocks = None
        if initial.engine == "cpu":
            here = cast("BinnedMatrix | PartitionBins", bins)  # what is on a GPU is for its engine
            self.blocks = open_block_boosting(here, y, objective.weights, settings, params)
        self.state: Boosting
        if self.blocks is not None:
            self.state = self.blocks.state
        else:
            assert not isinstance(bins, PartitionBins)  # the plan of a fit does not change
            arguments = (y, objective.weights, *settings[:3], params, list(loss.levels))
            self.state = start_boosting(initial.engine, bins, *arguments)
        self._previous = previous
        if previous is not None:
            self.baseline = previous.baseline
        else:
            self.baseline = objective.find_baseline(self.state) if initial.baseline is None else initial.baseline
        if previous is None and initial.offset is None:
            self.state.add_constant(self.baseline.tolist())
        else:
            self.state.set_scores(np.asfortranarray(self._replay_previous(copy_to_host(dataset.X), initial.offset)))
        # Random numbers are keyed by the number of a tree: a warm start draws what one long fit would have drawn.
        self.state.skip_trees(0 if previous is None else previous.trees.n_trees)

    @property
    def n_previous(self) -> int:
        """Rounds of the earlier fit."""
        return 0 if self._previous is None else self._previous.trees.n_trees // self.trees_per_round

    @property
    def n_rounds(self) -> int:
        """Rounds so far, those of an earlier fit included."""
        return self.n_previous + self.state.n_trees // self.trees_per_round

    @property
    def gains(self) -> FloatArray:
        """Sum of the gains of each feature."""
        gains = np.asarray(self.state.gains)
        return gains if self._previous is None else gains + self._previous.gains

    def boost(self, last: int, callbacks: Sequence[RoundCallback] = ()) -> None:
        """Gradient boosting [Friedman2001, Friedman2002], up to round ``last`` or until a callback stops it."""
        for callback in callbacks:
            callback.before_training(self)
        if not self.loss.is_custom and all(callback.records_losses_only for callback in callbacks):
            # All rounds in one call of the engine, which measures the losses itself.
            n_rounds = max(0, last - self.n_rounds)
            if callbacks:
                self._boost_measured(n_rounds, callbacks)
            else:
                self.state.boost(n_rounds)
            return
        for _ in range(self.n_rounds, last):
            self.state.draw_rows()
            for callback in callbacks:
                callback.before_round(self)
            self.gradients = self.objective.compute_gradients(self.state)
            self.state.grow_trees()
            # Every callback is called, whatever the others return.
            stops = [callback.after_round(self) for callback in callbacks]
            if any(stops):
                break

    def _boost_measured(self, n_rounds: int, callbacks: Sequence[RoundCallback]) -> None:
        losses = RoundLosses(*self.state.boost_measured(n_rounds, self.state.params.subsample < 1.0))
        for callback in callbacks:
            callback.record(losses)

    def score_rows(self, X: FloatMatrix | SparseMatrix, offset: FloatArray | None = None) -> FloatArray:
        """Scores of other rows by all trees so far."""
        return self._score_start(X, offset) + self.sum_newest(X, 0)

    def sum_newest(self, X: FloatMatrix | SparseMatrix, first: int) -> FloatArray:
        """What the trees of this fit from number ``first`` on add to the scores of other rows."""
        if first >= self.state.n_trees:
            return np.zeros((X.shape[0], self.loss.n_scores))
        return self._sum_trees(self.state.finish(first), self.state.slots[first:], X)

    def finish(self, n_rounds: int | None) -> tuple[Trees, IndexArray]:
        """The trees of the first rounds (None: of all), and the score that each adds to."""
        trees, slots = self.state.finish(), self.state.slots
        if self._previous is not None:
            slots = np.concatenate([self._previous.slots, slots])
            # An arena cannot be empty: without new trees the earlier ones are all there is.
            grown = [self._previous.trees, *([trees] if trees.n_trees else [])]
            trees = grown[0] if len(grown) == 1 else get_engine().concatenate_trees(grown)
        n_trees = trees.n_trees if n_rounds is None else n_rounds * self.trees_per_round
        return (trees.select(0, n_trees), slots[:n_trees]) if n_trees < trees.n_trees else (trees, slots)

    def _score_start(self, X: FloatMatrix | SparseMatrix, offset: FloatArray | None) -> FloatArray:
        """Scores before the first round of this fit."""
        scores: FloatArray = np.tile(self.baseline, (X.shape[0], 1))
        if offset is not None:
            scores += offset
        if self._previous is not None:
            scores += self._sum_trees(self._previous.trees, self._previous.slots, X)
        return scores

    def _replay_previous(self, X: FloatMatrix | SparseMatrix, offset: FloatArray | None) -> FloatArray:
        """Scores after the rounds of the earlier fit, to the bit those that its rounds ended with.

        A fit adds its trees to the baseline one by one, so that the baseline comes first in the sum: as trees that
        have it in every leaf.
        """
        previous = self._previous
        if previous is None or offset is not None:
            return self._score_start(X, offset)
        first = previous.trees.select(0, 1)
        n_leaves, width = len(first.values) // first.width if first.values.ndim == 1 else len(first.values), first.width
        rows = [self.baseline] if width > 1 else [self.baseline[k : k + 1] for k in range(len(self.baseline))]
        constants = [first.with_leaf_values(np.tile(np.asarray(row, np.float64), (n_leaves, 1))) for row in rows]
        trees = get_engine().concatenate_trees([*constants, previous.trees])
        slots = np.concatenate([np.arange(len(constants), dtype=np.uint32), previous.slots])
        return self._sum_trees(trees, slots, X)

    def _sum_trees(self, trees: Trees, slots: IndexArray, X: FloatMatrix | SparseMatrix) -> FloatArray:
        """Sum of the leaves of each row, of shape (n_rows, n_scores); sparse rows a block at a time."""
        # Leaves that are vectors have a value for each score.
        options = ("sum", None, slots if trees.width == 1 else None, self.loss.n_scores)
        if isinstance(X, np.ndarray):
            return np.asarray(trees.predict(X, *options, n_jobs=self.n_jobs))
        trees, X = narrow_rows(trees, X)
        blocks = (block for _, block in densify_blocks(X))
        return np.concatenate([trees.predict(block, *options, n_jobs=self.n_jobs) for block in blocks])
