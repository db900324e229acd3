"""What the members of a committee are taught: one table, one target, and for each fit the rows that count.

Members of this library share one frozen data set, and its bins: a fold is a vector of weights over it, never a copy.
Any other estimator gets the rows themselves.
"""

from __future__ import annotations

from inspect import signature
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.base import CommitteeEstimator, resolve_jobs
from committee.data.intake import take_in
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, DataTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.typing import FloatArray

__all__ = ["TrainingSet", "can_share", "read_table"]


def can_share(member: Any) -> bool:
    """Whether a member can be fitted on a data set that it shares with others; a subclass may fit in its own way."""
    own = isinstance(member, CommitteeEstimator) and type(member).__module__.partition(".")[0] == "committee"
    return own and hasattr(member, "fit_dataset") and hasattr(member, "weigh_rows")


def read_table(X: Any) -> Any:
    """The table as members get it: as it is, if it has rows at all; what only turns into an array is turned."""
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__array__"):
        X = np.asarray(X)
        shape = X.shape
    if shape is None and (X is None or isinstance(X, str | bytes | dict | set) or not hasattr(X, "__len__")):
        raise DataTypeError(f"X must be a table or a list of rows; got {type(X).__name__}.")
    if shape == ():
        raise DataError("X must be a table with rows; got a single number.")
    if getattr(getattr(X, "dtype", None), "kind", "") == "c":
        raise DataError("Complex data not supported: X holds complex numbers.")
    return X


class TrainingSet:
    """A table and a target that many members learn from, whole or some of its rows.

    Parameters
    ----------
    X : table
        As the user passed it.
    y : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Numbers of classes, or values.
    weights : ndarray of shape (n_rows,) or None
        Sample weights.
    groups : array-like of shape (n_rows,) or None
        For members that draw whole groups.
    """

    def __init__(self, X: Any, y: NDArray[Any], weights: FloatArray | None = None, groups: Any = None) -> None:
        self.X, self.y, self.weights, self.groups = X, y, weights, groups
        self.n_rows = len(y)
        self._datasets: dict[Any, Dataset] = {}

    def cut(self, table: Any, rows: NDArray[np.intp]) -> TrainingSet:
        """What the next layer learns: another table in place of this one, about some of the rows."""
        groups = None if self.groups is None else np.asarray(self.groups)[rows]
        return TrainingSet(table, self.y[rows], None if self.weights is None else self.weights[rows], groups)

    def prepare(self, members: list[Any], n_jobs: int | None) -> None:
        """Take the table in and bin it for those who share it, so that no fold's weights decide on the bins."""
        for member in members:
            if can_share(member):
                member._validate_params()
                self._find_dataset(member).binned(member.max_bins, resolve_jobs(n_jobs))

    def teach(self, member: Any, rows: NDArray[np.intp] | None, params: Mapping[str, Any]) -> Any:
        """Fit a member on some rows, or on all.

        Parameters
        ----------
        member : estimator
            Is fitted.
        rows : ndarray of int or None
            Numbers of the rows; None for all.
        params : mapping
            What `fit` is given besides; what has an entry for each row is cut to the rows.

        Returns
        -------
        The member.
        """
        grouped = getattr(member, "bootstrap", None) == "group" and isinstance(member, CommitteeEstimator)
        if grouped and self.groups is None:
            raise DataError(f"{type(member).__name__} draws whole groups, and there are none: pass groups to fit.")
        if can_share(member) and not set(params) - {"sample_weight"}:
            return self._teach_shared(member, rows, params, grouped)
        own = dict(params)
        if grouped:
            own["groups"] = np.asarray(self.groups)
        if rows is None:
            return member.fit(self.X, self.y, **own)
        cut = {name: select_rows(v, rows) if _is_by_row(v, self.n_rows) else v for name, v in own.items()}
        return member.fit(select_rows(self.X, rows), self.y[rows], **cut)

    def _teach_shared(
        self, member: Any, rows: NDArray[np.intp] | None, params: Mapping[str, Any], grouped: bool
    ) -> Any:
        dataset = self._find_dataset(member)
        # As the member asked for them: with metadata routing it may not want the weights.
        weights = self.weights if params.get("sample_weight") is not None else None
        if rows is not None:
            counts = np.bincount(rows, minlength=self.n_rows).astype(np.float64)
            weights = counts if weights is None else weights * counts
            if not weights.any():
                raise DataError("A fold has no row of positive weight to learn from.")
        if weights is not None and (weights == weights[0]).all():
            weights = None
        # Who draws samples must know how many rows there are, whatever their classes weigh.
        draws = "sample_weight" in signature(member.fit_dataset).parameters
        more = {"sample_weight": weights} if draws else {}
        if grouped:
            more["groups"] = self.groups
        return member.fit_dataset(dataset.reweighted(member.weigh_rows(dataset.target, weights)), **more)

    def _find_dataset(self, member: Any) -> Dataset:
        key = (member._task, str(member.categorical_features), member.unseen)
        if key not in self._datasets:
            self._datasets[key] = take_in(
                member,
                self.X,
                self.y,
                self.weights,
                task=member._task,
                categorical_features=member.categorical_features,
                unseen=member.unseen,
            )
        return self._datasets[key]


def _is_by_row(value: Any, n_rows: int) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, str | bytes | dict) and count_rows(value) == n_rows
