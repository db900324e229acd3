"""The loss of a distribution with two parameters: minus its log-likelihood, followed by natural gradients."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan, sqrt
from typing import TYPE_CHECKING

import numpy as np

from committee.engines import get_engine
from committee.engines.exact_sums import sum_over_rows
from committee.ensembles.boosting.distributions import find_means
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.losses import LossFunction, apply_log

if TYPE_CHECKING:
    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.ensembles.boosting.distributions import DistributionName
    from committee.typing import FloatArray

__all__ = ["DistributionLoss"]

_LEAST_SPREAD = 1e-6
"""Of a constant target, as a fraction of its size."""
_LEAST_DISPERSION = 1e-3


@dataclass(frozen=True)
class DistributionLoss(GroupLoss):
    """Minus the log-likelihood of a distribution whose location and spread have a score each [Duan2020].

    The target has one column.

    Attributes
    ----------
    distribution : {"normal", "lognormal", "negative_binomial"}
        The distribution.
    """

    distribution: DistributionName = "normal"
    n_scores = 2
    prediction_loss = LossFunction("squared_error", nan, 2)

    def bind(self, target: FloatArray, weights: FloatArray | None) -> BoundGroupLoss:
        """The loss of these rows."""
        own = np.empty(0) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
        return get_engine().make_distribution_loss(self.distribution, np.ascontiguousarray(target[:, 0]), own)

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to means, of shape (n_rows, 1)."""
        return find_means(self.distribution, scores)[:, None]

    def find_baseline(self, target: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Constant scores: those of the largest likelihood, for counts those of their first two moments."""
        present = np.ones(len(target), dtype=bool) if weights is None else weights > 0.0
        y = target[present, 0]
        own = np.ones(len(y)) if weights is None else weights[present]
        if self.distribution == "lognormal":
            y = apply_log(y)
        total = sum_over_rows(own)
        mean = sum_over_rows(y, own) / total
        variance = sum_over_rows(np.square(y - mean), own) / total
        if self.distribution == "negative_binomial":
            return apply_log(np.array([mean, max((variance - mean) / mean**2, _LEAST_DISPERSION)]))
        least = _LEAST_SPREAD * (abs(mean) or 1.0)
        return np.array([mean, apply_log(np.array([max(sqrt(variance), least)]))[0]])
