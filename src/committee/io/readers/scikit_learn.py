"""`from_sklearn`: trees, forests and gradient boosting of scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor
from sklearn.utils.validation import check_is_fitted

from committee.exceptions import ParameterTypeError
from committee.io.readers.fitted_models import ForeignColumns, hold_boosted, hold_forest
from committee.io.readers.node_tables import NodeTable, make_arena, make_leaf_table, refuse_file, round_thresholds

if TYPE_CHECKING:
    from committee.typing import AnyArray, FloatArray

__all__ = ["from_sklearn"]

_NAME = "scikit-learn"
_TREES = (DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeClassifier, ExtraTreeRegressor)
_FORESTS = (RandomForestClassifier, RandomForestRegressor, ExtraTreesClassifier, ExtraTreesRegressor)
_BOOSTED = (GradientBoostingClassifier, GradientBoostingRegressor)
_HIST = (HistGradientBoostingClassifier, HistGradientBoostingRegressor)


def from_sklearn(model: Any) -> Any:
    """A tree, forest or boosted model of scikit-learn as a fitted estimator of this library.

    Trees and forests give the bits of scikit-learn's predictions (with ``n_jobs=1``, where it adds the trees in
    order), boosting those of its raw scores; its probabilities and means agree to 1e-14 relative, since the
    exponentials differ. scikit-learn rounds values to float32 for all but histogram boosting; thresholds are chosen so
    that doubles are decided the same way. Refused: ``init`` estimators, and categories of histogram boosting.

    Parameters
    ----------
    model : fitted estimator
        A decision tree, extra-tree, random forest, extra-trees, or (histogram) gradient boosting.

    Returns
    -------
    RandomForestClassifier, RandomForestRegressor, HistGradientBoostingClassifier or HistGradientBoostingRegressor
        Predicts, explains, is saved and exported as one that was fitted here; fitting it again forgets the trees.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee.io import from_sklearn
    >>> X, y = load_iris(return_X_y=True)
    >>> theirs = RandomForestClassifier(10, random_state=0).fit(X, y)
    >>> bool((from_sklearn(theirs).predict_proba(X) == theirs.predict_proba(X)).all())
    True
    """
    kind = type(model)
    if kind not in (*_TREES, *_FORESTS, *_BOOSTED, *_HIST):
        raise ParameterTypeError(
            "The 'model' argument must be a tree, forest or gradient boosting of scikit-learn; got "
            f"{kind.__name__} of {kind.__module__.partition('.')[0]}."
        )
    check_is_fitted(model)
    names = getattr(model, "feature_names_in_", None)
    columns = ForeignColumns(_NAME, int(model.n_features_in_), None if names is None else list(names), {})
    if kind in _HIST:
        return _read_hist(model, columns)
    return _read_boosted(model, columns) if kind in _BOOSTED else _read_forest(model, columns)


def _read_forest(model: Any, columns: ForeignColumns) -> Any:
    trees = [model] if isinstance(model, _TREES) else list(model.estimators_)
    sizes: list[int] | None = None
    classes: list[AnyArray] | None = None
    if hasattr(model, "classes_"):
        classes = list(model.classes_) if model.n_outputs_ > 1 else [model.classes_]
        sizes = [len(own) for own in classes]
    tables = [_read_tree(tree.tree_, _join_values(tree.tree_.value, sizes)) for tree in trees]
    importances = np.stack([tree.tree_.compute_feature_importances(normalize=False) for tree in trees])
    arena = make_arena(_NAME, tables, columns.n_columns, tables[0].value.shape[1])
    n_rows = int(max(tree.tree_.n_node_samples[0] for tree in trees))
    return hold_forest(columns, arena, importances, n_rows, classes)


def _join_values(value: AnyArray, sizes: list[int] | None) -> FloatArray:
    """What leaves add, side by side: shares of the classes of each output, or values."""
    if sizes is None:
        return np.asarray(value[:, :, 0], dtype=np.float64)
    return np.concatenate([value[:, k, :size] for k, size in enumerate(sizes)], axis=1)


def _read_tree(tree: Any, value: FloatArray) -> NodeTable:
    missing = getattr(tree, "missing_go_to_left", None)
    return NodeTable(
        np.asarray(tree.children_left),
        np.asarray(tree.children_right),
        np.asarray(tree.feature),
        round_thresholds(tree.threshold, inclusive=True),
        np.zeros(tree.node_count, bool) if missing is None else np.asarray(missing, dtype=bool),
        value,
        np.asarray(tree.weighted_n_node_samples, dtype=np.float64),
        np.asarray(tree.n_node_samples),
    )


def _read_boosted(model: Any, columns: ForeignColumns) -> Any:
    start = _read_start(model)
    n_scores, rate = model.estimators_.shape[1], float(model.learning_rate)
    first = model.estimators_[0, 0].tree_
    weight, count = float(first.weighted_n_node_samples[0]), int(first.n_node_samples[0])
    tables = [make_leaf_table(start[k : k + 1], weight, count) for k in range(n_scores)]
    for regressor in model.estimators_.ravel():
        tables.append(_read_tree(regressor.tree_, rate * regressor.tree_.value[:, :, 0]))
    gains = sum(tree.tree_.compute_feature_importances(normalize=False) for tree in model.estimators_.ravel())
    slots = np.arange(len(tables), dtype=np.uint32) % np.uint32(n_scores)
    loss = "squared_error"
    if hasattr(model, "classes_"):
        loss = "exponential" if model.loss == "exponential" else "logistic" if n_scores == 1 else "softmax"
    arena = make_arena(_NAME, tables, columns.n_columns, 1)
    classes = getattr(model, "classes_", None)
    return hold_boosted(
        columns, arena, loss, np.zeros(n_scores), slots=slots, gains=np.asarray(gains, float), classes=classes
    )


def _read_start(model: Any) -> FloatArray:
    """The scores before the first tree, which are the same for every row unless another estimator gives them."""
    init = model.init_
    if not isinstance(init, str) and type(init).__name__ not in ("DummyClassifier", "DummyRegressor"):
        raise refuse_file(_NAME, f"it starts from a {type(init).__name__} (parameter 'init')")
    rows = np.zeros((1, model.n_features_in_), dtype=np.float32)
    return np.asarray(model._raw_predict_init(rows), dtype=np.float64).reshape(-1)


def _read_hist(model: Any, columns: ForeignColumns) -> Any:
    if model.is_categorical_ is not None and np.any(model.is_categorical_):
        raise refuse_file(_NAME, "it has categorical features, whose columns it puts into another order")
    start = np.asarray(model._baseline_prediction, dtype=np.float64).reshape(-1)
    n_scores = len(start)
    rounds = [predictor.nodes for each in model._predictors for predictor in each]
    count = int(rounds[0]["count"][0]) if rounds else 1
    tables = [make_leaf_table(start[k : k + 1], float(count), count) for k in range(n_scores)]
    gains = np.zeros(columns.n_columns)
    for nodes in rounds:
        is_leaf = nodes["is_leaf"].astype(bool)
        np.add.at(gains, nodes["feature_idx"][~is_leaf].astype(int), np.maximum(nodes["gain"][~is_leaf], 0.0))
        tables.append(
            NodeTable(
                np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
                np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
                nodes["feature_idx"].astype(np.int64),
                nodes["num_threshold"].astype(np.float64),
                nodes["missing_go_to_left"].astype(bool),
                nodes["value"].astype(np.float64).reshape(-1, 1),
                nodes["count"].astype(np.float64),
                nodes["count"].astype(np.int64),
            )
        )
    loss = "squared_error"
    if hasattr(model, "classes_"):
        loss = "logistic" if n_scores == 1 else "softmax"
    elif model.loss in ("poisson", "gamma"):
        loss = model.loss
    slots = np.arange(len(tables), dtype=np.uint32) % np.uint32(n_scores)
    arena = make_arena(_NAME, tables, columns.n_columns, 1)
    classes = getattr(model, "classes_", None)
    return hold_boosted(columns, arena, loss, np.zeros(n_scores), slots=slots, gains=gains, classes=classes)
