"""Which engine grows the trees of a fit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from committee import _core
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee._core import Boosting
    from committee.typing import FloatArray, IndexArray

__all__ = ["grow_planned_forest", "start_boosting"]

_logger = logging.getLogger("committee")

_LEAST_CELLS = 10_000_000
"""Values of a table from which on ``engine="auto"`` tries the GPU."""
_LEAST_ROWS = 2_000_000
"""Rows of all trees of a forest together from which on it does.

Measured beside 16 cores, 100 trees of 20,000 rows: 0.03 s against 0.08 s. Below, the GPU is faster too once its kernels
are loaded, which takes longer than these fits.
"""


def start_boosting(engine: Literal["cpu", "gpu", "auto"], bins: _core.BinnedMatrix, *arguments: Any) -> Boosting:
    """The state of gradient boosting on the CPU or on a GPU; both have the same methods and give the same bytes.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        "gpu" is an error where there is none, or where it does not do what the fit asks; "auto" takes the CPU then, and
        for small tables, and logs which it took.
    bins : BinnedMatrix
        The table.
    *arguments
        The other arguments of `_core.Boosting`.
    """
    if engine == "cpu":
        return _core.Boosting(bins, *arguments)
    if engine == "auto" and bins.n_rows * bins.n_cols < _LEAST_CELLS:
        _logger.info("engine='auto': the CPU, since the table has fewer than %d values.", _LEAST_CELLS)
        return _core.Boosting(bins, *arguments)
    from committee.engines.gpu import GpuBoosting

    try:
        state: Any = GpuBoosting(bins, *arguments)
    except EngineError as error:
        if engine == "gpu":
            raise
        _logger.info("engine='auto': the CPU. %s", error)
        return _core.Boosting(bins, *arguments)
    if engine == "auto":
        _logger.info("engine='auto': the GPU.")
    boosting: Boosting = state
    return boosting


def grow_planned_forest(
    engine: Literal["cpu", "gpu", "auto"],
    bins: _core.BinnedMatrix,
    presort: _core.Presort | None,
    labels: IndexArray | None,
    n_classes: Sequence[int],
    values: FloatArray | None,
    weights: FloatArray | None,
    params: _core.GrowParams,
    plan: _core.ForestPlan,
    progress: Callable[[int], object] | None = None,
) -> tuple[_core.Trees, FloatArray]:
    """The trees of a plan on the CPU or on a GPU, with the same bytes, and their importances.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        As in `start_boosting`.
    bins, presort, labels, n_classes, values, weights, params, plan, progress
        The arguments of `_core.grow_forest`.
    """
    arguments = (bins, presort, labels, n_classes, values, weights, params, plan, progress)
    if engine == "cpu":
        return _core.grow_forest(*arguments)
    if engine == "auto" and bins.n_rows * plan.n_trees < _LEAST_ROWS:
        _logger.info("engine='auto': the CPU, since the trees have fewer than %d rows together.", _LEAST_ROWS)
        return _core.grow_forest(*arguments)
    from committee.engines.gpu import grow_device_forest

    try:
        grown = grow_device_forest(*arguments)
    except EngineError as error:
        if engine == "gpu":
            raise
        _logger.info("engine='auto': the CPU. %s", error)
        return _core.grow_forest(*arguments)
    if engine == "auto":
        _logger.info("engine='auto': the GPU.")
    return grown
