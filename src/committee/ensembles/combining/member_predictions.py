"""What a member says about rows, in the columns of the committee: its classes in the committee's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import is_regressor

from committee.data.rows import count_rows
from committee.exceptions import DataError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["Classes", "choose_method", "find_classes", "predict_member", "spread_out_of_bag"]

#: The classes of each output as a member calls them; None where numbers are predicted.
Classes: TypeAlias = "list[NDArray[Any]] | None"

_METHODS = ("predict_proba", "decision_function", "predict")


def choose_method(name: str, member: Any, asked: str, owner: str) -> str:
    """The method that a member is asked by: the one that is wanted, or with ``"auto"`` the most telling it has.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> choose_method("svc", LinearSVC(), "auto", "StackingClassifier")
    'decision_function'
    """
    wanted = _METHODS if asked == "auto" else (asked,)
    for method in wanted:
        if hasattr(member, method):
            return method
    raise ParameterError(
        f"{owner} needs the method {wanted[0]} of every member; {name!r} ({type(member).__name__}) does not have it."
    )


def predict_member(
    member: Any, X: Any, method: str, classes: Classes, params: dict[str, Any] | None = None
) -> FloatArray:
    """What one member says about each row.

    Parameters
    ----------
    member : fitted estimator
        Of any library.
    X : table
        Rows to ask about.
    method : {"predict_proba", "decision_function", "predict"}
        How to ask.
    classes : list of ndarray, or None
        The classes of each output, as members know them; None if the committee predicts numbers.
    params : dict, optional
        What the method is given besides.

    Returns
    -------
    ndarray of shape (n_rows, width)
        Shares of all classes of all outputs side by side, decisions, or for each output its value or the number of
        its class.
    """
    said = getattr(member, method)(X, **(params or {}))
    n_rows = count_rows(X)
    if classes is None or is_regressor(member):
        return np.asarray(said, dtype=np.float64).reshape(n_rows, -1)
    if method == "predict_proba":
        parts = _part_outputs(said, len(classes))
        known = _list_known(member, classes)
        return np.hstack([_spread(p, k, c, member) for p, k, c in zip(parts, known, classes, strict=True)])
    if method == "decision_function":
        if any(len(k) != len(c) for k, c in zip(_list_known(member, classes), classes, strict=True)):
            raise DataError(
                f"{type(member).__name__} was fitted on rows that lack a class, so that its decisions are about other "
                "classes; use stratified folds or a member with probabilities."
            )
        return np.asarray(said, dtype=np.float64).reshape(n_rows, -1)
    labels = np.asarray(said).reshape(n_rows, -1)
    return np.column_stack([find_classes(labels[:, k], c, member) for k, c in enumerate(classes)]).astype(np.float64)


def find_classes(labels: NDArray[Any], classes: NDArray[Any], member: Any) -> NDArray[np.intp]:
    """The number of each label among the classes."""
    at = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    strange = classes[at] != labels
    if np.any(strange):
        raise DataError(
            f"{type(member).__name__} speaks of the class {labels[strange][0]!r}, which is not among those of the "
            f"committee: {classes!r}."
        )
    return at


def spread_out_of_bag(member: Any, n_rows: int) -> FloatArray:
    """What a bagged member says about its own training rows by the part of it that did not see them; NaN if none."""
    if hasattr(member, "oob_prediction_"):
        return np.asarray(member.oob_prediction_, dtype=np.float64).reshape(n_rows, -1)
    shares = member.oob_decision_function_
    if isinstance(shares, list):
        return np.hstack(shares)
    shares = np.asarray(shares)
    return shares if shares.ndim == 2 else np.hstack([shares[:, :, k] for k in range(shares.shape[2])])


def _part_outputs(said: Any, n_outputs: int) -> list[NDArray[Any]]:
    if isinstance(said, list):
        return [np.asarray(part) for part in said]
    if n_outputs > 1:
        # Some estimators give for each of several labels the probability that it applies.
        return [np.stack([1.0 - share, share], axis=1) for share in np.asarray(said).T]
    return [np.asarray(said)]


def _list_known(member: Any, classes: list[NDArray[Any]]) -> list[NDArray[Any]]:
    known = getattr(member, "classes_", classes)
    if isinstance(known, list):
        return [np.asarray(part) for part in known]
    # A single array for several outputs numbers the labels themselves: each of them is there or not.
    return [np.asarray(known)] if len(classes) == 1 else classes


def _spread(shares: NDArray[Any], known: NDArray[Any], classes: NDArray[Any], member: Any) -> FloatArray:
    """Shares of the classes that a member has met, in the columns of all classes."""
    if len(known) == len(classes) and np.array_equal(known, classes):
        return shares.astype(np.float64, copy=False)
    spread = np.zeros((len(shares), len(classes)))
    spread[:, find_classes(known, classes, member)] = shares
    return spread
