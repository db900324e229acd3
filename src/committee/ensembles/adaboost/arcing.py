"""Arcing: adaptive resampling and combining, in Breiman's two forms [Breiman1998, Breiman1999b]."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from committee.base import resolve_seed
from committee.data import ClassTarget
from committee.data.opening import opens_table
from committee.engines.formula import Arithmetic
from committee.ensembles.adaboost.algorithms import DiscreteAdaBoost, RoundResult, VotingAlgorithm, as_term
from committee.ensembles.adaboost.block_learner import open_tree_blocks
from committee.ensembles.adaboost.history import BoostingHistory
from committee.ensembles.adaboost.learners import AnyLearner, RowLearner, TreeLearner
from committee.ensembles.adaboost.params import (
    AdaBoostRounds,
    ArcingAlgorithm,
    ArcingMember,
    KeepSampleWeights,
    WeightingMethod,
)
from committee.ensembles.adaboost.predictions import BaseAdaBoostClassifier
from committee.ensembles.adaboost.resampling import plan_resampling
from committee.ensembles.fit_callbacks import FitInput, end_step, report_tasks
from committee.ensembles.member_routing import route_to_members
from committee.ensembles.member_texts import read_member_texts
from committee.ensembles.shared_bins import can_share_bins
from committee.exceptions import DataError
from committee.learners.tree import DecisionTreeClassifier
from committee.losses import apply_exp
from committee.params import MemberTextColumns, NJobs, RandomState

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from committee.data import Dataset
    from committee.engines.formula import FormulaTerm
    from committee.ensembles.adaboost.algorithms import GroupPredictions, Link, WeightedSum
    from committee.ensembles.progress import ProgressCallback
    from committee.typing import EstimatorLike, FloatArray, Task

__all__ = ["ArcingClassifier", "EqualVotes"]

_POWER = 4
"""Power of the number of misclassifications; Breiman tried 1, 2 and 4."""


class EqualVotes(VotingAlgorithm):
    """Majority vote: every member has one vote; f is the fraction of the votes minus 1/K."""

    def run_round(self, predictions: GroupPredictions, weighted_sum: WeightedSum) -> RoundResult:
        """The error is recorded, and ends nothing."""
        return RoundResult(weighted_sum(self.find_errors(predictions)), 1.0, 1.0, np.empty((0, 0)))

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """Fractions of the votes, minus 1/K."""
        return np.asarray(sums / len(weights) - 1.0 / self.n_classes)

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Fractions of the votes."""
        return decision + 1.0 / self.n_classes

    def decision_term(self, sums: FormulaTerm, weights: FloatArray) -> FormulaTerm:
        """`to_decision`."""
        return Arithmetic("-", Arithmetic("/", sums, as_term(len(weights))), as_term(1.0 / self.n_classes))

    def proba_term(self, decision: FormulaTerm) -> FormulaTerm:
        """`to_proba`."""
        return Arithmetic("+", decision, as_term(1.0 / self.n_classes))

    @property
    def link(self) -> Link:
        """Probabilities are f plus a constant, which is none of the links of a `TreeModel`."""
        return "other", 1.0

    def term_weights(self, weights: FloatArray) -> FloatArray:
        """The mean over the members."""
        return weights / len(weights)

    def max_difference(self, weights: FloatArray) -> float:
        """All votes for one class."""
        return 1.0

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """None is known."""
        return None


class ArcingClassifier(BaseAdaBoostClassifier):
    r"""Adaptive resampling and combining: members are fitted on the rows that earlier members misclassified.

    ``"arc-x4"`` samples the rows of round t in proportion to :math:`1 + m_i^4`, where :math:`m_i` members so far
    misclassified row i, and gives all members equal votes [Breiman1998]_. ``"arc-gv"`` is AdaBoost with
    :math:`\alpha_t = \frac12 \log\frac{1+\gamma_t}{1-\gamma_t} - \frac12 \log\frac{1+\rho_t}{1-\rho_t}`,
    :math:`\gamma_t = 1 - 2\varepsilon_t` and :math:`\rho_t` the smallest margin so far (0 as long as it is negative),
    which drives the smallest margin to its largest possible value [Breiman1999b]_; it ends when a member cannot
    increase it.

    Attributes
    ----------
    estimator_ : estimator
        The estimator that the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_members,)
        Weights of the members, and their weighted errors on the training rows.
    exponential_loss_ : ndarray of shape (n_members,)
        Mean exponential loss on the training rows after each round (``"arc-gv"``; ones otherwise).
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Row weights of each round, with ``keep_sample_weights=True``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the members' importances, weighted by the weights of the members.
    classes_ : ndarray
        The classes, sorted.
    n_classes_, n_features_in_ : int
        Number of classes and of features.
    feature_names_in_ : ndarray of str
        Names of the features, if X had names.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ArcingClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ArcingClassifier(n_estimators=20, random_state=0).fit(X, y).score(X, y)
    1.0
    """

    estimator_: Any

    def __init__(
        self,
        estimator: ArcingMember = None,
        *,
        n_estimators: AdaBoostRounds = 50,
        algorithm: ArcingAlgorithm = "arc-x4",
        method: WeightingMethod = "resample",
        keep_sample_weights: KeepSampleWeights = False,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.algorithm = algorithm
        self.method = method
        self.keep_sample_weights = keep_sample_weights
        self.text_columns = text_columns
        self.n_jobs = n_jobs
        self.random_state = random_state

    # The algorithms.

    def _arc_x4(
        self, learner: RowLearner, votes: EqualVotes, history: BoostingHistory, on_progress: ProgressCallback | None
    ) -> None:
        """arc-x4: D_t proportional to 1 + m^4."""
        start = learner.weights
        n_errors = np.zeros(len(start))
        for t in range(int(self.n_estimators)):
            learner.row_weights.replace(start * (1.0 + n_errors**_POWER))
            self._record_weights(history, learner)
            predictions = learner.fit_member(t)
            history.append(votes.run_round(predictions, learner.weighted_sum))
            n_errors += learner.row_weights.select(votes.find_errors(predictions))
            if end_step(on_progress, len(history)):
                break

    def _arc_gv(
        self,
        learner: RowLearner,
        algorithm: DiscreteAdaBoost,
        history: BoostingHistory,
        on_progress: ProgressCallback | None,
    ) -> None:
        """arc-gv: member weights that increase the smallest margin, rho."""
        total, votes = 0.0, np.zeros(len(learner.weights))  # sum of alpha; y f of the rows
        for t in range(int(self.n_estimators)):
            self._record_weights(history, learner)
            wrong = algorithm.find_errors(learner.fit_member(t))
            signs = np.where(wrong, 1.0, -1.0)
            error = learner.weighted_sum(wrong)
            present = learner.weights > 0.0
            # Until every row is classified correctly this is AdaBoost.
            rho = max(0.0, float((votes[present] / total).min())) if total > 0.0 else 0.0
            if error <= 0.0:
                history.append(RoundResult(0.0, 1.0, float(apply_exp(np.asarray(-1.0))), None))
                end_step(on_progress, len(history))
                break
            with np.errstate(divide="ignore"):  # an error or a margin that rounding has made perfect
                alpha = np.arctanh(1.0 - 2.0 * error) - np.arctanh(rho)
            if not alpha > 0.0 or not np.isfinite(alpha):
                learner.drop_member()
                break
            factors = apply_exp(alpha * signs)
            history.append(RoundResult(error, float(alpha), learner.weighted_sum(factors), factors))
            total += alpha
            votes -= alpha * learner.row_weights.select(signs)
            learner.multiply_weights(factors)
            if end_step(on_progress, len(history)):
                break

    def _record_weights(self, history: BoostingHistory, learner: RowLearner) -> None:
        if self.keep_sample_weights:
            history.sample_weights.append(learner.weights)

    # Fitting.

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: object) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A table that the members can read: missing values, categories and sparse rows if they support them.
        y : array-like of shape (n_samples,)
            Classes.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the row weights of every round; a row of weight zero counts as absent.
        **fit_params
            Other arguments of the members' `fit`, if metadata routing is enabled and they request them.

        Returns
        -------
        self
        """
        self._validate_params()
        member = read_member_texts(self, clone(self._choose_member()))
        self._check_member(member)
        routed = route_to_members(self, "fit", fit_params).estimator.fit
        dataset = self._take_in(member, X, y, sample_weight)
        assert isinstance(dataset.target, ClassTarget)
        n_classes, history = dataset.target.n_classes[0], BoostingHistory()
        learner = self._make_learner(member, dataset, sample_weight, routed)
        if self.algorithm == "arc-gv" and n_classes > 2:
            raise DataError(f"algorithm='arc-gv' of {type(self).__name__} is for two classes; y has {n_classes}.")
        kind = EqualVotes if self.algorithm == "arc-x4" else DiscreteAdaBoost
        algorithm = kind(n_classes, 1.0, 0.5 / dataset.n_counted)

        def list_fitted(_: int) -> dict[str, object]:
            return self._list_fitted(member, learner, algorithm, history, dataset)

        given, span = FitInput(X, y, sample_weight), range(int(self.n_estimators))
        tasks = report_tasks(self, "Arcing", span, given=given, partial_fit=list_fitted)
        with closing(learner), tasks as on_progress:
            if isinstance(algorithm, EqualVotes):
                self._arc_x4(learner, algorithm, history, on_progress)
            else:
                self._arc_gv(learner, algorithm, history, on_progress)
            if not len(history):
                raise DataError(
                    f"{type(self).__name__} cannot begin: the first {type(member).__name__} is no better than chance."
                )
            self._set_fitted_attributes(list_fitted(len(history)))
        return self

    def _choose_member(self) -> Any:
        """The estimator that is cloned for each member."""
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _member_task(self) -> Task:
        """The members are classifiers."""
        return "classify"

    def _make_learner(
        self, member: EstimatorLike, dataset: Dataset, sample_weight: Any, fit_params: Mapping[str, object]
    ) -> RowLearner:
        seed, resampling, weights = resolve_seed(self.random_state), None, dataset.weights
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, sample_weight, seed)
        if can_share_bins(member, "classify"):
            blocks = open_tree_blocks(type(self).__name__, member, dataset, int(self.n_estimators))
            return TreeLearner(
                member, dataset, weights, seed, n_jobs=self.n_jobs, kept=None, resampling=resampling, blocks=blocks
            )
        return AnyLearner(
            member,
            dataset.X,
            dataset,
            weights,
            seed,
            kept=None,
            resampling=resampling,
            needs_proba=False,
            fit_params=fit_params,
        )

    def _list_fitted(
        self,
        member: EstimatorLike,
        learner: RowLearner,
        algorithm: VotingAlgorithm,
        history: BoostingHistory,
        dataset: Dataset,
    ) -> dict[str, object]:
        """Fitted attributes by name, after the rounds so far."""
        assert isinstance(dataset.target, ClassTarget)
        fitted: dict[str, object] = {
            **self._list_common(member, dataset.schema),
            "classes_": dataset.target.classes[0],
            "n_classes_": algorithm.n_classes,
            "estimator_weights_": np.array(history.weights),
            "estimator_errors_": np.array(history.errors),
            "exponential_loss_": np.array(history.losses),
            "_members": learner.finalize(),
            "_rule": algorithm,
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(history.sample_weights[: len(history)])
        return fitted
