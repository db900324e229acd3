"""The structures that host and kernels share, as NumPy types; `cuda/boosting.cuh` has the same in CUDA."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.exceptions import EngineError

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceProgram

__all__ = ["BINS", "BLOCK", "FINAL_NODE", "FIT", "LANES", "ORDER", "STATE", "count_record_bytes", "read_sizes"]

LANES, BINS, BLOCK = 32, 256, 1024

_POINTERS = [
    "records",
    "columns",
    "column_of",
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
    "orders",
    "held_out",
    "parameters",
    "given_gradients",
    "given_hessians",
    "sizes",
    "renewed",
    "bounds",
    "codes",
    "found_codes",
    "recount_codes",
    "tree_codes",
    "categories",
    "category_of",
    "wide_of",
    "wide_codes",
    "wide_offsets",
    "level_sums",
    "sort_keys",
    "sort_places",
    "directions",
    "masks",
    "lists",
    "list_masks",
    "drawn",
    "open_groups",
    "feature_groups",
]
_INTEGERS = [
    "n_rows",
    "n_items",
    "y_bytes",
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
    "n_held_out",
    "level_wise",
    "column_stride",
    "n_categories",
    "n_words",
    "n_wide",
    "n_levels",
    "n_sorted",
    "min_level",
    "by_values",
    "masked",
    "n_sets",
    "list_depth",
    "seed",
    "track_weights",
    "count_weights",
]
_NUMBERS = [
    "min_child_weight",
    "reg_lambda",
    "reg_alpha",
    "gamma",
    "largest_step",
    "weight_unit",
    "least_gain",
    "category_smooth",
    "category_l2",
    "least_weight",
    "colsample_tree",
    "colsample_level",
    "colsample_node",
]
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
    + [(name, "u4") for name in ["n_rows_to_part", "n_rows_to_add", "n_counts", "n_done"]]
    + [("n_steps", "i8"), ("n_expanded", "i8"), ("bound", "i8"), ("number", "i4"), ("n_trees", "i4")]
)
ORDER = np.dtype([("key", "u8"), ("tree", "u8"), ("rate", "f8")])
"""What a tree is grown with."""
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


def count_record_bytes(n_rows: int, n_features: int) -> int:
    """Bytes of a table in records: the columns of a row side by side, in groups of 32."""
    return -(-max(1, n_features) // LANES) * n_rows * LANES


def read_sizes(device: Device, program: DeviceProgram) -> dict[str, int]:
    """Bytes of what only kernels look into, after a check that they have the other structures as they are here."""
    memory = device.allocate(8 * 8)
    program.launch("describe_sizes", 1, LANES, [np.uint64(memory.address)])
    fit, node, candidate, split, state, final, item, order = device.copy_out(memory, np.uint64, 8).tolist()
    found, known = (fit, state, final, order), tuple(t.itemsize for t in (FIT, STATE, FINAL_NODE, ORDER))
    if found != known:
        raise EngineError(f"The compiled kernels lay out their memory in another way: {found} instead of {known}.")
    return {"node": node, "candidate": candidate, "split": split, "item": item}
