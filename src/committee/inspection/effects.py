"""Effects beyond partial dependence: accumulated local effects for correlated features, and interactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import Bunch

from committee.base import resolve_seed
from committee.data.dates import to_dates
from committee.data.inputs import DATE_KINDS
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, ParameterError
from committee.inspection.model_access import Response, TreeResponse, find_features, make_response, read_row_weights
from committee.inspection.resampling import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from committee.inspection.model_access import FeatureKey
    from committee.params import RandomState
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["Interactions", "accumulated_local_effects", "friedman_h"]


def accumulated_local_effects(
    model: EstimatorLike,
    X: Any,
    feature: FeatureKey,
    *,
    grid_resolution: int = 40,
    sample_weight: ArrayLike | None = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    n_jobs: int | None = None,
) -> Bunch:
    r"""Accumulated local effects (ALE): small changes of the prediction with a feature, summed over its range.

    If features are correlated, partial dependence evaluates the model at combinations of values that do not occur.
    Here the range of the feature is divided into bins :math:`(z_{k-1}, z_k]` with about equally many rows, and only the
    rows of a bin are moved, from one edge to the other [ApleyZhu2020]:

    .. math::

        g(z_k) = \sum_{l \le k} \frac1{n_l} \sum_{i:\, x_i \in (z_{l-1}, z_l]}
            \bigl(f(z_l, x_C^{(i)}) - f(z_{l-1}, x_C^{(i)})\bigr),

    centred so that its mean over the rows is zero. A category is moved to its neighbours in the order of the codes.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows to evaluate the model on. Rows in which the feature is missing are left out.
    feature : int or str
        Number or name of the feature.
    grid_resolution : int, default=40
        Maximum number of bins of a numeric feature.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    response_method : {"auto", "predict_proba", "decision_function"}
        The output of classifiers that is explained.
    n_jobs : int or None
        Number of threads, for trees of this library.

    Returns
    -------
    Bunch
        ``average``, the effect, of shape (n_outputs, n_points); ``grid_values``, a list with the points (edges of the
        bins, or categories); ``weights``, the total weight of the rows in each bin or category.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import accumulated_local_effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((500, 2))
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, 4 * X[:, 0])
    >>> found = accumulated_local_effects(forest, X, 0, grid_resolution=10)
    >>> bool(3.5 < found["average"][0, -1] - found["average"][0, 0] < 4.1)
    True
    """
    response = make_response(model, X, response_method=response_method, n_jobs=n_jobs)
    (number,) = find_features(response, [feature])
    check_count("grid_resolution", grid_resolution, 1)
    weights = read_row_weights(sample_weight, response.n_rows)
    weights = np.ones(response.n_rows) if weights is None else weights
    values = response.column(number)
    known = np.isfinite(values) & (weights > 0.0)
    if not known.any():
        raise DataError(f"Feature {response.names[number]!r} has no value that is not missing.")
    categories = response.categories(number)
    if categories is None:
        edges, curve, own = _accumulate_bins(response, number, values, np.where(known, weights, 0.0), grid_resolution)
        shown = to_dates(edges) if response.kind(number) in DATE_KINDS else edges
        return Bunch(average=curve, grid_values=[shown], weights=own)
    codes, curve, own = _accumulate_categories(response, number, values, np.where(known, weights, 0.0))
    return Bunch(average=curve, grid_values=[categories[codes.astype(np.intp)]], weights=own)


def _accumulate_bins(
    response: Response, feature: int, values: FloatArray, weights: FloatArray, n_bins: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges, curve (output, edge) and the weight of each bin. Edges are values that occur: no bin is empty."""
    counted = weights > 0.0
    quantiles = np.linspace(0.0, 1.0, n_bins + 1)
    edges = np.unique(np.quantile(values[counted], quantiles, method="inverted_cdf"))
    if len(edges) == 1:
        return edges, np.zeros((response.predict().shape[1], 1)), np.array([weights.sum()])
    bins = np.clip(np.searchsorted(edges, values, side="left"), 1, len(edges) - 1)
    rises = response.predict_with(feature, edges[bins]) - response.predict_with(feature, edges[bins - 1])
    own = _sum_weights(bins - 1, weights, len(edges) - 1)
    curve = _accumulate_means(rises, bins - 1, weights, own)
    middles = (curve[:, 1:] + curve[:, :-1]) / 2.0
    return edges, curve - (middles @ own / own.sum())[:, None], own


def _accumulate_categories(
    response: Response, feature: int, values: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Codes of the categories that occur, curve (output, category) and the weight of each category.

    A step between two neighbours is averaged over the rows of both.
    """
    counted = weights > 0.0
    codes = np.unique(values[counted])
    index = np.searchsorted(codes, np.where(counted, values, codes[0]))
    own = _sum_weights(index, weights, len(codes))
    if len(codes) == 1:
        return codes, np.zeros((response.predict().shape[1], 1)), own
    here = response.predict_with(feature, codes[index])
    up = response.predict_with(feature, codes[np.minimum(index + 1, len(codes) - 1)]) - here
    down = here - response.predict_with(feature, codes[np.maximum(index - 1, 0)])
    rises, steps = np.concatenate([up, down]), np.concatenate([index, index - 1])
    both = np.concatenate([weights, weights])
    both[(steps < 0) | (steps >= len(codes) - 1)] = 0.0
    steps = np.clip(steps, 0, len(codes) - 2)
    curve = _accumulate_means(rises, steps, both, _sum_weights(steps, both, len(codes) - 1))
    return codes, curve - (curve @ own / own.sum())[:, None], own


def _sum_weights(bins: NDArray[np.intp], weights: FloatArray, n_bins: int) -> FloatArray:
    """Total weight in each bin."""
    return np.bincount(bins, weights, minlength=n_bins).astype(np.float64)


def _accumulate_means(rises: FloatArray, bins: NDArray[np.intp], weights: FloatArray, totals: FloatArray) -> FloatArray:
    """Mean rise of each bin, accumulated from zero, of shape (n_outputs, n_bins + 1)."""
    means = [_sum_weights(bins, weights * rise, len(totals)) / totals for rise in rises.T]
    return np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1)


@dataclass(frozen=True)
class Interactions:
    """Interactions of features by Friedman's H; arrays have a row for each output.

    Attributes
    ----------
    features : list of int
        Numbers of the features.
    feature_names : list of str
        Their names.
    total : ndarray of shape (n_outputs, n_features)
        H of each feature with all others together.
    pairs : list of tuple of two int
        Pairs of feature numbers.
    pairwise : ndarray of shape (n_outputs, n_pairs)
        H of each pair.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import friedman_h
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = friedman_h(DecisionTreeRegressor(max_depth=4).fit(X, X[:, 0] * X[:, 1]), X, random_state=0)
    >>> found.pairs, found.pairwise.shape, bool(found.pairwise[0, 0] > 0.5)
    ([(0, 1)], (1, 1), True)
    """

    features: list[int]
    feature_names: list[str]
    total: FloatArray
    pairs: list[tuple[int, int]]
    pairwise: FloatArray


def friedman_h(
    model: EstimatorLike,
    X: Any,
    features: FeatureKey | Sequence[FeatureKey] | None = None,
    *,
    method: Literal["auto", "brute", "traversal"] = "auto",
    max_rows: int = 200,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Interactions:
    r"""Friedman's H: the fraction of the effect of features that is due to interactions [FriedmanPopescu2008].

    With :math:`\bar f_S` the partial dependence on the features in :math:`S`, centred over the rows,

    .. math::

        H_{jk}^2 = \frac{\sum_i \bigl(\bar f_{jk}(x^{(i)}) - \bar f_j(x^{(i)}) - \bar f_k(x^{(i)})\bigr)^2}
            {\sum_i \bar f_{jk}(x^{(i)})^2}, \qquad
        H_j^2 = \frac{\sum_i \bigl(f(x^{(i)}) - \bar f_j(x^{(i)}) - \bar f_{-j}(x^{(i)})\bigr)^2}
            {\sum_i f(x^{(i)})^2}.

    0 means that the effects are additive, 1 that there is only an interaction. If a pair has almost no effect, H is a
    ratio of two small numbers and has little meaning.

    Parameters
    ----------
    model : fitted estimator
        Of this library; for brute force, of any library.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows at which the dependence is evaluated; by brute force also the rows that it is averaged over.
    features : sequence of int or str, optional
        The features, by default all.
    method : {"auto", "brute", "traversal"}
        How partial dependence is computed, see `partial_dependence`. "auto": by traversal for trees whose output is
        additive.
    max_rows : int, default=200
        If X has more rows, a sample of this size is drawn: brute force needs the square of it in predictions.
    response_method : {"auto", "predict_proba", "decision_function"}
        The output of classifiers that is explained.
    random_state : int, RandomState, Generator or None
        Seed of the sample.
    n_jobs : int or None
        Number of threads, for trees of this library.

    Returns
    -------
    Interactions

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import friedman_h
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 3))
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> found = friedman_h(forest, X, random_state=0)
    >>> found.pairs[int(found.pairwise[0].argmax())]
    (0, 1)
    """
    check_count("max_rows", max_rows, 2)
    n_rows = count_rows(X)
    if n_rows > max_rows:
        chosen = np.random.default_rng(resolve_seed(random_state)).choice(n_rows, max_rows, replace=False)
        X = select_rows(X, np.sort(chosen))
    if not n_rows:
        raise DataError("X must have at least one row.")
    response = make_response(model, X, response_method=response_method, n_jobs=n_jobs)
    n_features = len(response.names)
    numbers = list(range(n_features)) if features is None else find_features(response, features)
    depend = _Dependence(response, _choose_traversal(response, method))
    singles = {j: depend.on([j]) for j in numbers}
    pairs = list(combinations(numbers, 2))
    pairwise = [_find_h(depend.on([j, k]), singles[j] + singles[k]) for j, k in pairs]
    predictions = response.predict()
    centred = predictions - predictions.mean(axis=0)
    total = []
    for j in numbers:
        others = [k for k in range(n_features) if k != j]
        total.append(_find_h(centred, singles[j] + (depend.on(others) if others else 0.0)))
    names = [response.names[j] for j in numbers]
    by_pair = np.array(pairwise).reshape(len(pairs), predictions.shape[1]).T
    return Interactions(numbers, names, np.array(total).T, pairs, by_pair)


@dataclass(frozen=True)
class _Dependence:
    """Partial dependence at the rows of a table, centred over them."""

    response: Response
    traversal: bool

    def on(self, features: Sequence[int]) -> FloatArray:
        if isinstance(self.response, TreeResponse):
            means = self.response.average_at_rows(features, traversal=self.traversal)
        else:
            points = np.stack([self.response.column(f) for f in features], axis=1)
            means = self.response.average_at(features, points, None)
        return np.asarray(means - means.mean(axis=0))


def _choose_traversal(response: Response, method: str) -> bool:
    if method not in ("auto", "brute", "traversal"):
        raise ParameterError(f"The 'method' argument must be 'auto', 'brute' or 'traversal'; got {method!r}.")
    additive = isinstance(response, TreeResponse) and (response.raw or response.model.link == "identity")
    if method == "traversal" and not additive:
        raise ParameterError(
            "method='traversal' averages the raw score of trees of this library; use method='brute', or "
            "response_method='decision_function' with boosted trees."
        )
    return additive and method != "brute"


def _find_h(joint: FloatArray, additive: FloatArray) -> FloatArray:
    """H of each output, from the joint effect and the sum of the single ones; 0 if there is no effect."""
    rest, total = ((joint - additive) ** 2).sum(axis=0), (joint**2).sum(axis=0)
    return np.asarray(np.sqrt(np.divide(rest, total, out=np.zeros_like(rest), where=total > 0.0)))
