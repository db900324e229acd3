"""Effects that partial dependence does not tell: local ones, where features are correlated, and interactions."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import Bunch

from committee.base import resolve_seed
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, ParameterError
from committee.inspection.model_access import Response, TreeResponse, find_features, make_response, read_row_weights
from committee.inspection.resampling import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["Interactions", "accumulated_local_effects", "friedman_h"]


def accumulated_local_effects(
    model: Any,
    X: Any,
    feature: Any,
    *,
    grid_resolution: int = 40,
    sample_weight: Any = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    n_jobs: int | None = None,
) -> Bunch:
    r"""How predictions change as a feature changes a little, added up over its range [ApleyZhu2020].

    Partial dependence puts values into rows that they never occur with, if features are correlated. Here the range of
    the feature is cut into bins :math:`(z_{k-1}, z_k]` of about equally many rows, and within a bin only its own rows
    are moved, from one edge to the other:

    .. math::

        g(z_k) = \sum_{l \le k} \frac1{n_l} \sum_{i:\, x_i \in (z_{l-1}, z_l]}
            \bigl(f(z_l, x_C^{(i)}) - f(z_{l-1}, x_C^{(i)})\bigr),

    centred so that its mean over the rows is zero. A category is moved to its neighbours in the order of its levels.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows whose predictions are looked at. Those in which the feature is missing are left out.
    feature : int or str
        Number or name of the feature.
    grid_resolution : int, default=40
        Most bins of a number.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    response_method : {"auto", "predict_proba", "decision_function"}
        What classifiers are asked for.
    n_jobs : int or None
        Threads, for trees of this library.

    Returns
    -------
    Bunch
        ``average``, the effect, of shape (n_outputs, n_points); ``grid_values``, a list with the points (edges of the
        bins, or levels); ``weights``, the weight of the rows in each bin, or at each level.

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
    known = ~np.isnan(values) & (weights > 0.0)
    if not known.any():
        raise DataError(f"Feature {response.names[number]!r} has no value that is not missing.")
    levels = response.levels(number)
    if levels is None:
        edges, curve, own = _accumulate_bins(response, number, values, np.where(known, weights, 0.0), grid_resolution)
        return Bunch(average=curve, grid_values=[edges], weights=own)
    codes, curve, own = _accumulate_levels(response, number, values, np.where(known, weights, 0.0))
    return Bunch(average=curve, grid_values=[levels[codes.astype(np.intp)]], weights=own)


def _accumulate_bins(
    response: Response, feature: int, values: FloatArray, weights: FloatArray, n_bins: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Edges, curve (output, edge) and the weight of each bin. Edges are values that occur: no bin is empty."""
    counted = weights > 0.0
    shares = np.linspace(0.0, 1.0, n_bins + 1)
    edges = np.unique(np.quantile(values[counted], shares, method="inverted_cdf"))
    if len(edges) == 1:
        return edges, np.zeros((response.answer().shape[1], 1)), np.array([weights.sum()])
    bins = np.clip(np.searchsorted(edges, values, side="left"), 1, len(edges) - 1)
    rises = response.answer_with(feature, edges[bins]) - response.answer_with(feature, edges[bins - 1])
    own = _add_up(bins - 1, weights, len(edges) - 1)
    curve = _sum_up(rises, bins - 1, weights, own)
    middles = (curve[:, 1:] + curve[:, :-1]) / 2.0
    return edges, curve - (middles @ own / own.sum())[:, None], own


def _accumulate_levels(
    response: Response, feature: int, values: FloatArray, weights: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Codes of the levels that occur, curve (output, level) and the weight of each level.

    A step between two neighbours is seen by the rows of both.
    """
    counted = weights > 0.0
    codes = np.unique(values[counted])
    place = np.searchsorted(codes, np.where(counted, values, codes[0]))
    own = _add_up(place, weights, len(codes))
    if len(codes) == 1:
        return codes, np.zeros((response.answer().shape[1], 1)), own
    here = response.answer_with(feature, codes[place])
    up = response.answer_with(feature, codes[np.minimum(place + 1, len(codes) - 1)]) - here
    down = here - response.answer_with(feature, codes[np.maximum(place - 1, 0)])
    rises, steps = np.concatenate([up, down]), np.concatenate([place, place - 1])
    both = np.concatenate([weights, weights])
    both[(steps < 0) | (steps >= len(codes) - 1)] = 0.0
    steps = np.clip(steps, 0, len(codes) - 2)
    curve = _sum_up(rises, steps, both, _add_up(steps, both, len(codes) - 1))
    return codes, curve - (curve @ own / own.sum())[:, None], own


def _add_up(places: NDArray[np.intp], weights: FloatArray, n_places: int) -> FloatArray:
    """Weight at each place."""
    return np.bincount(places, weights, minlength=n_places).astype(np.float64)


def _sum_up(rises: FloatArray, bins: NDArray[np.intp], weights: FloatArray, totals: FloatArray) -> FloatArray:
    """Mean rise of each bin, added up from zero, of shape (n_outputs, n_bins + 1)."""
    means = [_add_up(bins, weights * rise, len(totals)) / totals for rise in rises.T]
    return np.concatenate([np.zeros((len(means), 1)), np.cumsum(means, axis=1)], axis=1)


@dataclass(frozen=True)
class Interactions:
    """How much features act together, by Friedman's H; arrays have a row for each output.

    Attributes
    ----------
    features : list of int
        The features looked at, by number.
    feature_names : list of str
        Their names.
    total : ndarray of shape (n_outputs, n_features)
        H of each of them with all others together.
    pairs : list of tuple of two int
        Pairs of them, by number.
    pairwise : ndarray of shape (n_outputs, n_pairs)
        H of each pair.
    """

    features: list[int]
    feature_names: list[str]
    total: FloatArray
    pairs: list[tuple[int, int]]
    pairwise: FloatArray


def friedman_h(
    model: Any,
    X: Any,
    features: Any = None,
    *,
    method: Literal["auto", "brute", "traversal"] = "auto",
    max_rows: int = 200,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Interactions:
    r"""Friedman's H: which share of the effect of features is due to their acting together [FriedmanPopescu2008].

    With :math:`\bar f_S` the partial dependence on the features in :math:`S`, centred over the rows,

    .. math::

        H_{jk}^2 = \frac{\sum_i \bigl(\bar f_{jk}(x^{(i)}) - \bar f_j(x^{(i)}) - \bar f_k(x^{(i)})\bigr)^2}
            {\sum_i \bar f_{jk}(x^{(i)})^2}, \qquad
        H_j^2 = \frac{\sum_i \bigl(f(x^{(i)}) - \bar f_j(x^{(i)}) - \bar f_{-j}(x^{(i)})\bigr)^2}
            {\sum_i f(x^{(i)})^2}.

    0 means that the effects add up, 1 that there is nothing but their acting together. Where a pair has next to no
    effect at all, H is a ratio of two small numbers and says little.

    Parameters
    ----------
    model : fitted estimator
        Of this library, or for brute force of any other.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows at which, and over which by brute force, the dependence is looked at.
    features : sequence of int or str, optional
        Features to look at, by default all.
    method : {"auto", "brute", "traversal"}
        How partial dependence is found, see `partial_dependence`. "auto" traverses trees whose average is of what was
        asked for.
    max_rows : int, default=200
        If X has more rows, so many of them are drawn: brute force asks for the square of their number.
    response_method : {"auto", "predict_proba", "decision_function"}
        What classifiers are asked for.
    random_state : int, RandomState, Generator or None
        Seed of the draw.
    n_jobs : int or None
        Threads, for trees of this library.

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
    response = make_response(model, X, response_method=response_method, n_jobs=n_jobs)
    n_features = len(response.names)
    numbers = list(range(n_features)) if features is None else find_features(response, features)
    depend = _Dependence(response, _choose_traversal(response, method))
    singles = {j: depend.on([j]) for j in numbers}
    pairs = list(combinations(numbers, 2))
    pairwise = [_compare(depend.on([j, k]), singles[j] + singles[k]) for j, k in pairs]
    answer = response.answer()
    whole = answer - answer.mean(axis=0)
    total = []
    for j in numbers:
        others = [k for k in range(n_features) if k != j]
        total.append(_compare(whole, singles[j] + (depend.on(others) if others else 0.0)))
    names = [response.names[j] for j in numbers]
    by_pair = np.array(pairwise).reshape(len(pairs), answer.shape[1]).T
    return Interactions(numbers, names, np.array(total).T, pairs, by_pair)


@dataclass(frozen=True)
class _Dependence:
    """Partial dependence at the rows of a table, centred over them."""

    response: Response
    traverses: bool

    def on(self, features: Sequence[int]) -> FloatArray:
        points = np.stack([self.response.column(f) for f in features], axis=1)
        if self.traverses:
            assert isinstance(self.response, TreeResponse)
            means = self.response.traverse_at(features, points)
        else:
            means = self.response.average_at(features, points, None)
        return means - means.mean(axis=0)  # type: ignore[no-any-return]


def _choose_traversal(response: Response, method: str) -> bool:
    if method not in ("auto", "brute", "traversal"):
        raise ParameterError(f"The 'method' argument must be 'auto', 'brute' or 'traversal'; got {method!r}.")
    straight = isinstance(response, TreeResponse) and (response.raw or response.model.link == "identity")
    if method == "traversal" and not straight:
        raise ParameterError(
            "method='traversal' averages the raw score of trees of this library; use method='brute', or "
            "response_method='decision_function' with boosted trees."
        )
    return straight and method != "brute"


def _compare(joint: FloatArray, apart: FloatArray) -> FloatArray:
    """H of each output; 0 where there is no effect at all."""
    rest, all_of_it = ((joint - apart) ** 2).sum(axis=0), (joint**2).sum(axis=0)
    return np.sqrt(np.divide(rest, all_of_it, out=np.zeros_like(rest), where=all_of_it > 0.0))  # type: ignore[no-any-return]
