"""How a fit of AdaBoost goes on from the last one: its members, its history, the weights that it ended with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import ClassTarget
from committee.ensembles.adaboost.history import BoostingHistory
from committee.ensembles.adaboost.predictions import BaseAdaBoostClassifier
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.losses import apply_exp

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.ensembles.adaboost.algorithms import Algorithm
    from committee.ensembles.adaboost.members import BoostedMembers, BoostedTrees
    from committee.typing import FloatArray

__all__ = ["ResumableAdaBoost"]


class ResumableAdaBoost(BaseAdaBoostClassifier):
    """A boosted classifier that can go on from its last fit (``warm_start=True``)."""

    sample_weights_trace_: FloatArray
    warm_start: bool
    n_estimators: int
    n_iter_no_change: int | None
    keep_sample_weights: bool
    _ended: bool

    def _find_kept(self, dataset: Dataset, algorithm: Algorithm) -> BoostedTrees | BoostedMembers | None:
        """Members of the last fit that this one adds to."""
        if not self.warm_start or not self.__sklearn_is_fitted__():
            return None
        name, n_kept = type(self).__name__, len(self.estimator_weights_)
        if n_kept > self.n_estimators:
            raise ParameterError(
                f"n_estimators={self.n_estimators} must be larger or equal to len(estimators_)={n_kept} when "
                "warm_start==True"
            )
        if type(self._rule) is not type(algorithm):
            raise ParameterError(f"{name} cannot go on (warm_start=True) with another algorithm than it began with.")
        if self._ended:
            warn_caller(f"Boosting of {name} has come to its end; warm_start adds no members.", UserWarning)
        elif n_kept == self.n_estimators:
            warn_caller("Warm-start fitting without increasing n_estimators does not fit new members.", UserWarning)
        if self.n_iter_no_change is not None:
            raise ParameterError(f"{name} cannot stop early (n_iter_no_change) and keep members (warm_start) at once.")
        assert isinstance(dataset.target, ClassTarget)
        same_classes = np.array_equal(dataset.target.classes[0], self.classes_)
        same_table = dataset.schema.inputs == self._schema.inputs and dataset.n_features == self._schema.n_features
        if not same_classes or not same_table:
            raise DataError(
                f"{name} cannot keep its members (warm_start=True): these data have other features or classes than "
                "those that the members were fitted on."
            )
        return self._members

    def _resume_history(self) -> BoostingHistory:
        """The rounds of the last fit."""
        kept_weights: list[FloatArray] = []
        if self.keep_sample_weights:
            kept_weights = list(getattr(self, "sample_weights_trace_", ()))
            if len(kept_weights) != len(self.estimator_weights_):
                raise ParameterError(
                    f"{type(self).__name__} cannot keep its members (warm_start=True) and the weights of all rounds "
                    "(keep_sample_weights=True): those of the earlier rounds were not kept."
                )
        errors, weights = self.estimator_errors_.tolist(), self.estimator_weights_.tolist()
        return BoostingHistory(errors, weights, self.exponential_loss_.tolist(), kept_weights, self._ended)

    def _resume_weights(self, X: Any, dataset: Dataset) -> FloatArray:
        """Row weights after the last fit: those of its first round times exp(-f_y / (K - 1))."""
        assert isinstance(dataset.target, ClassTarget)
        labels = dataset.target.labels[:, 0].astype(np.intp)
        own = self._raw_decision(X)[np.arange(dataset.n_rows), labels] / max(1, self.n_classes_ - 1)
        start = np.ones(dataset.n_rows) if dataset.weights is None else dataset.weights
        return np.asarray(start * apply_exp(own.min() - own))
