"""Learners whose members are regressors: of Gentle AdaBoost, LogitBoost and AdaBoost for regression."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ValueTarget
from committee.data.rows import count_rows, select_rows
from committee.ensembles.adaboost.learners import EstimatorRounds, MemberLearner, TreeRounds, check_weight_support
from committee.ensembles.member_routing import select_entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from committee.data import Dataset
    from committee.engines.block_trees import BlockTrees
    from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees
    from committee.ensembles.adaboost.resampling import Resampling
    from committee.learners.tree_base import BaseTree
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["AnyRegressionLearner", "RegressionLearner", "TreeRegressionLearner"]


class RegressionLearner(MemberLearner):
    """Fits regressors of any response with any weights."""

    @abstractmethod
    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:
        """Fit a regressor; its predictions for all training rows."""


class TreeRegressionLearner(TreeRounds, RegressionLearner):
    """Regression trees of this library, grown on shared bins.

    Parameters
    ----------
    estimator : BaseTree
        A regression tree.
    dataset : Dataset
        The training rows, whose bins are made once.
    seed : int
        Seed of the ensemble.
    n_jobs : int or None
        Number of threads.
    kept : BoostedTrees or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Samples in place of weights.
    n_in_round : int, default=1
        Members in a round.
    blocks : BlockTrees or None, default=None
        Where the rows are, if they stay on the workers of a cluster.
    """

    def __init__(
        self,
        estimator: BaseTree,
        dataset: Dataset,
        seed: int,
        *,
        n_jobs: int | None,
        kept: BoostedTrees | None,
        resampling: Resampling | None,
        n_in_round: int = 1,
        blocks: BlockTrees | None = None,
    ) -> None:
        super().__init__(estimator, dataset, seed, kept, {"n_outputs_": 1}, n_in_round, n_jobs, blocks)
        self._resampling = resampling
        self._response: FloatArray | None = None

    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:
        """Grow a tree; its predictions for all training rows."""
        if response is not self._response:  # AdaBoost for regression has the same in every round
            target = ValueTarget(np.ascontiguousarray(response[:, None]), True)
            self._response, self._dataset = response, replace(self._dataset, target=target)
            if self._blocks is not None:
                self._blocks.set_values(response)
        return self.grow(self._dataset, weights, member, self._resampling, "sum")[:, 0]


class AnyRegressionLearner(EstimatorRounds, RegressionLearner):
    """Any regressor: fitted with ``sample_weight``, or on a sample of the rows drawn by the weights.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned for each member.
    X : array, CSR matrix or frame
        The table in the form that members read.
    weights : ndarray of shape (n_rows,) or None
        Members are not given rows of weight zero.
    classes : ndarray
        Classes of the ensemble; empty for regression.
    seed : int
        Seed of the ensemble.
    kept : BoostedMembers or None
        Members of an earlier fit that are kept.
    resampling : Resampling or None
        Samples in place of weights.
    fit_params : mapping
        Other arguments of the members' `fit`.
    n_in_round : int, default=1
        Members in a round.
    """

    def __init__(
        self,
        estimator: EstimatorLike,
        X: Any,
        weights: FloatArray | None,
        classes: AnyArray,
        seed: int,
        *,
        kept: BoostedMembers | None,
        resampling: Resampling | None,
        fit_params: Mapping[str, object],
        n_in_round: int = 1,
    ) -> None:
        check_weight_support(estimator, resampling)
        self._present = None if weights is None or weights.all() else np.flatnonzero(weights)
        own_params = select_entries(fit_params, self._present, count_rows(X))
        super().__init__(estimator, classes, seed, kept, n_in_round, own_params)
        self._X, self._present_X = X, select_rows(X, self._present)
        self._resampling = resampling

    def fit_member(self, member: int, response: FloatArray, weights: FloatArray) -> FloatArray:
        """Fit a regressor; its predictions for all training rows."""
        if self._present is not None:
            response, weights = response[self._present], weights[self._present]
        fitted = self.add_estimator(self._present_X, response, weights, member, self._resampling)
        return np.asarray(fitted.predict(self._X), dtype=np.float64).reshape(-1)
