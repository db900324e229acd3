"""Tables of numbers to bytes on a device, with the bytes of the core's bins."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.layout import BINS, BLOCK, LANES
from committee.exceptions import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram
    from committee.typing import AnyArray, FloatArray

__all__ = ["BINNING", "BinJob", "DeviceTableView", "ThresholdTables", "compile_binning", "count_bin_stride"]

_POINTERS = (
    "x",
    "bins",
    "tables",
    "columns",
    "n_levels",
    "counted",
    "ranges",
    "values",
    "n_values",
    "slots",
    "n_slots",
)
_INTEGERS = ("n_rows", "n_used", "row_stride", "column_stride", "bin_stride", "group_stride")
BINNING = np.dtype([(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS])
"""The job of the kernels in `cuda/binning.cu`."""
_TILE_BYTES = LANES * (1024 + 4)


def count_bin_stride(n_rows: int) -> int:
    """Bytes of a column of bins."""
    return -(-n_rows // LANES) * LANES


@dataclass(frozen=True)
class DeviceTableView:
    """Numbers in the device's memory.

    Attributes
    ----------
    address : int
        Of the first number.
    n_rows : int
        Number of rows.
    is_double : bool
        float64; else float32.
    row_stride, column_stride : int
        From one row to the next, and from one column to the next, in numbers.
    """

    address: int
    n_rows: int
    is_double: bool
    row_stride: int
    column_stride: int

    @property
    def item_bytes(self) -> int:
        """Bytes of a number."""
        return 8 if self.is_double else 4


@dataclass(frozen=True)
class BinJob:
    """Rows whose bins are to be written.

    Attributes
    ----------
    table : DeviceTableView
        The rows.
    bins : int
        Address of the bin of the first row and column; a multiple of 4.
    bin_stride : int
        Bytes from one column of bins to the next.
    counted : int
        Address of a byte for each row: whether ranges are of this row too; 0 for all.
    group_stride : int
        Not 0: the bins are records, 32 columns of a row side by side, and this is the way from one group of columns to
        the next in bytes.
    """

    table: DeviceTableView
    bins: int
    bin_stride: int
    counted: int = 0
    group_stride: int = 0


def compile_binning(device: Device, is_double: bool) -> DeviceProgram:
    """The program that bins float64 or float32 values; most tables lie by rows."""
    return device.compile("binning.cu", [], ["describe_binning", f"bin_{'double' if is_double else 'float'}_rows"])


def _round_down(thresholds: FloatArray) -> AnyArray:
    """The largest float32 numbers that are not larger: float32 values compare with them as with the thresholds."""
    nearest = thresholds.astype(np.float32)
    lower = np.nextafter(nearest, np.float32(-np.inf))
    return np.where(nearest.astype(np.float64) <= thresholds, nearest, lower)


class ThresholdTables:
    """Thresholds of some columns on the device, where values are looked up in them.

    Parameters
    ----------
    device : Device
        Where.
    columns : sequence of int
        The columns that are looked up; the others are skipped.
    thresholds : sequence of ndarray
        Of these, ascending, at most 254 each.
    n_levels : sequence of int
        Of these: the number of levels of a category, at most 255; 0 for numbers.
    is_double : bool
        Whether the values are float64.
    """

    def __init__(
        self,
        device: Device,
        columns: Sequence[int],
        thresholds: Sequence[FloatArray],
        n_levels: Sequence[int],
        is_double: bool,
    ) -> None:
        self._device, self._name = device, "double" if is_double else "float"
        self.n_used = len(columns)
        self._program = compile_binning(device, is_double)
        self._check_layout()
        self.fields = np.zeros(1, BINNING)
        self.kept: list[DeviceMemory] = []
        self._jobs: list[DeviceMemory] = []
        dtype = np.float64 if is_double else np.float32
        n_groups = -(-max(1, self.n_used) // LANES)
        tables = np.full((n_groups, LANES, BINS), np.inf, dtype)
        for k, own in enumerate(thresholds):
            tables[k // LANES, k % LANES, : len(own)] = own if is_double else _round_down(own)
        self.put("tables", np.ascontiguousarray(tables.transpose(0, 2, 1)))
        self.put("columns", np.array(columns, np.uint32))
        self.put("n_levels", np.array(n_levels, np.uint32))
        self.fields["n_used"] = self.n_used

    def _check_layout(self) -> None:
        memory = self._device.allocate(8)
        self._program.launch("describe_binning", 1, 32, [np.uint64(memory.address)])
        found = int(self._device.copy_out(memory, np.uint64, 1)[0])
        if found != BINNING.itemsize:
            raise EngineError(f"The compiled kernels describe bins in {found} bytes, not in those known here.")

    def put(self, name: str, array: AnyArray) -> DeviceMemory:
        """An array that the kernels read, or write to."""
        memory = self._device.allocate(array.nbytes)
        self._device.copy_in(array, memory)
        self.kept.append(memory)
        self.fields[name] = memory.address
        return memory

    def apply(self, jobs: Sequence[BinJob]) -> list[Callable[[], None]]:
        """What writes the bins of some rows, for each job; nothing is written before it is called.

        Parameters
        ----------
        jobs : sequence of BinJob
            Which rows, and where their bins go.
        """
        fields = np.repeat(self.fields, len(jobs))
        for own, job in zip(fields, jobs, strict=True):
            own["x"], own["bins"], own["counted"] = job.table.address, job.bins, job.counted
            own["n_rows"], own["bin_stride"] = job.table.n_rows, job.bin_stride
            own["group_stride"] = job.group_stride
            own["row_stride"], own["column_stride"] = job.table.row_stride, job.table.column_stride
        memory = self._device.allocate(max(1, fields.nbytes))
        self._device.copy_in(fields.view(np.uint8), memory)
        self._jobs.append(memory)
        return [partial(self._launch, memory.address + k * BINNING.itemsize, job) for k, job in enumerate(jobs)]

    def forget_jobs(self) -> None:
        """Free the descriptions of jobs that are done."""
        self._jobs.clear()

    def _launch(self, address: int, job: BinJob) -> None:
        n_rows = job.table.n_rows
        if self.n_used == 0 or n_rows == 0:
            return
        by = "rows" if job.table.column_stride == 1 else "columns"
        n_groups, n_tiles = -(-self.n_used // LANES), -(-n_rows // BLOCK)
        per_group = max(1, min(n_tiles, 2 * self._device.n_multiprocessors // n_groups))
        shared = BINS * LANES * job.table.item_bytes + _TILE_BYTES
        arguments = [np.uint64(address)]
        self._program.launch(f"bin_{self._name}_{by}", n_groups * per_group, BLOCK, arguments, shared_bytes=shared)
        if self.fields["slots"][0]:
            grid = max(1, min(-(-n_rows // 256), 16 * self._device.n_multiprocessors))
            self._program.launch(f"find_other_{self._name}s", grid, 256, arguments)
