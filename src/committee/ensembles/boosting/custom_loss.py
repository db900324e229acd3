"""Losses that a user writes in Python, with the interface of `LossFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from committee.constraints import show_value
from committee.exceptions import DataError, ParameterTypeError
from committee.losses import LossFunction, LossTraits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["CustomLoss"]

_SEARCH_WIDTH = 50.0
"""How far from the target's mean the search for a baseline goes, in standard deviations."""


@dataclass(frozen=True)
class CustomLoss:
    """A loss of the user's: a function of target and scores that returns gradients and hessians, or an object.

    Scores have the shape (n_rows,) if there is one, otherwise (n_rows, n_scores), and so have gradients and hessians.
    An object has the methods ``gradient`` and ``hessian``, of the same arguments, and may have ``value`` (loss of each
    row), ``mean`` (scores to predictions) and ``baseline`` (of the target and its weights).

    Attributes
    ----------
    function : callable or object
        As above.
    n_scores : int
        Scores of a row.
    classes : bool
        Whether the target is classes, so that scores become probabilities.
    """

    is_custom: ClassVar[bool] = True
    name: ClassVar[str] = "squared_error"
    """The loss whose leaf values, -G / (H + λ), the engine uses."""
    parameter: ClassVar[float] = nan
    levels: ClassVar[tuple[float, ...]] = ()
    traits: ClassVar[LossTraits] = LossTraits("other")

    function: Any
    n_scores: int
    classes: bool

    @property
    def has_values(self) -> bool:
        """Whether the loss of a row can be computed."""
        return hasattr(self.function, "value")

    def find_gradients(self, y: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians by each score, both of shape (n_rows, n_scores)."""
        target, shaped = self._shape_target(y), self._shape_scores(scores)
        found: Any
        if isinstance(self.function, type):
            raise ParameterTypeError(
                f"The 'loss' parameter must be a function or an object, not a class; got {show_value(self.function)}."
            )
        if hasattr(self.function, "gradient"):
            found = (self.function.gradient(target, shaped), self.function.hessian(target, shaped))
        else:
            found = self.function(target, shaped)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise DataError("The loss must return two arrays: the first and the second derivative by the scores.")
        gradients, hessians = (np.asarray(derivative, dtype=np.float64) for derivative in found)
        for derivative, order in ((gradients, "first"), (hessians, "second")):
            if derivative.size != scores.size or not np.isfinite(derivative).all():
                raise DataError(
                    f"The {order} derivative of the loss must be finite and of the shape of the scores, "
                    f"{shaped.shape}; got an array of shape {derivative.shape}."
                )
        if (hessians < 0.0).any():
            raise DataError("The second derivative of the loss must not be negative; bound it below by zero.")
        return gradients.reshape(scores.shape), hessians.reshape(scores.shape)

    def find_values(self, y: NDArray[Any], scores: FloatArray) -> FloatArray:
        """Loss of each row."""
        if not self.has_values:
            raise DataError("The loss has no method 'value' to be measured by; give it one, or set 'scoring'.")
        target = self._shape_target(np.asarray(y, dtype=np.float64).ravel(order="F"))
        return np.asarray(self.function.value(target, self._shape_scores(scores)), dtype=np.float64)

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to predictions."""
        if hasattr(self.function, "mean"):
            means = np.asarray(self.function.mean(self._shape_scores(scores)), dtype=np.float64)
            return means.reshape(scores.shape)
        if not self.classes:
            return scores
        return LossFunction("logistic" if self.n_scores == 1 else "softmax", nan, self.n_scores).find_means(scores)

    def find_baseline(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Initial scores: the loss's own, or the constant with the least loss, or zero."""
        if hasattr(self.function, "baseline"):
            constant = np.asarray(self.function.baseline(self._shape_target(y), weights), dtype=np.float64)
            return np.broadcast_to(constant, (self.n_scores,)).copy()
        if self.n_scores > 1 or not self.has_values:
            return np.zeros(self.n_scores)
        center, spread = (0.0, 1.0) if self.classes else (float(y.mean()), float(y.std()) or 1.0)

        def average(score: float) -> float:
            return float(np.average(self.find_values(y, np.full((len(y), 1), score)), weights=weights))

        bounds = (center - _SEARCH_WIDTH * spread, center + _SEARCH_WIDTH * spread)
        return np.array([minimize_scalar(average, bounds=bounds, method="bounded").x])

    def _shape_target(self, y: FloatArray) -> FloatArray:
        return y if self.classes or self.n_scores == 1 else y.reshape(self.n_scores, -1).T

    def _shape_scores(self, scores: FloatArray) -> FloatArray:
        return scores[:, 0] if self.n_scores == 1 else scores
