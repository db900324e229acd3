"""Curves of a fit over its rounds: errors, losses, bounds, margins, and bias and variance."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from committee.exceptions import DataError
from committee.inspection import estimate_bias_variance
from committee.lab.fits import BagFit, BoostFit, average_members, pick_classes
from committee.lab.models import specify_model

if TYPE_CHECKING:
    from committee.lab.fits import RoundsFit
    from committee.lab.state import LabState
    from committee.typing import AnyArray, BoolArray, FloatArray

__all__ = ["FitCurves", "measure_bias", "measure_curves"]

_LEAST_PROBABILITY = 1e-12
_N_BOOTSTRAP = 16


@dataclass(frozen=True)
class FitCurves:
    """What changes from round to round.

    Parameters
    ----------
    errors : dict of ndarray of shape (n_rounds,)
        "training", "test" and "out-of-bag" error: shares of wrong classes, or mean squared errors.
    losses : dict of ndarray of shape (n_rounds,)
        Loss that the method decreases, and bounds.
    margins : ndarray of shape (n_rounds, n_rows) or None
        Margins of the training points, from -1 to 1.
    values : ndarray of shape (n_rounds, n_rows) or None
        Predictions for the training points, for values.
    """

    errors: dict[str, FloatArray]
    losses: dict[str, FloatArray]
    margins: FloatArray | None
    values: FloatArray | None


def measure_curves(fit: RoundsFit) -> FitCurves:
    """Curves over all rounds of a fit.

    Parameters
    ----------
    fit : RoundsFit
        The fit.

    Returns
    -------
    FitCurves
    """
    sample = fit.sample
    n_train, labels = len(sample.X), np.asarray(sample.y)
    rows = np.concatenate([sample.X, sample.X_test])
    errors: dict[str, FloatArray] = {}
    if isinstance(fit, BagFit):
        members = fit.predict_members(rows)
        predicted = average_members(members)
        out_of_bag = _measure_out_of_bag(members[:, :n_train], fit.weights == 0, labels)
        errors = {} if out_of_bag is None else {"out-of-bag": out_of_bag}
    elif _is_adaboost(fit):
        predicted = fit.decide_rounds(rows)
    else:
        predicted = fit.after_rounds
    if len(sample.X_test):
        errors = {"test": _measure_error(predicted[:, n_train:], np.asarray(sample.y_test)), **errors}
    errors = {"training": _measure_error(predicted[:, :n_train], labels), **errors}
    losses = _measure_losses(fit, predicted, labels)
    if "bound of the training error" in losses:
        losses = {"training error": errors["training"], **losses}
    if not fit.is_classifier:
        return FitCurves(errors, losses, None, predicted[:, :n_train])
    return FitCurves(errors, losses, _measure_margins(fit, predicted[:, :n_train], labels), None)


def _is_adaboost(fit: RoundsFit) -> TypeGuard[BoostFit]:
    return isinstance(fit, BoostFit) and fit.is_classifier and fit.state.method == "adaboost"


def _measure_error(predicted: FloatArray, target: AnyArray) -> FloatArray:
    if predicted.ndim == 3:
        return np.asarray((pick_classes(predicted) != target).mean(axis=1), dtype=np.float64)
    return np.asarray(((predicted - target) ** 2).mean(axis=1))


def _measure_out_of_bag(members: FloatArray, is_out: BoolArray, target: AnyArray) -> FloatArray | None:
    """Error of the members that have not seen a point; points that all have seen are left out."""
    if not is_out.any():
        return None
    mask = is_out if members.ndim == 2 else is_out[:, :, None]
    sums = np.cumsum(members * mask, axis=0)
    counts = np.cumsum(is_out, axis=0)
    if members.ndim == 3:
        losses = (pick_classes(sums) != target).astype(np.float64)
    else:
        losses = (sums / np.maximum(counts, 1) - target) ** 2
    known = counts > 0
    with np.errstate(invalid="ignore"):
        return np.asarray((losses * known).sum(axis=1) / known.sum(axis=1))


def _measure_losses(fit: RoundsFit, predicted: FloatArray, labels: AnyArray) -> dict[str, FloatArray]:
    if not fit.is_classifier:
        return {}
    if _is_adaboost(fit):
        losses = {"exponential loss": np.asarray(fit.model.exponential_loss_, dtype=np.float64)}
        try:
            losses["bound of the training error"] = fit.model.training_error_bound()
        except DataError:  # no bound is known for several classes whose members are combined by scores
            return losses
        return losses
    n_train = len(labels)
    losses = {"log loss, training": _measure_log_loss(predicted[:, :n_train], labels)}
    if len(fit.sample.X_test):
        losses["log loss, test"] = _measure_log_loss(predicted[:, n_train:], np.asarray(fit.sample.y_test))
    if isinstance(fit, BoostFit) and fit.state.subsample < 1.0:
        losses["log loss, out-of-bag"] = np.asarray(fit.model.oob_scores_, dtype=np.float64)
    return losses


def _measure_log_loss(predicted: FloatArray, labels: AnyArray) -> FloatArray:
    own = predicted[:, np.arange(len(labels)), labels.astype(np.intp)]
    return np.asarray(-np.log(np.maximum(own, _LEAST_PROBABILITY)).mean(axis=1))


def _measure_margins(fit: RoundsFit, predicted: FloatArray, labels: AnyArray) -> FloatArray:
    """Score of the own class minus the largest other one; of AdaBoost relative to that of unanimous members."""
    each, own = np.arange(len(labels)), labels.astype(np.intp)
    if predicted.shape[2] == 2:
        margins = (predicted[..., 1] - predicted[..., 0]) * np.where(own == 1, 1.0, -1.0)
    else:
        others = predicted.copy()
        others[:, each, own] = -np.inf
        margins = predicted[:, each, own] - others.max(axis=2)
    if _is_adaboost(fit):
        margins /= _measure_unanimity(fit)[:, None]
    return np.asarray(np.clip(margins, -1.0, 1.0))


def _measure_unanimity(fit: BoostFit) -> FloatArray:
    """Margin after each round of a point on which all members of AdaBoost agree."""
    votes = {"samme": len(fit.model.classes_) - 1.0, "discrete": 2.0}
    return np.asarray(votes.get(fit.state.algorithm, 1.0) * np.cumsum(np.abs(fit.model.estimator_weights_)))


def measure_bias(fit_state: LabState, sample_X: FloatArray, sample_y: AnyArray, n_members: int) -> dict[str, float]:
    """Bias and variance of an ensemble of some size over bootstrap samples of the training points.

    Parameters
    ----------
    fit_state : LabState
        The method and its parameters.
    sample_X, sample_y : ndarray
        Training points.
    n_members : int
        Size of the ensemble.

    Returns
    -------
    dict
        "bias" (squared), "variance" and "error", means over the points; and "members".
    """
    model = specify_model(fit_state, n_members).build()
    with warnings.catch_warnings():
        # A point that was in every sample has no error; the means are over the others.
        warnings.filterwarnings("ignore", message=r"\d+ row\(s\) were left out of fewer than")
        found = estimate_bias_variance(model, sample_X, sample_y, n_rounds=_N_BOOTSTRAP, random_state=fit_state.seed)
    return {
        "members": n_members,
        "bias": float(np.nanmean(found.bias**2)),
        "variance": float(np.nanmean(found.variance)),
        "error": float(np.nanmean(found.error)),
    }
