"""Blocks of a boosted fit that workers make by themselves: from the partitions of a table, and its bins."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.data.dataset import is_in_blocks
from committee.data.sources.tables import SequenceSource
from committee.engines.hosts.host import count_host_threads

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.data import Dataset
    from committee.data.blocks import BlockTable

__all__ = ["PartitionBins", "group_partitions", "make_partition_bins"]

_LOG = logging.getLogger("committee")


@dataclass(frozen=True)
class PartitionBins:
    """The bins of a table, and which partitions each block is made of; travels in the place of the bytes.

    Attributes
    ----------
    X : BlockTable
        The partitions, which workers load again whenever a block is lost.
    mapper : BinMapper
        The bins of the whole table.
    groups : sequence of (int, int)
        First partition of each block, and the one behind its last.
    """

    X: BlockTable
    mapper: _core.BinMapper
    groups: Sequence[tuple[int, int]]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self.X.shape[0]

    @property
    def offsets(self) -> list[int]:
        """First row of each block, and the number of all rows."""
        offsets = self.X.offsets
        return [*(int(offsets[first]) for first, _ in self.groups), self.n_rows]

    def load(self, block: int) -> _core.BinnedMatrix:
        """Read the partitions of a block, and put their rows into bins."""
        first, last = self.groups[block]
        offsets = self.X.offsets
        builder = _core.BinnedBuilder(self.mapper, int(offsets[last] - offsets[first]))
        for partition in range(first, last):
            if offsets[partition] < offsets[partition + 1]:
                place = int(offsets[partition] - offsets[first])
                builder.write(self.X.load(partition), place, count_host_threads() or 1)
        return builder.finish()

    def name_block(self, block: int) -> str:
        """The partitions of a block, as a sentence calls them."""
        first, last = self.groups[block]
        names = self.X.block_name(first), self.X.block_name(last - 1)
        return names[0] if last - first == 1 else " to ".join(names)


def group_partitions(offsets: Sequence[int], n_groups: int) -> list[tuple[int, int]]:
    """Neighbouring partitions, in at most so many groups of about equally many rows; none is without rows.

    Parameters
    ----------
    offsets : sequence of int
        First row of each partition, and the number of all rows.
    n_groups : int
        The most groups.

    Examples
    --------
    >>> group_partitions([0, 10, 10, 20, 30, 40], 2)
    [(0, 3), (3, 5)]
    >>> group_partitions([0, 0, 5], 4)
    [(0, 2)]
    """
    places = np.asarray(offsets)
    wanted = places[-1] * np.arange(1, n_groups) / n_groups
    cuts = np.unique(np.searchsorted(places, wanted))
    # A cut between partitions without rows would leave a group empty.
    ends = [int(cut) for cut in cuts if 0 < places[cut] < places[-1]]
    bounds = [0, *{int(places[end]): end for end in ends}.values(), len(places) - 1]
    return list(pairwise(bounds))


def make_partition_bins(dataset: Dataset, max_bins: int, n_jobs: int, n_blocks: int) -> PartitionBins | None:
    """The blocks of a table whose partitions other processes can load; None for any other table.

    Tables of a list are in this process already, and a byte a value is less than their rows.

    Parameters
    ----------
    dataset : Dataset
        The training rows.
    max_bins : int
        The most bins of a column.
    n_jobs : int
        Threads of this process.
    n_blocks : int
        The most blocks.
    """
    X = dataset.X
    if not is_in_blocks(X) or hasattr(X, "make_bins") or isinstance(X.opened.source, SequenceSource):
        return None
    groups = group_partitions(X.offsets.tolist(), n_blocks)
    _LOG.info("%d partitions are read and binned by the workers that keep them.", X.n_blocks)
    return PartitionBins(X, dataset.learn_block_bins(max_bins, n_jobs), groups)
