"""The structures of forests that host and kernels share, as NumPy types; `cuda/forest.cuh` has the same in CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceProgram

__all__ = ["FEW_WARPS", "FOREST", "FOREST_NODE", "GROWTH_STATE", "QUEUES", "read_forest_sizes"]

FEW_WARPS, QUEUES = 4, 3

_POINTERS = [
    "columns",
    "records",
    "weights",
    "labels",
    "y",
    "low",
    "high",
    "tree_keys",
    "offsets",
    "shifts",
    "min_weights",
    "decrease_factors",
    "items",
    "n_items",
    "nodes",
    "n_nodes",
    "totals",
    "leaf_rows",
    "queues",
    "state",
    "packed_nodes",
    "packed_totals",
    "packed_rows",
    "node_offsets",
    "row_offsets",
]
_INTEGERS = [
    "n_rows",
    "column_stride",
    "n_features",
    "n_groups",
    "n_trees",
    "max_items",
    "max_nodes",
    "n_elements",
    "n_classes",
    "counted",
    "weight_bytes",
    "max_features",
    "draws",
    "shuffles",
    "max_depth",
    "min_split",
    "min_leaf",
    "some_rows",
    "capacity_few",
    "capacity_some",
    "capacity_many",
    "chunk_some",
    "chunk_many",
    "seed",
    "first_tree",
]
FOREST = np.dtype(
    [(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS] + [("least_decrease", "f8")]
)
FOREST_NODE = np.dtype([(name, "u4") for name in ("left", "split", "bins", "n_rows", "begin")])
GROWTH_STATE = np.dtype([("n_open", "u4", (2, QUEUES)), ("tickets", "u4", QUEUES), ("failure", "u4")])


def read_forest_sizes(device: Device, program: DeviceProgram) -> dict[str, int]:
    """Sizes of the kernels' structures in bytes."""
    names = ("forest", "item", "node", "open", "state", "element")
    memory = device.allocate(8 * len(names))
    program.launch("describe_forest", 1, 32, [np.uint64(memory.address)])
    sizes = dict(zip(names, device.copy_out(memory, np.uint64, len(names)).tolist(), strict=True))
    known = {"forest": FOREST, "node": FOREST_NODE, "state": GROWTH_STATE}
    for name, dtype in known.items():
        if sizes[name] != dtype.itemsize:
            raise EngineError(f"The compiled kernels have a {name} of {sizes[name]} bytes, not {dtype.itemsize}.")
    return sizes
