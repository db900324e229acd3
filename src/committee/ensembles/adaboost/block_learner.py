"""Trees over the blocks of a table on a cluster: which fits stay there, and the learner whose weights do, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from committee.data import ClassTarget
from committee.engines.block_trees import BlockTree, BlockTrees, open_block_trees
from committee.ensembles.adaboost.algorithms import GroupPredictions
from committee.ensembles.adaboost.learners import TreeRounds, WeightedLearner, predict_leaves
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_params import make_grow_params

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.adaboost.members import BoostedTrees
    from committee.learners.tree_base import BaseTree
    from committee.typing import BoolArray, FloatArray

__all__ = ["BlockTreeLearner", "can_keep_weights", "open_tree_blocks"]


def open_tree_blocks(owner: str, estimator: BaseTree, dataset: Dataset, n_rounds: int) -> BlockTrees | None:
    """The blocks of a table that the workers of a cluster keep; None if this process grows the trees.

    Parameters
    ----------
    owner : str
        Class name of the ensemble, for the log.
    estimator : BaseTree
        The members.
    dataset : Dataset
        The training rows.
    n_rounds : int
        How many trees there may be.
    """
    params = make_grow_params(estimator.tree_settings(), dataset, None, seed=0)
    return open_block_trees(f"{owner} with trees, by rows,", dataset, params, estimator.max_bins, n_rounds)


def can_keep_weights(estimator: BaseTree) -> bool:
    """Whether blocks can hold the weights: a fraction of their sum is taken of a sum that is rounded row by row."""
    return estimator.tree_settings().min_weight_fraction_leaf == 0.0


class BlockTreeLearner(TreeRounds, WeightedLearner):
    """Trees whose rows and weights stay in the blocks; the groups are the leaves.

    Weights change where the rows are, and what is added up over the rows is exact: rounds are those of `TreeLearner`.

    Parameters
    ----------
    estimator, dataset, weights, seed, kept
        As in `TreeLearner`.
    blocks : BlockTrees
        Where the rows are.
    """

    _blocks: BlockTrees

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        *,
        kept: BoostedTrees | None,
        blocks: BlockTrees,
    ) -> None:
        super().__init__(estimator, dataset, seed, kept, target_attributes(dataset.target), blocks=blocks)
        assert isinstance(dataset.target, ClassTarget)
        blocks.set_labels(dataset.target.labels[:, 0], dataset.target.n_classes[0])
        blocks.keep_weights(np.ones(dataset.n_rows) if weights is None else weights)

    def fit_member(self, member: int) -> GroupPredictions:
        """Grow a tree; a leaf is a group."""
        blocks, row_weight = self._blocks, 1.0 / self._n_counted
        params = make_grow_params(self._settings, self._dataset, None, self._seed, member, row_weight, blocks.n_present)
        grown: BlockTree = blocks.grow(params)
        blocks.settle(grown)
        self.add_tree(grown.trees, grown.importances)
        probabilities = predict_leaves(grown.values, "mean")
        return GroupPredictions(probabilities.argmax(axis=1), probabilities)

    def weighted_sum(self, table: FloatArray | BoolArray) -> float:
        """Summed in the blocks."""
        return self._blocks.sum(table)

    def multiply_weights(self, factors: FloatArray) -> None:
        """Multiply the weights of the blocks."""
        self._blocks.multiply(factors)

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows, which travel for it."""
        return self._blocks.weights
