"""Sample weights times class weights, as one float64 number for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.dataset import ClassTarget
from committee.exceptions import DataError, DataTypeError, ParameterError, ParameterTypeError
from committee.typing import FloatArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["combine_weights", "count_as_rows", "find_repeats", "read_sample_weight", "weigh_classes"]

#: Weights that are whole multiples of the smallest one mean repeated rows as long as they amount to at most this
#: many rows for each that is there; beyond, they mean importance, and drawing so often would only cost time.
_MOST_REPEATS = 32
_ROUNDING = 8 * np.finfo(np.float64).eps


def combine_weights(
    sample_weight: ArrayLike | None, class_weight: Any, target: Any, n_rows: int, name: str
) -> FloatArray | None:
    """The weight of each row, or None where all are equal, since a common factor changes nothing.

    Parameters
    ----------
    sample_weight : array-like of shape (n_rows,), number or None
        As ``fit`` got it.
    class_weight : dict, list of dict, "balanced" or None
        As the constructor got it; only looked at for a ClassTarget.
    target : ClassTarget, ValueTarget or None
        The encoded target.
    n_rows : int
        The number of rows.
    name : str
        The estimator's name, for the sentences.
    """
    weights = None if sample_weight is None else read_sample_weight(sample_weight, n_rows)
    if class_weight is not None and isinstance(target, ClassTarget):
        factors = weigh_classes(class_weight, target, weights, name)
        weights = factors if weights is None else weights * factors
        if not weights.any():
            raise DataError("The sample weights times the class weights are all zero; no row would count.")
    if weights is None or (weights == weights[0]).all():
        return None
    return weights


def read_sample_weight(sample_weight: ArrayLike | None, n_rows: int) -> FloatArray:
    """Sample weights as float64: one for each row, finite, none negative, not all zero."""
    if hasattr(sample_weight, "toarray"):
        raise DataTypeError("Sparse sample_weight is not supported; pass an array of shape (n_samples,).")
    try:
        raw = np.asarray(sample_weight)
        if raw.dtype.kind not in "fiubO":
            raise TypeError
        with np.errstate(over="ignore"):
            weights = np.array(raw, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise DataTypeError(
            f"sample_weight must be an array of numbers of shape (n_samples,); got {show_value(sample_weight)}."
        ) from None
    if isinstance(sample_weight, np.ma.MaskedArray):
        weights[np.ma.getmaskarray(sample_weight)] = np.nan
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar; got an array of shape {weights.shape}.")
    if len(weights) != n_rows:
        raise DataError(
            f"sample_weight.shape == {weights.shape}, expected ({n_rows},): X and sample_weight must have the same "
            f"number of rows."
        )
    if not np.isfinite(weights).all():
        row = int(np.flatnonzero(~np.isfinite(weights))[0])
        raise DataError(f"Input sample_weight contains NaN or infinity; row {row} has {weights[row]}.")
    if weights.min() < 0:
        row = int(np.flatnonzero(weights < 0)[0])
        raise DataError(
            f"Negative values in data passed to `sample_weight`: row {row} has {weights[row]}; weights must be >= 0."
        )
    if not weights.any():
        raise DataError("All values of sample_weight are zero; at least one row must count.")
    with np.errstate(over="ignore"):
        if not np.isfinite(weights.sum()):
            raise DataError("The sum of sample_weight is beyond the largest float; divide all weights by one number.")
    return weights


def find_repeats(weights: FloatArray, most: float = _MOST_REPEATS) -> FloatArray | None:
    """The weights in units of the smallest one, if they are whole multiples of it and not too many.

    Parameters
    ----------
    weights : ndarray of shape (n_rows,)
        None negative, not all zero.
    most : float
        Rows that they may amount to, for each that is there.

    Examples
    --------
    >>> find_repeats(np.array([0.5, 0.0, 1.5]))
    array([1., 0., 3.])
    """
    ratios: FloatArray = weights / weights[weights > 0.0].min()
    whole: FloatArray = np.round(ratios)
    if (
        whole.sum() > min(most * int(np.count_nonzero(weights)), 2.0**31)
        or (np.abs(ratios - whole) > _ROUNDING * ratios).any()
    ):
        return None
    return whole


def count_as_rows(weights: FloatArray) -> FloatArray:
    """The weights in units of a row, for what adds a constant to them: scaled to sum to the number of rows.

    Whole multiples of the smallest weight count as rows that occur so often; otherwise a row counts once.

    Examples
    --------
    >>> count_as_rows(np.array([0.5, 0.0, 1.5]))
    array([1., 0., 3.])
    >>> count_as_rows(np.array([0.3, 0.0, 0.7]))
    array([0.6, 0. , 1.4])
    """
    repeats = find_repeats(weights)
    if repeats is not None:
        return repeats
    present = weights[weights > 0.0]  # zeros would part the sum elsewhere, and change its last bit
    scaled: FloatArray = weights * (len(present) / present.sum())
    return scaled


def weigh_classes(class_weight: Any, target: ClassTarget, weights: FloatArray | None, name: str) -> FloatArray:
    """The factor that each row gets from its class, multiplied over the outputs."""
    subject = f"The 'class_weight' parameter of {name}"
    if isinstance(class_weight, str | Mapping):
        if isinstance(class_weight, Mapping) and target.n_outputs > 1:
            raise ParameterError(
                f"{subject} must be a list with one dict for each of the {target.n_outputs} outputs, or 'balanced'."
            )
        rules = [class_weight] * target.n_outputs
    else:
        rules = list(class_weight)
        if len(rules) != target.n_outputs:
            raise ParameterError(
                f"{subject} must have one entry for each of the {target.n_outputs} outputs; got {len(rules)}."
            )
    factors = np.ones(len(target.labels))
    for output, rule in enumerate(rules):
        factors *= _weigh_output(rule, target, output, weights, subject)
    return factors


def _weigh_output(rule: Any, target: ClassTarget, output: int, weights: FloatArray | None, subject: str) -> FloatArray:
    labels, classes = target.labels[:, output], target.classes[output]
    if rule is None:
        per_class = np.ones(len(classes))
    elif isinstance(rule, str) and rule == "balanced":
        totals = np.bincount(labels, weights=weights, minlength=len(classes)).astype(np.float64)
        # A class whose rows all have weight zero is absent, so its factor never counts.
        present = totals > 0
        per_class = np.ones(len(classes))
        per_class[present] = totals.sum() / (present.sum() * totals[present])
    elif isinstance(rule, Mapping):
        per_class = _read_rule(rule, classes.tolist(), subject)
    else:
        raise ParameterTypeError(f"{subject} must hold dicts or 'balanced'; got {show_value(rule)}.")
    return per_class[labels]


def _read_rule(rule: Mapping[Any, Any], classes: list[Any], subject: str) -> FloatArray:
    per_class = np.ones(len(classes))
    unknown = [label for label in rule if label not in classes]
    unweighted = [label for label in classes if label not in rule]
    # As in scikit-learn a class may be left out, and so may a label that does not occur; but not both,
    # which is how a misspelt label looks.
    if unknown and unweighted:
        raise ParameterError(
            f"{subject} gives a weight to {show_value(unknown[0])}, which is no class of y, and none to "
            f"{show_value(unweighted[0])}. The classes, {unweighted}, are not in class_weight."
        )
    for k, label in enumerate(classes):
        weight = rule.get(label, 1.0)
        if not isinstance(weight, int | float | np.number) or not np.isfinite(weight) or weight < 0:
            raise ParameterError(f"{subject} must hold finite numbers >= 0; got {show_value(weight)} for {label!r}.")
        per_class[k] = weight
    return per_class
