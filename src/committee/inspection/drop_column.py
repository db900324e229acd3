"""Drop-column importance: the model is fitted again without each feature, on the same folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor

from committee.base import resolve_seed, seed_estimator
from committee.constraints import show_value
from committee.data.folds import plan_folds
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError, ParameterTypeError
from committee.inspection.importance import Importance, name_columns
from committee.inspection.model_access import read_row_weights
from committee.scoring import choose_score

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from committee.params import CrossValidation, RandomState
    from committee.typing import AnyArray, EstimatorLike, FloatArray

__all__ = ["drop_column_importance"]


def drop_column_importance(
    model: EstimatorLike,
    X: Any,
    y: Any,
    *,
    scoring: str | Callable[..., float] | None = None,
    cv: CrossValidation = 5,
    sample_weight: ArrayLike | None = None,
    random_state: RandomState = None,
) -> Importance:
    r"""Decrease of the score on held-out rows when a model is fitted without a feature.

    In each fold the model is fitted with all features and again without each of them; a measurement is the difference
    of the two scores. Unlike under permutation, the model can replace a feature by others that carry the same
    information. Trees and forests of this library share one set of bins: a fold is a vector of row weights, and a table
    without a column is made from the bins of the others.

    Parameters
    ----------
    model : estimator
        Is cloned, not changed; it need not be fitted.
    X, y : table and target
        All rows.
    scoring : str, callable or None
        A scorer of scikit-learn; by default accuracy or R².
    cv : int, splitter or iterable of (training rows, test rows), default=5
        The folds, as in scikit-learn.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of the rows, in fits and scores.
    random_state : int, RandomState, Generator or None
        Seed that all fits share.

    Returns
    -------
    Importance
        A measurement is a fold; ``baseline`` is the mean score with all features.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import drop_column_importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 3))
    >>> forest = RandomForestRegressor(n_estimators=20)
    >>> found = drop_column_importance(forest, X, 3 * X[:, 0] + X[:, 1], random_state=0)
    >>> found.rank().tolist()
    [0, 1, 2]
    """
    if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
        raise ParameterTypeError(f"drop_column_importance fits an estimator that predicts; got {show_value(model)}.")
    try:
        table, target = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
    except ValueError:
        raise DataError("X and y must be arrays whose rows have the same lengths.") from None
    if len(table.shape) != 2:
        raise DataError(f"X must have two axes, rows and features; got shape {tuple(table.shape)}.")
    n_rows, n_features = count_rows(table), int(table.shape[1])
    if target.shape[:1] != (n_rows,):
        raise DataError(f"X and y must have the same number of rows; got {n_rows} and a y of shape {target.shape}.")
    if n_features < 2:
        raise DataError("Leaving out a feature needs at least two features; X has one.")
    weights = read_row_weights(sample_weight, n_rows)
    fresh = seed_estimator(clone(model), resolve_seed(random_state), 0)
    classify, subject = is_classifier(model), "The 'cv' argument of drop_column_importance"
    folds = plan_folds(cv, table, target, None, classify, subject=subject)
    fits = (
        _SharedBinFits(fresh, table, target, weights)
        if _shares_bins(fresh)
        else _TableFits(fresh, table, target, weights)
    )
    scores = np.empty((n_features + 1, len(folds)))
    for dropped in range(-1, n_features):
        columns = None if dropped < 0 else np.delete(np.arange(n_features), dropped)
        fits.drop_column(dropped)
        for k, (train, test) in enumerate(folds):
            fitted = fits.fit_rows(train)
            score = choose_score(model, scoring, target[test], None if weights is None else weights[test])
            scores[dropped + 1, k] = score(fitted, select_rows(table, test, columns))
    names = [str(name) for name in table.columns] if hasattr(table, "columns") else name_columns(model, n_features)
    return Importance("drop column", scores[0] - scores[1:], names, float(scores[0].mean()))


def _shares_bins(model: EstimatorLike) -> bool:
    """Whether a model is a tree or forest of this library."""
    if not (is_classifier(model) or is_regressor(model)):  # ranks, times of events, or no target at all
        return False
    return all(hasattr(model, name) for name in ("fit_dataset", "weigh_rows", "take_in", "max_bins"))


class _TableFits:
    """Fits of any estimator on selected rows and columns of the table."""

    def __init__(self, model: EstimatorLike, X: Any, y: AnyArray, weights: FloatArray | None) -> None:
        self._model, self._X, self._y, self._weights = model, X, y, weights
        self._columns: NDArray[np.intp] | None = None

    def drop_column(self, feature: int) -> None:
        """Fit without a feature from now on; -1 for all features."""
        n_features = int(self._X.shape[1])
        self._columns = None if feature < 0 else np.delete(np.arange(n_features), feature)

    def fit_rows(self, rows: NDArray[np.intp]) -> EstimatorLike:
        """A clone fitted on some rows."""
        kwargs = {} if self._weights is None else {"sample_weight": self._weights[rows]}
        fitted: EstimatorLike = clone(self._model).fit(
            select_rows(self._X, rows, self._columns), self._y[rows], **kwargs
        )
        return fitted


class _SharedBinFits:
    """Fits of trees and forests of this library on one set of bins; rows outside the training fold have weight zero."""

    def __init__(self, model: Any, X: Any, y: AnyArray, weights: FloatArray | None) -> None:
        model.validate_params()
        self._model = model
        self._whole = model.take_in(X, y, None)
        self._whole.binned(model.max_bins)
        self._weights = np.ones(len(y)) if weights is None else weights
        self._dataset = self._whole

    def drop_column(self, feature: int) -> None:
        """Fit without a feature from now on; -1 for all features."""
        self._dataset = self._whole if feature < 0 else self._whole.without(feature)

    def fit_rows(self, rows: NDArray[np.intp]) -> EstimatorLike:
        """A clone fitted on some rows."""
        own = np.zeros(len(self._weights))
        own[rows] = self._weights[rows]
        dataset, model = self._dataset, clone(self._model)
        kwargs = {"sample_weight": own} if hasattr(model, "bootstrap") else {}
        fitted: EstimatorLike = model.fit_dataset(dataset.reweighted(model.weigh_rows(dataset.target, own)), **kwargs)
        return fitted
