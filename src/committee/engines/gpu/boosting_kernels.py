"""Which form of the kernels of boosting a fit takes, known before its table is binned: they are compiled meanwhile."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from committee import _core
from committee.engines.gpu.options import TreeOptions

if TYPE_CHECKING:
    from committee.engines.gpu.device import Device, DeviceProgram
    from committee.typing import FloatArray

__all__ = ["LOSSES", "BoostingKernels", "foresee_kernels"]

LOSSES = (
    "squared_error",
    "poisson",
    "gamma",
    "tweedie",
    "logistic",
    "exponential",
    "softmax",
    "absolute_error",
    "quantile",
    "huber",
)
"""In the order of their numbers in `cuda/gradients.cuh`; gradients of the caller's come after them."""
_NARROW_SHIFT = 16
"""Bits that are cut off gradients whose rest fits into 16 bits with its sign."""
_FRESH_LOSSES = ("logistic", "squared_error")
"""Losses whose gradients are found from the scores each time they are needed, in tables of so many rows."""
_LEAST_FRESH_ROWS = 1 << 18
_PLANNED_ROWS = 1 << 18
"""Rows up to which the plan of a fit looks at its table."""


@dataclass(frozen=True)
class BoostingKernels:
    """The constants that `cuda/boosting.cu` is compiled with, and the kernels that are launched.

    Attributes
    ----------
    draws_weights, weighted : bool
        Weights are drawn by gradients in each round; rows have weights for this or another reason.
    narrow : bool
        Gradients are 16 bits.
    incremental : bool
        Gradients are kept from round to round, with sums of 64 bits.
    fresh_loss : str or None
        The loss, where gradients are found from the scores wherever they are needed, instead of being kept.
    has_options, masked, has_categories : bool
        What `TreeOptions` asks for.
    counts_rows : bool
        Rows of leaves are counted where sides may have too few.
    """

    draws_weights: bool
    weighted: bool
    narrow: bool
    incremental: bool
    fresh_loss: str | None
    has_options: bool
    masked: bool
    has_categories: bool
    counts_rows: bool

    @classmethod
    def choose(
        cls,
        plan: _core.BoostingPlan,
        options: TreeOptions,
        params: _core.BoostingParams,
        loss: str,
        n_scores: int,
        n_rows: int,
        *,
        given: bool,
    ) -> BoostingKernels:
        """Those of a fit; its gradients may be ``given`` by the caller."""
        draws_weights = params.goss_other > 0.0 and params.goss_top + params.goss_other < 1.0
        weighted, incremental = len(plan.weights) > 0 or draws_weights, plan.incremental and not given
        kept = given or incremental or draws_weights or n_scores > 1
        fresh = not kept and loss in _FRESH_LOSSES and n_rows >= _LEAST_FRESH_ROWS
        return cls(
            draws_weights=draws_weights,
            weighted=weighted,
            narrow=not weighted and not incremental and plan.gradient_shift >= _NARROW_SHIFT,
            incremental=incremental,
            fresh_loss=loss if fresh else None,
            has_options=options.needed,
            masked=options.masked,
            has_categories=len(options.categories) > 0,
            counts_rows=params.min_samples_leaf > 1 or params.min_weight_leaf > 0.0,
        )

    def compile(self, device: Device) -> DeviceProgram:
        """The program; what is not launched by this fit is compiled when it is."""
        return device.compile("boosting.cu", self._list_defines(), self._list_kernels())

    def _list_defines(self) -> list[str]:
        chosen = {
            "COMMITTEE_NARROW": self.narrow,
            "COMMITTEE_LONG": self.incremental,
            "COMMITTEE_OPTIONS": self.has_options,
        }
        defines = [name for name, wanted in chosen.items() if wanted]
        if self.fresh_loss is not None:
            defines.append(f"COMMITTEE_FRESH_LOSS={LOSSES.index(self.fresh_loss)}")
        return defines

    def _list_kernels(self) -> list[str]:
        chosen = {
            "describe_sizes": True,
            "make_words": True,
            "partition_rows": True,
            "add_histograms": True,
            "search_splits": True,
            "choose_nodes": True,
            "write_nodes": True,
            "find_gradients": self.fresh_loss is None and not self.incremental,
            "keep_residuals": self.incremental,
            "draw_lists": self.masked,
            "search_categories": self.has_categories,
            "search_counts": self.counts_rows,
        }
        return [name for name, wanted in chosen.items() if wanted]


def foresee_kernels(
    n_rows: int,
    weights: FloatArray | None,
    loss: str,
    n_scores: int,
    params: _core.BoostingParams,
    *,
    given: bool,
) -> BoostingKernels | None:
    """The kernels of a fit on a table of numbers that is not binned yet; None if these depend on its bins.

    Parameters
    ----------
    n_rows : int
        Rows of the table.
    weights : ndarray of float64 or None
        Of the rows.
    loss : str
        Name of the loss.
    n_scores : int
        Scores of a row.
    params : BoostingParams
        Parameters of the trees.
    given : bool
        Whether gradients are the caller's.
    """
    if n_rows <= _PLANNED_ROWS:
        return None
    # A column without values: the plan of so many rows asks for the kinds of columns alone.
    mapper = _core.learn_bins(np.zeros((1, 1), np.float32), None, np.zeros(1, np.uint32), 2, None, 1)
    empty = np.empty(0), np.empty(0, np.int64), np.zeros(2, np.int64)
    table = mapper.transform_csc(*empty, (n_rows, 1), 1, 0)
    # Nor does it ask for more of the loss.
    plan = _core.plan_boosting(table, weights, _core.Loss.make("squared_error", float("nan"), 1, []), params)
    options = TreeOptions(table, plan, params)
    return BoostingKernels.choose(plan, options, params, loss, n_scores, n_rows, given=given)
