"""What the leaves of a survival forest hold: the events of their rows, and the curves that follow from them.

A leaf keeps one number for each of its event times t: the hazard d(t) / Y(t), where d(t) rows have their event and
Y(t) are at risk. Sums of hazards are the cumulative hazard of the leaf (Nelson-Aalen), products of their complements
its survival function (Kaplan-Meier).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse import csr_matrix

from committee.learners.tree_rows import apply_trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from committee.engines import Trees
    from committee.typing import BoolArray, FloatArray, FloatMatrix, IndexArray, SparseMatrix

__all__ = ["LeafHazards", "TimedRows", "choose_split_times", "join_hazards", "number_leaves", "record_hazards"]

_MOST_TIMES = 255
"""Event times between which a split tells rows apart (``LogRank::kMostTimes`` of the engine)."""
_BLOCK_VALUES = 1 << 22
_BLOCK_TREES = 16


@dataclass(frozen=True)
class LeafHazards:
    """The hazards in each leaf of all trees, leaf after leaf in the order of the arena, ascending in time.

    Attributes
    ----------
    offsets : ndarray of int64 of shape (n_leaves + 1,)
        Where the events of each leaf begin.
    times : ndarray of uint32 of shape (n_events,)
        Numbers of event times.
    hazards : ndarray of float64 of shape (n_events,)
        In (0, 1].
    """

    offsets: NDArray[np.int64]
    times: IndexArray
    hazards: FloatArray

    def select(self, n_leaves: int) -> LeafHazards:
        """The first leaves only."""
        last = int(self.offsets[n_leaves])
        return LeafHazards(self.offsets[: n_leaves + 1], self.times[:last], self.hazards[:last])

    def renumber(self, numbers: NDArray[np.intp]) -> LeafHazards:
        """The same hazards where event times have these numbers, which ascend."""
        return LeafHazards(self.offsets, numbers[self.times].astype(np.uint32), self.hazards)

    def blend(self, other: LeafHazards, rates: FloatArray, n_times: int) -> LeafHazards:
        """In each leaf its rate times these hazards, and the rest times those of other rows in the same leaves."""
        shape = (len(rates), n_times)
        parts = [
            csr_matrix((np.repeat(shares, np.diff(own.offsets)) * own.hazards, own.times, own.offsets), shape=shape)
            for own, shares in ((self, rates), (other, 1.0 - rates))
        ]
        total = csr_matrix(parts[0] + parts[1])
        total.eliminate_zeros()
        total.sort_indices()
        hazards = np.minimum(1.0, total.data)
        return LeafHazards(total.indptr.astype(np.int64), total.indices.astype(np.uint32), hazards)

    def sum_mortality(self, n_times: int) -> FloatArray:
        """Sum of the cumulative hazard of each leaf over all event times, of which there are so many."""
        # The cumulative hazard counts an event at every event time from its own on.
        counted = self.hazards * (n_times - self.times.astype(np.float64))
        n_leaves = len(self.offsets) - 1
        owners = np.repeat(np.arange(n_leaves), np.diff(self.offsets))
        return np.bincount(owners, weights=counted, minlength=n_leaves).astype(np.float64)

    def find_drops(self) -> FloatArray:
        """By how much the survival function of its leaf falls at each event."""
        sizes = np.diff(self.offsets)
        drops = np.empty_like(self.hazards)
        survival = np.ones(len(sizes))
        for step in range(int(sizes.max(initial=0))):
            leaves = np.flatnonzero(sizes > step)
            at = self.offsets[leaves] + step
            drops[at] = survival[leaves] * self.hazards[at]
            survival[leaves] *= 1.0 - self.hazards[at]
        return drops

    def sum_over(
        self, steps: FloatArray, leaves: NDArray[np.intp], event_times: FloatArray, at: FloatArray
    ) -> FloatArray:
        """Mean over the trees of the sum of the steps until each time, for rows that end in the given leaves.

        Parameters
        ----------
        steps : ndarray of shape (n_events,)
            Hazards or drops.
        leaves : ndarray of shape (n_rows, n_trees)
            Leaves of the arena.
        event_times : ndarray of shape (n_event_times,)
            The times that ``times`` numbers.
        at : ndarray of shape (n_times,)
            Times, ascending.

        Returns
        -------
        ndarray of shape (n_rows, n_times)
        """
        n_rows, n_trees = leaves.shape
        # An event belongs to the first of the times that is not before it; those after the last to none.
        columns = np.searchsorted(at, event_times, side="left")[self.times]
        kept = columns < len(at)
        starts = np.concatenate(([0], np.cumsum(kept)))[self.offsets]
        shape = (len(self.offsets) - 1, len(at))
        by_leaf = csr_matrix((steps[kept], columns[kept], starts), shape=shape)
        sums = np.empty((n_rows, len(at)))
        block = max(1, _BLOCK_VALUES // max(len(at), n_trees))
        for first in range(0, n_rows, block):
            own = leaves[first : first + block]
            ends = np.arange(0, own.size + 1, n_trees)
            members = csr_matrix((np.ones(own.size), own.ravel(), ends), shape=(len(own), shape[0]))
            sums[first : first + block] = np.cumsum((members @ by_leaf).toarray(), axis=1)
        sums /= n_trees
        return sums


@dataclass(frozen=True)
class TimedRows:
    """Training rows in ascending order of their times, as leaves are made from them.

    Attributes
    ----------
    order : ndarray of shape (n_rows,)
        Numbers of the rows.
    n_before : ndarray of uint32 of shape (n_rows,)
        Event times that are not after the row's, in that order.
    event : ndarray of bool of shape (n_rows,)
        Whether the event was observed, in that order.
    n_times : int
        Event times of all rows.
    """

    order: NDArray[np.intp]
    n_before: IndexArray
    event: BoolArray
    n_times: int

    @classmethod
    def of(cls, event: BoolArray, time: FloatArray, event_times: FloatArray) -> TimedRows:
        """From the target and its distinct event times."""
        n_before = np.searchsorted(event_times, time, side="right").astype(np.uint32)
        order = np.argsort(n_before, kind="stable")
        return cls(order, n_before[order], event[order], len(event_times))


def choose_split_times(event_times: FloatArray, counts: FloatArray) -> FloatArray:
    """The times between which splits tell rows apart: all event times, or 255 of them with about as many events each.

    Parameters
    ----------
    event_times : ndarray of shape (n_times,)
        Distinct times of events, ascending.
    counts : ndarray of shape (n_times,)
        Events at each.

    Examples
    --------
    >>> len(choose_split_times(np.arange(1000.0), np.ones(1000)))
    255
    """
    if len(event_times) <= _MOST_TIMES:
        return event_times
    before = np.cumsum(counts) - counts
    wanted = np.arange(_MOST_TIMES) * (before[-1] + counts[-1]) / _MOST_TIMES
    chosen: FloatArray = event_times[np.unique(np.minimum(np.searchsorted(before, wanted), len(before) - 1))]
    return chosen


def number_leaves(trees: Trees, rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> NDArray[np.intp]:
    """Leaf of the arena that each row ends in, in each tree, of shape (n_rows, n_trees)."""
    nodes = apply_trees(trees, rows, n_jobs)
    nodes += np.asarray(trees.node_offsets[:-1], dtype=np.intp)
    leaves = np.asarray(trees.nodes["left"])[nodes].astype(np.intp)
    leaves += np.asarray(trees.leaf_offsets[:-1], dtype=np.intp)
    return leaves


def record_hazards(
    trees: Trees,
    X: FloatMatrix | SparseMatrix,
    rows: TimedRows,
    samples: Iterable[IndexArray],
    weights: FloatArray | None,
    n_jobs: int | None,
) -> tuple[LeafHazards, FloatArray, FloatArray]:
    """The hazards in the leaves of grown trees.

    Parameters
    ----------
    trees : Trees
        The arena.
    X : ndarray or sparse matrix
        The training rows.
    rows : TimedRows
        Their target.
    samples : iterable of ndarray of shape (n_rows,)
        How often each row is in the sample of each tree.
    weights : ndarray of shape (n_rows,) or None
        Row weights that the trees were grown with.
    n_jobs : int or None
        As in the estimators' parameter.

    Returns
    -------
    hazards : LeafHazards
        In all leaves.
    mortality : ndarray of shape (n_leaves,)
        Sum of the cumulative hazard of each leaf over all event times.
    leaf_weights : ndarray of shape (n_leaves,)
        Weight of the training rows in each leaf.
    """
    parts, totals, drawn = [], [], iter(samples)
    for first in range(0, trees.n_trees, _BLOCK_TREES):
        own = trees.select(first, min(first + _BLOCK_TREES, trees.n_trees))
        leaves, offsets = number_leaves(own, X, n_jobs), np.asarray(own.leaf_offsets, dtype=np.intp)
        for tree in range(own.n_trees):
            counts = next(drawn).astype(np.float64)
            if weights is not None:
                counts *= weights
            n_leaves = int(offsets[tree + 1] - offsets[tree])
            part, total = _record_tree(leaves[:, tree] - offsets[tree], n_leaves, counts, rows)
            parts.append(part)
            totals.append(total)
    hazards = join_hazards(parts)
    return hazards, hazards.sum_mortality(rows.n_times), np.concatenate(totals)


def _record_tree(
    leaves: NDArray[np.intp], n_leaves: int, counts: FloatArray, rows: TimedRows
) -> tuple[LeafHazards, FloatArray]:
    """The hazards in the leaves of one tree, and the weights of these."""
    weight = counts[rows.order]
    present = np.flatnonzero(weight > 0.0)
    leaf = leaves[rows.order[present]]
    # Rows come in the order of their times; small integers are sorted by their digits.
    small = leaf.astype(np.uint16) if n_leaves <= 1 << 16 else leaf
    by_leaf = np.argsort(small, kind="stable")
    leaf, chosen = leaf[by_leaf], present[by_leaf]
    weight, time, event = weight[chosen], rows.n_before[chosen], rows.event[chosen]
    total: FloatArray = np.bincount(leaf, weights=weight, minlength=n_leaves).astype(np.float64)
    is_first = np.ones(len(leaf), dtype=bool)
    is_first[1:] = (leaf[1:] != leaf[:-1]) | (time[1:] != time[:-1])
    starts = np.flatnonzero(is_first)
    events = np.add.reduceat(np.where(event, weight, 0.0), starts)
    passed = np.concatenate(([0.0], np.cumsum(weight)))
    leaf_starts = np.concatenate(([0.0], np.cumsum(total)))
    at_risk = total[leaf[starts]] - (passed[starts] - leaf_starts[leaf[starts]])
    happened = np.flatnonzero(events > 0.0)
    hazards = np.minimum(1.0, events[happened] / np.maximum(at_risk[happened], events[happened]))
    owners, numbers = leaf[starts[happened]], time[starts[happened]] - 1
    offsets = np.concatenate(([0], np.cumsum(np.bincount(owners, minlength=n_leaves)))).astype(np.int64)
    return LeafHazards(offsets, numbers.astype(np.uint32), hazards), total


def join_hazards(parts: Sequence[LeafHazards]) -> LeafHazards:
    """The leaves of several trees one after the other."""
    starts = np.cumsum([0, *(part.offsets[-1] for part in parts)])
    offsets = [part.offsets[:-1] + start for part, start in zip(parts, starts[:-1], strict=True)]
    return LeafHazards(
        np.concatenate((*offsets, starts[-1:])).astype(np.int64),
        np.concatenate([part.times for part in parts]),
        np.concatenate([part.hazards for part in parts]),
    )
