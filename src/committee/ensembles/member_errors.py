"""Errors of members of other libraries, with a sentence on what the ensemble passed to them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_classifier

from committee.exceptions import CommitteeError, DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from committee.typing import AnyArray, EstimatorLike

__all__ = ["explain_single_class"]


@contextmanager
def explain_single_class(member: EstimatorLike, y: NDArray[Any], weights: AnyArray | None = None) -> Iterator[None]:
    """Around the fit of a classifier: if it refuses rows that are all of one class, say so.

    Parameters
    ----------
    member : estimator
        It is to be fitted.
    y : ndarray
        The classes of its rows.
    weights : ndarray of shape (n_rows,), optional
        Weights of its rows; rows of weight zero do not count.
    """
    try:
        yield
    except ValueError as error:
        if isinstance(error, CommitteeError) or not is_classifier(member) or np.ndim(y) != 1:
            raise
        kept = y if weights is None else y[np.asarray(weights) > 0.0]
        if len(np.unique(kept)) > 1:
            raise
        said = str(error).strip().rstrip(".")
        raise DataError(
            f"{said}. {type(member).__name__} got {len(kept)} rows, all of one class, and needs at least two classes; "
            "use rows of two classes, other folds, or an estimator that accepts one class."
        ) from error
