"""How differently members err: disagreement, Q, kappa, correlation of errors, the data of the kappa-error diagram."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data.rows import select_rows
from committee.data.weights import read_sample_weight
from committee.exceptions import DataError, ParameterTypeError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["Diversity", "measure_diversity"]


@dataclass(frozen=True)
class Diversity:
    """What members have in common, pair by pair.

    All matrices are symmetric, of shape (n_members, n_members). Those that are about right and wrong answers are None
    for members that predict numbers.

    Attributes
    ----------
    names : list of str
        The members.
    errors : ndarray of shape (n_members,)
        Share of wrong answers, or mean squared error.
    correlation : ndarray
        Correlation of the errors: of being wrong (phi), or of the residuals. NaN where a member never errs, or always.
    disagreement : ndarray or None
        Share of rows on which exactly one of the two is right.
    q_statistic : ndarray or None
        Yule's Q: 1 if they are right and wrong together, 0 if independently, -1 if never together.
    kappa : ndarray or None
        Cohen's kappa of their answers: agreement beyond chance.
    double_fault : ndarray or None
        Share of rows on which both are wrong.
    ambiguity : float or None
        For numbers, the mean squared distance of members from their mean: the mean error of the members less the
        error of their mean, exactly [KroghVedelsby1995].
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
        """The mean of a measure over all pairs, those without a value left out.

        Parameters
        ----------
        measure : str
            Name of one of the matrices.
        """
        matrix = getattr(self, measure)
        if not isinstance(matrix, np.ndarray) or matrix.ndim != 2:
            raise DataError(f"{measure!r} is no measure of pairs for these members.")
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


def measure_diversity(members: Any, X: Any, y: Any, sample_weight: Any = None) -> Diversity:
    r"""How differently the members of an ensemble err on some rows.

    For two members, with :math:`N^{ab}` the share of rows on which the first is right (:math:`a = 1`) or wrong (0) and
    the second is right or wrong (:math:`b`),

    .. math::

        \text{disagreement} = N^{01} + N^{10}, \qquad
        Q = \frac{N^{11}N^{00} - N^{01}N^{10}}{N^{11}N^{00} + N^{01}N^{10}}, \qquad
        \kappa = \frac{\Theta_1 - \Theta_2}{1 - \Theta_2},

    where :math:`\Theta_1` is the share of rows with equal answers and :math:`\Theta_2` what it would be if the answers
    were independent [KunchevaWhitaker2003].

    Parameters
    ----------
    members : fitted ensemble, list of fitted estimators, or dict of predictions
        An ensemble with ``estimators_`` (and ``named_estimators_``, where it has names); estimators; or arrays of
        predictions by name.
    X : table
        Rows to ask about, best such that no member has seen; not looked at if there are predictions.
    y : array-like of shape (n_samples,)
        The truth: classes, or numbers.
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
    truth = np.asarray(y)
    if truth.ndim != 1 or not len(truth):
        raise DataError(f"y must be a 1d array of at least one row; got shape {truth.shape}.")
    answers = _collect(members, X)
    for name, said in answers.items():
        if said.shape != truth.shape:
            raise DataError(f"{name!r} has answers of shape {said.shape} for {len(truth)} rows.")
    weights = np.ones(len(truth)) if sample_weight is None else read_sample_weight(sample_weight, len(truth))
    share = weights / weights.sum()
    table = np.stack(list(answers.values()))
    if truth.dtype.kind == "f" and (truth != np.floor(truth)).any():
        return _compare_values(list(answers), table.astype(np.float64), truth, share)
    return _compare_classes(list(answers), table, truth, share)


def _collect(members: Any, X: Any) -> dict[str, NDArray[Any]]:
    """What each member says, by its name."""
    if isinstance(members, dict):
        if not members:
            raise DataError("There are no predictions to compare.")
        return {str(name): np.asarray(said) for name, said in members.items()}
    try:
        estimators = list(getattr(members, "estimators_", members))
    except TypeError:
        estimators = []
    if not all(hasattr(member, "predict") for member in estimators) or not (estimators or isinstance(members, list)):
        raise ParameterTypeError(
            "The 'members' argument must be a fitted ensemble whose members predict by themselves, a list of fitted "
            f"estimators or a dict of predictions; got {type(members).__name__}."
        )
    if not estimators:
        raise DataError("There are no members to compare.")
    names = [f"member {k}" for k in range(len(estimators))]
    known = getattr(members, "named_estimators_", None)
    if known is not None:
        names = [name for name, member in known.items() if not isinstance(member, str)]
    features = getattr(members, "estimators_features_", [None] * len(estimators))
    classes = getattr(members, "classes_", None)
    said = {}
    for name, member, own in zip(names, estimators, features, strict=True):
        answer = np.asarray(member.predict(X if own is None else select_rows(X, None, own)))
        said[name] = _decode(answer, member, classes)
    return said


def _decode(answer: NDArray[Any], member: Any, classes: Any) -> NDArray[Any]:
    """Answers in the ensemble's classes, where members know these by their numbers only."""
    own = getattr(member, "classes_", None)
    if classes is None or own is None or isinstance(classes, list) or np.array_equal(own, classes):
        return answer
    if np.asarray(own).dtype.kind in "iuf" and set(np.asarray(own).tolist()) <= set(range(len(classes))):
        return np.asarray(classes).take(answer.astype(np.intp))
    return answer


def _compare_classes(names: list[str], table: NDArray[Any], truth: NDArray[Any], share: FloatArray) -> Diversity:
    right = (table == truth).astype(np.float64)
    both_right = (right * share) @ right.T
    alone = right @ share
    first_only = alone[:, None] - both_right
    second_only = first_only.T
    neither = 1.0 - both_right - first_only - second_only
    neither = np.where(np.abs(neither) < 1e-12, 0.0, neither)
    product, cross = both_right * neither, first_only * second_only
    spread = np.sqrt(np.outer(alone * (1.0 - alone), alone * (1.0 - alone)))
    with np.errstate(invalid="ignore", divide="ignore"):
        return Diversity(
            names,
            1.0 - alone,
            correlation=(product - cross) / spread,
            disagreement=first_only + second_only,
            q_statistic=(product - cross) / (product + cross),
            kappa=_find_kappa(table, share),
            double_fault=neither,
        )


def _find_kappa(table: NDArray[Any], share: FloatArray) -> FloatArray:
    agreed = np.zeros((len(table), len(table)))
    by_chance = np.zeros_like(agreed)
    for label in np.unique(table):
        says = (table == label).astype(np.float64)
        often = says @ share
        agreed += (says * share) @ says.T
        by_chance += np.outer(often, often)
    # Members that always give the same answer agree entirely, and entirely by chance.
    return np.where(by_chance < 1.0, (agreed - by_chance) / np.where(by_chance < 1.0, 1.0 - by_chance, 1.0), 1.0)


def _compare_values(names: list[str], table: FloatArray, truth: FloatArray, share: FloatArray) -> Diversity:
    residuals = table - truth
    centred = residuals - (residuals @ share)[:, None]
    covariance = (centred * share) @ centred.T
    deviation = np.sqrt(np.diag(covariance))
    ambiguity = float(((table - table.mean(axis=0)) ** 2 @ share).mean())
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = covariance / np.outer(deviation, deviation)
    return Diversity(names, residuals**2 @ share, correlation=correlation, ambiguity=ambiguity)
