"""Trees of a forest grown elsewhere: a tree depends on the seed and its number only, so that any worker can grow it."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import sort_columns
from committee.engines import get_engine
from committee.engines.cluster import check_host_memory, choose_hosts, find_cluster, refuse_entries
from committee.engines.hosts.host import count_host_threads
from committee.engines.packing import PackedBins, pack_bins, pack_params, unpack_bins, unpack_params
from committee.learners.tree_importances import MemberImportances, join_importances, keep_importances

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.data.sampling import SamplePlan
    from committee.engines import BinnedMatrix, Presort, Trees
    from committee.engines.hosts.recovering import RecoveringHosts
    from committee.ensembles.forest_builder import ForestBuilder
    from committee.learners.training_arrays import TrainingArrays
    from committee.typing import FloatArray, FloatMatrix, IndexArray

__all__ = ["SharedForest", "choose_tree_hosts", "grow_on_hosts", "grow_tree_range"]

_RECORDS = 2
"""A worker holds a byte a value in columns, and one in records."""
_RANGES = 4
"""Ranges of trees for each worker, so that a slow one does not hold up the others."""


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
    params, plan : dict
        `GrowParams` and `ForestPlan` by name.
    samples : SamplePlan
        How the rows of a tree are drawn.
    n_drawn, replace_features
        How its features are drawn.
    """

    bins: PackedBins
    table: FloatMatrix | None
    n_levels: IndexArray
    labels: IndexArray | None
    n_classes: list[int]
    values: FloatArray | None
    weights: FloatArray | None
    params: dict[str, Any]
    plan: dict[str, Any]
    samples: SamplePlan
    n_drawn: int
    replace_features: bool
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
    plan = unpack_params(engine.ForestPlan(), shared.plan)
    sampling = shared.samples.fill(engine.RowSampling())
    sampling.n_features, sampling.replace_features = shared.n_drawn, shared.replace_features
    plan.sampling = sampling
    plan.first_tree, plan.n_trees = span[0], span[1] - span[0]
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
    first, sampling = len(builder), builder.plan.sampling
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
        pack_params(builder.plan, ("sampling", "first_tree", "n_trees")),
        builder.samples,
        int(sampling.n_features),
        bool(sampling.replace_features),
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
