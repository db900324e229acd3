"""The members of an ensemble of trees as a sequence of fitted trees, made from one arena on access."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, overload

from sklearn.base import clone

from committee.base import seed_estimator
from committee.learners.tree_base import BaseTree
from committee.learners.tree_params import count_features

if TYPE_CHECKING:
    from committee.data import Schema
    from committee.engines import Trees
    from committee.typing import FloatArray

__all__ = ["TreeSequence"]


class TreeSequence(Sequence[BaseTree]):
    """Trees in one arena; an element is built when it is accessed and shares the memory of the arena.

    Parameters
    ----------
    estimator : BaseTree
        A tree with the parameters that all members have; not fitted.
    trees : Trees
        The arena with all members.
    importances : ndarray of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the training table.
    named : dict
        Fitted attributes about the target, from `committee.learners.training_arrays.target_attributes`.
    """

    def __init__(
        self, estimator: BaseTree, trees: Trees, importances: FloatArray, schema: Schema, named: dict[str, object]
    ) -> None:
        self.estimator, self.trees, self.importances = estimator, trees, importances
        self.schema, self.named = schema, named

    def __len__(self) -> int:
        return int(self.trees.n_trees)

    @overload
    def __getitem__(self, index: int) -> BaseTree: ...
    @overload
    def __getitem__(self, index: slice) -> list[BaseTree]: ...
    def __getitem__(self, index: int | slice) -> BaseTree | list[BaseTree]:
        numbers = range(len(self))[index]
        return [self._view(k) for k in numbers] if isinstance(numbers, range) else self._view(numbers)

    def __repr__(self) -> str:
        return f"<{len(self)} members: {type(self.estimator).__name__}>"

    @abstractmethod
    def _view(self, member: int) -> BaseTree:
        """One member as a fitted tree."""

    def _fill(
        self, tree: Trees, importances: FloatArray, schema: Schema, *, member: int, seed: int | None = None
    ) -> BaseTree:
        """A clone of the estimator that holds a given tree; with a seed, its ``random_state`` is the member's own."""
        estimator = clone(self.estimator)
        if seed is not None:
            estimator = seed_estimator(estimator, seed, member)
        max_features = count_features(estimator.tree_settings().max_features, schema.n_features)
        fitted: BaseTree = estimator.hold_tree(tree, importances, schema, {**self.named, "max_features_": max_features})
        return fitted
