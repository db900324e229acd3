"""Which engine grows the trees of a fit."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Literal

from committee import _core
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee._core import Boosting

__all__ = ["start_boosting"]

_logger = logging.getLogger("committee")

_LEAST_CELLS = 10_000_000
"""Values of a table from which on ``engine="auto"`` tries the GPU."""


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
