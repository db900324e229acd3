"""Bootstrap estimates of the prediction error: leave-one-out bootstrap, .632 and .632+."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier

from committee.base import resolve_seed
from committee.exceptions import DataError, ParameterTypeError, warn_caller
from committee.inspection.resampling import check_bootstrap_input, check_count, fit_rows, predict_out_of_bag

if TYPE_CHECKING:
    from committee.params import RandomState
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["BootstrapError", "combine_errors", "estimate_bootstrap_error"]

_IN_BAG = 0.632
"""Probability that a bootstrap sample contains a given row, 1 - 1/e, rounded as in the paper."""
_LARGEST_DEVIATION = 1e150
_SHUFFLES = 200
"""Shuffles of the predictions over which a metric without a closed form is averaged for the no-information error."""


def _zero_one_loss(y: AnyArray, predicted: AnyArray) -> FloatArray:
    return np.asarray(y != predicted, dtype=np.float64)


def _squared_loss(y: AnyArray, predicted: AnyArray) -> FloatArray:
    deviations = y.astype(np.float64) - predicted
    if not np.abs(deviations).max(initial=0.0) < _LARGEST_DEVIATION:
        raise DataError(f"Deviations of predictions must be below {_LARGEST_DEVIATION:.0e}; their squares overflow.")
    squares: FloatArray = deviations**2
    return squares


def _absolute_loss(y: AnyArray, predicted: AnyArray) -> FloatArray:
    deviations: FloatArray = np.abs(y.astype(np.float64) - predicted)
    return deviations


def _zero_one_over_pairs(y: AnyArray, predicted: AnyArray) -> float:
    # Σ_l p_l (1 - q_l) over the classes, with p their frequency in y and q in the predictions.
    classes, counts = np.unique(y, return_counts=True)
    hits = sum(n * np.count_nonzero(predicted == c) for c, n in zip(classes, counts, strict=True))
    return 1.0 - float(hits) / len(y) ** 2


def _squared_over_pairs(y: AnyArray, predicted: AnyArray) -> float:
    return float(np.var(y) + np.var(predicted) + (np.mean(y) - np.mean(predicted)) ** 2)


def _absolute_over_pairs(y: AnyArray, predicted: AnyArray) -> float:
    # Σ_j |y_i - f_j| from the sorted f and their cumulative sum, without a table of all pairs.
    ordered = np.sort(predicted.astype(np.float64))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, y)
    total = y * below - sums[below] + (sums[-1] - sums[below]) - y * (len(ordered) - below)
    return float(total.mean() / len(ordered))


_LOSSES: dict[str, tuple[Callable[..., FloatArray], Callable[..., float]]] = {
    "zero_one": (_zero_one_loss, _zero_one_over_pairs),
    "squared": (_squared_loss, _squared_over_pairs),
    "absolute": (_absolute_loss, _absolute_over_pairs),
}
"""For each loss: the losses of the rows, and the mean loss over all pairs of a target and a prediction."""


@dataclass(frozen=True)
class BootstrapError:
    """Estimates of the prediction error, and their components.

    Attributes
    ----------
    apparent : float
        Error on the training rows; too small.
    leave_one_out : float
        Error of each row by the fits whose sample does not contain it; a little too large, since a sample contains
        63.2 % of the rows.
    no_information : float
        Error γ if targets and features were independent.
    overfitting : float
        Relative overfitting rate R: 0 for none, 1 if the estimator only memorises the training rows.
    weight : float
        Weight w of `leave_one_out` in `error_632_plus`, from 0.632 to 1.
    error_632, error_632_plus : float
        The two estimates.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier
    >>> from committee.inspection import estimate_bootstrap_error
    >>> X, y = load_iris(return_X_y=True)
    >>> found = estimate_bootstrap_error(DecisionTreeClassifier(), X, y, n_rounds=20, random_state=0)
    >>> found.apparent, found.apparent < found.error_632 < found.leave_one_out
    (0.0, True)
    """

    apparent: float
    leave_one_out: float
    no_information: float
    overfitting: float
    weight: float
    error_632: float
    error_632_plus: float


def estimate_bootstrap_error(
    estimator: EstimatorLike,
    X: Any,
    y: Any,
    *,
    loss: Literal["zero_one", "squared", "absolute"] | Callable[[Any, Any], float] | None = None,
    n_rounds: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> BootstrapError:
    r"""The .632 and .632+ estimates of the error of any estimator [EfronTibshirani1997].

    With :math:`\overline{err}` the error on the training rows and :math:`Err^{(1)}` that of each row by the fits on
    bootstrap samples without it,

    .. math:: Err^{(.632)} = 0.368\,\overline{err} + 0.632\,Err^{(1)}.

    For an estimator that memorises, :math:`\overline{err} = 0`, and this is too small. Therefore let :math:`\gamma` be
    the mean loss over all pairs of a target and a prediction,
    :math:`Err^{(1)\prime} = \min(Err^{(1)}, \gamma)` and

    .. math::

        R = \frac{Err^{(1)\prime} - \overline{err}}{\gamma - \overline{err}}, \qquad
        w = \frac{0.632}{1 - 0.368\,R}, \qquad
        Err^{(.632+)} = Err^{(.632)} + (w - 0.632)\,(Err^{(1)\prime} - \overline{err}),

    with :math:`R = 0` unless :math:`\overline{err}` is less than :math:`Err^{(1)}` and :math:`\gamma`.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned, not changed.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        What the estimator reads.
    y : array-like of shape (n_rows,)
        Values or classes.
    loss : {"zero_one", "squared", "absolute"} or callable, optional
        The loss; by default zero-one for classifiers and squared for regressors. A callable is a metric
        ``loss(y_true, y_pred)``, smaller is better: it is computed on the out-of-bag rows of each round and averaged
        over the rounds, and for :math:`\gamma` over shuffled predictions.
    n_rounds : int, default=100
        Number of bootstrap samples.
    random_state : int, RandomState, Generator or None
        Seed of the samples.
    n_jobs : int or None
        Fits at a time, as in joblib.

    Returns
    -------
    BootstrapError

    Examples
    --------
    Random labels, and an estimator that memorises them; the true error is 0.5:

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from committee.inspection import estimate_bootstrap_error
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> found = estimate_bootstrap_error(KNeighborsClassifier(1), X, y, random_state=0)
    >>> found.apparent, round(found.error_632, 1), round(found.error_632_plus, 1)
    (0.0, 0.3, 0.5)
    """
    X, target = check_bootstrap_input(estimator, X, y)
    n_rounds = check_count("n_rounds", n_rounds, 1)
    if loss is None:
        loss = "zero_one" if is_classifier(estimator) else "squared"
    if not callable(loss) and loss not in _LOSSES:
        raise ParameterTypeError(
            f"The 'loss' argument must be 'zero_one', 'squared', 'absolute', a callable or None; got {loss!r}."
        )
    if loss in ("squared", "absolute") and target.dtype.kind not in "fiub":
        raise DataError(f"This loss needs numbers; y is of dtype {target.dtype}. Use loss='zero_one' for classes.")
    seed = resolve_seed(random_state)
    fitted = fit_rows(estimator, X, target, np.arange(len(target)), seed, n_rounds)
    predicted = np.asarray(fitted.predict(X))
    rounds = predict_out_of_bag(estimator, X, target, n_rounds=n_rounds, seed=seed, n_jobs=n_jobs)
    if callable(loss):
        found = [float(loss(target[rows], predictions)) for rows, predictions in rounds if len(rows)]
        _check_rounds(len(found))
        shuffled = np.random.default_rng([seed, n_rounds + 1])
        gamma = float(np.mean([loss(target, shuffled.permutation(predicted)) for _ in range(_SHUFFLES)]))
        return combine_errors(float(loss(target, predicted)), float(np.mean(found)), gamma)
    row_losses, mean_over_pairs = _LOSSES[loss]
    sums, n_predictions = np.zeros(len(target)), np.zeros(len(target), dtype=np.intp)
    for rows, predictions in rounds:
        sums[rows] += row_losses(target[rows], predictions)
        n_predictions[rows] += 1
    _check_rounds(int(n_predictions.max()), int((n_predictions == 0).sum()))
    known = n_predictions > 0
    leave_one_out = float((sums[known] / n_predictions[known]).mean())
    apparent = float(row_losses(target, predicted).mean())
    return combine_errors(apparent, leave_one_out, mean_over_pairs(target, predicted))


def _check_rounds(most_predictions: int, n_without: int = 0) -> None:
    if most_predictions == 0:
        raise DataError("Every bootstrap sample held every row; use more rows or more rounds.")
    if n_without:
        warn_caller(f"{n_without} row(s) were in every sample and do not count; use more rounds.", UserWarning)


def combine_errors(apparent: float, leave_one_out: float, no_information: float) -> BootstrapError:
    """The two estimates from their three components.

    Parameters
    ----------
    apparent, leave_one_out, no_information : float
        As in `BootstrapError`.

    Returns
    -------
    BootstrapError

    Examples
    --------
    >>> round(combine_errors(0.1, 0.3, 0.5).error_632, 4)
    0.2264
    """
    bounded = min(leave_one_out, no_information)
    overfits = leave_one_out > apparent and no_information > apparent
    overfitting = (bounded - apparent) / (no_information - apparent) if overfits else 0.0
    weight = _IN_BAG / (1.0 - (1.0 - _IN_BAG) * overfitting)
    error_632 = (1.0 - _IN_BAG) * apparent + _IN_BAG * leave_one_out
    # Equation 32 of the paper; its first term has the leave-one-out error itself, not the bounded one.
    error_632_plus = error_632 + (bounded - apparent) * (weight - _IN_BAG) if overfits else error_632
    return BootstrapError(apparent, leave_one_out, no_information, overfitting, weight, error_632, error_632_plus)
