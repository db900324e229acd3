"""Gradient boosting with the options of the field [Friedman2001, Friedman2002, ChenGuestrin2016]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.ensembles.boosting.continued import ContinuedBoosting
from committee.ensembles.boosting.objective import count_present_classes, make_class_loss, make_value_loss
from committee.ensembles.boosting.params import (
    AutoDefaults,
    AutoGrowPolicy,
    AutoLearningRate,
    AutoMaxDepth,
    AutoMaxFeatures,
    AutoMaxLeafNodes,
    AutoMinSamplesLeaf,
    AutoTol,
    BoostingEngine,
    BoostingForm,
    BoostingJobs,
    BoostingRounds,
    BoostingSplitter,
    ClassInit,
    ClassLoss,
    ColsampleByLevel,
    ColsampleByNode,
    ColsampleByTree,
    DroppedCriterion,
    DropRate,
    EarlyStoppingMode,
    GammaSplit,
    HuberAlpha,
    Init,
    MinChildWeight,
    MultiStrategy,
    OtherRate,
    RefitAllRows,
    RegAlpha,
    RegLambda,
    SkipDrop,
    StartScore,
    StoppingFolds,
    StoppingPatience,
    Subsample,
    TopRate,
    ValueLoss,
)
from committee.ensembles.boosting.predictions import BoostedClassifierMixin, BoostedRegressorMixin
from committee.exceptions import DataError, ParameterError
from committee.losses import describe_loss
from committee.params import (
    BoostingScoring,
    CategoricalFeatures,
    CcpAlpha,
    ClassWeight,
    InteractionCst,
    MaxBins,
    MinImpurityDecrease,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    MonotonicCst,
    RandomState,
    TextColumns,
    Unseen,
    ValidationFraction,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.boosting.objective import BoostingLoss

__all__ = ["GradientBoostingClassifier", "GradientBoostingRegressor"]


class GradientBoostingClassifier(BoostedClassifierMixin, ContinuedBoosting):
    """Gradient boosting for classes, with defaults that need no tuning.

    The score of a row is f(x) = f_0 + ν Σ_m T_m(x). Each tree T_m is grown on the first and second derivatives g, h of
    the loss at the scores so far: a split must raise ½ Σ G² / (H + λ) over its two sides by more than γ, and a
    leaf's value is -G / (H + λ), with G, H sums over its rows and λ = ``reg_lambda`` [Friedman2001, ChenGuestrin2016].
    With ``subsample`` below 1 each round draws its rows anew, and those left out measure its improvement
    [Friedman2002]. With more than two classes a round grows a tree for each, or one tree for all of them
    (``multi_strategy``). With several targets (labels, or targets of several classes) the loss is the sum of theirs,
    and the trees of all scores of a round are grown on one set of bins; ``predict_proba`` is then a list, as that of
    forests.

    Left alone, a fit chooses the number of rounds on rows held out (on folds, where rows are few) and is then repeated
    on all rows; each round draws 0.8 of the rows; the learning rate and the features that each node draws, at most half
    of them, depend on the number of rows. ``benchmarks/boosting_defaults.py`` shows how these values were tuned, by
    cross-validation on the training parts of public data sets. With a number for ``n_estimators`` that many rounds are
    grown, without early stopping unless ``n_iter_no_change`` or ``early_stopping`` asks for it, and whatever else is
    left at ``'auto'`` has scikit-learn's value. The parameter ``defaults`` chooses between the two.

    Attributes
    ----------
    classes_ : ndarray or list of ndarray
        The classes, sorted; with several targets, those of each.
    n_estimators_ : int
        Rounds of the model.
    best_iteration_ : int
        The last of them, counted from zero.
    learning_rate_ : float
        The factor that was used.
    train_score_ : ndarray
        Loss of the training rows after each round (with rows held out, of those not held out); squared errors and
        binary deviances are not halved, as in scikit-learn.
    validation_score_ : ndarray
        Score of the rows held out before the first and after each round, larger for better.
    evals_result_ : dict
        For each table of ``eval_set`` and each metric the values after each round.
    oob_improvement_, oob_scores_ : ndarray
        With ``subsample`` below 1, but for mixed growth: by how much each round lowers the loss of its out-of-bag
        rows, and their loss after it.
    oob_score_ : float
        The last of ``oob_scores_``. Rounds of a warm start that had no such rows count as zero.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
    estimators_ : table of trees
        ``estimators_[round, score]`` is a regression tree whose leaf values are added to a score. The ensemble itself
        has a length, can be indexed and iterated by rounds.
    max_features_ : int
        Number of features that are drawn at each node.
    init_ : estimator, "zero" or None
        What scores start from besides a constant.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import GradientBoostingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = GradientBoostingClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        loss: ClassLoss = "log_loss",
        learning_rate: AutoLearningRate = "auto",
        n_estimators: BoostingRounds = "auto",
        subsample: Subsample = "auto",
        max_leaf_nodes: AutoMaxLeafNodes = "auto",
        max_depth: AutoMaxDepth = "auto",
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: AutoMinSamplesLeaf = "auto",
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        ccp_alpha: CcpAlpha = 0.0,
        max_features: AutoMaxFeatures = "auto",
        init: ClassInit = None,
        base_score: StartScore = None,
        growth: AutoGrowPolicy = "auto",
        splitter: BoostingSplitter = "best",
        boosting: BoostingForm = "plain",
        multi_strategy: MultiStrategy = "one_output_per_tree",
        drop_rate: DropRate = 0.1,
        skip_drop: SkipDrop = 0.5,
        top_rate: TopRate = 0.2,
        other_rate: OtherRate = 0.1,
        reg_alpha: RegAlpha = 0.0,
        reg_lambda: RegLambda = "auto",
        gamma: GammaSplit = 0.0,
        min_child_weight: MinChildWeight = "auto",
        colsample_bytree: ColsampleByTree = 1.0,
        colsample_bylevel: ColsampleByLevel = 1.0,
        colsample_bynode: ColsampleByNode = 1.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        early_stopping: EarlyStoppingMode = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        stopping_folds: StoppingFolds = "auto",
        n_iter_no_change: StoppingPatience = "auto",
        tol: AutoTol = "auto",
        refit: RefitAllRows = "auto",
        class_weight: ClassWeight = None,
        warm_start: WarmStart = False,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: BoostingJobs = None,
        engine: BoostingEngine = "cpu",
        defaults: AutoDefaults = "auto",
        criterion: DroppedCriterion = "deprecated",
    ) -> None:
        self._store_params(locals())

    def _check_target(self, dataset: Dataset) -> None:
        # As scikit-learn's. Where an ensemble fits it on folds of a data set (`fit_dataset`), one class is learnt.
        n_classes, target = count_present_classes(dataset), dataset.target
        if target is not None and target.n_outputs > 1 and not (self.init is None or isinstance(self.init, str)):
            raise ParameterError(f"An initial estimator ('init') takes one target; y has {target.n_outputs}.")
        if n_classes < 2:
            raise DataError(
                f"y contains {n_classes} class after sample_weight trimmed classes with zero weights, while a minimum "
                "of 2 classes are required. HistGradientBoostingClassifier and the forests learn a single class."
            )

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        return make_class_loss(self.loss, dataset)


class GradientBoostingRegressor(BoostedRegressorMixin, ContinuedBoosting):
    """Gradient boosting for numbers, with defaults that need no tuning.

    As `GradientBoostingClassifier`, for squared and absolute error, quantiles, Huber's loss, deviances of Poisson,
    gamma and Tweedie, and losses of your own. With several outputs, or several levels of quantiles, a round grows a
    tree for each, or one tree for all of them (``multi_strategy``).

    Attributes
    ----------
    n_estimators_ : int
        Rounds of the model.
    best_iteration_ : int
        The last of them, counted from zero.
    learning_rate_ : float
        The factor that was used.
    train_score_ : ndarray
        Loss of the training rows after each round (with rows held out, of those not held out); squared errors and
        binary deviances are not halved, as in scikit-learn.
    validation_score_ : ndarray
        Score of the rows held out before the first and after each round, larger for better.
    evals_result_ : dict
        For each table of ``eval_set`` and each metric the values after each round.
    oob_improvement_, oob_scores_ : ndarray
        With ``subsample`` below 1, but for mixed growth: by how much each round lowers the loss of its out-of-bag
        rows, and their loss after it.
    oob_score_ : float
        The last of ``oob_scores_``. Rounds of a warm start that had no such rows count as zero.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
    estimators_ : table of trees
        ``estimators_[round, score]`` is a regression tree whose leaf values are added to a score. The ensemble itself
        has a length, can be indexed and iterated by rounds.
    max_features_ : int
        Number of features that are drawn at each node.
    init_ : estimator, "zero" or None
        What scores start from besides a constant.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import GradientBoostingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = GradientBoostingRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.5
    True
    """

    def __init__(
        self,
        *,
        loss: ValueLoss = "squared_error",
        alpha: HuberAlpha = 0.9,
        learning_rate: AutoLearningRate = "auto",
        n_estimators: BoostingRounds = "auto",
        subsample: Subsample = "auto",
        max_leaf_nodes: AutoMaxLeafNodes = "auto",
        max_depth: AutoMaxDepth = "auto",
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: AutoMinSamplesLeaf = "auto",
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        ccp_alpha: CcpAlpha = 0.0,
        max_features: AutoMaxFeatures = "auto",
        init: Init = None,
        base_score: StartScore = None,
        growth: AutoGrowPolicy = "auto",
        splitter: BoostingSplitter = "best",
        boosting: BoostingForm = "plain",
        multi_strategy: MultiStrategy = "one_output_per_tree",
        drop_rate: DropRate = 0.1,
        skip_drop: SkipDrop = 0.5,
        top_rate: TopRate = 0.2,
        other_rate: OtherRate = 0.1,
        reg_alpha: RegAlpha = 0.0,
        reg_lambda: RegLambda = "auto",
        gamma: GammaSplit = 0.0,
        min_child_weight: MinChildWeight = "auto",
        colsample_bytree: ColsampleByTree = 1.0,
        colsample_bylevel: ColsampleByLevel = 1.0,
        colsample_bynode: ColsampleByNode = 1.0,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        early_stopping: EarlyStoppingMode = "auto",
        scoring: BoostingScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        stopping_folds: StoppingFolds = "auto",
        n_iter_no_change: StoppingPatience = "auto",
        tol: AutoTol = "auto",
        refit: RefitAllRows = "auto",
        warm_start: WarmStart = False,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        n_jobs: BoostingJobs = None,
        engine: BoostingEngine = "cpu",
        defaults: AutoDefaults = "auto",
        criterion: DroppedCriterion = "deprecated",
    ) -> None:
        self._store_params(locals())

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        takes_alpha = isinstance(self.loss, str) and describe_loss(self.loss).takes_alpha
        return make_value_loss(self.loss, self.alpha if takes_alpha else None, dataset)
