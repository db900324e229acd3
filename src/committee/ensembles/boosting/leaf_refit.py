"""New leaf values for boosted trees whose splits stay: a model follows data that have changed."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.data.intake import take_in_rows
from committee.engines.tree_model import replace_leaf_values
from committee.ensembles.leaf_values import (
    blend_leaves,
    check_refittable,
    encode_labels,
    find_leaf_indices,
    read_refit_values,
    read_refit_weights,
)
from committee.exceptions import ParameterError
from committee.losses import LossFunction, describe_loss, list_losses

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.engines import Trees
    from committee.typing import FloatArray

__all__ = ["BoostingLeafRefit"]

_STALE = ("train_score_", "validation_score_", "oob_improvement_", "oob_scores_", "oob_score_", "evals_result_")


class BoostingLeafRefit:
    """`refit_leaves` of boosted trees."""

    _refit_refusal: ClassVar[str | None] = None
    """Why leaf values cannot follow new rows, in models whose loss is not a sum over rows that stand alone."""

    if TYPE_CHECKING:
        n_jobs: Any
        _schema: Any
        _loss: Any
        _baseline: FloatArray
        _slots: Any
        _trees: Trees

        def fitted_trees(self) -> Trees:
            """The arena."""

        def _predict_offset(self, X: Any) -> FloatArray | None: ...
        def _count_trees_per_round(self) -> int: ...

    def refit_leaves(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None, *, decay_rate: float = 0.9
    ) -> Self:
        """A model with the same splits whose leaf values follow new rows.

        Round by round, the value that a leaf would get from the new rows in it, given the rounds before, is blended
        with its old one: ``decay_rate * old + (1 - decay_rate) * new``, as in LightGBM's `refit`. Leaves without new
        rows stay as they are; so do baseline and importances. The model itself is not changed.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their classes, which the model must know, or values.
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
        >>> from committee import GradientBoostingRegressor
        >>> X, y = load_diabetes(return_X_y=True)
        >>> old = GradientBoostingRegressor(random_state=0).fit(X, y)
        >>> new = old.refit_leaves(X, y + 50.0, decay_rate=0.0)
        >>> new.score(X, y + 50.0) > old.score(X, y + 50.0)
        True
        """
        trees, loss = self.fitted_trees(), self._loss
        name = type(self).__name__
        check_refittable(name, self._refit_refusal)
        if not isinstance(loss, LossFunction) or not loss.traits.takes_newton_steps:
            known = [one for one in list_losses() if describe_loss(one).takes_newton_steps]
            raise ParameterError(
                f"refit_leaves of {name} is for the losses {', '.join(known)}; this model has "
                f"{getattr(loss, 'name', 'a loss of its own')!r}."
            )
        rows = take_in_rows(self, X, self._schema)
        target = self._read_refit_target(y)
        weights = read_refit_weights(sample_weight, rows.shape[0], decay_rate, target.shape)
        leaves = find_leaf_indices(trees, rows, self.n_jobs)
        scores = np.tile(self._baseline, (rows.shape[0], 1))
        offset = self._predict_offset(X)
        scores = scores if offset is None else scores + offset
        values = self._refit_values(trees, leaves, target, scores, weights, float(decay_rate))
        fitted: Any = copy(self)
        fitted._replace_fitted({"_trees": replace_leaf_values(trees, values)}, _STALE)
        found: Self = fitted
        return found

    def _read_refit_target(self, y: ArrayLike) -> FloatArray:
        classes = self.__dict__.get("classes_")
        if classes is not None:
            return encode_labels(y, classes, type(self).__name__).astype(np.float64)
        values = read_refit_values(y)
        self._loss.check_target(values.reshape(len(values), -1))
        return values

    def _refit_values(
        self,
        trees: Trees,
        leaves: NDArray[np.intp],
        target: FloatArray,
        scores: FloatArray,
        weights: FloatArray,
        decay_rate: float,
    ) -> FloatArray:
        """New values of all leaves; the scores are those before the first round, and are changed."""
        values = np.array(trees.values, dtype=np.float64).reshape(-1, trees.width)
        rate, penalty = self._find_rate_and_penalty()
        step, vector = self._count_trees_per_round(), trees.width > 1
        for first in range(0, trees.n_trees, step):
            gradients, hessians = self._loss.find_gradients(target, scores)
            for tree in range(first, first + step):
                own = leaves[:, tree]
                lo, hi = int(trees.leaf_offsets[tree]), int(trees.leaf_offsets[tree + 1])
                slots = range(scores.shape[1]) if vector else [int(self._slots[tree])]
                counts = np.bincount(own - lo, weights, minlength=hi - lo).astype(np.float64)
                new = np.empty((hi - lo, trees.width))
                for column, slot in enumerate(slots):
                    g = np.bincount(own - lo, weights * gradients[:, slot], minlength=hi - lo)
                    h = np.bincount(own - lo, weights * hessians[:, slot], minlength=hi - lo)
                    new[:, column] = -rate * g / np.maximum(h + penalty, np.finfo(np.float64).tiny)
                values[lo:hi] = blend_leaves(values[lo:hi], new, counts, decay_rate)
                for column, slot in enumerate(slots):
                    scores[:, slot] += values[own, column]
        return values

    def _find_rate_and_penalty(self) -> tuple[float, float]:
        """The learning rate and the L2 penalty that the trees were grown with."""
        if hasattr(self, "_resolve"):
            settings = self._resolve()
            return float(self.__dict__["learning_rate_"]), float(settings.reg_lambda)
        return float(getattr(self, "learning_rate", 1.0)), float(getattr(self, "l2_regularization", 0.0))
