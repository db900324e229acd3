"""What an estimator's error is made of: bias and variance from a bootstrap, and what averaging does to both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed

from committee.base import resolve_seed
from committee.data.rows import count_rows
from committee.exceptions import DataError, ParameterError, warn_caller
from committee.inspection.resampling import check_count, draw_bootstrap, fit_on, predict_out_of_bag, read_study

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["BagVariance", "BiasVariance", "estimate_bias_variance", "measure_bag_variance"]


@dataclass(frozen=True)
class BiasVariance:
    """Bias and variance of an estimator, row by row; NaN where a row was in (nearly) every sample.

    Attributes
    ----------
    loss : {"squared", "zero_one"}
        What the error is measured in.
    n_predictions : ndarray of int of shape (n_rows,)
        Out-of-bag predictions K of each row.
    mean : ndarray of shape (n_rows,)
        Mean prediction h̄ of each row; for zero-one loss the share p of right predictions.
    bias : ndarray of shape (n_rows,)
        y - h̄; for zero-one loss 1 - p.
    variance : ndarray of shape (n_rows,)
        Σ(h̄ - h_k)²/(K - 1); for zero-one loss p(1 - p).
    error : ndarray of shape (n_rows,)
        Mean loss Σ(y - h_k)²/K; for zero-one loss 1 - p.
    """

    loss: Literal["squared", "zero_one"]
    n_predictions: NDArray[np.intp]
    mean: FloatArray
    bias: FloatArray
    variance: FloatArray
    error: FloatArray

    @property
    def mean_squared_bias(self) -> float:
        """Squared bias averaged over the rows; with noisy targets the noise is in it."""
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
    estimator: Any,
    X: Any,
    y: Any,
    *,
    loss: Literal["squared", "zero_one"] | None = None,
    n_rounds: int = 100,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BiasVariance:
    r"""Bias and variance of any estimator, from the rows that bootstrap samples leave out.

    The estimator is fitted on `n_rounds` bootstrap samples. A row :math:`x` with target :math:`y` is predicted by the
    :math:`K` of them that did not see it, :math:`h_1(x), \dots, h_K(x)`. For squared loss

    .. math::

        \bar h = \frac1K \sum_k h_k, \qquad
        \text{bias} = y - \bar h, \qquad
        \text{variance} = \frac1{K-1} \sum_k (\bar h - h_k)^2,

    and the mean loss is :math:`\text{bias}^2 + \frac{K-1}{K}\,\text{variance}`. For zero-one loss, with :math:`p` the
    share of the :math:`K` predictions that are right, bias and variance of the indicator "is right" against 1 are

    .. math:: (1-p)^2 + p\,(1-p) = 1 - p,

    squared bias plus variance is the error exactly.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned, not changed. Each of its ``random_state`` gets another number in each round.
    X : array, sparse matrix or frame of shape (n_rows, n_features)
        What the estimator reads.
    y : array-like of shape (n_rows,)
        Values or classes.
    loss : {"squared", "zero_one"}, optional
        By default zero-one for classifiers and squared for the others.
    n_rounds : int, default=100
        Bootstrap samples; about 37 % of them leave a given row out.
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
    X, target = read_study(estimator, X, y)
    n_rounds = check_count("n_rounds", n_rounds, 2)
    if loss not in (None, "squared", "zero_one"):
        raise ParameterError(f"The 'loss' argument must be 'squared', 'zero_one' or None; got {loss!r}.")
    chosen: Literal["squared", "zero_one"] = loss or ("zero_one" if is_classifier(estimator) else "squared")
    if chosen == "squared" and target.dtype.kind not in "fiub":
        raise DataError(f"Squared loss needs numbers; y is of dtype {target.dtype}. Use loss='zero_one' for classes.")
    seed = resolve_seed(random_state)
    # About zero-one loss all is said by how often a row was predicted right, as if 1 were to be predicted.
    goal = np.ones(len(target)) if chosen == "zero_one" else target.astype(np.float64)
    answers = np.full((n_rounds, len(target)), np.nan)
    rounds = predict_out_of_bag(estimator, X, target, n_rounds=n_rounds, seed=seed, n_jobs=n_jobs)
    for k, (rows, predicted) in enumerate(rounds):
        answers[k, rows] = predicted == target[rows] if chosen == "zero_one" else predicted
    return _decompose(chosen, goal, answers)


def _decompose(loss: Literal["squared", "zero_one"], goal: FloatArray, answers: FloatArray) -> BiasVariance:
    known = ~np.isnan(answers)
    n_predictions = known.sum(axis=0)
    least = 1 if loss == "zero_one" else 2
    if (n_predictions < least).any():
        warn_caller(
            f"{int((n_predictions < least).sum())} row(s) were left out of fewer than {least} samples and count as "
            "missing; use more rounds.",
            UserWarning,
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(known, answers, 0.0).sum(axis=0) / n_predictions
        spread = np.where(known, (answers - mean) ** 2, 0.0).sum(axis=0)
        error = np.where(known, (answers - goal) ** 2, 0.0).sum(axis=0) / n_predictions
        variance = mean * (1.0 - mean) if loss == "zero_one" else spread / (n_predictions - 1)
    variance[n_predictions < least] = np.nan
    return BiasVariance(loss, n_predictions, mean, goal - mean, variance, error)


@dataclass(frozen=True)
class BagVariance:
    """Bias and variance of an average of m members, for several m.

    Attributes
    ----------
    sizes : ndarray of int
        The numbers m of members.
    ideal : ndarray
        σ²/m, the law for independent members, from the variance σ² of one of them.
    independent : ndarray
        Variance measured with members from training sets of their own.
    bagged : ndarray
        Variance measured with members from bootstrap samples of one training set.
    bias_independent, bias_bagged : ndarray or None
        Mean squared bias of the two, if the targets of the test rows are known.
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
        share = 1.0 - 1.0 / self.sizes
        if self.sizes[0] != 1 or not share.any() or self.bagged[0] == 0.0:
            return float("nan")
        excess = self.bagged / self.bagged[0] - 1.0 / self.sizes
        return float(share @ excess / (share @ share))


def measure_bag_variance(
    estimator: Any,
    X: Any,
    y: Any,
    X_test: Any = None,
    y_test: Any = None,
    *,
    sizes: Sequence[int] = (1, 2, 5, 10, 20, 50),
    n_repeats: int = 30,
    n_train: int | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> BagVariance:
    r"""An experiment: how the variance of an average falls with the number of members.

    Averaging :math:`m` predictors keeps their bias. If they are independent with variance :math:`\sigma^2`, the
    average has variance :math:`\sigma^2/m`. Members of a bag share their training set, so that any two of them are
    correlated, and

    .. math:: \operatorname{Var}\Bigl(\frac1m \sum_k h_k\Bigr) = \rho\,\sigma^2 + \frac{1-\rho}{m}\,\sigma^2

    stops falling at :math:`\rho\,\sigma^2` [Breiman2001].

    The rows of (X, y) play the whole population: training sets are drawn from them, independently and with
    replacement. In each of `n_repeats` repetitions one committee has members that see a training set each, and
    another one members that see bootstrap samples of a single training set. Variance is taken over the repetitions
    and averaged over the test rows; for classifiers it is that of the class probabilities (or votes), summed over the
    classes.

    Parameters
    ----------
    estimator : estimator instance
        Is cloned, not changed.
    X, y : table and array-like of shape (n_rows,)
        The population.
    X_test, y_test : table and array-like, optional
        Rows to predict, and their targets if the bias is wanted. By default the population itself.
    sizes : sequence of int, default=(1, 2, 5, 10, 20, 50)
        Numbers of members.
    n_repeats : int, default=30
        Repetitions; the variance is known to about :math:`\sqrt{2/(\text{n\_repeats}-1)}` of itself at one row.
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
    X, target = read_study(estimator, X, y)
    ladder = np.unique([check_count("sizes", m, 1) for m in sizes]) if len(sizes) else np.array([], dtype=np.intp)
    if not len(ladder):
        raise ParameterError("The 'sizes' argument must hold at least one int >= 1; got none.")
    n_repeats = check_count("n_repeats", n_repeats, 2)
    n_train = max(1, len(target) // 2) if n_train is None else check_count("n_train", n_train, 1)
    if X_test is None:
        X_test, y_test = X, target
    classes = np.unique(target) if is_classifier(estimator) else None
    goal = None if y_test is None else _read_goal(np.asarray(y_test), classes, count_rows(X_test))
    seed = resolve_seed(random_state)

    # Of each size and repetition the average at each test row: (n_repeats, n_sizes, n_test, width).
    repeats = Parallel(n_jobs=n_jobs)(
        delayed(_repeat)(estimator, (X, target, X_test), classes, ladder, n_train, (seed, number))
        for number in range(n_repeats)
    )
    independent, bagged = (np.stack(part) for part in zip(*repeats, strict=True))
    variances = [a.var(axis=0, ddof=1).sum(axis=-1).mean(axis=-1) for a in (independent, bagged)]
    biases = [
        None if goal is None else ((goal - a.mean(axis=0)) ** 2).sum(axis=-1).mean(axis=-1)
        for a in (independent, bagged)
    ]
    one = variances[0] * ladder
    # σ² from every size at once: m times the variance of an average of m independent members is σ².
    return BagVariance(ladder, one.mean() / ladder, *variances, *biases)


def _repeat(
    estimator: Any,
    tables: tuple[Any, NDArray[Any], Any],
    classes: NDArray[Any] | None,
    sizes: NDArray[np.intp],
    n_train: int,
    key: tuple[int, int],
) -> tuple[FloatArray, FloatArray]:
    """One repetition: answers of a committee of independent members, and of a bag, for each size."""
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
        for rows, answers in ((own, independent), (resampled, bagged)):
            answers.append(_answer_in_numbers(fit_on(estimator, X, y, rows, seed, k), X_test, classes))
    return _average_first(independent, sizes), _average_first(bagged, sizes)


def _read_goal(y_test: NDArray[Any], classes: NDArray[Any] | None, n_test: int) -> FloatArray:
    if y_test.shape != (n_test,):
        raise DataError(f"y_test must have shape ({n_test},), as X_test has rows; got {y_test.shape}.")
    if classes is None:
        return y_test.astype(np.float64)[:, None]
    return np.asarray(np.equal(y_test[:, None], classes), dtype=np.float64)


def _answer_in_numbers(member: Any, X: Any, classes: NDArray[Any] | None) -> FloatArray:
    """Predictions of shape (n_rows, width): the value, or for each class its probability or vote."""
    if classes is None:
        return np.asarray(member.predict(X), dtype=np.float64).reshape(-1, 1)
    if not hasattr(member, "predict_proba"):
        return np.asarray(np.equal(np.asarray(member.predict(X))[:, None], classes), dtype=np.float64)
    shares = np.zeros((count_rows(X), len(classes)))
    shares[:, np.searchsorted(classes, member.classes_)] = member.predict_proba(X)
    return shares


def _average_first(answers: list[FloatArray], sizes: NDArray[np.intp]) -> FloatArray:
    """Average of the first m answers, for each size m."""
    running = np.cumsum(answers, axis=0)
    averages: FloatArray = running[sizes - 1] / sizes[:, None, None]
    return averages
