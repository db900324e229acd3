"""Trees of a forest grown elsewhere: a tree depends on the seed and its number only, so that any worker can grow it.

Their out-of-bag votes on a table in blocks are summed where the blocks are.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import sort_columns
from committee.data.block_mapping import map_blocks_elsewhere
from committee.data.blocks import BlockTable
from committee.engines import get_engine
from committee.engines.cluster import check_host_memory, choose_hosts, find_cluster, refuse_entries
from committee.engines.hosts.host import count_host_threads
from committee.engines.packing import PackedBins, pack_bins, pack_params, unpack_bins, unpack_params
from committee.learners.tree_importances import MemberImportances, join_importances, keep_importances

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.data.sampling import SamplePlan
    from committee.engines import BinnedMatrix, ForestPlan, Presort, Trees
    from committee.engines.hosts.recovering import RecoveringHosts
    from committee.ensembles.forest_builder import ForestBuilder
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.learners.training_arrays import TrainingArrays
    from committee.typing import FloatArray, FloatMatrix, IndexArray

__all__ = [
    "PackedPlan",
    "SharedForest",
    "SharedVotes",
    "choose_tree_hosts",
    "grow_on_hosts",
    "grow_tree_range",
    "sum_votes_elsewhere",
    "vote_on_block",
]

_RECORDS = 2
"""A worker holds a byte a value in columns, and one in records."""
_RANGES = 4
"""Ranges of trees for each worker, so that a slow one does not hold up the others."""


@dataclass(frozen=True)
class PackedPlan:
    """How the rows and features of trees are drawn.

    Attributes
    ----------
    plan : dict
        `ForestPlan` by name, without the sampling and the numbers of the trees.
    samples : SamplePlan
        How the rows of a tree are drawn.
    n_drawn, replace_features
        How its features are drawn.
    """

    plan: dict[str, Any]
    samples: SamplePlan
    n_drawn: int
    replace_features: bool

    @classmethod
    def pack(cls, builder: ForestBuilder) -> PackedPlan:
        """The plan of a forest."""
        sampling = builder.plan.sampling
        return cls(
            pack_params(builder.plan, ("sampling", "first_tree", "n_trees")),
            builder.samples,
            int(sampling.n_features),
            bool(sampling.replace_features),
        )

    def open(self, first_tree: int, n_trees: int) -> ForestPlan:
        """The engine's plan of some of the trees."""
        engine = get_engine()
        plan = unpack_params(engine.ForestPlan(), self.plan)
        sampling = self.samples.fill(engine.RowSampling())
        sampling.n_features, sampling.replace_features = self.n_drawn, self.replace_features
        plan.sampling = sampling
        plan.first_tree, plan.n_trees = first_tree, n_trees
        return plan  # type: ignore[no-any-return]


@dataclass
class SharedForest:
    """What all ranges of trees of a forest share; sent to each worker once.

    Attributes
    ----------
    bins : PackedBins
        The table, a byte a value.
    table : ndarray or None
        The values, for exact splits.
    n_levels : ndarray
        For each column the number of its levels.
    labels, n_classes, values, weights
        The target and the weights in the engine's form.
    params : dict
        `GrowParams` by name.
    plan : PackedPlan
        How rows and features are drawn.
    """

    bins: PackedBins
    table: FloatMatrix | None
    n_levels: IndexArray
    labels: IndexArray | None
    n_classes: list[int]
    values: FloatArray | None
    weights: FloatArray | None
    params: dict[str, Any]
    plan: PackedPlan
    _opened: list[tuple[BinnedMatrix, Presort | None]] = field(default_factory=list)

    def open(self) -> tuple[BinnedMatrix, Presort | None]:
        """The binned table, and the order of its columns for exact splits; made once on each worker."""
        if not self._opened:
            presort = None if self.table is None else sort_columns(self.table, self.n_levels, count_host_threads())
            self._opened.append((unpack_bins(self.bins), presort))
        return self._opened[0]

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_opened": []}


def grow_tree_range(span: tuple[int, int], shared: SharedForest) -> tuple[Trees, MemberImportances]:
    """Trees of some numbers, and their importances."""
    engine = get_engine()
    bins, presort = shared.open()
    params = unpack_params(engine.GrowParams(), shared.params)
    params.n_jobs = params.n_jobs or count_host_threads()
    plan = shared.plan.open(span[0], span[1] - span[0])
    trees, importances = engine.grow_forest(
        bins, presort, shared.labels, shared.n_classes, shared.values, shared.weights, params, plan, None
    )
    return trees, keep_importances(importances)


def choose_tree_hosts(builder: ForestBuilder, arrays: TrainingArrays, n_new: int) -> RecoveringHosts | None:
    """The workers that grow the next trees; None if this process does."""
    rows, features = builder.dataset.X.shape
    if find_cluster() is None or refuse_entries(f"A forest of {n_new} trees", arrays.bins):
        return None
    return choose_hosts(f"A forest of {n_new} trees", n_new, float(rows) * features * n_new)


def grow_on_hosts(
    hosts: RecoveringHosts,
    builder: ForestBuilder,
    arrays: TrainingArrays,
    n_trees: int,
    on_progress: Callable[[int], None] | None,
) -> tuple[Trees, MemberImportances]:
    """Grow trees until there are ``n_trees``, ranges of their numbers on each worker."""
    first = len(builder)
    packed = pack_bins(arrays.bins)
    check_host_memory(hosts, f"A forest of {n_trees - first} trees", _RECORDS * packed.nbytes)
    dense = builder.dataset.X if builder.params.exact else None
    shared = SharedForest(
        packed,
        dense,
        builder.dataset.n_levels,
        arrays.labels,
        arrays.n_classes,
        arrays.values,
        builder.weights,
        pack_params(builder.params),
        PackedPlan.pack(builder),
    )
    n_ranges = min(n_trees - first, _RANGES * max(1, len(hosts.list_hosts())))
    bounds = np.linspace(first, n_trees, n_ranges + 1).astype(int).tolist()
    spans = list(pairwise(bounds))

    def show(done: int) -> None:
        if on_progress is not None:
            on_progress(bounds[done])

    grown = hosts.map(grow_tree_range, spans, shared, show if on_progress is not None else None)
    trees = [part for part, _ in grown]
    joined = trees[0] if len(trees) == 1 else get_engine().concatenate_trees(trees)
    return joined, join_importances([importances for _, importances in grown])


@dataclass(frozen=True)
class SharedVotes:
    """What all blocks of a table share while trees vote on them; sent to each worker once.

    Attributes
    ----------
    table : BlockTable
        The training rows.
    trees : Trees
        Some trees of the forest.
    first_tree : int
        The number of the first of them.
    seed : int
        Of the forest.
    plan : PackedPlan
        How their samples were drawn.
    """

    table: BlockTable
    trees: Trees
    first_tree: int
    seed: int
    plan: PackedPlan


def vote_on_block(item: tuple[int, FloatArray, IndexArray], shared: SharedVotes) -> tuple[FloatArray, IndexArray]:
    """Votes on the out-of-bag rows of a block, added to those of the trees before: sums, and numbers of votes.

    The sum of a row goes from tree to tree, whoever adds to it, so that it is rounded as in one process.
    """
    block, sums, n_votes = item[0], np.array(item[1]), np.array(item[2])
    plan = shared.plan.open(shared.first_tree, shared.trees.n_trees)
    plan.n_table_rows, plan.first_row = shared.table.shape[0], int(shared.table.offsets[block])
    rows = shared.table.load(block)
    get_engine().add_out_of_bag(shared.trees, rows, plan, shared.seed, count_host_threads(), sums, n_votes)
    return sums, n_votes


def sum_votes_elsewhere(builder: ForestBuilder, trees: Trees, votes: OutOfBag) -> bool:
    """Add the votes of trees on a table in blocks, where its blocks are; False, and nothing done, if that is here.

    Parameters
    ----------
    builder : ForestBuilder
        Its plan has the number of the first of the trees.
    trees : Trees
        The trees that vote.
    votes : OutOfBag
        Where the votes are summed; sums of the rows travel, rows do not.
    """
    X: Any = builder.dataset.X
    if not isinstance(X, BlockTable):  # a file of bins, which is here
        return False
    plan, seed = PackedPlan.pack(builder), int(builder.params.seed)
    shared = SharedVotes(X, trees, int(builder.plan.first_tree), seed, plan)
    spans = [slice(int(a), int(b)) for a, b in pairwise(X.offsets)]
    items = [(block, votes.sums[span], votes.n_votes[span]) for block, span in enumerate(spans)]
    answers = map_blocks_elsewhere(X, vote_on_block, items, shared)
    if answers is None:
        return False
    for span, (sums, n_votes) in zip(spans, answers, strict=True):
        votes.sums[span], votes.n_votes[span] = sums, n_votes
    return True
