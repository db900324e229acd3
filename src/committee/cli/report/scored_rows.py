"""Rows with their true and predicted values, on which errors are shown: held-out rows of a fit, or a new table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.metrics import average_precision_score, roc_auc_score

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from committee.cli.tasks import TaskKind
    from committee.typing import FloatArray

__all__ = ["ScoredRows"]


@dataclass(frozen=True)
class ScoredRows:
    """Rows with their true and predicted values.

    Parameters
    ----------
    target, estimator : str
        Names of the target and of the estimator.
    truth, predicted : ndarray of shape (n_rows,)
        Classes or values.
    probabilities : ndarray of shape (n_rows, n_classes) or None
        Of a classifier that has them.
    classes : ndarray or None
        Sorted; None for values.
    features : pyarrow.Table
        The whole table.
    numbers : ndarray of int
        Indices of the rows in it.
    calendar : frozenset of str
        Features that are days or timestamps.
    where : str
        What the rows are called.
    seed : int
        Of samples.
    outcome : ndarray of shape (n_rows,) or None
        Of rankings and censored times the whole target, a structured array.
    """

    target: str
    estimator: str
    truth: NDArray[Any]
    predicted: NDArray[Any]
    probabilities: FloatArray | None
    classes: NDArray[Any] | None
    features: pa.Table
    numbers: NDArray[np.intp]
    calendar: frozenset[str]
    where: str = "held-out rows"
    seed: int = 0
    outcome: NDArray[Any] | None = None

    @property
    def task(self) -> TaskKind:
        """The task whose metrics are defined for these rows."""
        if self.outcome is not None:
            return "rank" if "relevance" in (self.outcome.dtype.names or ()) else "survival"
        return "regression" if self.classes is None else "classification"

    @cached_property
    def labels(self) -> list[str]:
        """The classes as text."""
        return [] if self.classes is None else [str(one) for one in self.classes]

    @cached_property
    def codes(self) -> NDArray[np.intp]:
        """Index of the true class of each row."""
        assert self.classes is not None
        return np.searchsorted(self.classes, self.truth)

    @cached_property
    def counts(self) -> NDArray[np.intp]:
        """Rows by true and predicted class."""
        assert self.classes is not None
        n = len(self.classes)
        counts = np.zeros((n, n), dtype=np.intp)
        np.add.at(counts, (self.codes, np.searchsorted(self.classes, self.predicted)), 1)
        return counts

    @cached_property
    def areas(self) -> FloatArray:
        """Area under the ROC curve and average precision of each class against the rest, shape (n_classes, 2).

        NaN for a class that has all rows or none.
        """
        assert self.probabilities is not None
        found = np.full((len(self.labels), 2), np.nan)
        for k in range(len(found)):
            occurred, score = self.codes == k, self.probabilities[:, k]
            if 0 < occurred.sum() < len(occurred):
                found[k] = roc_auc_score(occurred, score), average_precision_score(occurred, score)
        return found

    def sample(self, most: int) -> NDArray[np.intp]:
        """Places of a sample of the rows, ascending."""
        n = len(self.truth)
        if n <= most:
            return np.arange(n)
        return np.sort(np.random.default_rng(self.seed).choice(n, most, replace=False))
