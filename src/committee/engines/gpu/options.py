"""What only some fits ask of the kernels: categories, features that nodes may not look at, bounds of leaf values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.engines.gpu.layout import LANES
from committee.engines.gpu.limits import find_most_depth

if TYPE_CHECKING:
    from committee import _core
    from committee.typing import AnyArray

__all__ = ["TreeOptions"]

_NONE = 0xFFFFFFFF
_LEAST_GAIN, _LEAST_GAIN_BY_VALUES, _LEAST_GAIN_INCREMENTAL = 1e-12, 1e-6, 1.0
"""Gains that rounding alone can make, in units of one gradient step squared over one hessian step."""


class TreeOptions:
    """The options of a fit, as fields and arrays of `layout.FIT`.

    Parameters
    ----------
    data : BinnedMatrix
        The table.
    plan : BoostingPlan
        Kinds of its columns.
    params : BoostingParams
        Parameters of the trees.
    """

    def __init__(self, data: _core.BinnedMatrix, plan: _core.BoostingPlan, params: _core.BoostingParams) -> None:
        self._data, self._params, self._n_features = data, params, data.n_cols
        self._n_bins, self._kinds = np.asarray(plan.n_bins), np.asarray(plan.kinds)
        self.categories = np.flatnonzero(self._kinds).astype(np.uint32)
        self._wide = np.flatnonzero(self._kinds == 2)
        self.by_values = params.reg_alpha > 0.0 or any(params.monotonic)
        self.has_groups = len(params.interaction_groups) > 0
        self.draws = min(params.colsample_tree, params.colsample_level, params.colsample_node) < 1.0
        self._n_rows = data.n_rows

    @property
    def masked(self) -> bool:
        """Whether nodes may not look at all features."""
        return self.has_groups or self.draws

    @property
    def needed(self) -> bool:
        """Whether the kernels have to be compiled with them."""
        return self.masked or self.by_values or len(self.categories) > 0 or self._params.min_weight_leaf > 0.0

    @property
    def n_words(self) -> int:
        """Words of a set of levels."""
        return int(max(-(-self._n_bins[self.categories].astype(np.int64) // 32), default=0))

    def find_least_gain(self, incremental: bool) -> float:
        """What a gain must exceed, in the units that kernels take it in."""
        if incremental:
            return _LEAST_GAIN_INCREMENTAL
        return _LEAST_GAIN_BY_VALUES if self.by_values else _LEAST_GAIN

    def list_fields(self) -> dict[str, float]:
        """Numbers of the options."""
        params = self._params
        seed = int(params.seed)
        fields = {name: getattr(params, name) for name in ("category_smooth", "category_l2", *self._list_shares())}
        levels = self._n_bins[self._wide].astype(np.int64) + 1
        most = int(max(self._n_bins[self.categories].astype(np.int64) + 1, default=1))
        return fields | {
            "by_values": self.by_values,
            "masked": self.masked,
            "min_level": params.min_samples_level,
            "n_categories": len(self.categories),
            "n_words": self.n_words,
            "n_wide": len(self._wide),
            "n_levels": int(levels.sum()),
            "n_sorted": 1 << (most - 1).bit_length(),
            "n_sets": -(-len(params.interaction_groups) // 64),
            "list_depth": find_most_depth(params, self._n_rows) + 1 if params.colsample_level < 1.0 else 0,
            "seed": seed - (1 << 64) if seed >= 1 << 63 else seed,
        }

    @staticmethod
    def _list_shares() -> tuple[str, ...]:
        return ("colsample_tree", "colsample_level", "colsample_node")

    def list_arrays(self) -> dict[str, AnyArray]:
        """Arrays that the host knows."""
        arrays: dict[str, AnyArray] = {}
        if len(self.categories):
            category_of = np.full(self._n_features, _NONE, np.uint32)
            category_of[self.categories] = np.arange(len(self.categories))
            wide_of = np.full(len(self.categories), _NONE, np.uint32)
            wide_of[self._kinds[self.categories] == 2] = np.arange(len(self._wide))
            arrays |= {"categories": self.categories, "category_of": category_of, "wide_of": wide_of}
        if len(self._wide):
            arrays["wide_codes"] = np.concatenate([self._data.codes(int(column)) for column in self._wide])
            levels = self._n_bins[self._wide].astype(np.int64) + 1
            arrays["wide_offsets"] = np.cumsum([0, *levels]).astype(np.uint32)
        if self.by_values:
            directions: AnyArray = np.zeros(self._n_features, np.int32)
            directions[: len(self._params.monotonic)] = self._params.monotonic
            arrays["directions"] = directions
        if self.has_groups:
            groups = self._params.interaction_groups
            sets: AnyArray = np.zeros((self._n_features, -(-len(groups) // 64)), np.uint64)
            for number, features in enumerate(groups):
                sets[features, number // 64] |= np.uint64(1 << number % 64)
            arrays["feature_groups"] = sets
        return arrays

    def list_memory(self, fit: dict[str, int], n_blocks: int, n_planes: int) -> dict[str, int]:
        """Bytes of what kernels work in; `fit` are the limits of a tree."""
        fields = self.list_fields()
        n_words, n_categories = self.n_words, len(self.categories)
        n_tasks, n_groups = 2 * fit["max_candidates"], -(-self._n_features // LANES)
        depths = int(fields["list_depth"]) + 1 if self.masked else 0
        return {
            "bounds": 16 * fit["max_final"],
            "codes": 4 * n_words * fit["max_nodes"],
            "found_codes": 4 * n_words * n_categories * n_tasks,
            "recount_codes": 8 * n_words * n_categories * fit["max_counts"],
            "tree_codes": 4 * n_words * fit["max_final"] * fit["n_slots"],
            "level_sums": 4 * (n_planes + 2) * int(fields["n_levels"]) * n_tasks,
            "sort_keys": 8 * int(fields["n_sorted"]) * n_blocks if n_categories else 0,
            "sort_places": 4 * int(fields["n_sorted"]) * n_blocks if n_categories else 0,
            "masks": 4 * n_groups * fit["max_nodes"] if self.masked else 0,
            "lists": 4 * depths * (self._n_features + 1),
            "list_masks": 4 * depths * n_groups,
            "drawn": 4 * self._n_features * n_tasks if self._params.colsample_node < 1.0 else 0,
            "open_groups": 8 * int(fields["n_sets"]) * fit["max_nodes"],
        }
