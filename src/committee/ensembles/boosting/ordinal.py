"""Gradient boosting of ordered classes: one score, and thresholds between the levels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np

from committee.base import ClassifierScoreMixin, available_if
from committee.data.dataset import ClassTarget
from committee.data.intake import take_in
from committee.engines.formula import ModelFormula, TableRow, refuse_formula
from committee.ensembles.boosting.fit import BaseGradientBoosting
from committee.ensembles.boosting.objective import count_present_classes
from committee.ensembles.boosting.ordinal_levels import OrdinalScorer, order_levels, read_category_order
from committee.ensembles.boosting.ordinal_link import (
    OrdinalLink,
    choose_level_term,
    choose_levels,
    find_factors,
)
from committee.ensembles.boosting.ordinal_loss import BoundOrdinalLoss, OrdinalLoss
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
from committee.exceptions import DataError, ParameterError
from committee.foreign_names import answer_arguments
from committee.learners.log_probabilities import LogProbabilitiesMixin
from committee.params import (
    ArrayLike as ArrayLikeParam,
)
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
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.data import Dataset
    from committee.data.dataset import ValueTarget
    from committee.engines.formula import FormulaTerm
    from committee.engines.tree_model import TreeModel
    from committee.ensembles.boosting.booster import Booster, PreviousFit
    from committee.ensembles.boosting.objective import BoostingLoss, Objective
    from committee.ensembles.boosting.scorer import BoostingScorer
    from committee.typing import FloatArray, Task

__all__ = ["OrdinalGradientBoostingClassifier"]

LinkName: TypeAlias = Annotated[
    Literal["logit", "probit", "cloglog"],
    "The distribution F of the noise: logistic (proportional odds), normal, or that of extreme values (proportional "
    "hazards), which is not symmetric.",
]
LevelSpread: TypeAlias = Annotated[
    Literal["common", "by_row"],
    "Whether the noise has one spread for all rows, or every row its own: a second score, and twice the trees.",
]
LevelOrder: TypeAlias = Annotated[
    Annotated[Any, ArrayLikeParam("of classes")] | None,
    "All levels, the lowest first; some may have no row. None: the order of an ordered category, else sorted.",
]
LevelChoice: TypeAlias = Annotated[
    Literal["probability", "absolute_error", "squared_error"],
    "What `predict` returns: the most probable level, or the one with the least expected distance in levels, or square "
    "of it, which suits the quadratically weighted kappa. It may be changed after the fit.",
]
OrdinalForm: TypeAlias = Annotated[
    Literal["plain", "goss"],
    "Friedman's algorithm; or GOSS, which grows trees from the rows with the largest gradients and a sample of the "
    "others.",
]


def _sorts_levels(model: OrdinalGradientBoostingClassifier) -> bool:
    return model.levels is None


class OrdinalGradientBoostingClassifier(ClassifierScoreMixin, LogProbabilitiesMixin, BaseGradientBoosting):
    """Gradient boosting of ordered classes, such as grades or stages.

    One score f(x) = ν Σ_m T_m(x) says how high a row is, and thresholds θ_1 < … < θ_{K-1} divide its range into K
    levels [McCullagh1980]:

    P(y <= k | x) = F(θ_k - f(x)),

    with F the distribution of the noise (``link``). The loss is minus the log-likelihood. Each tree follows its
    gradient by f, (F'(a) - F'(b)) / (F(a) - F(b)) with a and b the upper and the lower threshold of the row's level
    minus its score. Before each round the thresholds are fitted anew by Newton's method, to the least loss at the
    scores so far: this is a convex problem, whose loss is infinite where thresholds are out of order. A round grows one
    tree, whatever the number of levels, so that few rows suffice where one score tells the levels apart. Where the
    levels differ in other ways, `GradientBoostingClassifier` learns more from many rows.

    With ``spread="by_row"`` the model is one of location and scale [McCullagh1980],

    P(y <= k | x) = F((θ_k - f(x)) exp(-s(x))).

    A round then grows a second tree, for s, the logarithm of the spread: by the gradient divided by the Fisher
    information, in steps of a tenth, because a spread is overfitted sooner than a score; a row counts as at most about
    ten spreads away from its level. A factor that all spreads share is none of the model's, since f and the thresholds
    have it too; it is left out of the steps. A fit takes up to twice as long. Log-loss was smaller where some
    rows are harder to grade than others, and errors of the predicted levels hardly changed; where all rows have the
    same noise, both were larger.

    Defaults are those of `GradientBoostingClassifier`. A level without training rows has probability zero.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The levels, the lowest first. Metrics of scikit-learn that take probabilities expect sorted classes: where
        ``levels`` are in another order, encode them as numbers for these.
    thresholds_ : ndarray of shape (n_classes - 1,)
        The thresholds; infinite beside levels at the ends that have no row.
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
        after it. Thresholds are fitted to all training rows.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
    estimators_ : table of trees
        ``estimators_[round, 0]`` is a regression tree whose leaf values are added to the score; with
        ``spread="by_row"`` those of ``estimators_[round, 1]`` are added to the logarithm of the spread.
    max_features_ : int
        Number of features that are drawn at each node.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    GradientBoostingClassifier : Classes without an order.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import OrdinalGradientBoostingClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 3))
    >>> latent = 2 * X[:, 0] + X[:, 1] + rng.logistic(size=400)
    >>> y = np.array(["low", "mid", "high"])[np.digitize(latent, [-1, 1])]
    >>> model = OrdinalGradientBoostingClassifier(levels=["low", "mid", "high"], random_state=0).fit(X, y)
    >>> model.classes_.tolist()
    ['low', 'mid', 'high']
    >>> model.predict_proba(X[:2]).shape
    (2, 3)
    >>> bool(model.thresholds_[0] < model.thresholds_[1])
    True
    """

    _task: ClassVar[Task] = "classify"
    # What the fit of all boosted models reads, and thresholds take the place of.
    init: ClassVar[None] = None
    base_score: ClassVar[None] = None
    multi_strategy: ClassVar[str] = "one_output_per_tree"

    classes_: NDArray[Any]
    n_classes_: int
    thresholds_: FloatArray
    _ordinal_link: OrdinalLink

    def __init__(
        self,
        *,
        link: LinkName = "logit",
        spread: LevelSpread = "common",
        levels: LevelOrder = None,
        predict_by: LevelChoice = "probability",
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
        growth: GrowPolicy = "leaf",
        splitter: BoostingSplitter = "best",
        boosting: OrdinalForm = "plain",
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
    ) -> None:
        self._store_params(locals())

    # Fitting.

    def take_in(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
    ) -> Dataset:
        """Read and check a table and its levels as `fit` does."""
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task="classify",
            class_weight=class_weight,
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=self.text_columns,
            multi_output=False,
        )
        levels = read_category_order(y) if self.levels is None else self.levels
        return dataset if levels is None else order_levels(dataset, levels)

    @available_if(_sorts_levels)
    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on a data set that was read before, whose classes are in the order of the levels.

        Not with ``levels``, by which the classes would be in another order than in the data set.

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
        super().fit_dataset(dataset, weights)
        return self

    def _check_target(self, dataset: Dataset) -> None:
        n_classes = count_present_classes(dataset)
        if dataset.weights is None and isinstance(dataset.target, ClassTarget):
            n_classes = len(np.unique(dataset.target.labels))
        if n_classes < 2:
            raise DataError(
                f"y contains {n_classes} class after sample_weight trimmed classes with zero weights, while a minimum "
                "of 2 classes are required."
            )

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        target = dataset.target
        assert isinstance(target, ClassTarget)
        if target.n_outputs > 1:
            raise DataError(f"{type(self).__name__} learns one target; y has {target.n_outputs}.")
        if self.spread == "by_row" and self.monotonic_cst is not None:
            raise ParameterError(
                "'monotonic_cst' orders the probabilities of levels with spread='common' only: with a spread by row "
                "they follow two scores. Leave one of both out."
            )
        return OrdinalLoss(self.link, target.n_classes[0], self._count_scores())

    def _count_scores(self) -> int:
        return 2 if self.spread == "by_row" else 1

    def _get_previous_fit(self, dataset: Dataset) -> PreviousFit:
        if self._loss.n_scores != self._count_scores():
            raise ParameterError(
                f"{type(self).__name__} keeps its trees (warm_start=True), which were grown with another 'spread'. "
                "Leave it as it was, or fit a new model."
            )
        return super()._get_previous_fit(dataset)

    def _make_metric(self, metric: BoostingScoring, loss: BoostingLoss, parameter: str) -> BoostingScorer:
        return OrdinalScorer(metric, loss, parameter, self.predict_by)

    def _list_fitted(self, booster: Booster, n_rounds: int | None, attributes: dict[str, Any]) -> dict[str, Any]:
        bound: object = booster.objective.bound
        assert isinstance(bound, BoundOrdinalLoss)
        last = bound.fit_thresholds(np.asarray(booster.state.scores))
        rows = [] if booster.n_previous == 0 else list(self._ordinal_link.thresholds[: booster.n_previous])
        # The thresholds that a round begins with are those of the rounds before it.
        rows += [*bound.history[1:], last] if booster.n_rounds > booster.n_previous else []
        thresholds = np.stack(rows if n_rounds is None else rows[:n_rounds]) if rows else last[None]
        own = {"_ordinal_link": OrdinalLink(self.link, thresholds), "thresholds_": thresholds[-1].copy()}
        return {**super()._list_fitted(booster, n_rounds, attributes), **own}

    # New leaf values.

    def _make_refit_loss(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> BoostingLoss:
        assert isinstance(target, ClassTarget)
        present = target.labels[:, 0] if weights is None else target.labels[weights > 0.0, 0]
        absent = np.setdiff1d(np.arange(self.n_classes_), present)
        if len(absent):
            raise DataError(
                f"refit_leaves of {type(self).__name__} needs rows of every level, from which the thresholds follow; y "
                f"has none of {self.classes_.tolist()[absent[0]]!r}."
            )
        return OrdinalLoss(self._ordinal_link.kind, self.n_classes_, self._loss.n_scores)

    def _refit_attributes(self, objective: Objective, scores: FloatArray, decay_rate: float) -> dict[str, Any]:
        bound: object = objective.bound
        assert isinstance(bound, BoundOrdinalLoss)
        old = self._ordinal_link.thresholds
        new = np.stack([*bound.history[1:], bound.fit_thresholds(scores)]) if bound.history else old
        # Thresholds of levels that had no training rows are infinite, and zero times these is no number.
        with np.errstate(invalid="ignore"):
            blended = decay_rate * old + (1.0 - decay_rate) * new
        thresholds = old if decay_rate == 1.0 else new if decay_rate == 0.0 else blended
        kind = self._ordinal_link.kind
        return {"_ordinal_link": OrdinalLink(kind, thresholds), "thresholds_": thresholds[-1].copy()}

    # Predicting.

    @answer_arguments
    def predict(self, X: Any) -> NDArray[Any]:
        """Level of each row: the most probable, or the one with the least expected distance (``predict_by``).

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._decode(self.predict_proba(X))

    @answer_arguments
    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each level.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        scores = self._raw_predict(X)
        return self._ordinal_link.find_probabilities(scores)

    def predict_score(self, X: Any) -> FloatArray:
        """The score f(x) of each row, on the scale of ``thresholds_``: the larger, the higher its level.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._raw_predict(X)[:, 0]

    def predict_spread(self, X: Any) -> FloatArray:
        """The spread exp(s(x)) of each row's noise around its score: the larger, the less sure its level.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            Ones with ``spread="common"``.
        """
        scores = self._raw_predict(X)
        return 1.0 / find_factors(scores[:, 1]) if scores.shape[1] > 1 else np.ones(len(scores))

    def staged_predict_proba(self, X: Any) -> Iterator[FloatArray]:
        """`predict_proba` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples, n_classes)
        """
        for m, scores in enumerate(self._scores_by_round(X), start=1):
            yield self._ordinal_link.find_probabilities(scores, m)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        return (self._decode(shares) for shares in self.staged_predict_proba(X))

    def _decode(self, shares: FloatArray) -> NDArray[Any]:
        chosen: NDArray[Any] = self.classes_.take(choose_levels(shares, self.predict_by))
        return chosen

    def to_tree_model(self) -> TreeModel:
        """The fitted trees; with a spread by row two scores, of which the probabilities are a function."""
        model = super().to_tree_model()
        return model if self._loss.n_scores == 1 else replace(model, link="other")

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        self.fitted_trees()
        if self._ordinal_link.kind == "probit":
            raise refuse_formula(self, "has normal noise (link='probit')")
        row = TableRow(self._schema.n_features) if row is None else row
        shares = self._ordinal_link.to_term(self._score_term(row))
        label = choose_level_term(shares, self.predict_by)
        return ModelFormula(row, self._schema, label, (self.classes_,), shares)
