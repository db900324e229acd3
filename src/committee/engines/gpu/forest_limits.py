"""What the GPU engine does not do in forests yet, each in a sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from committee import _core
    from committee.engines.gpu.device_bins import DeviceBins

__all__ = ["find_forest_obstacle"]

_MOST_FEATURES = 4096
_MOST_CLASSES = 100
_MOST_ROWS = 1 << 28


def find_forest_obstacle(
    data: _core.BinnedMatrix | DeviceBins,
    n_outputs: int,
    n_classes: int,
    params: _core.GrowParams,
    plan: _core.ForestPlan,
) -> str | None:
    """Why these trees cannot be grown on the GPU; None if they can."""
    obstacles = {
        "several outputs": n_outputs != 1,
        "exact splits": params.exact,
        f"the criterion {params.criterion!r}": params.criterion in ("absolute_error", "log_rank"),
        "best-first growth (max_leaf_nodes)": params.max_leaf_nodes > 0,
        "pruning (ccp_alpha)": params.ccp_alpha > 0.0,
        "monotone constraints": any(params.monotonic),
        "interaction constraints": len(params.interaction_groups) > 0,
        "features drawn for each tree": plan.sampling.n_features > 0 or len(params.member_features) > 0,
        "categorical features": bool(np.any(data.mapper.is_categorical)),
        f"more than {_MOST_FEATURES} features": data.n_cols > _MOST_FEATURES,
        f"more than {_MOST_CLASSES} classes": n_classes > _MOST_CLASSES,
        "2^28 rows and more": data.n_rows >= _MOST_ROWS,
    }
    found = [name for name, present in obstacles.items() if present]
    if not found:
        return None
    return f"The GPU engine does not support {' or '.join(found)} in forests yet. Set engine='cpu'."
