"""The error to expect on new rows, from bootstrap samples: leave-one-out bootstrap, .632 and .632+."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier

from committee.base import resolve_seed
from committee.exceptions import DataError, ParameterTypeError, warn_caller
from committee.inspection.resampling import check_count, fit_on, predict_out_of_bag, read_study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BootstrapError", "combine_errors", "estimate_bootstrap_error"]

_IN_BAG = 0.632
"""Chance that a bootstrap sample holds a given row, 1 - 1/e, as the paper rounds it."""
_SHUFFLES = 200
"""Shuffles over which a metric without a closed form is averaged where predictions carry no information."""


def _miss(y: NDArray[Any], predicted: NDArray[Any]) -> FloatArray:
    return np.asarray(y != predicted, dtype=np.float64)


def _square(y: NDArray[Any], predicted: NDArray[Any]) -> FloatArray:
    squares: FloatArray = (y.astype(np.float64) - predicted) ** 2
    return squares


def _deviate(y: NDArray[Any], predicted: NDArray[Any]) -> FloatArray:
    deviations: FloatArray = np.abs(y.astype(np.float64) - predicted)
    return deviations


def _pair_misses(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    # Σ_l p_l (1 - q_l) over the classes, p their share in y and q in the predictions.
    classes, counts = np.unique(y, return_counts=True)
    hits = sum(n * np.count_nonzero(predicted == c) for c, n in zip(classes, counts, strict=True))
    return 1.0 - float(hits) / len(y) ** 2


def _pair_squares(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    return float(np.var(y) + np.var(predicted) + (np.mean(y) - np.mean(predicted)) ** 2)


def _pair_deviations(y: NDArray[Any], predicted: NDArray[Any]) -> float:
    # Σ_j |y_i - f_j| from the sorted f and their running sum, so that no table of pairs is made.
    ordered = np.sort(predicted.astype(np.float64))
    sums = np.concatenate([[0.0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, y)
    total = y * below - sums[below] + (sums[-1] - sums[below]) - y * (len(ordered) - below)
    return float(total.mean() / len(ordered))


_LOSSES: dict[str, tuple[Callable[..., FloatArray], Callable[..., float]]] = {
    "zero_one": (_miss, _pair_misses),
    "squared": (_square, _pair_squares),
    "absolute": (_deviate, _pair_deviations),
}
"""Each loss of one row, and its mean over all pairs of a target and a prediction."""


@dataclass(frozen=True)
class BootstrapError:
    """Estimates of the error on new rows, and what they are made of.

    Attributes
    ----------
    apparent : float
        Error on the training rows themselves; too small.
    leave_one_out : float
        Error of each row by the fits that did not see it; a little too large, since these saw 63.2 % of the rows.
    no_information : float
        Error γ if targets and features had nothing to do with each other.
    overfitting : float
        Relative rate R of overfitting: 0 for none, 1 if the estimator only learns by heart.
    weight : float
        Weight w of `leave_one_out` in `error_632_plus`, from 0.632 to 1.
    error_632, error_632_plus : float
        The two estimates.
    """

    apparent: float
    leave_one_out: float
    no_information: float
    overfitting: float
    weight: float
    error_632: float
    error_632_plus: float


def estimate_bootstrap_error(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    loss: Literal["zero_one", "squared", "absolute"] | Callable[[Any, Any], float] | None = None,
    n_rounds: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BootstrapError:
    r"""The .632 and .632+ estimates of the error of any estimator [EfronTibshirani1997].

    With :math:`\overline{err}` the error on the training rows and :math:`Err^{(1)}` that of each row by the fits on
    bootstrap samples without it,

    .. math:: Err^{(.632)} = 0.368\,\overline{err} + 0.632\,Err^{(1)}.

    An estimator that learns by heart has :math:`\overline{err} = 0`, and this is too small. So let :math:`\gamma` be
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
        What is averaged over the rows; by default zero-one for classifiers and squared for the others. A callable is
        a metric ``loss(y_true, y_pred)`` of the error kind, the smaller the better: it is computed on the rows that
        each round left out and averaged over the rounds, and for :math:`\gamma` over shuffled predictions.
    n_rounds : int, default=100
        Bootstrap samples.
    random_state : int, RandomState, Generator or None
        Seed of the samples.
    n_jobs : int or None
        Fits at a time, as in joblib.

    Returns
    -------
    BootstrapError

    Examples
    --------
    Labels by the toss of a coin, and an estimator that learns them by heart; the truth is 0.5:

    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from committee.inspection import estimate_bootstrap_error
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(200, 5)), rng.integers(2, size=200)
    >>> found = estimate_bootstrap_error(KNeighborsClassifier(1), X, y, random_state=0)
    >>> found.apparent, round(found.error_632, 1), round(found.error_632_plus, 1)
    (0.0, 0.3, 0.5)
    """
    X, target = read_study(estimator, X, y)
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
    whole = fit_on(estimator, X, target, np.arange(len(target)), seed, n_rounds)
    predicted = np.asarray(whole.predict(X))
    rounds = predict_out_of_bag(estimator, X, target, n_rounds=n_rounds, seed=seed, n_jobs=n_jobs)
    if callable(loss):
        found = [float(loss(target[rows], answers)) for rows, answers in rounds if len(rows)]
        _check_rounds(len(found))
        shuffled = np.random.default_rng([seed, n_rounds + 1])
        gamma = float(np.mean([loss(target, shuffled.permutation(predicted)) for _ in range(_SHUFFLES)]))
        return combine_errors(float(loss(target, predicted)), float(np.mean(found)), gamma)
    measure, pair = _LOSSES[loss]
    sums, n_predictions = np.zeros(len(target)), np.zeros(len(target), dtype=np.intp)
    for rows, answers in rounds:
        sums[rows] += measure(target[rows], answers)
        n_predictions[rows] += 1
    _check_rounds(int(n_predictions.max()), int((n_predictions == 0).sum()))
    seen = n_predictions > 0
    leave_one_out = float((sums[seen] / n_predictions[seen]).mean())
    return combine_errors(float(measure(target, predicted).mean()), leave_one_out, pair(target, predicted))


def _check_rounds(most: int, n_unseen: int = 0) -> None:
    if most == 0:
        raise DataError("Every bootstrap sample held every row; use more rows or more rounds.")
    if n_unseen:
        warn_caller(f"{n_unseen} row(s) were in every sample and do not count; use more rounds.", UserWarning)


def combine_errors(apparent: float, leave_one_out: float, no_information: float) -> BootstrapError:
    """The two estimates from the three errors that they are made of.

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
    # Equation 32 of the paper, which keeps the leave-one-out error whole in its first term.
    error_632_plus = error_632 + (bounded - apparent) * (weight - _IN_BAG) if overfits else error_632
    return BootstrapError(apparent, leave_one_out, no_information, overfitting, weight, error_632, error_632_plus)
