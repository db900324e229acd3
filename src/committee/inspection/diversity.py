"""Diversity of the members of an ensemble: disagreement, Q statistic, kappa, correlation of errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.data.rows import select_rows
from committee.data.weights import read_sample_weight
from committee.exceptions import DataError, ParameterTypeError
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.typing import AnyArray, EstimatorLike, FloatArray

    #: A fitted ensemble, fitted estimators, or predictions by name.
    MembersLike: TypeAlias = EstimatorLike | Sequence[EstimatorLike] | dict[str, ArrayLike]

__all__ = ["Diversity", "measure_diversity"]

_LARGEST = 1e150  # whose square is a double


@dataclass(frozen=True)
class Diversity:
    """Measures of diversity for each pair of members.

    All matrices are symmetric, of shape (n_members, n_members). Those about correct and wrong predictions are None for
    regressors.

    Attributes
    ----------
    names : list of str
        Names of the members.
    errors : ndarray of shape (n_members,)
        Misclassification rate, or mean squared error.
    correlation : ndarray
        Correlation of the errors: of wrong predictions (phi), or of the residuals. NaN for a member that is never or
        always wrong.
    disagreement : ndarray or None
        Fraction of the rows on which exactly one of the two is correct.
    q_statistic : ndarray or None
        Yule's Q: 1 if they are correct on the same rows, 0 if independently, -1 if never on the same rows.
    kappa : ndarray or None
        Cohen's kappa of their predictions: agreement beyond chance.
    double_fault : ndarray or None
        Fraction of the rows on which both are wrong.
    ambiguity : float or None
        For regressors, the mean squared distance of the members from their mean, which is the mean error of the
        members minus the error of their mean [KroghVedelsby1995].

    Examples
    --------
    >>> from committee.inspection import measure_diversity
    >>> predictions = {"a": [0, 0, 1, 0], "b": [0, 1, 1, 1], "c": [0, 0, 1, 1]}
    >>> found = measure_diversity(predictions, None, [0, 0, 1, 1])
    >>> found.errors, found.pairs
    (array([0.25, 0.25, 0.  ]), [('a', 'b'), ('a', 'c'), ('b', 'c')])
    >>> round(found.average("disagreement"), 3)
    0.333
    """

    names: list[str]
    errors: FloatArray
    correlation: FloatArray
    disagreement: FloatArray | None = None
    q_statistic: FloatArray | None = None
    kappa: FloatArray | None = None
    double_fault: FloatArray | None = None
    ambiguity: float | None = None

    @property
    def pairs(self) -> list[tuple[str, str]]:
        """The pairs of members, in the order of `kappa_error`."""
        first, second = np.triu_indices(len(self.names), 1)
        return [(self.names[i], self.names[j]) for i, j in zip(first, second, strict=True)]

    def average(self, measure: str) -> float:
        """Mean of a measure over all pairs that have a value.

        Parameters
        ----------
        measure : str
            Name of one of the matrices.
        """
        matrix = getattr(self, measure)
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
            raise DataError(f"{measure!r} is not a measure of pairs for these members.")
        values = matrix[np.triu_indices(len(self.names), 1)]
        known = values[np.isfinite(values)]
        return float(known.mean()) if len(known) else float("nan")

    def kappa_error(self) -> tuple[FloatArray, FloatArray]:
        """Kappa and mean error of each pair: the points of the kappa-error diagram [MargineantuDietterich1997].

        Accurate and diverse pairs are at the lower left.

        Returns
        -------
        kappa, error : ndarray of shape (n_pairs,)
        """
        if self.kappa is None:
            raise DataError("Kappa is about classes; these members predict numbers.")
        first, second = np.triu_indices(len(self.names), 1)
        return self.kappa[first, second], (self.errors[first] + self.errors[second]) / 2.0


def measure_diversity(members: MembersLike, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Diversity:
    r"""Diversity of the errors of an ensemble's members on some rows.

    For two members, with :math:`N^{ab}` the fraction of the rows on which the first is correct (:math:`a = 1`) or wrong
    (0) and the second is correct or wrong (:math:`b`),

    .. math::

        \text{disagreement} = N^{01} + N^{10}, \qquad
        Q = \frac{N^{11}N^{00} - N^{01}N^{10}}{N^{11}N^{00} + N^{01}N^{10}}, \qquad
        \kappa = \frac{\Theta_1 - \Theta_2}{1 - \Theta_2},

    where :math:`\Theta_1` is the fraction of the rows with equal predictions and :math:`\Theta_2` its value for
    independent predictions [KunchevaWhitaker2003].

    Parameters
    ----------
    members : fitted ensemble, list of fitted estimators, or dict of predictions
        An ensemble with ``estimators_`` (and ``named_estimators_``, if it has names); estimators; or arrays of
        predictions by name.
    X : table
        Rows to predict, preferably not the training rows; not used if predictions are given.
    y : array-like of shape (n_samples,)
        Classes or target values.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the rows.

    Returns
    -------
    Diversity

    Examples
    --------
    >>> truth = [0, 0, 1, 1]
    >>> found = measure_diversity({"a": [0, 0, 1, 0], "b": [0, 1, 1, 1]}, None, truth)
    >>> float(found.disagreement[0, 1]), float(found.kappa[0, 1])
    (0.5, 0.2)
    """
    try:
        target = np.asarray(y)
    except ValueError:
        raise DataError("y must be a 1d array; it holds lists of several lengths.") from None
    if target.ndim != 1 or not len(target):
        raise DataError(f"y must be a 1d array of at least one row; got shape {target.shape}.")
    predictions = _predict_members(members, X)
    for name, own in predictions.items():
        if own.shape != target.shape:
            raise DataError(f"{name!r} has predictions of shape {own.shape} for {len(target)} rows.")
    weights = np.ones(len(target)) if sample_weight is None else read_sample_weight(sample_weight, len(target))
    relative = weights / weights.sum()
    table = np.stack(list(predictions.values()))
    if target.dtype.kind == "f" and (target != np.floor(target)).any():
        values = read_doubles(table, "The predictions for a target of numbers", "numbers as well")
        return _compare_values(list(predictions), values, target, relative)
    return _compare_classes(list(predictions), table, target, relative)


def _predict_members(members: MembersLike, X: Any) -> dict[str, AnyArray]:
    """Predictions of each member, by its name."""
    if isinstance(members, dict):
        if not members:
            raise DataError("There are no predictions to compare.")
        return {str(name): np.asarray(own) for name, own in members.items()}
    fitted: Any = members
    try:
        estimators = list(getattr(members, "estimators_", fitted))
    except TypeError:
        estimators = []
    able = all(hasattr(member, "predict") and not isinstance(member, type) for member in estimators)
    if not able or not (estimators or isinstance(members, list)):
        raise ParameterTypeError(
            "The 'members' argument must be a fitted ensemble whose members predict by themselves, a list of fitted "
            f"estimators or a dict of predictions; got {type(members).__name__}."
        )
    if not estimators:
        raise DataError("There are no members to compare.")
    if len(getattr(X, "shape", (0, 0))) != 2:
        raise DataError(f"X must have two axes, rows and features; got shape {tuple(X.shape)}.")
    names = [f"member {k}" for k in range(len(estimators))]
    known = getattr(members, "named_estimators_", None)
    if known is not None:
        names = [name for name, member in known.items() if not isinstance(member, str)]
    features = getattr(members, "estimators_features_", [None] * len(estimators))
    classes = getattr(members, "classes_", None)
    predictions = {}
    for name, member, own in zip(names, estimators, features, strict=True):
        predicted = np.asarray(member.predict(X if own is None else select_rows(X, None, own)))
        predictions[name] = _to_ensemble_classes(predicted, getattr(member, "classes_", None), classes)
    return predictions


def _to_ensemble_classes(
    predicted: AnyArray, own: AnyArray | None, classes: AnyArray | list[AnyArray] | None
) -> AnyArray:
    """Predictions in the classes of the ensemble, if the member's own classes are their indices."""
    if classes is None or own is None or isinstance(classes, list) or np.array_equal(own, classes):
        return predicted
    if np.asarray(own).dtype.kind in "iuf" and set(np.asarray(own).tolist()) <= set(range(len(classes))):
        decoded: AnyArray = np.asarray(classes).take(predicted.astype(np.intp))
        return decoded
    return predicted


def _compare_classes(names: list[str], table: AnyArray, target: AnyArray, weights: FloatArray) -> Diversity:
    correct = (table == target).astype(np.float64)
    both_correct = (correct * weights) @ correct.T
    accuracy = correct @ weights
    first_only = accuracy[:, None] - both_correct
    second_only = first_only.T
    neither = 1.0 - both_correct - first_only - second_only
    neither = np.where(np.abs(neither) < 1e-12, 0.0, neither)
    product, cross = both_correct * neither, first_only * second_only
    deviations = np.sqrt(np.outer(accuracy * (1.0 - accuracy), accuracy * (1.0 - accuracy)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Diversity(
            names,
            1.0 - accuracy,
            correlation=(product - cross) / deviations,
            disagreement=first_only + second_only,
            q_statistic=(product - cross) / (product + cross),
            kappa=_find_kappa(table, weights),
            double_fault=neither,
        )


def _find_kappa(table: AnyArray, weights: FloatArray) -> FloatArray:
    agreed = np.zeros((len(table), len(table)))
    by_chance = np.zeros_like(agreed)
    for label in np.unique(table):
        predicted = (table == label).astype(np.float64)
        frequency = predicted @ weights
        agreed += (predicted * weights) @ predicted.T
        by_chance += np.outer(frequency, frequency)
    # Members that always predict the same class agree entirely, and entirely by chance.
    return np.where(by_chance < 1.0, (agreed - by_chance) / np.where(by_chance < 1.0, 1.0 - by_chance, 1.0), 1.0)


def _compare_values(names: list[str], table: FloatArray, target: FloatArray, weights: FloatArray) -> Diversity:
    largest = max(float(np.abs(table).max()), float(np.abs(target).max()))
    if not largest < _LARGEST:
        raise DataError(f"Targets and predictions must be finite and below {_LARGEST:.1e}; their squares overflow.")
    residuals = table - target
    centred = residuals - (residuals @ weights)[:, None]
    covariance = (centred * weights) @ centred.T
    deviation = np.sqrt(np.diag(covariance))
    ambiguity = float(((table - table.mean(axis=0)) ** 2 @ weights).mean())
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    return Diversity(names, residuals**2 @ weights, correlation=correlation, ambiguity=ambiguity)
