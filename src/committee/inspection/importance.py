"""Importance of features: by impurity, by permutation, out of bag, by Shapley values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy.sparse import issparse

from committee.base import resolve_seed
from committee.data.block_mapping import enter_cluster
from committee.data.blocks.opened import OpenedSource
from committee.data.opening import open_table
from committee.engines import get_engine
from committee.engines.tree_model import present_trees
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.inspection.model_access import Response, TreeResponse, make_response, read_row_weights
from committee.inspection.partition_importance import open_partitions, score_shuffles
from committee.inspection.resampling import check_count
from committee.inspection.shap import name_features, shap_values
from committee.scoring import KnownProbabilities, KnownValues, choose_score

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from committee.params import RandomState
    from committee.scoring import KnownPredictions
    from committee.typing import EstimatorLike, FloatArray, FloatMatrix

__all__ = [
    "Importance",
    "impurity_importance",
    "name_columns",
    "oob_importance",
    "permutation_importance",
    "shap_importance",
]


@dataclass(frozen=True)
class Importance:
    """Importance of each feature, in several measurements.

    Attributes
    ----------
    kind : str
        The kind of importance.
    importances : ndarray of shape (n_features, n_measurements)
        The measurements: trees, repeats, folds or rows.
    feature_names : list of str
        Names of the features.
    baseline : float or None
        Score of the unchanged model, if importance is a decrease of the score.
    p_values : ndarray of shape (n_features,) or None
        p-values of the hypothesis that a feature has no importance, if it was tested.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import impurity_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> found = impurity_importance(RandomForestClassifier(n_estimators=20, random_state=0).fit(X, y))
    >>> found.kind, found.importances.shape, found.importances_mean.shape
    ('impurity', (4, 20), (4,))
    """

    kind: str
    importances: FloatArray
    feature_names: list[str]
    baseline: float | None = None
    p_values: FloatArray | None = None

    @property
    def importances_mean(self) -> FloatArray:
        """Mean over the measurements."""
        return np.asarray(self.importances.mean(axis=1))

    @property
    def importances_std(self) -> FloatArray:
        """Standard deviation over the measurements."""
        return np.asarray(self.importances.std(axis=1))

    def rank(self) -> NDArray[np.intp]:
        """Numbers of the features, the most important first.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        return np.argsort(-self.importances_mean, kind="stable")


def impurity_importance(model: EstimatorLike) -> Importance:
    r"""Mean decrease of impurity by the splits on each feature, tree by tree.

    In a tree, the importance of a feature is the weighted decrease of impurity summed over its splits, relative to the
    sum over all splits [Breiman1984]; in an ensemble it is the mean over the trees that have a split. The mean over the
    measurements is ``feature_importances_``. It is biased towards features of many values, see `oob_importance`.

    Parameters
    ----------
    model : fitted estimator
        A tree or forest, or any estimator with ``estimators_`` that are trees, or with ``feature_importances_``.

    Returns
    -------
    Importance
        A measurement is a tree.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import impurity_importance
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> found = impurity_importance(RandomForestClassifier(random_state=0).fit(X, y))
    >>> found.importances.shape, found.feature_names[found.rank()[0]] in X.columns[2:]
    ((4, 100), True)
    """
    importances = None if isinstance(model, type) else getattr(model, "feature_importances_", None)
    per_tree = _list_tree_importances(model)
    if per_tree is None:
        if importances is None:
            raise ParameterTypeError(
                f"The 'model' argument must be a fitted estimator made of trees; got {type(model).__name__}."
            )
        per_tree = np.asarray(importances, dtype=np.float64)[None, :]
    totals = per_tree.sum(axis=1, keepdims=True)
    split = totals[:, 0] > 0.0
    relative = per_tree[split] / totals[split] if split.any() else per_tree[:1]
    return Importance("impurity", np.ascontiguousarray(relative.T), name_columns(model, per_tree.shape[1]))


def _list_tree_importances(model: EstimatorLike) -> FloatArray | None:
    """The decrease of impurity by each tree, of shape (n_trees, n_features)."""
    if isinstance(model, type):
        return None
    own = vars(model).get("_importances") if hasattr(model, "__dict__") else None
    if own is None:
        own = getattr(vars(model).get("_members"), "importances", None) if hasattr(model, "__dict__") else None
    if own is not None:
        dense = own.toarray() if issparse(own) else own
        found, schema = np.atleast_2d(np.asarray(dense, dtype=np.float64)), vars(model).get("_schema")
        return found if schema is None else np.asarray(schema.sum_features(found, axis=1))
    members = getattr(model, "estimators_", None)
    if members is None or hasattr(model, "estimators_features_"):
        return None
    flat = [tree for tree in np.asarray(members, dtype=object).ravel() if hasattr(tree, "feature_importances_")]
    importances = np.array([tree.feature_importances_ for tree in flat], dtype=np.float64)
    # Single trees of gradient boosting have none of their own (NaN); the model has them.
    return importances if flat and not np.isnan(importances).any() else None


def name_columns(model: EstimatorLike, n_features: int) -> list[str]:
    """The names of the columns that a model of any library was fitted on, or numbered ones."""
    names = getattr(model, "feature_names_in_", None)
    return [f"Feature {k}" for k in range(n_features)] if names is None else [str(name) for name in names]


def permutation_importance(
    model: EstimatorLike,
    X: Any,
    y: Any,
    *,
    scoring: str | Callable[..., float] | None = None,
    n_repeats: int = 5,
    sample_weight: ArrayLike | str | None = None,
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> Importance:
    r"""Decrease of a fitted model's score when the values of a feature are shuffled among the rows [Breiman2001].

    With :math:`s` the score on the unchanged rows and :math:`s_{jk}` that after the :math:`k`-th shuffle of feature
    :math:`j`, the measurements are :math:`s - s_{jk}`. On held-out rows the importance is that for new data; on
    training rows it includes what the model has overfitted.

    The p-value is that of the permutation test, :math:`(1 + \#\{k: s_{jk} \ge s\})/(1 + K)`: if the feature carried no
    information, the unchanged rows would be one of :math:`K + 1` equivalent shuffles [PhipsonSmyth2010].

    For trees of this library, the leaf of every row in every tree is found once; for a shuffled feature, only rows
    whose path has a split on it are traversed again, from that split on.

    A table in partitions (a Dask or Ray collection, a Parquet file or folder, a list of tables) is predicted where its
    partitions are, on its cluster or inside `committee.cluster`. The values of a shuffled feature travel to the driver
    and back, since a row gets the value of any other row, and predictions travel to the driver; rows do not. The
    result is that of the whole table in memory.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : table
        Rows to predict, preferably not the training rows; in memory or in partitions.
    y : array-like or str
        The target, or the name of its column in X.
    scoring : str, callable or None
        A scorer of scikit-learn; by default accuracy or R².
    n_repeats : int, default=5
        Number of shuffles of each feature, K.
    sample_weight : array-like of shape (n_rows,) or str, optional
        Weights of the rows in the score, or the name of their column in X.
    random_state : int, RandomState, Generator or None
        Seed of the shuffles.
    n_jobs : int or None
        Number of threads, for trees of this library.

    Returns
    -------
    Importance
        A measurement is a shuffle.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import permutation_importance
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(600, 3))
    >>> forest = RandomForestRegressor(n_estimators=30, random_state=0).fit(X[:400], 3 * X[:400, 0] + X[:400, 1])
    >>> found = permutation_importance(forest, X[400:], 3 * X[400:, 0] + X[400:, 1], random_state=0)
    >>> found.rank().tolist()
    [0, 1, 2]
    """
    n_repeats, seed = check_count("n_repeats", n_repeats, 1), resolve_seed(random_state)
    table, target, weights = open_table(X, y, sample_weight)
    if not isinstance(table, OpenedSource):
        response = make_response(model, table, n_jobs=n_jobs)
        score = _make_score(model, scoring, target, weights, response.n_rows)
        shuffled = _shuffle_features(model, table, response, n_repeats, seed)
        scored = ((feature, [score(*shuffle) for shuffle in shuffles]) for feature, shuffles in shuffled)
        return _measure_decrease(scored, response.names, n_repeats)
    try:
        with enter_cluster(table.source):
            parts = open_partitions(model, table, n_jobs)
            score = _make_score(model, scoring, target, weights, table.n_rows)
            draw = partial(_draw_orders, table.n_rows, n_repeats, seed)
            return _measure_decrease(score_shuffles(parts, score, draw, n_repeats), parts.names, n_repeats)
    finally:
        if table is not X:
            table.source.close()


def _make_score(
    model: EstimatorLike, scoring: str | Callable[..., float] | None, y: Any, sample_weight: Any, n_rows: int
) -> Callable[[Any, Any], float]:
    target = np.asarray(y)
    if target.shape[:1] != (n_rows,):
        raise DataError(f"X and y must have the same number of rows; got {n_rows} and a y of shape {target.shape}.")
    return choose_score(model, scoring, target, read_row_weights(sample_weight, n_rows))


def _measure_decrease(scored: Iterable[tuple[int, list[float]]], names: list[str], n_repeats: int) -> Importance:
    """What the scores of shuffles are below that of the rows as they are, which comes first."""
    baseline, scores = np.nan, np.empty((len(names), n_repeats))
    for feature, found in scored:
        if feature < 0:
            (baseline,) = found
        else:
            scores[feature] = found
    p_values = (1.0 + (scores >= baseline).sum(axis=1)) / (1.0 + n_repeats)
    return Importance("permutation", baseline - scores, names, float(baseline), p_values)


def _draw_orders(n_rows: int, n_repeats: int, seed: int, feature: int) -> NDArray[np.uint32]:
    """For each shuffle of a feature the row that each row has its value from."""
    rng = np.random.default_rng([seed, feature])
    return np.stack([rng.permutation(n_rows) for _ in range(n_repeats)]).astype(np.uint32)


def _shuffle_features(
    model: EstimatorLike, X: Any, response: Response, n_repeats: int, seed: int
) -> Iterator[tuple[int, Iterable[tuple[Any, Any]]]]:
    """For each feature an estimator and its X for each shuffle; before them, as feature -1, for the rows as they are.

    Where the predictions are found by the engine, the estimator holds them and X is the row numbers.
    """
    draw = partial(_draw_orders, response.n_rows, n_repeats, seed)
    if isinstance(response, TreeResponse):
        trees = response.model
        classes = getattr(model, "classes_", None)

        def hold(raw: FloatArray) -> tuple[KnownPredictions, NDArray[np.intp]]:
            predictions = response.apply_link_to_all(raw)
            known = KnownValues(predictions) if classes is None else KnownProbabilities(classes, predictions)
            return known, known.rows

        yield -1, [hold(trees.sum_trees(response.rows, response.n_jobs))]
        combination = (trees.combine, trees.tree_weights, trees.slots, trees.width)
        study = get_engine().PermutationStudy(trees.trees, response.rows, *combination, response.n_jobs)
        for feature in range(len(response.names)):
            features, orders = trees.schema.list_features(feature), draw(feature)
            if len(features) == 1:
                raw = study.predict(features[0], orders)
                raw = raw if trees.baseline is None else raw + trees.baseline
            else:  # of a date or a list, all features are shuffled together
                shuffles = (_shuffle_together(response.rows, features, order) for order in orders)
                raw = np.stack([trees.sum_trees(rows, response.n_jobs) for rows in shuffles])
            yield feature, [hold(own) for own in raw]
        return
    table = X if hasattr(X, "iloc") or hasattr(X, "columns") else np.asarray(X)
    yield -1, [(model, table)]
    for feature in range(len(response.names)):
        yield feature, ((model, _shuffle_column(table, feature, order)) for order in draw(feature))


def _shuffle_together(rows: FloatMatrix, features: list[int], order: NDArray[np.uint32]) -> FloatMatrix:
    """A copy of an encoded table with some of its features in another order, the same for all of them."""
    changed: FloatMatrix = rows.copy()
    changed[:, features] = rows[order][:, features]
    return changed


def _shuffle_column(table: Any, feature: int, order: NDArray[np.uint32]) -> Any:
    """A copy of a table with the values of one column in another order."""
    if hasattr(table, "set_column"):  # PyArrow
        return table.set_column(feature, table.column_names[feature], table.column(feature).take(order))
    if hasattr(table, "with_columns"):  # Polars
        return table.with_columns(table.to_series(feature)[order])
    changed = table.copy()
    if hasattr(changed, "iloc"):
        changed.isetitem(feature, table.iloc[:, feature].to_numpy()[order])
    else:
        changed[:, feature] = table[order, feature]
    return changed


def oob_importance(
    model: Any,
    X: Any,
    y: Any,
    *,
    kind: Literal["permutation", "impurity"] = "permutation",
    sample_weight: ArrayLike | None = None,
    n_repeats: int = 5,
) -> Importance:
    r"""Importance by the out-of-bag rows of a forest; no held-out rows are needed.

    Parameters
    ----------
    model : fitted forest
        With bootstrap samples that leave rows out.
    X, y, sample_weight
        As they were passed to `fit`: the out-of-bag rows of a tree are known by their position.
    kind : {"permutation", "impurity"}
        "permutation": increase of each tree's loss (misclassification rate, squared error) when a feature is shuffled
        among its out-of-bag rows [Breiman2001]; the p-value is the fraction of shuffles, plus one, that do not increase
        it. "impurity": the decrease of impurity measured on these rows (MDI-oob), without the bias towards features of
        many values [Li2019].
    n_repeats : int, default=5
        Number of shuffles of each feature in each tree.

    Returns
    -------
    Importance

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import oob_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> int(oob_importance(forest, X, y).rank()[0]) in (2, 3)
    True
    """
    if not hasattr(model, "oob_permutation_importance"):
        raise ParameterTypeError(f"Out-of-bag importance is for forests only; got {type(model).__name__}.")
    if kind == "permutation":
        n_repeats = check_count("n_repeats", n_repeats, 1)
        increase = model.oob_permutation_importance(X, y, sample_weight, n_repeats).importances
        p_values = (1.0 + (increase <= 0.0).sum(axis=1)) / (1.0 + n_repeats)
        return Importance("oob permutation", increase, name_columns(model, len(increase)), None, p_values)
    if kind != "impurity":
        raise ParameterError(f"The 'kind' argument must be 'permutation' or 'impurity'; got {kind!r}.")
    decrease = model.oob_impurity_importance(X, y, sample_weight)
    return Importance("oob impurity", decrease[:, None], name_columns(model, len(decrease)))


def shap_importance(
    model: EstimatorLike, X: Any, *, background: object = None, n_jobs: int | None = None
) -> Importance:
    r"""Mean absolute Shapley value of each feature over the rows, :math:`\frac1n \sum_i |\phi_j(x^{(i)})|`.

    Parameters
    ----------
    model : fitted estimator
        Made of trees of this library.
    X : table
        Rows to explain.
    background : table, optional
        As in `shap_values`.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    Importance
        A measurement is a row; with several outputs (classes) it is the mean over them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> from committee.inspection import shap_importance
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(random_state=0).fit(X, y)
    >>> int(shap_importance(forest, X).rank()[0]) in (2, 3)
    True
    """
    names = name_features(present_trees(model).schema)
    absolute = np.abs(shap_values(model, X, background=background, n_jobs=n_jobs).values)
    absolute = absolute.mean(axis=2) if absolute.ndim == 3 else absolute
    return Importance("shap", np.ascontiguousarray(absolute.T), names)
