"""Gradient boosting of rankings: LambdaMART and its pairwise and listwise relatives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from committee.data.intake import take_in, take_in_rows
from committee.data.opening import opens_table
from committee.ensembles.boosting.booster import InitialScores
from committee.ensembles.boosting.fit import BaseGradientBoosting
from committee.ensembles.boosting.objective import read_target_columns
from committee.ensembles.boosting.params import (
    AutoDefaults,
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
    ColsampleByLevel,
    ColsampleByNode,
    ColsampleByTree,
    DropRate,
    EarlyStoppingMode,
    GammaSplit,
    GrowPolicy,
    MinChildWeight,
    OtherRate,
    PairSteepness,
    RankLossName,
    RankNormalize,
    RankScoring,
    RefitAllRows,
    RegAlpha,
    RegLambda,
    SkipDrop,
    StoppingFolds,
    StoppingPatience,
    Subsample,
    TopRate,
    TruncationLevel,
)
from committee.ensembles.boosting.queries import (
    QueryScorer,
    add_queries,
    count_queries,
    hold_out_queries,
    number_queries,
    read_queries,
    split_query_folds,
)
from committee.ensembles.boosting.ranking_loss import RankingLoss
from committee.ensembles.boosting.validation import read_eval_sets
from committee.ensembles.fit_callbacks import FitInput
from committee.exceptions import DataError
from committee.foreign_names import answer_arguments
from committee.params import (
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
from committee.scoring import mean_ndcg

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike
    from sklearn.utils import Tags

    from committee.data import Dataset
    from committee.data.dataset import ClassTarget, ValueTarget
    from committee.ensembles.boosting.fit import UserFunction
    from committee.ensembles.boosting.objective import BoostingLoss
    from committee.ensembles.boosting.scorer import BoostingScorer
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.params import ClassWeight
    from committee.typing import BoolArray, FloatArray, IndexArray, Task

__all__ = ["GradientBoostingRanker"]


class GradientBoostingRanker(BaseGradientBoosting):
    """Gradient boosting that puts the rows of each query in the order of their relevance.

    The model is a sum of trees, as in `GradientBoostingRegressor`; only the differences of the scores within a query
    count. ``loss="lambdarank"`` is LambdaMART [Burges2010]: a pair of rows i, j of a query with relevances
    y_i > y_j has the loss log(1 + exp(-σ (f_i - f_j))), times the change of NDCG if the two changed places,

    ``|2^y_i - 2^y_j| |1 / log2(1 + r_i) - 1 / log2(1 + r_j)| / maxDCG``,

    with r the places by the scores so far. One row of each pair is among the first ``truncation_level``. The
    conventions are LightGBM's. ``"pairwise"`` is RankNet [Burges2005]: the same pairs, without that factor, divided by
    the number of other rows of the query. With ``normalize`` both weigh pairs by the distance of their scores, and
    queries by the sum of their gradients. ``"listwise"`` is the cross entropy of the softmax of a query's scores with
    the shares of its gains 2^y - 1 [Cao2007, Bruch2019].

    Rows of a query need not be adjacent. ``qid`` is requested by metadata routing, so that the ranker works in
    pipelines, `GridSearchCV` and `cross_validate`.

    Rows are held out for early stopping by whole queries, and so they are drawn with ``subsample`` below 1: each round
    takes that share of the queries, without replacement, and those left out are out of bag. With fewer than five
    queries both are by rows. NDCG says little of the queries out of bag, most of which earlier rounds have seen:
    ``early_stopping="oob"`` goes by the loss of the pairs with ``lambdarank``.

    Attributes
    ----------
    n_estimators_ : int
        Rounds of the model.
    best_iteration_ : int
        The last of them, counted from zero.
    n_queries_ : int
        Queries of the training rows.
    learning_rate_ : float
        The factor that was used.
    train_score_ : ndarray
        Loss of the training rows after each round: the mean over queries; of ``lambdarank`` 1 - NDCG of the first
        ``truncation_level`` places.
    oob_improvement_, oob_scores_ : ndarray
        With ``subsample`` below 1: by how much each round lowers the loss of its out-of-bag queries, and their loss
        after it, on the scale of ``train_score_``.
    oob_score_ : float
        The last of ``oob_scores_``. Rounds of a warm start that had no such queries count as zero.
    validation_score_ : ndarray
        Score of the queries held out before the first and after each round, larger for better.
    evals_result_ : dict
        For each table of ``eval_set`` and each metric the values after each round.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
    estimators_ : table of trees
        ``estimators_[round, 0]`` is a regression tree whose leaf values are added to the score.
    max_features_ : int
        Number of features that are drawn at each node.
    n_features_in_ : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import GradientBoostingRanker
    >>> rng = np.random.default_rng(0)
    >>> X, qid = rng.normal(size=(600, 5)), np.repeat(np.arange(60), 10)
    >>> y = np.clip(np.round(X[:, 0] + X[:, 1]), 0, 4)
    >>> model = GradientBoostingRanker(random_state=0).fit(X, y, qid=qid)
    >>> model.score(X, y, qid=qid) > 0.9
    True
    """

    _task: ClassVar[Task] = "regress"
    # What the fit of all boosted models reads, and a ranking has no use for.
    init: ClassVar[None] = None
    base_score: ClassVar[None] = None
    multi_strategy: ClassVar[str] = "one_output_per_tree"

    __metadata_request__fit: ClassVar = {"qid": True}
    __metadata_request__score: ClassVar = {"qid": True}

    n_queries_: int

    def __init__(
        self,
        *,
        loss: RankLossName = "lambdarank",
        truncation_level: TruncationLevel = 30,
        sigmoid: PairSteepness = 1.0,
        normalize: RankNormalize = True,
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
        boosting: BoostingForm = "plain",
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
        scoring: RankScoring = "ndcg",
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

    @opens_table
    @answer_arguments
    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        eval_set: Sequence[tuple[Any, Any]] | None = None,
        eval_qid: Sequence[ArrayLike | None] | None = None,
        eval_sample_weight: Sequence[ArrayLike | None] | None = None,
        eval_names: Sequence[str] | None = None,
        eval_metric: str | Callable[..., float] | Mapping[str, Any] | None = None,
        callbacks: Sequence[UserFunction] | None = None,
    ) -> Self:
        """Boost: add, round after round, a tree that follows the gradient of the ranking's loss.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,)
            Relevances from 0 to 31, the larger the better.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row: its gradient counts so often. The same weight for all rows of a query weighs the
            query; in means over queries a query has the mean of the weights of its rows. Rows of weight zero are in
            no pair.
        qid : array-like of shape (n_samples,), optional
            The query of each row, a number or text. By default all rows are of one query.
        eval_set : list of (X, y), optional
            Evaluation sets that are scored after each round, see ``evals_result_``; early stopping, where it is on,
            uses the last one.
        eval_qid : list of array-like, optional
            The queries of their rows.
        eval_sample_weight : list of array-like, optional
            Weights of their rows; None for a set without.
        eval_names : list of str, optional
            Their names, by default "validation_0" and so on.
        eval_metric : str, callable or dict of these, optional
            Metrics besides ``scoring``, of the same kind.
        callbacks : list of callables, optional
            Called after each round with a report (``iteration``, ``evals``, ``params``); one that returns True stops
            the fit.

        Returns
        -------
        self
        """
        self.validate_params()
        self._check_together()
        name = type(self).__name__
        plain = self.take_in(X, y, sample_weight)
        dataset = replace(plain, target=add_queries(plain.target, read_queries(qid, plain.n_rows, name), name))
        loss, seed = self._make_loss(dataset), self._resolve_seed()
        tables = read_eval_sets(self, plain, lambda _: None, eval_set, eval_sample_weight, eval_names)
        queries = [None] * len(tables) if eval_qid is None else list(eval_qid)
        if len(queries) != len(tables):
            raise DataError(f"eval_qid must have an entry for each of the {len(tables)} evaluation sets.")
        for table, own in zip(tables.values(), queries, strict=True):
            table.target = add_queries(table.target, read_queries(own, table.X.shape[0], name), name)
        functions = self._list_functions(callbacks, None)
        recorders = self._make_callbacks(dataset, loss, seed, tables, eval_metric, functions)
        self._boost(dataset, loss, InitialScores(), seed, recorders, None, FitInput(X, y, sample_weight))
        self.n_queries_ = count_queries(dataset)
        return self

    def take_in(
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: ClassWeight = None
    ) -> Dataset:
        """Read and check a table and its relevances as `fit` does."""
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

    def refit_leaves(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        decay_rate: float = 0.9,
    ) -> Self:
        """A model with the same splits whose leaf values follow the rows of new queries.

        Round by round, the value that a leaf would get from the new rows in it, given the rounds before, is blended
        with its old one: ``decay_rate * old + (1 - decay_rate) * new``. The gradients are those of the new queries, as
        in `fit`. Leaves without new rows stay as they are. The model itself is not changed. Not with
        ``boosting='dart'``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            New rows.
        y : array-like of shape (n_samples,)
            Their relevances.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        qid : array-like of shape (n_samples,), optional
            The query of each row. By default all rows are of one query.
        decay_rate : float, default=0.9
            How much of the old values stays, in [0, 1].

        Returns
        -------
        estimator
            A fitted copy.
        """
        self._check_refittable()
        rows, name = take_in_rows(self, X, self._schema), type(self).__name__
        plain = self._read_refit_target(y, rows.shape[0])
        if len(read_target_columns(plain)) != rows.shape[0]:
            raise DataError(f"X has {rows.shape[0]} rows and y {len(read_target_columns(plain))}.")
        target = add_queries(plain, read_queries(qid, rows.shape[0], name), name)
        return self._refit_rows(X, rows, target, sample_weight, decay_rate)

    def _make_refit_loss(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> BoostingLoss:
        return self._make_ranking_loss()

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        return self._make_ranking_loss()

    def _make_ranking_loss(self) -> RankingLoss:
        return RankingLoss(self.loss, float(self.sigmoid), int(self.truncation_level), bool(self.normalize))

    def _describe_target(self, target: ClassTarget | ValueTarget | None) -> dict[str, Any]:
        return {"n_outputs_": 1}

    def _number_groups(self, dataset: Dataset) -> IndexArray | None:
        return number_queries(dataset)

    def _hold_out(
        self, dataset: Dataset, seed: int, offset: FloatArray | None
    ) -> tuple[Dataset, ValidationSet, BoolArray]:
        return hold_out_queries(dataset, self.validation_fraction, seed)

    def _split_folds(
        self, dataset: Dataset, n_folds: int, seed: int, offset: FloatArray | None
    ) -> Iterator[tuple[Dataset, ValidationSet, FloatArray | None]]:
        return split_query_folds(dataset, n_folds, seed)

    def _make_metric(self, metric: Any, loss: BoostingLoss, parameter: str) -> BoostingScorer:
        return QueryScorer(metric, loss, parameter)

    # Predicting.

    @answer_arguments
    def predict(self, X: Any) -> FloatArray:
        """Score of each row; within a query the larger is the more relevant.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._predict_means(X)[:, 0]

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """Scores after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,)
        """
        return (scores[:, 0] for scores in self._scores_by_round(X))

    def score(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        k: int | None = None,
    ) -> float:
        """Mean NDCG over queries, see `committee.scoring.mean_ndcg`.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their relevances.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row.
        qid : array-like of shape (n_samples,), optional
            The query of each row; needed where the model was fitted on several.
        k : int, optional
            Number of places; by default all.

        Returns
        -------
        float
        """
        self.fitted_trees()
        if qid is None and self.__dict__.get("n_queries_", 1) > 1:
            raise DataError(
                "The score of a ranking is a mean over queries: 'qid' is needed. Inside a search or cross-validation "
                "call sklearn.set_config(enable_metadata_routing=True) and pass qid to it."
            )
        return mean_ndcg(y, self.predict(X), qid=qid, k=k, sample_weight=sample_weight)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = True
        return tags
