"""Gradient boosting of distributions: location and spread of the target given a row [Duan2020]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from committee.base import RegressorScoreMixin
from committee.data.dataset import ValueTarget
from committee.data.intake import take_in
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    ModelFormula,
    RowFunction,
    TableRow,
    TakenColumns,
    TreeTerm,
)
from committee.ensembles.boosting.distribution_loss import DistributionLoss
from committee.ensembles.boosting.distributions import DistributionName, PredictedDistribution, find_means
from committee.ensembles.boosting.fit import BaseGradientBoosting
from committee.ensembles.boosting.params import (
    AutoDefaults,
    AutoLearningRate,
    AutoMaxDepth,
    AutoMaxFeatures,
    AutoMaxLeafNodes,
    AutoMinSamplesLeaf,
    AutoTol,
    BoostingEngine,
    BoostingJobs,
    BoostingRounds,
    BoostingSplitter,
    ColsampleByLevel,
    ColsampleByNode,
    ColsampleByTree,
    EarlyStoppingMode,
    GammaSplit,
    GrowPolicy,
    MinChildWeight,
    OtherRate,
    RefitAllRows,
    RegAlpha,
    RegLambda,
    StoppingFolds,
    StoppingPatience,
    Subsample,
    TopRate,
)
from committee.exceptions import DataError
from committee.foreign_names import answer_arguments
from committee.params import (
    BoostingScoring,
    CategoricalFeatures,
    CcpAlpha,
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
    from collections.abc import Iterator

    from numpy.typing import ArrayLike

    from committee.data import Dataset
    from committee.data.dataset import ClassTarget
    from committee.engines.formula import FormulaTerm
    from committee.engines.tree_model import TreeModel
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.params import ClassWeight
    from committee.typing import FloatArray, Task

__all__ = ["DistributionalBoostingRegressor"]

DistributionForm: TypeAlias = Annotated[
    Literal["plain", "goss"],
    "Friedman's algorithm; or GOSS, which grows trees from the rows with the largest gradients and a sample of the "
    "others.",
]


class DistributionalBoostingRegressor(RegressorScoreMixin, BaseGradientBoosting):
    """Gradient boosting of a distribution: each row has a mean and a spread of its own.

    The target given a row has a distribution with two parameters, each with a score f_j(x) = f_j0 + ν Σ_m T_jm(x):

    - ``"normal"``: the mean μ and log σ.
    - ``"lognormal"``: the same for the logarithm of the target.
    - ``"negative_binomial"``: log μ and log α of counts with variance μ + α μ².

    The loss is minus the log-likelihood. A round grows a tree for each parameter along the natural gradient, the
    gradient divided by the Fisher information [Duan2020], so that a step does not depend on how the parameters are
    written. With normal distributions it is μ - y for the mean and (1 - z²) / 2, z = (y - μ) / σ, for log σ, where a
    row counts as at most ten spreads away. With counts the leaf values are weighted by the information,
    -Σ g / (Σ I + λ).

    The number of rounds is chosen by the likelihood of validation rows, because a spread is overfitted sooner than a
    mean. ``n_iter_no_change="auto"`` is 33 here, because steps are small: with a learning rate of 0.03 in place of 0.05
    likelihood and error of new rows were smaller on most tables.

    Attributes
    ----------
    distribution_ : str
        The distribution that was fitted.
    n_estimators_ : int
        Rounds of the model.
    best_iteration_ : int
        The last of them, counted from zero.
    learning_rate_ : float
        The factor that was used.
    train_score_ : ndarray
        Loss of the training rows after each round (with rows held out, of those not held out).
    validation_score_ : ndarray
        Score of the rows held out before the first and after each round, larger for better.
    evals_result_ : dict
        For each table of ``eval_set`` and each metric the values after each round.
    oob_improvement_, oob_scores_ : ndarray
        With ``subsample`` below 1: by how much each round lowers the loss of its out-of-bag rows, and their loss
        after it.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits of both parameters, as a fraction of the sum.
    estimators_ : table of trees
        ``estimators_[round, 0]`` adds to the location, ``estimators_[round, 1]`` to the logarithm of the spread.
    max_features_ : int
        Number of features that are drawn at each node.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GradientBoostingRegressor : Means, or quantiles one by one.
    RandomForestRegressor : Intervals from out-of-bag errors, without an assumed distribution.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import DistributionalBoostingRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(1000, 2))
    >>> y = X[:, 0] + (0.1 + X[:, 1]) * rng.normal(size=1000)
    >>> model = DistributionalBoostingRegressor(random_state=0).fit(X, y)
    >>> spread = model.predict_distribution([[0.5, 0.1], [0.5, 0.9]]).find_standard_deviation()
    >>> bool(spread[1] > 2.0 * spread[0])
    True
    >>> model.predict_interval(X[:3], coverage=0.8).shape
    (3, 2)
    """

    _task: ClassVar[Task] = "regress"
    # With a learning rate of 0.03, what 20 rounds are with 0.05.
    tuned_patience: ClassVar[int] = 33
    # What the fit of all boosted models reads, and the distribution takes the place of.
    init: ClassVar[None] = None
    base_score: ClassVar[None] = None
    multi_strategy: ClassVar[str] = "one_output_per_tree"

    distribution_: DistributionName

    def __init__(
        self,
        distribution: DistributionName = "normal",
        *,
        learning_rate: AutoLearningRate = 0.03,
        n_estimators: BoostingRounds = "auto",
        subsample: Subsample = "auto",
        max_leaf_nodes: AutoMaxLeafNodes = "auto",
        max_depth: AutoMaxDepth = 4,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: AutoMinSamplesLeaf = "auto",
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        ccp_alpha: CcpAlpha = 0.0,
        max_features: AutoMaxFeatures = "auto",
        growth: GrowPolicy = "leaf",
        splitter: BoostingSplitter = "best",
        boosting: DistributionForm = "plain",
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
    ) -> None:
        self._store_params(locals())

    # Fitting.

    def take_in(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
    ) -> Dataset:
        """Read and check a table and its target as `fit` does."""
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task="regress",
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=self.text_columns,
            multi_output=False,
        )

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        target = dataset.target
        assert isinstance(target, ValueTarget)
        if target.n_outputs > 1:
            raise DataError(f"{type(self).__name__} learns one target; y has {target.n_outputs}.")
        y = target.values[:, 0] if dataset.weights is None else target.values[dataset.weights > 0.0, 0]
        self._check_values(y)
        return DistributionLoss(self.distribution)

    def _make_refit_loss(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> BoostingLoss:
        assert isinstance(target, ValueTarget)
        self._check_values(target.values[:, 0] if weights is None else target.values[weights > 0.0, 0])
        return DistributionLoss(self.distribution_)

    def _check_values(self, y: FloatArray) -> None:
        """Refuse targets that the distribution does not have."""
        if self.distribution == "lognormal" and not (y > 0.0).all():
            raise DataError(f"distribution='lognormal' has positive targets only; y has {y[~(y > 0.0)][0]:g}.")
        if self.distribution != "negative_binomial":
            return
        wrong = (y < 0.0) | (y != np.floor(y))
        if wrong.any():
            raise DataError(
                f"distribution='negative_binomial' has counts 0, 1, 2, .. as targets; y has {y[wrong][0]:g}."
            )
        if not (y > 0.0).any():
            raise DataError("distribution='negative_binomial' needs counts above zero; all of y are zero.")

    def _list_fitted(self, booster: Booster, n_rounds: int | None, attributes: dict[str, Any]) -> dict[str, Any]:
        own = {"distribution_": self.distribution, "n_outputs_": 1}
        return {**super()._list_fitted(booster, n_rounds, attributes), **own}

    # Predicting.

    @answer_arguments
    def predict(self, X: Any) -> FloatArray:
        """Mean of each row's distribution.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        scores = self._raw_predict(X)
        return find_means(self.distribution_, scores)

    def predict_distribution(self, X: Any) -> PredictedDistribution:
        """The distribution of each row's target.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        PredictedDistribution
            Moments, quantiles, intervals, likelihood, CRPS and random draws.
        """
        scores = self._raw_predict(X)
        return PredictedDistribution.of(self.distribution_, scores)

    def predict_quantiles(self, X: Any, q: ArrayLike = 0.5) -> FloatArray:
        """Quantiles of each row's distribution.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        q : float or array-like of shape (n_quantiles,), default=0.5
            Levels of the quantiles, in [0, 1].

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_quantiles) where q is an array
        """
        return self.predict_distribution(X).find_quantiles(q)

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """The central interval of each row's distribution.

        It has the coverage that it names as far as the distribution is the true one; `RandomForestRegressor` has
        intervals that do not assume one.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, 2)
        """
        return self.predict_distribution(X).find_interval(coverage)

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """`predict` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        return (find_means(self.distribution_, scores) for scores in self._scores_by_round(X))

    def staged_predict_distribution(self, X: Any) -> Iterator[PredictedDistribution]:
        """`predict_distribution` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        PredictedDistribution
        """
        return (PredictedDistribution.of(self.distribution_, scores) for scores in self._scores_by_round(X))

    def to_tree_model(self) -> TreeModel:
        """The fitted trees with two scores, of which a prediction is a function."""
        return replace(super().to_tree_model(), link="other")

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What `predict` computes for a row, the mean; exports are written from it."""
        trees, row = self.fitted_trees(), TableRow(self._schema.n_features) if row is None else row
        sums = TreeTerm(row, trees, "sum", slots=self._tree_slots(), n_columns=2)
        scores = Arithmetic("+", sums, ConstantTerm(np.asarray(self._baseline, dtype=np.float64)))
        location = TakenColumns(scores, (0,))
        if self.distribution_ == "normal":
            return ModelFormula(row, self._schema, location)
        if self.distribution_ == "negative_binomial":
            return ModelFormula(row, self._schema, RowFunction("exp", location))
        spread = RowFunction("exp", TakenColumns(scores, (1,)))
        half = Arithmetic("*", ConstantTerm(np.array([0.5])), Arithmetic("*", spread, spread))
        return ModelFormula(row, self._schema, RowFunction("exp", Arithmetic("+", location, half)))
