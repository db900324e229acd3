"""Base of the AutoML estimators: the portfolio is fitted, its models are weighted, and the score is estimated."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from scipy.sparse import issparse

from committee.automatic.combination import MemberCombiner, sharpen_probabilities, trace_scores
from committee.automatic.distillation import DistillationMixin
from committee.automatic.fold_plan import divide_groups, divide_rows
from committee.automatic.formulas import CommitteeFormulaMixin
from committee.automatic.intervals import rank_errors
from committee.automatic.latency import choose_fast_members, time_prediction
from committee.automatic.leaderboard import make_leaderboard
from committee.automatic.portfolio import PORTFOLIO, FitContext, has_pairs
from committee.automatic.portfolio_fits import PortfolioFitsMixin
from committee.automatic.present_rows import PresentRows
from committee.automatic.presets import Preset, find_preset
from committee.automatic.several_targets import GivenTable, SeveralTargetsMixin
from committee.automatic.views import TextReader, View, find_counted_rows, fit_text_reader, make_views
from committee.automatic.word_members import WordMember
from committee.base import CommitteeEstimator, not_fitted_error, resolve_seed
from committee.data import ClassTarget, ValueTarget
from committee.data.blas_threads import limit_blas
from committee.data.folds import plan_folds
from committee.data.intake import take_in, take_in_rows
from committee.data.opening import opens_table
from committee.data.rows import collect_table, select_rows
from committee.data.targets import has_several_columns
from committee.ensembles.combining.member_predictions import predict_member, sum_weighted
from committee.ensembles.combining.out_of_fold import MemberFit, find_predicted_rows
from committee.ensembles.combining.training_set import TrainingSet
from committee.ensembles.fit_callbacks import FitCallbacksMixin
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.automatic.params import (
        Combine,
        CommitteeCv,
        CommitteeMetric,
        CommitteeTextColumns,
        ExtraMembers,
        MaxLatency,
        NMembers,
        Portfolio,
        PresetName,
        TimeBudget,
    )
    from committee.data import Dataset, Schema
    from committee.data.folds import Folds
    from committee.params import CategoricalFeatures, NJobs, RandomState, Unseen, Verbose
    from committee.typing import EstimatorLike, FloatArray, Task

__all__ = ["BaseCommittee"]


class BaseCommittee(
    SeveralTargetsMixin,
    PortfolioFitsMixin,
    DistillationMixin,
    CommitteeFormulaMixin,
    FitCallbacksMixin,
    CommitteeEstimator,
):
    """Base class of the AutoML classifier and regressor; a subclass sets what it predicts (`_task`)."""

    accepts_blocks: ClassVar[bool] = False

    _task: ClassVar[Task]

    # Pickles of earlier versions lack the parameters with a value here.
    preset: PresetName = "balanced"
    n_members: NMembers
    time_budget: TimeBudget
    metric: CommitteeMetric
    combine: Combine
    portfolio: Portfolio
    extra_members: ExtraMembers = None
    max_latency_us: MaxLatency = None
    cv: CommitteeCv
    text_columns: CommitteeTextColumns
    categorical_features: CategoricalFeatures
    unseen: Unseen
    n_jobs: NJobs
    verbose: Verbose
    random_state: RandomState

    estimators_: list[EstimatorLike]
    weights_: FloatArray
    power_: float
    latency_us_: float
    leaderboard_: list[dict[str, Any]]
    score_trace_: list[dict[str, Any]]
    skipped_members_: list[str]
    score_estimate_: Any
    score_error_: Any
    classes_: Any
    _schema: Schema
    _texts: TextReader = TextReader()

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, *, groups: ArrayLike | None = None) -> Self:
        """Fit the portfolio, weight its models, estimate the score.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers, categories and texts; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values. With several columns a committee is fitted to each of them, as if it were alone; they
            share the time budget.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows, which the metric counts: a function must have the parameter ``sample_weight``.
        groups : array-like of shape (n_samples,), optional
            Groups of dependent rows: folds, bootstrap samples and the standard error keep them together.

        Returns
        -------
        self
        """
        self._validate_params()
        self._check_names()
        started = time.perf_counter()
        X = collect_table(X)
        seed = resolve_seed(self.random_state)
        deadline = None if self.time_budget is None else started + self.time_budget
        fit = self._fit_outputs if has_several_columns(y) else self._fit_output
        fit(GivenTable(X, y, sample_weight, groups, seed, deadline))
        return self

    def _fit_output(self, given: GivenTable) -> None:
        """Fit to one target."""
        y, sample_weight, seed = given.y, given.sample_weight, given.seed
        counted = find_counted_rows(given.X, y, sample_weight, getattr(self, "class_weight", None), type(self).__name__)
        with limit_blas():
            texts = fit_text_reader(given.X, self.text_columns, self.categorical_features, counted)
        X, tfidf = texts.split_texts(given.X)
        dataset = self._take_in(X, y, sample_weight)
        table, with_words = texts.add_topics(dataset.X, tfidf)
        target = dataset.target
        assert target is not None
        given_rows = self._make_training_set(dataset, target, table, given.groups)
        present = PresentRows.find(given_rows)
        training, target = present.select_training(given_rows), present.select_target(target)
        context = self._make_context(dataset, training, seed, given.deadline)
        preset = context.preset

        def divide(*repeats: int) -> Folds:
            return present.renumber(self._plan_folds(given_rows, seed, repeats))

        folds = divide(*range(preset.n_repeats))
        # In other orders rows have other folds, unless each of them is one.
        if self.cv is None and given_rows.groups is None and training.n_rows > preset.n_folds:
            # A budget is first spent on all members once.
            further = range(preset.n_repeats, preset.network_repeats if given.deadline is None else 0)
            context = replace(context, divide=divide, further_folds=divide(*further) if further else [])
        combiner = MemberCombiner(target, training.weights, training.groups, self.metric, self.combine, seed)
        paired = context.categories if has_pairs(self.portfolio, context) else None
        views = make_views(training, present.select(with_words), context.classify, paired)
        done = self._fit_portfolio(views, folds, context, combiner)
        fitted = self._combine_members(done.members, done.seconds, views, folds, combiner, context)
        fitted["skipped_members_"] = done.skipped
        nested = present.scatter(fitted.pop("nested"))
        name = "oof_decision_function_" if context.classify else "oof_prediction_"
        self._set_fitted(dataset, {**fitted, name: nested if context.classify else nested[:, 0], "_texts": texts})

    def _combine_members(
        self,
        members: list[MemberFit],
        seconds: list[float],
        views: dict[View, TrainingSet],
        folds: Folds,
        combiner: MemberCombiner,
        context: FitContext,
    ) -> dict[str, Any]:
        """Fitted attributes: the members with weight, the leaderboard and the nested estimate of the score."""
        training = views["table"]
        predictions, rows = _stack_predictions(members)
        if not len(rows):
            raise DataError("No row has an out-of-fold prediction from every member; use other folds.")
        first = self._find_first(members)
        weights = np.zeros(len(members))
        latencies = None
        if self.max_latency_us is not None:
            latencies = np.array([self._time_member(one, views, context) for one in members])
        kept, fitted_weights = self._weight_members(predictions, rows, combiner, first, latencies)
        weights[kept] = fitted_weights
        power = combiner.fit_power(sum_weighted(weights, predictions), rows)
        nested, nested_rows = combiner.predict_nested(predictions[kept], rows, folds)
        if not len(nested_rows):
            raise DataError(
                f"The 'cv' parameter of {type(self).__name__} must make at least two folds: weights are fitted to one "
                "and tested on another; all predicted rows are in one."
            )
        estimate = combiner.estimate(nested, nested_rows)
        single = [combiner.estimate(predicted, rows) for predicted in predictions]
        chosen = [k for k, weight in enumerate(weights) if weight > 0.0]
        return {
            "estimators_": [members[k].to_estimator(context.classes) for k in chosen],
            "weights_": weights[chosen],
            "power_": power,
            "leaderboard_": make_leaderboard(members, single, seconds, weights),
            "score_trace_": trace_scores([one.name for one in members], predictions, rows, folds, combiner, first),
            "score_estimate_": estimate.score,
            "score_error_": estimate.error,
            **({} if latencies is None else {"latency_us_": float(latencies[chosen].sum())}),
            # As the out-of-bag predictions of forests, for all rows once those of weight zero are back.
            "nested": nested,
            **({} if context.classify else {"_oof_errors": _rank_nested_errors(training, nested)}),
        }

    def _find_first(self, members: list[MemberFit]) -> int:
        """The first member that may have weight: the constant prior changes no ranking and few votes of a metric."""
        return 0 if self.metric is None or len(members) == 1 else 1

    def _weigh_all(self, members: list[MemberFit], combiner: MemberCombiner) -> FloatArray:
        """Weights of the members without a limit of latency; none if no row has all predictions."""
        predictions, rows = _stack_predictions(members)
        weights, first = np.zeros(len(members)), self._find_first(members)
        if len(rows):
            weights[first:] = combiner.fit_weights(predictions[first:], rows)
        return weights

    def _weight_members(
        self,
        predictions: FloatArray,
        rows: NDArray[np.intp],
        combiner: MemberCombiner,
        first: int,
        latencies: FloatArray | None,
    ) -> tuple[list[int], FloatArray]:
        """The members that may have weight, from the first one on, and their weights."""
        possible = list(range(first, len(predictions)))
        if latencies is None or self.max_latency_us is None:
            return possible, combiner.fit_weights(predictions[first:], rows)
        kept, weights = choose_fast_members(
            latencies[first:],
            self.max_latency_us,
            lambda some: combiner.fit_weights(predictions[[possible[k] for k in some]], rows),
        )
        return [possible[k] for k in kept], weights

    def _time_member(self, one: MemberFit, views: dict[View, TrainingSet], context: FitContext) -> float:
        """Microseconds that a fitted member takes to predict one row."""
        model = one.to_estimator(context.classes)
        table = views["words" if isinstance(model, WordMember) else "table"].X
        row = select_rows(table, np.zeros(1, dtype=np.intp))
        return time_prediction(lambda: predict_member(model, row, one.method, context.classes))

    # Training data.

    def _check_names(self) -> None:
        known = [entry.name for entry in PORTFOLIO]
        unknown = [name for name in self.portfolio or [] if name not in known]
        if unknown or (self.portfolio is not None and not len(self.portfolio)):
            raise ParameterError(
                f"The 'portfolio' parameter of {type(self).__name__} must be None or a list of names among {known}; "
                f"got {self.portfolio!r}."
            )

    def _take_in(self, X: Any, y: Any, sample_weight: ArrayLike | None, text_columns: Any = None) -> Dataset:
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task=self._task,
            class_weight=getattr(self, "class_weight", None),
            categorical_features=self.categorical_features,
            unseen=self.unseen,
            text_columns=text_columns,
            multi_output=False,
        )
        n_positive = dataset.n_rows if dataset.weights is None else np.count_nonzero(dataset.weights)
        if n_positive < 2:
            raise DataError(
                f"{type(self).__name__} needs two rows, one to learn from and one to be tested on; got n_samples = "
                f"{n_positive}."
            )
        return dataset

    def _make_training_set(
        self, dataset: Dataset, target: ClassTarget | ValueTarget, X: Any, groups: ArrayLike | None
    ) -> TrainingSet:
        y: NDArray[Any] = target.labels.astype(np.intp) if isinstance(target, ClassTarget) else target.values
        weights = dataset.count_weights()
        if groups is not None:
            groups = np.asarray(groups)
            if groups.shape != (dataset.n_rows,):
                raise DataError(f"groups must have an entry for each of the {dataset.n_rows} rows; got {groups.shape}.")
        return TrainingSet(X, y[:, 0], weights, groups)

    def _make_context(self, dataset: Dataset, training: TrainingSet, seed: int, deadline: float | None) -> FitContext:
        target = dataset.target
        return FitContext(
            n_classes=int(target.n_classes[0]) if isinstance(target, ClassTarget) else 0,
            categories=[k for k, levels in enumerate(dataset.schema.categories) if levels is not None],
            n_columns=int(training.X.shape[1]),
            grouped=training.groups is not None,
            # A row of large weight is in nearly every bootstrap sample, so that it has no out-of-bag prediction.
            own_folds=self.cv is not None or training.weights is not None,
            n_jobs=self.n_jobs,
            seed=seed,
            deadline=deadline,
            preset=self._find_preset(training, training.n_rows),
        )

    def _find_preset(self, training: TrainingSet, n_rows: int) -> Preset:
        n_columns = 0 if issparse(training.X) else int(training.X.shape[1])
        n_classes = len(np.unique(training.y)) if self._task == "classify" else 0
        return find_preset(self.preset, n_rows, n_columns, n_classes)

    def _plan_folds(self, training: TrainingSet, seed: int, repeats: Iterable[int] = (0,)) -> Folds:
        """The folds that the user has given, those of groups, or those of so many orders of the rows."""
        classify = self._task == "classify"
        if self.cv is not None:
            return plan_folds(
                self.cv,
                training.X,
                training.y,
                training.groups,
                classify,
                training.weights,
                subject=f"The 'cv' parameter of {type(self).__name__}",
            )
        kept = np.arange(training.n_rows) if training.weights is None else np.flatnonzero(training.weights)
        preset = self._find_preset(training, len(kept))
        if training.groups is not None:
            return divide_groups(training, kept, preset)
        return divide_rows(training.y, kept, preset, repeats, seed, classify=classify)

    def _set_fitted(self, dataset: Dataset, fitted: dict[str, Any]) -> None:
        schema, target = dataset.schema, dataset.target
        fitted = {**fitted, "n_features_in_": schema.n_inputs, "_schema": schema}
        if isinstance(target, ClassTarget):
            fitted["classes_"] = target.classes[0]
        if schema.input_names is not None:
            fitted["feature_names_in_"] = np.asarray(schema.input_names, dtype=object)
        self._replace_fitted(fitted, optional=("feature_names_in_", "latency_us_", "_outputs", "n_outputs_"))

    # Predictions.

    def __sklearn_is_fitted__(self) -> bool:
        return "weights_" in self.__dict__ or "_outputs" in self.__dict__

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise not_fitted_error(self)

    def _average(self, X: Any) -> FloatArray:
        """The weighted mean of the members: probabilities, or one column of values."""
        self._check_fitted()
        X, tfidf = self._texts.split_texts(collect_table(X, self._schema.input_names))
        table, with_words = self._texts.add_topics(take_in_rows(self, X, self._schema), tfidf)
        classify = self._task == "classify"
        classes = [np.arange(len(self.classes_))] if classify else None
        method = "predict_proba" if classify else "predict"
        predictions = (
            predict_member(member, with_words if isinstance(member, WordMember) else table, method, classes)
            for member in self.estimators_
        )
        mean = sum_weighted(self.weights_, predictions)
        return sharpen_probabilities(mean, self.power_) if classify else mean


def _stack_predictions(members: list[MemberFit]) -> tuple[FloatArray, NDArray[np.intp]]:
    """The out-of-fold predictions of all members, zeros where one has none, and the rows that have all of them."""
    known = find_predicted_rows(members)
    return np.stack([np.where(known[:, None], one.predictions, 0.0) for one in members]), np.flatnonzero(known)


def _rank_nested_errors(training: TrainingSet, nested: FloatArray) -> FloatArray:
    return rank_errors(np.abs(training.y - nested[:, 0]), training.weights)
