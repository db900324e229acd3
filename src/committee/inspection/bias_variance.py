"""Bias and variance of an estimator from a bootstrap, and the effect of averaging on both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from committee.base import resolve_seed
from committee.constraints import show_value
from committee.data.rows import count_rows
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.inspection.resampling import (
    check_bootstrap_input,
    check_count,
    draw_bootstrap,
    fit_rows,
    predict_out_of_bag,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from committee.params import RandomState
    from committee.typing import AnyArray, EstimatorLike, FloatArray

_LARGEST = 1e150  # whose square is a double

__all__ = ["BagVariance", "BiasVariance", "estimate_bias_variance", "measure_bag_variance"]


@dataclass(frozen=True)
class BiasVariance:
    """Bias and variance of an estimator for each row; NaN for a row that was in (nearly) every sample.

    Attributes
    ----------
    loss : {"squared", "zero_one"}
        The loss.
    n_predictions : ndarray of int of shape (n_rows,)
        Number K of out-of-bag predictions of each row.
    mean : ndarray of shape (n_rows,)
        Mean prediction h̄ of each row; for zero-one loss the fraction p of correct predictions.
    bias : ndarray of shape (n_rows,)
        y - h̄; for zero-one loss 1 - p.
    variance : ndarray of shape (n_rows,)
        Σ(h̄ - h_k)²/(K - 1); for zero-one loss p(1 - p).
    error : ndarray of shape (n_rows,)
        Mean loss Σ(y - h_k)²/K; for zero-one loss 1 - p.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import estimate_bias_variance
    >>> X, y = make_friedman1(100, random_state=0)
    >>> found = estimate_bias_variance(DecisionTreeRegressor(), X, y, n_rounds=20, random_state=0)
    >>> found.loss, found.bias.shape
    ('squared', (100,))
    >>> found.mean_squared_bias < found.mean_error < found.mean_squared_bias + found.mean_variance
    True
    """

    loss: Literal["squared", "zero_one"]
    n_predictions: NDArray[np.intp]
    mean: FloatArray
    bias: FloatArray
    variance: FloatArray
    error: FloatArray

    @property
    def mean_squared_bias(self) -> float:
        """Squared bias averaged over the rows; it includes the noise of the targets."""
        return float(np.nanmean(self.bias**2))

    @property
    def mean_variance(self) -> float:
        """Variance averaged over the rows."""
        return float(np.nanmean(self.variance))

    @property
    def mean_error(self) -> float:
        """Error averaged over the rows."""
        return float(np.nanmean(self.error))


def estimate_bias_variance(
    estimator: EstimatorLike,
    X: Any,
    y: Any,
    *,
    loss: Literal["squared", "zero_one"] | None = None,
    n_rounds: int = 100,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    r"""Bias and variance of any estimator, from the rows that bootstrap samples leave out.

    The estimator is fitted on `n_rounds` bootstrap samples. A row :math:`x` with target :math:`y` is predicted by the
    :math:`K` fits whose sample does not contain it, :math:`h_1(x), \dots, h_K(x)`. For squared loss

    .. math::

        \bar h = \frac1K \sum_k h_k, \qquad
        \text{bias} = y - \bar h, \qquad
        \text{variance} = \frac1{K-1} \sum_k (\bar h - h_k)^2,

    and the mean loss is :math:`\text{bias}^2 + \frac{K-1}{K}\,\text{variance}`. For zero-one loss, with :math:`p` the
    fraction of correct predictions among the :math:`K`, bias and variance of the indicator "is correct" against 1 are

    .. math:: (1-p)^2 + p\,(1-p) = 1 - p,

    and squared bias plus variance is exactly the error.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned, not changed. Each of its ``random_state`` parameters gets another seed in each round.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        What the estimator reads.
    y : array-like of shape (n_rows,)
        Values or classes.
    loss : {"squared", "zero_one"}, optional
        By default zero-one for classifiers and squared for regressors.
    n_rounds : int, default=100
        Number of bootstrap samples; about 37 % of them leave a given row out.
    random_state : int, RandomState, Generator or None
        Seed of the samples.
    n_jobs : int or None
        Fits at a time, as in joblib.

    Returns
    -------
    BiasVariance

    References
    ----------
    [Breiman1996]; [KohaviWolpert1996] for zero-one loss.

    Examples
    --------
    A deep tree has little bias and much variance, a stump the reverse:

    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import estimate_bias_variance
    >>> X, y = make_friedman1(200, noise=0.1, random_state=0)
    >>> deep = estimate_bias_variance(DecisionTreeRegressor(), X, y, random_state=0)
    >>> stump = estimate_bias_variance(DecisionTreeRegressor(max_depth=1), X, y, random_state=0)
    >>> deep.mean_squared_bias < stump.mean_squared_bias
    True
    >>> deep.mean_variance > stump.mean_variance
    True
    """
    X, target = check_bootstrap_input(estimator, X, y)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    if loss not in (None, "squared", "zero_one"):
        raise ParameterError(f"The 'loss' argument must be 'squared', 'zero_one' or None; got {loss!r}.")
    chosen: Literal["squared", "zero_one"] = loss or ("zero_one" if is_classifier(estimator) else "squared")
    if chosen == "squared" and target.dtype.kind not in "fiub":
        raise DataError(f"Squared loss needs numbers; y is of dtype {target.dtype}. Use loss='zero_one' for classes.")
    seed = resolve_seed(random_state)
    # For zero-one loss the predicted quantity is "is correct", whose target is 1.
    truth = np.ones(len(target)) if chosen == "zero_one" else target.astype(np.float64)
    predictions = np.full((n_rounds, len(target)), np.nan)
    rounds = predict_out_of_bag(estimator, X, target, n_rounds=n_rounds, seed=seed, n_jobs=n_jobs)
    for k, (rows, predicted) in enumerate(rounds):
        predictions[k, rows] = predicted == target[rows] if chosen == "zero_one" else predicted
    return _decompose(chosen, truth, predictions)


def _decompose(loss: Literal["squared", "zero_one"], truth: FloatArray, predictions: FloatArray) -> BiasVariance:
    known = ~np.isnan(predictions)
    largest = max(float(np.abs(truth).max(initial=0.0)), float(np.abs(predictions[known]).max(initial=0.0)))
    if not largest < _LARGEST:
        raise DataError(f"Targets and predictions must be finite and below {_LARGEST:.0e}; their squares overflow.")
    n_predictions = known.sum(axis=0)
    least = 1 if loss == "zero_one" else 2
    if (n_predictions < least).any():
        warn_caller(
            f"{int((n_predictions < least).sum())} row(s) were left out of fewer than {least} samples and count as "
            "missing; use more rounds.",
            UserWarning,
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, predictions, 0.0).sum(axis=0) / n_predictions
        squares = np.where(known, (predictions - mean) ** 2, 0.0).sum(axis=0)
        error = np.where(known, (predictions - truth) ** 2, 0.0).sum(axis=0) / n_predictions
        variance = mean * (1.0 - mean) if loss == "zero_one" else squares / (n_predictions - 1)
    variance[n_predictions < least] = np.nan
    return BiasVariance(loss, n_predictions, mean, truth - mean, variance, error)


@dataclass(frozen=True)
class BagVariance:
    """Bias and variance of an average of m members, for several m.

    Attributes
    ----------
    sizes : ndarray of int
        The numbers m of members.
    ideal : ndarray
        σ²/m, the variance for independent members, from the variance σ² of one of them.
    independent : ndarray
        Variance measured with members that are fitted on separate training sets.
    bagged : ndarray
        Variance measured with members that are fitted on bootstrap samples of one training set.
    bias_independent, bias_bagged : ndarray or None
        Mean squared bias of the two, if the targets of the test rows are known.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import measure_bag_variance
    >>> X, y = make_friedman1(200, random_state=0)
    >>> found = measure_bag_variance(DecisionTreeRegressor(), X, y, sizes=(1, 4), n_repeats=10, random_state=0)
    >>> found.sizes, bool(found.bagged[1] < found.bagged[0])
    (array([1, 4]), True)
    """

    sizes: NDArray[np.intp]
    ideal: FloatArray
    independent: FloatArray
    bagged: FloatArray
    bias_independent: FloatArray | None = None
    bias_bagged: FloatArray | None = None

    @property
    def correlation(self) -> float:
        """ρ in ρσ² + (1 - ρ)σ²/m, by least squares over the sizes; 0 for independent members, 1 for equal ones."""
        # bagged/σ_b² - 1/m = ρ (1 - 1/m), with σ_b² the variance of a bag of one.
        factor = 1.0 - 1.0 / self.sizes
        if self.sizes[0] != 1 or not factor.any() or self.bagged[0] == 0.0:
            return float("nan")
        excess = self.bagged / self.bagged[0] - 1.0 / self.sizes
        return float(factor @ excess / (factor @ factor))


def measure_bag_variance(
    estimator: EstimatorLike,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: ArrayLike | None = None,
    *,
    sizes: Sequence[int] = (1, 2, 5, 10, 20, 50),
    n_repeats: int = 30,
    n_train: int | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> BagVariance:
    r"""Measure how the variance of an average falls with the number of members.

    Averaging :math:`m` predictors keeps their bias. If they are independent with variance :math:`\sigma^2`, the
    average has variance :math:`\sigma^2/m`. Members of a bag share their training set, so that any two of them are
    correlated, and

    .. math:: \operatorname{Var}\Bigl(\frac1m \sum_k h_k\Bigr) = \rho\,\sigma^2 + \frac{1-\rho}{m}\,\sigma^2

    stops falling at :math:`\rho\,\sigma^2` [Breiman2001].

    The rows of (X, y) are treated as the population: training sets are drawn from them, independently and with
    replacement. In each of `n_repeats` repetitions the members of one ensemble are fitted on a training set each, and
    those of another on bootstrap samples of a single training set. Variance is taken over the repetitions and averaged
    over the test rows; for classifiers it is that of the class probabilities (or votes), summed over the classes.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned, not changed.
    X, y : table and array-like of shape (n_rows,)
        The population.
    X_test, y_test : table and array-like, optional
        Rows to predict, and their targets, which the bias needs. By default the population itself.
    sizes : sequence of int, default=(1, 2, 5, 10, 20, 50)
        Numbers of members.
    n_repeats : int, default=30
        Number of repetitions; the relative standard error of the variance of one row is about
        :math:`\sqrt{2/(\text{n\_repeats}-1)}`.
    n_train : int, optional
        Rows of a training set; by default half the population.
    random_state : int, RandomState, Generator or None
        Seed of the training sets.
    n_jobs : int or None
        Repetitions at a time, as in joblib.

    Returns
    -------
    BagVariance

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import measure_bag_variance
    >>> X, y = make_friedman1(300, noise=1.0, random_state=0)
    >>> found = measure_bag_variance(DecisionTreeRegressor(), X, y, sizes=(1, 4, 16), n_repeats=20, random_state=0)
    >>> bool(found.bagged[-1] > 2 * found.ideal[-1])
    True
    >>> 0 < found.correlation < 1
    True
    """
    X, target = check_bootstrap_input(estimator, X, y)
    if not hasattr(sizes, "__len__") or not len(sizes):
        raise ParameterError(f"The 'sizes' argument must hold at least one int >= 1; got {show_value(sizes)}.")
    n_members = np.unique([check_count("sizes", m, 1) for m in sizes])
    n_repeats = check_count("n_repeats", n_repeats, 2)
    n_train = max(1, len(target) // 2) if n_train is None else check_count("n_train", n_train, 1)
    if X_test is None:
        X_test, y_test = X, target
    classes = np.unique(target) if is_classifier(estimator) else None
    truth = None if y_test is None else _encode_target(np.asarray(y_test), classes, count_rows(X_test))
    seed = resolve_seed(random_state)

    # The average of each repetition and size at each test row: (n_repeats, n_sizes, n_test, width).
    repeats = Parallel(n_jobs=n_jobs)(
        delayed(_repeat)(estimator, (X, target, X_test), classes, n_members, n_train, (seed, number))
        for number in range(n_repeats)
    )
    independent, bagged = (np.stack(part) for part in zip(*repeats, strict=True))
    variances = [a.var(axis=0, ddof=1).sum(axis=-1).mean(axis=-1) for a in (independent, bagged)]
    biases = [
        None if truth is None else ((truth - a.mean(axis=0)) ** 2).sum(axis=-1).mean(axis=-1)
        for a in (independent, bagged)
    ]
    one = variances[0] * n_members
    # Every size gives an estimate of σ²: m times the variance of an average of m independent members.
    return BagVariance(n_members, one.mean() / n_members, *variances, *biases)


def _repeat(
    estimator: EstimatorLike,
    tables: tuple[Any, AnyArray, Any],
    classes: AnyArray | None,
    sizes: NDArray[np.intp],
    n_train: int,
    key: tuple[int, int],
) -> tuple[FloatArray, FloatArray]:
    """One repetition: averages of independent members, and of bagged ones, for each size."""
    X, y, X_test = tables
    (seed, number), most = key, int(sizes[-1])
    # Numbers of training sets: one for each independent member, then one for the bag.
    first = number * (most + 1)
    independent: list[FloatArray] = []
    bagged: list[FloatArray] = []
    shared = draw_bootstrap(len(y), seed, first + most, n_train)
    for k in range(first, first + most):
        own = draw_bootstrap(len(y), seed, k, n_train)
        resampled = shared[draw_bootstrap(n_train, seed + 1, k)]
        for rows, predictions in ((own, independent), (resampled, bagged)):
            predictions.append(_predict_numbers(fit_rows(estimator, X, y, rows, seed, k), X_test, classes))
    return _average_first(independent, sizes), _average_first(bagged, sizes)


def _encode_target(y_test: AnyArray, classes: AnyArray | None, n_test: int) -> FloatArray:
    if y_test.shape != (n_test,):
        raise DataError(f"y_test must have shape ({n_test},), as X_test has rows; got {y_test.shape}.")
    if classes is None:
        return y_test.astype(np.float64)[:, None]
    return np.asarray(np.equal(y_test[:, None], classes), dtype=np.float64)


def _predict_numbers(member: Any, X: Any, classes: AnyArray | None) -> FloatArray:
    """Predictions of shape (n_rows, width): the value, or for each class its probability or vote."""
    if classes is None:
        return np.asarray(member.predict(X), dtype=np.float64).reshape(-1, 1)
    if not hasattr(member, "predict_proba"):
        return np.asarray(np.equal(np.asarray(member.predict(X))[:, None], classes), dtype=np.float64)
    probabilities = np.zeros((count_rows(X), len(classes)))
    probabilities[:, np.searchsorted(classes, member.classes_)] = member.predict_proba(X)
    return probabilities


def _average_first(predictions: list[FloatArray], sizes: NDArray[np.intp]) -> FloatArray:
    """Average of the first m predictions, for each size m."""
    running = np.cumsum(predictions, axis=0)
    averages: FloatArray = running[sizes - 1] / sizes[:, None, None]
    return averages
