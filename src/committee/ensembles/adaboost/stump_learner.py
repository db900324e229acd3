"""The learner of stumps: weights and histograms are kept in the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from committee.engines.block_stumps import BlockStumps
from committee.ensembles.adaboost.algorithms import GroupPredictions
from committee.ensembles.adaboost.learners import TreeRounds, WeightedLearner
from committee.ensembles.adaboost.stump_trainers import make_stump_trainer
from committee.learners.training_arrays import target_attributes

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.adaboost.members import BoostedTrees
    from committee.learners.tree_base import BaseTree
    from committee.typing import BoolArray, FloatArray

__all__ = ["StumpLearner"]


class StumpLearner(TreeRounds, WeightedLearner):
    """Stumps: the weights live in the engine, which updates only the histograms of rows whose weight changes.

    Parameters
    ----------
    estimator : BaseTree
        A stump; see `is_plain_stump`.
    dataset : Dataset
        The training rows.
    weights : ndarray of shape (n_rows,) or None
        Weights of the first round; rows of weight zero are absent.
    seed : int
        Seed of the ensemble; stumps use no random numbers.
    n_jobs : int or None
        Number of threads.
    kept : BoostedTrees or None
        Members of an earlier fit that are kept.
    engine : {"cpu", "gpu", "auto"}
        Where weights and histograms are.
    """

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        *,
        n_jobs: int | None,
        kept: BoostedTrees | None,
        engine: Literal["cpu", "gpu", "auto"] = "cpu",
    ) -> None:
        super().__init__(estimator, dataset, seed, kept, target_attributes(dataset.target))
        self._trainer = make_stump_trainer(estimator, dataset, weights, n_jobs, self._n_counted, engine)
        self._leaf_weights: FloatArray

    def fit_member(self, member: int) -> GroupPredictions:
        """The groups are the leaves of the stump."""
        tree, importances, self._leaf_weights = self._trainer.grow()
        self.add_tree(tree, importances)
        probabilities = self._leaf_weights / self._leaf_weights.sum(axis=1, keepdims=True)
        return GroupPredictions(self._leaf_weights.argmax(axis=1), probabilities)

    def weighted_sum(self, table: FloatArray | BoolArray) -> float:
        """From the class weights of the leaves, without a pass over the rows."""
        return float((self._leaf_weights * table).sum())

    def multiply_weights(self, factors: FloatArray) -> None:
        """Multiply the engine's weights."""
        self._trainer.multiply(factors)

    def close(self) -> None:
        """Let go of the blocks of rows, if there are any."""
        if isinstance(self._trainer, BlockStumps):
            self._trainer.close()

    @property
    def weights(self) -> FloatArray:
        """A copy of the engine's weights."""
        weights: FloatArray = self._trainer.weights
        return weights
