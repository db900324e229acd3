"""Gradient boosting of censored times: Cox's model, accelerated failure times, hazards of intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.data.opening import opens_table
from committee.data.survival_targets import SurvivalTarget, encode_survival
from committee.ensembles.boosting.early_stopping import EarlyStopping
from committee.ensembles.boosting.hist import BaseHistGradientBoosting
from committee.ensembles.boosting.params import BoostingJobs, HistEarlyStopping, HistMaxBins
from committee.ensembles.boosting.scorer import BoostingScorer
from committee.ensembles.boosting.survival_link import SurvivalLink, make_survival_link
from committee.ensembles.boosting.survival_losses import (
    AftLoss,
    CensoredRows,
    CoxLoss,
    FailureTimes,
    HazardLoss,
    SurvivalLoss,
)
from committee.ensembles.fit_callbacks import FitInput
from committee.ensembles.survival_times import (
    SurvivalMixin,
    count_events,
    find_event_times,
    read_curve_times,
    require_survival,
)
from committee.exceptions import DataError, ParameterError
from committee.params import (
    CategoricalFeatures,
    FeatureShare,
    InteractionCst,
    Interval,
    L2Regularization,
    LearningRate,
    MaxDepth,
    MaxIter,
    MaxLeafNodes,
    MinSamplesLeafCount,
    MonotonicCst,
    NIterNoChange,
    RandomState,
    StoppingTol,
    TextColumns,
    Unseen,
    ValidationFraction,
    Verbose,
    WarmStart,
)
from committee.scoring.survival import concordance_index

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike

    from committee.data import Dataset
    from committee.data.dataset import ClassTarget, ValueTarget
    from committee.engines import BoostingParams
    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.ensembles.boosting.booster import Booster
    from committee.ensembles.boosting.objective import BoostingLoss, Objective
    from committee.ensembles.boosting.validation import ValidationSet
    from committee.typing import FloatArray

__all__ = ["GradientBoostingSurvivalAnalysis"]

SurvivalLossName: TypeAlias = Annotated[
    Literal["cox", "aft", "hazard"],
    "The loss that is minimised: Cox's partial likelihood, the likelihood of accelerated failure times, or that of "
    "the hazards of intervals of time.",
]
CoxTies: TypeAlias = Annotated[
    Literal["breslow", "efron"], "How events at the same time share a risk set with ``loss='cox'``."
]
AftDistribution: TypeAlias = Annotated[
    Literal["normal", "logistic", "extreme"],
    "Distribution of the logarithm of the time with ``loss='aft'``: times are log-normal, log-logistic or Weibull.",
]
AftScale: TypeAlias = Annotated[
    Annotated[float, Interval(0.0, None, closed="neither")] | Literal["auto"],
    "Scale of that distribution while boosting. ``'auto'``: that of the largest likelihood before the first round.",
]
HazardIntervals: TypeAlias = Annotated[
    int, Interval(1, 65535), "The most intervals of ``loss='hazard'``; they have about as many events each."
]
SurvivalScoring: TypeAlias = Annotated[
    Literal["loss", "concordance"], "What early stopping goes by: the likelihood, or Harrell's concordance."
]


class _ConcordanceScorer(BoostingScorer):
    """The concordance of the risks, in place of the loss."""

    def score(self, target: ClassTarget | ValueTarget, scores: FloatArray, weights: FloatArray | None) -> float:
        known: Any = target
        loss: Any = self.loss
        return concordance_index(known.to_structured(), loss.find_risk(scores), weights)


class GradientBoostingSurvivalAnalysis(SurvivalMixin, BaseHistGradientBoosting):
    """Gradient boosting of censored times: trees on histograms that follow the gradient of a survival loss.

    The score of a row is f(x) = f_0 + ν Σ_m T_m(x), grown as by `HistGradientBoostingRegressor`. The losses are

    - ``"cox"``: minus the log partial likelihood Σ_i δ_i [log Σ_{t_j >= t_i} exp f(x_j) - f(x_i)] of proportional
      hazards [Cox1972]. The cumulative hazard is H_0(t) exp f(x), with Breslow's estimate of H_0 [Breslow1974].
    - ``"aft"``: minus the log-likelihood of log T = -f(x) + σ Z, the density at an event and the survival function at
      censoring [Barnwal2022]. Survival functions have the σ of the largest likelihood at the final scores.
    - ``"hazard"``: a score for each interval of time, the log-odds of an event there of rows that reach it
      [SingerWillett1993]; one tree a round has a leaf value for each. Hazards need not be proportional. They are taken
      as constant within an interval, and as zero after the last event.

    `predict` gives a risk, which is larger the earlier the event is expected: f(x), or with ``"hazard"`` the cumulative
    hazard summed over the ends of the intervals.

    Attributes
    ----------
    event_times_ : ndarray of shape (n_event_times,)
        Distinct times of observed events; with ``"hazard"`` the ends of the intervals.
    scale_ : float
        The scale σ of accelerated failure times; 1 otherwise.
    n_iter_ : int
        Rounds.
    train_score_, validation_score_ : ndarray of shape (n_rounds + 1,)
        Scores before the first and after each round, with early stopping; empty otherwise.
    feature_importances_ : ndarray of shape (n_features,)
        Gain of each feature over all splits, as a fraction of the sum.
    n_features_in_ : int
        Number of features.

    See Also
    --------
    RandomSurvivalForest : Trees with log-rank splits.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import GradientBoostingSurvivalAnalysis, make_survival_target
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> times, censoring = rng.exponential(np.exp(-X[:, 0])), rng.exponential(2.0, size=300)
    >>> y = make_survival_target(event=times <= censoring, time=np.minimum(times, censoring))
    >>> model = GradientBoostingSurvivalAnalysis("cox", n_estimators=50).fit(X, y)
    >>> model.score(X, y) > 0.7
    True
    >>> model.predict_survival_function(X[:2], times=[0.5, 1.0]).shape
    (2, 2)
    """

    _task = "survive"
    _combine = "sum"

    event_times_: FloatArray
    _link: SurvivalLink

    def __init__(
        self,
        loss: SurvivalLossName = "cox",
        *,
        ties: CoxTies = "breslow",
        distribution: AftDistribution = "normal",
        scale: AftScale = "auto",
        n_intervals: HazardIntervals = 20,
        learning_rate: LearningRate = 0.1,
        n_estimators: MaxIter = 100,
        max_leaf_nodes: MaxLeafNodes = None,
        max_depth: MaxDepth = 3,
        min_samples_leaf: MinSamplesLeafCount = 20,
        l2_regularization: L2Regularization = 1.0,
        max_features: FeatureShare = 1.0,
        max_bins: HistMaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        monotonic_cst: MonotonicCst = None,
        interaction_cst: InteractionCst = None,
        warm_start: WarmStart = False,
        early_stopping: HistEarlyStopping = False,
        scoring: SurvivalScoring = "loss",
        validation_fraction: ValidationFraction = 0.1,
        n_iter_no_change: NIterNoChange = 10,
        tol: StoppingTol = 1e-7,
        verbose: Verbose = 0,
        random_state: RandomState = None,
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        n_jobs: BoostingJobs = None,
    ) -> None:
        self._store_params(locals())

    @property
    def max_iter(self) -> int:
        """The number of rounds, as the histogram models call it."""
        return int(self.n_estimators)

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Boost: add, round after round, a tree that follows the loss's gradient.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : structured array, or frame or array of two columns (event, time), of shape (n_samples,)
            Whether the event of each row was observed, and the time of the event or of censoring, at least 0 (positive
            with ``loss="aft"``); see `make_survival_target`. Times alone mean that every event was observed.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self.validate_params()
        return self._boost(self.take_in(X, y, sample_weight), None, FitInput(X, y, sample_weight))

    def take_in(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, class_weight: Any = None) -> Dataset:
        """Read and check a table and its censored times as `fit` does."""
        return self._read_times(super().take_in(X, y, sample_weight, class_weight))

    def fit_dataset(self, dataset: Dataset, weights: FloatArray | None = None) -> Self:
        """Boost on a data set that was read before, for any estimator of survival times."""
        return super().fit_dataset(self._read_times(dataset), weights)

    def _read_times(self, dataset: Dataset) -> Dataset:
        """The data set with events and times as the columns that the losses read."""
        count_events(dataset, type(self).__name__)
        return replace(dataset, target=self._arrange_times(require_survival(dataset)))

    def _arrange_times(self, target: SurvivalTarget) -> SurvivalTarget:
        if self.loss == "aft" and len(target.time) and target.time.min() <= 0.0:
            raise DataError("loss='aft' is of logarithms of times, which must be positive; y has a time of 0.")
        values = np.column_stack([target.event, target.time]).astype(np.float64)
        return replace(target, values=values)

    def _make_loss(self, dataset: Dataset) -> BoostingLoss:
        if self.loss == "cox":
            return CoxLoss(self.ties)
        times, counts = count_events(dataset, type(self).__name__)
        if self.loss == "hazard":
            if self.monotonic_cst is not None:
                raise ParameterError("loss='hazard' knows no monotone constraints; leave 'monotonic_cst' out.")
            wanted = np.arange(1, int(self.n_intervals) + 1) * counts.sum() / int(self.n_intervals)
            ends = times[np.unique(np.searchsorted(np.cumsum(counts), wanted * (1.0 - 1e-12)))]
            return HazardLoss(ends if ends[0] > 0.0 else np.maximum(ends, np.finfo(np.float64).tiny))
        return self._make_aft_loss(CensoredRows.of(require_survival(dataset).values, dataset.count_weights()))

    def _make_aft_loss(self, rows: CensoredRows) -> AftLoss:
        if self.scale == "auto":
            return AftLoss(FailureTimes(self.distribution, 1.0).fit_scale(rows, None))
        return AftLoss(FailureTimes(self.distribution, float(self.scale)))

    def _set_engine_params(self, params: BoostingParams, dataset: Dataset, whole: Dataset) -> None:
        super()._set_engine_params(params, dataset, whole)
        params.vector_leaves = self.loss == "hazard"

    def _make_early_stopping(self, loss: BoostingLoss, validation: ValidationSet | None, seed: int) -> EarlyStopping:
        scorer = _ConcordanceScorer(None, loss) if self.scoring == "concordance" else BoostingScorer("loss", loss)
        earlier = (self.train_score_, self.validation_score_) if self._continues() else ()
        return EarlyStopping(scorer, validation, int(self.n_iter_no_change), float(self.tol), seed, *earlier)

    def _describe_target(self, target: ClassTarget | ValueTarget | None) -> dict[str, Any]:
        return {}

    def _list_fitted(self, booster: Booster, n_rounds: int | None, attributes: dict[str, Any]) -> dict[str, Any]:
        dataset = booster.dataset
        times, _ = count_events(dataset, type(self).__name__)
        rows = CensoredRows.of(require_survival(dataset).values, dataset.count_weights())
        loss: Any = booster.loss
        link = make_survival_link(loss, rows, np.asarray(booster.state.scores), times)
        own = {"_link": link, "event_times_": link.times, "scale_": link.scale, "n_outputs_": loss.n_scores}
        return {**super()._list_fitted(booster, n_rounds, attributes), **own}

    # New leaf values.

    def _read_refit_target(self, y: Any, n_rows: int) -> SurvivalTarget:
        return self._arrange_times(encode_survival(y, n_rows, type(self).__name__))

    def _make_refit_loss(self, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> BoostingLoss:
        assert isinstance(target, SurvivalTarget)
        find_event_times(target, weights, type(self).__name__)
        if self.loss == "cox":
            return CoxLoss(self.ties)
        if self.loss == "hazard":
            return HazardLoss(self._link.times)  # the leaves have a value for each of these intervals
        return self._make_aft_loss(CensoredRows.of(target.values, weights))

    def _refit_attributes(self, objective: Objective, scores: FloatArray, decay_rate: float) -> dict[str, Any]:
        target, loss = objective.target, objective.loss
        assert isinstance(target, SurvivalTarget)
        assert isinstance(loss, SurvivalLoss)
        times, _ = find_event_times(target, objective.weights, type(self).__name__)
        new = make_survival_link(loss, CensoredRows.of(target.values, objective.weights), scores, times)
        link = self._link.blend(new, decay_rate)
        return {"_link": link, "event_times_": link.times, "scale_": link.scale}

    # Predictions.

    def predict(self, X: Any) -> FloatArray:
        """Risk of each row: the larger, the earlier the event is expected.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
            The score f(x): the logarithm of the relative hazard (Cox), or minus the location of the logarithm of the
            time (accelerated failure times); with hazards of intervals the cumulative hazard, summed over their ends.
        """
        scores = self._raw_predict(X)
        return HazardLoss(self._link.times).find_risk(scores) if self._is_discrete else scores[:, 0]

    @property
    def _is_discrete(self) -> bool:
        """Whether there is a score for each interval of time."""
        return self._link.kind == "hazard"

    def _find_hazards(self, X: Any, times: ArrayLike | None) -> FloatArray:
        scores = self._raw_predict(X)
        return self._link.find_hazards(scores, read_curve_times(times, self.event_times_))

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What `predict` computes for a row, by default of its own table; exports are written from it."""
        found = super().to_formula(row)
        return replace(found, value=HazardLoss(self._link.times).risk_term(found.value)) if self._is_discrete else found
