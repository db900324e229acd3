"""Members that are fitted to the logarithm of a positive target, for targets that vary by factors, such as prices.

Their predictions are transformed back by y = a exp(f). The factor a makes the mean of the out-of-fold predictions that
of the target, since the exponential of a mean of logarithms lies below the mean [Duan1983]. They get weight if their
predictions on the scale of the target are good.

Only trees are fitted so: they do not extrapolate. A linear model of logarithms does. On ames_housing it was better than
all others but one out of fold, and a single large house among new rows made it the worst by far.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.engines.formula import Arithmetic, ConstantTerm, ModelFormula, RowFunction, present_formula
from committee.losses import apply_exp, apply_log

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.combining.out_of_fold import MemberFit
    from committee.ensembles.combining.training_set import TrainingSet
    from committee.typing import FloatArray

__all__ = ["LogScale", "back_transform", "is_skewed"]

_MIN_SKEWNESS = 0.7
"""Skewness above which a distribution counts as long-tailed."""
_MAX_EXTRAPOLATION = 2.0
"""Factor by which predictions may lie outside the range of the training target."""
_MAX_LOG = 0.6931471805599453  # its logarithm


@dataclass(frozen=True)
class LogScale:
    """A fitted member for logarithms whose predictions are on the scale of the target.

    Attributes
    ----------
    member : fitted estimator
        Predicts logarithms.
    factor : float
        Factor of the exponential.
    lowest, highest : float
        Bounds at which predicted logarithms are clipped.
    """

    member: Any
    factor: float
    lowest: float
    highest: float

    @property
    def n_estimators(self) -> int:
        """Number of boosting rounds of the member."""
        return int(self.member.n_estimators)

    def predict(self, X: Any) -> FloatArray:
        """Value of each row."""
        return np.asarray(self.factor * apply_exp(np.clip(self.member.predict(X), self.lowest, self.highest)))

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What is computed for a row; exports are written from it."""

        def constant(value: float) -> FormulaTerm:
            return ConstantTerm(np.array([value]))

        inner = present_formula(self.member, row)
        logs = Arithmetic("min", Arithmetic("max", inner.value, constant(self.lowest)), constant(self.highest))
        value = Arithmetic("*", constant(self.factor), RowFunction("exp", logs, is_exact=False))
        return ModelFormula(inner.row, inner.schema, value)


def is_skewed(values: FloatArray, weights: FloatArray | None) -> bool:
    """Whether values are positive with a long right tail, and less skewed after taking logarithms.

    Examples
    --------
    >>> is_skewed(np.exp(np.arange(9.0)), None), is_skewed(np.arange(1.0, 9.0), None)
    (True, False)
    """
    if weights is not None:
        values, weights = values[weights > 0.0], weights[weights > 0.0]
    if not (values > 0.0).all():
        return False
    skewness = _measure_skewness(values, weights)
    return skewness > _MIN_SKEWNESS and abs(_measure_skewness(apply_log(values), weights)) < skewness


def _measure_skewness(values: FloatArray, weights: FloatArray | None) -> float:
    largest = float(np.abs(values).max()) or 1.0
    deviations = values / largest - np.average(values / largest, weights=weights)
    variance = float(np.average(deviations**2, weights=weights))
    return float(np.average(deviations**3, weights=weights)) / variance**1.5 if variance > 0.0 else 0.0


def back_transform(one: MemberFit, training: TrainingSet) -> MemberFit:
    """A member that was fitted to logarithms as a member that predicts the values themselves.

    Parameters
    ----------
    one : MemberFit
        Its predictions are logarithms.
    training : TrainingSet
        With the values as its target.
    """
    logs = apply_log(training.y if training.weights is None else training.y[training.weights > 0.0])
    bounds = float(logs.min()) - _MAX_LOG, float(logs.max()) + _MAX_LOG
    values = apply_exp(np.clip(one.predictions, *bounds))
    known = np.isfinite(values[:, 0])
    weights = np.ones(len(known)) if training.weights is None else training.weights
    factor = float(weights[known] @ training.y[known] / (weights[known] @ values[known, 0])) if known.any() else 1.0
    return replace(
        one,
        fitted=None if one.fitted is None else LogScale(one.fitted, factor, *bounds),
        fold_models=[LogScale(model, factor, *bounds) for model in one.fold_models],
        predictions=factor * values,
    )
