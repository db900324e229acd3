"""AdaBoost: members that learn one after another, each from the mistakes of those before it [FreundSchapire1997].

The loop is `AdaBoostClassifier._boost`; the formulas of the algorithms are in `adaboost_rules`, what happens to the
rows in `adaboost_members`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from committee.base import resolve_seed
from committee.data.intake import take_in
from committee.data.rows import select_rows
from committee.ensembles.adaboost.additive import ADDITIVE_RULES, AdditiveRule, AnyRegressions, Ascent, TreeRegressions
from committee.ensembles.adaboost.algorithms import RULES, Rule
from committee.ensembles.adaboost.learners import AnyLearner, StumpLearner, TreeLearner
from committee.ensembles.adaboost.members import (
    BoostedMembers,
    BoostedTrees,
    can_share_bins,
    choose_table,
    is_plain_stump,
    plan_resampling,
)
from committee.ensembles.adaboost.predictions import AdditivePredictions, Log, Validation, sum_up
from committee.exceptions import DataError, ParameterError, ParameterTypeError, warn_caller
from committee.learners.stump import DecisionStumpClassifier
from committee.learners.tree import DecisionTreeRegressor
from committee.params import HasMethods, Interval, NJobs, RandomState, WarmStart

if TYPE_CHECKING:
    from typing import Self

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["AdaBoostClassifier"]

Member: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "What the members are: any classifier, which is cloned for each round (a regressor for ``'gentle'`` and "
    "``'logit'``). None: a stump, ``DecisionStumpClassifier(criterion='gini', exact=False)`` or "
    "``DecisionTreeRegressor(max_depth=1)``. Trees of this library share one set of bins, and "
    "stumps keep their histograms from round to round.",
]
Rounds: TypeAlias = Annotated[
    int, Interval(1, None), "The most rounds; boosting ends sooner if a member is perfect or no better than chance."
]
LearningRate: TypeAlias = Annotated[
    float, Interval(0.0, None, closed="neither"), "What the weight of each member is multiplied by."
]
Algorithm: TypeAlias = Annotated[
    Literal["discrete", "samme", "samme.r", "real", "gentle", "logit"],
    "``'discrete'``: the AdaBoost of the lectures, two classes. ``'samme'``: the same for any number of classes, with "
    "scikit-learn's weights. ``'samme.r'``: members vote with the logarithms of their probabilities. ``'real'``: with "
    "half their log-odds, two classes. ``'gentle'`` and ``'logit'``: members are regressors, which learn the mean of "
    "the labels or a Newton step on the likelihood.",
]
Method: TypeAlias = Annotated[
    Literal["reweight", "resample"],
    "How a member learns of the weights: as `sample_weight`, or by a sample of as many rows as there are, drawn with "
    "these chances; the latter is for members that take no weights.",
]
Patience: TypeAlias = Annotated[
    int | None,
    Interval(1, None),
    "Stop when this many rounds have come without a better accuracy on a part of the rows that is put aside, and keep "
    "the members up to the best round. None: use all rows and all rounds.",
]
ValidationFraction: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="neither"),
    "The share of the rows, class by class, to put aside for ``n_iter_no_change``.",
]
Tolerance: TypeAlias = Annotated[
    float, Interval(0.0, None), "An accuracy is better than another only if it is by more than this."
]
KeepWeights: TypeAlias = Annotated[
    bool,
    "Whether to keep the weights that each member was fitted on, as ``sample_weights_trace_``: 8 bytes a row "
    "and round.",
]


class AdaBoostClassifier(AdditivePredictions):
    r"""Boosting by reweighting: each member learns with more weight on the rows that those before it got wrong.

    With labels :math:`y_i = \pm 1` and weights :math:`D_1(i) = 1/n`, round t fits :math:`h_t` on :math:`D_t`, measures
    its error :math:`\varepsilon_t = \sum_i D_t(i) [h_t(x_i) \ne y_i]`, gives it the vote :math:`\alpha_t = \frac12 \log
    \frac{1 - \varepsilon_t}{\varepsilon_t}` and makes :math:`D_{t+1}(i) \propto D_t(i) e^{-\alpha_t y_i h_t(x_i)}`; the
    answer is the sign of :math:`f(x) = \sum_t \alpha_t h_t(x)` [FreundSchapire1997]_. This minimises the exponential
    loss :math:`\frac1n \sum_i e^{-y_i f(x_i)}` step by step, whose minimiser over all functions is half the log-odds of
    the classes; `predict_proba` is what follows from that [FriedmanHastieTibshirani2000]_. ``"samme"`` is the same for
    K classes, and with :math:`\alpha` twice as large and only the weights of wrong rows raised the same for two
    [Zhu2009]_.

    Equal stumps go to the lowest feature and threshold. A fit with exact stumps takes the same steps as scikit-learn's.

    Attributes
    ----------
    estimator_ : estimator
        What the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members.
    estimator_weights_ : ndarray of shape (n_members,)
        Votes, alpha.
    estimator_errors_ : ndarray of shape (n_members,)
        Weighted errors, epsilon.
    edges_ : ndarray of shape (n_members,)
        How much better than chance each member is: 1 - 1/K - epsilon.
    exponential_loss_ : ndarray of shape (n_members,)
        Mean exponential loss on the training rows after each round.
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Weights that each member was fitted on, with ``keep_sample_weights=True``.
    validation_scores_ : ndarray
        Accuracy on the rows put aside after each round, with ``n_iter_no_change``.
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

    def __init__(
        self,
        estimator: Member = None,
        *,
        n_estimators: Rounds = 50,
        learning_rate: LearningRate = 1.0,
        algorithm: Algorithm = "samme",
        method: Method = "reweight",
        n_iter_no_change: Patience = None,
        validation_fraction: ValidationFraction = 0.1,
        tol: Tolerance = 0.0,
        keep_sample_weights: KeepWeights = False,
        warm_start: WarmStart = False,
        n_jobs: NJobs = None,
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting.

    def _boost(self, learner: Any, rule: Rule, log: Log, validation: Validation | None) -> None:
        """The algorithm. The learner keeps the weights D; tables are by (group of rows answered alike, true class)."""
        for t in range(len(log), int(self.n_estimators)):
            if log.ended:  # the last member was perfect
                break
            if self.keep_sample_weights:
                log.traces.append(learner.weights)
            answers = learner.fit_member(t)  # h_t, fitted on D_t
            step = rule.judge(answers, learner.weigh)  # epsilon_t, alpha_t, and what D is multiplied by
            if step is None:  # no better than chance
                learner.drop_member()
                log.ended = True
                break
            log.note(step)
            if step.factors is not None:
                learner.multiply(step.factors)  # D_{t+1}
            if validation is not None and validation.look(learner.last_member(), np.array(log.weights)):
                break

    def _ascend(self, learner: Any, ascent: Ascent, log: Log, validation: Validation | None) -> None:
        """Gentle AdaBoost and LogitBoost: regress what is left to learn, and add that to f."""
        for t in range(len(log), int(self.n_estimators)):
            if self.keep_sample_weights:
                log.traces.append(ascent.trace)
            responses, weights = ascent.respond()
            n = responses.shape[1]
            values = [learner.fit_member(t * n + k, responses[:, k], weights[:, k]) for k in range(n)]
            log.note(ascent.add(np.stack(values, axis=1), weights))
            if validation is not None and validation.look(learner.last_member(), np.array(log.weights)):
                break

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost members on a table.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            What the members can read: missing values, categories and sparse rows if they can.
        y : array-like of shape (n_samples,)
            Classes to learn.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the first round; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        member = clone(self._choose_member())
        self._check_member(member)
        dataset = self._take_in(member, X, y, sample_weight)
        kept = self._kept(dataset)
        seed = resolve_seed(self.random_state) if kept is None else self._seed
        rule = self._make_rule(dataset)
        weights, validation = self._put_aside(X, dataset, rule, seed)
        log = Log()
        if kept is not None:
            log = self._resume_log()
            weights = weights if rule.combine == "values" else self._resume_weights(X, dataset)
        resampling = None
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, sample_weight, seed)
        told = {"kept": kept, "resampling": resampling}
        learner = self._choose_learner(member, X, dataset, weights, seed, rule, told)
        if isinstance(rule, AdditiveRule):
            self._ascend(learner, self._start_ascent(X, dataset, rule, weights, kept), log, validation)
        else:
            self._boost(learner, rule, log, validation)
        if not len(log):
            raise DataError(
                f"BaseClassifier in {type(self).__name__} ensemble is worse than random, ensemble can not be fit: the "
                f"first {type(member).__name__} errs on {1.0 - 1.0 / rule.n_classes:.0%} of the weight or more."
            )
        self._finalize(member, learner, rule, log, validation, dataset, seed)
        return self

    def _choose_member(self) -> Any:
        """What is cloned for each round."""
        if self.estimator is not None:
            return self.estimator
        if self._regresses():
            return DecisionTreeRegressor(max_depth=1)
        return DecisionStumpClassifier(criterion="gini", exact=False)

    def _regresses(self) -> bool:
        """Whether members are regressors."""
        return self.algorithm in ADDITIVE_RULES

    def _shares_bins(self, member: Any) -> bool:
        return can_share_bins(member, "regress" if self._regresses() else "classify")

    def _check_member(self, member: Any) -> None:
        wanted = "regressor" if self._regresses() else "classifier"
        if is_classifier(member) if self._regresses() else is_regressor(member):
            raise ParameterTypeError(
                f"The 'estimator' parameter of {type(self).__name__} must be a {wanted} for algorithm="
                f"{self.algorithm!r}; got {type(member).__name__}."
            )
        if self._shares_bins(member):
            member._validate_params()

    def _take_in(self, member: Any, X: Any, y: Any, sample_weight: Any) -> Dataset:
        # Only members that look at the codes themselves may be told of columns that are categories.
        shares = self._shares_bins(member)
        return take_in(
            self,
            X,
            y,
            sample_weight,
            task="classify",
            categorical_features=member.categorical_features if shares else "from_dtype",
            unseen=member.unseen if shares else "missing",
            multi_output=False,
        )

    def _make_rule(self, dataset: Dataset) -> Rule:
        kind = {**RULES, **ADDITIVE_RULES}[self.algorithm]
        n_classes = dataset.target.n_classes[0]  # type: ignore[union-attr]
        if kind.two_classes and n_classes > 2:
            other = "samme" if self.algorithm == "discrete" else "samme.r"
            raise DataError(
                f"algorithm={self.algorithm!r} of {type(self).__name__} is for two classes; y has {n_classes}. Use "
                f"algorithm={other!r}."
            )
        weights = dataset.weights
        lightest = 1.0 / dataset.n_rows if weights is None else weights[weights > 0.0].min() / weights.sum()
        return kind(n_classes, float(self.learning_rate), float(0.5 * lightest))  # type: ignore[no-any-return]

    def _put_aside(
        self, X: Any, dataset: Dataset, rule: Rule, seed: int
    ) -> tuple[FloatArray | None, Validation | None]:
        """Weights of the first round, zero for rows that are put aside, and these rows."""
        weights = dataset.weights
        if self.n_iter_no_change is None:
            return weights, None
        labels = dataset.target.labels[:, 0].astype(np.intp)  # type: ignore[union-attr]
        present = np.ones(dataset.n_rows, dtype=bool) if weights is None else weights > 0.0
        rng, aside = np.random.default_rng([seed, dataset.n_rows]), []
        for k in range(rule.n_classes):
            own = rng.permutation(np.flatnonzero(present & (labels == k)))
            aside.append(own[: round(len(own) * float(self.validation_fraction))])
        rows = np.sort(np.concatenate(aside))
        if not len(rows):
            raise ParameterError(
                f"The 'validation_fraction' parameter of {type(self).__name__} must be so large that a row is put "
                f"aside; {self.validation_fraction} of {dataset.n_rows} rows is none."
            )
        weights = np.ones(dataset.n_rows) if weights is None else weights.copy()
        weights[rows] = 0.0
        shares = self._shares_bins(self._choose_member())
        table = (dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.tocsr()) if shares else None
        held = select_rows(choose_table(X, dataset) if table is None else table, rows)
        return weights, Validation(held, labels[rows], rule, int(self.n_iter_no_change), float(self.tol))

    def _choose_learner(
        self, member: Any, X: Any, dataset: Dataset, weights: FloatArray | None, seed: int, rule: Rule, told: Any
    ) -> Any:
        """What fits the members; it is told of members that are kept and of how samples are drawn."""
        if self._regresses():
            told = {**told, "n_in_round": rule.width}
            if self._shares_bins(member):
                return TreeRegressions(member, dataset, seed, n_jobs=self.n_jobs, **told)
            classes = dataset.target.classes[0]  # type: ignore[union-attr]
            return AnyRegressions(member, choose_table(X, dataset), weights, classes, seed, **told)
        if not self._shares_bins(member):
            needs = rule.combine == "scores"
            return AnyLearner(member, choose_table(X, dataset), dataset, weights, seed, needs_shares=needs, **told)
        if told["resampling"] is None and is_plain_stump(member):
            return StumpLearner(member, dataset, weights, seed, n_jobs=self.n_jobs, kept=told["kept"])
        return TreeLearner(member, dataset, weights, seed, n_jobs=self.n_jobs, **told)

    def _start_ascent(
        self, X: Any, dataset: Dataset, rule: AdditiveRule, weights: FloatArray | None, kept: Any
    ) -> Ascent:
        """F of zero, or where the kept members have brought it."""
        labels, sums = dataset.target.labels[:, 0], None  # type: ignore[union-attr]
        if kept is not None:
            past = self.estimator_weights_
            sums = sum_up(kept, rule, self._read_rows(X), past, range(len(past)), self.n_jobs)
        return Ascent(rule, labels, weights, sums)

    def _kept(self, dataset: Dataset) -> BoostedTrees | BoostedMembers | None:
        """Members of the last fit that this one adds to."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        name, n_kept = type(self).__name__, len(self.estimator_weights_)
        if n_kept > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_kept} when "
                "warm_start==True"
            )
        if type(self._rule) is not type(self._make_rule(dataset)):
            raise ParameterError(f"{name} cannot go on (warm_start=True) with another algorithm than it began with.")
        if self._ended:
            warn_caller(f"Boosting of {name} has come to its end; warm_start adds no members.", UserWarning)
        elif n_kept == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not fit new members.", UserWarning)
        if self.n_iter_no_change is not None:
            raise ParameterError(f"{name} cannot stop early (n_iter_no_change) and keep members (warm_start) at once.")
        classes = dataset.target.classes[0]  # type: ignore[union-attr]
        if not np.array_equal(classes, self.classes_) or dataset.n_features != self.n_features_in_:
            raise DataError(
                f"{name} was told to keep its members (warm_start=True), but these data have other features or "
                "classes than those that the members were fitted on."
            )
        return self._members

    def _resume_log(self) -> Log:
        traces = list(getattr(self, "sample_weights_trace_", ())) if self.keep_sample_weights else []
        if self.keep_sample_weights and len(traces) != len(self.estimator_weights_):
            raise ParameterError(
                f"{type(self).__name__} was told to keep its members (warm_start=True) and the weights of all rounds "
                "(keep_sample_weights=True), but those of the earlier rounds were not kept."
            )
        errors, weights = self.estimator_errors_.tolist(), self.estimator_weights_.tolist()
        return Log(errors, weights, self.exponential_loss_.tolist(), traces, self._ended)

    def _resume_weights(self, X: Any, dataset: Dataset) -> FloatArray:
        """Weights after the rounds that there were: the first round's times exp(-f_y / (K - 1))."""
        labels = dataset.target.labels[:, 0].astype(np.intp)  # type: ignore[union-attr]
        own = self._decide(X)[np.arange(dataset.n_rows), labels] / max(1, self.n_classes_ - 1)
        start = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
        return np.asarray(start * np.exp(own.min() - own))

    def _finalize(
        self,
        member: Any,
        learner: Any,
        rule: Rule,
        log: Log,
        validation: Validation | None,
        dataset: Dataset,
        seed: int,
    ) -> None:
        """Give up the old state for the new one, all at once: a fit that fails or is interrupted leaves it whole."""
        members = learner.finalize()
        if validation is not None:
            n_best = len(log) - len(validation.scores) + validation.n_best
            members = members.cut(n_best * rule.width)
            log.cut(n_best)
        errors = np.array(log.errors)
        fitted = {
            "classes_": dataset.target.classes[0],  # type: ignore[union-attr]
            "n_classes_": rule.n_classes,
            "n_features_in_": dataset.n_features,
            "estimator_": member,
            "estimator_weights_": np.array(log.weights),
            "estimator_errors_": errors,
            "edges_": 1.0 - 1.0 / rule.n_classes - errors,
            "exponential_loss_": np.array(log.losses),
            "_members": members,
            "_rule": rule,
            "_schema": dataset.schema,
            "_seed": seed,
            "_ended": log.ended,
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(log.traces[: len(log)])
        if validation is not None:
            fitted["validation_scores_"] = np.array(validation.scores)
        names = dataset.schema.feature_names
        if names is not None:
            fitted["feature_names_in_"] = np.asarray(names, dtype=object)
        for name in ("sample_weights_trace_", "validation_scores_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)
