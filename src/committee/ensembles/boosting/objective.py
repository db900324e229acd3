"""What boosting minimises: a loss, the target that it is measured on, and the link to predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from committee.constraints import show_value
from committee.data.dataset import ClassTarget, ValueTarget
from committee.data.rows import collect_table
from committee.ensembles.boosting.custom_loss import CustomLoss
from committee.ensembles.boosting.group_loss import GroupLoss
from committee.ensembles.boosting.joined_loss import JoinedLoss
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.losses import LossFunction, apply_log, describe_loss
from committee.value_checks import is_real

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.data import Dataset
    from committee.engines import Boosting
    from committee.engines import GroupLoss as BoundGroupLoss
    from committee.ensembles.boosting.params import CallableLoss
    from committee.typing import FloatArray

__all__ = [
    "BoostingLoss",
    "Objective",
    "count_present",
    "count_present_classes",
    "count_repeated",
    "make_class_loss",
    "make_value_loss",
    "predict_initial_scores",
    "read_target_columns",
    "require_target",
]

BoostingLoss: TypeAlias = LossFunction | CustomLoss | GroupLoss | JoinedLoss
"""A loss of the engine's, one that the user has written, one of groups of rows, or those of several targets."""

_LEAST_MEAN = 1e-9
"""Probabilities and means of an initial estimator are bounded below by this."""


@dataclass(frozen=True)
class Objective:
    """The loss of the training rows as a function of their scores.

    Attributes
    ----------
    loss : LossFunction, CustomLoss or GroupLoss
        What is minimised.
    target : ClassTarget or ValueTarget
        The target of the data set.
    y : ndarray of float64
        The target as the engine reads it: classes as 0.0, 1.0, .., outputs one after another.
    weights : ndarray of shape (n_rows,) or None
        Row weights. Regularisation is measured in rows, so their unit is a row as well.
    bound : the engine's GroupLoss or None
        The loss of these rows, if it is one of groups.
    """

    loss: BoostingLoss
    target: ClassTarget | ValueTarget
    y: FloatArray
    weights: FloatArray | None
    bound: BoundGroupLoss | None = None

    @classmethod
    def of(cls, loss: BoostingLoss, dataset: Dataset) -> Objective:
        """The objective of a data set."""
        return cls.of_target(loss, require_target(dataset), dataset.count_weights())

    @classmethod
    def of_target(cls, loss: BoostingLoss, target: ClassTarget | ValueTarget, weights: FloatArray | None) -> Objective:
        """The objective of rows with this target and these weights."""
        values: NDArray[Any] = target.labels if isinstance(target, ClassTarget) else target.values
        y = np.ascontiguousarray(values.T, dtype=np.float64).ravel()
        if isinstance(loss, GroupLoss):
            return cls(loss, target, y, weights, loss.bind(read_target_columns(target), weights))
        return cls(loss, target, y, weights)

    def find_baseline(self, state: Boosting) -> FloatArray:
        """Constant scores with the least loss, of shape (n_scores,)."""
        if isinstance(self.loss, CustomLoss | JoinedLoss):
            return self.loss.find_baseline(self.y, self.weights)
        if isinstance(self.loss, GroupLoss):
            return self.loss.find_baseline(read_target_columns(self.target), self.weights)
        return np.asarray(state.find_baseline())

    def find_gradients(self, scores: FloatArray, n_jobs: int) -> tuple[FloatArray, FloatArray]:
        """Gradients and hessians at these scores, all of shape (n_rows, n_scores), in Fortran order."""
        if self.bound is not None:
            return self.bound.find_gradients(np.asfortranarray(scores), n_jobs)
        assert not isinstance(self.loss, GroupLoss)
        gradients, hessians = self.loss.find_gradients(self.y, scores)
        return np.asfortranarray(gradients), np.asfortranarray(hessians)

    def compute_gradients(self, state: Boosting) -> tuple[FloatArray, FloatArray] | None:
        """Give the engine the gradients and hessians at its current scores; they, unless the engine finds its own."""
        if isinstance(self.loss, LossFunction):
            state.compute_gradients()
            return None
        found = self.find_gradients(np.asarray(state.scores), state.params.n_jobs)
        state.take_gradients(*found)
        return found


# --- losses by name ----------------------------------------------------------------------------------------------


def make_class_loss(loss: str | CallableLoss, dataset: Dataset) -> BoostingLoss:
    """The loss of a classifier: one score for two classes, one for each of more.

    Parameters
    ----------
    loss : {"log_loss", "exponential"} or a loss of the user's
        The parameter of the estimator.
    dataset : Dataset
        The training rows.
    """
    target = dataset.target
    assert isinstance(target, ClassTarget)
    if target.n_outputs > 1:
        return _join_class_losses(loss, target)
    n_classes = target.n_classes[0]
    if not isinstance(loss, str):
        return CustomLoss(loss, 1 if n_classes == 2 else n_classes, classes=True)
    if loss == "exponential":
        if n_classes != 2:
            raise DataError(
                "loss='exponential' is only suitable for a binary classification problem: it requires two classes; y "
                f"has {n_classes}."
            )
        return LossFunction("exponential")
    return LossFunction("logistic") if n_classes == 2 else LossFunction("softmax", nan, n_classes)


def _join_class_losses(loss: str | CallableLoss, target: ClassTarget) -> BoostingLoss:
    """The sum of the losses of several class targets."""
    if not isinstance(loss, str):
        raise ParameterError(
            f"A loss of your own takes one target; y has {target.n_outputs}. MultiOutputClassifier of "
            "sklearn.multioutput fits a model for each."
        )
    name, most = "logistic" if loss == "log_loss" else loss, max(target.n_classes)
    if most <= 2:
        return LossFunction(name, nan, target.n_outputs)
    if name != "logistic":
        raise DataError(
            f"loss='{loss}' is only suitable for a binary classification problem: it requires two classes in each "
            f"target; one of y has {most}."
        )
    return JoinedLoss(
        tuple(LossFunction("logistic") if n <= 2 else LossFunction("softmax", nan, n) for n in target.n_classes)
    )


def make_value_loss(
    loss: str | CallableLoss, parameter: float | Sequence[float] | None, dataset: Dataset
) -> BoostingLoss:
    """The loss of a regressor, after a check that the target lies where the loss is defined.

    Parameters
    ----------
    loss : str or a loss of the user's
        The parameter of the estimator.
    parameter : float, sequence of float or None
        The loss's parameter; several levels with ``quantile``; None for the default.
    dataset : Dataset
        The training rows.
    """
    target = dataset.target
    assert isinstance(target, ValueTarget)
    if not isinstance(loss, str):
        return CustomLoss(loss, target.n_outputs, classes=False)
    if isinstance(parameter, Sequence | np.ndarray):
        return _make_levels(loss, parameter, target)
    made = LossFunction(loss, nan if parameter is None else float(parameter), target.n_outputs)
    made.check_target(target.values if dataset.weights is None else target.values[dataset.weights > 0.0])
    if made.traits.is_adaptive and target.n_outputs > 1:
        raise DataError(f"loss='{loss}' takes one output; where it turns linear would differ between several.")
    return made


def _make_levels(loss: str, given: Sequence[float], target: ValueTarget) -> LossFunction:
    """Several quantiles of one target, fitted together."""
    if not all(is_real(level) for level in given):
        raise ParameterError(f"Levels of quantiles must be numbers between 0 and 1; got {show_value(given)}.")
    levels = tuple(float(level) for level in given)
    if not describe_loss(loss).takes_levels:
        raise ParameterError(f"Several levels go with loss='quantile' only; got loss={loss!r}.")
    if not levels or list(levels) != sorted(set(levels)) or not 0.0 < levels[0] <= levels[-1] < 1.0:
        raise ParameterError(f"Levels of quantiles must lie between 0 and 1 and ascend; got {list(levels)}.")
    if target.n_outputs > 1:
        raise DataError(f"Several levels of quantiles are of one output; y has {target.n_outputs}.")
    return LossFunction(loss, nan, len(levels), levels)


# --- the link ----------------------------------------------------------------------------------------------------


def predict_initial_scores(init: Any, X: Any, loss: BoostingLoss, *, classes: bool) -> FloatArray | None:
    """Predictions of an initial estimator on the scale of scores, of shape (n_rows, n_scores).

    Parameters
    ----------
    init : estimator or None
        The fitted estimator; None for scores that start from a constant.
    X : array-like of shape (n_samples, n_features)
        Rows to predict.
    loss : LossFunction or CustomLoss
        Whose link is applied.
    classes : bool
        Whether the target is classes.
    """
    if init is None:
        return None
    X, link = collect_table(X, getattr(init, "feature_names_in_", None)), loss.traits.link
    if not classes:
        values = np.asarray(init.predict(X), dtype=np.float64)
        # All levels of quantiles start from the same prediction.
        values = values.reshape(-1, 1).repeat(loss.n_scores, axis=1) if loss.levels else values
        values = values.reshape(-1, loss.n_scores)
        return apply_log(np.maximum(values, _LEAST_MEAN)) if link == "log" else values
    if not hasattr(init, "predict_proba"):
        raise ParameterTypeError("The 'init' parameter of a classifier must have the method predict_proba.")
    logs = apply_log(np.clip(np.asarray(init.predict_proba(X), dtype=np.float64), _LEAST_MEAN, 1.0))
    scores: FloatArray = logs[:, 1:] - logs[:, :1] if loss.n_scores == 1 else logs
    return scores / 2.0 if link == "half_logit" else scores


# --- rows --------------------------------------------------------------------------------------------------------


def require_target(dataset: Dataset) -> ClassTarget | ValueTarget:
    """The target of a data set that has one."""
    assert dataset.target is not None
    return dataset.target


def read_target_columns(target: ClassTarget | ValueTarget) -> FloatArray:
    """The target as a loss of groups of rows reads it, of shape (n_rows, n_columns)."""
    values: NDArray[Any] = target.labels if isinstance(target, ClassTarget) else target.values
    return np.asarray(values, dtype=np.float64)


def count_present(dataset: Dataset) -> int:
    """Number of rows of positive weight."""
    return dataset.n_rows if dataset.weights is None else int(np.count_nonzero(dataset.weights))


def count_present_classes(dataset: Dataset) -> int:
    """Number of classes with a row of positive weight; of several targets that of the one with most."""
    target = dataset.target
    assert isinstance(target, ClassTarget)
    if dataset.weights is None:
        return max(target.n_classes)
    counts = [np.bincount(labels, weights=dataset.weights) for labels in target.labels.T]
    return max(int(np.count_nonzero(own)) for own in counts)


def count_repeated(dataset: Dataset) -> float:
    """Number of rows that the weights stand for."""
    return dataset.n_counted
