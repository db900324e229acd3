"""Predictions of the members in a common layout: columns are the ensemble's classes in the ensemble's order."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import is_regressor

from committee.data.rows import count_rows
from committee.exceptions import DataError, ParameterError
from committee.learners.tree_estimator import split_outputs

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from committee.typing import EstimatorLike, FloatArray

__all__ = [
    "Classes",
    "OutputClasses",
    "align_classes",
    "choose_predict_method",
    "decode_classes",
    "drop_redundant_columns",
    "predict_member",
    "read_oob_predictions",
    "split_by_output",
    "sum_weighted",
]

#: The classes of each output, as a member was fitted with them: labels or indices.
OutputClasses: TypeAlias = "list[NDArray[Any]]"
#: The same; None where numbers are predicted.
Classes: TypeAlias = "OutputClasses | None"

_METHODS = ("predict_proba", "decision_function", "predict")


def choose_predict_method(name: str, member: EstimatorLike, method: str, owner: str) -> str:
    """The method that a member predicts by: the given one, or for ``"auto"`` the most informative one it has.

    Examples
    --------
    >>> from sklearn.svm import LinearSVC
    >>> choose_predict_method("svc", LinearSVC(), "auto", "StackingClassifier")
    'decision_function'
    """
    allowed = _METHODS if method == "auto" else (method,)
    for one in allowed:
        if hasattr(member, one):
            return one
    raise ParameterError(
        f"Underlying estimator {name} does not implement the method {allowed[0]}, which {owner} needs of every member; "
        f"it is of class {type(member).__name__}."
    )


def predict_member(member: EstimatorLike, X: Any, method: str, classes: Classes) -> FloatArray:
    """Predictions of one member.

    Parameters
    ----------
    member : fitted estimator
        Of any library.
    X : table
        Rows to predict.
    method : {"predict_proba", "decision_function", "predict"}
        The method to call.
    classes : list of ndarray, or None
        The classes of each output, as members were fitted with them; None if the ensemble predicts numbers.

    Returns
    -------
    ndarray of shape (n_rows, width)
        Probabilities of all classes of all outputs side by side, the decision function, or for each output its value
        or the index of its class.
    """
    predicted = getattr(member, method)(X)
    n_rows = count_rows(X)
    if classes is None or is_regressor(member):
        return np.asarray(predicted, dtype=np.float64).reshape(n_rows, -1)
    if method == "predict_proba":
        outputs, known = _list_outputs(predicted, len(classes)), _list_member_classes(member, classes)
        return np.hstack([_align_columns(p, k, c, member) for p, k, c in zip(outputs, known, classes, strict=True)])
    if method == "decision_function":
        if any(len(known) != len(c) for known, c in zip(_list_member_classes(member, classes), classes, strict=True)):
            raise DataError(
                f"{type(member).__name__} was fitted on rows that lack a class, so that its decisions are about other "
                "classes; use stratified folds or a member with probabilities."
            )
        return np.asarray(predicted, dtype=np.float64).reshape(n_rows, -1)
    labels = np.asarray(predicted).reshape(n_rows, -1)
    return np.column_stack([_index_classes(labels[:, k], c, member) for k, c in enumerate(classes)]).astype(np.float64)


def align_classes(probabilities: FloatArray, member: EstimatorLike, classes: OutputClasses) -> FloatArray:
    """Probabilities that came with a fit, in the columns of all classes; those that the fit lacked have zero."""
    return _align_columns(probabilities, _list_member_classes(member, classes)[0], classes[0], member)


def read_oob_predictions(member: Any, n_rows: int) -> FloatArray:
    """Out-of-bag predictions of a bag or forest for its own training rows; NaN where every member saw the row."""
    if hasattr(member, "oob_prediction_"):
        return np.asarray(member.oob_prediction_, dtype=np.float64).reshape(n_rows, -1)
    probabilities = member.oob_decision_function_
    if isinstance(probabilities, list):
        return np.hstack(probabilities)
    probabilities = np.asarray(probabilities)
    if probabilities.ndim == 2:
        return probabilities
    return np.hstack([probabilities[:, :, k] for k in range(probabilities.shape[2])])


def split_by_output(columns: FloatArray, classes: OutputClasses) -> list[FloatArray]:
    """Columns of all classes of all outputs, one array for each output."""
    return split_outputs(columns, [len(c) for c in classes])


def drop_redundant_columns(predictions: FloatArray, method: str, classes: Classes) -> FloatArray:
    """Predictions without the probabilities that follow from the others, as those of the first of two classes.

    Examples
    --------
    >>> drop_redundant_columns(np.array([[0.25, 0.75]]), "predict_proba", [np.arange(2)])
    array([[0.75]])
    """
    if method != "predict_proba" or classes is None or predictions.shape[1] != sum(len(c) for c in classes):
        return predictions
    if len(classes) == 1:
        # As in scikit-learn: all columns for more than two classes.
        return predictions[:, 1:] if len(classes[0]) == 2 else predictions
    firsts = np.cumsum([0, *(len(c) for c in classes)])[:-1]
    return np.delete(predictions, firsts, axis=1)


def decode_classes(outputs: list[FloatArray], classes: OutputClasses) -> NDArray[Any]:
    """The class of the largest value in each row, the first of equals, of shape (n_rows,) or (n_rows, n_outputs).

    Examples
    --------
    >>> decode_classes([np.array([[0.2, 0.8], [0.5, 0.5]])], [np.array(["no", "yes"])]).tolist()
    ['yes', 'no']
    """
    decoded = [c.take(values.argmax(axis=1)) for c, values in zip(classes, outputs, strict=True)]
    return decoded[0] if len(decoded) == 1 else np.stack(decoded, axis=1)


def sum_weighted(weights: FloatArray, predictions: Iterable[FloatArray]) -> FloatArray:
    """Sum of predictions times weights, in the order of the members."""
    total = np.zeros(1)
    for weight, predicted in zip(weights, predictions, strict=True):
        total = total + weight * predicted
    return total


def _index_classes(labels: NDArray[Any], classes: NDArray[Any], member: EstimatorLike) -> NDArray[np.intp]:
    """The index of each label among the classes."""
    indices = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[indices] != labels
    if np.any(unknown):
        raise DataError(
            f"{type(member).__name__} predicts the class {labels[unknown][0]!r}, which is not among those of the "
            f"committee: {classes!r}."
        )
    return indices


def _list_outputs(probabilities: Any, n_outputs: int) -> list[NDArray[Any]]:
    if isinstance(probabilities, list):
        return [np.asarray(output) for output in probabilities]
    if n_outputs > 1:
        # Some multilabel estimators return, for each label, the probability that it applies.
        return [np.stack([1.0 - positive, positive], axis=1) for positive in np.asarray(probabilities).T]
    return [np.asarray(probabilities)]


def _list_member_classes(member: EstimatorLike, classes: OutputClasses) -> OutputClasses:
    known = getattr(member, "classes_", classes)
    if isinstance(known, list):
        return [np.asarray(output) for output in known]
    # A single array for several outputs lists the labels themselves, each of which applies or not.
    return [np.asarray(known)] if len(classes) == 1 else classes


def _align_columns(
    probabilities: NDArray[Any], known: NDArray[Any], classes: NDArray[Any], member: EstimatorLike
) -> FloatArray:
    """Probabilities of the classes that a member was fitted on, in the columns of all classes."""
    if len(known) == len(classes) and np.array_equal(known, classes):
        return probabilities.astype(np.float64, copy=False)
    aligned = np.zeros((len(probabilities), len(classes)))
    aligned[:, _index_classes(known, classes, member)] = probabilities
    return aligned
