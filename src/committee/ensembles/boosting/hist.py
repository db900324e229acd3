"""Gradient boosting of trees on histograms [Friedman2001, ChenGuestrin2016], in scikit-learn's signature."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from committee.data.opening import opens_table
from committee.ensembles.boosting.base import BaseBoosting
from committee.ensembles.boosting.booster import InitialScores
from committee.ensembles.boosting.callbacks import Callbacks
from committee.ensembles.boosting.early_stopping import EarlyStopping
from committee.ensembles.boosting.engine_params import MOST_LEAVES
from committee.ensembles.boosting.objective import count_present, make_class_loss, make_value_loss
from committee.ensembles.boosting.params import (
    BoostingEngine,
    BoostingJobs,
    HistEarlyStopping,
    HistMaxBins,
    HistValueLoss,
)
from committee.ensembles.boosting.predictions import BoostedClassifierMixin, BoostedRegressorMixin
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.boosting.validation import read_validation_set, split_validation
from committee.ensembles.fit_callbacks import FitCallbacksMixin, FitInput
from committee.ensembles.progress import show_progress
from committee.exceptions import DataError, ParameterError
from committee.learners.tree_estimator import add_columns
from committee.learners.tree_params import count_samples
from committee.params import (
    BoostingScoring,
    CategoricalFeatures,
    ClassWeight,
    FeatureShare,
    InteractionCst,
    L2Regularization,
    LearningRate,
    LogLoss,
    MaxDepth,
    MaxIter,
    MaxLeafNodes,
    MinSamplesLeafCount,
    MonotonicCst,
    NIterNoChange,
    QuantileLevel,
    RandomState,
    StoppingTol,
    TextColumns,
    Unseen,
    ValidationFraction,
    Verbose,
    WarmStart,
)
from committee.value_checks import is_flag

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from committee.data import Dataset, Schema
    from committee.engines import BoostingParams
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.typing import BoolArray, FloatArray

__all__ = ["HistGradientBoostingClassifier", "HistGradientBoostingRegressor"]

_MANY_ROWS = 10_000
"""Rows above which ``early_stopping="auto"`` stops early, as in scikit-learn."""
_MOST_BINS = 255
"""The default of ``max_bins``, with which it does not limit the levels of categories."""


class BaseHistGradientBoosting(FitCallbacksMixin, BaseBoosting):
    """The fit that classifier and regressor share; it reads the parameters that both constructors have."""

    _first_training: ClassVar[int] = 0

    n_iter_: int
    n_trees_per_iteration_: int
    do_early_stopping_: bool
    train_score_: FloatArray
    validation_score_: FloatArray
    is_categorical_: BoolArray | None

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        X_val: Any = None,
        y_val: Any = None,
        sample_weight_val: ArrayLike | None = None,
    ) -> Self:
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Classes or values to learn, of one target or of several.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        X_val, y_val, sample_weight_val : as X, y, sample_weight, optional
            Rows for early stopping, in place of a part of X; not with ``early_stopping=False``.

        Returns
        -------
        self
        """
        self.validate_params()
        self._check_validation_arguments(X_val, y_val, sample_weight_val)
        dataset = self.take_in(X, y, sample_weight, getattr(self, "class_weight", None))
        validation = None if X_val is None else read_validation_set(self, dataset, X_val, y_val, sample_weight_val)
        return self._boost(dataset, validation, FitInput(X, y, sample_weight))

    def _check_validation_arguments(self, X_val: Any, y_val: Any, sample_weight_val: ArrayLike | None) -> None:
        together = "X_val and y_val belong together: give both, or neither; sample_weight_val goes with them."
        given = [name for name, value in (("X_val", X_val), ("y_val", y_val)) if value is not None]
        if len(given) == 1:
            missing = "y_val" if given == ["X_val"] else "X_val"
            raise DataError(f"{given[0]} is provided, but {missing} was not provided. {together}")
        if not given and sample_weight_val is not None:
            raise DataError(f"sample_weight_val is provided, but X_val was not provided. {together}")
        if given and is_flag(self.early_stopping, False):
            raise DataError(
                "X_val and y_val are passed to fit while at the same time early_stopping is False. They are the rows "
                "that early stopping looks at: set 'early_stopping' to True or 'auto', or leave them out."
            )

    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on a data set that was read before; ensembles share one data set and its bins in this way.

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
        self.validate_params()
        return self._boost(dataset if weights is None else dataset.reweighted(weights), None)

    def _boost(self, dataset: Dataset, validation: ValidationSet | None, given: FitInput | None = None) -> Self:
        _check_cardinality(dataset.schema, int(self.max_bins))
        loss, seed, training = self._make_loss(dataset), self._resolve_seed(), dataset
        stops = bool(self.early_stopping)
        if self.early_stopping == "auto":
            stops = validation is not None or count_present(dataset) > _MANY_ROWS
        if stops and validation is None and self.validation_fraction is not None:
            training, validation, _ = split_validation(dataset, self.validation_fraction, seed)
        self._check_rounds("max_iter", int(self.max_iter), getattr(self, "n_iter_", 0))
        booster = self._make_booster(training, loss, seed, InitialScores())
        stopping = self._make_early_stopping(loss, validation, seed) if stops else None

        def list_partial(_: int) -> dict[str, Any]:
            attributes = self._list_attributes(booster, stopping, seed)
            return add_columns(self._list_fitted(booster, None, attributes), dataset.schema)

        last, verbose, n_kept = int(self.max_iter), int(self.verbose), booster.n_rounds
        partial_fit = None if given is None else list_partial
        with show_progress(
            "Boosting", last, verbose=verbose, estimator=self, done=n_kept, given=given, partial_fit=partial_fit
        ) as on_progress:
            booster.boost(last, Callbacks(early_stopping=stopping).collect(on_progress))
            self._finalize(booster, None, self._list_attributes(booster, stopping, seed))
        return self

    def _list_attributes(self, booster: Booster, stopping: EarlyStopping | None, seed: int) -> dict[str, Any]:
        """Fitted attributes by name."""
        categories = booster.dataset.schema.are_categories
        return {
            "n_iter_": booster.n_rounds,
            "n_trees_per_iteration_": booster.trees_per_round,
            "do_early_stopping_": stopping is not None,
            "train_score_": np.array([] if stopping is None else stopping.training_scores),
            "validation_score_": np.array([] if stopping is None else stopping.validation_scores),
            "is_categorical_": categories if categories.any() else None,
            "_seed": seed,
        }

    def _make_early_stopping(self, loss: BoostingLoss, validation: ValidationSet | None, seed: int) -> EarlyStopping:
        scorer, patience, tol = BoostingScorer(self.scoring, loss), int(self.n_iter_no_change), float(self.tol)
        earlier = (self.train_score_, self.validation_score_) if self._continues() else ()
        return EarlyStopping(scorer, validation, patience, tol, seed, *earlier)

    def _set_engine_params(self, params: BoostingParams, dataset: Dataset, whole: Dataset) -> None:
        params.learning_rate = float(self.learning_rate)
        params.max_leaf_nodes = 0 if self.max_leaf_nodes is None else min(int(self.max_leaf_nodes), MOST_LEAVES)
        if self.max_depth is not None:
            params.max_depth = min(int(self.max_depth), params.max_depth)
        params.min_samples_leaf = count_samples(int(self.min_samples_leaf), dataset.n_rows)
        params.reg_lambda = float(self.l2_regularization)
        params.colsample_node = float(self.max_features)


def _check_cardinality(schema: Schema, max_bins: int) -> None:
    """Refuse categories with more levels than a limit that the user has set, as scikit-learn does."""
    large = np.flatnonzero(schema.n_levels > max_bins)
    if max_bins == _MOST_BINS or not len(large):
        return
    # Dates, lists and texts have no levels, so that a feature with levels is a column of the user's table.
    owner = int(large[0] if schema.inputs is None else schema.inputs.owners[large[0]])
    where = f"at index {owner}" if schema.input_names is None else repr(schema.input_names[owner])
    raise DataError(
        f"Categorical feature {where} is expected to have a cardinality <= {max_bins} but actually has a cardinality "
        f"of {schema.n_levels[large[0]]}. An explicit 'max_bins' limits the levels of categories too; with "
        f"max_bins={_MOST_BINS}, the default, a category may have any number of levels."
    )


class HistGradientBoostingClassifier(BoostedClassifierMixin, BaseHistGradientBoosting):
    """Gradient boosting for classes: trees on histograms that follow the gradient of the log-loss.

    The score of a row is f(x) = f_0 + ν Σ_m T_m(x). Each tree T_m is grown on the first and second derivatives g, h of
    the loss at the scores so far: a split must raise Σ G² / (H + λ) over its two sides, and a leaf's value is
    -G / (H + λ), with G, H sums over its rows and λ = ``l2_regularization`` [Friedman2001, ChenGuestrin2016]. Two
    classes have one score, the log-odds; with more, every class has a score and a tree in each round, and a softmax
    turns scores into probabilities. Leaf values are bounded, so that rare classes do not make scores diverge.

    Names, meanings and defaults are scikit-learn's. Missing values go to the side of a split with the larger gain;
    categories are split by sets of categories. Sums of gradients are integers, so that the result is the same for any
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
        Whether early stopping was on.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Scores before the first and after each round, with early stopping; empty otherwise.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
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
        max_bins: HistMaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: WarmStart = False,
        early_stopping: HistEarlyStopping = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        n_iter_no_change: NIterNoChange = 10,
        tol: StoppingTol = 1e-7,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        class_weight: ClassWeight = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        n_jobs: BoostingJobs = None,
        engine: BoostingEngine = "cpu",
    ) -> None:
        self._store_params(locals())

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        return make_class_loss(self.loss, dataset)


class HistGradientBoostingRegressor(BoostedRegressorMixin, BaseHistGradientBoosting):
    """Gradient boosting for numbers: trees on histograms that follow the gradient of a loss.

    As `HistGradientBoostingClassifier`, for squared and absolute error, quantiles, Huber's loss, and deviances of
    Poisson, gamma and Tweedie, whose predictions are the exponential of the scores. With several outputs, or several
    levels of quantiles, a round grows a tree for each.

    Attributes
    ----------
    n_iter_ : int
        Rounds.
    n_trees_per_iteration_ : int
        Trees of a round.
    do_early_stopping_ : bool
        Whether early stopping was on.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Scores before the first and after each round, with early stopping; empty otherwise.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
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
        loss: HistValueLoss = "squared_error",
        *,
        quantile: QuantileLevel = None,
        learning_rate: LearningRate = 0.1,
        max_iter: MaxIter = 100,
        max_leaf_nodes: MaxLeafNodes = 31,
        max_depth: MaxDepth = None,
        min_samples_leaf: MinSamplesLeafCount = 20,
        l2_regularization: L2Regularization = 0.0,
        max_features: FeatureShare = 1.0,
        max_bins: HistMaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: WarmStart = False,
        early_stopping: HistEarlyStopping = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        n_iter_no_change: NIterNoChange = 10,
        tol: StoppingTol = 1e-7,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        n_jobs: BoostingJobs = None,
        engine: BoostingEngine = "cpu",
    ) -> None:
        self._store_params(locals())

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        if (self.quantile is None) == (self.loss == "quantile"):
            raise ParameterError(
                "The 'quantile' parameter of HistGradientBoostingRegressor goes with loss='quantile' and only with it; "
                f"got loss={self.loss!r} and quantile={self.quantile!r}."
            )
        return make_value_loss(self.loss, self.quantile, dataset)
