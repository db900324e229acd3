"""What the GPU engine does not do yet, each in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from committee._core import BoostingParams, BoostingPlan

__all__ = ["find_most_depth", "find_obstacle"]

_MOST_FEATURES = 1 << 23
_MOST_DEPTHS = 4096


def find_obstacle(params: BoostingParams, plan: BoostingPlan, n_rows: int) -> str | None:
    """Why these trees cannot be grown on the GPU; None if they can."""
    obstacles = {
        "one tree with vector leaves for all outputs": params.vector_leaves,
        "symmetric trees (growth='symmetric')": params.symmetric,
        "mixed growth (the tuned growth on few rows, unless growth='leaf')": params.mixed,
        "random thresholds (splitter='random')": params.random_thresholds,
        "pruning (ccp_alpha)": params.ccp_alpha > 0.0,
        "8 million features and more": len(plan.n_bins) >= _MOST_FEATURES,
        "features drawn for each level of trees without a limit of depth or leaves": params.colsample_level < 1.0
        and find_most_depth(params, n_rows) > _MOST_DEPTHS,
    }
    found = [name for name, present in obstacles.items() if present]
    if not found:
        return None
    return f"The GPU engine does not support {' or '.join(found)} yet. Set engine='cpu'."


def find_most_depth(params: BoostingParams, n_rows: int) -> int:
    """Depth that no tree exceeds."""
    most_leaves = n_rows if params.max_leaf_nodes == 0 else int(params.max_leaf_nodes)
    return int(min(params.max_depth, most_leaves - 1))
