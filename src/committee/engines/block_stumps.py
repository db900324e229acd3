"""Boosting stumps over blocks of rows: histograms of class weights are added up, the driver chooses the stump.

`BlockStumps` has the methods of the engine's ``StumpTrainer`` and gives the same stumps to the bit, for any blocks: all
that is added up is integers. A round takes two calls: how many rows each side of a split has, and new histograms
after the weights have changed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee import _core

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee.engines.hosts import HostGroup
    from committee.typing import FloatArray, IndexArray

__all__ = ["BlockStumps", "StumpBlockMaker", "StumpBlockState"]


class StumpBlockState:
    """The rows of a block on its host.

    Parameters
    ----------
    bins : BinnedMatrix
        The rows, in the bins of the whole table.
    n_jobs : int
        Number of threads; 0 to decide by the work.
    """

    def __init__(self, bins: _core.BinnedMatrix, n_jobs: int) -> None:
        self._bins, self._n_jobs = bins, n_jobs
        self._block: _core.StumpBlock

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        """``start``, then ``count`` and ``multiply`` round by round; ``weigh`` at any time.

        ``start`` takes the number of classes, the total of the weights and, of the block's rows, labels, units and
        levels. ``count`` takes a split and answers with the rows on each side; ``multiply`` takes the split, the
        factors and the step. ``start`` and ``multiply`` answer with the histograms.
        """
        if name == "start":
            n_classes, total, labels, units, levels = args
            self._block = _core.StumpBlock(self._bins, labels, n_classes, units, levels, total, self._n_jobs)
        elif name == "count":
            return (self._block.assign(args[0]),)
        elif name == "multiply":
            split, factors, step = args
            self._block.assign(split)
            self._block.multiply(factors, *step)
        elif name == "weigh":
            return self._block.weights
        else:
            raise ValueError(f"A block of stumps knows no command {name!r}.")
        return (self._block.histograms,)


@dataclass(frozen=True)
class StumpBlockMaker:
    """Makes the state of a block; picklable if ``load_bins`` is.

    Attributes
    ----------
    load_bins : callable
        The binned rows of a block, by its number.
    n_jobs : int
        Number of threads of a block.
    """

    load_bins: Callable[[int], _core.BinnedMatrix]
    n_jobs: int = 0

    def __call__(self, block: int) -> StumpBlockState:
        """The state of a block."""
        return StumpBlockState(self.load_bins(block), self.n_jobs)


class BlockStumps:
    """One stump a round, on weights that change from round to round, over blocks of rows.

    Parameters
    ----------
    hosts : HostGroup
        Where the blocks are.
    fit : str
        Key of the fit.
    make_state : callable
        A `StumpBlockMaker`.
    mapper : BinMapper
        The bins of the whole table.
    offsets : sequence of int
        First row of each block, and the number of rows.
    labels : ndarray of shape (n_rows,)
        Class numbers.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_rows,) or None
        Weights of the first round; a row of weight zero is absent.
    criterion : str
        The engine's name of the criterion.
    n_jobs : int
        Number of threads of the search.
    n_counted : float
        Rows that all weights stand for.
    """

    def __init__(
        self,
        hosts: HostGroup,
        fit: str,
        make_state: Callable[[int], StumpBlockState],
        mapper: _core.BinMapper,
        offsets: Sequence[int],
        labels: IndexArray,
        n_classes: int,
        weights: FloatArray | None,
        criterion: str,
        n_jobs: int,
        n_counted: float,
    ) -> None:
        self._hosts, self._fit, n_blocks = hosts, fit, len(offsets) - 1
        self._driver = _core.StumpDriver(mapper, n_classes, criterion, n_jobs, n_counted)
        units, levels, total = (None, None, float(len(labels)))
        if weights is not None:
            units, levels, total = _core.start_stump_weights(np.ascontiguousarray(weights, dtype=np.float64))
        own = np.ascontiguousarray(labels, dtype=np.uint32)
        parts = [slice(offsets[k], offsets[k + 1]) for k in range(n_blocks)]
        by_block = [(own[s], None if units is None else units[s], None if levels is None else levels[s]) for s in parts]
        hosts.open(fit, make_state, n_blocks)
        (self._histograms,) = hosts.call(
            fit, "start", (n_classes, total), reduce="sum", changes=True, by_block=by_block
        )
        self._split: tuple[int, int, bool, list[int]]
        self._leaves: Any

    def grow(self) -> tuple[_core.Trees, FloatArray, FloatArray]:
        """The best stump, the decrease of impurity by feature, and the share of the weight by leaf and class."""
        self._split = self._driver.find(self._histograms)
        (self._leaves,) = self._hosts.call(self._fit, "count", (self._split,), reduce="sum", changes=False)
        return self._driver.describe(self._leaves)

    def multiply(self, factors: FloatArray) -> None:
        """Multiply the weight of each row by the factor of its leaf (of the last stump) and class."""
        own = np.ascontiguousarray(factors, dtype=np.float64)
        step = self._driver.plan(own, self._leaves)
        (self._histograms,) = self._hosts.call(
            self._fit, "multiply", (self._split, own, step), reduce="sum", changes=True
        )

    @property
    def weights(self) -> FloatArray:
        """Weight of each row; the sum is 1."""
        parts = self._hosts.call(self._fit, "weigh", reduce="list", changes=False)
        weights: FloatArray = np.concatenate(parts)
        return weights / _core.round_exact(_core.sum_exactly(weights))

    def close(self) -> None:
        """Forget the blocks."""
        self._hosts.close(self._fit)
