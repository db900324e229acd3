"""Which engine grows the trees of a fit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee import _core
from committee.data.device_tables import DeviceTable
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee._core import Boosting, StumpTrainer
    from committee.data import Dataset
    from committee.engines.gpu import Device, DeviceBins
    from committee.typing import FloatArray, IndexArray

__all__ = [
    "bin_for_gpu",
    "choose_forest_engine",
    "compile_for_boosting",
    "compile_for_forest",
    "refuse_members",
    "start_boosting",
    "start_stumps",
]

_logger = logging.getLogger("committee")

_LEAST_CELLS = 1_000_000
"""Values of a table from which on ``engine="auto"`` tries the GPU.

Measured beside 16 cores (`benchmarks/results/gpu_crossing.md`): the GPU is as fast for 30,000 values, and twice to four
times as fast for a million, once its kernels are loaded. Loading takes one or two seconds, longer than smaller fits.
"""
_LEAST_ROWS = 2_000_000
"""Rows of all trees of a forest together from which on it does.

Measured beside 16 cores, 100 trees of 20,000 rows: 0.03 s against 0.08 s. Below, the GPU is faster too once its kernels
are loaded, which takes longer than these fits.
"""


def bin_for_gpu(
    engine: str,
    dataset: Dataset,
    max_bins: int,
    n_jobs: int,
    prepare: Callable[[Device], None] | None = None,
) -> DeviceBins | None:
    """The binned table of a fit on a GPU, made there; None where the host makes it.

    The host bins small tables, sparse ones, tables in blocks and those with categories.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        As in `start_boosting`.
    dataset : Dataset
        The training rows.
    max_bins : int
        The most bins of a column.
    n_jobs : int
        Threads that learn the bins.
    prepare : callable, optional
        Called with the device before the table is binned: starts what the fit needs afterwards.
    """
    if engine == "cpu" or not isinstance(dataset.X, np.ndarray | DeviceTable):
        return None
    from committee.engines.gpu import device, device_bins

    n_counted = dataset.n_rows if dataset.weights is None else int(np.count_nonzero(dataset.weights > 0.0))
    if n_counted < device_bins.LEAST_DEVICE_ROWS or dataset.schema.has_categories:
        return None
    if engine == "auto" and dataset.n_rows * dataset.n_features < _LEAST_CELLS:
        return None

    def make(*arguments: Any) -> DeviceBins:
        opened = device.open_device()
        if prepare is not None:
            prepare(opened)
        return device_bins.bin_on_device(opened, *arguments)

    try:
        return dataset.binned_by(make, max_bins, n_jobs)
    except EngineError:
        if engine == "gpu":
            raise
        return None  # start_boosting says why


def compile_for_boosting(
    device: Device,
    n_rows: int,
    weights: FloatArray | None,
    loss: tuple[str, int],
    params: _core.BoostingParams,
    *,
    given: bool,
) -> None:
    """Compile the kernels that a fit will need while its table is binned, where these are known before.

    Parameters
    ----------
    device : Device
        Where.
    n_rows : int
        Rows of the table.
    weights : ndarray of float64 or None
        Of the rows.
    loss : tuple
        Name of the loss and the number of its scores.
    params : BoostingParams
        Parameters of the trees.
    given : bool
        Whether gradients are the caller's.
    """
    from committee.engines.gpu.boosting_kernels import foresee_kernels

    kernels = foresee_kernels(n_rows, weights, *loss, params, given=given)
    if kernels is not None:
        kernels.compile(device)


def compile_for_forest(device: Device, n_classes: int | None, params: _core.GrowParams) -> None:
    """The same for a forest of rows without weights; ``n_classes`` is None where it predicts numbers."""
    from committee.engines.gpu.forest_grower import compile_forest, foresee_kind

    kind = foresee_kind(n_classes, params)
    if kind is not None:
        compile_forest(device, kind, params)


def start_boosting(
    engine: Literal["cpu", "gpu", "auto"], bins: _core.BinnedMatrix | DeviceBins, *arguments: Any
) -> Boosting:
    """The state of gradient boosting on the CPU or on a GPU; both have the same methods and give the same bytes.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        "gpu" is an error where there is none, or where it does not do what the fit asks; "auto" takes the CPU then, and
        for small tables, and logs which it took.
    bins : BinnedMatrix or DeviceBins
        The table.
    *arguments
        The other arguments of `_core.Boosting`.
    """
    if engine == "cpu":
        return _start_on_cpu(bins, arguments)
    if engine == "auto" and bins.n_rows * bins.n_cols < _LEAST_CELLS:
        _logger.info("engine='auto': the CPU, since the table has fewer than %d values.", _LEAST_CELLS)
        return _start_on_cpu(bins, arguments)
    from committee.engines.gpu import GpuBoosting

    try:
        state: Any = GpuBoosting(bins, *arguments)
    except EngineError as error:
        if engine == "gpu":
            raise
        _logger.info("engine='auto': the CPU. %s", error)
        return _start_on_cpu(bins, arguments)
    if engine == "auto":
        _logger.info("engine='auto': the GPU.")
    boosting: Boosting = state
    return boosting


def _start_on_cpu(bins: _core.BinnedMatrix | DeviceBins, arguments: tuple[Any, ...]) -> Boosting:
    return _core.Boosting(_take_to_host(bins), *arguments)


def choose_forest_engine(
    engine: Literal["cpu", "gpu", "auto"], n_rows: int, n_trees: int
) -> Callable[..., tuple[_core.Trees, FloatArray]]:
    """The function that grows the trees of a plan on the CPU or on a GPU; both give the same bytes.

    It is chosen before and not called here, so that a fit on the CPU calls the core itself.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        As in `start_boosting`.
    n_rows, n_trees : int
        Rows of the table, and trees that are grown at once.

    Returns
    -------
    callable
        With the arguments and the result of `_core.grow_forest`.
    """
    if engine == "cpu":
        return _core.grow_forest
    if engine == "auto" and n_rows * n_trees < _LEAST_ROWS:
        _logger.info("engine='auto': the CPU, since the trees have fewer than %d rows together.", _LEAST_ROWS)
        return _grow_on_cpu
    from committee.engines.gpu import grow_device_forest

    return grow_device_forest if engine == "gpu" else _grow_where_possible


def _grow_on_cpu(bins: _core.BinnedMatrix | DeviceBins, *arguments: Any) -> tuple[_core.Trees, FloatArray]:
    return _core.grow_forest(_take_to_host(bins), *arguments)


def _take_to_host(bins: _core.BinnedMatrix | DeviceBins) -> _core.BinnedMatrix:
    return bins if isinstance(bins, _core.BinnedMatrix) else bins.to_host()


def _grow_where_possible(*arguments: Any) -> tuple[_core.Trees, FloatArray]:
    """On a GPU, or on the CPU where there is none or it does not do what the fit asks."""
    from committee.engines.gpu import grow_device_forest

    try:
        grown = grow_device_forest(*arguments)
    except EngineError as error:
        _logger.info("engine='auto': the CPU. %s", error)
        return _grow_on_cpu(*arguments)
    _logger.info("engine='auto': the GPU.")
    return grown


def start_stumps(
    engine: Literal["cpu", "gpu", "auto"],
    bins: _core.BinnedMatrix | DeviceBins,
    presort: _core.Presort | None,
    labels: IndexArray,
    n_classes: int,
    weights: FloatArray | None,
    criterion: str,
    n_jobs: int,
    n_counted: float,
) -> StumpTrainer:
    """Boosting of stumps on the CPU or on a GPU; both have the same methods and give the same bytes.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        As in `start_boosting`.
    bins : BinnedMatrix or DeviceBins
        The table.
    presort, labels, n_classes, weights, criterion, n_jobs, n_counted
        The other arguments of `_core.StumpTrainer`.
    """
    rest = (labels, n_classes, weights, criterion, n_jobs, n_counted)
    if engine == "cpu":
        return _core.StumpTrainer(_take_to_host(bins), presort, *rest)
    if engine == "auto" and bins.n_rows * bins.n_cols < _LEAST_CELLS:
        _logger.info("engine='auto': the CPU, since the table has fewer than %d values.", _LEAST_CELLS)
        return _core.StumpTrainer(_take_to_host(bins), presort, *rest)
    from committee.engines.gpu import stumps

    try:
        obstacle = stumps.find_stump_obstacle(bins, exact=presort is not None)
        if obstacle is not None:
            raise EngineError(obstacle)
        state: Any = stumps.GpuStumps(bins, *rest)
    except EngineError as error:
        if engine == "gpu":
            raise
        _logger.info("engine='auto': the CPU. %s", error)
        return _core.StumpTrainer(_take_to_host(bins), presort, *rest)
    if engine == "auto":
        _logger.info("engine='auto': the GPU.")
    trainer: StumpTrainer = state
    return trainer


def refuse_members(engine: Literal["cpu", "gpu", "auto"], owner: str, what: str) -> None:
    """Say that the GPU does not fit such members; "auto" takes the CPU for them.

    Parameters
    ----------
    engine : {"cpu", "gpu", "auto"}
        As in `start_boosting`.
    owner : str
        Name of the estimator.
    what : str
        What its members are.
    """
    if engine == "gpu":
        raise EngineError(
            f"The GPU engine of {owner} boosts stumps: classification trees with max_depth=1 and no other limits, on "
            f"weights (method='reweight') and on tables in memory. It does not support {what}. Set engine='cpu'."
        )
    if engine == "auto":
        _logger.info("engine='auto': the CPU, since the GPU does not boost %s.", what)
