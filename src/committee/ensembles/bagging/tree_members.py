"""Bags of this library's trees: one arena, grown from bins that all members share."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from committee.base import resolve_jobs
from committee.data import ClassTarget
from committee.data.class_weights import weigh_classes
from committee.data.weights import find_unit
from committee.engines import get_engine
from committee.ensembles.forest_builder import ForestBuilder
from committee.ensembles.tree_sequence import TreeSequence
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_importances import MemberImportances, read_importances
from committee.learners.tree_params import count_features, make_grow_params
from committee.learners.tree_rows import predict_trees

if TYPE_CHECKING:
    from committee.data import Dataset, Schema
    from committee.engines import Trees
    from committee.ensembles.bagging.members import MemberSamples
    from committee.learners.tree_base import BaseTree
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["TreeBagBuilder", "TreeMembers", "make_tree_bag"]

"""Bits of a node's tag: whether it is a leaf, and the feature that it splits on (tree.hpp)."""


class TreeMembers(TreeSequence):
    """The trees of a bag; each is made an estimator of its own when it is accessed.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    trees : Trees
        The arena with all members.
    importances : ndarray or CSR array of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the table.
    samples : MemberSamples
        Rows and features of each tree.
    named : dict
        Fitted attributes about the target.
    """

    def __init__(
        self,
        estimator: BaseTree,
        trees: Trees,
        importances: MemberImportances,
        schema: Schema,
        samples: MemberSamples,
        named: dict[str, object],
    ) -> None:
        super().__init__(estimator, trees, importances, schema, named)
        self.samples = samples

    def _view(self, member: int) -> BaseTree:
        """One member, which like all members of bags has its own features of the encoded table only, without names."""
        tree, importances = self.trees.select(member, member + 1), read_importances(self.importances, member)
        schema = replace(self.schema, feature_names=None, inputs=None)
        if self.samples.n_drawn:
            (own,) = self.samples.draw_features([member])
            tree, importances = tree.renumber_features(own.astype(np.uint32)), importances[own]
            categories = tuple(schema.categories[k] for k in own)
            schema = replace(schema, n_features=len(own), categories=categories)
        return self._fill(tree, importances, schema, member=member, seed=self.samples.seed)

    def predict_by_tree(self, rows: FloatMatrix | SparseMatrix) -> list[FloatArray]:
        """Predictions of each tree: class probabilities side by side, or values."""
        return [predict_trees(self.trees, rows, "mean", 1, span=range(t, t + 1)) for t in range(len(self))]


@dataclass(kw_only=True)
class TreeBagBuilder(ForestBuilder):
    """A bag of trees under construction: a member's sample is a vector of counts over the shared bins.

    Attributes
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    member_samples : MemberSamples
        Rows and features of each tree.
    """

    estimator: BaseTree
    member_samples: MemberSamples

    def build_members(self) -> TreeMembers:
        """The fitted members."""
        trees, importances = self.join_trees()
        target = self.dataset.target
        named = target_attributes(number_classes(target) if isinstance(target, ClassTarget) else target)
        return TreeMembers(self.estimator, trees, importances, self.dataset.schema, self.member_samples, named)


def make_tree_bag(
    estimator: BaseTree, dataset: Dataset, samples: MemberSamples, *, n_jobs: int | None, kept: TreeMembers | None
) -> TreeBagBuilder:
    """Parameters and samples of a bag of trees in the engine's form.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    dataset : Dataset
        The training set, whose bins are made once.
    samples : MemberSamples
        Rows and features of each tree.
    n_jobs : int or None
        Threads.
    kept : TreeMembers or None
        Members of an earlier fit that are kept.

    Returns
    -------
    TreeBagBuilder
    """
    engine, sampling = get_engine(), samples.plan
    settings = estimator.tree_settings()
    params = make_grow_params(settings, dataset, dataset.weights, samples.seed)
    params.n_jobs = resolve_jobs(n_jobs)
    plan = engine.ForestPlan()
    plan.sampling = samples.to_engine()
    weights = None if sampling.uses_weights else dataset.weights
    class_weight = getattr(estimator, "class_weight", None)
    if isinstance(class_weight, str):
        plan.balance_classes = True
    elif class_weight is not None and isinstance(dataset.target, ClassTarget):
        # Members of any bag learn the numbers of the classes, so that the keys of class_weight are numbers.
        factors = weigh_classes(class_weight, number_classes(dataset.target), None, type(estimator).__name__)
        weights = factors if weights is None else weights * factors
    copies = dataset.count_weights() if sampling.uses_weights else None
    # What is drawn is a row.
    params.row_weight = 0.0 if weights is None else find_unit(weights, copies)
    if settings.min_weight_fraction_leaf > 0.0:
        mean = 1.0 if weights is None else float(np.average(weights, weights=copies))
        params.min_weight_leaf = float(settings.min_weight_fraction_leaf) * mean * sampling.total_draws
    if samples.n_drawn:
        params.max_features = min(count_features(settings.max_features, samples.n_drawn), samples.n_drawn)
    builder = TreeBagBuilder(
        dataset, estimator.max_bins, weights, params, plan, sampling, estimator=estimator, member_samples=samples
    )
    if kept is not None:
        builder.keep(kept.trees, kept.importances)
    return builder


def number_classes(target: ClassTarget) -> ClassTarget:
    """The target with the numbers of the classes in place of the classes, as members of a bag learn it."""
    return replace(target, classes=[np.arange(n) for n in target.n_classes])
