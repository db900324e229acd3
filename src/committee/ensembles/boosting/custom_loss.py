"""Losses that a user writes in Python, behind the face that the losses of the engine have."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar

from committee.exceptions import DataError
from committee.losses import LossFunction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["CustomLoss"]

_FAR = 50.0
"""Scores that the search for a baseline does not leave, in spreads of the target around its mean."""


@dataclass(frozen=True)
class CustomLoss:
    """A loss of the user's: a function of target and scores that returns first and second derivatives, or an object.

    Scores have the shape (n_rows,) if there is one, otherwise (n_rows, n_scores); the same holds for derivatives. An
    object has the methods ``gradient`` and ``hessian``, of the same arguments, and may have ``value`` (loss of each
    row), ``mean`` (scores to predictions) and ``baseline`` (of the target and its weights).

    Attributes
    ----------
    function : callable or object
        As above.
    n_scores : int
        Scores of a row.
    classes : bool
        Whether scores are of classes, so that they become probabilities.
    """

    is_custom: ClassVar[bool] = True
    name: ClassVar[str] = "squared_error"
    """The loss whose rule for leaves, -G / (H + λ), the engine follows."""
    parameter: ClassVar[float] = nan
    levels: ClassVar[tuple[float, ...]] = ()

    function: Any
    n_scores: int
    classes: bool

    def find_slopes(self, y: FloatArray, scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative by each score, both of shape (n_rows, n_scores)."""
        target, given = self._lay_out(y, scores)
        if hasattr(self.function, "gradient"):
            found: Any = (self.function.gradient(target, given), self.function.hessian(target, given))
        else:
            found = self.function(target, given)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise DataError("The loss must return two arrays: the first and the second derivative by the scores.")
        slopes, bends = (np.asarray(part, dtype=np.float64) for part in found)
        for part, what in ((slopes, "first"), (bends, "second")):
            if part.size != scores.size or not np.isfinite(part).all():
                raise DataError(
                    f"The {what} derivative of the loss must be finite and of the shape of the scores, {given.shape}; "
                    f"got an array of shape {part.shape}."
                )
        if (bends < 0.0).any():
            raise DataError("The second derivative of the loss must not be negative; bound it below by zero.")
        return slopes.reshape(scores.shape), bends.reshape(scores.shape)

    def find_values(self, y: NDArray[Any], scores: FloatArray) -> FloatArray:
        """Loss of each row."""
        if not hasattr(self.function, "value"):
            raise DataError("The loss has no method 'value' to be watched by; give it one, or set 'scoring'.")
        target, given = self._lay_out(np.asarray(y, dtype=np.float64).ravel(order="F"), scores)
        values: FloatArray = np.asarray(self.function.value(target, given), dtype=np.float64)
        return values

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to predictions."""
        if hasattr(self.function, "mean"):
            given = scores[:, 0] if self.n_scores == 1 else scores
            means: FloatArray = np.asarray(self.function.mean(given), dtype=np.float64)
            return means.reshape(scores.shape)
        if not self.classes:
            return scores
        return LossFunction("logistic" if self.n_scores == 1 else "softmax", nan, self.n_scores).find_means(scores)

    def find_baseline(self, y: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Where scores start: what the loss says, or the constant with the least value, or zero."""
        if hasattr(self.function, "baseline"):
            start = np.asarray(self.function.baseline(self._lay_out(y, None)[0], weights), dtype=np.float64)
            return np.broadcast_to(start, (self.n_scores,)).copy()
        if self.n_scores > 1 or not hasattr(self.function, "value"):
            return np.zeros(self.n_scores)
        middle, spread = (0.0, 1.0) if self.classes else (float(y.mean()), float(y.std()) or 1.0)

        def measure(score: float) -> float:
            return float(np.average(self.find_values(y, np.full((len(y), 1), score)), weights=weights))

        bounds = (middle - _FAR * spread, middle + _FAR * spread)
        return np.array([minimize_scalar(measure, bounds=bounds, method="bounded").x])

    def _lay_out(self, y: FloatArray, scores: FloatArray | None) -> tuple[Any, Any]:
        target = y if self.classes or self.n_scores == 1 else y.reshape(self.n_scores, -1).T
        if scores is None:
            return target, None
        return target, scores[:, 0] if self.n_scores == 1 else scores
