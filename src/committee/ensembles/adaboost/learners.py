"""Who learns in a round of AdaBoost: stumps on sorted rows, trees on shared bins, or any estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from committee.base import resolve_jobs, seed_estimator
from committee.data.rows import select_rows
from committee.engines import get_engine
from committee.ensembles.adaboost.algorithms import Answers
from committee.ensembles.adaboost.members import (
    BoostedMembers,
    BoostedTrees,
    Resampling,
    number_votes,
    spread_shares,
)
from committee.exceptions import ParameterError
from committee.learners.tree_base import BaseTree
from committee.learners.tree_params import TreeSettings, name_criterion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["AnyLearner", "Learner", "StumpLearner", "TreeLearner"]


class Learner(ABC):
    """Fits the member of each round on the weights as they are, which it keeps.

    The order of a round: `fit_member`, then `weigh` any number of tables about what it answers, then either
    `drop_member` or `multiply`.
    """

    @abstractmethod
    def fit_member(self, member: int) -> Answers:
        """Fit the member of a round; what it says of the training rows."""

    @abstractmethod
    def weigh(self, table: NDArray[Any]) -> float:
        """Sum over the rows of weight times table[group of the row, class of the row]."""

    @abstractmethod
    def multiply(self, factors: FloatArray) -> None:
        """Multiply the weights of the rows by factors[group, class] and make their sum 1 again."""

    @abstractmethod
    def drop_member(self) -> None:
        """Give up the member that was fitted last."""

    @property
    @abstractmethod
    def weights(self) -> FloatArray:
        """Weights of all rows; their sum is 1."""

    @abstractmethod
    def finalize(self) -> BoostedTrees | BoostedMembers:
        """The fitted members."""


class TreeRounds(Learner):
    """What all learners of trees share: arenas of one tree each, put together at the end."""

    def __init__(self, estimator: BaseTree, dataset: Dataset, seed: int, kept: BoostedTrees | None) -> None:
        self._estimator, self._dataset, self._seed = estimator, dataset, seed
        self._trees: list[Any] = [] if kept is None else [kept.trees]
        self._importances: list[FloatArray] = [] if kept is None else [kept.importances]

    def drop_member(self) -> None:
        """Give up the tree that was grown last."""
        self._trees.pop()
        self._importances.pop()

    def last_member(self) -> BoostedTrees:
        """The tree that was grown last, as members of its own."""
        return self._hold(self._trees[-1], self._importances[-1])

    def finalize(self) -> BoostedTrees:
        """All trees in one arena."""
        return self._join(self._trees, self._importances)

    def _join(self, trees: list[Any], importances: list[FloatArray]) -> BoostedTrees:
        return self._hold(get_engine().concatenate_trees(trees), np.concatenate(importances))

    def _hold(self, trees: Any, importances: FloatArray) -> BoostedTrees:
        named = self._estimator._target_attributes(self._dataset.target)
        return BoostedTrees(self._estimator, trees, importances, self._dataset.schema, named, self._seed)


class StumpLearner(TreeRounds):
    """Stumps: the weights live in the engine, which touches only the rows whose weight changes.

    Parameters
    ----------
    estimator : BaseTree
        A stump; see `is_plain_stump`.
    dataset : Dataset
        The table, whose bins are made once.
    weights : ndarray of shape (n_rows,) or None
        The first round's; rows of weight zero are absent.
    seed : int
        The ensemble's; stumps themselves draw nothing.
    n_jobs : int or None
        Threads.
    kept : BoostedTrees or None
        Members of an earlier fit that are kept.
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
    ) -> None:
        super().__init__(estimator, dataset, seed, kept)
        jobs, settings = resolve_jobs(n_jobs), TreeSettings.of(estimator, **estimator._fixed)
        bins = dataset.binned(estimator.max_bins, jobs)
        presort = dataset.presorted(jobs) if settings.exact else None
        labels, n_classes, _ = estimator._target_arrays(dataset.target)
        criterion = name_criterion(settings.criterion)
        self._trainer = get_engine().StumpTrainer(bins, presort, labels[:, 0], n_classes[0], weights, criterion, jobs)
        self._leaf_shares: FloatArray

    def fit_member(self, member: int) -> Answers:
        """The groups are the leaves."""
        tree, importances, self._leaf_shares = self._trainer.grow()
        self._trees.append(tree)
        self._importances.append(importances[None])
        own = self._leaf_shares / self._leaf_shares.sum(axis=1, keepdims=True)
        return Answers(self._leaf_shares.argmax(axis=1), own)

    def weigh(self, table: NDArray[Any]) -> float:
        """From the class weights of the leaves; no row is looked at."""
        return float((self._leaf_shares * table).sum())

    def multiply(self, factors: FloatArray) -> None:
        """In the engine."""
        self._trainer.multiply(factors)

    @property
    def weights(self) -> FloatArray:
        """Copied out of the engine."""
        return self._trainer.weights  # type: ignore[no-any-return]


class RowWeights:
    """Weights of rows where each row is answered by itself."""

    def __init__(self, labels: NDArray[Any], weights: FloatArray | None) -> None:
        start = np.ones(len(labels)) if weights is None else weights.astype(np.float64)
        self.values: FloatArray = start / start.sum()
        self._labels, self._each = labels.astype(np.intp), np.arange(len(labels))

    def weigh(self, table: NDArray[Any]) -> float:
        """Sum of weight times table entry."""
        return float((self.values * table[self._each, self._labels]).sum())

    def pick(self, table: NDArray[Any]) -> NDArray[Any]:
        """The entry of each row."""
        return table[self._each, self._labels]

    def multiply(self, factors: FloatArray) -> None:
        """Multiply and make the sum 1 again."""
        raised = self.values * factors[self._each, self._labels]
        self.values = raised / raised.sum()


class TreeLearner(TreeRounds):
    """Trees of this library of any depth, grown on shared bins with the weights of the round or a sample by them.

    Parameters
    ----------
    estimator, dataset, weights, seed, n_jobs, kept
        As in `StumpLearner`.
    resampling : Resampling or None
        Whether each round draws a sample by the weights.
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
    ) -> None:
        super().__init__(estimator, dataset, seed, kept)
        assert dataset.target is not None
        self._rows = RowWeights(dataset.target.labels[:, 0], weights)  # type: ignore[union-attr]
        self._resampling, self._n_jobs = resampling, n_jobs
        self._table = dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.tocsr()

    def fit_member(self, member: int) -> Answers:
        """Every row is a group of its own."""
        weights = self._rows.values
        if self._resampling is not None:
            weights = self._resampling.draw_counts(weights, member).astype(np.float64)
        tree = clone(self._estimator).fit_dataset(self._dataset, weights, seed=self._seed, tree=member)
        self._trees.append(tree._trees)
        self._importances.append(tree._importances[None])
        shares = BoostedTrees._predict(tree._trees, self._table, "mean", np.ones(1), range(1), self._n_jobs)
        return Answers(shares.argmax(axis=1), shares)

    def weigh(self, table: NDArray[Any]) -> float:
        """Over the rows."""
        return self._rows.weigh(table)

    def multiply(self, factors: FloatArray) -> None:
        """Over the rows."""
        self._rows.multiply(factors)

    def reweight(self, weights: FloatArray) -> None:
        """Other weights for all rows; their sum is made 1."""
        self._rows.values = weights / weights.sum()

    def pick(self, table: NDArray[Any]) -> NDArray[Any]:
        """What a table says of each row."""
        return self._rows.pick(table)

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return self._rows.values


class AnyLearner(Learner):
    """Estimators of any kind: `fit` with sample_weight, or a sample of the rows drawn by the weights.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each round.
    X : array, CSR matrix or frame
        The table as members read it.
    dataset : Dataset
        With the target.
    weights : ndarray of shape (n_rows,) or None
        The first round's; members never see rows of weight zero.
    seed : int
        The ensemble's.
    kept : BoostedMembers or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Whether each round draws a sample by the weights.
    needs_shares : bool
        Whether probabilities are asked for.
    """

    def __init__(
        self,
        estimator: Any,
        X: Any,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        *,
        kept: BoostedMembers | None,
        resampling: Resampling | None,
        needs_shares: bool,
    ) -> None:
        if resampling is None and not has_fit_parameter(estimator, "sample_weight"):
            raise ParameterError(
                f"{type(estimator).__name__} doesn't support sample_weight, so that it cannot be boosted by weights; "
                "use method='resample'."
            )
        if needs_shares and not hasattr(estimator, "predict_proba"):
            raise ParameterError(
                f"{type(estimator).__name__} has no predict_proba, which this algorithm needs; use algorithm='samme'."
            )
        target: Any = dataset.target
        self._present = None if weights is None or weights.all() else np.flatnonzero(weights)
        self._n_rows = dataset.n_rows
        labels = target.labels[:, 0] if self._present is None else target.labels[self._present, 0]
        self._X = select_rows(X, self._present)
        self._classes = target.classes[0]
        self._y = self._classes.take(labels)
        self._rows = RowWeights(labels, weights if self._present is None else weights[self._present])  # type: ignore[index]
        self._estimator, self._seed, self._resampling, self._needs_shares = estimator, seed, resampling, needs_shares
        self._estimators = [] if kept is None else list(kept.estimators)

    def fit_member(self, member: int) -> Answers:
        """Every row is a group of its own."""
        own = seed_estimator(clone(self._estimator), self._seed, member)
        if self._resampling is None:
            own.fit(self._X, self._y, sample_weight=self._rows.values)
        else:
            counts = self._resampling.draw_counts(self._rows.values, member)
            rows = np.repeat(np.arange(len(counts)), counts)
            own.fit(select_rows(self._X, rows), self._y[rows])
        self._estimators.append(own)
        votes = number_votes(own, self._X, self._classes)
        return Answers(votes, spread_shares(own, self._X, self._classes) if self._needs_shares else None)

    def weigh(self, table: NDArray[Any]) -> float:
        """Over the rows."""
        return self._rows.weigh(table)

    def multiply(self, factors: FloatArray) -> None:
        """Over the rows."""
        self._rows.multiply(factors)

    def drop_member(self) -> None:
        """Give up the member that was fitted last."""
        self._estimators.pop()

    def last_member(self) -> BoostedMembers:
        """The member that was fitted last, as members of their own."""
        return BoostedMembers(self._estimators[-1:], self._classes)

    def reweight(self, weights: FloatArray) -> None:
        """Other weights for all rows; their sum is made 1."""
        own = weights if self._present is None else weights[self._present]
        self._rows.values = own / own.sum()

    def pick(self, table: NDArray[Any]) -> NDArray[Any]:
        """What a table says of each row; 0 for rows that are absent."""
        return self._spread(self._rows.pick(table))

    @property
    def weights(self) -> FloatArray:
        """Weights of all rows."""
        return self._spread(self._rows.values)

    def _spread(self, values: NDArray[Any]) -> NDArray[Any]:
        if self._present is None:
            return values
        spread = np.zeros(self._n_rows, dtype=values.dtype)
        spread[self._present] = values
        return spread

    def finalize(self) -> BoostedMembers:
        """The fitted members."""
        return BoostedMembers(self._estimators, self._classes)
