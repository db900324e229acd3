"""Gradient boosting on a device, behind the methods of `_core.Boosting` that the loop of boosting calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.grower import TreeGrower
from committee.engines.gpu.layout import FINAL_NODE
from committee.engines.gpu.limits import find_obstacle
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.engines.gpu.device import Device
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["GpuBoosting"]

_NOT_HERE = "The GPU engine does not support {} yet. Set engine='cpu'."


class GpuBoosting:
    """The state of a fit: the table, scores and gradients on the device, the trees grown so far on the host.

    Parameters
    ----------
    data : BinnedMatrix
        The table.
    target : ndarray of float64 or None
        As `_core.Boosting` takes it; None: gradients are the caller's, which the engine does not support.
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
        data: _core.BinnedMatrix,
        target: FloatArray | None,
        weights: FloatArray | None,
        loss: str,
        parameter: float,
        n_scores: int,
        params: _core.BoostingParams,
        levels: Sequence[float] = (),
        device: Device | None = None,
    ) -> None:
        if target is None:
            raise EngineError(_NOT_HERE.format("losses of the caller's"))
        self.params, self.n_scores, self.n_threads = params, n_scores, 1
        self._loss = _core.Loss.make(loss, parameter, n_scores, list(levels))
        self._info = next(info for info in _core.describe_losses() if info.name == loss)
        self._data, self._target, self._weights = data, target, weights
        plan = _core.plan_boosting(data, weights, self._loss, params)
        obstacle = find_obstacle(params, plan, self._info)
        if obstacle is not None:
            raise EngineError(obstacle)
        self._weight_unit = plan.weight_unit
        self._grower = TreeGrower(open_device() if device is None else device, data, target, plan, params)
        self._grower.prepare(self._info, parameter, n_scores)
        self._nodes: list[AnyArray] = []
        self._gains: FloatArray = np.zeros(data.n_cols)
        self._n_splits: AnyArray = np.zeros(data.n_cols, np.uint64)
        self._n_grown = 0
        self._has_gradients = False

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

    def add_constant(self, per_score: Sequence[float]) -> None:
        """Add a number to all scores of a column."""
        self.set_scores(self.scores + np.array(per_score))

    def find_baseline(self) -> FloatArray:
        """Constant scores with the least loss on the training rows."""
        return np.asarray(self._loss.find_baseline(self._target, self._weights, self.n_rows))

    # A round.

    def skip_trees(self, n_trees: int) -> None:
        """Continue the random keys of a fit that has grown so many trees already."""
        self._n_grown += n_trees

    def draw_rows(self) -> None:
        """Draw the rows of a round: all of them."""

    def compute_gradients(self) -> None:
        """Gradients and hessians of the loss at the scores."""
        self._grower.find_gradients()
        self._has_gradients = True

    def take_gradients(self, gradients: FloatArray, hessians: FloatArray) -> None:
        """Refuse gradients of the caller's."""
        raise EngineError(_NOT_HERE.format("losses of the caller's"))

    def grow_trees(self) -> None:
        """Grow this round's trees from the gradients and add them to the scores."""
        self._grow_round()
        self._collect()

    def boost(self, n_rounds: int = 1) -> None:
        """All of a round, so many times."""
        for _ in range(n_rounds):
            self.compute_gradients()
            self._grow_round()
        self._collect()

    def boost_measured(self, n_rounds: int, out_of_bag: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """`boost`, with the losses of the training rows after each round; no row is out of bag."""
        losses = []
        for _ in range(n_rounds):
            self.boost()
            losses.append(self.measure_loss())
        return np.array(losses), np.array([]), np.array([])

    def measure_loss(self) -> float:
        """Weighted mean loss of the training rows."""
        values = self._loss.find_values(self._target, np.asfortranarray(self.scores))
        weights = np.ones(self.n_rows) if self._weights is None else self._weights
        present = weights > 0.0
        sums = _core.sum_exactly(values[present], weights[present]), _core.sum_exactly(weights[present])
        return float(_core.divide_exact(*sums))

    def measure_held_out_loss(self) -> float:
        """Not a number: no row is held out."""
        return float("nan")

    @property
    def held_out_rows(self) -> IndexArray:
        """No row is held out."""
        return np.array([], np.uint32)

    def readd_trees(self, first: int, last: int, factor: float) -> None:
        """Refuse what DART needs."""
        raise EngineError(_NOT_HERE.format("boosting='dart'"))

    def scale_tree(self, tree: int, factor: float) -> None:
        """Refuse what DART needs."""
        raise EngineError(_NOT_HERE.format("boosting='dart'"))

    def _grow_round(self) -> None:
        if self._grower.n_waiting + self.n_scores > self._grower.n_slots:
            self._collect()
        for score in range(self.n_scores):
            self._grower.grow(score, _core.rounding_key(self._n_grown + score), float(self.params.learning_rate))
        self._n_grown += self.n_scores

    def _collect(self) -> None:
        """Take the trees grown since the last time from the device."""
        for nodes in self._grower.collect():
            self._gains, self._n_splits = _core.add_gains(
                nodes, self.params.level_wise, self._gains.tolist(), self._n_splits.tolist()
            )
            self._nodes.append(nodes)

    # Trees.

    @property
    def n_trees(self) -> int:
        """Trees so far."""
        return len(self._nodes)

    @property
    def slots(self) -> IndexArray:
        """Score that each tree adds to."""
        return np.tile(np.arange(self.n_scores, dtype=np.uint32), len(self._nodes) // self.n_scores)

    @property
    def gains(self) -> FloatArray:
        """Sum of the gains of each feature."""
        return self._gains

    @property
    def split_counts(self) -> AnyArray:
        """Splits by each feature."""
        return self._n_splits

    @property
    def nbytes(self) -> int:
        """Memory of the device that the fit has taken."""
        return self._grower.n_bytes

    def finish(self, first: int = 0, last: int | None = None) -> _core.Trees:
        """Trees first .. last - 1 in one arena."""
        chosen = self._nodes[first:last]
        offsets = np.cumsum([0, *(len(nodes) // FINAL_NODE.itemsize for nodes in chosen)]).astype(np.uint64)
        nodes = np.concatenate(chosen) if chosen else np.empty(0, np.uint8)
        return _core.import_trees(self._data, nodes, offsets, self._weight_unit)

    def truncate(self, n_trees: int) -> None:
        """Keep the first trees only; the scores stay as they are."""
        del self._nodes[n_trees:]
