"""What a fit takes of the device's memory, and how much of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.binning import count_bin_stride
from committee.engines.gpu.boosting_kernels import LOSSES, BoostingKernels
from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.hot_columns import count_columns, mark_columns
from committee.engines.gpu.layout import BINS, FINAL_NODE, FIT, LANES, ORDER, STATE, count_record_bytes, read_sizes
from committee.engines.gpu.options import TreeOptions
from committee.engines.gpu.records import send_records
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee import _core
    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram, KernelArgument
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["FitMemory"]

_AHEAD = 64
"""Nodes that best-first growth expands ahead of time, at most."""
_MOST_CANDIDATES, _MOST_COUNTS = 1024, 64
_MOST_SLOTS, _FEW_SLOTS = 256, 48
"""Trees that stay on the device until the host takes them."""


def _find_narrowest(target: FloatArray) -> AnyArray:
    """The same numbers in the fewest bytes that hold them exactly: those of classes fit into one."""
    for dtype in (np.uint8, np.float32):
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = target.astype(dtype)
        if (narrow == target).all() and not np.signbit(target[target == 0.0]).any():
            return narrow
    return target


class FitMemory:
    """The memory of one fit, and the program that works in it.

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
        self._device, self._plan, self._params = device, plan, params
        self._n_rows, self._n_features = data.n_rows, data.n_cols
        self._n_groups = -(-max(1, data.n_cols) // LANES)
        self._memories: dict[str, DeviceMemory] = {}
        self._fit = np.zeros(1, FIT)
        self._loss, self._n_scores, self._given = loss, n_scores, target is None
        self.options = TreeOptions(data.described if isinstance(data, DeviceBins) else data, plan, params)
        self.kernels = kernels = BoostingKernels.choose(
            plan, self.options, params, loss.name, n_scores, data.n_rows, given=self._given
        )
        self.incremental, self._fresh = kernels.incremental, kernels.fresh_loss is not None
        self._weighted, self._draws_weights = kernels.weighted, kernels.draws_weights
        self._program: DeviceProgram = kernels.compile(device)
        self._sizes = read_sizes(device, self._program)
        self.n_slots = 0
        self._upload_table(data)
        if target is not None:
            y = _find_narrowest(np.ascontiguousarray(target, np.float64))
            self._put("y", y)
            self._fit["y_bytes"] = y.itemsize
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

    def _renew(self, name: str, array: AnyArray) -> None:
        """Put an array of this round into the place of the last one."""
        memory = self._memories.get(name)
        if memory is None or memory.n_bytes < array.nbytes:
            memory = self._take(name, array.nbytes)
        self._fit[name] = memory.address
        self._device.copy_in(array, memory)

    def _upload_table(self, data: _core.BinnedMatrix | DeviceBins) -> None:
        if isinstance(data, DeviceBins):
            self._memories["records"] = data.records
            self._fit["records"] = data.records.address
        else:
            records = self._take("records", count_record_bytes(self._n_rows, self._n_features))
            send_records(self._device, self._program, data, records)
        self._put("n_bins", np.asarray(self._plan.n_bins, np.uint32))
        for name in ("n_rows", "n_features", "n_groups"):
            self._fit[name] = getattr(self, f"_{name}")

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

    def prepare(self) -> None:
        """Take all memory of the fit."""
        fit, plan, params, loss = self._fit, self._plan, self._params, self._loss
        fit["n_scores"] = self._n_scores
        self._set_loss()
        for name in ("gradient_shift", "hessian_shift", "stochastic", "repeated", "weight_unit"):
            fit[name] = getattr(plan, name)
        if self.incremental:
            fit["gradient_shift"] = fit["hessian_shift"] = 0
        for name in ("min_child_weight", "reg_lambda", "reg_alpha", "gamma", "level_wise"):
            fit[name] = getattr(params, name)
        fit["max_depth"], fit["min_split"] = params.max_depth, params.min_samples_split
        fit["min_leaf"] = params.min_samples_leaf
        constant = loss.constant_hessian and not self._weighted and "y" in self._memories
        # Sides of too few rows occur only where rows differ in their hessians; those of too little weight anywhere.
        fit["checked"] = (params.min_samples_leaf > 1 and not constant) or params.min_weight_leaf > 0.0
        fit["least_gain"] = self.options.find_least_gain(self.incremental)
        self._set_least_weight(plan.total_weight)
        if self.options.needed:
            fit["track_weights"] = fit["count_weights"] = self._weighted
            for name, value in self.options.list_fields().items():
                fit[name] = value
            for name, array in self.options.list_arrays().items():
                self._put(name, array)
        self._choose_sizes()
        self._n_columns = self._count_columns()
        self._take_work_memory()
        self._send_fit()
        if self._n_columns == self._n_features:
            self._write_columns(np.arange(self._n_features, dtype=np.uint32))

    def _count_columns(self) -> int:
        """Columns that there is room for beside all else."""
        self._n_columns = 0
        work = self._list_work_memory()
        others = sum(work.values()) - work["scores"] + self.n_bytes
        n_free = self._device.count_free_bytes() - sum(work.values())
        return count_columns(self._n_rows, self._n_features, others, n_free)

    def _set_loss(self) -> None:
        fit = self._fit
        given, loss = self._given, self._loss
        fit["loss"] = len(LOSSES) if given else LOSSES.index(loss.name)
        fit["constant_hessian"] = loss.constant_hessian and len(self._plan.weights) == 0 and not given
        fit["bounded"] = loss.powers is not None and not given
        fit["gradient_power"], fit["hessian_power"] = loss.powers or (0, 0)
        fit["largest_step"] = loss.largest_step

    def _set_least_weight(self, total: int) -> None:
        # A leaf that has exactly this is kept, whatever sums are off by.
        self._fit["least_weight"] = self._params.min_weight_leaf * float(total) * (1.0 - 1e-9)

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
            # Room for nodes that were expanded in vain: with half of it trees take half as many steps more, with twice
            # of it hardly fewer.
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

    @property
    def _n_planes(self) -> int:
        return 4 if self.incremental else 2

    def _count_histogram_bytes(self) -> int:
        """Of one node."""
        return self._n_planes * self._n_groups * BINS * LANES * 4

    def _count_slots(self) -> int:
        """Histograms that are there together: two children share their parent's and a new one."""
        slots = int(self._fit["max_nodes"][0]) // 2 + 1
        # Level by level, those of the last depth have no histograms.
        return slots if self._n_steps is None else min(slots, 1 << max(0, self._n_steps - 1))

    @property
    def _leaves(self) -> DeviceMemory:
        return self._memories.get("leaves", self._memories["items"])

    def _list_work_memory(self) -> dict[str, int]:
        """Bytes of what the kernels work in."""
        n_scores, names = self._n_scores, ("n_items", "max_nodes", "max_candidates", "max_counts", "max_final")
        limits = {name: int(self._fit[name][0]) for name in names}
        max_final, cells = limits["max_final"], self._n_groups * BINS * LANES * 4
        n_found = self._n_groups + len(self.options.categories)
        items = limits["n_items"] * self._sizes["item"]
        tree = max_final * (FINAL_NODE.itemsize + 4 * self.options.n_words)
        # Trees without a fixed number of steps are waited for in any case.
        most = _FEW_SLOTS if self._n_steps is None else _MOST_SLOTS
        self.n_slots = max(n_scores, min(most, (64 << 20) // tree))
        sizes = {
            "scores": 8 * n_scores * self._n_rows,
            "items": items,
            "other_items": items,
            "histograms": self._count_histogram_bytes() * self._count_slots(),
            "counts": cells * limits["max_counts"] * (2 if self._fit["count_weights"][0] else 1),
            "nodes": self._sizes["node"] * limits["max_nodes"],
            "candidates": self._sizes["candidate"] * limits["max_candidates"],
            "found": self._sizes["split"] * 2 * limits["max_candidates"] * n_found,
            "recounts": self._sizes["split"] * 2 * limits["max_counts"] * self._n_features,
            "keys": 8 * limits["max_nodes"],
            "open": 4 * (2 * int(self._fit["max_leaves"][0]) + 4),
            "state": STATE.itemsize,
            "largest": 16 * n_scores,
            "units": 16 * n_scores,
            "sums": 32 * max_final,
            "trees": FINAL_NODE.itemsize * max_final * self.n_slots,
            "tree_sizes": 4 * self.n_slots,
            "orders": ORDER.itemsize * self.n_slots,
            "parameters": 8 * n_scores,
        }
        if not self._fresh:
            sizes["pairs"] = 8 * n_scores * self._n_rows
        if self._n_columns > 0:
            sizes["columns"] = count_bin_stride(self._n_rows) * self._n_columns
        if items < 4 * self._n_rows:
            sizes["leaves"] = 4 * self._n_rows
        if self._draws_weights:
            sizes["sizes"] = 8 * self._n_rows
        if self.options.needed:
            n_blocks = 2 * self._device.n_multiprocessors
            sizes |= self.options.list_memory(limits | {"n_slots": self.n_slots}, n_blocks, self._n_planes)
        return sizes

    def _take_work_memory(self) -> None:
        wanted = self._list_work_memory()
        needed, free = sum(wanted.values()), self._device.count_free_bytes()
        if needed > free:
            raise EngineError(
                f"The fit needs {needed / 1e9:.1f} GB of the GPU's memory beside the table, of which "
                f"{wanted['histograms'] / 1e9:.1f} GB are histograms of nodes; {free / 1e9:.1f} GB are free. Limit "
                "the depth or the leaves of trees, or set engine='cpu'."
            )
        if self._n_columns > 0:
            self._put("column_of", mark_columns(self._n_features, []))
        self._fit["column_stride"] = count_bin_stride(self._n_rows)
        for name, n_bytes in wanted.items():
            memory = self._take(name, n_bytes)
            if name in ("state", "scores"):
                self._device.clear(memory)
        # What leaf each row is in is written after the last look at the items, into their place.
        self._fit["leaves"] = self._leaves.address
        self._memories["fit"] = self._device.allocate(FIT.itemsize)
        self._argument = np.uint64(self._memories["fit"].address)

    def _write_columns(self, features: IndexArray) -> None:
        """Give columns to some features."""
        listed = self._device.allocate(features.nbytes)
        self._device.copy_in(features, listed)
        arguments = (np.uint64(listed.address), np.uint32(len(features)))
        self._launch("copy_columns", self._count_blocks(256, self._n_rows), 256, arguments)
        self._device.copy_in(mark_columns(self._n_features, features), self._memories["column_of"])

    def _send_fit(self) -> None:
        self._device.copy_in(self._fit.view(np.uint8), self._memories["fit"])

    def _count_blocks(self, block: int, n: int, most_per_multiprocessor: int = 16) -> int:
        return max(1, min(-(-n // block), most_per_multiprocessor * self._device.n_multiprocessors))

    def _launch(
        self, kernel: str, grid: int, block: int, arguments: tuple[KernelArgument, ...] = (), *, shared_bytes: int = 0
    ) -> None:
        self._program.launch(kernel, grid, block, (self._argument, *arguments), shared_bytes=shared_bytes)
