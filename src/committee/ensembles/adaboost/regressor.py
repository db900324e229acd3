"""AdaBoost for numbers: R2, which weighs rows by how far off they are, and RT, which calls them wrong or right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np
from sklearn.base import RegressorMixin, clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.utils import get_tags

from committee.base import CommitteeEstimator, resolve_seed
from committee.data.intake import take_in, take_in_rows
from committee.engines.tree_model import TreeModel
from committee.ensembles.adaboost.additive import AnyRegressions, TreeRegressions
from committee.ensembles.adaboost.members import (
    BoostedMembers,
    BoostedTrees,
    can_share_bins,
    choose_table,
    plan_resampling,
)
from committee.exceptions import ParameterTypeError
from committee.learners.tree import DecisionTreeRegressor
from committee.params import HasMethods, Interval, NJobs, RandomState

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from sklearn.utils import Tags

    from committee.data import Dataset, Schema
    from committee.typing import FloatArray

__all__ = ["AdaBoostRegressor"]

Member: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "What the members are: any regressor, which is cloned for each round. None: ``DecisionTreeRegressor(max_depth=3)``."
    " Trees of this library share one set of bins.",
]
Rounds: TypeAlias = Annotated[int, Interval(1, None), "The most rounds."]
LearningRate: TypeAlias = Annotated[
    float, Interval(0.0, None, closed="neither"), "What the weight of each member is multiplied by."
]
Loss: TypeAlias = Annotated[
    Literal["linear", "square", "exponential"],
    "For ``'r2'``: the loss of a row from its absolute error e, as a share of the largest: e, e² or 1 - exp(-e).",
]
Form: TypeAlias = Annotated[
    Literal["r2", "rt"],
    "``'r2'``: AdaBoost.R2, by how far off a row is. ``'rt'``: AdaBoost.RT, by whether it is off by more than "
    "``threshold``.",
]
Threshold: TypeAlias = Annotated[
    float,
    Interval(0.0, None, closed="neither"),
    "For ``'rt'``: the error, as a share of the row's own absolute value, above which an answer is wrong.",
]
Power: TypeAlias = Annotated[
    int, Interval(1, None), "For ``'rt'``: the power of the error that the weights of right rows are multiplied by."
]
Method: TypeAlias = Annotated[
    Literal["resample", "reweight"],
    "How a member learns of the weights: by a sample of as many rows as there are, drawn with these chances, or as "
    "`sample_weight`.",
]
KeepWeights: TypeAlias = Annotated[
    bool, "Whether to keep the weights of each round, as ``sample_weights_trace_``: 8 bytes a row and round."
]


class AdaBoostRegressor(RegressorMixin, CommitteeEstimator):  # type: ignore[misc]
    r"""Boosting of regressors: each member learns with more weight on the rows that those before it missed.

    AdaBoost.R2 [Drucker1997]_: with losses :math:`L_i \in [0, 1]` of the rows and their mean
    :math:`\varepsilon_t = \sum_i D_t(i) L_i`, :math:`\beta_t = \varepsilon_t / (1 - \varepsilon_t)`, a row's weight is
    multiplied by :math:`\beta_t^{1 - L_i}`, and the answer is the median of the members by weights
    :math:`\log 1/\beta_t`. It ends at :math:`\varepsilon_t \ge 1/2`. The thresholding form, AdaBoost.RT
    [SolomatineShrestha2004]_, has :math:`L_i = 1` where an answer is off by more than a share of the value and 0
    elsewhere, :math:`\beta_t = \varepsilon_t^p`, and answers with the mean by the same weights.

    Attributes
    ----------
    estimator_ : estimator
        What the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members.
    estimator_weights_, estimator_errors_ : ndarray of shape (n_members,)
        log 1/beta, and the mean losses epsilon.
    sample_weights_trace_ : ndarray of shape (n_members, n_samples)
        Weights of each round, with ``keep_sample_weights=True``.
    feature_importances_ : ndarray of shape (n_features,)
        Mean of the members' importances, by weight.
    n_features_in_ : int
        How many features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

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
    n_features_in_: int
    _members: BoostedTrees | BoostedMembers
    _schema: Schema
    _takes_median: bool

    def __init__(
        self,
        estimator: Member = None,
        *,
        n_estimators: Rounds = 50,
        learning_rate: LearningRate = 1.0,
        loss: Loss = "linear",
        algorithm: Form = "r2",
        threshold: Threshold = 0.1,
        power: Power = 2,
        method: Method = "resample",
        keep_sample_weights: KeepWeights = False,
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
        self.n_jobs = n_jobs
        self.random_state = random_state

    # Fitting.

    def _boost(self, learner: Any, y: FloatArray, D: FloatArray) -> tuple[list[float], list[float], list[FloatArray]]:
        """The algorithm: errors, weights and D of the rounds."""
        errors: list[float] = []
        weights: list[float] = []
        traces: list[FloatArray] = []
        for t in range(int(self.n_estimators)):
            losses = self._measure_losses(learner.fit_member(t, y, D), y, D > 0.0)  # of a member fitted on D_t
            error = float((D * losses).sum())
            if error >= (0.5 if self.algorithm == "r2" else 1.0):  # no better than chance
                if t:
                    learner.drop_member()
                    break
                beta, alpha = 1.0, 0.0
            elif error <= 0.0:  # perfect
                beta, alpha = 0.0, 1.0
            else:
                beta = error / (1.0 - error) if self.algorithm == "r2" else error ** int(self.power)
                alpha = self.learning_rate * np.log(1.0 / beta)
            errors.append(error)
            weights.append(float(alpha))
            traces.append(D)
            if not 0.0 < beta < 1.0:
                break
            D = D * beta ** ((1.0 - losses) * self.learning_rate)
            D = D / D.sum()
        return errors, weights, traces

    def _measure_losses(self, answers: FloatArray, y: FloatArray, present: Any) -> FloatArray:
        """In [0, 1], by how far off the answers are; rows that are absent count for nothing."""
        off = np.abs(answers - y)
        if self.algorithm == "rt":
            return (off > self.threshold * np.abs(y)).astype(np.float64)
        largest = off[present].max()
        shares = np.where(present, off, 0.0) / (largest if largest > 0.0 else 1.0)
        if self.loss == "square":
            return np.asarray(shares**2)
        return shares if self.loss == "linear" else 1.0 - np.exp(-shares)

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Boost members on a table.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            What the members can read: missing values, categories and sparse rows if they can.
        y : array-like of shape (n_samples,)
            Values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            The weights of the first round; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        member = clone(self._choose_member())
        if is_classifier(member):
            raise ParameterTypeError(
                f"The 'estimator' parameter of {type(self).__name__} must be a regressor; got {type(member).__name__}."
            )
        shares = can_share_bins(member, "regress")
        if shares:
            member._validate_params()
        dataset = take_in(
            self,
            X,
            y,
            sample_weight,
            task="regress",
            categorical_features=member.categorical_features if shares else "from_dtype",
            unseen=member.unseen if shares else "missing",
            multi_output=False,
        )
        values = dataset.target.values[:, 0]  # type: ignore[union-attr]
        learner = self._choose_learner(member, X, dataset, shares, sample_weight)
        start = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
        errors, weights, traces = self._boost(learner, values, start / start.sum())
        self._finalize(member, learner, dataset, errors, weights, traces)
        return self

    def _choose_member(self) -> Any:
        """What is cloned for each round."""
        return DecisionTreeRegressor(max_depth=3) if self.estimator is None else self.estimator

    def _choose_learner(self, member: Any, X: Any, dataset: Dataset, shares: bool, sample_weight: Any) -> Any:
        seed, resampling = resolve_seed(self.random_state), None
        if self.method == "resample":
            resampling = plan_resampling(type(self).__name__, dataset, sample_weight, seed)
        if shares:
            return TreeRegressions(member, dataset, seed, n_jobs=self.n_jobs, kept=None, resampling=resampling)
        table = choose_table(X, dataset)
        return AnyRegressions(member, table, dataset.weights, np.empty(0), seed, kept=None, resampling=resampling)

    def _finalize(self, member: Any, learner: Any, dataset: Dataset, errors: Any, weights: Any, traces: Any) -> None:
        """Give up the old state for the new one, all at once: a fit that fails or is interrupted leaves it whole."""
        fitted = {
            "estimator_": member,
            "estimator_weights_": np.array(weights),
            "estimator_errors_": np.array(errors),
            "n_features_in_": dataset.n_features,
            "_members": learner.finalize(),
            "_schema": dataset.schema,
            "_takes_median": self.algorithm == "r2",
        }
        if self.keep_sample_weights:
            fitted["sample_weights_trace_"] = np.stack(traces)
        names = dataset.schema.feature_names
        if names is not None:
            fitted["feature_names_in_"] = np.asarray(names, dtype=object)
        for name in ("sample_weights_trace_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        self.__dict__.update(fitted)

    # Asking the fitted members.

    def __sklearn_is_fitted__(self) -> bool:
        return "_members" in self.__dict__

    def _fitted_members(self) -> BoostedTrees | BoostedMembers:
        members = self.__dict__.get("_members")
        if members is None:
            raise NotFittedError(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )
        return members  # type: ignore[no-any-return]

    def _ask(self, X: Any) -> FloatArray:
        """What each member predicts, of shape (n_rows, n_members)."""
        members = self._fitted_members()
        rows = take_in_rows(self, X, self._schema)
        table = X if isinstance(members, BoostedMembers) and self._schema.has_categories else rows
        n = len(self.estimator_weights_)
        return members.tell_values(table, np.ones(n), np.arange(n, dtype=np.uint32), range(n), self.n_jobs)

    def _combine(self, values: FloatArray) -> FloatArray:
        """The weighted median of the first members, or their weighted mean."""
        weights = self.estimator_weights_[: values.shape[1]]
        if not self._takes_median:
            return (
                values.mean(axis=1)
                if weights.sum() == 0.0
                else np.asarray((values * weights).sum(axis=1) / weights.sum())
            )
        order = values.argsort(axis=1, kind="stable")
        below = weights[order].cumsum(axis=1)
        at = (below >= 0.5 * below[:, -1:]).argmax(axis=1)
        each = np.arange(len(values))
        return np.asarray(values[each, order[each, at]])

    def predict(self, X: Any) -> FloatArray:
        """Weighted median (R2) or weighted mean (RT) of what the members predict.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._combine(self._ask(X))

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
        values = self._ask(X)
        for n in range(1, values.shape[1] + 1):
            yield self._combine(values[:, :n])

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
        for answers in self.staged_predict(X):
            yield float(r2_score(y, answers, sample_weight=sample_weight))

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        members, weights = self._fitted_members(), self.estimator_weights_
        if self._takes_median or isinstance(members, BoostedMembers):
            reason = "takes the median of its members (algorithm='r2')"
            if not self._takes_median:
                reason = f"has members of class {type(self.estimator_).__name__}"
            raise ParameterTypeError(
                f"Questions about trees can be put to an {type(self).__name__} that takes the mean "
                f"(algorithm='rt') of this library's trees; this one {reason}."
            )
        return TreeModel(members.trees, self._schema, "mean", tree_weights=weights if weights.sum() > 0.0 else None)

    @property
    def estimators_(self) -> Sequence[Any]:
        """The fitted members; trees that share bins are made estimators of their own when they are looked at."""
        members = self._fitted_members()
        return members if isinstance(members, BoostedTrees) else members.estimators

    @property
    def feature_importances_(self) -> FloatArray:
        """Mean of the members' importances, by weight."""
        members, weights = self._fitted_members(), self.estimator_weights_
        return members.weigh_importances(weights if weights.sum() > 0.0 else np.ones_like(weights))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        own = get_tags(self._choose_member()).input_tags
        tags.input_tags.sparse, tags.input_tags.allow_nan = own.sparse, own.allow_nan
        tags.input_tags.categorical = own.categorical
        return tags
