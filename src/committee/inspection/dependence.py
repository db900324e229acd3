"""Partial dependence: the mean prediction of a model as a few features vary [Friedman2001]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.stats.mstats import mquantiles
from sklearn.utils import Bunch

from committee.constraints import show_value
from committee.data.dates import read_array_times, to_dates
from committee.data.inputs import DATE_KINDS
from committee.exceptions import DataError, ParameterError
from committee.inspection.model_access import Response, TreeResponse, find_features, make_response, read_row_weights
from committee.inspection.resampling import check_count
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike

    from committee.inspection.model_access import FeatureKey
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["partial_dependence"]


def partial_dependence(
    model: EstimatorLike,
    X: Any,
    features: FeatureKey | Sequence[FeatureKey],
    *,
    sample_weight: ArrayLike | None = None,
    response_method: Literal["auto", "predict_proba", "decision_function"] = "auto",
    percentiles: tuple[float, float] = (0.05, 0.95),
    grid_resolution: int = 100,
    custom_values: Mapping[Any, Sequence[Any] | AnyArray] | None = None,
    method: Literal["auto", "brute", "recursion", "traversal"] = "auto",
    kind: Literal["average", "individual", "both"] = "average",
    n_jobs: int | None = None,
) -> Bunch:
    r"""Partial dependence: the mean prediction over all other features as one or two features vary.

    With :math:`x_S` the features of interest and :math:`x_C` the others,

    .. math:: \bar f_S(x_S) = \frac1n \sum_{i=1}^n f\bigl(x_S, x_C^{(i)}\bigr)

    by brute force. For trees the *weighted traversal* needs no data: at a split on a feature outside :math:`S` both
    children are visited, in proportion to their training weights [Friedman2001, section 8.2]. For trees of this library
    the engine does the brute force too: a row traverses a tree once for all points of the grid.

    Parameters
    ----------
    model : fitted estimator
        Of this library; for brute force, of any library.
    X : array-like or data frame of shape (n_rows, n_features)
        Rows to average over; their values define the grid.
    features : int, str, or sequence of one or two of them
        The features of interest, by number or name.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows in the average, for brute force.
    response_method : {"auto", "predict_proba", "decision_function"}
        The output of classifiers that is explained. The weighted traversal averages the raw score.
    percentiles : tuple of two numbers, default=(0.05, 0.95)
        The first and the last point of the grid.
    grid_resolution : int, default=100
        Points along each feature. Features with fewer distinct values, and categories, have a point for each value.
    custom_values : mapping from feature to values, optional
        Points in place of the grid; of a date, dates.
    method : {"auto", "brute", "recursion", "traversal"}
        "traversal" ("recursion" in scikit-learn) is what "auto" selects for averages over trees, if there are no
        weights and the output is additive.
    kind : {"average", "individual", "both"}
        Averages, curves of each row (ICE, by brute force), or both.
    n_jobs : int or None
        Number of threads, for trees of this library.

    Returns
    -------
    Bunch
        With scikit-learn's keys: ``average`` of shape (n_outputs, len(grid_values[0]), ...), ``individual`` of shape
        (n_outputs, n_rows, len(grid_values[0]), ...), and ``grid_values``. For two classes the
        output is that of the second.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import partial_dependence
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X, y)
    >>> found = partial_dependence(forest, X, "bmi", grid_resolution=5)
    >>> bool(found["average"][0, -1] > found["average"][0, 0])
    True
    >>> partial_dependence(forest, X, ("bmi", "s5"), kind="both", grid_resolution=4)["individual"].shape
    (1, 442, 4, 4)
    """
    if kind not in ("average", "individual", "both"):
        raise ParameterError(f"The 'kind' argument must be 'average', 'individual' or 'both'; got {kind!r}.")
    response = make_response(model, X, response_method=response_method, n_jobs=n_jobs)
    weights = read_row_weights(sample_weight, response.n_rows)
    traversal = _choose_method(response, method, kind, response_method, weights)
    numbers = find_features(response, features)
    custom = _match_custom(response, custom_values)
    axes = [_make_grid_axis(response, f, percentiles, grid_resolution, custom.get(f)) for f in numbers]
    points = np.stack([axis.ravel() for axis in np.meshgrid(*axes, indexing="ij")], axis=1)
    sizes = [len(axis) for axis in axes]
    found = Bunch(grid_values=[_decode_axis(response, f, a) for f, a in zip(numbers, axes, strict=True)])
    if kind != "individual":
        if traversal:
            assert isinstance(response, TreeResponse)
            average = response.traverse_at(numbers, points)
        else:
            average = response.average_at(numbers, points, weights)
        found["average"] = average.T.reshape(-1, *sizes)
    if kind != "average":
        curves = response.predict_at(numbers, points)
        found["individual"] = curves.transpose(2, 0, 1).reshape(-1, response.n_rows, *sizes)
    return found


def _choose_method(
    response: Response, method: str, kind: str, response_method: str, weights: FloatArray | None
) -> bool:
    """Whether to use the weighted traversal."""
    if method not in ("auto", "brute", "recursion", "traversal"):
        raise ParameterError(
            f"The 'method' argument must be 'auto', 'brute', 'recursion' or 'traversal'; got {method!r}."
        )
    if method == "brute":
        return False
    additive = isinstance(response, TreeResponse) and (response.raw or response.model.link == "identity")
    if method == "auto":
        return additive and kind == "average" and weights is None
    if not isinstance(response, TreeResponse):
        raise ParameterError(f"method={method!r} is for trees of this library; use method='brute'.")
    if kind != "average":
        raise ParameterError(f"method={method!r} gives averages only; use method='brute' for the curves of rows.")
    if weights is not None:
        raise ParameterError(f"method={method!r} takes the training weights; leave 'sample_weight' out or use 'brute'.")
    if not additive and response_method == "predict_proba":
        raise ParameterError(f"method={method!r} averages the raw score; use response_method='decision_function'.")
    return True


def _match_custom(
    response: Response, custom_values: Mapping[Any, Sequence[Any] | AnyArray] | None
) -> dict[int, Sequence[Any] | AnyArray]:
    if not custom_values:
        return {}
    return dict(zip(find_features(response, list(custom_values)), custom_values.values(), strict=True))


def _make_grid_axis(
    response: Response,
    feature: int,
    percentiles: tuple[float, float],
    grid_resolution: int,
    custom: Sequence[Any] | AnyArray | None,
) -> FloatArray:
    """Points along one feature, as scikit-learn chooses them; codes for categories."""
    if custom is not None:
        return _read_custom(response, feature, custom)
    check_count("grid_resolution", grid_resolution, 2)
    allowed = "two rising numbers in [0, 1]"
    ends = read_doubles(percentiles, "The 'percentiles' argument", allowed)
    if ends.shape != (2,) or not 0.0 <= ends[0] < ends[1] <= 1.0:
        raise ParameterError(f"The 'percentiles' argument must be {allowed}; got {show_value(percentiles)}.")
    values = response.column(feature)
    values = values[np.isfinite(values)]
    distinct = np.unique(values)
    if not len(distinct):
        raise DataError(f"Feature {response.names[feature]!r} has no value that is not missing.")
    if response.categories(feature) is not None or len(distinct) < grid_resolution:
        return distinct
    ends = np.asarray(mquantiles(values, prob=percentiles))
    if np.allclose(ends[0], ends[1]):
        raise ParameterError(
            f"The percentiles of feature {response.names[feature]!r} are equal; choose some that are further apart."
        )
    return np.linspace(ends[0], ends[1], num=grid_resolution, endpoint=True)


def _read_custom(response: Response, feature: int, custom: Sequence[Any] | AnyArray) -> FloatArray:
    categories, name = response.categories(feature), response.names[feature]
    if response.kind(feature) in DATE_KINDS:
        values = _read_custom_dates(custom, name)
    elif categories is None:
        values = np.asarray(custom, dtype=np.float64)
    else:
        codes = {category: code for code, category in enumerate(categories.tolist())}
        unknown = [value for value in custom if value not in codes]
        if unknown:
            raise ParameterError(f"Feature {name!r} has no category {unknown[0]!r}, which 'custom_values' has.")
        values = np.array([codes[value] for value in custom], dtype=np.float64)
    if values.ndim != 1 or not len(values):
        raise ParameterError(f"The 'custom_values' of feature {name!r} must be a list of at least one value.")
    return values


def _read_custom_dates(custom: Sequence[Any] | AnyArray, name: str) -> FloatArray:
    """Seconds of dates that are given as dates, as text in ISO format, or in seconds."""
    values = np.asarray(custom)
    if values.dtype.kind in "fiu":
        return values.astype(np.float64)
    try:
        return read_array_times(values.astype("M8[us]"), f"feature {name!r}")[1]
    except (TypeError, ValueError):
        raise ParameterError(f"The 'custom_values' of feature {name!r} must be dates; got {custom!r}.") from None


def _decode_axis(response: Response, feature: int, axis: FloatArray) -> AnyArray:
    if response.kind(feature) in DATE_KINDS:
        return to_dates(axis)
    categories = response.categories(feature)
    return axis if categories is None else categories[axis.astype(np.intp)]
