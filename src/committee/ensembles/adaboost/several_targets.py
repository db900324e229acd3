"""AdaBoost of several targets: an ensemble for each of them, on one set of bins.

The weights of the rows follow the errors of one target, so that targets cannot share members.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, clone

from committee.base import resolve_seed
from committee.data import ClassTarget
from committee.data.opening import opens_table
from committee.ensembles.adaboost.base import BaseAdaBoost
from committee.ensembles.fit_callbacks import FitInput
from committee.ensembles.member_routing import route_to_members
from committee.ensembles.member_texts import read_member_texts
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from committee.data import Dataset, ValueTarget
    from committee.typing import EstimatorLike

__all__ = ["SeveralTargetsAdaBoost"]

#: Fitted attributes of an ensemble of one target.
_SINGLE = (
    *("estimator_weights_", "estimator_errors_", "edges_", "exponential_loss_", "sample_weights_trace_"),
    *("validation_scores_", "feature_names_in_", "classes_", "n_classes_", "_members", "_rule", "_seed", "_ended"),
    "_takes_median",
)


class SeveralTargetsAdaBoost(MultiOutputMixin, BaseAdaBoost):  # type: ignore[misc]
    """An AdaBoost estimator that fits a copy of itself to each of several targets."""

    _takes_several: ClassVar[bool] = True

    n_outputs_: int

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **fit_params: object) -> Self:
        """Fit the ensemble.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            A table that the members can read: missing values, categories and sparse rows if they support them.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes, or target values of a regressor; with several columns an ensemble is fitted to each, on the same
            bins.
        sample_weight : array-like of shape (n_samples,), optional
            Row weights of the first round; a row of weight zero counts as absent.
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
        target, given = dataset.target, FitInput(X, y, sample_weight)
        assert target is not None
        self._check_earlier(target.n_outputs)
        if target.n_outputs == 1:
            self._fit_target(member, dataset, given, routed)
        else:
            self._fit_outputs(member, dataset, target, given, routed)
        return self

    def _fit_target(
        self, member: EstimatorLike, dataset: Dataset, given: FitInput, fit_params: Mapping[str, object]
    ) -> None:
        """Fit the ensemble to the only target of the data set."""
        raise NotImplementedError

    def _fit_outputs(
        self,
        member: EstimatorLike,
        dataset: Dataset,
        target: ClassTarget | ValueTarget,
        given: FitInput,
        fit_params: Mapping[str, object],
    ) -> None:
        """Fit an ensemble to each of several targets."""
        outputs, seed = self._start_outputs(target.n_outputs), resolve_seed(self.random_state)
        for k, output in enumerate(outputs):
            output.random_state = seed
            own = target.take_output(k)
            values = own.classes[0][own.labels[:, 0]] if isinstance(own, ClassTarget) else own.values[:, 0]
            try:
                output._fit_target(
                    clone(member), replace(dataset, target=own), given._replace(y=values), dict(fit_params)
                )
            except DataError as error:
                raise DataError(f"{error} (Target {k}.)") from None
        fitted: dict[str, object] = {
            **self._list_common(member, dataset.schema),
            "_outputs": outputs,
            "n_outputs_": target.n_outputs,
        }
        if isinstance(target, ClassTarget):
            fitted |= {"classes_": target.classes, "n_classes_": np.array(target.n_classes)}
        self._replace_fitted(fitted, _SINGLE)

    def _check_earlier(self, n_outputs: int) -> None:
        """Refuse to go on from a fit of another number of targets."""
        if not getattr(self, "warm_start", False) or not self.__sklearn_is_fitted__():
            return
        n_earlier = len(self.__dict__.get("_outputs", (None,)))
        if n_earlier != n_outputs:
            raise DataError(
                f"{type(self).__name__} cannot keep its members (warm_start=True): it was fitted on {n_earlier} "
                f"target{'' if n_earlier == 1 else 's'}, and y has {n_outputs}."
            )

    def _start_outputs(self, n_outputs: int) -> list[Any]:
        """An estimator for each target: not fitted, or with the members of the last fit."""
        if getattr(self, "warm_start", False) and "_outputs" in self.__dict__:
            return [copy(output).set_params(**self.get_params(deep=False)) for output in self._outputs]
        return [clone(self) for _ in range(n_outputs)]
