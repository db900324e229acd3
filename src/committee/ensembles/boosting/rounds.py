"""The rounds of boosting: the engine's state of one fit, the trees of an earlier one, and the loop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import densify_blocks
from committee.engines import get_engine

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.boosting.callbacks import BoostingLog
    from committee.ensembles.boosting.validation import Watch
    from committee.ensembles.progress import ProgressCallback
    from committee.typing import FloatArray

__all__ = ["KeptTrees", "Rounds", "Start", "sum_trees"]


@dataclass(frozen=True)
class KeptTrees:
    """What a warm start goes on from."""

    trees: Any
    slots: Any
    baseline: FloatArray
    gains: FloatArray


@dataclass(frozen=True)
class Start:
    """What a sum of trees starts from.

    Attributes
    ----------
    kept : KeptTrees or None
        The trees of an earlier fit, whose baseline stays.
    baseline : ndarray of shape (n_scores,) or None
        Scores to start from; None: the constant with the least loss.
    offset : ndarray of shape (n_rows, n_scores) or None
        Added to it, for each training row.
    """

    kept: KeptTrees | None = None
    baseline: FloatArray | None = None
    offset: FloatArray | None = None

    def find_baseline(self, state: Any, loss: Any, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """The constant that all rows start from."""
        if self.kept is not None:
            return self.kept.baseline
        if self.baseline is not None:
            return self.baseline
        if loss.is_custom:
            constant: FloatArray = loss.find_baseline(y, weights)
            return constant
        return np.asarray(state.find_baseline())


class Rounds:
    """A sum of trees on its way.

    Parameters
    ----------
    dataset : Dataset
        What is learnt from.
    bins : BinnedMatrix
        Its table, binned.
    y : ndarray of float64
        Its target as the engine reads it.
    weights : ndarray of shape (n_rows,) or None
        In units of a row.
    loss : LossFunction
        What is made small.
    params : BoostingParams
        What the engine is told.
    start : Start
        What the sum starts from.
    dart : Dart or None
        Drops trees, where they are to be dropped.
    """

    def __init__(
        self,
        dataset: Dataset,
        bins: Any,
        y: FloatArray,
        weights: FloatArray | None,
        loss: Any,
        params: Any,
        start: Start,
        dart: Any = None,
    ) -> None:
        self.dataset, self.loss, self.y, self.weights, self.dart = dataset, loss, y, weights, dart
        self._kept, self._offset = start.kept, start.offset
        self.n_jobs = params.n_jobs
        told = (loss.name, loss.parameter, loss.n_scores, params, list(loss.levels))
        self.state = get_engine().Boosting(bins, None if loss.is_custom else loss.lay_out(y), weights, *told)
        self.trees_per_round = 1 if params.vector_leaves else int(loss.n_scores)
        self.baseline: FloatArray = start.find_baseline(self.state, loss, y, weights)
        if start.kept is None and start.offset is None:
            self.state.add_constant(self.baseline.tolist())
        else:
            self.state.set_scores(np.asfortranarray(self._score_kept(dataset.X, start.offset)))
        # Random numbers go by the number of a tree: those that come next draw as they would have in one go.
        self.state.skip_trees(0 if start.kept is None else start.kept.trees.n_trees)

    @property
    def n_kept(self) -> int:
        """Rounds of the earlier fit."""
        return 0 if self._kept is None else int(self._kept.trees.n_trees) // self.trees_per_round

    @property
    def n_rounds(self) -> int:
        """Rounds so far."""
        return self.n_kept + int(self.state.n_trees) // self.trees_per_round

    @property
    def gains(self) -> FloatArray:
        """Sum of the gains of each feature."""
        gains = np.asarray(self.state.gains)
        return gains if self._kept is None else gains + self._kept.gains

    def boost(self, last: int, watch: Watch | BoostingLog | None, on_progress: ProgressCallback | None = None) -> None:
        """Friedman's algorithm [Friedman2001]: go on to round ``last``, or until the watch says that it is enough."""
        state = self.state
        if watch is None and on_progress is None and self.dart is None and not self.loss.is_custom:
            state.boost(max(0, last - self.n_rounds))
            return
        for m in range(self.n_rounds, last):
            dropped = [] if self.dart is None else self.dart.drop_trees(self)
            state.draw_rows()
            if watch is not None:
                watch.look_before(self)
            self._find_gradients()
            state.grow_trees()
            if self.dart is not None:
                self.dart.put_back(self, dropped)
            enough = watch is not None and watch.look(self)
            if on_progress is not None:
                on_progress(m + 1, "" if watch is None else watch.describe())
            if enough:
                break

    def _find_gradients(self) -> None:
        """First and second derivatives of the loss at the scores."""
        if not self.loss.is_custom:
            self.state.compute_gradients()
            return
        gradients, hessians = self.loss.find_slopes(self.y, np.asarray(self.state.scores))
        self.state.take_gradients(np.asfortranarray(gradients), np.asfortranarray(hessians))

    def score_rows(self, X: Any, offset: FloatArray | None = None) -> FloatArray:
        """Scores of other rows, by the baseline (or what they start from) and all trees so far."""
        return self._score_kept(X, offset) + self.sum_newest(X, 0)

    def sum_newest(self, X: Any, first: int) -> FloatArray:
        """What the trees of this fit from number ``first`` on add to the scores of other rows."""
        width = int(self.loss.n_scores)
        if first >= self.state.n_trees:
            return np.zeros((X.shape[0], width))
        return sum_trees(self.state.finish(first), self.state.slots[first:], width, X, self.n_jobs)

    def _score_kept(self, X: Any, offset: FloatArray | None) -> FloatArray:
        width = int(self.loss.n_scores)
        scores = np.tile(self.baseline, (X.shape[0], 1))
        if offset is not None:
            scores += offset
        if self._kept is not None:
            scores += sum_trees(self._kept.trees, self._kept.slots, width, X, self.n_jobs)
        return scores

    def finish(self, n_trees: int | None) -> tuple[Any, Any]:
        """The first trees (None: all), kept ones included, in one arena, and the score that each adds to."""
        trees, slots = self.state.finish(), self.state.slots
        if self._kept is not None:
            slots = np.concatenate([self._kept.slots, slots])
            parts = [self._kept.trees, *([trees] if trees.n_trees else [])]
            trees = parts[0] if len(parts) == 1 else get_engine().concatenate_trees(parts)
        if n_trees is not None and n_trees < trees.n_trees:
            trees, slots = trees.select(0, n_trees), slots[:n_trees]
        return trees, slots


def sum_trees(trees: Any, slots: Any, width: int, X: Any, n_jobs: int) -> FloatArray:
    """Sum of the leaves of rows that were taken in, of shape (n_rows, width); sparse rows a block at a time."""
    # Leaves that are vectors have a value for each score.
    options = ("sum", None, slots if trees.width == 1 else None, width)
    if isinstance(X, np.ndarray):
        sums: FloatArray = trees.predict(X, *options, n_jobs=n_jobs)
        return sums
    return np.concatenate([trees.predict(block, *options, n_jobs=n_jobs) for _, block in densify_blocks(X)])
