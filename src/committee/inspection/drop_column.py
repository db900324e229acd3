"""Importance of features by leaving them out: the model is fitted again without each, on the same folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.model_selection import check_cv

from committee.base import resolve_seed, seed_estimator
from committee.data.rows import count_rows, select_rows
from committee.exceptions import DataError
from committee.inspection.importance import Importance, name_columns
from committee.inspection.model_access import read_row_weights
from committee.scoring import choose_score

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["drop_column_importance"]


def drop_column_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    scoring: Any = None,
    cv: Any = 5,
    sample_weight: Any = None,
    random_state: Any = None,
) -> Importance:
    r"""How much worse a model predicts held-out rows when it is fitted without a feature.

    In each fold the model is fitted with all features, and anew without each of them; a measurement is the difference
    of the two scores. Other than under permutation, the model may make up for a feature by others that tell the same.
    Trees and forests of this library share one set of bins: a fold is a vector of weights over it, and a table without
    a column is put together from the bytes of the others.

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
        Seed of the randomness that all fits share.

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
    table = X if hasattr(X, "shape") else np.asarray(X)
    target = np.asarray(y)
    n_rows, n_features = count_rows(table), int(table.shape[1])
    if len(target) != n_rows:
        raise DataError(f"X and y must have the same number of rows; got {n_rows} and {len(target)}.")
    if n_features < 2:
        raise DataError("Leaving out a feature needs at least two features; X has one.")
    weights = read_row_weights(sample_weight, n_rows)
    fresh = seed_estimator(clone(model), resolve_seed(random_state), 0)
    folds = list(check_cv(cv, target, classifier=is_classifier(model)).split(table, target))
    fit = _SharedFits(fresh, table, target, weights) if _can_share(fresh) else _PlainFits(fresh, table, target, weights)
    scores = np.empty((n_features + 1, len(folds)))
    for left_out in range(-1, n_features):
        columns = None if left_out < 0 else np.delete(np.arange(n_features), left_out)
        fit.leave_out(left_out)
        for k, (train, test) in enumerate(folds):
            fitted = fit.on(train)
            score = choose_score(model, scoring, target[test], None if weights is None else weights[test])
            scores[left_out + 1, k] = score(fitted, select_rows(table, test, columns))
    names = [str(name) for name in table.columns] if hasattr(table, "columns") else name_columns(model, n_features)
    return Importance("drop column", scores[0] - scores[1:], names, float(scores[0].mean()))


def _can_share(model: Any) -> bool:
    return all(hasattr(model, name) for name in ("fit_dataset", "weigh_rows", "_take_in", "max_bins"))


class _PlainFits:
    """Fits of any estimator on rows and columns of its own."""

    def __init__(self, model: Any, X: Any, y: NDArray[Any], weights: FloatArray | None) -> None:
        self._model, self._X, self._y, self._weights = model, X, y, weights
        self._columns: NDArray[np.intp] | None = None

    def leave_out(self, feature: int) -> None:
        """Go on without a feature; -1 for none."""
        n_features = int(self._X.shape[1])
        self._columns = None if feature < 0 else np.delete(np.arange(n_features), feature)

    def on(self, rows: NDArray[np.intp]) -> Any:
        """A fresh model fitted on some rows."""
        more = {} if self._weights is None else {"sample_weight": self._weights[rows]}
        return clone(self._model).fit(select_rows(self._X, rows, self._columns), self._y[rows], **more)


class _SharedFits:
    """Fits of estimators of ours on one set of bins; rows that are not trained on weigh nothing."""

    def __init__(self, model: Any, X: Any, y: NDArray[Any], weights: FloatArray | None) -> None:
        model._validate_params()
        self._model = model
        self._whole = model._take_in(X, y, None)
        self._whole.binned(model.max_bins)
        self._weights = np.ones(len(y)) if weights is None else weights
        self._dataset = self._whole

    def leave_out(self, feature: int) -> None:
        """Go on without a feature; -1 for none."""
        self._dataset = self._whole if feature < 0 else self._whole.without(feature)

    def on(self, rows: NDArray[np.intp]) -> Any:
        """A fresh model fitted on some rows."""
        own = np.zeros(len(self._weights))
        own[rows] = self._weights[rows]
        dataset, model = self._dataset, clone(self._model)
        more = {"sample_weight": own} if hasattr(model, "bootstrap") else {}
        return model.fit_dataset(dataset.reweighted(model.weigh_rows(dataset.target, own)), **more)
