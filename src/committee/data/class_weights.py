"""Sample weights times class weights, as one float64 number for each row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.constraints import show_value
from committee.data.dataset import ClassTarget
from committee.data.weights import read_sample_weight
from committee.exceptions import DataError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.typing import FloatArray

__all__ = ["combine_weights", "list_rules", "weigh_classes"]


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
        with np.errstate(over="ignore"):
            weights = factors if weights is None else weights * factors
        if not np.isfinite(weights).all():
            raise DataError("The sample weights times the class weights must be numbers; some products are infinite.")
        if not weights.any():
            raise DataError("The sample weights times the class weights are all zero; no row would count.")
    if weights is None or not (weights == weights[0]).all():
        return weights
    # Class weights may cancel weights of the rows, which still say how many rows there are.
    own = None if sample_weight is None or class_weight is None else read_sample_weight(sample_weight, n_rows)
    return None if own is None or (own == own[0]).all() else weights


def weigh_classes(class_weight: Any, target: ClassTarget, weights: FloatArray | None, name: str) -> FloatArray:
    """The factor that each row gets from its class, multiplied over the outputs."""
    subject = _name_subject(name)
    factors = np.ones(len(target.labels))
    for output, rule in enumerate(list_rules(class_weight, target.n_outputs, name)):
        factors *= _weigh_output(rule, target, output, weights, subject)
    return factors


def list_rules(class_weight: Any, n_outputs: int, name: str) -> list[Any]:
    """What ``class_weight`` says of each output.

    Parameters
    ----------
    class_weight : dict, list of dict, "balanced" or None
        As the constructor got it.
    n_outputs : int
        The number of outputs.
    name : str
        The estimator's name, for the sentences.

    Examples
    --------
    >>> list_rules("balanced", 2, "RandomForestClassifier")
    ['balanced', 'balanced']
    """
    if class_weight is None or isinstance(class_weight, str | Mapping):
        if isinstance(class_weight, Mapping) and n_outputs > 1:
            raise ParameterError(
                f"{_name_subject(name)} must be a list with one dict for each of the {n_outputs} outputs, or "
                "'balanced'."
            )
        return [class_weight] * n_outputs
    rules = list(class_weight)
    if len(rules) != n_outputs:
        raise ParameterError(
            f"{_name_subject(name)} must have one entry for each of the {n_outputs} outputs; got {len(rules)}."
        )
    return rules


def _name_subject(name: str) -> str:
    return f"The 'class_weight' parameter of {name}"


def _weigh_output(rule: Any, target: ClassTarget, output: int, weights: FloatArray | None, subject: str) -> FloatArray:
    labels, classes = target.labels[:, output], target.classes[output]
    if rule is None:
        per_class = np.ones(len(classes))
    elif isinstance(rule, str) and rule == "balanced":
        totals = np.bincount(labels, weights=weights, minlength=len(classes)).astype(np.float64)
        # A class whose rows all have weight zero is absent, so its factor never counts.
        present = totals > 0
        per_class = np.ones(len(classes))
        with np.errstate(over="ignore"):
            per_class[present] = totals.sum() / (present.sum() * totals[present])
        if not np.isfinite(per_class).all():
            raise DataError(f"{subject} cannot be 'balanced': the weights of the classes are too far apart.")
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
