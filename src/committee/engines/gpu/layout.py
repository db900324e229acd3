"""The structures that host and kernels share, as NumPy types; `cuda/boosting.cuh` has the same in CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceProgram

__all__ = ["BINS", "BLOCK", "FINAL_NODE", "FIT", "LANES", "SIZES", "STATE", "check_layout"]

LANES, BINS, BLOCK = 32, 256, 1024

_POINTERS = [
    "records",
    "columns",
    "n_bins",
    "y",
    "scores",
    "pairs",
    "weights",
    "positions",
    "present",
    "leaves",
    "items",
    "other_items",
    "histograms",
    "counts",
    "nodes",
    "candidates",
    "found",
    "recounts",
    "keys",
    "open",
    "state",
    "largest",
    "units",
    "sums",
    "trees",
    "tree_sizes",
]
_INTEGERS = [
    "n_rows",
    "n_items",
    "column_stride",
    "n_features",
    "n_groups",
    "n_scores",
    "loss",
    "constant_hessian",
    "bounded",
    "gradient_power",
    "hessian_power",
    "gradient_shift",
    "hessian_shift",
    "stochastic",
    "repeated",
    "max_depth",
    "max_leaves",
    "min_split",
    "min_leaf",
    "checked",
    "max_nodes",
    "max_candidates",
    "max_counts",
    "max_final",
    "ahead",
]
_NUMBERS = ["min_child_weight", "reg_lambda", "reg_alpha", "gamma", "largest_step", "weight_unit", "parameter"]
FIT = np.dtype(
    [(name, "u8") for name in _POINTERS] + [(name, "i8") for name in _INTEGERS] + [(name, "f8") for name in _NUMBERS]
)
"""What a fit is about."""
STATE = np.dtype(
    [("gradient_unit", "f8"), ("hessian_unit", "f8"), ("least_gain", "f8")]
    + [
        (name, "i4")
        for name in ["n_nodes", "n_candidates", "finished", "failed", "n_open", "n_chosen", "n_final", "must"]
    ]
    + [(name, "u4") for name in ["n_rows_to_part", "n_rows_to_add", "n_counts", "unused"]]
    + [("n_steps", "i8"), ("n_expanded", "i8")]
)
FINAL_NODE = np.dtype(
    [
        ("gain", "f8"),
        ("value", "f8"),
        ("weight", "i8"),
        ("feature", "u4"),
        ("place", "u4"),
        ("left", "i4"),
        ("count", "u4"),
    ]
)
SIZES = {"node": 80, "candidate": 32, "split": 32, "narrow_item": 8, "item": 12}
"""Bytes of what only kernels look into."""


def check_layout(device: Device, program: DeviceProgram, narrow: bool) -> None:
    """Make sure that the compiled kernels have the same structures."""
    memory = device.allocate(8 * 7)
    program.launch("describe_sizes", 1, LANES, [np.uint64(memory.address)])
    found = device.copy_out(memory, np.uint64, 7).tolist()
    item = SIZES["narrow_item" if narrow else "item"]
    known = [FIT.itemsize, *(SIZES[name] for name in ("node", "candidate", "split"))]
    known += [STATE.itemsize, FINAL_NODE.itemsize, item]
    if found != known:
        raise EngineError(f"The compiled kernels lay out their memory in another way: {found} instead of {known}.")
