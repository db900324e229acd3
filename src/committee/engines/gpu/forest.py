"""Random forests and extra-trees on a device, with the CPU's bytes."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.forest_grower import ForestGrower
from committee.engines.gpu.forest_limits import find_forest_obstacle
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from concurrent.futures import Future

    from committee.engines.gpu.device import Device
    from committee.engines.gpu.forest_grower import GrownForest
    from committee.typing import FloatArray, IndexArray

__all__ = ["grow_device_forest"]

_MOST_TREES = 128
"""Trees that are grown together, at most: more of them do not use a device better."""
_ROWS_TOGETHER, _LEAST_TREES = 34_000_000, 16
"""Rows of these trees, about, and how many trees they are then at least."""


@dataclass(frozen=True)
class _Target:
    """Target and weights of all rows, as arguments of the core."""

    labels: IndexArray | None
    n_classes: Sequence[int]
    values: FloatArray | None
    weights: FloatArray | None

    @property
    def arguments(self) -> tuple[IndexArray | None, Sequence[int], FloatArray | None, FloatArray | None]:
        return self.labels, self.n_classes, self.values, self.weights


def _copy_plan(plan: _core.ForestPlan, first: int, n_trees: int) -> _core.ForestPlan:
    own = _core.ForestPlan()
    own.sampling, own.balance_classes = plan.sampling, plan.balance_classes
    own.first_tree, own.n_trees = first, n_trees
    return own


def _list_runs(kinds: IndexArray) -> Iterator[tuple[int, int]]:
    """Neighbours of one kind."""
    ends = [*np.flatnonzero(np.diff(kinds)) + 1, len(kinds)]
    first = 0
    for last in ends:
        yield first, int(last)
        first = int(last)


def _count_trees_together(grower: ForestGrower, n_rows: int) -> int:
    """Trees of a batch: few where they are large, so that the host works on one while the device grows another."""
    few = max(_LEAST_TREES, _ROWS_TOGETHER // max(1, n_rows))
    return grower.count_trees_at_once(min(_MOST_TREES, few))


def _grow_batches(
    grower: ForestGrower,
    data: _core.BinnedMatrix,
    given: _Target,
    params: _core.GrowParams,
    plan: _core.ForestPlan,
    progress: Callable[[int], object] | None,
) -> list[tuple[list[_core.Trees], FloatArray]]:
    """Trees and importances, batch by batch: samples are drawn ahead and arenas made behind the device."""
    last, step = plan.first_tree + plan.n_trees, _count_trees_together(grower, data.n_rows)
    starts = range(plan.first_tree, last, step)
    batches = [_copy_plan(plan, first, min(step, last - first)) for first in starts]
    done: list[tuple[int, Future[tuple[list[_core.Trees], FloatArray]]]] = []

    def draw(batch: _core.ForestPlan) -> _core.ForestSample:
        return _core.sample_forest(data, *given.arguments, params, batch)

    def assemble(own: _core.ForestPlan, grown: GrownForest) -> tuple[list[_core.Trees], FloatArray]:
        try:
            return _core.assemble_forest(data, *given.arguments, params, own, **grown)
        finally:
            grower.take_back(grown)

    with ThreadPoolExecutor(1) as drawing, ThreadPoolExecutor(2) as assembling:
        sample = drawing.submit(draw, batches[0])
        for number, batch in enumerate(batches):
            drawn = sample.result()
            if number + 1 < len(batches):
                sample = drawing.submit(draw, batches[number + 1])
            for start, end in _list_runs(drawn.kinds):
                own = _copy_plan(plan, batch.first_tree + start, end - start)
                grown = grower.grow(drawn, start, end, own.first_tree)
                if len(done) > 1:
                    done[-2][1].result()  # not more than two of them wait in memory
                done.append((own.first_tree + own.n_trees - plan.first_tree, assembling.submit(assemble, own, grown)))
            if progress is not None:
                progress(max((n for n, part in done if part.done()), default=0))
        parts = [part.result() for _, part in done]
    if progress is not None:
        progress(plan.n_trees)
    return parts


def grow_device_forest(
    data: _core.BinnedMatrix | DeviceBins,
    presort: _core.Presort | None,
    labels: IndexArray | None,
    n_classes: Sequence[int],
    values: FloatArray | None,
    weights: FloatArray | None,
    params: _core.GrowParams,
    plan: _core.ForestPlan,
    progress: Callable[[int], object] | None = None,
    device: Device | None = None,
) -> tuple[_core.Trees, FloatArray]:
    """The trees of the plan and their importances, as `_core.grow_forest`, grown on a GPU.

    Parameters
    ----------
    data : BinnedMatrix or DeviceBins
        The table.
    presort, labels, n_classes, values, weights, params, plan, progress
        As `_core.grow_forest` has them.
    device : Device, optional
        By default the current CUDA device.

    Raises
    ------
    EngineError
        If there is no GPU, if it does not do what is asked, or if it has too little memory.
    """
    target = labels if labels is not None else values
    n_outputs = 1 if target is None or target.ndim == 1 else target.shape[1]
    most_classes = max(n_classes, default=1) if labels is not None else 1
    obstacle = find_forest_obstacle(data, n_outputs, most_classes, params, plan)
    if obstacle is not None:
        raise EngineError(obstacle)
    given = _Target(labels, n_classes, values, weights)
    if device is None:
        device = data.device if isinstance(data, DeviceBins) else open_device()
    grower = ForestGrower(device, data, labels, values, params, most_classes)
    described = data.described if isinstance(data, DeviceBins) else data
    parts = _grow_batches(grower, described, given, params, plan, progress)
    members = [member for part in parts for member in part[0]]
    return _core.concatenate_trees(members, params.n_jobs), np.concatenate([part[1] for part in parts])
