"""Calibration of a forest's probabilities on its out-of-bag predictions."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    Curve,
    JoinedTerms,
    PositiveElse,
    RowFunction,
    TakenColumns,
    join_two_classes,
)
from committee.exceptions import DataError
from committee.learners.formula_rows import interpolate_steps
from committee.losses import apply_sigmoid

if TYPE_CHECKING:
    from committee.engines.formula import FormulaTerm
    from committee.typing import BoolArray, FloatArray, IndexArray

__all__ = ["ProbabilityCalibration"]

_NO_PENALTY = 1e10
"""Inverse strength of the penalty on Platt's two coefficients: practically none."""


class ProbabilityCalibration:
    """One increasing curve for each class, from the forest's probability to a calibrated one; then normalised.

    Parameters
    ----------
    method : {"isotonic", "sigmoid"}
        A step function [ZadroznyElkan2002], or Platt's sigmoid of the probability [Platt1999].
    probabilities : ndarray of shape (n_rows, n_classes)
        Out-of-bag probabilities; rows with NaN are left out.
    labels : ndarray of shape (n_rows,)
        The class of each row.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    """

    def __init__(self, method: str, probabilities: FloatArray, labels: IndexArray, weights: FloatArray | None) -> None:
        known = np.isfinite(probabilities).all(axis=1) & (True if weights is None else weights > 0.0)
        if not known.any():
            raise DataError(f"calibration={method!r} needs rows that are out of bag in some tree; there are none.")
        weights = None if weights is None else weights[known]
        fit_curve = _fit_isotonic if method == "isotonic" else _fit_sigmoid
        # Two classes need one curve: the probabilities of a row sum to 1.
        classes = [1] if probabilities.shape[1] == 2 else list(range(probabilities.shape[1]))
        self._n_classes = probabilities.shape[1]
        self._curves = [fit_curve(probabilities[known, k], labels[known] == k, weights) for k in classes]

    def calibrate(self, probabilities: FloatArray) -> FloatArray:
        """Calibrated probabilities, of the same shape."""
        if self._n_classes == 1:
            return probabilities
        if self._n_classes == 2:
            second = self._curves[0](probabilities[:, 1])
            return np.column_stack([1.0 - second, second])
        values = np.column_stack([curve(probabilities[:, k]) for k, curve in enumerate(self._curves)])
        totals = values.sum(axis=1, keepdims=True)
        # Where every curve is zero the row keeps its probabilities.
        return np.where(totals > 0.0, values / np.where(totals > 0.0, totals, 1.0), probabilities)

    def to_term(self, probabilities: FormulaTerm) -> FormulaTerm:
        """`calibrate`, as a term of a formula."""
        if self._n_classes == 1:
            return probabilities
        if self._n_classes == 2:
            second = self._curves[0].to_term(TakenColumns(probabilities, (1,)))
            return join_two_classes(second)
        curves = enumerate(self._curves)
        values = JoinedTerms(tuple(curve.to_term(TakenColumns(probabilities, (k,))) for k, curve in curves))
        total = RowFunction("sum", values)
        return PositiveElse(total, Arithmetic("/", values, total), probabilities)


class _Steps:
    """A piecewise linear function, constant beyond its ends."""

    def __init__(self, places: FloatArray, heights: FloatArray) -> None:
        self._places, self._heights = places, heights

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        return interpolate_steps(probabilities, self._places, self._heights)

    def to_term(self, probability: FormulaTerm) -> FormulaTerm:
        return Curve(probability, self._places, self._heights)


class _Sigmoid:
    """Platt's logistic function of the probability."""

    def __init__(self, slope: float, offset: float) -> None:
        self._slope, self._offset = slope, offset

    def __call__(self, probabilities: FloatArray) -> FloatArray:
        return apply_sigmoid(self._slope * probabilities + self._offset)

    def to_term(self, probability: FormulaTerm) -> FormulaTerm:
        scaled = Arithmetic("*", ConstantTerm(np.array([self._slope])), probability)
        return RowFunction("sigmoid", Arithmetic("+", scaled, ConstantTerm(np.array([self._offset]))))


_Curve: TypeAlias = _Steps | _Sigmoid


def _fit_isotonic(probabilities: FloatArray, is_class: BoolArray, weights: FloatArray | None) -> _Curve:
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    fitted = model.fit(probabilities, is_class, sample_weight=weights)
    return _Steps(fitted.X_thresholds_, fitted.y_thresholds_)


def _fit_sigmoid(probabilities: FloatArray, is_class: BoolArray, weights: FloatArray | None) -> _Curve:
    from sklearn.linear_model import LogisticRegression

    if is_class.all() or not is_class.any():
        return _Steps(np.array([0.0, 1.0]), np.full(2, float(is_class.all())))
    fitted = LogisticRegression(C=_NO_PENALTY).fit(probabilities[:, None], is_class, sample_weight=weights)
    return _Sigmoid(float(fitted.coef_[0, 0]), float(fitted.intercept_[0]))
