"""New leaf values for boosted trees whose splits stay: a model follows data that have changed."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from committee.base import resolve_jobs
from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.intake import take_in_rows
from committee.engines.tree_model import replace_leaf_values
from committee.ensembles.boosting.objective import Objective
from committee.ensembles.leaf_values import (
    blend_leaves,
    encode_labels,
    find_leaf_indices,
    read_refit_values,
    read_refit_weights,
)
from committee.exceptions import DataError, ParameterError
from committee.losses import LeafRenewal, LossFunction, describe_loss

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.engines import Trees
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.typing import FloatArray

__all__ = ["BoostingLeafRefit"]

_STALE = ("train_score_", "validation_score_", "oob_improvement_", "oob_scores_", "oob_score_", "evals_result_")


class LeafSteps(NamedTuple):
    """How the value of a leaf follows from its sums, as the engine computes it."""

    rate: float
    reg_lambda: float
    reg_alpha: float
    largest_step: float

    def find(self, gradient: FloatArray, hessian: FloatArray) -> FloatArray:
        """The learning rate times -S(G, α) / (H + λ), S the soft threshold, held within the largest step.

        Examples
        --------
        >>> LeafSteps(0.5, 1.0, 0.0, 10.0).find(np.array([4.0, 99.0]), np.array([1.0, 0.0])).tolist()
        [-1.0, -5.0]
        """
        whole = hessian + self.reg_lambda
        if self.reg_alpha:
            gradient = np.sign(gradient) * np.maximum(np.abs(gradient) - self.reg_alpha, 0.0)
        steps = np.divide(-self.rate * gradient, whole, out=np.zeros(whole.shape), where=whole > 0.0)
        largest = self.rate * self.largest_step
        return np.minimum(np.maximum(steps, -largest), largest)


class BoostingLeafRefit:
    """`refit_leaves` of boosted trees."""

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
        with its old one: ``decay_rate * old + (1 - decay_rate) * new``, as in LightGBM's `refit`. New values follow
        from the rows as in `fit`: Newton steps, or quantiles of the residuals, as the loss has it. What else a model
        takes from the scores of its rows is blended alike: the thresholds of levels, the baseline hazard of Cox's model
        and the scale of failure times. Leaves without new rows stay as they are; so do baseline and importances. New
        values may break a monotone constraint. The model itself is not changed. Not with ``boosting='dart'``, whose
        later rounds change the leaves of earlier ones.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their target as `fit` takes it; classes must be those that the model knows.
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
        self._check_refittable()
        rows = take_in_rows(self, X, self._schema)
        return self._refit_rows(X, rows, self._read_refit_target(y, rows.shape[0]), sample_weight, decay_rate)

    def _check_refittable(self) -> None:
        self.fitted_trees()
        if getattr(self, "boosting", "plain") == "dart":
            raise ParameterError(
                f"refit_leaves of {type(self).__name__} is not possible with boosting='dart', whose later rounds "
                "change the leaves of earlier ones. Fit a new model, or one with boosting='plain'."
            )

    def _refit_rows(
        self, X: Any, rows: Any, target: ClassTarget | ValueTarget, sample_weight: ArrayLike | None, decay_rate: float
    ) -> Self:
        """The refitted copy, from rows that were read."""
        trees, n_rows = self.fitted_trees(), rows.shape[0]
        values = target.labels if isinstance(target, ClassTarget) else target.values
        counted = read_refit_weights(sample_weight, n_rows, decay_rate, values.shape)
        weights = None if sample_weight is None else counted  # None: each row counts as one
        objective = Objective.of_target(self._make_refit_loss(target, weights), target, weights)
        leaves = find_leaf_indices(trees, rows, self.n_jobs)
        offset = self._predict_offset(X)
        start = np.tile(self._baseline, (n_rows, 1))
        scores = np.asfortranarray(start if offset is None else start + offset)
        found = self._refit_values(trees, leaves, objective, scores, float(decay_rate))
        own = self._refit_attributes(objective, scores, float(decay_rate))
        fitted: Any = copy(self)
        fitted._replace_fitted({"_trees": replace_leaf_values(trees, found), **own}, _STALE)
        refitted: Self = fitted
        return refitted

    # What a subclass may have in another way.

    def _read_refit_target(self, y: Any, n_rows: int) -> ClassTarget | ValueTarget:
        """The new rows' target as the loss reads it."""
        known, name = self.__dict__.get("classes_"), type(self).__name__
        if known is None:
            values = read_refit_values(y)
            if isinstance(self._loss, LossFunction):
                self._loss.check_target(values.reshape(len(values), -1))
            target = ValueTarget(np.ascontiguousarray(values.reshape(len(values), -1)), values.ndim == 1)
            n_outputs = self.__dict__.get("n_outputs_", 1)
            if target.n_outputs != n_outputs:
                raise DataError(f"y has {target.n_outputs} outputs and the model {n_outputs}; they must be as many.")
            return target
        classes = known if isinstance(known, list) else [known]
        labels = np.asarray(y)
        columns = labels.reshape(len(labels), -1) if labels.ndim else labels.reshape(1, 1)
        if columns.shape[1] != len(classes):
            raise DataError(f"y has {columns.shape[1]} targets and the model {len(classes)}; they must be as many.")
        encoded = [encode_labels(own, k, name) for own, k in zip(columns.T, classes, strict=True)]
        return ClassTarget(np.stack(encoded, axis=1).astype(np.uint32), list(classes), labels.ndim < 2)

    def _make_refit_loss(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> BoostingLoss:
        """The loss that the trees were grown for."""
        loss: BoostingLoss = self._loss
        return loss

    def _refit_attributes(self, objective: Objective, scores: FloatArray, decay_rate: float) -> dict[str, Any]:
        """Further attributes that follow the rows, from their scores by the new leaves."""
        return {}

    # The rounds.

    def _refit_values(
        self,
        trees: Trees,
        leaves: NDArray[np.intp],
        objective: Objective,
        scores: FloatArray,
        decay_rate: float,
    ) -> FloatArray:
        """New values of all leaves; the scores are those before the first round, and are changed."""
        values = np.array(trees.values, dtype=np.float64).reshape(-1, trees.width)
        step, n_jobs, steps = self._count_trees_per_round(), resolve_jobs(self.n_jobs), self._find_steps(objective.loss)
        firsts, weights, renewal = trees.leaf_offsets.tolist(), objective.weights, _make_renewal(objective)
        gradients = hessians = np.empty(0)
        for first in range(0, trees.n_trees, step):
            if renewal is not None:
                renewal.adapt(scores)
            else:
                gradients, hessians = objective.find_gradients(scores, n_jobs)
                if weights is not None:
                    gradients, hessians = gradients * weights[:, None], hessians * weights[:, None]
            for tree in range(first, first + step):
                lo, hi = firsts[tree : tree + 2]
                own, n_leaves = leaves[:, tree] - lo, hi - lo
                slots = range(scores.shape[1]) if trees.width > 1 else [int(self._slots[tree])]
                new = np.empty((n_leaves, trees.width))
                for column, slot in enumerate(slots):
                    if renewal is None:
                        g, h = (_sum_leaves(own, part[:, slot], n_leaves) for part in (gradients, hessians))
                        new[:, column] = steps.find(g, h)
                    else:
                        new[:, column] = steps.rate * renewal.find_values(slot, scores, own, n_leaves, n_jobs)
                counts = _sum_leaves(own, weights, n_leaves)
                blended = blend_leaves(values[lo:hi], new, counts, decay_rate)
                for column, slot in enumerate(slots):
                    scores[:, slot] += blended[:, column].take(own)
                values[lo:hi] = blended
        return values

    def _find_steps(self, loss: BoostingLoss) -> LeafSteps:
        """The rule that the trees got their leaf values by."""
        largest = describe_loss(loss.name).largest_step
        if hasattr(self, "_resolve"):
            penalties = float(self._resolve().reg_lambda), float(getattr(self, "reg_alpha", 0.0))
            return LeafSteps(float(self.__dict__["learning_rate_"]), *penalties, largest)
        penalty = float(getattr(self, "l2_regularization", 0.0))
        return LeafSteps(float(getattr(self, "learning_rate", 1.0)), penalty, 0.0, largest)


def _sum_leaves(leaves: NDArray[np.intp], values: FloatArray | None, n_leaves: int) -> FloatArray:
    """The sums over the rows of each leaf; their numbers without values."""
    return np.asarray(np.bincount(leaves, values, n_leaves), dtype=np.float64)


def _make_renewal(objective: Objective) -> LeafRenewal | None:
    """What finds the leaf values of a loss whose leaves hold no Newton steps."""
    loss = objective.loss
    if not isinstance(loss, LossFunction) or loss.traits.takes_newton_steps:
        return None
    return LeafRenewal(loss, objective.y, objective.weights)
