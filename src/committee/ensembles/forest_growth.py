"""Trees on their way: grown in parts, voting out of bag as they come. Forests and bags of trees share it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import densify_blocks
from committee.engines import get_engine
from committee.ensembles.out_of_bag import LOOK_EVERY

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.data.sampling import SamplePlan
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.typing import FloatArray

__all__ = ["TreeGrowth"]


@dataclass
class TreeGrowth:
    """A forest on its way: what the engine needs to grow more of it, and the parts that it has grown."""

    grow: Callable[..., Any]
    dataset: Dataset
    weights: FloatArray | None
    params: Any
    plan: Any
    samples: SamplePlan
    parts: list[Any] = field(default_factory=list)
    importances: list[FloatArray] = field(default_factory=list)

    @property
    def n_trees(self) -> int:
        """Trees so far."""
        return sum(part.n_trees for part in self.parts)

    def grow_to(self, n_trees: int, on_progress: Callable[[int], None] | None) -> None:
        """Grow the trees that are missing; their numbers alone say which they are."""
        first = self.n_trees
        if n_trees <= first:
            return
        self.plan.first_tree, self.plan.n_trees = first, n_trees - first
        progress = None if on_progress is None else lambda done: on_progress(first + done)
        part, importances = self.grow(
            get_engine().grow_forest, self.dataset, self.weights, self.params, self.plan, progress
        )
        self.parts.append(part)
        self.importances.append(importances)
        if on_progress is not None:
            on_progress(n_trees)

    def vote(self, votes: OutOfBag, last: int) -> None:
        """Let the latest part vote on rows that it did not see, and look at the score every few members."""
        part = self.parts[-1]
        first = self.n_trees - part.n_trees
        done = first
        while done < self.n_trees and not votes.settled:
            until = min(done + LOOK_EVERY - done % LOOK_EVERY, self.n_trees)
            self.plan.first_tree = done
            self._add_votes(part.select(done - first, until - first), votes)
            done = until
            if done % LOOK_EVERY == 0 or done == last:
                votes.look(done)
        if done < self.n_trees:
            self.parts[-1] = part.select(0, done - first)
            self.importances[-1] = self.importances[-1][: done - first]

    def draw_sample(self, member: int) -> NDArray[np.uint32]:
        """How often each row is in the sample of a member."""
        return get_engine().draw_rows(self.plan.sampling, self.params.seed, member, self.samples.n_rows)

    def apply(self, trees: Any) -> NDArray[np.intp]:
        """Node that each row ends in, in each tree."""
        X, jobs = self.dataset.X, self.params.n_jobs
        if isinstance(X, np.ndarray):
            return trees.apply(X, jobs).astype(np.intp)  # type: ignore[no-any-return]
        return np.concatenate([trees.apply(block, jobs) for _, block in densify_blocks(X)]).astype(np.intp)

    def _add_votes(self, trees: Any, votes: OutOfBag) -> None:
        X, plan, params = self.dataset.X, self.plan, self.params
        add = get_engine().add_out_of_bag
        if isinstance(X, np.ndarray):
            add(trees, X, plan, params.seed, params.n_jobs, votes.sums, votes.n_votes)
            return
        plan.n_table_rows = X.shape[0]
        for start, dense in densify_blocks(X):
            plan.first_row, block = start, slice(start, start + len(dense))
            add(trees, dense, plan, params.seed, params.n_jobs, votes.sums[block], votes.n_votes[block])
