"""The host's part of growing a tree on the device: which kernel comes when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.hot_columns import MOST_TREES_LOOKED_AT, chooses_again, rank_split_features
from committee.engines.gpu.layout import BINS, BLOCK, FINAL_NODE, LANES, ORDER, STATE
from committee.engines.gpu.memory import FitMemory
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee import _core
    from committee.engines.gpu.device import Device, KernelArgument
    from committee.engines.gpu.device_bins import DeviceBins
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["TreeGrower"]

_MOST_ROWS_OF_BLOCK, _LEAST_ROWS = 32_768, 1024
_PART_BLOCKS = 5
"""Blocks of `partition_rows` that a multiprocessor runs together."""
_STEPS_AT_ONCE = 4
"""Steps that are started together, where a tree has no fixed number of them."""
_FAILURES = (
    "",
    "there was no room for the children of any node",
    "it took more steps than were planned",
    "it has more nodes than were planned",
    "a node has no such feature, or children that are not its own",
    "the nodes to be split have more rows than the table",
)
"""By their numbers in `cuda/boosting.cuh`."""


class TreeGrower(FitMemory):
    """Grows trees of one fit.

    Parameters
    ----------
    device : Device
        Where.
    data : BinnedMatrix or DeviceBins
        The table.
    target : ndarray of float64 or None
        Of each row, for each output; None: gradients are the caller's.
    plan : BoostingPlan
        How words are made of gradients.
    params : BoostingParams
        Parameters of the trees.
    loss : LossInfo
        The loss.
    n_scores : int
        Scores of a row.
    """

    def __init__(
        self,
        device: Device,
        data: _core.BinnedMatrix | DeviceBins,
        target: FloatArray | None,
        plan: _core.BoostingPlan,
        params: _core.BoostingParams,
        loss: _core.LossInfo,
        n_scores: int,
    ) -> None:
        super().__init__(device, data, target, plan, params, loss, n_scores)
        self._recorded: dict[tuple[str, int], Callable[[], None]] = {}
        self._seen: set[tuple[str, int]] = set()
        self.n_waiting = 0
        self._n_ordered, self._last_steps, self._n_steps_before = 0, 0, 0
        self._n_grown = 0

    # What changes from round to round.

    def write_parameters(self, parameters: Sequence[float]) -> None:
        """The parameter of the loss of each score."""
        self._device.copy_in(np.array(parameters, np.float64), self._memories["parameters"])
        self._send_fit()

    def choose_rows(self, rows: _core.RoundRows) -> None:
        """Grow from these rows only; the others get the values of their leaves."""
        sample, held_out = np.asarray(rows.sample), np.asarray(rows.held_out)
        self._renew("present", sample)
        self._renew("held_out", held_out if len(held_out) else np.zeros(1, np.uint32))
        self._fit["n_items"], self._fit["n_held_out"] = len(sample), len(held_out)
        weights = np.asarray(rows.weights)
        if len(weights):
            self._renew("weights", weights)
            for name in ("gradient_shift", "hessian_shift", "stochastic", "repeated", "weight_unit"):
                self._fit[name] = getattr(rows, name)
            self._set_least_weight(int(weights.sum(dtype=np.uint64)))
        self._send_fit()

    def restore_weights(self) -> None:
        """The weights of the fit again, before gradients of all rows."""
        weights = np.asarray(self._plan.weights)
        if len(weights):
            self._renew("weights", weights)
        else:
            self._fit["weights"] = 0
        self._send_fit()

    def follow_params(self) -> None:
        """Take over what callbacks may change between rounds."""
        if not self.options.draws:
            return
        names = ("colsample_tree", "colsample_level", "colsample_node")
        if any(float(self._fit[name][0]) != getattr(self._params, name) for name in names):
            for name in names:
                self._fit[name] = getattr(self._params, name)
            self._send_fit()

    def give_gradients(self, gradients: FloatArray, hessians: FloatArray) -> None:
        """Gradients of the caller's, [score][row]."""
        self._renew("given_gradients", gradients)
        self._renew("given_hessians", hessians)
        self._send_fit()

    # Launches.

    def _repeat(self, name: str, number: int, launches: Callable[[], None]) -> None:
        """Launch kernels that are the same each time: recorded at the second time, since the first one loads them."""
        key = (name, number)
        if key in self._recorded:
            self._recorded[key]()
        elif key in self._seen:
            self._recorded[key] = self._device.record(launches)
            self._recorded[key]()
        else:
            self._seen.add(key)
            launches()

    def write_scores(self, scores: FloatArray) -> None:
        """Start from these scores, [score][row]."""
        self._device.copy_in(scores, self._memories["scores"])

    def read_scores(self, score: int | None = None) -> FloatArray:
        """The scores, [score][row], or those of one score."""
        memory = self._memories["scores"]
        if score is None:
            return self._device.copy_out(memory, np.float64, memory.n_bytes // 8)
        return self._device.copy_out(memory, np.float64, self._n_rows, 8 * self._n_rows * score)

    def read_leaves(self) -> tuple[IndexArray, int]:
        """The node of the tree at hand that each row is in, and the number of its nodes."""
        leaves: IndexArray = self._device.copy_out(self._leaves, np.uint32, self._n_rows)
        return leaves, int(self._read_state()["n_final"])

    def find_gradients(self) -> None:
        """Gradients of all rows at the scores."""
        grid = self._count_blocks(256, self._n_rows)
        if not self._fit["bounded"][0]:
            self._device.clear(self._memories["largest"])
            self._launch("find_largest", grid, 256)
        if not self._fresh:
            self._launch("find_gradients", grid, 256)

    def measure_gradients(self) -> FloatArray:
        """Sizes of the gradients of each row."""
        self._launch("measure_gradients", self._count_blocks(256, self._n_rows), 256)
        return self._device.copy_out(self._memories["sizes"], np.float64, self._n_rows)

    def order(self, trees: AnyArray) -> None:
        """Say what the next trees are grown with, as `layout.ORDER`; they are not more than there is room for."""
        self._device.copy_in(trees.view(np.uint8), self._memories["orders"], self.n_waiting * ORDER.itemsize)
        self._n_ordered = len(trees)

    @property
    def n_ordered(self) -> int:
        """Trees that were ordered and not grown yet."""
        return self._n_ordered

    def grow(self, score: int, renew: Callable[[], FloatArray] | None = None) -> None:
        """The next tree that was ordered, for a score, and its values added to the scores.

        `renew` finds the values of its leaves where they are no Newton steps.
        """
        if self._n_steps is not None and renew is None:
            self._repeat("tree", score, lambda: self._grow_in_levels(score))
        else:
            self._repeat("start", score, lambda: self._start(score))
            self._grow_to_the_end()
            if renew is not None:
                self._sum_leaves(score)
                self._renew("renewed", renew())
                self._send_fit()
                self._set_values(score)
            else:
                self._repeat("end", score, lambda: self._end(score))
        self.n_waiting += 1
        self._n_ordered -= 1
        self._n_grown += 1
        if 0 < self._n_columns < self._n_features and chooses_again(self._n_grown):
            self._choose_columns()

    def _choose_columns(self) -> None:
        """Give columns to the features that split most rows in the last trees."""
        state = self._read_state()
        if state["failed"]:
            return  # collect says why
        max_final, n = int(self._fit["max_final"][0]), min(self.n_waiting, MOST_TREES_LOOKED_AT)
        offset = (self.n_waiting - n) * max_final * FINAL_NODE.itemsize
        trees = self._device.copy_out(self._memories["trees"], FINAL_NODE, n * max_final, offset)
        sizes = self._device.copy_out(self._memories["tree_sizes"], np.int32, n, 4 * (self.n_waiting - n))
        grown = [tree[:size] for tree, size in zip(trees.reshape(n, max_final), sizes, strict=True)]
        features = rank_split_features(grown, self._n_features)[: self._n_columns]
        if len(features):
            self._write_columns(features)

    def _grow_in_levels(self, score: int) -> None:
        self._start(score)
        n_steps = self._n_steps or 0
        for level in range(n_steps - 1):
            self._step(1 << level)
        if n_steps > 0:
            # Children of the last level are leaves: nothing looks at lists of their rows, nor at their histograms.
            self._launch("partition_rows", 1, 256)
            self._launch("choose_nodes", 1, BLOCK, (np.int32(0),))
        self._end(score)

    def _grow_to_the_end(self) -> None:
        n_started = 0
        while True:
            # As many as the last tree took, and then by turns.
            for _ in range(max(1, -(-self._last_steps // _STEPS_AT_ONCE) - n_started)):
                self._repeat("steps", 0, self._step_several)
                n_started += 1
            state = self._read_state()
            if state["finished"]:
                break
        self._last_steps = int(state["n_steps"]) - self._n_steps_before
        self._n_steps_before = int(state["n_steps"])

    def _start(self, score: int) -> None:
        first = np.int32(score)
        n_cells = self._n_groups * self._n_planes * BINS * LANES
        self._launch("start_tree", self._count_blocks(256, n_cells), 256, (first,))
        if self.options.masked:
            self._launch("draw_lists", 1, BLOCK)
        self._launch("make_words", self._count_blocks(BLOCK, self._n_rows, 2), BLOCK, (first,))
        self._search(1)

    def _step_several(self) -> None:
        for _ in range(_STEPS_AT_ONCE):
            self._step()

    def _step(self, most: int | None = None) -> None:
        """Split the nodes that were chosen, of which there are at most so many."""
        self._launch("partition_rows", _PART_BLOCKS * self._device.n_multiprocessors, 256)
        limit = int(self._fit["max_candidates"][0])
        self._search(2 * (limit if most is None else min(most, limit)))

    def _search(self, n_tasks: int) -> None:
        """The best splits of the root, which is one task, or of at most so many children."""
        root = n_tasks == 1
        flag, n_blocks = np.int32(root), self._device.n_multiprocessors
        options = self.options
        shared = self._n_planes * BINS * LANES * 4 + BLOCK * self._sizes["item"]
        if options.masked:
            self._launch("choose_features", self._count_blocks(32, n_tasks), 32, (flag,))
        self._launch("add_histograms", n_blocks, BLOCK, (flag, np.uint32(_LEAST_ROWS)), shared_bytes=shared)
        counted = bool(self._fit["checked"][0]) and not root
        grid = min(n_tasks * self._n_groups, 4 * n_blocks)
        self._launch("search_splits", grid, BLOCK, (flag,))
        if counted:
            self._launch("search_counts", min(n_tasks // 2 * self._n_groups, n_blocks), BLOCK)
        if self._fit["n_wide"][0]:
            self._launch("clear_levels", 8 * n_blocks, 256, (flag,))
            self._launch("add_levels", 8 * n_blocks, 256, (flag,))
        if len(options.categories):
            grid = min(n_tasks * len(options.categories), 2 * n_blocks)
            self._launch("search_categories", grid, 256, (flag,))
        self._launch("choose_nodes", 1, BLOCK, (flag,))

    def _end(self, score: int) -> None:
        self._sum_leaves(score)
        self._set_values(score)

    def _sum_leaves(self, score: int) -> None:
        most = _MOST_ROWS_OF_BLOCK // 2 if self.incremental else _MOST_ROWS_OF_BLOCK
        n_own = min(most, max(_LEAST_ROWS, -(-self._n_rows // (12 * self._device.n_multiprocessors))))
        self._launch("write_nodes", 1, BLOCK)
        self._launch("sum_leaves", -(-self._n_rows // n_own), 512, (np.int32(score), np.uint32(n_own)))

    def _set_values(self, score: int) -> None:
        self._launch("set_values", 1, BLOCK, (np.int32(score),))
        self._launch("update_scores", self._count_blocks(256, self._n_rows), 256, (np.int32(score),))

    def add_trees(self, trees: Sequence[tuple[AnyArray, AnyArray]], first: int, factor: float) -> None:
        """Earlier trees, as `collect` gave them, times a factor, to the scores of all rows."""
        offsets = np.cumsum([0, *(len(nodes) // FINAL_NODE.itemsize for nodes, _ in trees)]).astype(np.uint32)
        arrays = [np.concatenate([tree[k] for tree in trees]) for k in (0, 1)]
        kept = [self._device.allocate(array.nbytes) for array in (*arrays, offsets)]
        for memory, array in zip(kept, (*arrays, offsets), strict=True):
            self._device.copy_in(array, memory)
        arguments: list[KernelArgument] = [np.uint64(memory.address) for memory in kept]
        arguments += [np.uint32(len(trees)), np.uint32(first), np.float64(factor)]
        self._launch("add_trees", self._count_blocks(256, self._n_rows), 256, tuple(arguments))

    # Gradients that are kept from round to round.

    def find_largest_residual(self) -> float:
        """The largest distance of a target and its score."""
        return float(self._find_largest(kept=False).view(np.float64)[0])

    def find_largest_kept(self) -> int:
        """The largest gradient kept, in units."""
        return int(self._find_largest(kept=True)[0])

    def _find_largest(self, *, kept: bool) -> AnyArray:
        self._device.clear(self._memories["largest"])
        self._launch("find_largest_residual", self._count_blocks(256, self._n_rows), 256, (np.int32(kept),))
        return self._device.copy_out(self._memories["largest"], np.uint64, 1)

    def keep_residuals(self, scale: float, unit: float) -> None:
        """Gradients anew, in steps of a unit."""
        arguments = (np.float64(scale), np.float64(unit))
        self._launch("keep_residuals", self._count_blocks(256, self._n_rows), 256, arguments)

    def read_bound(self) -> int:
        """What no gradient kept exceeds."""
        return int(self._read_state()["bound"])

    def write_bound(self, bound: int) -> None:
        """Set what no gradient kept exceeds."""
        self._write_state("bound", bound)

    # The state.

    def _read_state(self) -> AnyArray:
        state: AnyArray = self._device.copy_out(self._memories["state"], STATE, 1)[0]
        return state

    def _write_state(self, name: str, value: int) -> None:
        dtype, offset = STATE.fields[name][:2] if STATE.fields else (None, 0)
        self._device.copy_in(np.array([value], dtype), self._memories["state"], offset)

    def collect(self) -> list[tuple[AnyArray, AnyArray]]:
        """The nodes of the trees grown since the last time, as bytes, and the levels of their splits by category."""
        if self.n_waiting == 0:
            return []
        state = self._read_state()
        if state["failed"]:
            raise EngineError(
                f"A tree of the GPU engine went wrong: {_FAILURES[state['failed']]}. This is a defect of the engine; "
                "please report it. Until it is mended, set engine='cpu'."
            )
        n, max_final, n_words = self.n_waiting, int(self._fit["max_final"][0]), self.options.n_words
        sizes = self._device.copy_out(self._memories["tree_sizes"], np.int32, n)
        trees = self._device.copy_out(self._memories["trees"], FINAL_NODE, n * max_final).reshape(n, max_final)
        codes: AnyArray = np.empty((n, max_final, 0), np.uint32)
        if n_words:
            codes = self._device.copy_out(self._memories["tree_codes"], np.uint32, n * max_final * n_words)
            codes = codes.reshape(n, max_final, n_words)
        self.n_waiting = self._n_ordered = 0
        self._write_state("n_trees", 0)
        return [
            (np.ascontiguousarray(tree[:size]).view(np.uint8), np.ascontiguousarray(own[:size]).ravel())
            for tree, own, size in zip(trees, codes, sizes, strict=True)
        ]
