"""Base of the bagging estimators: parameters, samples, the loop that fits the members, out-of-bag votes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, TypeAlias

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from committee.base import CommitteeEstimator, not_fitted_error, resolve_seed
from committee.data.intake import take_in_rows
from committee.data.opening import opens_table
from committee.data.passing import pass_rows
from committee.data.sampling import plan_samples
from committee.data.weights import weigh_scores
from committee.engines.formula import ModelFormula, TableRow, TreeTerm, find_largest
from committee.engines.tree_model import TreeModel
from committee.ensembles.bagging.members import AnyMembers, EstimatorBagBuilder, MemberSamples
from committee.ensembles.bagging.tree_members import TreeBagBuilder, TreeMembers, make_tree_bag
from committee.ensembles.fit_callbacks import FitInput
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.member_chunks import plan_chunks
from committee.ensembles.member_formulas import open_members
from committee.ensembles.member_routing import route_to_members
from committee.ensembles.member_texts import read_member_texts
from committee.ensembles.out_of_bag import OutOfBag
from committee.ensembles.progress import show_progress
from committee.ensembles.shared_bins import can_share_bins, copy_input_tags, take_in_for_members
from committee.exceptions import DataError, ParameterError, ParameterTypeError, warn_caller
from committee.learners.prepared_predictor import PredictorMixin
from committee.learners.training_arrays import target_attributes
from committee.learners.tree import DecisionTreeClassifier, DecisionTreeRegressor
from committee.learners.tree_rows import predict_trees
from committee.params import (
    HasMethods,
    Interval,
    MaxSamples,
    MemberTextColumns,
    NEstimators,
    NJobs,
    OobPatience,
    OobScore,
    OobTol,
    RandomState,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from committee.data import Dataset, Schema
    from committee.engines.formula import FormulaTerm
    from committee.typing import FloatArray, Task

__all__ = [
    "BagMember",
    "BaseBagging",
    "ClassSampling",
    "MemberFeatures",
    "RepeatFeatures",
    "ValueSampling",
    "members_have",
]

BagMember: TypeAlias = Annotated[
    Annotated[Any, HasMethods("fit", "predict")] | None,
    "The estimator that is cloned for each member. None: a decision tree. Trees of this library share one set of "
    "bins, and a member's sample is a vector of counts over it; others get the counts as ``sample_weight`` where "
    "their `fit` takes it, and copies of the rows otherwise.",
]
_HOW_ROWS = (
    "How the rows of a member are drawn. True: with replacement (bagging), the chance of a row proportional to its "
    "weight. False: without (pasting; with ``max_samples=None`` every member gets every row), and weights go to the "
    "members. ``'subagging'``: without, and half the rows if ``max_samples`` is None. ``'group'``: whole groups with "
    "replacement, which `fit` is given."
)
ClassSampling: TypeAlias = Annotated[
    bool | Literal["subagging", "balanced", "stratified", "group"],
    _HOW_ROWS + " ``'balanced'``: with replacement, as many rows of each class as the smallest class has. "
    "``'stratified'``: with replacement, of each class as many as it has.",
]
ValueSampling: TypeAlias = Annotated[bool | Literal["subagging", "group"], _HOW_ROWS]
MemberFeatures: TypeAlias = Annotated[
    Annotated[int, Interval(1, None)] | Annotated[float, Interval(0.0, 1.0, closed="right")],
    "How many features are drawn for each member: a number, or a fraction of all features. Fewer than all make random "
    "subspaces or, with samples of rows, random patches.",
]
RepeatFeatures: TypeAlias = Annotated[
    bool,
    "Whether features are drawn with replacement. A member gets a feature once however often it is drawn.",
]


def _are_equal_arrays(a: object, b: object) -> bool:
    """Whether two arrays, or two lists of arrays, are equal."""
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(np.array_equal, a, b))
    return not isinstance(b, list) and bool(np.array_equal(np.asarray(a), np.asarray(b)))


def members_have(method: str) -> Callable[[BaseBagging], bool]:
    """Whether a bag's members have a method, for `available_if`."""
    return lambda bag: hasattr(bag._choose_member(), method)


_OPTIONAL = (
    "oob_score_",
    "oob_trace_",
    "oob_decision_function_",
    "oob_prediction_",
    "feature_names_in_",
    "_oob_halves",
    "_oob_labels",
)
"""Fitted attributes that not every fit has."""


class BaseBagging(PredictorMixin, MemberAccessMixin, CommitteeEstimator):
    """All that the bagging estimators share: samples, the loop, out-of-bag votes, the mean of the members."""

    _task: ClassVar[Task]

    estimator: BagMember
    n_estimators: NEstimators
    max_samples: MaxSamples
    max_features: MemberFeatures
    bootstrap: bool | str
    bootstrap_features: RepeatFeatures
    text_columns: MemberTextColumns = "auto"  # pickles of earlier versions lack it
    oob_score: OobScore
    warm_start: WarmStart
    n_jobs: NJobs
    random_state: RandomState
    verbose: Verbose
    oob_tol: OobTol
    oob_patience: OobPatience

    estimator_: Any
    n_features_in_: int
    n_outputs_: int
    _members: TreeMembers | AnyMembers
    _samples: MemberSamples
    _schema: Schema

    # Fitting.

    @opens_table
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        **fit_params: object,
    ) -> Self:
        """Fit every member on a sample of its own.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Missing values, categories and sparse rows are allowed if the members accept them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent. Drawn with replacement, a row has a chance in
            proportion to it; otherwise it goes to the members.
        groups : array-like of shape (n_samples,), optional
            Group of each row, for ``bootstrap="group"``: a group is in a member's sample or out of it as a whole.
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
        tree = member if can_share_bins(member, self._task) and not routed else None
        dataset = take_in_for_members(self, tree, X, y, sample_weight, task=self._task)
        if sample_weight is not None and self.bootstrap in (False, "subagging"):
            warn_caller(
                f"When fitting {type(self).__name__} with sample_weight it is recommended to use bootstrap=True, got "
                f"{self.bootstrap!r}. Without replacement the weights are no chances to be drawn, but are passed to "
                "the members.",
                UserWarning,
            )
        samples = self._plan_samples(dataset, sample_weight, groups)
        builder: TreeBagBuilder | EstimatorBagBuilder
        if tree is not None:
            tree.validate_params()
            kept = self._kept_members()
            assert kept is None or isinstance(kept, TreeMembers)
            builder = make_tree_bag(tree, dataset, samples, n_jobs=self.n_jobs, kept=kept)
        else:
            builder = self._make_estimator_bag(member, dataset, samples, routed)
        votes = self._open_votes(dataset, sample_weight)

        def list_fitted(n_members: int | None = None) -> dict[str, Any]:
            if n_members is None:
                return self._list_fitted(member, builder, samples, dataset, votes)
            stale = dict.fromkeys(name for name in _OPTIONAL if name in self.__dict__)
            return {**stale, **self._list_fitted(member, builder.truncate(n_members), samples, dataset, None)}

        self._fit_members(builder, votes, FitInput(X, y, sample_weight), list_fitted)
        return self

    def _fit_members(
        self,
        builder: TreeBagBuilder | EstimatorBagBuilder,
        votes: OutOfBag | None,
        given: FitInput,
        list_fitted: Callable[..., dict[str, Any]],
    ) -> None:
        """The algorithm: members, each on its own sample, scored on the rows that are out of bag."""
        last, verbose, n_kept = int(self.n_estimators), int(self.verbose), len(builder)
        with show_progress(
            "Fitting members", last, verbose=verbose, estimator=self, done=n_kept, given=given, partial_fit=list_fitted
        ) as on_progress:
            for n_members in plan_chunks(self, builder, votes, last, on_progress):
                builder.grow_to(n_members, on_progress)
            # At once: a failed or interrupted fit leaves the estimator unchanged.
            self._replace_fitted(list_fitted(), _OPTIONAL)

    def _choose_member(self) -> Any:
        """The estimator that is cloned for each member."""
        if self.estimator is not None:
            return self.estimator
        return DecisionTreeClassifier() if self._task == "classify" else DecisionTreeRegressor()

    def _check_member(self, member: Any) -> None:
        if is_regressor(member) if self._task == "classify" else is_classifier(member):
            name, kind = type(self).__name__, "classifier" if self._task == "classify" else "regressor"
            raise ParameterTypeError(
                f"The 'estimator' parameter of {name} must be a {kind}; got {type(member).__name__}."
            )
        if self._kept_members() is not None and type(member) is not type(self.estimator_):
            raise ParameterError(
                f"{type(self).__name__} keeps the members of the last fit (warm_start=True), which are of class "
                f"{type(self.estimator_).__name__}; got {type(member).__name__} as 'estimator'."
            )

    def _plan_samples(
        self, dataset: Dataset, sample_weight: ArrayLike | None, groups: ArrayLike | None
    ) -> MemberSamples:
        """Rows and features of each member; kept members keep their seed."""
        name, kept = type(self).__name__, self._kept_members()
        halves = self.bootstrap == "subagging"
        plan = plan_samples(
            name,
            dataset,
            bootstrap=False if halves else self.bootstrap if isinstance(self.bootstrap, str) else bool(self.bootstrap),
            max_samples=0.5 if halves and self.max_samples is None else self.max_samples,
            sample_weight=sample_weight,
            groups=groups,
        )
        n_features, wanted = dataset.n_features, self.max_features
        n_drawn = int(wanted) if isinstance(wanted, int | np.integer) else max(1, int(wanted * n_features))
        if n_drawn > n_features:
            raise ParameterError(
                f"The 'max_features' parameter of {name} must be at most the {n_features} features of X; got {wanted}."
            )
        if n_drawn == n_features and not self.bootstrap_features:
            n_drawn = 0
        if plan.draws_all and self.oob_score:
            raise ParameterError(
                f"Out of bag estimation only available if bootstrap=True, or if {name} leaves rows out by "
                "'max_samples'; here every member gets every row."
            )
        if self.oob_patience is not None and not self.oob_score:
            raise ParameterError(f"The 'oob_patience' parameter of {name} needs an out-of-bag score: set 'oob_score'.")
        seed = resolve_seed(self.random_state) if kept is None else self._samples.seed
        samples = MemberSamples(plan, seed, n_features, n_drawn, bool(self.bootstrap_features))
        if kept is not None:
            self._check_kept(len(kept), samples, dataset)
        return samples

    def _kept_members(self) -> TreeMembers | AnyMembers | None:
        """Members of the last fit, if this fit adds to them."""
        return self._members if self.warm_start and self.__sklearn_is_fitted__() else None

    def _check_kept(self, n_kept: int, samples: MemberSamples, dataset: Dataset) -> None:
        if n_kept > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_kept} when "
                "warm_start==True"
            )
        if n_kept == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not fit new members.", UserWarning)
        old, named = self._samples, target_attributes(dataset.target)
        same_target = all(_are_equal_arrays(value, self.__dict__[name]) for name, value in named.items())
        if not same_target or (old.n_features, old.plan.n_rows) != (samples.n_features, samples.plan.n_rows):
            raise DataError(
                f"{type(self).__name__} keeps the members of the last fit (warm_start=True), but these data have other "
                "rows, features or classes than those that the members were fitted on."
            )

    def _make_estimator_bag(
        self, member: Any, dataset: Dataset, samples: MemberSamples, routed: Mapping[str, object]
    ) -> EstimatorBagBuilder:
        """A bag of members that read the table by themselves."""
        if get_config()["enable_metadata_routing"]:
            takes_weights = bool(get_routing_for_object(member).consumes("fit", ("sample_weight",)))
        else:
            takes_weights = has_fit_parameter(member, "sample_weight")
        weights = None if samples.plan.uses_weights else dataset.weights
        if weights is not None and not takes_weights:
            raise DataError(
                f"{type(member).__name__} takes no sample_weight, so that weights can only be the chances of rows to "
                f"be drawn with replacement; set bootstrap=True in {type(self).__name__}."
            )
        assert dataset.target is not None
        kept = self._kept_members()
        return EstimatorBagBuilder(
            member,
            dataset.X,
            dataset.target,
            samples,
            weights=weights,
            takes_weights=takes_weights,
            fit_params=routed,
            n_jobs=self.n_jobs,
            kept=[] if kept is None else list(kept if isinstance(kept, TreeMembers) else kept.estimators),
        )

    def _open_votes(self, dataset: Dataset, sample_weight: ArrayLike | None) -> OutOfBag | None:
        if not self.oob_score:
            return None
        assert dataset.target is not None
        too_few = "too few estimators were used to compute any reliable oob estimates"
        return OutOfBag(
            dataset.target,
            self.oob_score,
            weights=weigh_scores(sample_weight, dataset.weights),
            tol=float(self.oob_tol),
            patience=self.oob_patience,
            too_few=too_few,
        )

    def _list_fitted(
        self,
        member: Any,
        builder: TreeBagBuilder | EstimatorBagBuilder,
        samples: MemberSamples,
        dataset: Dataset,
        votes: OutOfBag | None,
    ) -> dict[str, Any]:
        """Fitted attributes by name."""
        fitted = {
            **target_attributes(dataset.target),
            **({} if votes is None else votes.fitted_attributes()),
            "estimator_": member,
            "n_features_in_": dataset.schema.n_inputs,
            "_members": builder.build_members(),
            "_samples": samples,
            "_schema": dataset.schema,
        }
        names = dataset.schema.input_names
        if names is not None:
            fitted["feature_names_in_"] = np.asarray(names, dtype=object)
        return fitted

    # Predictions.

    def __sklearn_is_fitted__(self) -> bool:
        return "_members" in self.__dict__

    def _fitted_members(self) -> TreeMembers | AnyMembers:
        members: TreeMembers | AnyMembers | None = self.__dict__.get("_members")
        if members is None:
            raise not_fitted_error(self)
        return members

    def to_tree_model(self) -> TreeModel:
        """The fitted trees and how they are combined, for importance, partial dependence and Shapley values."""
        members = self._fitted_members()
        if not isinstance(members, TreeMembers):
            raise ParameterTypeError(
                f"A {type(self).__name__} is a model of trees only if its members are this library's trees; they are "
                f"of class {type(self.estimator_).__name__}."
            )
        return TreeModel(members.trees, self._schema)

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """What the fitted estimator computes for a row, by default of its own table; exports are written from it."""
        members, schema = self._fitted_members(), self._schema
        known: Any = getattr(self, "classes_", None)
        classes = () if known is None else tuple(known) if isinstance(known, list) else (known,)
        if isinstance(members, TreeMembers):
            row = TableRow(schema.n_features) if row is None else row
            mean: FormulaTerm = TreeTerm(row, members.trees, "mean")
        else:
            opened = open_members(self, members.estimators, row, members.list_features(range(len(members))))
            row, schema = opened.row, opened.schema
            mean = members.average_term(self, opened.members)
        if not classes:
            return ModelFormula(row, schema, mean)
        return ModelFormula(row, schema, find_largest(mean, [len(own) for own in classes]), classes, mean)

    def _average_members(self, X: Any, method: str, params: dict[str, object]) -> FloatArray:
        """Mean of the members' predictions."""
        members = self._fitted_members()
        routed = route_to_members(self, method, params).estimator
        member_params = next((dict(value) for value in routed.values() if value), {})
        if isinstance(members, TreeMembers):
            return predict_trees(members.trees, take_in_rows(self, X, self._schema), "mean", self.n_jobs)
        return members.average(pass_rows(self, X, self._schema), self.n_jobs, method, member_params)

    def predict_members(self, X: Any) -> list[FloatArray]:
        """Predictions of each member: class probabilities of all outputs side by side, or values.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        list of ndarray of shape (n_samples, width)
        """
        members = self._fitted_members()
        if isinstance(members, TreeMembers):
            return members.predict_by_tree(take_in_rows(self, X, self._schema))
        return members.predict_each(pass_rows(self, X, self._schema))

    # Metadata, as scikit-learn routes it.

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are routed to this estimator and its members.

        Returns
        -------
        MetadataRouter
        """
        has_proba = self._task == "classify" and hasattr(self._choose_member(), "predict_proba")
        method = "predict_proba" if has_proba else "predict"
        mapping = MethodMapping().add(caller="fit", callee="fit")
        for caller in ("predict", "predict_proba", "predict_log_proba"):
            mapping.add(caller=caller, callee=method)
        mapping.add(caller="decision_function", callee="decision_function")
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self._choose_member(), method_mapping=mapping)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        copy_input_tags(tags, self._choose_member())
        return tags

    # Members.

    @property
    def estimators_(self) -> Sequence[Any]:
        """The fitted members; trees that share bins become estimators of their own when they are accessed."""
        members = self._fitted_members()
        return members if isinstance(members, TreeMembers) else members.estimators

    @property
    def _max_samples(self) -> int:
        # Private in scikit-learn as well, and yet read by programs that compute with the samples of the members.
        self._fitted_members()
        return self._samples.plan.total_draws

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """Rows in the sample of each member, ascending, as often as they occur; drawn again at each access."""
        counts = self._samples.draw_rows(range(len(self._fitted_members())))
        return [np.repeat(np.arange(len(own)), own) for own in counts]

    @property
    def estimators_features_(self) -> list[NDArray[np.intp]]:
        """Features of each member, ascending; drawn again at each access."""
        return self._samples.draw_features(range(len(self._fitted_members())))
