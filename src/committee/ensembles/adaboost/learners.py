"""Learners of AdaBoost: they hold the row weights and fit the member of each round on them.

`TreeLearner` grows trees of this library on shared bins, `AnyLearner` fits any classifier; that of stumps is in
`committee.ensembles.adaboost.stump_learner`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.base import resolve_jobs, seed_estimator
from committee.data import ClassTarget
from committee.data.rows import select_rows
from committee.engines import get_engine
from committee.engines.exact_sums import normalize_exactly, sum_over_rows
from committee.ensembles.adaboost.algorithms import GroupPredictions
from committee.ensembles.adaboost.members import (
    BoostedMembers,
    BoostedTrees,
    predict_all_classes,
    predict_labels,
)
from committee.ensembles.member_errors import explain_single_class
from committee.ensembles.member_routing import select_entries
from committee.ensembles.shared_bins import read_dataset_rows
from committee.exceptions import ParameterError
from committee.learners.training_arrays import target_attributes
from committee.learners.tree_importances import MemberImportances, join_importances, keep_importances
from committee.learners.tree_params import make_grow_params
from committee.learners.tree_rows import predict_trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.engines import Trees
    from committee.engines.block_trees import BlockTrees
    from committee.ensembles.adaboost.resampling import Resampling
    from committee.learners.tree_base import BaseTree
    from committee.typing import AnyArray, BoolArray, EstimatorLike, FloatArray, FloatMatrix, IndexArray, SparseMatrix

__all__ = [
    "AnyLearner",
    "EstimatorRounds",
    "MemberLearner",
    "RowLearner",
    "TreeLearner",
    "TreeRounds",
    "WeightedLearner",
    "check_weight_support",
    "predict_leaves",
]


# --- interfaces ------------------------------------------------------------------------------------------------------


class MemberLearner(ABC):
    """Fits the members of each round and keeps them."""

    @abstractmethod
    def drop_member(self) -> None:
        """Discard the member that was fitted last."""

    @abstractmethod
    def last_round(self) -> BoostedTrees | BoostedMembers:
        """The members of the last round."""

    @abstractmethod
    def finalize(self) -> BoostedTrees | BoostedMembers:
        """All fitted members."""

    def close(self) -> None:  # noqa: B027 - most learners hold nothing outside this process
        """Let go of what is held elsewhere, at the end of the fit."""


class WeightedLearner(MemberLearner):
    """Fits one classifier a round with the row weights D, which it holds.

    A round: `fit_member`, then `weighted_sum` of any number of tables about its predictions, then either `drop_member`
    or `multiply_weights`.
    """

    @abstractmethod
    def fit_member(self, member: int) -> GroupPredictions:
        """Fit a member on the current weights; its predictions for the training rows."""

    @abstractmethod
    def weighted_sum(self, table: FloatArray | BoolArray) -> float:
        """Sum over the rows of weight times table[group of the row, class of the row]."""

    @abstractmethod
    def multiply_weights(self, factors: FloatArray) -> None:
        """Multiply the weights by factors[group, class] and normalise their sum to 1."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Weights of all rows; their sum is 1."""


# --- storage of members ----------------------------------------------------------------------------------------------


class TreeRounds(MemberLearner):
    """Keeps trees of this library, an arena for each, concatenated at the end.

    Parameters
    ----------
    estimator : BaseTree
        A tree with the parameters of all members.
    dataset : Dataset
        The training rows, whose bins are made once. Its weights, those of the first round, say how many rows there
        are; rows of weight zero are absent.
    seed : int
        Seed of the ensemble.
    kept : BoostedTrees or None
        Members of an earlier fit that are kept.
    named : dict
        Fitted attributes of the members about the target.
    n_in_round : int, default=1
        Members in a round.
    n_jobs : int or None, default=None
        Number of threads of predictions.
    blocks : BlockTrees or None, default=None
        Where the rows are, if they stay on the workers of a cluster: weights and targets go there, and the leaf of each
        row comes back.
    """

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        seed: int,
        kept: BoostedTrees | None,
        named: dict[str, Any],
        n_in_round: int = 1,
        n_jobs: int | None = None,
        blocks: BlockTrees | None = None,
    ) -> None:
        self._estimator, self._dataset, self._seed = estimator, dataset, seed
        self._n_jobs, self._blocks = resolve_jobs(n_jobs), blocks
        self._named, self._n_in_round = named, n_in_round
        self._n_counted, self._settings = dataset.n_counted, estimator.tree_settings()
        self._settings.n_jobs = resolve_jobs(self._settings.n_jobs)  # once for all rounds
        self._trees: list[Trees] = [] if kept is None else [kept.trees]
        self._importances: list[MemberImportances] = [] if kept is None else [kept.importances]

    def grow(
        self,
        dataset: Dataset,
        weights: FloatArray,
        member: int,
        resampling: Resampling | None,
        combine: Literal["mean", "sum"],
    ) -> FloatArray:
        """Grow a tree with weights whose sum is 1, or on a sample drawn by them, and keep it; what it predicts.

        What counts as a row is a draw, or an equal share of the weight for each row of the first round.
        """
        row_weight = 1.0 / self._n_counted
        if resampling is not None:
            weights, row_weight = resampling.draw_counts(weights, member).astype(np.float64), 1.0
        if self._blocks is not None:
            params = make_grow_params(self._settings, dataset, weights, self._seed, member, row_weight)
            self._blocks.set_weights(weights)
            grown = self._blocks.grow(params)
            self.add_tree(grown.trees, grown.importances)
            return predict_leaves(grown.values, combine).take(self._blocks.find_leaves(grown), axis=0)
        tree, importances = self._estimator.grow_tree(
            dataset,
            np.ascontiguousarray(weights),
            seed=self._seed,
            tree=member,
            row_weight=row_weight,
            settings=self._settings,
        )
        self.add_tree(tree, importances)
        return predict_trees(tree, self._rows, combine, self._n_jobs)

    @cached_property
    def _rows(self) -> FloatMatrix | SparseMatrix:
        """The training rows in the form that trees predict from, made once for all rounds."""
        return read_dataset_rows(self._dataset)

    def add_tree(self, tree: Trees, importances: FloatArray) -> None:
        """Keep one more tree and its importances, of shape (n_features,)."""
        self._trees.append(tree)
        self._importances.append(keep_importances(importances[None]))

    def close(self) -> None:
        """Let go of the blocks of rows, if there are any."""
        if self._blocks is not None:
            self._blocks.close()

    def drop_member(self) -> None:
        """Discard the tree that was grown last."""
        self._trees.pop()
        self._importances.pop()

    def last_round(self) -> BoostedTrees:
        """The trees of the last round."""
        return self._concatenate(self._trees[-self._n_in_round :], self._importances[-self._n_in_round :])

    def finalize(self) -> BoostedTrees:
        """All trees in one arena."""
        return self._concatenate(self._trees, self._importances)

    def _concatenate(self, trees: list[Trees], importances: list[MemberImportances]) -> BoostedTrees:
        arena = get_engine().concatenate_trees(trees)
        schema = self._dataset.schema
        return BoostedTrees(self._estimator, arena, join_importances(importances), schema, self._named, self._seed)


def predict_leaves(values: FloatArray, combine: Literal["mean", "sum"]) -> FloatArray:
    """What a tree predicts for the rows of each leaf, as the engine computes it.

    Parameters
    ----------
    values : ndarray of shape (n_leaves, width)
        What the leaves hold.
    combine : {"mean", "sum"}
        Shares of class weights, or the values themselves.

    Examples
    --------
    >>> predict_leaves(np.array([[3.0, 1.0], [0.0, 2.0]]), "mean")
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    if combine == "mean":
        return np.asarray(values / np.add.accumulate(values, axis=1)[:, -1:])  # one class after the other
    return values + 0.0  # the engine adds to zero, so that there is no minus zero


class EstimatorRounds(MemberLearner):
    """Keeps fitted estimators of any kind.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each member.
    classes : ndarray
        Classes of the ensemble; empty for regression.
    seed : int
        Seed of the ensemble.
    kept : BoostedMembers or None
        Members of an earlier fit that are kept.
    n_in_round : int, default=1
        Members in a round.
    fit_params : mapping, optional
        Other arguments of `fit`, for the rows that members are fitted on.
    """

    def __init__(
        self,
        estimator: EstimatorLike,
        classes: AnyArray,
        seed: int,
        kept: BoostedMembers | None,
        n_in_round: int = 1,
        fit_params: Mapping[str, object] | None = None,
    ) -> None:
        self._estimator, self._classes, self._seed, self._n_in_round = estimator, classes, seed, n_in_round
        self._estimators: list[EstimatorLike] = [] if kept is None else list(kept.estimators)
        self._fit_params = fit_params or {}

    def add_estimator(
        self, X: Any, y: AnyArray, weights: FloatArray, member: int, resampling: Resampling | None
    ) -> EstimatorLike:
        """Fit one more member with the weights, or on a sample drawn by them."""
        estimator: EstimatorLike = seed_estimator(clone(self._estimator), self._seed, member)
        if resampling is None:
            with explain_single_class(estimator, y, weights):
                estimator.fit(X, y, sample_weight=weights, **self._fit_params)
        else:
            rows = resampling.draw_rows(weights, member)
            with explain_single_class(estimator, y[rows]):
                estimator.fit(select_rows(X, rows), y[rows], **select_entries(self._fit_params, rows, len(y)))
        self._estimators.append(estimator)
        return estimator

    def drop_member(self) -> None:
        """Discard the estimator that was fitted last."""
        self._estimators.pop()

    def last_round(self) -> BoostedMembers:
        """The estimators of the last round."""
        return BoostedMembers(self._estimators[-self._n_in_round :], self._classes)

    def finalize(self) -> BoostedMembers:
        """All fitted estimators."""
        return BoostedMembers(self._estimators.copy(), self._classes)


def check_weight_support(estimator: EstimatorLike, resampling: Resampling | None) -> None:
    """Refuse an estimator whose ``fit`` takes no weights, unless it is fitted on samples."""
    if resampling is None and not has_fit_parameter(estimator, "sample_weight"):
        raise ParameterError(
            f"{type(estimator).__name__} doesn't support sample_weight, so that it cannot be boosted by weights; "
            "use method='resample'."
        )


# --- any other member ------------------------------------------------------------------------------------------------


class RowWeights:
    """Weights of rows that are each a group of their own.

    Parameters
    ----------
    labels : ndarray of shape (n_present,)
        Class indices of the rows that take part.
    weights : ndarray of shape (n_present,) or None
        Their weights; None for equal ones.
    n_rows : int
        Number of all rows.
    present : ndarray of shape (n_present,) or None
        Numbers of the rows that take part; None for all.
    """

    def __init__(
        self, labels: IndexArray, weights: FloatArray | None, n_rows: int, present: NDArray[np.intp] | None = None
    ) -> None:
        start = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
        self.values: FloatArray = normalize_exactly(start)
        self._labels, self._places = labels.astype(np.intp), (0, np.empty(0, dtype=np.intp))
        self._n_rows, self._present = n_rows, present

    def weighted_sum(self, table: FloatArray | BoolArray) -> float:
        """Sum over the rows of weight times table[row, class of the row]."""
        return sum_over_rows(self.values, self._take_own(table))

    def multiply(self, factors: FloatArray) -> None:
        """Multiply by factors[row, class of the row] and normalise."""
        self.values = normalize_exactly(self.values * self._take_own(factors))

    def replace(self, weights: FloatArray) -> None:
        """Set the weights, given for all rows, and normalise."""
        own = weights if self._present is None else weights[self._present]
        self.values = normalize_exactly(own)

    def select(self, table: FloatArray | BoolArray) -> FloatArray:
        """table[row, class of the row] for all rows; 0 for absent rows."""
        return self.expand(self._take_own(table).astype(np.float64))

    def _take_own(self, table: FloatArray | BoolArray) -> AnyArray:
        """table[row, class of the row]; the places in the table are found once, which is quicker than two indices."""
        width, places = self._places
        if width != table.shape[1]:
            places = np.arange(len(self._labels)) * table.shape[1] + self._labels
            self._places = table.shape[1], places
        return table.take(places)

    def expand(self, values: FloatArray) -> FloatArray:
        """Values of the rows that take part as values of all rows; 0 for absent rows."""
        if self._present is None:
            return values
        expanded = np.zeros(self._n_rows)
        expanded[self._present] = values
        return expanded


class RowLearner(WeightedLearner):
    """A learner whose groups are single rows."""

    row_weights: RowWeights

    def weighted_sum(self, table: FloatArray | BoolArray) -> float:
        """Sum over the rows of weight times table[row, class of the row]."""
        return self.row_weights.weighted_sum(table)

    def multiply_weights(self, factors: FloatArray) -> None:
        """Multiply the weights by factors[row, class of the row] and normalise."""
        self.row_weights.multiply(factors)

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return self.row_weights.expand(self.row_weights.values)


class TreeLearner(TreeRounds, RowLearner):
    """Trees of this library of any depth, grown on shared bins with the weights or on a sample drawn by them.

    Parameters
    ----------
    estimator, dataset, weights, seed, n_jobs, kept
        As in `StumpLearner`.
    resampling : Resampling or None
        Samples in place of weights.
    blocks : BlockTrees or None, default=None
        Where the rows are, if they stay on the workers of a cluster.
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
        resampling: Resampling | None,
        blocks: BlockTrees | None = None,
    ) -> None:
        named = target_attributes(dataset.target)
        super().__init__(estimator, dataset, seed, kept, named, n_jobs=n_jobs, blocks=blocks)
        assert isinstance(dataset.target, ClassTarget)
        labels = dataset.target.labels[:, 0]
        self.row_weights = RowWeights(labels, weights, dataset.n_rows)
        self._resampling = resampling
        if blocks is not None:
            blocks.set_labels(labels, dataset.target.n_classes[0])

    def fit_member(self, member: int) -> GroupPredictions:
        """Grow a tree; every row is a group of its own."""
        probabilities = self.grow(self._dataset, self.row_weights.values, member, self._resampling, "mean")
        return GroupPredictions(probabilities.argmax(axis=1), probabilities)


class AnyLearner(EstimatorRounds, RowLearner):
    """Any classifier: fitted with ``sample_weight``, or on a sample of the rows drawn by the weights.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each round.
    X : array, CSR matrix or frame
        The table in the form that members read.
    dataset : Dataset
        With the target.
    weights : ndarray of shape (n_rows,) or None
        Weights of the first round; members are not given rows of weight zero.
    seed : int
        Seed of the ensemble.
    kept : BoostedMembers or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Samples in place of weights.
    needs_proba : bool
        Whether the algorithm needs probabilities.
    fit_params : mapping
        Other arguments of the members' `fit`.
    """

    def __init__(
        self,
        estimator: EstimatorLike,
        X: Any,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        *,
        kept: BoostedMembers | None,
        resampling: Resampling | None,
        needs_proba: bool,
        fit_params: Mapping[str, object],
    ) -> None:
        check_weight_support(estimator, resampling)
        if needs_proba and not hasattr(estimator, "predict_proba"):
            raise ParameterError(
                f"{type(estimator).__name__} has no predict_proba, which this algorithm needs; use algorithm='samme'."
            )
        target = dataset.target
        assert isinstance(target, ClassTarget)
        labels, present = target.labels[:, 0], None
        if weights is not None and not weights.all():
            present = np.flatnonzero(weights)
            labels, weights = labels[present], weights[present]
        own_params = select_entries(fit_params, present, dataset.n_rows)
        super().__init__(estimator, target.classes[0], seed, kept, fit_params=own_params)
        self.row_weights = RowWeights(labels, weights, dataset.n_rows, present)
        self._X, self._y = select_rows(X, present), self._classes.take(labels)
        self._resampling, self._needs_proba = resampling, needs_proba

    def fit_member(self, member: int) -> GroupPredictions:
        """Fit a classifier; every row is a group of its own."""
        fitted = self.add_estimator(self._X, self._y, self.row_weights.values, member, self._resampling)
        labels = predict_labels(fitted, self._X, self._classes)
        return GroupPredictions(
            labels, predict_all_classes(fitted, self._X, self._classes) if self._needs_proba else None
        )
