"""The host's part of growing a tree on the device: memory, and which kernel comes when."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.layout import BINS, BLOCK, FINAL_NODE, FIT, LANES, SIZES, STATE, check_layout
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee import _core
    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram, KernelArgument
    from committee.typing import AnyArray, FloatArray

__all__ = ["TreeGrower"]

_LOSSES = ("squared_error", "poisson", "gamma", "tweedie", "logistic", "exponential", "softmax")
"""In the order of their numbers in `cuda/gradients.cuh`."""
_NARROW_SHIFT = 16
"""Bits that are cut off gradients whose rest fits into 16 bits with its sign."""
_AHEAD = 64
"""Nodes that best-first growth expands ahead of time, at most."""
_MOST_CANDIDATES, _MOST_COUNTS, _MOST_SLOTS = 1024, 64, 256
_MOST_ROWS_OF_BLOCK, _LEAST_ROWS = 32_768, 1024
_STEPS_BETWEEN = 4
"""Steps between two looks at whether a tree is finished."""
_FAILURES = (
    "",
    "there was no room for the children of any node",
    "it took more steps than were planned",
    "it has more nodes than were planned",
    "a node has no such feature, or children that are not its own",
    "the nodes to be split have more rows than the table",
)
"""By their numbers in `cuda/boosting.cuh`."""


class TreeGrower:
    """Grows trees of one fit.

    Parameters
    ----------
    device : Device
        Where.
    data : BinnedMatrix
        The table.
    target : ndarray of float64
        Of each row, for each output.
    plan : BoostingPlan
        How words are made of gradients.
    params : BoostingParams
        Parameters of the trees.
    """

    def __init__(
        self,
        device: Device,
        data: _core.BinnedMatrix,
        target: FloatArray,
        plan: _core.BoostingPlan,
        params: _core.BoostingParams,
    ) -> None:
        self._device, self._plan, self._params = device, plan, params
        self._n_rows, self._n_features = data.n_rows, data.n_cols
        self._n_groups = -(-max(1, data.n_cols) // LANES)
        self._memories: dict[str, DeviceMemory] = {}
        self._fit = np.zeros(1, FIT)
        self._narrow = len(plan.weights) == 0 and plan.gradient_shift >= _NARROW_SHIFT
        self._program: DeviceProgram = device.compile("boosting.cu", ["COMMITTEE_NARROW"] if self._narrow else [])
        check_layout(device, self._program, self._narrow)
        self.n_waiting = self.n_slots = 0
        self._upload_table(data)
        self._put("y", np.ascontiguousarray(target, np.float64))
        self._upload_weights(plan)

    @property
    def n_bytes(self) -> int:
        """Memory of the device that was taken."""
        return sum(memory.n_bytes for memory in self._memories.values())

    # Memory.

    def _take(self, name: str, n_bytes: int) -> DeviceMemory:
        memory = self._memories[name] = self._device.allocate(n_bytes)
        self._fit[name] = memory.address
        return memory

    def _put(self, name: str, array: AnyArray) -> None:
        self._device.copy_in(array, self._take(name, array.nbytes))

    def _upload_table(self, data: _core.BinnedMatrix) -> None:
        stride = -(-self._n_rows // LANES) * LANES
        columns = self._take("columns", stride * self._n_features)
        for feature, column in enumerate(map(data.column, range(data.n_cols))):
            self._device.copy_in(column, columns, feature * stride)
        self._take("records", self._n_groups * self._n_rows * LANES)
        self._put("n_bins", np.asarray(self._plan.n_bins, np.uint32))
        for name in ("n_rows", "n_features", "n_groups"):
            self._fit[name] = getattr(self, f"_{name}")
        self._fit["column_stride"] = stride

    def _upload_weights(self, plan: _core.BoostingPlan) -> None:
        weights = np.asarray(plan.weights)
        self._fit["n_items"] = self._n_rows
        if len(weights) == 0:
            return
        self._put("weights", weights)
        self._put("positions", np.asarray(plan.positions))
        present = np.flatnonzero(weights).astype(np.uint32)
        if len(present) < self._n_rows:
            self._put("present", present)
            self._fit["n_items"] = len(present)

    def prepare(self, loss: _core.LossInfo, parameter: float, n_scores: int) -> None:
        """Take all memory of the fit, for a loss."""
        fit, plan, params = self._fit, self._plan, self._params
        fit["loss"], fit["n_scores"] = _LOSSES.index(loss.name), n_scores
        fit["constant_hessian"] = loss.constant_hessian and len(plan.weights) == 0
        fit["bounded"] = loss.powers is not None
        fit["gradient_power"], fit["hessian_power"] = loss.powers or (0, 0)
        fit["largest_step"], fit["parameter"] = loss.largest_step, 1.5 if np.isnan(parameter) else parameter
        for name in ("gradient_shift", "hessian_shift", "stochastic", "repeated", "weight_unit"):
            fit[name] = getattr(plan, name)
        for name in ("min_child_weight", "reg_lambda", "reg_alpha", "gamma"):
            fit[name] = getattr(params, name)
        fit["max_depth"], fit["min_split"] = params.max_depth, params.min_samples_split
        fit["min_leaf"] = params.min_samples_leaf
        # Sides of too few rows occur only where rows differ in their hessians.
        fit["checked"] = params.min_samples_leaf > 1 and not fit["constant_hessian"][0]
        self._choose_sizes()
        self._take_work_memory(n_scores)
        memory = self._take_fit()
        self._argument = np.uint64(memory.address)
        self._launch("make_records", self._count_blocks(256, self._n_rows * self._n_groups), 256)

    def _choose_sizes(self) -> None:
        """Limits of the tree in memory."""
        fit, params, n_items = self._fit, self._params, int(self._fit["n_items"][0])
        depth, limit = int(params.max_depth), int(params.max_leaf_nodes)
        most_leaves = max(1, n_items // max(1, int(params.min_samples_leaf)))
        if depth < 31:
            most_leaves = min(most_leaves, 1 << depth)
        limited = 0 < limit < most_leaves
        fit["max_leaves"] = limit if limited else 0
        if limited:
            fit["max_nodes"], fit["max_final"] = 8 * limit + 64, 2 * limit
            fit["max_candidates"], fit["ahead"] = 4 * _AHEAD, _AHEAD
        else:
            # A node that was expanded in vain keeps places for children that it may never have.
            fit["max_nodes"] = (4 if fit["checked"][0] else 2) * most_leaves + 2
            fit["max_final"] = 2 * most_leaves
            fit["max_candidates"] = min(_MOST_CANDIDATES, most_leaves)
        fit["max_counts"] = min(_MOST_COUNTS, int(fit["max_candidates"][0])) if fit["checked"][0] else 1
        # Without nodes to be counted again the number of steps is that of the levels.
        in_levels = not limited and not fit["checked"][0] and depth <= 11
        self._n_steps = depth if in_levels and 1 << max(0, depth - 1) <= fit["max_candidates"][0] else None

    def _list_work_memory(self, n_scores: int) -> dict[str, int]:
        """Bytes of what the kernels work in."""
        sizes = {name: int(self._fit[name][0]) for name in ("n_items", "max_nodes", "max_candidates", "max_counts")}
        max_final, cells = int(self._fit["max_final"][0]), self._n_groups * BINS * LANES * 4
        items = sizes["n_items"] * SIZES["narrow_item" if self._narrow else "item"]
        self.n_slots = max(n_scores, min(_MOST_SLOTS, (64 << 20) // (max_final * FINAL_NODE.itemsize)))
        return {
            "scores": 8 * n_scores * self._n_rows,
            "pairs": 8 * n_scores * self._n_rows,
            "leaves": 4 * self._n_rows,
            "items": items,
            "other_items": items,
            "histograms": 2 * cells * sizes["max_nodes"],
            "counts": cells * sizes["max_counts"],
            "nodes": SIZES["node"] * sizes["max_nodes"],
            "candidates": SIZES["candidate"] * sizes["max_candidates"],
            "found": SIZES["split"] * 2 * sizes["max_candidates"] * self._n_groups,
            "recounts": SIZES["split"] * 2 * sizes["max_counts"] * self._n_features,
            "keys": 8 * sizes["max_nodes"],
            "open": 4 * (2 * int(self._fit["max_leaves"][0]) + 4),
            "state": STATE.itemsize,
            "largest": 16 * n_scores,
            "units": 16 * n_scores,
            "sums": 32 * max_final,
            "trees": FINAL_NODE.itemsize * max_final * self.n_slots,
            "tree_sizes": 4 * self.n_slots,
        }

    def _take_work_memory(self, n_scores: int) -> None:
        wanted = self._list_work_memory(n_scores)
        needed, free = sum(wanted.values()), self._device.count_free_bytes()
        if needed > free:
            raise EngineError(
                f"The fit needs {needed / 1e9:.1f} GB of the GPU's memory beside the table, of which "
                f"{wanted['histograms'] / 1e9:.1f} GB are histograms of nodes; {free / 1e9:.1f} GB are free. Limit "
                "the depth or the leaves of trees, or set engine='cpu'."
            )
        for name, n_bytes in wanted.items():
            memory = self._take(name, n_bytes)
            if name in ("state", "scores"):
                self._device.clear(memory)

    def _take_fit(self) -> DeviceMemory:
        memory = self._memories["fit"] = self._device.allocate(FIT.itemsize)
        self._device.copy_in(self._fit.view(np.uint8), memory)
        return memory

    # Launches.

    def _count_blocks(self, block: int, n: int, most_per_multiprocessor: int = 16) -> int:
        return max(1, min(-(-n // block), most_per_multiprocessor * self._device.n_multiprocessors))

    def _launch(
        self, kernel: str, grid: int, block: int, arguments: tuple[KernelArgument, ...] = (), *, shared_bytes: int = 0
    ) -> None:
        self._program.launch(kernel, grid, block, (self._argument, *arguments), shared_bytes=shared_bytes)

    def write_scores(self, scores: FloatArray) -> None:
        """Start from these scores, [score][row]."""
        self._device.copy_in(scores, self._memories["scores"])

    def read_scores(self) -> FloatArray:
        """The scores, [score][row]."""
        memory = self._memories["scores"]
        return self._device.copy_out(memory, np.float64, memory.n_bytes // 8)

    def find_gradients(self) -> None:
        """Gradients of all rows at the scores."""
        grid = self._count_blocks(256, self._n_rows)
        if not self._fit["bounded"][0]:
            self._device.clear(self._memories["largest"])
            self._launch("find_largest", grid, 256)
        self._launch("find_gradients", grid, 256)

    def grow(self, score: int, key: int, rate: float) -> None:
        """A tree for a score, and its values added to the scores."""
        n_items, number = int(self._fit["n_items"][0]), np.int32(self.n_waiting)
        first = np.int32(score)
        self._launch("start_tree", self._count_blocks(256, self._n_groups * 2 * BINS * LANES), 256, (first,))
        self._launch("make_words", self._count_blocks(BLOCK, n_items, 2), BLOCK, (first, np.uint64(key)))
        self._search(root=True, number=number)
        if self._n_steps is not None:
            for _ in range(self._n_steps):
                self._step(number)
        else:
            while not self._read_state()["finished"]:
                for _ in range(_STEPS_BETWEEN):
                    self._step(number)
        n_own = min(_MOST_ROWS_OF_BLOCK, max(_LEAST_ROWS, -(-n_items // (4 * self._device.n_multiprocessors))))
        self._launch("sum_leaves", -(-n_items // n_own), 512, (first, number, np.uint32(n_own)))
        self._launch("set_values", 1, BLOCK, (first, number, np.float64(rate)))
        self._launch("update_scores", self._count_blocks(256, n_items), 256, (first, number))
        self.n_waiting += 1

    def _step(self, number: np.int32) -> None:
        self._launch("partition_rows", 8 * self._device.n_multiprocessors, 256)
        self._launch("check_candidates", 1, BLOCK)
        self._search(root=False, number=number)

    def _search(self, *, root: bool, number: np.int32) -> None:
        flag, n_blocks = np.int32(root), self._device.n_multiprocessors
        item = SIZES["narrow_item" if self._narrow else "item"]
        shared = 2 * BINS * LANES * 4 + BLOCK * item
        self._launch("add_histograms", n_blocks, BLOCK, (flag, np.uint32(_LEAST_ROWS)), shared_bytes=shared)
        n_tasks = 1 if root else 2 * int(self._fit["max_candidates"][0])
        self._launch("search_splits", min(n_tasks * self._n_groups, 4 * n_blocks), BLOCK, (flag,))
        self._launch("choose_nodes", 1, BLOCK, (flag, number))

    def _read_state(self) -> AnyArray:
        state: AnyArray = self._device.copy_out(self._memories["state"], STATE, 1)[0]
        return state

    def collect(self) -> list[AnyArray]:
        """The nodes of the trees grown since the last time, as bytes."""
        if self.n_waiting == 0:
            return []
        state = self._read_state()
        if state["failed"]:
            raise EngineError(
                f"A tree of the GPU engine went wrong: {_FAILURES[state['failed']]}. This is a defect of the engine; "
                "please report it. Until it is mended, set engine='cpu'."
            )
        max_final = int(self._fit["max_final"][0])
        sizes = self._device.copy_out(self._memories["tree_sizes"], np.int32, self.n_waiting)
        nodes = self._device.copy_out(self._memories["trees"], FINAL_NODE, self.n_waiting * max_final)
        trees = nodes.reshape(self.n_waiting, max_final)
        self.n_waiting = 0
        return [np.ascontiguousarray(tree[:size]).view(np.uint8) for tree, size in zip(trees, sizes, strict=True)]
