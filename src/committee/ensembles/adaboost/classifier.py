"""AdaBoost: members that are fitted one after another, each on the errors of those before it [FreundSchapire1997].

The algorithm is `AdaBoostClassifier._boost`. The formulas of its variants are in `algorithms` and `additive`, the
fitting of members in `learners` and `regression_learners`, warm starts in `warm_start`.
"""

from __future__ import annotations

from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, cast

import numpy as np

from committee.base import resolve_seed
from committee.data import ClassTarget
from committee.data.device_tables import copy_to_host
from committee.data.rows import select_rows
from committee.engines.choice import refuse_members
from committee.ensembles.adaboost.additive import ADDITIVE_ALGORITHMS, AdditiveAlgorithm, AdditiveFit
from committee.ensembles.adaboost.algorithms import ALGORITHMS, Algorithm
from committee.ensembles.adaboost.block_learner import BlockTreeLearner, can_keep_weights, open_tree_blocks
from committee.ensembles.adaboost.history import AccuracyEarlyStopping, BoostingHistory
from committee.ensembles.adaboost.learners import AnyLearner, TreeLearner
from committee.ensembles.adaboost.members import is_plain_stump
from committee.ensembles.adaboost.params import (
    AccuracyPatience,
    AdaBoostAlgorithm,
    AdaBoostMember,
    AdaBoostRounds,
    KeepSampleWeights,
    StumpEngine,
    WeightingMethod,
)
from committee.ensembles.adaboost.regression_learners import AnyRegressionLearner, TreeRegressionLearner
from committee.ensembles.adaboost.resampling import plan_resampling
from committee.ensembles.adaboost.several_targets import SeveralTargetsAdaBoost
from committee.ensembles.adaboost.stump_learner import StumpLearner
from committee.ensembles.adaboost.warm_start import ResumableAdaBoost
from committee.ensembles.fit_callbacks import end_step, report_tasks
from committee.ensembles.shared_bins import can_share_bins, read_dataset_rows
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.learners.tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.params import (
    HoldOutFraction,
    LearningRate,
    MemberTextColumns,
    NJobs,
    RandomState,
    StoppingTol,
    WarmStart,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from committee.data import Dataset
    from committee.ensembles.adaboost.learners import MemberLearner, WeightedLearner
    from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees
    from committee.ensembles.adaboost.regression_learners import RegressionLearner
    from committee.ensembles.adaboost.resampling import Resampling
    from committee.ensembles.fit_callbacks import FitInput
    from committee.ensembles.progress import ProgressCallback
    from committee.typing import EstimatorLike, FloatArray, Task

__all__ = ["AdaBoostClassifier"]

_LARGEST_RATE = 1e290  # with which sums of votes are numbers


class AdaBoostClassifier(SeveralTargetsAdaBoost, ResumableAdaBoost):
    r"""Boosting by reweighting: each member is fitted with more weight on the rows that earlier members misclassified.

    With labels :math:`y_i = \pm 1` and weights :math:`D_1(i) = 1/n`, round t fits :math:`h_t` on :math:`D_t`, measures
    its error :math:`\varepsilon_t = \sum_i D_t(i) [h_t(x_i) \ne y_i]`, gives it the weight
    :math:`\alpha_t = \frac12 \log \frac{1 - \varepsilon_t}{\varepsilon_t}` and sets
    :math:`D_{t+1}(i) \propto D_t(i) e^{-\alpha_t y_i h_t(x_i)}`; the prediction is the sign of
    :math:`f(x) = \sum_t \alpha_t h_t(x)` [FreundSchapire1997]_. This minimises the exponential loss
    :math:`\frac1n \sum_i e^{-y_i f(x_i)}` step by step. Its minimiser over all functions is half the log-odds of the
    classes, from which `predict_proba` follows [FriedmanHastieTibshirani2000]_. ``"samme"`` is the form for K classes
    [Zhu2009]_; for two, :math:`\alpha` is twice as large and only the weights of misclassified rows are raised, which
    is equivalent.

    Among equal stumps the lowest feature and threshold win. A fit with exact stumps takes the same steps as
    scikit-learn's.

    Attributes
    ----------
    estimator_ : estimator
        The estimator that the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members; of several targets an ensemble for each, and the attributes of members are theirs.
    estimator_weights_ : ndarray of shape (n_members,)
        Weights of the members, alpha.
    estimator_errors_ : ndarray of shape (n_members,)
        Weighted errors, epsilon.
    edges_ : ndarray of shape (n_members,)
        Edge of each member over chance: 1 - 1/K - epsilon.
    exponential_loss_ : ndarray of shape (n_members,)
        Mean exponential loss on the training rows after each round.
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Row weights that each member was fitted with, with ``keep_sample_weights=True``.
    validation_scores_ : ndarray
        Accuracy on the validation set after each round, with ``n_iter_no_change``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the members' importances, weighted by the absolute weights of the members.
    classes_ : ndarray, or a list of them, one for each target
        The classes, sorted.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had names.

    Examples
    --------
    >>> from committee import AdaBoostClassifier, DecisionStumpClassifier
    >>> X = [[x] for x in range(10)]
    >>> y = [1, 1, 1, -1, -1, -1, 1, 1, 1, -1]
    >>> model = AdaBoostClassifier(DecisionStumpClassifier(), n_estimators=3, algorithm="discrete").fit(X, y)
    >>> model.estimator_weights_.round(2).tolist()
    [0.42, 0.65, 0.75]
    >>> model.score(X, y)
    1.0
    """

    estimator_: Any
    edges_: FloatArray
    _seed: int
    _ended: bool
    accepts_device: ClassVar[bool] = True
    # Models of earlier versions do not have it.
    engine: StumpEngine = "cpu"

    def __init__(
        self,
        estimator: AdaBoostMember = None,
        *,
        n_estimators: AdaBoostRounds = 50,
        learning_rate: LearningRate = 1.0,
        algorithm: AdaBoostAlgorithm = "samme",
        method: WeightingMethod = "reweight",
        n_iter_no_change: AccuracyPatience = None,
        validation_fraction: HoldOutFraction = 0.1,
        tol: StoppingTol = 0.0,
        keep_sample_weights: KeepSampleWeights = False,
        warm_start: WarmStart = False,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        engine: StumpEngine = "cpu",
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.learning_rate = learning_rate
        self.algorithm = algorithm
        self.method = method
        self.n_iter_no_change = n_iter_no_change
        self.validation_fraction = validation_fraction
        self.tol = tol
        self.keep_sample_weights = keep_sample_weights
        self.warm_start = warm_start
        self.text_columns = text_columns
        self.n_jobs = n_jobs
        self.engine = engine
        self.random_state = random_state

    # The algorithm.

    def _boost(
        self,
        learner: WeightedLearner,
        algorithm: Algorithm,
        history: BoostingHistory,
        stopping: AccuracyEarlyStopping | None,
        on_progress: ProgressCallback | None,
    ) -> None:
        """AdaBoost; the learner holds the row weights D."""
        for t in range(len(history), int(self.n_estimators)):
            if history.ended:  # the last member was perfect
                break
            if self.keep_sample_weights:
                history.sample_weights.append(learner.weights)
            predictions = learner.fit_member(t)  # h_t, fitted on D_t
            result = algorithm.run_round(predictions, learner.weighted_sum)  # epsilon_t, alpha_t, the factors of D_t
            if result is None:  # no better than chance
                learner.drop_member()
                history.ended = True
                break
            history.append(result)
            if result.factors is not None:
                if not (result.factors.min() > 0.0 and result.factors.max() < np.inf):  # or some are no numbers
                    warn_caller(
                        f"Sample weights have reached infinite values, at iteration {t}, causing overflow. Iterations "
                        "stopped. Try lowering the learning rate.",
                        UserWarning,
                    )
                    history.ended = True
                    end_step(on_progress, len(history))
                    break
                learner.multiply_weights(result.factors)  # D_{t+1}
            stops = end_step(on_progress, len(history))
            if stops or (stopping is not None and stopping.update(learner.last_round(), history.weights)):
                break

    def _boost_regressions(
        self,
        learner: RegressionLearner,
        additive: AdditiveFit,
        history: BoostingHistory,
        stopping: AccuracyEarlyStopping | None,
        on_progress: ProgressCallback | None,
    ) -> None:
        """Gentle AdaBoost and LogitBoost: fit regressions to the working response and add them to f."""
        for t in range(len(history), int(self.n_estimators)):
            response, weights = additive.working_response()
            if self.keep_sample_weights:
                history.sample_weights.append(additive.average_weights(weights))
            n = response.shape[1]
            values = [learner.fit_member(t * n + k, response[:, k], weights[:, k]) for k in range(n)]
            side_by_side = values[0][:, None] if n == 1 else np.stack(values, axis=1)
            history.append(additive.add_round(side_by_side, weights))
            stops = end_step(on_progress, len(history))
            if stops or (stopping is not None and stopping.update(learner.last_round(), history.weights)):
                break

    # Fitting.

    def _fit_target(
        self, member: EstimatorLike, dataset: Dataset, given: FitInput, fit_params: Mapping[str, object]
    ) -> None:
        """As in `SeveralTargetsAdaBoost`."""
        algorithm = self._make_algorithm(dataset)
        kept = self._find_kept(dataset, algorithm)
        seed = resolve_seed(self.random_state) if kept is None else self._seed
        history = BoostingHistory() if kept is None else self._resume_history()
        weights, stopping = self._hold_out(member, dataset, algorithm, seed)
        dataset = dataset.reweighted(weights, dataset.row_weight)
        resampling = None
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, given.sample_weight, seed)
        learner: WeightedLearner | RegressionLearner
        options: dict[str, Any] = {"kept": kept, "resampling": resampling, "fit_params": fit_params}
        if isinstance(algorithm, AdditiveAlgorithm):
            learner = self._make_regression_learner(member, dataset, weights, seed, algorithm, **options)
            additive = self._start_additive_fit(given.X, dataset, algorithm, weights, kept)
            boost = partial(self._boost_regressions, learner, additive, history, stopping)
        else:
            if kept is not None:
                weights = self._resume_weights(given.X, dataset)
            learner = self._make_learner(member, dataset, weights, seed, algorithm, **options)
            boost = partial(self._boost, learner, algorithm, history, stopping)

        def list_fitted(_: int) -> dict[str, object]:
            return self._list_fitted(member, learner.finalize(), algorithm, history, dataset, seed)

        span = range(len(history), int(self.n_estimators))
        tasks = report_tasks(self, "Boosting", span, given=given, partial_fit=list_fitted)
        with closing(learner), tasks as on_progress:
            boost(on_progress)
            self._set_fitted(member, learner, algorithm, history, stopping, dataset, seed)

    def _check_member(self, member: EstimatorLike, condition: str = "") -> None:
        """Members are classifiers or regressors, as the algorithm asks for."""
        super()._check_member(member, f" for algorithm={self.algorithm!r}")

    def _take_in(self, member: EstimatorLike, X: Any, y: Any, sample_weight: Any) -> Dataset:
        """A table on a GPU stays there for stumps only."""
        dataset = super()._take_in(member, X, y, sample_weight)
        return dataset if self._boosts_stumps(member) else dataset.on_host()

    def _choose_member(self) -> Any:
        """The estimator that is cloned for each member."""
        if self.estimator is not None:
            return self.estimator
        if self._member_task() == "regress":
            return DecisionTreeRegressor(max_depth=1)
        return DecisionTreeClassifier(max_depth=1)

    def _member_task(self) -> Task:
        """Whether the members are classifiers or regressors."""
        return "regress" if str(self.algorithm).lower() in ADDITIVE_ALGORITHMS else "classify"

    def _make_algorithm(self, dataset: Dataset) -> Algorithm:
        kind = {**ALGORITHMS, **ADDITIVE_ALGORITHMS}[str(self.algorithm).lower()]
        assert isinstance(dataset.target, ClassTarget)
        n_classes = dataset.target.n_classes[0]
        if kind.two_classes and n_classes > 2:
            other = "samme" if self.algorithm == "discrete" else "samme.r"
            raise DataError(
                f"algorithm={self.algorithm!r} of {type(self).__name__} is for two classes; y has {n_classes}. Use "
                f"algorithm={other!r}."
            )
        return kind(n_classes, min(float(self.learning_rate), _LARGEST_RATE), 0.5 / dataset.n_counted)

    def _hold_out(
        self, member: EstimatorLike, dataset: Dataset, algorithm: Algorithm, seed: int
    ) -> tuple[FloatArray | None, AccuracyEarlyStopping | None]:
        """Weights of the first round, zero for the validation set, and early stopping by that set."""
        weights, target = dataset.weights, dataset.target
        if self.n_iter_no_change is None:
            return weights, None
        assert isinstance(target, ClassTarget)
        labels = target.labels[:, 0].astype(np.intp)
        present = np.ones(dataset.n_rows, dtype=bool) if weights is None else weights > 0.0
        rng, held_out = np.random.default_rng([seed, dataset.n_rows]), []
        for k in range(algorithm.n_classes):
            own = rng.permutation(np.flatnonzero(present & (labels == k)))
            held_out.append(own[: round(len(own) * float(self.validation_fraction))])
        rows = np.sort(np.concatenate(held_out))
        if not len(rows):
            raise ParameterError(
                f"The 'validation_fraction' parameter of {type(self).__name__} must be so large that a row is held out "
                f"for validation; {self.validation_fraction} of {dataset.n_rows} rows is none."
            )
        weights = np.ones(dataset.n_rows) if weights is None else weights.copy()
        own = weights[rows]
        weights[rows] = 0.0
        if not weights.any():
            raise ParameterError(
                f"The 'validation_fraction' parameter of {type(self).__name__} must leave rows to fit; "
                f"{self.validation_fraction} of {int(present.sum())} rows is all of them."
            )
        shared = can_share_bins(member, self._member_task())
        table = copy_to_host(select_rows(read_dataset_rows(dataset) if shared else dataset.X, rows))
        patience, tol = int(self.n_iter_no_change), float(self.tol)
        return weights, AccuracyEarlyStopping(table, labels[rows], own, algorithm, patience, tol)

    def _make_learner(
        self,
        member: EstimatorLike,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        algorithm: Algorithm,
        *,
        kept: BoostedTrees | BoostedMembers | None,
        resampling: Resampling | None,
        fit_params: Mapping[str, object],
    ) -> WeightedLearner:
        """The fastest learner that can fit the member."""
        if not can_share_bins(member, "classify"):
            self._refuse_engine(f"members of {type(member).__name__}")
            others = cast("BoostedMembers | None", kept)
            return AnyLearner(
                member,
                dataset.X,
                dataset,
                weights,
                seed,
                kept=others,
                resampling=resampling,
                needs_proba=algorithm.combine == "scores",
                fit_params=fit_params,
            )
        trees = cast("BoostedTrees | None", kept)
        if self._boosts_stumps(member):
            return StumpLearner(member, dataset, weights, seed, n_jobs=self.n_jobs, kept=trees, engine=self.engine)
        self._refuse_engine("members on samples" if resampling is not None else "trees that are no plain stumps")
        blocks = open_tree_blocks(type(self).__name__, member, dataset, int(self.n_estimators))
        if blocks is not None and resampling is None and can_keep_weights(member):
            return BlockTreeLearner(member, dataset, weights, seed, kept=trees, blocks=blocks)
        return TreeLearner(
            member, dataset, weights, seed, n_jobs=self.n_jobs, kept=trees, resampling=resampling, blocks=blocks
        )

    def _boosts_stumps(self, member: EstimatorLike) -> bool:
        """Whether members are boosted by `StumpLearner`."""
        return self.method != "resample" and can_share_bins(member, "classify") and is_plain_stump(member)

    def _refuse_engine(self, what: str) -> None:
        refuse_members(self.engine, type(self).__name__, what)

    def _make_regression_learner(
        self,
        member: EstimatorLike,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int,
        algorithm: AdditiveAlgorithm,
        *,
        kept: BoostedTrees | BoostedMembers | None,
        resampling: Resampling | None,
        fit_params: Mapping[str, object],
    ) -> RegressionLearner:
        """The learner of regressions: trees on shared bins, or any regressor."""
        n_in_round = algorithm.width
        self._refuse_engine(f"algorithm={self.algorithm!r}, whose members are regressors")
        if can_share_bins(member, "regress"):
            trees = cast("BoostedTrees | None", kept)
            blocks = open_tree_blocks(type(self).__name__, member, dataset, int(self.n_estimators))
            return TreeRegressionLearner(
                member,
                dataset,
                seed,
                n_jobs=self.n_jobs,
                kept=trees,
                resampling=resampling,
                n_in_round=n_in_round,
                blocks=blocks,
            )
        assert isinstance(dataset.target, ClassTarget)
        classes, table = dataset.target.classes[0], dataset.X
        others = cast("BoostedMembers | None", kept)
        return AnyRegressionLearner(
            member,
            table,
            weights,
            classes,
            seed,
            kept=others,
            resampling=resampling,
            fit_params=fit_params,
            n_in_round=n_in_round,
        )

    def _start_additive_fit(
        self,
        X: Any,
        dataset: Dataset,
        algorithm: AdditiveAlgorithm,
        weights: FloatArray | None,
        kept: BoostedTrees | BoostedMembers | None,
    ) -> AdditiveFit:
        """F = 0, or the sum of the kept members."""
        assert isinstance(dataset.target, ClassTarget)
        labels, sums = dataset.target.labels[:, 0], None
        if kept is not None:
            past = self.estimator_weights_
            sums = kept.sum_rounds(algorithm, self._read_rows(X), past, range(len(past)), self.n_jobs)
        return AdditiveFit(algorithm, labels, weights, sums)

    def _set_fitted(
        self,
        member: EstimatorLike,
        learner: MemberLearner,
        algorithm: Algorithm,
        history: BoostingHistory,
        stopping: AccuracyEarlyStopping | None,
        dataset: Dataset,
        seed: int,
    ) -> None:
        """Set the fitted attributes; with early stopping, those of the rounds up to the best."""
        if not len(history):
            raise DataError(
                f"BaseClassifier in {type(self).__name__} ensemble is worse than random, ensemble can not be fit: the "
                f"first {type(member).__name__} errs on {1.0 - 1.0 / algorithm.n_classes:.0%} of the weight or more."
            )
        members, scored = learner.finalize(), {}
        if stopping is not None:
            n_best = len(history) - len(stopping.scores) + stopping.n_best
            members = members.truncate(n_best * algorithm.width)
            history.truncate(n_best)
            scored["validation_scores_"] = np.array(stopping.scores)
        fitted = self._list_fitted(member, members, algorithm, history, dataset, seed)
        self._set_fitted_attributes({**fitted, **scored})

    def _list_fitted(
        self,
        member: EstimatorLike,
        members: BoostedTrees | BoostedMembers,
        algorithm: Algorithm,
        history: BoostingHistory,
        dataset: Dataset,
        seed: int,
    ) -> dict[str, object]:
        """Fitted attributes by name, after the rounds so far."""
        assert isinstance(dataset.target, ClassTarget)
        errors = np.array(history.errors)
        fitted: dict[str, object] = {
            **self._list_common(member, dataset.schema),
            "classes_": dataset.target.classes[0],
            "n_classes_": algorithm.n_classes,
            "estimator_weights_": np.array(history.weights),
            "estimator_errors_": errors,
            "edges_": 1.0 - 1.0 / algorithm.n_classes - errors,
            "exponential_loss_": np.array(history.losses),
            "_members": members,
            "_rule": algorithm,
            "_seed": seed,
            "_ended": history.ended,
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(history.sample_weights[: len(history)])
        return fitted
