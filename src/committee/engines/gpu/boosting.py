"""Gradient boosting on a device, behind the methods of `_core.Boosting` that the loop of boosting calls."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.grower import TreeGrower
from committee.engines.gpu.layout import FINAL_NODE, ORDER
from committee.engines.gpu.limits import find_obstacle
from committee.engines.gpu.residuals import KeptResiduals
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines.gpu.device import Device
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["GpuBoosting"]

_NOT_HERE = "The GPU engine does not support {} yet. Set engine='cpu'."
_TWEEDIE_POWER = 1.5


class GpuBoosting:
    """The state of a fit: the table, scores and gradients on the device, the trees grown so far on the host.

    Parameters
    ----------
    data : BinnedMatrix or DeviceBins
        The table.
    target : ndarray of float64 or None
        As `_core.Boosting` takes it; None: gradients are the caller's.
    weights : ndarray of float64 or None
        Of the rows.
    loss, parameter, n_scores, levels
        The loss, by its name.
    params : BoostingParams
        Parameters of the trees.
    device : Device, optional
        By default the current CUDA device.
    """

    def __init__(
        self,
        data: _core.BinnedMatrix | DeviceBins,
        target: FloatArray | None,
        weights: FloatArray | None,
        loss: str,
        parameter: float,
        n_scores: int,
        params: _core.BoostingParams,
        levels: Sequence[float] = (),
        device: Device | None = None,
    ) -> None:
        self.params, self.n_scores, self.n_threads = params, n_scores, 1
        self._loss = _core.Loss.make(loss, parameter, n_scores, list(levels))
        self._info = next(info for info in _core.describe_losses() if info.name == loss)
        self._data, self._target, self._weights = data, target, weights
        self._described = data.described if isinstance(data, DeviceBins) else data
        plan = _core.plan_boosting(self._described, weights, self._loss, params)
        obstacle = find_obstacle(params, plan, data.n_rows)
        if obstacle is not None:
            raise EngineError(obstacle)
        self._weight_unit = plan.weight_unit
        self._unit_weights = np.asarray(plan.weights)
        self._parameter = _TWEEDIE_POWER if np.isnan(parameter) else parameter
        if device is None:
            device = data.device if isinstance(data, DeviceBins) else open_device()
        self._grower = TreeGrower(device, data, target, plan, params, self._info, n_scores)
        self._grower.prepare()
        self._grower.write_parameters(self._find_parameters())
        self._residuals = KeptResiduals(self._grower, plan.total_weight) if self._grower.incremental else None
        self._draws: _core.RowDraws | None = None
        self._groups: IndexArray | None = None
        self._drawn_weights = self._unit_weights
        self._sample: IndexArray = np.empty(0, np.uint32)
        self._held_out: IndexArray = np.empty(0, np.uint32)
        self._trees: list[tuple[AnyArray, AnyArray]] = []
        self._gains: FloatArray = np.zeros(data.n_cols)
        self._n_splits: AnyArray = np.zeros(data.n_cols, np.uint64)
        self._n_grown = self._n_counted = 0

    def _find_parameters(self) -> list[float]:
        """Of the loss, for each score."""
        if self._info.name == "huber":
            return [self._loss.find_delta(score) for score in range(self.n_scores)]
        if self._info.name == "quantile":
            return [self._loss.find_level(score) for score in range(self.n_scores)]
        return [self._parameter] * self.n_scores

    # Scores.

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return self._data.n_rows

    @property
    def scores(self) -> FloatArray:
        """Scores of the training rows, of shape (n_rows, n_scores); a copy."""
        return self._grower.read_scores().reshape(self.n_scores, self.n_rows).T

    def set_scores(self, scores: FloatArray) -> None:
        """Start from these scores, of shape (n_rows, n_scores)."""
        self._grower.write_scores(np.ascontiguousarray(scores.T).ravel())
        self._forget_residuals()

    def _forget_residuals(self) -> None:
        if self._residuals is not None:
            self._residuals.forget()

    def add_constant(self, per_score: Sequence[float]) -> None:
        """Add a number to all scores of a column."""
        self.set_scores(self.scores + np.array(per_score))

    def find_baseline(self) -> FloatArray:
        """Constant scores with the least loss on the training rows."""
        return np.asarray(self._loss.find_baseline(self._require_target(), self._weights, self.n_rows))

    def _require_target(self) -> FloatArray:
        if self._target is None:
            raise ValueError("the fit has no target: its gradients are given")
        return self._target

    @property
    def delta(self) -> float:
        """Where Huber's loss (of the first output) turns linear."""
        return float(self._loss.find_delta(0))

    # A round.

    def skip_trees(self, n_trees: int) -> None:
        """Continue the random keys of a fit that has grown so many trees already."""
        self._n_grown += n_trees

    def draw_groups(self, groups: IndexArray | None) -> None:
        """Let `draw_rows` take groups of rows as a whole or leave them out: the number of each row's."""
        self._groups, self._draws = groups, None

    def draw_rows(self) -> None:
        """Draw the rows that grow the trees of this round (subsample < 1)."""
        if not self.params.subsample < 1.0:
            return
        self._refuse_other_words("row sampling that begins after the first round")
        self._take_rows(self._open_draws().draw(self.params, self._n_grown))

    def _open_draws(self) -> _core.RowDraws:
        if self._draws is None:
            self._draws = _core.RowDraws(self._weights, self.n_rows, self._groups)
        return self._draws

    def _take_rows(self, rows: _core.RoundRows) -> None:
        self._sample, self._held_out = np.asarray(rows.sample), np.asarray(rows.held_out)
        self._grower.choose_rows(rows)

    def _refuse_other_words(self, what: str) -> None:
        """Refuse what the words of gradients that are kept from round to round have no room for."""
        if self._residuals is not None:
            raise EngineError(_NOT_HERE.format(f"{what}, with squared error on 4,096 to 262,144 rows"))

    @property
    def _draws_by_gradient(self) -> bool:
        return self.params.goss_other > 0.0 and self.params.goss_top + self.params.goss_other < 1.0

    def compute_gradients(self) -> None:
        """Gradients and hessians of the loss at the scores."""
        target = self._require_target()
        if self._info.name == "huber":
            self._loss.adapt(target, np.asfortranarray(self.scores), self._unit_weights)
            self._grower.write_parameters(self._find_parameters())
        if self._residuals is None:
            self._find_gradients()
        elif self.params.learning_rate > 1.0:
            self._refuse_other_words("a learning_rate above 1")
        else:
            self._residuals.prepare()

    def _find_gradients(self) -> None:
        if self._draws_by_gradient:
            self._grower.restore_weights()
        self._grower.find_gradients()
        if self._draws_by_gradient:
            sizes = self._grower.measure_gradients()
            rows = self._open_draws().draw_by_gradient(sizes, self.params, self._n_grown)
            self._weight_unit, self._drawn_weights = rows.weight_unit, np.asarray(rows.weights)
            self._take_rows(rows)

    def take_gradients(self, gradients: FloatArray, hessians: FloatArray) -> None:
        """Gradients and hessians (>= 0) of a loss of the caller's, of shape (n_rows, n_scores)."""
        if self._target is not None:
            raise EngineError(_NOT_HERE.format("gradients of the caller's for a loss of its own"))
        given = [np.ascontiguousarray(array.T).ravel() for array in (gradients, hessians)]
        self._grower.give_gradients(*given)
        self._find_gradients()

    def grow_trees(self) -> None:
        """Grow this round's trees from the gradients and add them to the scores."""
        self._grow_round(1)
        self._collect()

    def boost(self, n_rounds: int = 1) -> None:
        """All of a round, so many times."""
        for done in range(n_rounds):
            self.draw_rows()
            self.compute_gradients()
            self._grow_round(n_rounds - done)
        self._collect()

    def boost_measured(self, n_rounds: int, out_of_bag: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`boost`, with the losses of each round: of the training rows after it, and out of bag before and after."""
        losses: tuple[list[float], list[float], list[float]] = ([], [], [])
        for _ in range(n_rounds):
            self.draw_rows()
            if out_of_bag:
                losses[1].append(self.measure_held_out_loss())
            self.compute_gradients()
            self._grow_round(1)
            losses[0].append(self.measure_loss())
            if out_of_bag:
                losses[2].append(self.measure_held_out_loss())
        self._collect()
        return np.array(losses[0]), np.array(losses[1]), np.array(losses[2])

    def measure_loss(self) -> float:
        """Weighted mean loss of the training rows."""
        return self._measure(np.ones(self.n_rows, bool))

    def measure_held_out_loss(self) -> float:
        """The same of the rows that the last draw held out; not a number if there are none."""
        if len(self._held_out) == 0:
            return float("nan")
        chosen: AnyArray = np.zeros(self.n_rows, bool)
        chosen[self._held_out] = True
        return self._measure(chosen)

    def _measure(self, chosen: AnyArray) -> float:
        values = self._loss.find_values(self._require_target(), np.asfortranarray(self.scores))
        weights = np.ones(self.n_rows) if self._weights is None else self._weights
        chosen = chosen & (weights > 0.0)
        sums = _core.sum_exactly(values[chosen], weights[chosen]), _core.sum_exactly(weights[chosen])
        return float(_core.divide_exact(*sums))

    @property
    def held_out_rows(self) -> IndexArray:
        """Rows that the last draw held out."""
        return self._held_out

    def _grow_round(self, n_rounds: int) -> None:
        """A round, the first of so many that nothing comes between."""
        grower, n_scores = self._grower, self.n_scores
        grower.follow_params()
        if grower.n_waiting + n_scores > grower.n_slots:
            self._collect()
        if grower.n_ordered < n_scores:
            n = min((grower.n_slots - grower.n_waiting) // n_scores, n_rounds) * n_scores
            orders: AnyArray = np.zeros(n, ORDER)
            orders["tree"] = np.arange(self._n_grown, self._n_grown + n, dtype=np.uint64)
            orders["key"] = [_core.rounding_key(tree) for tree in range(self._n_grown, self._n_grown + n)]
            orders["rate"] = self.params.learning_rate
            grower.order(orders)
        for score in range(n_scores):
            renewed = not self._info.takes_newton_steps and self._target is not None
            grower.grow(score, partial(self._renew_values, score) if renewed else None)
        self._n_grown += n_scores

    def _renew_values(self, score: int) -> FloatArray:
        """Values of the leaves of the tree at hand, by the rule of the loss, which the host computes."""
        leaves, n_nodes = self._grower.read_leaves()
        rows = self._sample if len(self._held_out) else np.flatnonzero(self._unit_weights).astype(np.uint32)
        weights = self._drawn_weights if self._draws_by_gradient else self._unit_weights
        y = self._require_target().reshape(self.n_scores, -1)[score]
        scores = self._grower.read_scores(score)
        return np.array(
            _core.renew_leaf_values(self._loss, score, y, scores, weights, rows, leaves, n_nodes, self.params.n_jobs)
        )

    def _collect(self) -> None:
        """Take the trees grown since the last time from the device."""
        self._trees += self._grower.collect()

    def _count_gains(self) -> None:
        """Add the gains of trees that are not in the sums yet."""
        for nodes, _ in self._trees[self._n_counted :]:
            self._gains, self._n_splits = _core.add_gains(
                nodes, self.params.level_wise, self._gains.tolist(), self._n_splits.tolist()
            )
        self._n_counted = len(self._trees)

    # Trees of earlier rounds.

    def readd_trees(self, first: int, last: int, factor: float) -> None:
        """Trees first .. last - 1, times a factor, added to the scores: -1 takes them out (DART)."""
        if first < last:
            self._grower.add_trees(self._trees[first:last], first, factor)
        self._forget_residuals()

    def scale_tree(self, tree: int, factor: float) -> None:
        """Multiply the leaf values of a tree."""
        nodes, codes = self._trees[tree]
        scaled = nodes.view(FINAL_NODE).copy()
        scaled["value"] *= factor
        self._trees[tree] = (scaled.view(np.uint8), codes)

    # Trees.

    @property
    def n_trees(self) -> int:
        """Trees so far."""
        return len(self._trees)

    @property
    def slots(self) -> IndexArray:
        """Score that each tree adds to."""
        return np.tile(np.arange(self.n_scores, dtype=np.uint32), len(self._trees) // self.n_scores)

    @property
    def gains(self) -> FloatArray:
        """Sum of the gains of each feature."""
        self._count_gains()
        return self._gains

    @property
    def split_counts(self) -> AnyArray:
        """Splits by each feature."""
        self._count_gains()
        return self._n_splits

    @property
    def nbytes(self) -> int:
        """Memory of the device that the fit has taken."""
        return self._grower.n_bytes

    def finish(self, first: int = 0, last: int | None = None) -> _core.Trees:
        """Trees first .. last - 1 in one arena."""
        chosen = self._trees[first:last]
        offsets = np.cumsum([0, *(len(nodes) // FINAL_NODE.itemsize for nodes, _ in chosen)]).astype(np.uint64)
        nodes = np.concatenate([tree for tree, _ in chosen]) if chosen else np.empty(0, np.uint8)
        codes = np.concatenate([own for _, own in chosen]) if chosen else np.empty(0, np.uint32)
        n_words = self._grower.options.n_words
        return _core.import_trees(self._described, nodes, offsets, self._weight_unit, codes, n_words)

    def truncate(self, n_trees: int) -> None:
        """Keep the first trees only; the scores stay as they are."""
        self._count_gains()
        del self._trees[n_trees:]
        self._n_counted = len(self._trees)
