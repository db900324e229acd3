"""The GPU engine: CUDA kernels that are compiled at first use and give the CPU engine's bytes.

Nothing here imports a CUDA library before a device is asked for.
"""

from __future__ import annotations

from committee.engines.gpu.boosting import GpuBoosting
from committee.engines.gpu.device import Device, open_device
from committee.engines.gpu.device_bins import DeviceBins
from committee.engines.gpu.explanation import GpuExplainer
from committee.engines.gpu.forest import grow_device_forest
from committee.engines.gpu.prediction import GpuPredictor
from committee.engines.gpu.stumps import GpuStumps

__all__ = [
    "Device",
    "DeviceBins",
    "GpuBoosting",
    "GpuExplainer",
    "GpuPredictor",
    "GpuStumps",
    "grow_device_forest",
    "open_device",
]
