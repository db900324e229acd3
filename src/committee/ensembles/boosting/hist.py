"""Gradient boosting of trees on histograms [Friedman2001, ChenGuestrin2016], in scikit-learn's signature."""

from __future__ import annotations

from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.dataset import ClassTarget
from committee.ensembles.boosting.base import BaseBoosting, count_present
from committee.ensembles.boosting.params import BoostingJobs
from committee.ensembles.boosting.predictions import BoostedClasses, BoostedValues
from committee.ensembles.boosting.validation import HeldOut, Judge, Watch, hold_out_rows, read_held_out
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError
from committee.losses import LossFunction
from committee.params import (
    BoostingScoring,
    BoostingValueLoss,
    CategoricalFeatures,
    ClassWeight,
    EarlyStopping,
    FeatureShare,
    InteractionCst,
    L2Regularization,
    LearningRate,
    LogLoss,
    MaxBins,
    MaxDepth,
    MaxIter,
    MaxLeafNodes,
    MinSamplesLeafCount,
    MonotonicCst,
    NIterNoChange,
    QuantileLevel,
    RandomState,
    StoppingTol,
    Unseen,
    ValidationFraction,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.ensembles.boosting.rounds import Rounds
    from committee.typing import FloatArray

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]

_MANY_ROWS = 10_000
"""Rows above which ``early_stopping="auto"`` stops early, as in scikit-learn."""


class _Histograms(BaseBoosting):
    """What the two signatures share."""

    loss: str
    learning_rate: LearningRate
    max_iter: MaxIter
    max_leaf_nodes: MaxLeafNodes
    max_depth: MaxDepth
    min_samples_leaf: MinSamplesLeafCount
    l2_regularization: L2Regularization
    max_features: FeatureShare
    early_stopping: EarlyStopping
    scoring: BoostingScoring
    validation_fraction: ValidationFraction
    n_iter_no_change: NIterNoChange
    tol: StoppingTol

    n_iter_: int
    n_trees_per_iteration_: int
    do_early_stopping_: bool
    train_score_: FloatArray
    validation_score_: FloatArray
    is_categorical_: NDArray[np.bool_] | None

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: Any = None,
    ) -> Self:
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values to learn; a regressor takes several outputs.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        X_val, y_val, sample_weight_val : as X, y, sample_weight, optional
            Rows for early stopping, in place of a part of X.

        Returns
        -------
        self
        """
        self._validate_params()
        if (X_val is None) != (y_val is None) or (X_val is None and sample_weight_val is not None):
            raise DataError("X_val and y_val belong together: give both, or neither; sample_weight_val goes with them.")
        dataset = self._take_in(X, y, sample_weight, getattr(self, "class_weight", None))
        given = None if X_val is None else read_held_out(self, dataset, X_val, y_val, sample_weight_val)
        return self._boost(dataset, given)

    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on data that were taken in before; committees share one data set, and its bins, so.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`; class weights are in its weights already (`weigh_rows`).
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.

        Returns
        -------
        self
        """
        self._validate_params()
        return self._boost(dataset if weights is None else dataset.reweighted(weights), None)

    def _boost(self, dataset: Dataset, given: HeldOut | None) -> Self:
        loss, seed = self._choose_loss(dataset), self._resolve_seed()
        stops = count_present(dataset) > _MANY_ROWS if self.early_stopping == "auto" else bool(self.early_stopping)
        training, held_out = dataset, given
        if stops and given is None and self.validation_fraction is not None:
            training, held_out, _ = hold_out_rows(dataset, self.validation_fraction, seed)
        self._check_rounds("max_iter", int(self.max_iter), getattr(self, "n_iter_", 0))
        rounds = self._open_rounds(training, loss, seed)
        watch = self._open_watch(rounds, loss, held_out, seed) if stops else None
        with show_progress("Boosting", int(self.max_iter), verbose=int(self.verbose)) as on_progress:
            rounds.boost(int(self.max_iter), watch, on_progress)
        self._finalize(rounds, None, self._report(rounds, watch, seed))
        return self

    def _open_watch(self, rounds: Rounds, loss: LossFunction, held_out: HeldOut | None, seed: int) -> Watch:
        watch = Watch(Judge(self.scoring, loss), held_out, int(self.n_iter_no_change), float(self.tol), seed)
        earlier = (self.train_score_, self.validation_score_) if self._keeps_trees() else ()
        watch.open(rounds, *earlier)
        return watch

    def _report(self, rounds: Rounds, watch: Watch | None, seed: int) -> dict[str, Any]:
        categories = np.array([levels is not None for levels in rounds.dataset.schema.categories])
        return {
            "n_iter_": rounds.n_rounds,
            "n_trees_per_iteration_": rounds.trees_per_round,
            "do_early_stopping_": watch is not None,
            "train_score_": np.array([] if watch is None else watch.training_scores),
            "validation_score_": np.array([] if watch is None else watch.held_out_scores),
            "is_categorical_": categories if categories.any() else None,
            "_seed": seed,
        }

    def _tell_engine(self, dataset: Dataset) -> dict[str, Any]:
        return {
            "learning_rate": float(self.learning_rate),
            "max_leaf_nodes": 0 if self.max_leaf_nodes is None else int(self.max_leaf_nodes),
            "max_depth": None if self.max_depth is None else int(self.max_depth),
            "min_samples_leaf": int(self.min_samples_leaf),
            "reg_lambda": float(self.l2_regularization),
            "colsample_node": float(self.max_features),
        }


class HistGradientBoostingClassifier(BoostedClasses, _Histograms):
    """Gradient boosting for classes: trees on histograms that follow the gradient of the log-loss.

    The score of a row is f(x) = f_0 + ν Σ_m T_m(x). Each tree T_m is grown on the first and second derivatives g, h of
    the loss at the scores so far: a split must raise Σ G² / (H + λ) over its two sides, and a leaf says -G / (H + λ),
    with G, H sums over its rows and λ = ``l2_regularization`` [Friedman2001, ChenGuestrin2016]. Two classes have one
    score, the log of the odds; more have a score and a tree in each round for every class, which a softmax turns into
    probabilities. Steps of leaves are bounded, so that rare classes do not drive scores out of sight.

    Names, meanings and defaults are scikit-learn's. Missing values go to the side of a split where they serve best;
    categories are split by sets of levels. Sums of gradients are integers, so that the result is the same for any
    number of threads.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees of a round.
    do_early_stopping_ : bool
        Whether scores were watched.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Scores before the first and after each round, where these were watched; empty otherwise.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the gain over all splits.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which features are categories.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import HistGradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> HistGradientBoostingClassifier(max_iter=20).fit(X, y).score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        loss: LogLoss = "log_loss",
        *,
        learning_rate: LearningRate = 0.1,
        max_iter: MaxIter = 100,
        max_leaf_nodes: MaxLeafNodes = 31,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeafCount = 20,
        l2_regularization: L2Regularization = 0.0,
        max_features: FeatureShare = 1.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: WarmStart = False,
        early_stopping: EarlyStopping = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        n_iter_no_change: NIterNoChange = 10,
        tol: StoppingTol = 1e-7,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        class_weight: ClassWeight = None,
        unseen: Unseen = "missing",
        n_jobs: BoostingJobs = None,
    ) -> None:
        self._store_params(locals())

    def _choose_loss(self, dataset: Dataset) -> LossFunction:
        target = dataset.target
        assert isinstance(target, ClassTarget)
        n_classes = target.n_classes[0]
        return LossFunction("logistic") if n_classes == 2 else LossFunction("softmax", nan, n_classes)


class HistGradientBoostingRegressor(BoostedValues, _Histograms):
    """Gradient boosting for numbers: trees on histograms that follow the gradient of a loss.

    As `HistGradientBoostingClassifier`, for squared and absolute error, quantiles, Huber's loss, and deviances of
    Poisson, gamma and Tweedie, whose predictions are the exponential of the scores. Several outputs, and several levels
    of quantiles, get a tree each in every round.

    Attributes
    ----------
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees of a round.
    do_early_stopping_ : bool
        Whether scores were watched.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Scores before the first and after each round, where these were watched; empty otherwise.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in the gain over all splits.
    is_categorical_ : ndarray of bool of shape (n_features,) or None
        Which features are categories.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import HistGradientBoostingRegressor
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
        max_features: FeatureShare = 1.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: WarmStart = False,
        early_stopping: EarlyStopping = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        n_iter_no_change: NIterNoChange = 10,
        tol: StoppingTol = 1e-7,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        unseen: Unseen = "missing",
        n_jobs: BoostingJobs = None,
    ) -> None:
        self._store_params(locals())

    def _choose_loss(self, dataset: Dataset) -> LossFunction:
        if (self.quantile is None) == (self.loss == "quantile"):
            raise ParameterError(
                "The 'quantile' parameter of HistGradientBoostingRegressor goes with loss='quantile' and only with it; "
                f"got loss={self.loss!r} and quantile={self.quantile!r}."
            )
        return self._name_loss(self.loss, self.quantile, dataset)
