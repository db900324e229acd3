"""What AdaBoost for classification, for regression and arcing share: reading the data, the fitted members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from committee.base import CommitteeEstimator, not_fitted_error
from committee.data.intake import take_in_rows
from committee.data.passing import pass_rows
from committee.data.targets import has_several_columns
from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees
from committee.ensembles.member_access import MemberAccessMixin
from committee.ensembles.shared_bins import can_share_bins, copy_input_tags, take_in_for_members
from committee.exceptions import ParameterTypeError
from committee.learners.prepared_predictor import PredictorMixin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from sklearn.utils import Tags

    from committee.data import Dataset, Schema
    from committee.params import MemberTextColumns
    from committee.typing import AnyArray, EstimatorLike, FloatArray, Task

__all__ = ["BaseAdaBoost"]

_OPTIONAL = ("sample_weights_trace_", "validation_scores_", "feature_names_in_", "_outputs", "n_outputs_")
"""Fitted attributes that not every fit sets."""


class BaseAdaBoost(PredictorMixin, MemberAccessMixin, CommitteeEstimator):
    """An ensemble of members that are fitted one after another, whose fitted form is members with weights."""

    estimator: Any
    text_columns: MemberTextColumns = "auto"  # pickles of earlier versions lack it
    n_jobs: int | None

    n_features_in_: int
    _members: BoostedTrees | BoostedMembers
    _outputs: list[Any]
    """An ensemble for each target, instead of members, if there are several targets."""
    _schema: Schema
    _task: ClassVar[Task]
    _takes_several: ClassVar[bool] = False

    # Fitting.

    def _choose_member(self) -> Any:
        """The estimator that is cloned for each member."""
        raise NotImplementedError

    def _member_task(self) -> Task:
        """Whether the members are classifiers or regressors."""
        raise NotImplementedError

    def _check_member(self, member: EstimatorLike, condition: str = "") -> None:
        """Refuse a member for the other task; check the parameters of a tree that `fit_dataset` will not check."""
        task = self._member_task()
        if is_classifier(member) if task == "regress" else is_regressor(member):
            wanted = "regressor" if task == "regress" else "classifier"
            raise ParameterTypeError(
                f"The 'estimator' parameter of {type(self).__name__} must be a {wanted}{condition}; got "
                f"{type(member).__name__}."
            )
        if can_share_bins(member, task):
            member.validate_params()

    def _take_in(self, member: EstimatorLike, X: Any, y: Any, sample_weight: Any) -> Dataset:
        """Check and encode what `fit` got."""
        tree = member if can_share_bins(member, self._member_task()) else None
        several = self._takes_several and has_several_columns(y)
        return take_in_for_members(self, tree, X, y, sample_weight, task=self._task, multi_output=several)

    def _set_fitted_attributes(self, fitted: Mapping[str, object]) -> None:
        """Replace the fitted attributes."""
        self._replace_fitted(fitted, _OPTIONAL)

    def _list_common(self, member: EstimatorLike, schema: Schema) -> dict[str, object]:
        """Fitted attributes that all have: about the member and the columns."""
        fitted: dict[str, object] = {"estimator_": member, "n_features_in_": schema.n_inputs, "_schema": schema}
        if schema.input_names is not None:
            fitted["feature_names_in_"] = np.asarray(schema.input_names, dtype=object)
        return fitted

    # Metadata, as scikit-learn routes it.

    def get_metadata_routing(self) -> MetadataRouter:
        """How metadata are routed to this estimator and the `fit` of its members.

        Returns
        -------
        MetadataRouter
        """
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(estimator=self._choose_member(), method_mapping=mapping)

    # The fitted members.

    def __sklearn_is_fitted__(self) -> bool:
        return "_members" in self.__dict__ or "_outputs" in self.__dict__

    def _fitted_members(self) -> BoostedTrees | BoostedMembers:
        if "_outputs" in self.__dict__:
            raise ParameterTypeError(
                f"This {type(self).__name__} was fitted on several targets and has no members of its own; ask the "
                "ensembles of single targets in estimators_."
            )
        if "_members" not in self.__dict__:
            raise not_fitted_error(self)
        return self._members

    def _read_rows(self, X: Any) -> Any:
        """Rows in the form that the members read."""
        passed = isinstance(self._fitted_members(), BoostedMembers)
        return pass_rows(self, X, self._schema) if passed else take_in_rows(self, X, self._schema)

    def _average_importances(self, weights: FloatArray) -> FloatArray:
        """Weighted mean of the members' importances, for each column of the user's table."""
        found, schema = self._fitted_members().average_importances(weights), self._schema
        # Members that read the user's table have importances of its columns already.
        return schema.sum_features(found, axis=0) if len(found) == schema.n_features else found

    @property
    def estimators_(self) -> Sequence[Any]:
        """The fitted members, built when accessed if they share bins; of several targets an ensemble for each."""
        if "_outputs" in self.__dict__:
            return self._outputs
        members = self._fitted_members()
        return members if isinstance(members, BoostedTrees) else members.estimators

    # Several targets.

    def _stack_predictions(self, X: Any) -> AnyArray:
        """Predictions of each target, side by side."""
        return np.stack([output.predict(X) for output in self._outputs], axis=1)

    def _stage_outputs(self, method: str, X: Any) -> Iterator[list[AnyArray]]:
        """What a staged method of each target gives; those that ended early stay as they are."""
        n_rounds = max(len(output.estimator_weights_) for output in self._outputs)
        found = [getattr(output, method)(X) for output in self._outputs]
        last: list[Any] = [None] * len(found)
        for _ in range(n_rounds):
            last = [next(stages, before) for stages, before in zip(found, last, strict=True)]
            yield last

    def _stage_predictions(self, X: Any) -> Iterator[AnyArray]:
        """Predictions of each target after each round, side by side."""
        return (np.stack(own, axis=1) for own in self._stage_outputs("staged_predict", X))

    def _average_outputs(self) -> FloatArray:
        """Mean of the importances for each target."""
        return np.asarray(np.mean([output.feature_importances_ for output in self._outputs], axis=0))

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        copy_input_tags(tags, self._choose_member())
        return tags
