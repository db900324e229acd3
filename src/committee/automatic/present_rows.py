"""Rows of weight zero are absent: members are fitted, weighted and scored on the others alone.

They would change a fit otherwise: weights of zero and one are unequal, and unequal weights have members fitted in
folds that have out-of-bag or leave-one-out predictions without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget
from committee.data.rows import select_rows
from committee.ensembles.combining.training_set import TrainingSet
from committee.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import ValueTarget
    from committee.data.folds import Folds
    from committee.typing import FloatArray

__all__ = ["PresentRows"]


@dataclass(frozen=True)
class PresentRows:
    """The rows of a table that have weight.

    Attributes
    ----------
    n_rows : int
        Rows of the table.
    rows : ndarray of int or None
        Numbers of those with weight, ascending; None if all have.
    """

    n_rows: int
    rows: NDArray[np.intp] | None = None

    @classmethod
    def find(cls, training: TrainingSet) -> PresentRows:
        """The rows of a training set that have weight.

        Examples
        --------
        >>> training = TrainingSet(np.zeros((3, 1)), np.arange(3), np.array([1.0, 0.0, 1.0]))
        >>> PresentRows.find(training).rows
        array([0, 2])
        """
        weights = training.weights
        return cls(training.n_rows, None if weights is None or weights.all() else np.flatnonzero(weights))

    def select(self, table: Any) -> Any:
        """Their rows of a table; of None nothing."""
        return table if self.rows is None or table is None else select_rows(table, self.rows)

    def select_target(self, target: ClassTarget | ValueTarget) -> ClassTarget | ValueTarget:
        """Their classes or values; a class without a row stays one of the classes."""
        if self.rows is None:
            return target
        if isinstance(target, ClassTarget):
            return replace(target, labels=target.labels[self.rows])
        return replace(target, values=target.values[self.rows])

    def select_training(self, training: TrainingSet) -> TrainingSet:
        """The training set of these rows; equal weights are none."""
        weights = self.select(training.weights)
        if weights is not None and (weights == weights[0]).all():
            weights = None
        return TrainingSet(self.select(training.X), self.select(training.y), weights, self.select(training.groups))

    def renumber(self, folds: Folds) -> Folds:
        """The same folds over these rows alone; a fold without one to predict is left out."""
        if self.rows is None:
            return folds
        numbers = np.full(self.n_rows, -1, dtype=np.intp)
        numbers[self.rows] = np.arange(len(self.rows))
        pairs = [(numbers[train], numbers[test]) for train, test in folds]
        kept = [(train[train >= 0], test[test >= 0]) for train, test in pairs]
        if not all(len(train) for train, _ in kept):
            raise DataError("A fold has no row of positive weight to learn from.")
        return [(train, test) for train, test in kept if len(test)]

    def scatter(self, values: FloatArray) -> FloatArray:
        """Values of these rows in a column or table of all rows, with NaN for the others."""
        if self.rows is None:
            return values
        spread = np.full((self.n_rows, *values.shape[1:]), np.nan)
        spread[self.rows] = values
        return spread
