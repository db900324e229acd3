"""Fitted members of a boosted ensemble and their weighted sums: trees in one arena, or estimators of any kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import count_rows
from committee.engines.formula import Arithmetic, ConstantTerm, JoinedTerms, OneHotTerm, TreeTerm, add_weighted
from committee.ensembles.member_formulas import align_probabilities, index_labels
from committee.ensembles.tree_sequence import TreeSequence
from committee.learners.tree_importances import MemberImportances, read_importances, sum_shares
from committee.learners.tree_params import TreeSettings
from committee.learners.tree_rows import predict_trees

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Schema
    from committee.engines import Trees
    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.ensembles.adaboost.algorithms import Algorithm
    from committee.learners.tree_base import BaseTree
    from committee.typing import AnyArray, EstimatorLike, FloatArray, IndexArray

__all__ = [
    "BoostedMembers",
    "BoostedTrees",
    "is_plain_stump",
    "leaf_values",
    "predict_all_classes",
    "predict_labels",
    "spread_rounds",
    "sum_member_terms",
]


def is_plain_stump(estimator: BaseTree) -> bool:
    """Whether a classification tree has one split and no further constraints, as the engine's stump trainer needs."""
    settings = estimator.tree_settings()
    default = TreeSettings(settings.owner, settings.criterion)
    ignored = {"max_depth", "exact", "random_state", "shuffle_ties", "n_jobs"}
    return (
        settings.max_depth == 1
        and getattr(estimator, "class_weight", None) is None
        and all(getattr(settings, name) == getattr(default, name) for name in settings.__slots__ if name not in ignored)
    )


# --- trees -----------------------------------------------------------------------------------------------------------


class BoostedTrees(TreeSequence):
    """Trees in one arena; an element is built when it is accessed.

    Parameters
    ----------
    estimator : BaseTree
        With the parameters that all members have.
    trees : Trees
        The arena with all members.
    importances : ndarray or CSR array of shape (n_members, n_features)
        Decrease of impurity by each feature in each tree.
    schema : Schema
        The columns of the training table.
    named : dict
        Fitted attributes about the target.
    seed : int
        Seed of the ensemble.
    """

    def __init__(
        self,
        estimator: BaseTree,
        trees: Trees,
        importances: MemberImportances,
        schema: Schema,
        named: dict[str, Any],
        seed: int,
    ) -> None:
        super().__init__(estimator, trees, importances, schema, named)
        self.seed = seed
        self._scored: Trees | None = None

    def _view(self, member: int) -> BaseTree:
        tree = self.trees.select(member, member + 1)
        own = read_importances(self.importances, member)
        return self._fill(tree, own, self.schema, member=member, seed=self.seed)

    def truncate(self, n_members: int) -> BoostedTrees:
        """The first members."""
        trees, importances = self.trees.select(0, n_members), self.importances[:n_members]
        return BoostedTrees(self.estimator, trees, importances, self.schema, self.named, self.seed)

    def sum_rounds(
        self, algorithm: Algorithm, X: Any, weights: FloatArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """Weighted sum of the members of some rounds, which `Algorithm.to_decision` turns into f.

        Parameters
        ----------
        algorithm : Algorithm
            How the members are combined.
        X : ndarray or CSR matrix
            Rows from `take_in_rows`.
        weights : ndarray of shape (n_rounds,)
            Weights of all rounds.
        span : range
            The rounds to sum.
        n_jobs : int or None
            Number of threads.

        Returns
        -------
        ndarray of shape (n_rows, n_classes), or (n_rows, width) for regressions
        """
        if algorithm.combine == "votes":
            return predict_trees(self.trees, X, "vote", n_jobs, tree_weights=weights, span=span)
        if algorithm.combine == "scores":
            return predict_trees(self._score_leaves(algorithm), X, "sum", n_jobs, tree_weights=weights, span=span)
        return self.sum_values(X, *spread_rounds(weights, span, algorithm.width), n_jobs)

    def _score_leaves(self, algorithm: Algorithm) -> Trees:
        """Trees whose leaves hold the term of f of a member of weight 1."""
        if self._scored is None:
            values = leaf_values(self.trees)
            scores = algorithm.to_scores(values / values.sum(axis=1, keepdims=True))
            self._scored = self.trees.with_leaf_values(np.ascontiguousarray(scores))
        return self._scored

    def sum_term(self, row: FormulaTerm, algorithm: Algorithm, weights: FloatArray) -> FormulaTerm:
        """`sum_rounds` over all rounds, as a term of a formula."""
        if algorithm.combine == "votes":
            return TreeTerm(row, self.trees, "vote", weights)
        if algorithm.combine == "scores":
            return TreeTerm(row, self._score_leaves(algorithm), "sum", weights)
        spread, columns, _ = spread_rounds(weights, range(len(weights)), algorithm.width)
        return TreeTerm(row, self.trees, "sum", spread, columns, algorithm.width)

    def value_term(self, row: FormulaTerm) -> FormulaTerm:
        """The prediction of each regression, as a term of a formula."""
        n = len(self)
        return TreeTerm(row, self.trees, "sum", np.ones(n), np.arange(n, dtype=np.uint32), n)

    def sum_values(
        self, X: Any, weights: FloatArray, columns: IndexArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """Weighted sum of the predictions of the members in a span, each added to its column."""
        width = int(columns.max()) + 1
        return predict_trees(
            self.trees, X, "sum", n_jobs, tree_weights=weights, slots=columns, out_width=width, span=span
        )

    def average_importances(self, weights: FloatArray) -> FloatArray:
        """Weighted mean of the members' normalised importances."""
        return np.asarray(sum_shares(self.importances, weights) / weights.sum())


def spread_rounds(weights: FloatArray, span: range, width: int) -> tuple[FloatArray, IndexArray, range]:
    """Weights, output columns and span of the members, from weights and span of rounds with `width` members each."""
    columns = np.arange(len(weights) * width, dtype=np.uint32) % np.uint32(width)
    return np.repeat(weights, width), columns, range(span.start * width, span.stop * width)


def leaf_values(trees: Trees) -> FloatArray:
    """Values of all leaves, of shape (n_leaves, width)."""
    return np.asarray(trees.values, dtype=np.float64)


# --- estimators of any kind ------------------------------------------------------------------------------------------


class BoostedMembers:
    """Fitted estimators of any kind.

    Parameters
    ----------
    estimators : list
        In the order of the rounds.
    classes : ndarray
        Classes of the ensemble, sorted; empty for regression.
    """

    def __init__(self, estimators: list[Any], classes: AnyArray) -> None:
        self.estimators, self.classes = estimators, classes

    def __len__(self) -> int:
        return len(self.estimators)

    def truncate(self, n_members: int) -> BoostedMembers:
        """The first members."""
        return BoostedMembers(self.estimators[:n_members], self.classes)

    def sum_rounds(
        self, algorithm: Algorithm, X: Any, weights: FloatArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """As `BoostedTrees.sum_rounds`; X is in the form that the members read."""
        if algorithm.combine == "values":
            return self.sum_values(X, *spread_rounds(weights, span, algorithm.width), n_jobs)
        sums, each = np.zeros((count_rows(X), algorithm.n_classes)), np.arange(count_rows(X))
        for t in span:
            member = self.estimators[t]
            if algorithm.combine == "votes":
                sums[each, predict_labels(member, X, self.classes)] += weights[t]
            else:
                sums += weights[t] * algorithm.to_scores(predict_all_classes(member, X, self.classes))
        return sums

    def sum_values(
        self, X: Any, weights: FloatArray, columns: IndexArray, span: range, n_jobs: int | None
    ) -> FloatArray:
        """Weighted sum of the predictions of the members in a span, each added to its column."""
        sums = np.zeros((count_rows(X), int(columns.max()) + 1))
        for t in span:
            sums[:, columns[t]] += weights[t] * np.asarray(self.estimators[t].predict(X), np.float64).reshape(-1)
        return sums

    def average_importances(self, weights: FloatArray) -> FloatArray:
        """Weighted mean of the members' importances."""
        for member in self.estimators:
            if not hasattr(member, "feature_importances_"):
                raise AttributeError(f"{type(member).__name__} has no feature_importances_.")
        own = np.stack([member.feature_importances_ for member in self.estimators])
        return np.asarray((weights[:, None] * own).sum(axis=0) / weights.sum())


def sum_member_terms(
    owner: object, members: list[ModelFormula], algorithm: Algorithm, weights: FloatArray, classes: AnyArray
) -> FormulaTerm:
    """`BoostedMembers.sum_rounds` over all rounds, as a term of a formula."""
    if algorithm.combine == "values":
        width = algorithm.width
        columns = [add_weighted(weights, [m.value for m in members[k::width]]) for k in range(width)]
        return columns[0] if width == 1 else JoinedTerms(tuple(columns))
    if algorithm.combine == "votes":
        votes = [OneHotTerm(index_labels(member, [classes]), len(classes)) for member in members]
        return add_weighted(weights, votes)
    total: FormulaTerm = ConstantTerm(np.zeros(len(classes)))
    for weight, member in zip(weights.tolist(), members, strict=True):
        scores = algorithm.score_term(align_probabilities(owner, member, [classes]))
        total = Arithmetic("+", total, Arithmetic("*", ConstantTerm(np.array([weight])), scores))
    return total


def predict_labels(member: EstimatorLike, X: Any, classes: AnyArray) -> NDArray[np.intp]:
    """Index among the ensemble's classes of the class that a member predicts for each row."""
    return np.asarray(np.searchsorted(classes, np.asarray(member.predict(X))), dtype=np.intp)


def predict_all_classes(member: Any, X: Any, classes: AnyArray) -> FloatArray:
    """Probabilities of a member in the columns of all classes; 0 for classes that its sample did not have."""
    probabilities = np.asarray(member.predict_proba(X), dtype=np.float64)
    if probabilities.shape[1] == len(classes):
        return probabilities
    expanded = np.zeros((len(probabilities), len(classes)))
    expanded[:, np.searchsorted(classes, member.classes_)] = probabilities
    return expanded
