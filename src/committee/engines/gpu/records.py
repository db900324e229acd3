"""Binned tables of the host as records on a device: 32 columns of a row side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.binning import count_bin_stride
from committee.engines.gpu.layout import LANES

if TYPE_CHECKING:
    from committee import _core
    from committee.engines.gpu.device import Device, DeviceMemory, DeviceProgram, KernelArgument

__all__ = ["send_records"]


def send_records(device: Device, program: DeviceProgram, data: _core.BinnedMatrix, records: DeviceMemory) -> None:
    """Send a table, 32 columns at a time: by columns the device never has more of it.

    Parameters
    ----------
    device : Device
        Where.
    program : DeviceProgram
        One that has the kernels of `cuda/records.cuh`.
    data : BinnedMatrix
        The table.
    records : DeviceMemory
        Where its records go; `layout.count_record_bytes` says how large it must be.
    """
    n_rows, stride = data.n_rows, count_bin_stride(data.n_rows)
    columns = device.allocate(stride * min(LANES, data.n_cols))
    grid = max(1, min(-(-n_rows // 256), 16 * device.n_multiprocessors))
    for first in range(0, max(1, data.n_cols), LANES):
        own = range(first, min(data.n_cols, first + LANES))
        for place, feature in enumerate(own):
            column = data.column(feature) if data.has_entries else data.columns[feature]
            device.copy_in(column, columns, place * stride)
        arguments: list[KernelArgument] = [np.uint64(records.address + first * n_rows), np.uint64(columns.address)]
        arguments += [np.uint64(n_rows), np.uint64(stride), np.uint32(len(own))]
        program.launch("make_records", grid, 256, arguments)
