"""Gradient boosting over blocks of rows that other hosts hold, with the trees of a fit in one memory.

The engine's own state drives the fit: it has the queue of leaves, the search for splits, and the trees. Whatever looks
at a row is a command to all blocks, whose answers are sums of integers (or maxima), so that neither the number of
blocks nor their order can change a tree. See :mod:`committee.engines.hosts` for the way to the blocks.
"""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import numpy as np

from committee import _core
from committee.data.binning import take_bytes
from committee.data.dataset import is_in_blocks
from committee.engines.block_commands import EngineCommand, pack_commands, run_commands
from committee.engines.choice import bin_for_gpu
from committee.engines.cluster import find_cluster, refuse_entries
from committee.engines.hosts.host import count_host_threads
from committee.engines.hosts.protocol import Command
from committee.engines.packing import PackedBins, unpack_bins
from committee.engines.partition_bins import PartitionBins, make_partition_bins

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.engines.gpu import Device, DeviceBins
    from committee.engines.hosts.protocol import HostGroup, Reduction
    from committee.typing import FloatArray

__all__ = [
    "BinnedSlices",
    "BlockBoosting",
    "BoostingBlockState",
    "BoostingTraffic",
    "PartitionBlockMaker",
    "bin_for_boosting",
    "boost_in_blocks",
    "choose_leaves_per_step",
    "count_worker_blocks",
    "open_block_boosting",
]

LossSettings: TypeAlias = tuple[str, float, int, Sequence[float]]
"""Name, parameter, number of scores and levels of a loss, as the engine takes them."""

_TAKE_BINS = "take_bins"

_LEAST_ROWS = 500_000
"""Rows for each worker of a cluster below which boosting stays in this process: round trips would take longer than
what they save."""

_FEWEST_BLOCKS, _MOST_BLOCKS, _BLOCK_ROWS = 2, 4, 250_000
"""Blocks of each worker: as many as have so many rows. A worker that comes during a fit takes over some of them. Each
block makes histograms of its own, which the worker adds up, so that many small blocks cost more."""

_FEW_ROWS = 100_000
"""Several workers that have fewer rows each have one block each: a second block costs most where rows are few, since
its histograms are as large as those of many rows, and one more worker would hardly make such a fit faster."""

_LOG = logging.getLogger("committee")


class BoostingBlockState:
    """The rows of one block on its host.

    Parameters
    ----------
    block : int
        The number of the block.
    bins : BinnedMatrix or None
        Its rows; None if they come with the first command.
    """

    def __init__(self, block: int, bins: _core.BinnedMatrix | None = None) -> None:
        self._number = block
        self._block: _core.BoostingBlock | None = None
        self._rounds: _core.BlockRounds | None = None
        if bins is not None:
            self._take_bins(bins)

    def _take_bins(self, bins: _core.BinnedMatrix) -> None:
        self._block = _core.BoostingBlock(bins, count_host_threads() or 1)

    def run(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Run commands one after the other; their answers, one after the other (most have none)."""
        if name == _TAKE_BINS:
            self._take_bins(unpack_bins(PackedBins(*args)))
            return ()
        return run_commands(self._find_block().run, args)

    @staticmethod
    def run_together(
        states: Sequence[BoostingBlockState], name: str, args: Sequence[tuple[Any, ...]]
    ) -> tuple[Any, ...]:
        """Run commands on each block, and the last one, which has rounds, on all of them together; its answer."""
        *_, (_, request) = args[0][0]
        for state, (commands, *further) in zip(states, args, strict=True):
            state.run(name, (commands[:-1], *(own[:-1] for own in further)))
        first = states[0]
        first._rounds = first._rounds or _core.BlockRounds()
        return first._rounds.run([state._find_block() for state in states], request)

    def _find_block(self) -> _core.BoostingBlock:
        if self._block is None:
            raise ValueError(f"Block {self._number} of boosting has no bins yet: the first command is {_TAKE_BINS!r}.")
        return self._block


@dataclass(frozen=True)
class PartitionBlockMaker:
    """Makes the state of a block from the partitions that it has.

    Attributes
    ----------
    bins : PartitionBins
        Which partitions, and the bins.
    """

    bins: PartitionBins

    def __call__(self, block: int) -> BoostingBlockState:
        """The state of a block."""
        return BoostingBlockState(block, self.bins.load(block))

    def name_block(self, block: int) -> str:
        """A block as a sentence calls it."""
        return self.bins.name_block(block)


class BinnedSlices(Sequence[tuple[Any, ...]]):
    """The bins of each block, as arguments of a command; they are cut out of the table when they are sent.

    Parameters
    ----------
    bins : BinnedMatrix
        The table.
    offsets : sequence of int
        First row of each block, and the number of all rows.
    """

    def __init__(self, bins: _core.BinnedMatrix, offsets: Sequence[int]) -> None:
        self._bins, self._offsets = bins, offsets

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, block: Any) -> Any:
        if isinstance(block, slice):
            return [self[k] for k in range(*block.indices(len(self)))]
        return take_bytes(_core.slice_rows(self._bins, self._offsets[block], self._offsets[block + 1]))


@dataclass
class BoostingTraffic:
    """What went to the hosts and came back.

    Attributes
    ----------
    n_calls : int
        Round trips.
    bytes_sent : int
        Bytes of the arguments that every host gets, and of those of single blocks.
    bytes_received : int
        Bytes of the answers of one host, or of all blocks where answers are lists.
    n_trees : int
        Trees grown.
    """

    n_calls: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0
    n_trees: int = 0


class _BlockCalls:
    """The way from the engine to the hosts of a fit, and the log by which a lost block is made again."""

    def __init__(self, hosts: HostGroup, fit: str) -> None:
        self._hosts, self._fit = hosts, fit
        self._kept: list[Command] = []
        self.traffic = BoostingTraffic()

    def send_bins(self, bins: _core.BinnedMatrix, offsets: Sequence[int]) -> None:
        """Give each block its part of the table."""
        command = Command(_TAKE_BINS, (bins.mapper,), BinnedSlices(bins, offsets))
        self._hosts.call(self._fit, *command[:2], reduce="list", changes=True, by_block=command.by_block)
        self._kept.append(command)

    def call(self, commands: list[EngineCommand], how: Reduction, changes: bool) -> tuple[Any, ...]:
        """Run commands on all blocks; their answers, reduced, or one block after the other; none if nothing was run."""
        sent = pack_commands(commands)
        answer = self._hosts.call(self._fit, sent.name, sent.args, reduce=how, changes=changes, by_block=sent.by_block)
        if answer is None:
            return ()
        values = tuple(chain.from_iterable(answer)) if how == "list" else answer
        self.traffic.n_calls += 1
        self.traffic.bytes_sent += _count_bytes(sent.args) + _count_bytes(sent.by_block)
        self.traffic.bytes_received += _count_bytes(values)
        return tuple(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value for value in values)

    def lie_together(self) -> bool:
        """Whether rounds can run beside the blocks, since one host has all of them."""
        return self._hosts.lie_together(self._fit)

    def keep(self, commands: list[EngineCommand], state: list[EngineCommand]) -> None:
        """Replace the log of a round by what it has led to."""
        self._kept.extend(pack_commands([command]) for command in commands)
        self.traffic.n_trees += sum(name in ("add_tree", "settle_tree") for name, _, _ in commands)
        self._hosts.compact(self._fit, [*self._kept, *(pack_commands([command]) for command in state)])


class BlockBoosting:
    """A boosted fit over the blocks of a host group.

    Parameters
    ----------
    hosts : HostGroup
        Where the blocks are.
    bins : BinnedMatrix or PartitionBins
        The table, which is cut into blocks; a byte a value travels to the hosts, once. Or the partitions that hosts
        read by themselves: then only the bins travel.
    offsets : sequence of int
        First row of each block, and the number of all rows.
    y : ndarray or None
        The target of all rows, as the engine reads it.
    weights : ndarray of shape (n_rows,) or None
        Weights of all rows.
    loss : tuple
        Name, parameter, number of scores and levels of the loss.
    params : BoostingParams
        The engine's parameters.
    leaves_per_step : int, optional
        Leaves that are split in one round trip, before it is known which come next; the tree does not depend on it.
    trees_per_step : int, optional
        Trees of a round, those of several classes or outputs, that are grown together: each round trip takes all of
        them a step further, and each block copies its rows for all but one of them. As many as take little memory if
        it is left out; the trees do not depend on it.

    Attributes
    ----------
    state : Boosting
        The engine's state.
    traffic : BoostingTraffic
        Round trips and bytes so far.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import _core
    >>> from committee.engines.hosts import LocalHosts
    >>> X = np.arange(1000.0).reshape(-1, 1)
    >>> mapper = _core.BinMapper.fit(X, None, np.zeros(1, dtype=np.uint32), 255, 1)
    >>> bins, loss = mapper.transform(X), ("squared_error", np.nan, 1, [])
    >>> params = _core.BoostingParams()
    >>> boosting = BlockBoosting(LocalHosts(), bins, [0, 300, 1000], X[:, 0], None, loss, params)
    >>> boosting.state.add_constant(boosting.state.find_baseline())
    >>> boosting.state.boost(2)
    >>> boosting.state.n_trees
    2
    >>> boosting.close()
    """

    def __init__(
        self,
        hosts: HostGroup,
        bins: _core.BinnedMatrix | PartitionBins,
        offsets: Sequence[int],
        y: FloatArray | None,
        weights: FloatArray | None,
        loss: LossSettings,
        params: _core.BoostingParams,
        leaves_per_step: int | None = None,
        trees_per_step: int | None = None,
    ) -> None:
        self._fit = uuid4().hex
        # Hosts forget the blocks of a fit that failed, too.
        self._close = weakref.finalize(self, hosts.close, self._fit)
        calls = _BlockCalls(hosts, self._fit)
        if isinstance(bins, PartitionBins):
            hosts.open(self._fit, PartitionBlockMaker(bins), len(offsets) - 1)
        else:
            hosts.open(self._fit, BoostingBlockState, len(offsets) - 1)
            calls.send_bins(bins, offsets)
        name, parameter, n_scores, levels = loss
        n_ahead = choose_leaves_per_step(params.max_leaf_nodes) if leaves_per_step is None else leaves_per_step
        self.state = _core.make_block_boosting(
            calls,
            bins.mapper,
            list(offsets),
            y,
            weights,
            name,
            parameter,
            n_scores,
            params,
            list(levels),
            n_ahead,
            trees_per_step or 0,
        )
        self.traffic = calls.traffic

    @property
    def fit_name(self) -> str:
        """The name under which the hosts know the fit."""
        return self._fit

    def close(self) -> None:
        """Let the hosts forget the blocks; the trees stay."""
        self._close()


@dataclass(frozen=True)
class _BlockPlan:
    """Where the next boosted fits have their blocks, and how many."""

    hosts: HostGroup
    n_blocks: int


_PLAN: ContextVar[_BlockPlan | None] = ContextVar("committee_boosting_blocks", default=None)


@contextmanager
def boost_in_blocks(hosts: HostGroup, n_blocks: int) -> Iterator[None]:
    """Boosted fits inside the ``with`` block divide their rows among hosts; the models are the same.

    Parameters
    ----------
    hosts : HostGroup
        Where the blocks of rows are.
    n_blocks : int
        Their number.

    Examples
    --------
    >>> from committee import HistGradientBoostingRegressor
    >>> from committee.engines.hosts import LocalHosts
    >>> X, y = [[k] for k in range(200)], range(200)
    >>> with boost_in_blocks(LocalHosts(), 3):
    ...     model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    >>> bool((model.predict(X) == HistGradientBoostingRegressor(max_iter=5).fit(X, y).predict(X)).all())
    True
    """
    token = _PLAN.set(_BlockPlan(hosts, n_blocks))
    try:
        yield
    finally:
        _PLAN.reset(token)


def open_block_boosting(
    bins: _core.BinnedMatrix | PartitionBins,
    y: FloatArray | None,
    weights: FloatArray | None,
    loss: LossSettings,
    params: _core.BoostingParams,
) -> BlockBoosting | None:
    """A boosted fit whose rows are divided among hosts; None if it stays in this process.

    Inside `committee.cluster` each worker has two to four blocks, if the table has 500,000 rows for each worker, or if
    whatever can be distributed is to be. Workers that come later take over some of the blocks.

    Parameters
    ----------
    bins : BinnedMatrix or PartitionBins
        The table, as `bin_for_boosting` gives it.
    y : ndarray or None
        The target, as the engine reads it; None if gradients are given.
    weights : ndarray of shape (n_rows,) or None
        Row weights.
    loss : tuple
        Name, parameter, number of scores and levels of the loss.
    params : BoostingParams
        The engine's parameters.
    """
    plan = _PLAN.get() or _plan_on_cluster(bins.n_rows)
    if plan is None or (isinstance(bins, _core.BinnedMatrix) and refuse_entries("Boosting", bins)):
        return None
    if isinstance(bins, PartitionBins):
        offsets = bins.offsets
    else:
        offsets = [bins.n_rows * k // plan.n_blocks for k in range(plan.n_blocks + 1)]
        _LOG.info("The bins of %d rows are sent to %d blocks, a byte a value.", bins.n_rows, plan.n_blocks)
    return BlockBoosting(plan.hosts, bins, offsets, y, weights, loss, params)


def bin_for_boosting(
    dataset: Dataset,
    max_bins: int,
    n_jobs: int,
    engine: str = "cpu",
    prepare: Callable[[Device], None] | None = None,
) -> _core.BinnedMatrix | PartitionBins | DeviceBins:
    """The table of a boosted fit: in bins, or as the partitions that workers read and bin by themselves.

    Parameters
    ----------
    dataset : Dataset
        The training rows.
    max_bins : int
        The most bins of a column.
    n_jobs : int
        Threads of this process.
    engine : {"cpu", "gpu", "auto"}, default="cpu"
        Where the rounds are computed; only "cpu" has blocks.
    prepare : callable, optional
        As in `committee.engines.choice.bin_for_gpu`.
    """
    if engine == "cpu" and is_in_blocks(dataset.X):
        plan = _PLAN.get() or _plan_on_cluster(dataset.n_rows, quiet=True)
        found = None if plan is None else make_partition_bins(dataset, max_bins, n_jobs, plan.n_blocks)
        if found is not None:
            return found
    on_device = bin_for_gpu(engine, dataset, max_bins, n_jobs, prepare)
    return dataset.binned(max_bins, n_jobs) if on_device is None else on_device


def _plan_on_cluster(n_rows: int, *, quiet: bool = False) -> _BlockPlan | None:
    """Blocks for each worker of the cluster in use; unless ``quiet``, the log says why there are none."""
    active = find_cluster()
    if active is None:
        return None
    level = logging.DEBUG if quiet else logging.INFO
    n_hosts = len(active.hosts.require_hosts())
    if active.distribute != "always" and n_rows < _LEAST_ROWS * n_hosts:
        text = "Boosting runs in this process: %d rows are fewer than %d for each of %d workers."
        _LOG.log(level, text, n_rows, _LEAST_ROWS, n_hosts)
        return None
    description = active.hosts.pool.description
    if not active.hosts.keeps_state:
        _LOG.log(level, "Boosting runs in this process: %s cannot hold blocks of rows.", description)
        return None
    n_blocks = n_hosts * count_worker_blocks(n_rows, n_hosts)
    _LOG.log(level, "Boosting runs on %s, with %d blocks of rows on %d workers.", description, n_blocks, n_hosts)
    return _BlockPlan(active.hosts, n_blocks)


def count_worker_blocks(n_rows: int, n_workers: int) -> int:
    """Blocks of rows that each worker of a cluster has at first.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    n_workers : int
        Workers at the start of the fit.

    Examples
    --------
    >>> [count_worker_blocks(n_rows, 2) for n_rows in (1_000, 1_000_000, 1_600_000, 10_000_000)]
    [1, 2, 3, 4]
    >>> count_worker_blocks(1_000, 1)  # a second worker halves the work
    2
    """
    fewest = 1 if n_workers > 1 and n_rows < n_workers * _FEW_ROWS else _FEWEST_BLOCKS
    return min(max(n_rows // (n_workers * _BLOCK_ROWS), fewest), _MOST_BLOCKS)


def choose_leaves_per_step(max_leaf_nodes: int) -> int:
    """Leaves to split in one round trip: few are expanded in vain, and few round trips are left.

    Examples
    --------
    >>> choose_leaves_per_step(31), choose_leaves_per_step(255)
    (4, 24)
    """
    return 4 if 0 < max_leaf_nodes <= 64 else 24


def _count_bytes(value: Any) -> int:
    """Bytes of the arrays and numbers in a message."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, tuple | list):
        return sum(_count_bytes(part) for part in value)
    return 8 if isinstance(value, int | float) else 0
