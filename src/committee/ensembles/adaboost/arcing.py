"""Arcing: adaptive resampling and combining, in Breiman's two forms [Breiman1998, Breiman1999b]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone, is_regressor

from committee.base import resolve_seed
from committee.data.intake import take_in
from committee.ensembles.adaboost.algorithms import Discrete, Step, VotingRule
from committee.ensembles.adaboost.learners import AnyLearner, TreeLearner
from committee.ensembles.adaboost.members import can_share_bins, choose_table, plan_resampling
from committee.ensembles.adaboost.predictions import AdditivePredictions, Log
from committee.exceptions import DataError, ParameterTypeError
from committee.learners.tree import DecisionTreeClassifier
from committee.params import HasMethods, Interval, NJobs, RandomState

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.ensembles.adaboost.algorithms import Answers
    from committee.typing import FloatArray

__all__ = ["ArcingClassifier"]

_POWER = 4
"""Of the number of mistakes; Breiman tried 1, 2 and 4."""

Member: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "What the members are: any classifier, which is cloned for each round. None: a full ``DecisionTreeClassifier()``. "
    "Trees of this library share one set of bins.",
]
Rounds: TypeAlias = Annotated[int, Interval(1, None), "How many members there are at most."]
Form: TypeAlias = Annotated[
    Literal["arc-x4", "arc-gv"],
    "``'arc-x4'``: chances in proportion to 1 + m⁴, m the number of members that got the row wrong, and one vote a "
    "member. ``'arc-gv'``: AdaBoost with votes that press on the smallest margin, two classes.",
]
Method: TypeAlias = Annotated[
    Literal["resample", "reweight"],
    "How a member learns of the weights: by a sample of as many rows as there are, drawn with these chances, or as "
    "`sample_weight`.",
]
KeepWeights: TypeAlias = Annotated[
    bool, "Whether to keep the weights of each round, as ``sample_weights_trace_``: 8 bytes a row and round."
]


class Majority(VotingRule):
    """Every member has one vote; f is the share of the votes less what chance would give."""

    def judge(self, answers: Answers, weigh: Callable[[NDArray[Any]], float]) -> Step | None:
        """The error is told, and ends nothing."""
        return Step(weigh(self.mark_wrong(answers)), 1.0, 1.0, np.empty((0, 0)))

    def to_decision(self, sums: FloatArray, weights: FloatArray) -> FloatArray:
        """Shares of the votes, less 1/K."""
        return np.asarray(sums / len(weights) - 1.0 / self.n_classes)

    def to_proba(self, decision: FloatArray) -> FloatArray:
        """Shares of the votes."""
        return decision + 1.0 / self.n_classes

    @property
    def link(self) -> tuple[Literal["logit", "softmax", "other"], float]:
        """Shares are f moved, which no link does."""
        return "other", 1.0

    def weigh_terms(self, weights: FloatArray) -> FloatArray:
        """The mean over the members."""
        return weights / len(weights)

    def span(self, weights: FloatArray) -> float:
        """All votes for one class."""
        return 1.0

    def bound_error(self, errors: FloatArray, weights: FloatArray, losses: FloatArray) -> FloatArray | None:
        """None is known."""
        return None


class ArcingClassifier(AdditivePredictions):
    r"""Members that learn from the rows that those before them got wrong, by Breiman's rules.

    ``"arc-x4"`` draws round t's sample with chances :math:`\propto 1 + m_i^4`, where :math:`m_i` members so far got row
    i wrong, and lets the members vote as equals [Breiman1998]_. ``"arc-gv"`` is AdaBoost with
    :math:`\alpha_t = \frac12 \log\frac{1+\gamma_t}{1-\gamma_t} - \frac12 \log\frac{1+\rho_t}{1-\rho_t}`,
    :math:`\gamma_t = 1 - 2\varepsilon_t` and :math:`\rho_t` the smallest margin so far (0 as long as it is negative),
    which drives the smallest margin to its largest possible value [Breiman1999b]_; it ends where a member adds nothing
    to it.

    Attributes
    ----------
    estimator_ : estimator
        What the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_members,)
        Votes, and weighted errors on the training rows.
    exponential_loss_ : ndarray of shape (n_members,)
        Mean exponential loss on the training rows after each round (``"arc-gv"``; ones otherwise).
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Weights of each round, with ``keep_sample_weights=True``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the members' importances, by vote.
    classes_ : ndarray
        The classes, sorted.
    n_classes_, n_features_in_ : int
        How many classes and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

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
        estimator: Member = None,
        *,
        n_estimators: Rounds = 50,
        algorithm: Form = "arc-x4",
        method: Method = "resample",
        keep_sample_weights: KeepWeights = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.algorithm = algorithm
        self.method = method
        self.keep_sample_weights = keep_sample_weights
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting.

    def _arc_x4(self, learner: Any, rule: Majority, log: Log) -> None:
        """arc-x4: D_t in proportion to 1 + m^4."""
        start = learner.weights
        mistakes = np.zeros(len(start))
        for t in range(int(self.n_estimators)):
            weights = start * (1.0 + mistakes**_POWER)
            learner.reweight(weights)
            self._trace(log, learner)
            answers = learner.fit_member(t)
            step = rule.judge(answers, learner.weigh)
            assert step is not None
            log.note(step)
            mistakes += learner.pick(rule.mark_wrong(answers))

    def _arc_gv(self, learner: Any, rule: Discrete, log: Log) -> None:
        """arc-gv: votes that press on the smallest margin, rho."""
        total, votes = 0.0, np.zeros(len(learner.weights))  # y f of the rows
        for t in range(int(self.n_estimators)):
            self._trace(log, learner)
            wrong = rule.mark_wrong(learner.fit_member(t))
            signs = np.where(wrong, 1.0, -1.0)
            error = learner.weigh(wrong)
            present = learner.weights > 0.0
            # Until every row is answered rightly this is AdaBoost.
            rho = max(0.0, float((votes[present] / total).min())) if total > 0.0 else 0.0
            if error <= 0.0:
                log.note(Step(0.0, 1.0, float(np.exp(-1.0)), None))
                break
            alpha = np.arctanh(1.0 - 2.0 * error) - np.arctanh(rho)
            if not alpha > 0.0 or not np.isfinite(alpha):
                learner.drop_member()
                break
            log.note(Step(error, float(alpha), learner.weigh(np.exp(alpha * signs)), signs))
            total += alpha
            votes -= alpha * learner.pick(signs)
            learner.multiply(np.exp(alpha * signs))

    def _trace(self, log: Log, learner: Any) -> None:
        if self.keep_sample_weights:
            log.traces.append(learner.weights)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit members one after another.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            What the members can read: missing values, categories and sparse rows if they can.
        y : array-like of shape (n_samples,)
            Classes to learn.
        sample_weight : array-like of shape (n_samples,), optional
            What the weights of every round are multiplied by; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        member = clone(self._choose_member())
        if is_regressor(member):
            raise ParameterTypeError(
                f"The 'estimator' parameter of {type(self).__name__} must be a classifier; got {type(member).__name__}."
            )
        shares = can_share_bins(member, "classify")
        if shares:
            member._validate_params()
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task="classify",
            categorical_features=member.categorical_features if shares else "from_dtype",
            unseen=member.unseen if shares else "missing",
            multi_output=False,
        )
        seed, log = resolve_seed(self.random_state), Log()
        n_classes = dataset.target.n_classes[0]  # type: ignore[union-attr]
        learner = self._choose_learner(member, X, dataset, seed, sample_weight)
        rule: Majority | Discrete
        if self.algorithm == "arc-x4":
            rule = Majority(n_classes, 1.0, 0.5 / dataset.n_rows)
            self._arc_x4(learner, rule, log)
        else:
            if n_classes > 2:
                raise DataError(f"algorithm='arc-gv' of {type(self).__name__} is for two classes; y has {n_classes}.")
            rule = Discrete(n_classes, 1.0, 0.5 / dataset.n_rows)
            self._arc_gv(learner, rule, log)
        if not len(log):
            raise DataError(
                f"{type(self).__name__} cannot begin: the first {type(member).__name__} is no better than chance."
            )
        self._finalize(member, learner, rule, log, dataset)
        return self

    def _choose_member(self) -> Any:
        """What is cloned for each round."""
        return DecisionTreeClassifier() if self.estimator is None else self.estimator

    def _choose_learner(self, member: Any, X: Any, dataset: Dataset, seed: int, sample_weight: Any) -> Any:
        resampling = None
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, sample_weight, seed)
        told: dict[str, Any] = {"kept": None, "resampling": resampling}
        if can_share_bins(member, "classify"):
            return TreeLearner(member, dataset, dataset.weights, seed, n_jobs=self.n_jobs, **told)
        table = choose_table(X, dataset)
        return AnyLearner(member, table, dataset, dataset.weights, seed, needs_shares=False, **told)

    def _finalize(self, member: Any, learner: Any, rule: VotingRule, log: Log, dataset: Dataset) -> None:
        """Give up the old state for the new one, all at once: a fit that fails or is interrupted leaves it whole."""
        fitted = {
            "classes_": dataset.target.classes[0],  # type: ignore[union-attr]
            "n_classes_": rule.n_classes,
            "n_features_in_": dataset.n_features,
            "estimator_": member,
            "estimator_weights_": np.array(log.weights),
            "estimator_errors_": np.array(log.errors),
            "exponential_loss_": np.array(log.losses),
            "_members": learner.finalize(),
            "_rule": rule,
            "_schema": dataset.schema,
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(log.traces[: len(log)])
        names = dataset.schema.feature_names
        if names is not None:
            fitted["feature_names_in_"] = np.asarray(names, dtype=object)
        for name in ("sample_weights_trace_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)
