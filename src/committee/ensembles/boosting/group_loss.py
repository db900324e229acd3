"""Losses of groups of rows: the gradient of a row depends on the scores of others (its query, its risk set)."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from committee.losses import LossFunction, LossTraits

if TYPE_CHECKING:
    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.typing import FloatArray

__all__ = ["GroupLoss"]


class GroupLoss:
    """A loss of all rows at once, with the interface of `LossFunction` as far as boosting needs it.

    A subclass implements `bind`, which makes the engine's object for one set of rows: that object gives the
    gradients and hessians of all of them and their loss, in parallel and to the same bits for any number of threads.
    The target of a data set may have several columns (relevance and query, event and time), which is how folds and
    validation rows keep their groups. A fitted model keeps ``prediction_loss`` only: trees, a baseline and a link.

    Attributes
    ----------
    prediction_loss : LossFunction
        A loss of single rows whose inverse link turns scores into predictions.
    """

    is_custom: ClassVar[bool] = True
    has_values: ClassVar[bool] = True
    name: ClassVar[str] = "squared_error"
    """The loss whose leaf values, -G / (H + λ), the engine uses."""
    parameter: ClassVar[float] = nan
    levels: ClassVar[tuple[float, ...]] = ()
    n_scores: int = 1
    prediction_loss: LossFunction = LossFunction("squared_error")

    @property
    def is_differentiable(self) -> bool:
        """Whether the gradients are those of the loss as it is measured, which a measure of an order has none of."""
        return True

    @property
    def traits(self) -> LossTraits:
        """The traits of ``prediction_loss``."""
        return self.prediction_loss.traits

    def bind(self, target: FloatArray, weights: FloatArray | None) -> BoundGroupLoss:
        """The loss of these rows.

        Parameters
        ----------
        target : ndarray of shape (n_rows, n_columns)
            What the groups and the order within them are read from.
        weights : ndarray of shape (n_rows,) or None
            Row weights; rows of weight zero are absent. Boosting multiplies the gradients by them itself.
        """
        raise NotImplementedError

    def measure(self, target: FloatArray, scores: FloatArray, weights: FloatArray | None, n_jobs: int = 0) -> float:
        """The loss of rows whose scores, of shape (n_rows, n_scores), are known."""
        return self.bind(target, weights).measure(np.asfortranarray(scores), n_jobs)

    def measure_others(
        self,
        bound: BoundGroupLoss | None,
        known: FloatArray,
        target: FloatArray,
        scores: FloatArray,
        weights: FloatArray | None,
    ) -> float:
        """The loss of rows that are not trained on; one with parameters besides the scores takes the trained ones.

        Parameters
        ----------
        bound : the engine's GroupLoss or None
            The loss of the training rows.
        known : ndarray of shape (n_training_rows, n_scores)
            Their scores.
        target, scores, weights
            Of the other rows.
        """
        return self.measure(target, scores, weights)

    def find_means(self, scores: FloatArray) -> FloatArray:
        """Scores to predictions."""
        return self.prediction_loss.find_means(scores)

    def find_baseline(self, target: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Initial scores; zero, because only differences of scores count within a group."""
        return np.zeros(self.n_scores)
