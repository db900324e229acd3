"""AdaBoost for regression: R2 weights rows by the size of their errors, RT by whether these exceed a threshold."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d

from committee.base import RegressorScoreMixin, resolve_jobs, resolve_seed
from committee.data import ValueTarget
from committee.engines import get_engine
from committee.engines.exact_sums import normalize_exactly, sum_over_rows
from committee.engines.formula import (
    Arithmetic,
    ConstantTerm,
    JoinedTerms,
    ModelFormula,
    RowFunction,
    TableRow,
    WeightedMedian,
)
from committee.engines.several_targets import join_tree_models, present_targets
from committee.engines.tree_model import TreeModel
from committee.ensembles.adaboost.block_learner import open_tree_blocks
from committee.ensembles.adaboost.history import BoostingHistory
from committee.ensembles.adaboost.members import BoostedMembers
from committee.ensembles.adaboost.params import (
    AdaBoostRegressorMember,
    AdaBoostRounds,
    ErrorPower,
    ErrorThreshold,
    KeepSampleWeights,
    RegressorAlgorithm,
    RegressorLoss,
    WeightingMethod,
)
from committee.ensembles.adaboost.regression_learners import AnyRegressionLearner, TreeRegressionLearner
from committee.ensembles.adaboost.resampling import plan_resampling
from committee.ensembles.adaboost.several_targets import SeveralTargetsAdaBoost
from committee.ensembles.fit_callbacks import end_step, report_tasks
from committee.ensembles.member_formulas import open_members
from committee.ensembles.shared_bins import can_share_bins
from committee.exceptions import ParameterTypeError
from committee.learners.formula_rows import find_medians
from committee.learners.tree import DecisionTreeRegressor
from committee.losses import apply_exp, apply_log
from committee.params import LearningRate, MemberTextColumns, NJobs, RandomState
from committee.scoring.direct import explain_variance

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from committee.data import Dataset
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.adaboost.regression_learners import RegressionLearner
    from committee.ensembles.fit_callbacks import FitInput
    from committee.ensembles.progress import ProgressCallback
    from committee.typing import BoolArray, EstimatorLike, FloatArray, Task

__all__ = ["AdaBoostRegressor"]

_ROUNDING = 1e-12  # what sums of weights may be off by
_HALF_OF_WEIGHT = 0.5 - _ROUNDING
_LARGEST_VOTE = 1e300
_LARGEST_PRODUCT = 1e100  # a weight that may be multiplied by any prediction


def _multiply_out(base: float, power: int) -> float:
    """The power by products alone, which round in the same way on every processor."""
    result = 1.0
    while power:
        result *= base if power & 1 else 1.0
        base, power = base * base, power >> 1
    return result


class AdaBoostRegressor(RegressorScoreMixin, SeveralTargetsAdaBoost):
    r"""Boosting of regressors: each member is fitted with more weight on the rows that earlier members predicted badly.

    AdaBoost.R2 [Drucker1997]_: with losses :math:`L_i \in [0, 1]` of the rows and their mean
    :math:`\varepsilon_t = \sum_i D_t(i) L_i`, :math:`\beta_t = \varepsilon_t / (1 - \varepsilon_t)`, a row's weight is
    multiplied by :math:`\beta_t^{1 - L_i}`, and the prediction is the median of the members, weighted
    by :math:`\log 1/\beta_t`. It ends at :math:`\varepsilon_t \ge 1/2`. The thresholding form, AdaBoost.RT
    [SolomatineShrestha2004]_, has :math:`L_i = 1` where the relative error exceeds a threshold and 0 elsewhere,
    :math:`\beta_t = \varepsilon_t^p`, and predicts the mean with the same weights.

    Attributes
    ----------
    estimator_ : estimator
        The estimator that the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members; of several targets an ensemble for each, and the attributes of members are theirs.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_members,)
        Weights of the members, log 1/beta, and their mean losses epsilon.
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Row weights of each round, with ``keep_sample_weights=True``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the members' importances, weighted by the weights of the members.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import AdaBoostRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AdaBoostRegressor(n_estimators=50, loss="square", random_state=0).fit(X, y)
    >>> 0.5 < model.score(X, y) < 0.7
    True
    """

    estimator_: Any
    estimator_weights_: FloatArray
    estimator_errors_: FloatArray
    _takes_median: bool
    _task: ClassVar[Task] = "regress"

    def __init__(
        self,
        estimator: AdaBoostRegressorMember = None,
        *,
        n_estimators: AdaBoostRounds = 50,
        learning_rate: LearningRate = 1.0,
        loss: RegressorLoss = "linear",
        algorithm: RegressorAlgorithm = "r2",
        threshold: ErrorThreshold = 0.1,
        power: ErrorPower = 2,
        method: WeightingMethod = "resample",
        keep_sample_weights: KeepSampleWeights = False,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.loss = loss
        self.algorithm = algorithm
        self.threshold = threshold
        self.power = power
        self.method = method
        self.keep_sample_weights = keep_sample_weights
        self.text_columns = text_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    # The algorithm.

    def _boost(
        self,
        learner: RegressionLearner,
        y: FloatArray,
        D: FloatArray,
        history: BoostingHistory,
        on_progress: ProgressCallback | None,
    ) -> None:
        """AdaBoost for regression; the history gets errors, weights and D of the rounds."""
        for t in range(int(self.n_estimators)):
            losses = self._measure_losses(learner.fit_member(t, y, D), y, D > 0.0)  # of a member fitted on D_t
            error = sum_over_rows(D, losses)
            if error >= (0.5 if self.algorithm == "r2" else 1.0) - _ROUNDING:  # no better than chance
                if t:
                    learner.drop_member()
                    break
                beta, alpha = 1.0, 0.0
            elif error <= 0.0:  # perfect
                beta, alpha = 0.0, 1.0
            else:
                beta = error / (1.0 - error) if self.algorithm == "r2" else _multiply_out(error, int(self.power))
                # A power may be too large for doubles, and so may be a learning rate.
                with np.errstate(over="ignore"):
                    alpha = (
                        min(self.learning_rate * float(apply_log(np.asarray(1.0 / beta))), _LARGEST_VOTE)
                        if beta > 0.0
                        else 1.0
                    )
            history.errors.append(error)
            history.weights.append(float(alpha))
            history.sample_weights.append(D)
            if end_step(on_progress, len(history)) or not 0.0 < beta < 1.0:
                break
            with np.errstate(over="ignore"):  # to minus infinity, whose exponential is zero
                D = D * apply_exp(float(apply_log(np.asarray(beta))) * ((1.0 - losses) * self.learning_rate))
            if not D.any():  # every row is predicted so well that its weight vanishes
                break
            D = normalize_exactly(D)

    def _measure_losses(self, predictions: FloatArray, y: FloatArray, present: BoolArray) -> FloatArray:
        """Losses of the rows, in [0, 1]; rows that are absent do not count."""
        absolute = np.abs(predictions - y)
        if self.algorithm == "rt":
            with np.errstate(over="ignore"):  # no loss is above an infinite threshold
                return (absolute > self.threshold * np.abs(y)).astype(np.float64)
        absolute = absolute if present.all() else np.where(present, absolute, 0.0)
        largest = absolute.max()
        relative = absolute / (largest if largest > 0.0 else 1.0)
        if self.loss == "square":
            return np.asarray(relative**2)
        return relative if self.loss == "linear" else 1.0 - apply_exp(-relative)

    # Fitting.

    def _fit_target(
        self, member: EstimatorLike, dataset: Dataset, given: FitInput, fit_params: Mapping[str, object]
    ) -> None:
        """As in `SeveralTargetsAdaBoost`."""
        assert isinstance(dataset.target, ValueTarget)
        learner = self._make_learner(member, dataset, given.sample_weight, fit_params)
        start = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
        values, history = dataset.target.values[:, 0], BoostingHistory()

        def list_fitted(_: int) -> dict[str, object]:
            return self._list_fitted(member, learner, history, dataset)

        span = range(int(self.n_estimators))
        tasks = report_tasks(self, "Boosting", span, given=given, partial_fit=list_fitted)
        with closing(learner), tasks as on_progress:
            self._boost(learner, values, normalize_exactly(start), history, on_progress)
            self._set_fitted_attributes(list_fitted(len(history)))

    def _list_fitted(
        self, member: EstimatorLike, learner: RegressionLearner, history: BoostingHistory, dataset: Dataset
    ) -> dict[str, object]:
        """Fitted attributes by name, after the rounds so far."""
        fitted: dict[str, object] = {
            **self._list_common(member, dataset.schema),
            "estimator_weights_": np.array(history.weights),
            "estimator_errors_": np.array(history.errors),
            "_members": learner.finalize(),
            "_takes_median": self.algorithm == "r2",
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(history.sample_weights)
        return fitted

    def _choose_member(self) -> Any:
        """The estimator that is cloned for each member."""
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _member_task(self) -> Task:
        """The members are regressors."""
        return "regress"

    def _make_learner(
        self, member: EstimatorLike, dataset: Dataset, sample_weight: Any, fit_params: Mapping[str, object]
    ) -> RegressionLearner:
        seed, resampling = resolve_seed(self.random_state), None
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, sample_weight, seed)
        if can_share_bins(member, "regress"):
            blocks = open_tree_blocks(type(self).__name__, member, dataset, int(self.n_estimators))
            return TreeRegressionLearner(
                member, dataset, seed, n_jobs=self.n_jobs, kept=None, resampling=resampling, blocks=blocks
            )
        table, no_classes = dataset.X, np.empty(0)
        return AnyRegressionLearner(
            member, table, dataset.weights, no_classes, seed, kept=None, resampling=resampling, fit_params=fit_params
        )

    # Predictions.

    def _predict_members(self, X: Any) -> FloatArray:
        """Predictions of each member, of shape (n_rows, n_members)."""
        rows, n = self._read_rows(X), len(self.estimator_weights_)
        columns = np.arange(n, dtype=np.uint32)
        return self._members.sum_values(rows, np.ones(n), columns, range(n), self.n_jobs)

    def _combine(self, values: FloatArray) -> FloatArray:
        """Weighted median of the first members, or their weighted mean."""
        weights = self.estimator_weights_[: values.shape[1]]
        if not self._takes_median:
            if weights.sum() == 0.0:
                return np.asarray(values.mean(axis=1))
            weights = weights / weights.max() if weights.max() > _LARGEST_PRODUCT else weights  # of far learning rates
            return np.asarray((values * weights).sum(axis=1) / weights.sum())
        return find_medians(values, weights, _HALF_OF_WEIGHT)

    def predict(self, X: Any) -> FloatArray:
        """Weighted median (R2) or weighted mean (RT) of the members' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if "_outputs" in self.__dict__:
            return self._stack_predictions(X)
        return self._combine(self._predict_members(X))

    def staged_predict(self, X: Any) -> Iterator[FloatArray]:
        """`predict` after each round; the ensemble of a target that ended early stays as it is.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Yields
        ------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if "_outputs" in self.__dict__:
            yield from self._stage_predictions(X)
            return
        values = self._predict_members(X)
        if self._takes_median:
            yield from self._stage_medians(values)
            return
        for n in range(1, values.shape[1] + 1):
            yield self._combine(values[:, :n])

    def _stage_medians(self, values: FloatArray) -> FloatArray:
        """Weighted medians of the first members, for each number of them, of shape (n_members, n_rows)."""
        jobs = resolve_jobs(self.n_jobs)
        return get_engine().find_staged_medians(
            np.ascontiguousarray(values), self.estimator_weights_, _HALF_OF_WEIGHT, jobs
        )

    def staged_score(self, X: Any, y: Any, sample_weight: Any = None) -> Iterator[float]:
        """R² after each round.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        y : array-like of shape (n_samples,)
            Their values.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Yields
        ------
        float
        """
        true, weights = None, None
        for predictions in self.staged_predict(X):
            if true is not None:
                yield explain_variance(true, predictions.reshape(true.shape), weights)
                continue
            # scikit-learn checks the values and weights, which are those of all rounds.
            yield float(r2_score(y, predictions, sample_weight=sample_weight))
            true = np.asarray(y, dtype=np.float64).reshape(len(predictions), -1)
            weights = None if sample_weight is None else column_or_1d(sample_weight)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        if "_outputs" in self.__dict__:
            return present_targets(self._outputs, row, self._schema.n_features)
        members, weights, schema = self._fitted_members(), self.estimator_weights_, self._schema
        if isinstance(members, BoostedMembers):
            opened = open_members(self, members.estimators, row)
            row, schema = opened.row, opened.schema
            values: FormulaTerm = JoinedTerms(tuple(member.value for member in opened.members))
        else:
            row = TableRow(schema.n_features) if row is None else row
            values = members.value_term(row)
        if self._takes_median:
            return ModelFormula(row, schema, WeightedMedian(values, weights, _HALF_OF_WEIGHT))
        total = weights.sum()
        weighted = Arithmetic("*", values, ConstantTerm(weights)) if total != 0.0 else values
        divisor = ConstantTerm(np.array([total if total != 0.0 else float(len(weights))]))
        return ModelFormula(row, schema, Arithmetic("/", RowFunction("sum", weighted), divisor))

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        if "_outputs" in self.__dict__:
            return join_tree_models([output.to_tree_model() for output in self._outputs])
        members, weights = self._fitted_members(), self.estimator_weights_
        if self._takes_median or isinstance(members, BoostedMembers):
            reason = "takes the median of its members (algorithm='r2')"
            if not self._takes_median:
                reason = f"has members of class {type(self.estimator_).__name__}"
            raise ParameterTypeError(
                f"Only an {type(self).__name__} that takes the mean (algorithm='rt') of this library's trees can be "
                f"inspected as trees; this one {reason}."
            )
        return TreeModel(members.trees, self._schema, "mean", tree_weights=weights if weights.sum() > 0.0 else None)

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, weighted by the weights of the members; mean over the targets."""
        if "_outputs" in self.__dict__:
            return self._average_outputs()
        self._fitted_members()
        weights = self.estimator_weights_
        return self._average_importances(weights if weights.sum() > 0.0 else np.ones_like(weights))
