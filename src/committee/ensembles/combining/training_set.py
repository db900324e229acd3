"""The training set that all members of an ensemble are fitted on: one table, one target, and the rows of each fit.

Members of this library share one immutable data set and its bins: a fold is a vector of weights over it, not a copy.
Any other estimator gets the rows themselves.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from committee.base import CommitteeEstimator, resolve_jobs
from committee.data.intake import take_in
from committee.data.rows import count_rows, select_rows
from committee.data.weights import find_row_weight
from committee.ensembles.member_errors import explain_single_class
from committee.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

    from committee.data import ClassTarget, Dataset, ValueTarget
    from committee.typing import EstimatorLike, FloatArray, Task

__all__ = ["DatasetLearner", "TrainingSet", "can_fit_dataset"]


class DatasetLearner(Protocol):
    """An estimator of this library that can be fitted on a data set that it shares with others."""

    max_bins: int
    categorical_features: Any
    unseen: str
    text_columns: Any

    @property
    def task(self) -> Task:
        """What it predicts."""

    @property
    def fit_dataset(self) -> Callable[..., EstimatorLike]:
        """Fit on a data set that was read before."""

    def validate_params(self) -> None:
        """Check the constructor parameters."""

    def weigh_rows(self, target: ClassTarget | ValueTarget | None, weights: FloatArray | None) -> FloatArray | None:
        """Row weights times class weights."""


def can_fit_dataset(member: object) -> TypeGuard[DatasetLearner]:
    """Whether a member can be fitted on a shared data set; a user's subclass may fit in another way."""
    own = isinstance(member, CommitteeEstimator) and type(member).__module__.partition(".")[0] == "committee"
    return own and hasattr(member, "fit_dataset") and hasattr(member, "weigh_rows")


class TrainingSet:
    """A table and a target that many members are fitted on, with all rows or some of them.

    Parameters
    ----------
    X : table
        As the user passed it.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Indices of classes, or values.
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    groups : array-like of shape (n_rows,) or None
        For members that sample whole groups.
    """

    def __init__(
        self, X: Any, y: NDArray[Any], weights: FloatArray | None = None, groups: ArrayLike | None = None
    ) -> None:
        self.X, self.y, self.weights, self.groups = X, y, weights, groups
        self.n_rows = len(y)
        self._datasets: dict[tuple[str, str, str, str], Dataset] = {}

    def with_table(self, X: Any, rows: NDArray[np.intp]) -> TrainingSet:
        """The training set of the next layer: another table, for some of the rows."""
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        return TrainingSet(X, self.y[rows], None if self.weights is None else self.weights[rows], groups)

    def bin_table(self, members: Sequence[object], n_jobs: int | None) -> None:
        """Read and bin the table for the members that share it, so that no fold's weights decide on the bins."""
        for member in members:
            if can_fit_dataset(member):
                member.validate_params()
                self._get_dataset(member).binned(member.max_bins, resolve_jobs(n_jobs))

    def fit_member(
        self, member: EstimatorLike, rows: NDArray[np.intp] | None, params: Mapping[str, object]
    ) -> EstimatorLike:
        """Fit a member on some rows, or on all.

        Parameters
        ----------
        member : estimator
            Is fitted.
        rows : ndarray of int or None
            Numbers of the rows; None for all.
        params : mapping
            Further arguments of `fit`; those with an entry for each row are restricted to the rows.

        Returns
        -------
        The member.
        """
        grouped = getattr(member, "bootstrap", None) == "group" and isinstance(member, CommitteeEstimator)
        if grouped and self.groups is None:
            raise DataError(f"{type(member).__name__} draws whole groups, and there are none: pass groups to fit.")
        if can_fit_dataset(member) and not set(params) - {"sample_weight"}:
            return self._fit_on_dataset(member, rows, params, grouped)
        given = dict(params)
        if grouped:
            given["groups"] = np.asarray(self.groups)
        # An estimator of another library may return nothing from `fit`.
        if rows is None:
            with explain_single_class(member, self.y, self.weights):
                member.fit(self.X, self.y, **given)
            return member
        given = {name: select_rows(v, rows) if _is_by_row(v, self.n_rows) else v for name, v in given.items()}
        with explain_single_class(member, self.y[rows], None if self.weights is None else self.weights[rows]):
            member.fit(select_rows(self.X, rows), self.y[rows], **given)
        return member

    def _fit_on_dataset(
        self, member: DatasetLearner, rows: NDArray[np.intp] | None, params: Mapping[str, object], grouped: bool
    ) -> EstimatorLike:
        weights = self._weigh_rows(rows, params)
        # Members that sample rows need the weights without class weights, to know how many rows there are.
        samples = "sample_weight" in signature(member.fit_dataset).parameters
        given: dict[str, object] = {"sample_weight": weights} if samples else {}
        if grouped:
            given["groups"] = self.groups
        return member.fit_dataset(self._weigh_dataset(member, weights), **given)

    def weigh_dataset(
        self, member: DatasetLearner, rows: NDArray[np.intp] | None, params: Mapping[str, object]
    ) -> Dataset:
        """The data set that a member shares, with weights for a fit on some rows; arguments as in `fit_member`."""
        return self._weigh_dataset(member, self._weigh_rows(rows, params))

    def _weigh_dataset(self, member: DatasetLearner, weights: FloatArray | None) -> Dataset:
        dataset = self._get_dataset(member)
        combined = member.weigh_rows(dataset.target, weights)
        return dataset.reweighted(combined, find_row_weight(weights, combined))

    def _weigh_rows(self, rows: NDArray[np.intp] | None, params: Mapping[str, object]) -> FloatArray | None:
        """The weights of a fit on some rows; None if all are equal."""
        # With metadata routing, a member may not have requested the weights.
        weights = self.weights if params.get("sample_weight") is not None else None
        if rows is not None:
            counts = np.bincount(rows, minlength=self.n_rows).astype(np.float64)
            weights = counts if weights is None else weights * counts
            if not weights.any():
                raise DataError("A fold has no row of positive weight to learn from.")
        return None if weights is not None and (weights == weights[0]).all() else weights

    def _get_dataset(self, member: DatasetLearner) -> Dataset:
        key = (member.task, str(member.categorical_features), member.unseen, str(member.text_columns))
        if key not in self._datasets:
            self._datasets[key] = take_in(
                member,
                self.X,
                self.y,
                self.weights,
                task=member.task,
                categorical_features=member.categorical_features,
                unseen=member.unseen,
                text_columns=member.text_columns,
            )
        return self._datasets[key]


def _is_by_row(value: Any, n_rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | dict) and count_rows(value) == n_rows
