"""Estimators that return predictions made earlier, for scorers that expect a model.

A scorer of scikit-learn calls ``predict``, ``predict_proba`` or ``decision_function`` of a fitted estimator. Where the
predictions exist already (out-of-bag, out-of-fold, after a boosting round), one of these classes holds them. In place
of X it takes row numbers: ``scorer(known, known.rows, y)``.

Which methods exist depends on what is known, since a scorer chooses by ``hasattr``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

    from committee.typing import AnyArray, FloatArray

    RowNumbers: TypeAlias = NDArray[np.intp] | slice

__all__ = [
    "KnownClasses",
    "KnownDecision",
    "KnownPredictions",
    "KnownProbabilities",
    "KnownValues",
    "wrap_predictions",
]


class KnownPredictions(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Base of the estimators whose predictions are known.

    Examples
    --------
    >>> from committee.scoring import KnownPredictions, KnownValues
    >>> known = KnownValues(np.array([1.0, 2.0, 3.0]))
    >>> isinstance(known, KnownPredictions), len(known), known.rows
    (True, 3, array([0, 1, 2]))
    """

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __len__(self) -> int:
        """Number of rows."""
        raise NotImplementedError

    @property
    def rows(self) -> NDArray[np.intp]:
        """Numbers of all rows, to be passed as X."""
        return np.arange(len(self))

    def fit(self, X: Any, y: Any) -> Self:
        """Do nothing; `check_scoring` of scikit-learn requires the method."""
        return self

    def predict(self, rows: RowNumbers) -> AnyArray:
        """Predictions of the given rows."""
        raise NotImplementedError


class KnownValues(RegressorMixin, KnownPredictions):  # type: ignore[misc]  # scikit-learn is untyped
    """Known predictions of a regressor.

    Parameters
    ----------
    values : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The predictions; a single column is returned with one axis.

    Examples
    --------
    >>> KnownValues(np.array([[1.0], [2.0], [3.0]])).predict(np.array([0, 2]))
    array([1., 3.])
    """

    def __init__(self, values: FloatArray) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def predict(self, rows: RowNumbers) -> FloatArray:
        """Values of the given rows."""
        values: FloatArray = self.values[rows]
        return values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values


class KnownClasses(ClassifierMixin, KnownPredictions):  # type: ignore[misc]  # scikit-learn is untyped
    """Known predictions of a classifier without probabilities.

    Parameters
    ----------
    classes : ndarray or sequence of ndarray
        The classes; with several outputs, those of each.
    predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        The predicted classes.

    Examples
    --------
    >>> known = KnownClasses(np.array(["no", "yes"]), np.array(["yes", "no"]))
    >>> known.predict(known.rows), hasattr(known, "predict_proba")
    (array(['yes', 'no'], dtype='<U3'), False)
    """

    def __init__(self, classes: AnyArray | Sequence[AnyArray], predictions: AnyArray | None = None) -> None:
        self.classes = classes
        self.predictions = predictions

    @property
    def classes_(self) -> Any:
        """The classes, under the name that scorers read."""
        return self.classes

    def __len__(self) -> int:
        assert self.predictions is not None
        return len(self.predictions)

    def predict(self, rows: RowNumbers) -> AnyArray:
        """Classes of the given rows."""
        assert self.predictions is not None
        predictions: AnyArray = self.predictions[rows]
        return predictions


class KnownProbabilities(KnownClasses):
    """Known probabilities of a classifier.

    Parameters
    ----------
    classes : ndarray or sequence of ndarray
        The classes; with several outputs, those of each.
    probabilities : ndarray of shape (n_rows, n_classes) or list of these
        Columns in the order of the classes; with several outputs, an array for each.
    predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs), optional
        The predicted classes. By default the most probable class, the first of equals; required for several outputs.

    Examples
    --------
    >>> known = KnownProbabilities(np.array(["no", "yes"]), np.array([[0.2, 0.8], [0.7, 0.3]]))
    >>> known.predict(known.rows)
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(
        self,
        classes: AnyArray | Sequence[AnyArray],
        probabilities: FloatArray | list[FloatArray],
        predictions: AnyArray | None = None,
    ) -> None:
        super().__init__(classes, predictions)
        self.probabilities = probabilities

    def __len__(self) -> int:
        return len(self.probabilities[0] if isinstance(self.probabilities, list) else self.probabilities)

    def predict(self, rows: RowNumbers) -> AnyArray:
        """Classes of the given rows."""
        if self.predictions is not None:
            return super().predict(rows)
        assert not isinstance(self.probabilities, list)
        predictions: AnyArray = np.asarray(self.classes).take(self.probabilities[rows].argmax(axis=1))
        return predictions

    def predict_proba(self, rows: RowNumbers) -> FloatArray | list[FloatArray]:
        """Probabilities of the given rows; with several outputs, a list."""
        if isinstance(self.probabilities, list):
            return [own[rows] for own in self.probabilities]
        return self.probabilities[rows]


class KnownDecision(KnownProbabilities):
    """Known probabilities and raw scores of a classifier.

    Parameters
    ----------
    classes, probabilities, predictions
        As in `KnownProbabilities`.
    decision : ndarray of shape (n_rows,), (n_rows, 1) or (n_rows, n_classes)
        Raw scores; a single column is returned with one axis.

    Examples
    --------
    >>> from committee.scoring import KnownDecision
    >>> known = KnownDecision(np.array(["no", "yes"]), np.array([[0.2, 0.8], [0.7, 0.3]]), np.array([1.4, -0.8]))
    >>> known.decision_function(known.rows), known.predict(known.rows)
    (array([ 1.4, -0.8]), array(['yes', 'no'], dtype='<U3'))
    """

    def __init__(
        self,
        classes: AnyArray,
        probabilities: FloatArray,
        decision: FloatArray,
        predictions: AnyArray | None = None,
    ) -> None:
        super().__init__(classes, probabilities, predictions)
        self.decision = decision

    def decision_function(self, rows: RowNumbers) -> FloatArray:
        """Raw scores of the given rows."""
        decision: FloatArray = self.decision[rows]
        return decision[:, 0] if decision.ndim == 2 and decision.shape[1] == 1 else decision


def wrap_predictions(
    classes: AnyArray | None,
    predictions: AnyArray | None = None,
    probabilities: FloatArray | None = None,
) -> KnownValues | KnownClasses:
    """The known-prediction estimator for whatever a model has: values, classes or probabilities.

    Parameters
    ----------
    classes : ndarray or None
        The classes; None for a regressor.
    predictions : ndarray of shape (n_rows,) or (n_rows, n_outputs), optional
        Values or classes. May be missing for a classifier with probabilities.
    probabilities : ndarray of shape (n_rows, n_classes), optional
        Probabilities, where the classifier has them.

    Examples
    --------
    >>> wrap_predictions(None, np.array([0.5, 1.5])).predict(slice(None))
    array([0.5, 1.5])
    """
    if classes is None:
        assert predictions is not None
        return KnownValues(predictions)
    return (
        KnownClasses(classes, predictions)
        if probabilities is None
        else KnownProbabilities(classes, probabilities, predictions)
    )
