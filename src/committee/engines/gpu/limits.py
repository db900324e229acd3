"""What the GPU engine does not do yet, each in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from committee._core import BoostingParams, BoostingPlan, LossInfo

__all__ = ["find_obstacle"]

_MOST_FEATURES = 1 << 23


def find_obstacle(params: BoostingParams, plan: BoostingPlan, loss: LossInfo) -> str | None:
    """Why these trees cannot be grown on the GPU; None if they can."""
    obstacles = {
        "leaf values that are no Newton steps (absolute error, quantiles, Huber's loss)": not loss.takes_newton_steps,
        "one tree with vector leaves for all outputs": params.vector_leaves,
        "row sampling (subsample, GOSS)": params.subsample < 1.0 or params.goss_other > 0.0,
        "feature sampling": min(params.colsample_tree, params.colsample_level, params.colsample_node) < 1.0,
        "monotone constraints": any(params.monotonic),
        "interaction constraints": len(params.interaction_groups) > 0,
        "reg_alpha": params.reg_alpha > 0.0,
        "pruning (ccp_alpha)": params.ccp_alpha > 0.0,
        "a least weight of leaves (min_weight_fraction_leaf)": params.min_weight_leaf > 0.0,
        "growth by level with a limit of leaves": params.level_wise and _limits_leaves(params),
        "categories": plan.categorical,
        "squared error on 4,096 to 262,144 rows with a limit of leaves": plan.incremental,
        "8 million features and more": len(plan.n_bins) >= _MOST_FEATURES,
    }
    found = [name for name, present in obstacles.items() if present]
    if not found:
        return None
    return f"The GPU engine does not support {' or '.join(found)} yet. Set engine='cpu'."


def _limits_leaves(params: BoostingParams) -> bool:
    return params.max_leaf_nodes > 0 and (params.max_depth >= 32 or 1 << params.max_depth > params.max_leaf_nodes)
