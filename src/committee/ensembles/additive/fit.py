"""The fit of an additive model: cycles over features, the choice of pairs, cycles over pairs, and the shape tables."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, fsum, inf, sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.binning import MOST_BYTE_BINS
from committee.data.blocks import BlockTable
from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.device_tables import copy_to_host
from committee.engines import get_engine
from committee.ensembles.additive.fine_bins import make_block_cells, make_fine_cells, read_column
from committee.ensembles.additive.shapes import TermShape, make_axis
from committee.ensembles.additive.tables import TermTables, center_tables, group_cells, order_by_value, read_cells

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee.data import Dataset
    from committee.engines import AdditiveParams, BinnedMatrix
    from committee.ensembles.additive.tables import FeatureCells
    from committee.losses import LossFunction
    from committee.typing import AnyArray, FloatArray

__all__ = ["AdditivePlan", "FittedTerms", "ShapeFit", "confirm_gain", "confirm_terms", "count_pairs", "draw_held_out"]

_CYCLES_PER_CALL = 16
# The most cycles of the trial of pairs; by default as many as are smooth.
_TRIAL_CYCLES = 10
_REAL_SHARE = 0.6
"""Share of the pairs of a trial that are confirmed, from which on all are kept (benchmarks/results/explainable.md)."""
_FEWEST_CELLS, _ROWS_PER_CELL = 4, 2
_MOST_COPIES = 1 << 24
# Columns of a table in blocks whose samples are in memory at a time.
_COLUMNS_PER_PASS = 64


@dataclass(frozen=True)
class AdditivePlan:
    """What the parameters of the estimator mean for these data.

    Attributes
    ----------
    params : AdditiveParams
        Of the engine.
    max_cycles : int
        The most cycles over features, and over pairs.
    signs : list of int
        For each feature whether its table rises (1) or falls (-1).
    n_pairs : int
        How many pairs are chosen.
    pairs : list of tuple or None
        The pairs, where the user names them.
    max_bins, max_pair_cells : int
        Bins of features alone and in pairs.
    n_jobs : int
        As the engine takes it.
    """

    params: AdditiveParams
    max_cycles: int
    signs: list[int]
    n_pairs: int
    pairs: list[tuple[int, int]] | None
    max_bins: int
    max_pair_cells: int
    n_jobs: int


@dataclass(frozen=True)
class FittedTerms:
    """The result of a fit: shape tables, the constant of each score, and cycles of each bag over features and pairs."""

    shapes: list[TermShape]
    baseline: FloatArray
    cycles: AnyArray
    losses: list[FloatArray]


def draw_held_out(dataset: Dataset, n_bags: int, fraction: float | None, seed: int) -> FloatArray:
    """As how many rows each row is held out by each bag, of shape (n_bags, n_rows).

    A share of each class is held out, and never all of it. Where weights mean repetition the copies of a row are
    drawn one by one, so that a row may be on both sides; otherwise it is on one.

    Parameters
    ----------
    dataset : Dataset
        Of rows of positive weight.
    n_bags : int
        Number of outer bags.
    fraction : float or None
        Share of the rows; None: no row is held out.
    seed : int
        Seed of the fit.
    """
    n_rows, counts = dataset.n_rows, dataset.count_weights()
    out = np.zeros((n_bags, n_rows))
    if fraction is None:
        return out
    repeats = counts is not None and bool((counts == np.floor(counts)).all()) and counts.sum() <= _MOST_COPIES
    copies = (
        np.repeat(np.arange(n_rows), counts.astype(np.intp)) if counts is not None and repeats else np.arange(n_rows)
    )
    target = dataset.target
    labels = target.labels[copies, 0] if isinstance(target, ClassTarget) else np.zeros(len(copies), np.uint32)
    sizes = np.bincount(labels)
    members = np.split(copies[np.argsort(labels, kind="stable")], np.cumsum(sizes)[:-1])
    for bag in range(n_bags):
        rng, carry = np.random.default_rng([seed, bag, 22]), 0.0
        for rows in members:
            wanted = fraction * len(rows) + carry
            n_drawn = max(0, min(round(wanted), len(rows) - 1))
            carry = wanted - n_drawn
            out[bag] += np.bincount(rng.permutation(rows)[:n_drawn], minlength=n_rows)
    return out if counts is None or repeats else out * counts


class ShapeFit:
    """One fit.

    Parameters
    ----------
    dataset : Dataset
        Rows of positive weight.
    loss : LossFunction
        With one score, or one for each class.
    held_out : ndarray of shape (n_bags, n_rows)
        As how many rows a bag only measures its loss on each row.
    plan : AdditivePlan
        The parameters.
    """

    def __init__(self, dataset: Dataset, loss: LossFunction, held_out: FloatArray, plan: AdditivePlan) -> None:
        self._dataset, self._plan, self._counts = dataset, plan, dataset.count_weights()
        self._bins: BinnedMatrix = dataset.binned(plan.max_bins, plan.n_jobs)
        # The score of a single class learns nothing.
        self._max_cycles = 0 if loss.name == "softmax" and loss.n_scores < 2 else plan.max_cycles
        self._can_confirm = len(held_out) > 1 and bool(held_out.any(axis=1).all())
        self._cells: dict[int, AnyArray] = {}
        self._features: dict[int, TermTables] = {}
        self._pairs: list[TermTables] = []
        self._columns: list[FeatureCells] = [
            read_cells(self._bins, feature, self._counts) for feature in range(dataset.n_features)
        ]
        self._engine = get_engine().AdditiveBoosting(
            self._bins,
            loss.name,
            loss.parameter,
            loss.n_scores,
            loss.lay_out(_read_target(dataset)),
            np.zeros(0) if self._counts is None else self._counts,
            held_out,
            plan.params,
        )
        self._refine_bins()

    def _refine_bins(self) -> None:
        """More bins for numbers with more values than bytes; files of bins keep theirs, whose values are not known."""
        if self._plan.max_bins <= MOST_BYTE_BINS:
            return
        numbers = [f for f, levels in enumerate(self._dataset.schema.categories) if levels is None]
        for first in range(0, len(numbers), _COLUMNS_PER_PASS):
            for feature, fine in self._make_fine_cells(numbers[first : first + _COLUMNS_PER_PASS]).items():
                self._columns[feature] = fine
                self._engine.set_bins(feature, fine.n_bins, fine.codes)

    def _make_fine_cells(self, features: list[int]) -> dict[int, FeatureCells]:
        """Finer bins of the columns that have more values than bytes."""
        table, most = copy_to_host(self._dataset.X), self._plan.max_bins
        if isinstance(table, BlockTable):
            return make_block_cells(table, self._columns, features, self._counts, most)
        found: dict[int, FeatureCells] = {}
        for feature in features:
            values = read_column(table, feature)
            fine = None if values is None else make_fine_cells(values, self._counts, most)
            if fine is not None:
                found[feature] = fine
        return found

    def run(self, on_progress: Callable[[int], object] | None) -> FittedTerms:
        """Fit features, then pairs.

        Parameters
        ----------
        on_progress : callable or None
            Is called with the number of cycles so far.
        """
        n_features = self._dataset.n_features
        self._engine.start_features(np.arange(n_features, dtype=np.uint32), np.array(self._plan.signs, dtype=np.int32))
        self._run_cycles(on_progress, 0)
        cycles, losses = [self._engine.best_cycles], [self._read_losses()]
        for feature, column in enumerate(self._columns):
            tables = _read_slots(self._engine.tables(feature), column.n_bins)
            self._features[feature] = TermTables((feature,), tables, column.weights)
        baselines = np.array(self._engine.baselines)
        pairs = self._try_pairs(self._choose_pairs())
        if len(pairs):
            self._engine.start_pairs(pairs)
            self._run_cycles(on_progress, self._plan.max_cycles)
            after = self._read_losses()
            if self._plan.pairs is not None or confirm_gain(losses[0], after):
                cycles.append(self._engine.best_cycles)
                losses.append(after)
                self._pairs = [self._read_pair(number, pair) for number, pair in enumerate(pairs.tolist())]
        center_tables(self._features, self._pairs, self._cells, baselines)
        means = [curves.mean(axis=0) for curves in losses]
        return FittedTerms(self._make_shapes(), baselines.mean(axis=0), np.array(cycles), means)

    def _run_cycles(self, on_progress: Callable[[int], object] | None, done: int) -> None:
        first, last, going = done, done + self._max_cycles, 1
        while done < last and going:
            n_cycles = min(_CYCLES_PER_CALL, last - done)
            going = self._engine.run(n_cycles, self._plan.n_jobs)
            done += n_cycles
            if on_progress is not None:
                on_progress(min(done, first + self._plan.max_cycles))

    def _read_losses(self) -> FloatArray:
        """Loss of the rows that each bag holds out after each cycle, of shape (n_bags, n_cycles)."""
        n_bags = len(self._engine.best_cycles)
        curves = [self._engine.losses(bag) for bag in range(n_bags)]
        longest = max(map(len, curves))
        # A bag that has stopped keeps its least loss.
        filled = [curve + [min(curve, default=0.0)] * (longest - len(curve)) for curve in curves]
        return np.array(filled).reshape(n_bags, longest)

    # Pairs.

    def _choose_pairs(self) -> AnyArray:
        """The pairs that become terms, of shape (n_pairs, 2), the one with the largest gain first."""
        plan, schema = self._plan, self._dataset.schema
        if plan.pairs is not None:
            candidates = np.array(plan.pairs, dtype=np.uint32).reshape(-1, 2)
        else:
            free = [f for f in range(schema.n_features) if plan.signs[f] == 0 and self._columns[f].n_bins > 1]
            candidates = np.array(free, dtype=np.uint32)[np.stack(np.triu_indices(len(free), 1), axis=1)]
            owners = np.arange(schema.n_features) if schema.inputs is None else schema.inputs.owners
            candidates = candidates[owners[candidates[:, 0]] != owners[candidates[:, 1]]]
        n_pairs = min(plan.n_pairs, len(candidates)) if plan.pairs is None else len(candidates)
        if n_pairs == 0 or self._max_cycles == 0:
            return np.zeros((0, 2), dtype=np.uint32)
        self._set_cells()
        if plan.pairs is not None:
            return candidates
        gains = self._engine.rank_pairs(candidates, plan.n_jobs)
        order = np.argsort(-gains, kind="stable")[:n_pairs]
        return candidates[order[gains[order] > 0.0]]

    def _try_pairs(self, pairs: AnyArray) -> AnyArray:
        """The pairs that a trial confirms; those that the user names need none.

        The ranking sees the rows that the pairs learn from: among many pairs some always have good cuts by chance. Of
        noise one pair in six passes the trial; of pairs that explain a little, some fail. So where most pass, most of
        those that fail explain something too, and all are kept. The trial ends with the cycle of the least loss, after
        which all pairs would seem to do harm.
        """
        plan, n_bags = self._plan, len(self._engine.best_cycles)
        if len(pairs) == 0 or plan.pairs is not None or not self._can_confirm:
            return pairs
        self._engine.start_pairs(pairs)
        least, gains = inf, np.zeros((n_bags, len(pairs)))
        for _ in range(min(_TRIAL_CYCLES, self._max_cycles)):
            self._engine.run(1, plan.n_jobs)
            loss = fsum(self._engine.losses(bag)[-1] for bag in range(n_bags))
            if not loss < least:
                break
            least, gains = loss, self._engine.weigh_terms(plan.n_jobs)
        confirmed = confirm_terms(gains)
        return pairs if confirmed.mean() >= _REAL_SHARE else pairs[confirmed]

    def _set_cells(self) -> None:
        """The coarser cells of all features. Levels of categories are ordered by what they add alone."""
        # With few rows a finer grid would have empty cells.
        enough = max(_FEWEST_CELLS, ceil(sqrt(self._dataset.n_counted / _ROWS_PER_CELL)))
        most, parts = min(self._plan.max_pair_cells, enough), []
        for feature, column in enumerate(self._columns):
            order = None
            if self._dataset.schema.categories[feature] is not None:
                order = order_by_value(self._features[feature].values.mean(axis=0)[:, :-1])
            own = group_cells(column.weights[:-1], most, order)
            n_cells = int(own.max()) + 1 if len(own) else 0
            self._cells[feature] = np.append(own, n_cells)
            parts.append(self._cells[feature])
        offsets = np.cumsum([0, *map(len, parts)]).astype(np.uint64)
        self._engine.set_cells(offsets, np.concatenate(parts).astype(np.uint8))

    def _read_pair(self, number: int, pair: Sequence[int]) -> TermTables:
        first, second = (self._cells[feature] for feature in pair)
        size = int(first[-1]) + 1, int(second[-1]) + 1
        tables = self._engine.tables(number)
        columns = [self._cells[f][self._columns[f].codes] for f in pair]
        weights = np.bincount(columns[0] * size[1] + columns[1], self._counts, size[0] * size[1])
        shaped = np.array(tables).reshape(*tables.shape[:2], *size)
        return TermTables((pair[0], pair[1]), shaped, weights.reshape(size).astype(np.float64))

    # Shapes.

    def _make_shapes(self) -> list[TermShape]:
        names = self._dataset.schema.name_features("x{}")
        shapes = []
        for term in (*self._features.values(), *self._pairs):
            axes, paired = [], len(term.features) > 1
            for feature in term.features:
                cells = self._cells[feature][:-1] if paired else None
                axes.append(make_axis(self._dataset.schema, feature, self._columns[feature].thresholds, cells))
            values, weights = _fit_axes(term, tuple(axis.n_cells + 1 for axis in axes))
            shapes.append(
                TermShape(
                    tuple(names[f] for f in term.features),
                    tuple(axes),
                    values.mean(axis=0),
                    values.std(axis=0),
                    weights,
                )
            )
        return shapes


def _read_target(dataset: Dataset) -> FloatArray:
    target = dataset.target
    if isinstance(target, ClassTarget):
        return target.labels[:, 0].astype(np.float64)
    assert isinstance(target, ValueTarget)
    return target.values[:, 0]


def _read_slots(tables: FloatArray, n_bins: int) -> FloatArray:
    """The tables of the engine, whose last slot is that of missing values, without the slots that no bin has."""
    return np.concatenate([tables[:, :, :n_bins], tables[:, :, -1:]], axis=2)


def _fit_axes(term: TermTables, sizes: tuple[int, ...]) -> tuple[FloatArray, FloatArray]:
    """Tables of the size of the axes: a column without any value has a cell for values nevertheless."""
    values, weights = term.values, term.weights
    for axis, size in enumerate(sizes):
        lacking = size - weights.shape[axis]
        if lacking > 0:
            room: list[Any] = [(0, 0)] * weights.ndim
            room[axis] = (lacking, 0)
            weights = np.pad(weights, room)
            values = np.pad(values, [(0, 0), (0, 0), *room])
    return values, weights


def confirm_gain(before: FloatArray, after: FloatArray) -> bool:
    """Whether further terms lower the loss of the rows held out by more than the standard error over bags.

    Each bag alone keeps the cycle that fits its few rows best, which on small tables is often chance. The cycle that is
    best on average says more, and the bags must agree on it.

    Parameters
    ----------
    before, after : ndarray of shape (n_bags, n_cycles)
        Losses of each bag without and with these terms. One bag, or no loss, confirms anything.

    Examples
    --------
    >>> before = np.array([[3.0, 2.0], [3.0, 2.0], [3.0, 2.0]])
    >>> confirm_gain(before, np.array([[1.5], [1.4], [1.6]])), confirm_gain(before, np.array([[1.0], [2.2], [2.7]]))
    (True, False)
    """
    n_bags = len(after)
    if n_bags < 2 or before.shape[1] == 0 or after.shape[1] == 0:
        return True
    return _exceeds_error((before.min(axis=1) - after[:, after.mean(axis=0).argmin()]).tolist())


def confirm_terms(gains: FloatArray) -> AnyArray:
    """Whether each term lowers the loss of the rows held out by more than the standard error over bags.

    Parameters
    ----------
    gains : ndarray of shape (n_bags, n_terms)
        How much larger the loss of each bag would be without each term; at least two bags.

    Returns
    -------
    ndarray of bool of shape (n_terms,)

    Examples
    --------
    >>> gains = np.array([[1.0, 1.0], [1.2, 0.1], [1.1, -0.6]])
    >>> confirm_terms(gains).tolist()
    [True, False]
    """
    return np.array([_exceeds_error(own) for own in gains.T.tolist()], dtype=bool)


def _exceeds_error(gains: list[float]) -> bool:
    """Whether the mean of the gains of some bags exceeds its standard error."""
    n_bags, largest = len(gains), max(map(abs, gains))
    if not 0.0 < largest < inf:
        return False
    shares = [gain / largest for gain in gains]  # squares of large losses would overflow
    mean = fsum(shares) / n_bags
    return mean > sqrt(fsum((share - mean) ** 2 for share in shares) / (n_bags * (n_bags - 1)))


def count_pairs(given: float, n_features: int) -> int:
    """The number of pairs that the parameter ``interactions`` means; a share beyond all pairs may be any.

    Examples
    --------
    >>> count_pairs(3, 10), count_pairs(0.5, 10)
    (3, 5)
    """
    if isinstance(given, int | np.integer):
        return int(given)
    return ceil(min(float(given) * n_features, 2.0**62))
