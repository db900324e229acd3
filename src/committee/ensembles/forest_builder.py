"""Forests under construction: trees grown in chunks, and their out-of-bag votes. Forests and bags of trees share it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.data.dataset import ClassTarget, is_in_blocks
from committee.data.rows import densify_blocks, fits_one_block
from committee.engines import get_engine
from committee.engines.choice import bin_for_gpu, choose_forest_engine, compile_for_forest
from committee.ensembles.distributed_trees import choose_tree_hosts, grow_on_hosts, sum_votes_elsewhere
from committee.ensembles.fit_callbacks import waits_for_members
from committee.ensembles.out_of_bag import SCORE_EVERY
from committee.learners.training_arrays import make_training_arrays
from committee.learners.tree_importances import MemberImportances, count_at_once, join_importances, keep_importances
from committee.learners.tree_rows import narrow_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Self

    from committee.data import Dataset
    from committee.data.sampling import SamplePlan
    from committee.engines import ForestPlan, GrowParams, Trees
    from committee.engines.gpu import DeviceBins
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.typing import FloatArray, IndexArray

__all__ = ["ForestBuilder"]


@dataclass
class ForestBuilder:
    """What the engine needs to grow the trees of a forest, and the trees that it has grown.

    Attributes
    ----------
    dataset : Dataset
        The training set, whose bins all trees share.
    max_bins : int
        The most bins of a numeric column.
    weights : ndarray of shape (n_rows,) or None
        Row weights that each tree is given; None where the samples account for them.
    params : GrowParams
        The parameters of a tree, with the seed and the number of threads.
    plan : ForestPlan
        Which trees to grow, and how the sample of each is drawn.
    samples : SamplePlan
        The same sampling as `committee.data.sampling` describes it.
    chunks : list of Trees
        The trees so far, in the order of their numbers.
    importances : list of ndarray or CSR array of shape (n_trees, n_features)
        Decrease of impurity by each feature in the trees of each chunk.
    engine : {"cpu", "gpu", "auto"}
        Where trees are grown.
    """

    dataset: Dataset
    max_bins: int
    weights: FloatArray | None
    params: GrowParams
    plan: ForestPlan
    samples: SamplePlan
    chunks: list[Trees] = field(default_factory=list)
    importances: list[MemberImportances] = field(default_factory=list)
    engine: Literal["cpu", "gpu", "auto"] = "cpu"

    def __len__(self) -> int:
        return sum(chunk.n_trees for chunk in self.chunks)

    def keep(self, trees: Trees, importances: MemberImportances) -> None:
        """Start from the trees of an earlier fit."""
        self.chunks.append(trees)
        self.importances.append(importances)

    def grow_to(self, n_trees: int, on_progress: Callable[[int], None] | None) -> None:
        """Grow trees until there are ``n_trees``; a tree depends on the seed and its number only."""
        first = len(self)
        if n_trees <= first:
            return
        params = self.params
        progress = None if on_progress is None or waits_for_members(on_progress) else on_progress
        bins = None if params.exact else self._bin_for_gpu()
        arrays = make_training_arrays(self.dataset, self.max_bins, exact=params.exact, n_jobs=params.n_jobs, bins=bins)
        hosts = choose_tree_hosts(self, arrays, n_trees - first) if self.engine == "cpu" else None
        if hosts is not None:
            trees, importances = grow_on_hosts(hosts, self, arrays, n_trees, progress)
        else:
            plan, parts = self.plan, []
            step = count_at_once(self.dataset.X.shape[1])  # a few at a time where importances are long
            for start in range(first, n_trees, step):
                plan.first_tree, plan.n_trees = start, min(step, n_trees - start)
                report = None if progress is None else partial(_report_trees, progress, start)
                grow = choose_forest_engine(self.engine, arrays.bins.n_rows, plan.n_trees)
                trees, dense = grow(*arrays, self.weights, params, plan, report)
                parts.append((trees, keep_importances(dense)))
            plan.first_tree, plan.n_trees = first, n_trees - first
            trees, importances = _join_parts(parts)
        self.keep(self._fill_leaves(trees, first), importances)
        if on_progress is not None:
            on_progress(n_trees)

    def _bin_for_gpu(self) -> DeviceBins | None:
        target, prepare = self.dataset.target, None
        if self.weights is None and not self.plan.balance_classes and target is not None:
            n_classes = max(map(len, target.classes)) if isinstance(target, ClassTarget) else None
            prepare = partial(compile_for_forest, n_classes=n_classes, params=self.params)
        return bin_for_gpu(self.engine, self.dataset, self.max_bins, self.params.n_jobs, prepare)

    def _fill_leaves(self, trees: Trees, first: int) -> Trees:
        """Trees ``first`` and so on with the leaves that the forest needs; those of the engine by default."""
        return trees

    def add_votes(self, votes: OutOfBag, last: int) -> None:
        """Add the latest chunk's votes on its out-of-bag rows, and score them every few trees.

        Trees that were grown after the score converged are dropped.

        Parameters
        ----------
        votes : OutOfBag
            Where the votes are summed and scored.
        last : int
            The number of trees of the whole forest, after which the score is computed in any case.
        """
        chunk = self.chunks[-1]
        first = done = len(self) - chunk.n_trees
        while done < len(self) and not votes.converged:
            until = min(done + SCORE_EVERY - done % SCORE_EVERY, len(self))
            self.plan.first_tree = done
            self._sum_votes(chunk.select(done - first, until - first), votes)
            done = until
            if done % SCORE_EVERY == 0 or done == last:
                votes.score_votes(done)
        if done < len(self):
            self.chunks[-1] = chunk.select(0, done - first)
            self.importances[-1] = self.importances[-1][: done - first]

    def _sum_votes(self, trees: Trees, votes: OutOfBag) -> None:
        X, plan, params = self.host_rows, self.plan, self.params
        add = get_engine().add_out_of_bag
        if isinstance(X, np.ndarray):
            add(trees, X, plan, params.seed, params.n_jobs, votes.sums, votes.n_votes)
            return
        if is_in_blocks(X) and sum_votes_elsewhere(self, trees, votes):
            return
        plan.n_table_rows, first = X.shape[0], plan.first_tree
        # Rows are copied tree by tree: of a wide table the columns of one tree are far fewer than those of all.
        parts = [trees] if fits_one_block(X) else [trees.select(k, k + 1) for k in range(trees.n_trees)]
        for number, part in enumerate(parts):
            plan.first_tree = first + number
            used, rows = narrow_rows(part, X)
            for start, dense in densify_blocks(rows):
                plan.first_row, block = start, slice(start, start + len(dense))
                add(used, dense, plan, params.seed, params.n_jobs, votes.sums[block], votes.n_votes[block])
        plan.first_tree = first

    @cached_property
    def host_rows(self) -> Any:
        """The training rows; a table on a GPU is copied once."""
        return self.dataset.on_host().X

    def join_trees(self) -> tuple[Trees, MemberImportances]:
        """All trees in one arena, and their importances, of shape (n_trees, n_features)."""
        trees = self.chunks[0] if len(self.chunks) == 1 else get_engine().concatenate_trees(self.chunks)
        return trees, join_importances(self.importances)

    def truncate(self, n_trees: int) -> Self:
        """The same with the first trees only."""
        trees, importances = self.join_trees()
        return replace(self, chunks=[trees.select(0, n_trees)], importances=[importances[:n_trees]])

    def draw_samples(self) -> Iterator[IndexArray]:
        """How often each row is in the sample of each tree, tree by tree."""
        sampling, seed, n_rows = self.plan.sampling, self.params.seed, self.samples.n_rows
        return (get_engine().draw_rows(sampling, seed, tree, n_rows) for tree in range(len(self)))


def _join_parts(parts: list[tuple[Trees, MemberImportances]]) -> tuple[Trees, MemberImportances]:
    grown = [trees for trees, _ in parts]
    joined = grown[0] if len(grown) == 1 else get_engine().concatenate_trees(grown)
    return joined, join_importances([importances for _, importances in parts])


def _report_trees(on_progress: Callable[[int], None], before: int, done: int) -> None:
    on_progress(before + done)
