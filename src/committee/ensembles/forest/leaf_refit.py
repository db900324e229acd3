"""New leaf values for the trees of a forest whose splits stay."""

from __future__ import annotations

from copy import copy
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.intake import take_in_rows
from committee.engines.tree_model import replace_leaf_values
from committee.ensembles.leaf_values import (
    blend_leaves,
    encode_labels,
    find_leaf_indices,
    read_refit_values,
    read_refit_weights,
)
from committee.exceptions import DataError

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from committee.engines import Trees
    from committee.typing import FloatArray

__all__ = ["ForestLeafRefit"]

_STALE = (
    "oob_score_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "_calibration",
    "_leaf_record",
    "_oob_errors",
    "_oob_halves",
    "_oob_labels",
)


class ForestLeafRefit:
    """`refit_leaves` of forests."""

    if TYPE_CHECKING:
        n_jobs: Any
        n_outputs_: int
        _schema: Any

        def fitted_trees(self) -> Trees:
            """The arena."""

    def refit_leaves(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, decay_rate: float = 0.9
    ) -> Self:
        """A forest with the same splits whose leaves follow new rows.

        The mean target, or the class frequencies, of the new rows in a leaf is blended with its old value:
        ``decay_rate * old + (1 - decay_rate) * new``. Every tree sees all new rows. Leaves without new rows stay as
        they are; new values may break a monotone constraint. What was known of the training rows (out-of-bag scores,
        quantiles, a calibration) is dropped. With trees grown on other rows and ``decay_rate=0`` the trees are honest
        [Wager2018]. The forest itself is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their classes, which the forest must know, or values.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        decay_rate : float, default=0.9
            How much of the old values stays, in [0, 1].

        Returns
        -------
        estimator
            A fitted copy.

        Examples
        --------
        >>> from sklearn.datasets import load_diabetes
        >>> from committee import RandomForestRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> grown = RandomForestRegressor(min_samples_leaf=5, random_state=0).fit(X[:200], y[:200])
        >>> honest = grown.refit_leaves(X[200:], y[200:], decay_rate=0.0)
        >>> honest.score(X[200:], y[200:]) > grown.score(X[200:], y[200:])
        True
        """
        trees = self.fitted_trees()
        if self.n_outputs_ > 1 and hasattr(self, "classes_"):
            raise DataError("refit_leaves of a classifier is for a single output.")
        rows = take_in_rows(self, X, self._schema)
        old = np.array(trees.values, dtype=np.float64).reshape(-1, trees.width)
        classes = self.__dict__.get("classes_")
        if classes is None:
            target = read_refit_values(y)
            target = target.reshape(len(target), -1)
        else:
            target = np.eye(len(classes))[encode_labels(y, classes, type(self).__name__)]
            old /= old.sum(axis=1, keepdims=True)
        weights = read_refit_weights(sample_weight, rows.shape[0], decay_rate, target.shape)
        leaves = find_leaf_indices(trees, rows, self.n_jobs)
        values = _refit_means(old, leaves, trees.leaf_offsets.tolist(), target, weights, float(decay_rate))
        return self._replace_leaves({"_trees": replace_leaf_values(trees, values)})

    def _replace_leaves(self, fitted: dict[str, Any]) -> Self:
        """A copy with other leaves, which knows nothing of the training rows."""
        copied: Any = copy(self)
        copied._replace_fitted(fitted, _STALE)
        found: Self = copied
        return found


def _refit_means(
    old: FloatArray, leaves: Any, firsts: list[int], target: FloatArray, weights: FloatArray, decay_rate: float
) -> FloatArray:
    """Blended means of the target in each leaf; those of a tree begin at its number in `firsts`."""
    if target.shape[1] != old.shape[1]:
        raise DataError(f"y has {target.shape[1]} outputs and the forest {old.shape[1]}; they must be as many.")
    counts, sums = np.empty(len(old)), np.empty_like(old)
    weighted = np.asfortranarray(weights[:, None] * target)
    for tree, (lo, hi) in enumerate(pairwise(firsts)):
        own = leaves[:, tree] - lo
        counts[lo:hi] = np.bincount(own, weights, hi - lo)
        for column in range(old.shape[1]):
            sums[lo:hi, column] = np.bincount(own, weighted[:, column], hi - lo)
    return blend_leaves(old, sums / np.maximum(counts, np.finfo(np.float64).tiny)[:, None], counts, decay_rate)
