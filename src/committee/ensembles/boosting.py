"""Gradient boosting of trees on histograms [Friedman2001, ChenGuestrin2016], in scikit-learn's signature."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.ensembles.boosting_base import BaseBoosting
from committee.learners.answers import ClassAnswers, ValueAnswers
from committee.losses import LossFunction
from committee.params import (
    BoostingValueLoss,
    CategoricalFeatures,
    ClassWeight,
    InteractionCst,
    L2Regularization,
    LearningRate,
    MaxBins,
    MaxDepth,
    MaxIter,
    MaxLeafNodes,
    MinSamplesLeafCount,
    MonotonicCst,
    NJobs,
    QuantileLevel,
    RandomState,
    Unseen,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]


class _Histograms(BaseBoosting):
    """What the two signatures share."""

    learning_rate: LearningRate
    max_iter: MaxIter
    max_leaf_nodes: MaxLeafNodes
    max_depth: MaxDepth
    min_samples_leaf: MinSamplesLeafCount
    l2_regularization: L2Regularization

    def _count_rounds(self) -> int:
        return int(self.max_iter)

    def _tell_engine(self) -> dict[str, Any]:
        return {
            "learning_rate": float(self.learning_rate),
            "max_leaf_nodes": 0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            "max_depth": None if self.max_depth is None else int(self.max_depth),
            "min_samples_leaf": int(self.min_samples_leaf),
            "reg_lambda": float(self.l2_regularization),
        }


class HistGradientBoostingClassifier(_Histograms, ClassAnswers):
    """Gradient boosting for classes: trees that follow the gradient of the log-loss.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee.ensembles.boosting import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> HistGradientBoostingClassifier(max_iter=20).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        learning_rate: LearningRate = 0.1,
        max_iter: MaxIter = 100,
        max_leaf_nodes: MaxLeafNodes = 31,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeafCount = 20,
        l2_regularization: L2Regularization = 0.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        unseen: Unseen = "missing",
        class_weight: ClassWeight = None,
        random_state: RandomState = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._keep_params(locals())

    def _choose_loss(self, dataset: Dataset) -> LossFunction:
        n_classes = dataset.target.n_classes[0]  # type: ignore[union-attr]
        return LossFunction("logistic") if n_classes == 2 else LossFunction("softmax", nan, n_classes)

    def decision_function(self, X: Any) -> FloatArray:
        """Scores: the log of the odds of the second class, or one score for each of several classes.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        scores = self._raw_predict(X)
        return scores[:, 0] if self._loss.n_scores == 1 else scores

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        means = self._predict_means(X)
        return np.column_stack([1.0 - means[:, 0], means[:, 0]]) if self._loss.n_scores == 1 else means

    def predict(self, X: Any) -> NDArray[Any]:
        """Class of each row: the most probable one, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._raw_predict(X)
        best = (scores[:, 0] > 0.0).astype(np.intp) if self._loss.n_scores == 1 else scores.argmax(axis=1)
        return self.classes_.take(best)  # type: ignore[no-any-return]


class HistGradientBoostingRegressor(_Histograms, ValueAnswers):
    """Gradient boosting for numbers: trees that follow the gradient of a loss.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee.ensembles.boosting import HistGradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> HistGradientBoostingRegressor(max_iter=20).fit(X, y).score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        loss: BoostingValueLoss = "squared_error",
        *,
        quantile: QuantileLevel = None,
        learning_rate: LearningRate = 0.1,
        max_iter: MaxIter = 100,
        max_leaf_nodes: MaxLeafNodes = 31,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeafCount = 20,
        l2_regularization: L2Regularization = 0.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        unseen: Unseen = "missing",
        random_state: RandomState = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._keep_params(locals())

    def _choose_loss(self, dataset: Dataset) -> LossFunction:
        parameter = nan if self.quantile is None else float(self.quantile)
        return LossFunction(self.loss, parameter, dataset.target.n_outputs)  # type: ignore[union-attr]

    def predict(self, X: Any) -> FloatArray:
        """Value of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        means = self._predict_means(X)
        return means[:, 0] if self.n_outputs_ == 1 else means
