"""Boosting of stumps on a device, with the CPU's bytes: weights and histograms are there, the host searches these."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.engines.gpu.device import open_device
from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.layout import BINS, BLOCK, LANES, count_record_bytes
from committee.engines.gpu.records import send_records
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceMemory, KernelArgument
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["GpuStumps", "find_stump_obstacle"]

_POINTERS = (
    "records",
    "rows",
    "chunks",
    "levels",
    "units",
    "fixed",
    "deltas",
    "histograms",
    "sides",
    "factors",
    "leaves",
)
_INTEGERS = ("n_rows", "n_present", "n_features", "n_groups", "n_chunks", "n_classes", "n_leaves", "feature")
STUMPS = np.dtype([(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS])
"""What the kernels in `cuda/stumps.cu` work on."""
ROW_CHUNK = np.dtype([(name, "u4") for name in ("begin", "end", "label", "unused")])
_COLUMN_SLOTS = 264  # of a histogram, as `kStumpColumnSlots` in `stump_weights.hpp`
_MOST_BINS, _MISSING, _NONE = 255, 255, 0xFFFFFFFF
_LEAST_CHUNK = 1024
_SHARED_BYTES = 4 * (2 * BINS * LANES + 3 * BLOCK)


def find_stump_obstacle(data: _core.BinnedMatrix | DeviceBins, *, exact: bool) -> str | None:
    """Why stumps cannot be boosted on the GPU; None if they can."""
    obstacles = {
        "exact splits": exact,
        "sparse tables": bool(data.has_entries),
        "categories of more than 255 levels": bool(np.any(np.asarray(data.mapper.n_bins) > _MOST_BINS)),
    }
    found = [name for name, present in obstacles.items() if present]
    if not found:
        return None
    return f"The GPU engine does not support {' or '.join(found)} in AdaBoost yet. Set engine='cpu'."


class GpuStumps:
    """One stump a round, on weights that change from round to round; with the methods of `_core.StumpTrainer`.

    Parameters
    ----------
    data : BinnedMatrix or DeviceBins
        The table.
    labels : ndarray of shape (n_rows,)
        Class numbers.
    n_classes : int
        Number of classes.
    weights : ndarray of shape (n_rows,) or None
        Weights of the first round; a row of weight zero is absent.
    criterion : str
        The core's name of the criterion.
    n_jobs : int
        Number of threads of the search.
    n_counted : float
        Rows that all weights stand for.
    device : Device, optional
        By default the current CUDA device.
    """

    def __init__(
        self,
        data: _core.BinnedMatrix | DeviceBins,
        labels: IndexArray,
        n_classes: int,
        weights: FloatArray | None,
        criterion: str,
        n_jobs: int,
        n_counted: float,
        device: Device | None = None,
    ) -> None:
        if device is None:
            device = data.device if isinstance(data, DeviceBins) else open_device()
        self._device = device
        self._mapper, self._n_classes = data.mapper, n_classes
        self._program = self._device.compile("stumps.cu", [])
        self._memories: dict[str, DeviceMemory] = {}
        self._job = np.zeros(1, STUMPS)
        self._check_layout()
        units, levels, total = None, None, float(data.n_rows)
        if weights is not None:
            units, levels, total = _core.start_stump_weights(np.ascontiguousarray(weights, np.float64))
        self._units, self._present = units, self._find_present(units, levels, data.n_rows)
        self._check_room(data, units is not None)
        self._labels, self._scales = np.ascontiguousarray(labels, np.uint32), np.ones(n_classes)
        self._send_rows(self._labels, data.n_rows)
        self._put("levels", np.ones(data.n_rows) if levels is None else levels)
        if units is not None:
            self._put("units", units)
        self._take("fixed", 8 * data.n_rows)
        self._take("deltas", 8 * max(1, len(self._present)))
        self._take("histograms", 8 * n_classes * data.n_cols * _COLUMN_SLOTS)
        for name, n_bytes in (("sides", BINS), ("factors", 16 * n_classes), ("leaves", 32 * n_classes)):
            self._take(name, n_bytes)
        self._put_records(data)
        for name, value in (("n_rows", data.n_rows), ("n_features", data.n_cols), ("n_classes", n_classes)):
            self._job[name] = value
        self._job["n_groups"] = -(-max(1, data.n_cols) // LANES)
        counted = n_counted if n_counted > 0.0 else float(data.n_rows if units is None else units.sum())
        self._driver = _core.StumpDriver(data.mapper, n_classes, criterion, n_jobs, counted)
        self._scale(total)
        self._leaves: AnyArray

    def _put_records(self, data: _core.BinnedMatrix | DeviceBins) -> None:
        if isinstance(data, DeviceBins):
            self._memories["records"] = data.records
            self._job["records"] = data.records.address
            return
        records = self._take("records", count_record_bytes(data.n_rows, data.n_cols))
        send_records(self._device, self._program, data, records)

    @staticmethod
    def _find_present(units: AnyArray | None, levels: FloatArray | None, n_rows: int) -> IndexArray:
        """Rows that take part."""
        if units is not None:
            return np.flatnonzero(units).astype(np.uint32)
        return np.arange(n_rows, dtype=np.uint32) if levels is None else np.flatnonzero(levels).astype(np.uint32)

    def _check_layout(self) -> None:
        memory = self._device.allocate(24)
        self._program.launch("describe_stumps", 1, LANES, [np.uint64(memory.address)])
        found = self._device.copy_out(memory, np.uint64, 3).tolist()
        if found != [STUMPS.itemsize, ROW_CHUNK.itemsize, _COLUMN_SLOTS]:
            raise EngineError(f"The compiled kernels lay out stumps as {found}, not as it is known here.")

    def _check_room(self, data: _core.BinnedMatrix | DeviceBins, has_units: bool) -> None:
        of_rows = (28 + 8 * has_units) * data.n_rows
        histograms = 8 * self._n_classes * data.n_cols * _COLUMN_SLOTS
        of_table = 0 if isinstance(data, DeviceBins) else 2 * count_record_bytes(data.n_rows, data.n_cols)
        needed = of_rows + histograms + of_table
        free = self._device.count_free_bytes()
        if needed > free:
            raise EngineError(
                f"Boosting of stumps needs {needed / 1e9:.3g} GB of the GPU's memory; {free / 1e9:.3g} GB are free. "
                "Fit with fewer rows or features, or set engine='cpu'."
            )

    # Memory.

    def _take(self, name: str, n_bytes: int) -> DeviceMemory:
        memory = self._memories[name] = self._device.allocate(n_bytes)
        self._job[name] = memory.address
        return memory

    def _put(self, name: str, array: AnyArray) -> None:
        self._device.copy_in(array, self._take(name, max(1, array.nbytes)))

    def _send_rows(self, labels: IndexArray, n_rows: int) -> None:
        """The rows class by class, as chunks of one class each."""
        own = labels[self._present]
        self._put("rows", self._present[np.argsort(own, kind="stable")])
        ends = np.cumsum(np.bincount(own, minlength=self._n_classes))
        size = max(_LEAST_CHUNK, -(-n_rows // (4 * self._device.n_multiprocessors)))
        chunks = [
            (begin, min(begin + size, int(end)), label, 0)
            for label, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
            for begin in range(int(start), int(end), size)
        ]
        self._put("chunks", np.array(chunks, ROW_CHUNK))
        self._job["n_chunks"], self._job["n_present"] = len(chunks), len(self._present)

    def _launch(self, kernel: str, grid: int, block: int, *arguments: KernelArgument, shared_bytes: int = 0) -> None:
        job = self._memories.get("job")
        if job is None:
            job = self._memories["job"] = self._device.allocate(STUMPS.itemsize)
        self._device.copy_in(self._job.view(np.uint8), job)
        self._program.launch(kernel, grid, block, [np.uint64(job.address), *arguments], shared_bytes=shared_bytes)

    # A round.

    def _scale(self, total: float) -> None:
        """Bring the weights to the scale of a total, and count all of them."""
        exponent = math.frexp(total)[1]
        grid = max(1, min(-(-len(self._present) // 256), 16 * self._device.n_multiprocessors))
        self._launch("scale_levels", grid, 256, np.float64(math.ldexp(1.0, -exponent)))
        self._device.clear(self._memories["histograms"])
        self._add_deltas()

    def _add_deltas(self) -> None:
        n_chunks, n_groups = int(self._job["n_chunks"][0]), int(self._job["n_groups"][0])
        self._launch("add_deltas", n_chunks * n_groups, BLOCK, shared_bytes=_SHARED_BYTES)

    def grow(self) -> tuple[_core.Trees, FloatArray, FloatArray]:
        """The best stump, the decrease of impurity by feature, and the share of the weight by leaf and class."""
        memory = self._memories["histograms"]
        split = self._driver.find(self._device.copy_out(memory, np.int64, memory.n_bytes // 8))
        self._take_split(*split)
        n_leaves, n_classes = int(self._job["n_leaves"][0]), self._n_classes
        self._device.clear(self._memories["leaves"])
        self._launch("count_leaves", int(self._job["n_chunks"][0]), 256)
        leaves = self._device.copy_out(self._memories["leaves"], np.int64, 2 * n_leaves * n_classes)
        self._leaves = leaves.reshape(2, n_leaves, n_classes)
        return self._driver.describe(self._leaves)

    def _take_split(self, feature: int, last: int, missing_left: bool, codes: list[int]) -> None:
        """Say which leaf each bin is in."""
        found = feature != _NONE
        self._job["n_leaves"], self._job["feature"] = (2, feature) if found else (1, 0)
        if not found:
            return
        sides = np.ones(BINS, np.uint8)
        if self._mapper.is_categorical[feature]:
            sides[codes] = 0
        else:
            sides[: last + 1] = 0
        sides[_MISSING] = not missing_left
        self._device.copy_in(sides, self._memories["sides"])

    def multiply(self, factors: FloatArray) -> None:
        """Multiply the weight of each row by the factor of its leaf (of the last stump) and class."""
        own = np.ascontiguousarray(factors, np.float64)
        common, scales = self._driver.plan(own, self._leaves)
        self._device.copy_in(own / np.array(common), self._memories["factors"])
        self._launch("multiply_levels", int(self._job["n_chunks"][0]), 256)
        self._add_deltas()
        self._scales = np.array(scales)

    @property
    def weights(self) -> FloatArray:
        """Weight of each row; the sum is 1."""
        n_rows = int(self._job["n_rows"][0])
        levels: FloatArray = self._device.copy_out(self._memories["levels"], np.float64, n_rows)
        weights: FloatArray = np.zeros(n_rows)
        own = levels[self._present]
        if self._units is not None:
            own = own * self._units[self._present].astype(np.float64)
        weights[self._present] = own * self._scales[self._labels[self._present]]
        return weights / _core.round_exact(_core.sum_exactly(weights))
