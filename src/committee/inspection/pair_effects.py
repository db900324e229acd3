"""Second-order accumulated local effects: the interaction of two features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.ndimage import distance_transform_edt
from sklearn.utils import Bunch

from committee.data.dates import to_dates
from committee.data.inputs import DATE_KINDS
from committee.exceptions import DataError, ParameterError
from committee.inspection.model_access import find_features, make_response, read_row_weights
from committee.inspection.resampling import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from committee.inspection.model_access import FeatureKey
    from committee.typing import EstimatorLike, FloatArray

__all__ = ["accumulated_pair_effects"]


def accumulated_pair_effects(
    model: EstimatorLike,
    X: Any,
    features: Sequence[FeatureKey],
    *,
    grid_resolution: int = 20,
    sample_weight: ArrayLike | None = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    n_jobs: int | None = None,
) -> Bunch:
    r"""Accumulated local effect of two numeric features together, minus their single effects [ApleyZhu2020].

    The plane of the two features is divided into cells, and the rows of a cell :math:`(l, m)` are moved to its four
    corners:

    .. math:: \Delta_{lm} = f(z_l, w_m) - f(z_{l-1}, w_m) - f(z_l, w_{m-1}) + f(z_{l-1}, w_{m-1}),

    averaged over the rows (an empty cell gets the mean of the nearest one), and summed over all cells to the lower
    left. The remaining single effects of the two features are then subtracted, and the mean over the rows. Features
    with additive effects have zero everywhere.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows to evaluate the model on. Rows in which one of the two features is missing are left out.
    features : pair of int or str
        Numbers or names of two numeric features.
    grid_resolution : int, default=20
        Maximum number of bins of each feature.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows.
    response_method : {"auto", "predict_proba", "decision_function"}
        The output of classifiers that is explained.
    n_jobs : int or None
        Number of threads, for trees of this library.

    Returns
    -------
    Bunch
        ``average``, the effect, of shape (n_outputs, n_edges, n_other_edges); ``grid_values``, a list of the edges of
        both; ``weights``, the weight of the rows in each cell.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import HistGradientBoostingRegressor
    >>> from committee.inspection import accumulated_pair_effects
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> model = HistGradientBoostingRegressor(random_state=0).fit(X, X[:, 0] * X[:, 1] + X[:, 2])
    >>> together, apart = (accumulated_pair_effects(model, X, pair)["average"] for pair in ((0, 1), (0, 2)))
    >>> bool(np.abs(together).max() > 2 * np.abs(apart).max())
    True
    """
    response = make_response(model, X, response_method=response_method, n_jobs=n_jobs)
    numbers = find_features(response, features)
    if len(numbers) != 2:
        raise ParameterError(f"The 'features' argument must be two features; got {features!r}.")
    n_bins = check_count("grid_resolution", grid_resolution, 1)
    given = read_row_weights(sample_weight, response.n_rows)
    weights = np.ones(response.n_rows) if given is None else given
    columns = [response.column(number) for number in numbers]
    for number in numbers:
        if response.categories(number) is not None:
            raise DataError(f"Feature {response.names[number]!r} is a category; pair effects need numeric features.")
    counted = np.isfinite(columns[0]) & np.isfinite(columns[1]) & (weights > 0.0)
    if not counted.any():
        raise DataError("No row has a value of both features.")
    edges, bins = zip(*(_find_bins(column, counted, n_bins) for column in columns), strict=True)
    rises = np.zeros(())
    for first in (0, 1):
        for second in (0, 1):
            corner = [edges[0][bins[0] + first], edges[1][bins[1] + second]]
            sign = 1.0 if first == second else -1.0
            rises = rises + sign * response.predict_with_all(numbers, corner)
    shape = (len(edges[0]) - 1, len(edges[1]) - 1)
    cells = (bins[0] * shape[1] + bins[1])[counted]
    n_cells = shape[0] * shape[1]
    own = np.bincount(cells, weights[counted], minlength=n_cells).astype(np.float64).reshape(shape)
    effects = []
    for rise in rises[counted].T:
        sums = np.bincount(cells, weights[counted] * rise, minlength=n_cells).astype(np.float64).reshape(shape)
        effects.append(_accumulate(_fill_empty(sums, own), own))
    axes = zip(numbers, edges, strict=True)
    shown = [to_dates(axis) if response.kind(number) in DATE_KINDS else axis for number, axis in axes]
    return Bunch(average=np.array(effects), grid_values=shown, weights=own)


def _find_bins(values: FloatArray, counted: NDArray[np.bool_], n_bins: int) -> tuple[FloatArray, NDArray[np.intp]]:
    """Edges of bins with about equally many rows, and the bin of each row, upper edge included."""
    quantiles = np.linspace(0.0, 1.0, n_bins + 1)
    edges = np.unique(np.quantile(values[counted], quantiles, method="inverted_cdf"))
    if len(edges) == 1:
        edges = np.repeat(edges, 2)
    known = np.where(counted, values, edges[0])
    return edges, np.clip(np.searchsorted(edges, known, side="left") - 1, 0, len(edges) - 2)


def _fill_empty(sums: FloatArray, weights: FloatArray) -> FloatArray:
    """Mean of each cell; an empty one gets that of the nearest, by distance in cells."""
    empty = weights == 0.0
    means = np.divide(sums, weights, out=np.zeros_like(sums), where=~empty)
    if not empty.any():
        return means
    nearest = distance_transform_edt(empty, return_distances=False, return_indices=True)
    return np.asarray(means[tuple(nearest)])


def _accumulate(steps: FloatArray, weights: FloatArray) -> FloatArray:
    """Sum of the steps to the lower left, minus the single effects of both axes, centred over the rows."""
    surface = np.zeros((steps.shape[0] + 1, steps.shape[1] + 1))
    surface[1:, 1:] = steps.cumsum(axis=0).cumsum(axis=1)
    single = []
    for turned, own in ((surface, weights), (surface.T, weights.T)):
        differences = np.diff(turned, axis=0)
        middles = (differences[:, 1:] + differences[:, :-1]) / 2.0
        # Every bin of a feature has rows, because its edges are values that occur.
        single.append(np.r_[0.0, np.cumsum((middles * own).sum(axis=1) / own.sum(axis=1))])
    surface = surface - single[0][:, None] - single[1][None, :]
    corners = (surface[1:, 1:] + surface[:-1, 1:] + surface[1:, :-1] + surface[:-1, :-1]) / 4.0
    return np.asarray(surface - (corners * weights).sum() / weights.sum())
