"""Probabilities that mean what they say: calibrated on out-of-bag shares, which no tree has seen the answer to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["ShareCalibration"]

_NO_PENALTY = 1e10
"""Inverse strength of the penalty on Platt's two numbers: none to speak of."""


class ShareCalibration:
    """One rising curve for each class, from the forest's share to a probability; the curves' values are normalised.

    Parameters
    ----------
    method : {"isotonic", "sigmoid"}
        A step function [ZadroznyElkan2002], or Platt's sigmoid of the share [Platt1999].
    shares : ndarray of shape (n_rows, n_classes)
        Out-of-bag shares; rows with NaN are left out.
    labels : ndarray of shape (n_rows,)
        The class of each row.
    weights : ndarray of shape (n_rows,) or None
        Weights of the rows.
    """

    def __init__(self, method: str, shares: FloatArray, labels: NDArray[Any], weights: FloatArray | None) -> None:
        known = np.isfinite(shares).all(axis=1) & (True if weights is None else weights > 0.0)
        weights = None if weights is None else weights[known]
        draw = _draw_steps if method == "isotonic" else _draw_sigmoid
        # Two classes need one curve: the second one's share is what the first one's leaves.
        classes = [1] if shares.shape[1] == 2 else list(range(shares.shape[1]))
        self._n_classes = shares.shape[1]
        self._curves = [draw(shares[known, k], labels[known] == k, weights) for k in classes]

    def calibrate(self, shares: FloatArray) -> FloatArray:
        """Probabilities in place of shares, of the same shape."""
        if self._n_classes == 1:
            return shares
        if self._n_classes == 2:
            second = self._curves[0](shares[:, 1])
            return np.column_stack([1.0 - second, second])
        values = np.column_stack([curve(shares[:, k]) for k, curve in enumerate(self._curves)])
        totals = values.sum(axis=1, keepdims=True)
        # Where every curve says zero nothing is known, and the shares are all there is.
        return np.where(totals > 0.0, values / np.where(totals > 0.0, totals, 1.0), shares)


class _Steps:
    def __init__(self, places: FloatArray, heights: FloatArray) -> None:
        self._places, self._heights = places, heights

    def __call__(self, shares: FloatArray) -> FloatArray:
        return np.interp(shares, self._places, self._heights)


class _Sigmoid:
    def __init__(self, slope: float, offset: float) -> None:
        self._slope, self._offset = slope, offset

    def __call__(self, shares: FloatArray) -> FloatArray:
        value: FloatArray = 1.0 / (1.0 + np.exp(-(self._slope * shares + self._offset)))
        return value


def _draw_steps(shares: FloatArray, hits: NDArray[Any], weights: FloatArray | None) -> Callable[[FloatArray], Any]:
    from sklearn.isotonic import IsotonicRegression

    fitted = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip").fit(shares, hits, sample_weight=weights)
    return _Steps(fitted.X_thresholds_, fitted.y_thresholds_)


def _draw_sigmoid(shares: FloatArray, hits: NDArray[Any], weights: FloatArray | None) -> Callable[[FloatArray], Any]:
    from sklearn.linear_model import LogisticRegression

    if hits.all() or not hits.any():
        return _Steps(np.array([0.0, 1.0]), np.full(2, float(hits.all())))
    fitted = LogisticRegression(C=_NO_PENALTY).fit(shares[:, None], hits, sample_weight=weights)
    return _Sigmoid(float(fitted.coef_[0, 0]), float(fitted.intercept_[0]))
