"""Which members of an ensemble can be fitted on one shared set of bins, and the table that other members get."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np

from committee.learners.tree_base import BaseTree

if TYPE_CHECKING:
    from committee.data import Dataset
    from committee.typing import FloatMatrix, SparseMatrix, Task

__all__ = ["can_share_bins", "choose_table", "read_dataset_rows"]


def can_share_bins(estimator: object, task: Task) -> TypeGuard[BaseTree]:
    """Whether members are trees of this library for the same task, fitted by the library's own `fit`.

    Examples
    --------
    >>> from committee import DecisionTreeClassifier
    >>> can_share_bins(DecisionTreeClassifier(), "classify"), can_share_bins(DecisionTreeClassifier(), "regress")
    (True, False)
    """
    return isinstance(estimator, BaseTree) and estimator.task == task and type(estimator).fit is BaseTree.fit


def choose_table(X: Any, dataset: Dataset) -> Any:
    """The table for members that cannot share bins: the numbers that were read, or X itself if it has categories.

    Parameters
    ----------
    X : table
        As the user passed it.
    dataset : Dataset
        What was read from it.

    Returns
    -------
    ndarray, CSR matrix or frame
    """
    if dataset.schema.has_categories:
        return X if hasattr(X, "shape") else np.asarray(X, dtype=object)
    return read_dataset_rows(dataset)


def read_dataset_rows(dataset: Dataset) -> FloatMatrix | SparseMatrix:
    """The training rows in the form that trees predict from."""
    return dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.tocsr()
