"""AdaBoost of several targets: an ensemble for each of them, on one set of bins.

The weights of the rows follow the errors of one target, so that targets cannot share members.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, contextmanager
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import MultiOutputMixin, clone

from committee.base import resolve_seed
from committee.data import ClassTarget
from committee.ensembles.adaboost.base import BaseAdaBoost
from committee.ensembles.fit_callbacks import FitInput
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from committee.data import Dataset
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

    def _open_fit(
        self, member: EstimatorLike, dataset: Dataset, given: FitInput, fit_params: Mapping[str, object]
    ) -> AbstractContextManager[Callable[[], None]]:
        """The fit of one target: what it gives boosts the ensemble, whose attributes are set at its end."""
        raise NotImplementedError

    def _open_fits(
        self, member: EstimatorLike, dataset: Dataset, given: FitInput, fit_params: Mapping[str, object]
    ) -> Iterator[AbstractContextManager[Callable[[], None]]]:
        """The fits of the target, or of each of several ones."""
        target = dataset.target
        assert target is not None
        self._check_earlier(target.n_outputs)
        if target.n_outputs == 1:
            yield self._open_fit(member, dataset, given, fit_params)
            return
        outputs, seed = self._start_outputs(target.n_outputs), resolve_seed(self.random_state)
        for k, output in enumerate(outputs):
            output.random_state = seed
            own = target.take_output(k)
            values = own.classes[0][own.labels[:, 0]] if isinstance(own, ClassTarget) else own.values[:, 0]
            opened = output._open_fit(
                clone(member), replace(dataset, target=own), given._replace(y=values), dict(fit_params)
            )
            yield _name_target(opened, k)
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


@contextmanager
def _name_target(opened: AbstractContextManager[Callable[[], None]], output: int) -> Iterator[Callable[[], None]]:
    """A fit whose complaints about the data name the target."""
    try:
        with opened as boost:
            yield boost
    except DataError as error:
        raise DataError(f"{error} (Target {output}.)") from None
