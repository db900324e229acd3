"""Members of a bag that are this library's trees: one arena, grown from bins that all of them share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import resolve_jobs
from committee.data import ClassTarget
from committee.data.weights import weigh_classes
from committee.engines import get_engine
from committee.ensembles.forest_growth import TreeGrowth
from committee.ensembles.tree_sequence import TreeSequence
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_params import count_features, set_up_growth
from committee.learners.tree_rows import predict_trees

if TYPE_CHECKING:
    from collections.abc import Callable

    from committee.data import Dataset, Schema
    from committee.ensembles.bagging.members import MemberSamples
    from committee.ensembles.out_of_bag import OutOfBag
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["TreeBag", "TreeMembers"]

_LEAF, _FEATURE = np.uint32(1 << 31), np.uint32((1 << 28) - 1)
"""Bits of a node's tag: whether it is a leaf, and the feature that it asks about (tree.hpp)."""


class TreeMembers(TreeSequence):
    """The trees of a bag; each is made an estimator of its own when it is looked at.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    trees : Trees
        All of them.
    importances : ndarray of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the table.
    samples : MemberSamples
        What each tree saw.
    named : dict
        Fitted attributes about the target.
    """

    def __init__(
        self,
        estimator: BaseTree,
        trees: Any,
        importances: FloatArray,
        schema: Schema,
        samples: MemberSamples,
        named: dict[str, Any],
    ) -> None:
        super().__init__(estimator, trees, importances, schema, named)
        self.samples = samples

    def _view(self, member: int) -> BaseTree:
        """One member, which like all members of bags knows its own features only, without names."""
        tree, importances = self.trees.select(member, member + 1), self.importances[member]
        schema = replace(self.schema, feature_names=None)
        if self.samples.n_drawn:
            (own,) = self.samples.draw_features([member])
            tree, importances = renumber_features(tree, own), importances[own]
            categories = tuple(schema.categories[k] for k in own)
            schema = replace(schema, n_features=len(own), categories=categories)
        return self._fill(tree, importances, schema, member=member, seed=self.samples.seed)

    def average(self, rows: FloatMatrix | SparseMatrix, n_jobs: int | None) -> FloatArray:
        """Mean prediction of the trees: class probabilities side by side, or values."""
        return predict_trees(self.trees, rows, "mean", n_jobs)


class TreeBag:
    """Trees on their way: samples are counts over the shared bins, grown one tree a thread.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    dataset : Dataset
        The table, whose bins are made once.
    samples : MemberSamples
        What each tree sees.
    n_jobs : int or None
        Threads.
    kept : TreeMembers or None
        Members of an earlier fit that are kept.
    """

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        samples: MemberSamples,
        *,
        n_jobs: int | None,
        kept: TreeMembers | None,
    ) -> None:
        engine, drawn = get_engine(), samples.plan
        settings = estimator.tree_settings()
        params = set_up_growth(settings, dataset, dataset.weights, samples.seed)
        params.n_jobs = resolve_jobs(n_jobs)
        plan = engine.ForestPlan()
        plan.sampling = samples.describe()
        weights = None if drawn.uses_weights else dataset.weights
        class_weight = getattr(estimator, "class_weight", None)
        if isinstance(class_weight, str):
            plan.balance_classes = True
        elif class_weight is not None and isinstance(dataset.target, ClassTarget):
            # The classes that members learn are numbers, as in any bag.
            factors = weigh_classes(class_weight, number_classes(dataset.target), None, type(estimator).__name__)
            weights = factors if weights is None else weights * factors
        if settings.min_weight_fraction_leaf > 0.0:
            total = drawn.total_draws if weights is None else weights.sum() * drawn.total_draws / drawn.n_rows
            params.min_weight_leaf = float(settings.min_weight_fraction_leaf * total)
        if samples.n_drawn:
            params.max_features = min(count_features(settings.max_features, samples.n_drawn), samples.n_drawn)
        self._estimator, self._samples = estimator, samples
        self._growth = TreeGrowth(estimator._put_to, dataset, weights, params, plan, drawn)
        if kept is not None:
            self._growth.parts.append(kept.trees)
            self._growth.importances.append(kept.importances)

    def __len__(self) -> int:
        return self._growth.n_trees

    def grow_to(self, n_members: int, on_progress: Callable[[int], None] | None) -> None:
        """Grow the trees that are missing."""
        self._growth.grow_to(n_members, on_progress)

    def vote(self, votes: OutOfBag, last: int) -> None:
        """Let the latest trees vote on rows that they did not see; those after a settled score go."""
        self._growth.vote(votes, last)

    def finalize(self) -> TreeMembers:
        """The fitted members."""
        growth, dataset = self._growth, self._growth.dataset
        trees = growth.parts[0] if len(growth.parts) == 1 else get_engine().concatenate_trees(growth.parts)
        target = dataset.target
        named = target_attributes(number_classes(target) if isinstance(target, ClassTarget) else target)
        importances = np.concatenate(growth.importances)
        return TreeMembers(self._estimator, trees, importances, dataset.schema, self._samples, named)


def number_classes(target: ClassTarget) -> ClassTarget:
    """The target as members of a bag know it: classes are their numbers."""
    return replace(target, classes=[np.arange(n) for n in target.n_classes])


def renumber_features(tree: Any, features: Any) -> Any:
    """A tree over all features as a tree over some of them, in the order given."""
    state = dict(tree.__getstate__())
    nodes = state["nodes"].copy()
    asked = nodes["tag"] & _FEATURE
    inner = (nodes["tag"] & _LEAF) == 0
    nodes["tag"][inner] += np.searchsorted(features, asked[inner]).astype(np.uint32) - asked[inner]
    state["nodes"], state["n_features"] = nodes, len(features)
    return get_engine().Trees.from_arrays(state)
