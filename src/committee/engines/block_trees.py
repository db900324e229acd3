"""Trees over blocks of rows that other hosts hold: histograms of integers are added up, the driver searches them.

`BlockTrees` gives the trees of the engine's ``grow_tree`` over all rows, to the bit, for any blocks: what is added up
is integers, and the sums of doubles that the leaves of a regression hold go from block to block in the order of the
rows. A tree takes a few round trips for weights and targets, one for each level, and for numbers one for each block.
"""

from __future__ import annotations

import logging
import weakref
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

import numpy as np

from committee import _core
from committee.data.dataset import is_in_blocks
from committee.engines.block_boosting import count_worker_blocks
from committee.engines.block_commands import EngineCommand, pack_commands, run_commands
from committee.engines.cluster import choose_hosts, find_cluster
from committee.engines.hosts.host import count_host_threads
from committee.engines.hosts.protocol import Command
from committee.engines.partition_bins import make_partition_bins

if TYPE_CHECKING:
    from committee._core import GrowParams, Trees
    from committee.data import Dataset
    from committee.engines.hosts.protocol import HostGroup, Reduction
    from committee.engines.partition_bins import PartitionBins
    from committee.typing import AnyArray, BoolArray, FloatArray, IndexArray

__all__ = ["BlockTree", "BlockTrees", "TreeBlockMaker", "TreeBlockState", "open_block_trees"]

_RUN, _DIVIDE = "run", "divide"
_LOG = logging.getLogger("committee")


class TreeBlockState:
    """The rows of one block on its host, and their weights in the rounds of boosting.

    Parameters
    ----------
    bins : BinnedMatrix
        The rows, in the bins of the whole table.
    """

    def __init__(self, bins: _core.BinnedMatrix) -> None:
        self._block = _core.TreeBlock(bins, count_host_threads() or 1)
        self._labels: AnyArray
        self._weights: FloatArray
        self._leaves: IndexArray

    def run(self, name: str, args: tuple[Any, ...]) -> Any:
        """A command, and its answer.

        ``labels``, ``values`` and ``weights`` set these for the trees that come, ``run`` takes commands of the engine,
        ``leaves`` answers with the leaf of each row. Boosting with weights that are kept here begins with ``keep``;
        ``settle`` keeps the leaves of a tree, ``sum`` and ``multiply`` take a table by leaf and class, ``scale``
        divides the weights by their total.
        """
        if name == _RUN:
            return run_commands(self._block.run, args)
        if name == "sum":
            return (_core.sum_exactly(self._weights, self._take_own(args[0])),)
        if name == "leaves":
            return self._block.find_leaves(args[0])
        if name == "read":
            return self._weights
        return self._change(name, args)

    def _change(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        if name == "labels":
            self._labels = args[1].astype(np.intp)
            self._block.set_labels(args[1], args[0])
        elif name == "values":
            self._block.set_values(args[0])
        elif name == "weights":
            self._block.set_weights(args[0])
        elif name == "settle":
            self._leaves = self._block.find_leaves(args[0]).astype(np.intp)
        elif name == "keep":
            self._weights = args[0]
            return (_core.sum_exactly(self._weights),)
        elif name == "multiply":
            self._weights = self._weights * self._take_own(args[0])
            return (_core.sum_exactly(self._weights),)
        elif name == "scale":
            self._weights = self._weights / args[0]
            self._block.set_weights(self._weights)
            return (int(np.count_nonzero(self._weights)),)
        else:
            raise ValueError(f"A block of trees knows no command {name!r}.")
        return ()

    def _take_own(self, table: FloatArray) -> FloatArray:
        """table[leaf, class] of each row."""
        return table[self._leaves, self._labels]


@dataclass(frozen=True)
class TreeBlockMaker:
    """Makes the state of a block from the partitions that it has.

    Attributes
    ----------
    bins : PartitionBins
        Which partitions, and the bins.
    """

    bins: PartitionBins

    def __call__(self, block: int) -> TreeBlockState:
        """The state of a block."""
        return TreeBlockState(self.bins.load(block))

    def name_block(self, block: int) -> str:
        """A block as a sentence calls it."""
        return self.bins.name_block(block)


class BlockTree(NamedTuple):
    """A tree that was grown over blocks.

    Attributes
    ----------
    trees : Trees
        An arena with this tree alone.
    importances : ndarray of shape (n_features,)
        Decrease of impurity by each feature, not normalised.
    names : ndarray of shape (n_leaves,)
        Names of the leaves, as blocks know them.
    values : ndarray of shape (n_leaves, width)
        What they hold.
    """

    trees: Trees
    importances: FloatArray
    names: IndexArray
    values: FloatArray


class BlockTrees:
    """Trees over the blocks of a host group, one after the other, on targets and weights that may change between them.

    Parameters
    ----------
    hosts : HostGroup
        Where the blocks are.
    bins : PartitionBins
        The partitions that hosts read by themselves.
    """

    def __init__(self, hosts: HostGroup, bins: PartitionBins) -> None:
        self._hosts, self._bins = hosts, bins
        self._fit = f"trees {uuid4().hex}"
        self._close = weakref.finalize(self, hosts.close, self._fit)  # also of a fit that failed
        self._spans = [slice(first, last) for first, last in pairwise(bins.offsets)]
        self._target: Command | None = None
        self._log: list[Command] = []
        hosts.open(self._fit, TreeBlockMaker(bins), len(self._spans))

    # Trees.

    def set_labels(self, labels: IndexArray, n_classes: int) -> None:
        """Classes of all rows; a part goes to each block."""
        self._set_target(Command("labels", (n_classes,), self._cut(labels, np.uint32)))
        self._n_classes = [n_classes]

    def set_values(self, values: FloatArray) -> None:
        """Numbers of all rows; a part goes to each block."""
        self._set_target(Command("values", (), self._cut(values, np.float64)))
        self._n_classes = []

    def set_weights(self, weights: FloatArray) -> None:
        """Weights of all rows in the next tree; a part goes to each block."""
        self._restart()
        self._change(Command("weights", (), self._cut(weights, np.float64)), "list")

    def grow(self, params: GrowParams) -> BlockTree:
        """The tree on the weights as they are."""
        n_blocks = len(self._spans)
        grown = _core.grow_over_blocks(self, self._bins.mapper, self._n_classes, self._bins.n_rows, n_blocks, params)
        return BlockTree(*grown)

    def find_leaves(self, tree: BlockTree) -> IndexArray:
        """The leaf of each row in the tree that was grown last."""
        parts = self._hosts.call(self._fit, "leaves", (tree.names,), reduce="list", changes=False)
        return np.concatenate(parts)

    def call(self, commands: list[EngineCommand], how: Reduction, changes: bool) -> tuple[Any, ...]:
        """Commands of the engine, to all blocks."""
        sent = pack_commands(commands)
        if changes:
            # Histograms are not made again when a lost block is brought up to date.
            self._log.append(pack_commands([_without_histograms(command) for command in commands]))
        answer = self._hosts.call(self._fit, sent.name, sent.args, reduce=how, changes=changes, by_block=sent.by_block)
        values = tuple(chain.from_iterable(answer)) if how == "list" else answer
        return tuple(np.ascontiguousarray(value) if isinstance(value, np.ndarray) else value for value in values)

    # Weights that blocks keep from tree to tree.

    def keep_weights(self, weights: FloatArray) -> None:
        """Weights of the first tree; a part goes to each block, which changes them by itself from now on."""
        self._restart()
        self._normalize(Command("keep", (), self._cut(weights, np.float64)))

    def settle(self, tree: BlockTree) -> None:
        """Let blocks keep the leaves of the tree that was grown last, to which `sum` and `multiply` refer."""
        self._change(Command("settle", (tree.names,)), "list")

    def sum(self, table: FloatArray | BoolArray) -> float:
        """Sum over the rows of weight times table[leaf, class]."""
        own = np.ascontiguousarray(table, dtype=np.float64)
        (limbs,) = self._hosts.call(self._fit, "sum", (own,), reduce="sum", changes=False)
        return _core.round_exact(limbs)

    def multiply(self, factors: FloatArray) -> None:
        """Multiply the weights by factors[leaf, class], and divide them by their sum."""
        self._normalize(Command("multiply", (np.ascontiguousarray(factors, dtype=np.float64),)))

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows, from all blocks."""
        return np.concatenate(self._hosts.call(self._fit, "read", reduce="list", changes=False))

    n_present: int
    """Rows that have a weight."""

    def close(self) -> None:
        """Let the hosts forget the blocks; the trees stay."""
        self._close()

    def _normalize(self, command: Command) -> None:
        (limbs,) = self._change(command, "sum")
        (self.n_present,) = self._change(Command("scale", (_core.round_exact(limbs),)), "sum")
        self._hosts.compact(self._fit, self._log)

    def _cut(self, values: AnyArray, dtype: type) -> list[tuple[AnyArray]]:
        own: AnyArray = np.ascontiguousarray(values, dtype=dtype)
        return [(own[span],) for span in self._spans]

    def _set_target(self, command: Command) -> None:
        self._change(command, "list")
        self._target = command
        self._restart()

    def _restart(self) -> None:
        """Nothing but the target is left of the commands before."""
        self._log = [] if self._target is None else [self._target]
        self._hosts.compact(self._fit, self._log)

    def _change(self, command: Command, how: Reduction) -> Any:
        self._log.append(command)
        return self._hosts.call(
            self._fit, command.name, command.args, reduce=how, changes=True, by_block=command.by_block
        )


def _without_histograms(command: EngineCommand) -> EngineCommand:
    name, args, by_block = command
    return (name, (*args[:2], np.empty(0, dtype=np.uint32)), by_block) if name == _DIVIDE else command


def open_block_trees(what: str, dataset: Dataset, params: GrowParams, max_bins: int, n_trees: int) -> BlockTrees | None:
    """The blocks of a table that workers of the cluster in use read and keep; None if this process grows the trees.

    Parameters
    ----------
    what : str
        The fit, in the words of a sentence.
    dataset : Dataset
        The training rows.
    params : GrowParams
        Of the trees.
    max_bins : int
        The most bins of a column.
    n_trees : int
        How many trees may be grown.
    """
    X, active = dataset.X, find_cluster()
    if active is None or not is_in_blocks(X) or hasattr(X, "make_bins"):
        return None
    hosts = choose_hosts(what, X.n_blocks, float(X.shape[0]) * X.shape[1] * n_trees)
    if hosts is None:
        return None
    if not hosts.keeps_state:
        _LOG.info("%s is fitted in this process: %s cannot hold blocks of rows.", what, hosts.pool.description)
        return None
    n_hosts = len(hosts.require_hosts())
    n_blocks = n_hosts * count_worker_blocks(X.shape[0], n_hosts)
    bins = make_partition_bins(dataset, max_bins, params.n_jobs, n_blocks)
    if bins is None:
        return None
    if not _core.grows_over_blocks(bins.mapper, params):
        _LOG.info(
            "%s is fitted in this process, on bins that the workers make: exact or random splits, pruning, absolute "
            "errors and columns of more than 255 categories need more than histograms.",
            what,
        )
        return None
    return BlockTrees(hosts, bins)
