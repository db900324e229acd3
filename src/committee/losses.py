"""Losses by name: value, derivatives, baseline and inverse link, as the engine computes them.

The formulas are in ``cpp/include/committee/losses``, one file each; this is their face in Python.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import nan
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from committee import _core
from committee.typing import FloatArray

__all__ = ["LossFunction", "list_losses"]


def list_losses() -> list[str]:
    """Names of all losses.

    Examples
    --------
    >>> "logistic" in list_losses()
    True
    """
    return _core.list_losses()


@dataclass(frozen=True)
class LossFunction:
    """A loss of a target and one or several scores a row.

    Attributes
    ----------
    name : str
        One of `list_losses`.
    parameter : float
        Level of ``quantile``, quantile of the residuals that ``huber`` turns linear at, power of ``tweedie``; NaN for
        the loss's own default.
    n_scores : int
        Classes of ``softmax``; for all others the number of outputs.
    levels : tuple of float
        Of ``quantile`` only: several levels, ascending, that are learnt of one target, one score each. Their
        predictions are put in order, so that they never cross [Chernozhukov2010].

    Examples
    --------
    >>> import numpy as np
    >>> loss = LossFunction("logistic")
    >>> loss.find_means(np.zeros((2, 1)))
    array([[0.5],
           [0.5]])
    """

    is_custom: ClassVar[bool] = False

    name: str
    parameter: float = nan
    n_scores: int = 1
    levels: tuple[float, ...] = ()

    @cached_property
    def made(self) -> _core.Loss:
        """The engine's own."""
        return _core.Loss.make(self.name, self.parameter, self.n_scores, list(self.levels))

    def __getstate__(self) -> dict[str, object]:
        return {"name": self.name, "parameter": self.parameter, "n_scores": self.n_scores, "levels": self.levels}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)

    def find_values(self, y: NDArray[np.float64], scores: FloatArray) -> FloatArray:
        """Loss of each row, of shape (n_rows,); the sum over outputs where there are several."""
        return self.made.find_values(self.lay_out(y), np.asfortranarray(scores))

    def find_slopes(self, y: NDArray[np.float64], scores: FloatArray) -> tuple[FloatArray, FloatArray]:
        """First and second derivative by each score, both of shape (n_rows, n_scores)."""
        gradients, hessians = self.made.find_slopes(self.lay_out(y), np.asfortranarray(scores))
        return gradients, hessians

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to predictions, of shape (n_rows, n_scores): the inverse link."""
        return self.made.find_means(np.asfortranarray(scores))

    def find_baseline(self, y: NDArray[np.float64], weights: FloatArray | None = None) -> FloatArray:
        """Constant scores with the least loss, of shape (n_scores,); of ``huber``, whose turn moves, the median."""
        return np.asarray(self.made.find_baseline(self.lay_out(y), weights, len(y)))

    def lay_out(self, y: NDArray[np.float64]) -> FloatArray:
        """The target as the engine reads it: outputs one after another, one and the same for each of several levels."""
        outputs = np.ascontiguousarray(np.asarray(y, dtype=np.float64).ravel(order="F"))
        return np.tile(outputs, len(self.levels)) if self.levels else outputs
