"""Estimators of this library that hold trees of others."""

from __future__ import annotations

from dataclasses import dataclass
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from committee.data import Schema
from committee.data.sampling import SamplePlan
from committee.exceptions import DataError, ModelFileError
from committee.io.checks import check_instance
from committee.io.readers.node_tables import refuse_file
from committee.io.registry import find_estimator
from committee.losses import LossFunction

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.engines import Trees
    from committee.typing import AnyArray, FloatArray, IndexArray

__all__ = ["ForeignColumns", "hold_boosted", "hold_forest"]


@dataclass(frozen=True)
class ForeignColumns:
    """The columns of a model of another library.

    Attributes
    ----------
    library : str
        For sentences.
    n_columns : int
        Their number.
    names : sequence of str or None
        Their names, if it keeps them.
    categories : dict
        By number of the column, the levels of a category.
    """

    library: str
    n_columns: int
    names: Sequence[str] | None
    categories: dict[int, AnyArray]

    def make_schema(self) -> Schema:
        """The same in the form of this library."""
        names = None if self.names is None else tuple(str(name) for name in self.names)
        if names is not None and (len(names) != self.n_columns or len(set(names)) < len(names)):
            raise refuse_file(self.library, "the names of its columns are not one for each")
        levels = tuple(self.categories.get(k) for k in range(self.n_columns))
        return Schema(self.n_columns, names, levels, np.dtype(np.float64))


def _list_columns(columns: ForeignColumns) -> dict[str, Any]:
    schema = columns.make_schema()
    fitted: dict[str, Any] = {"_schema": schema, "n_features_in_": schema.n_features}
    if schema.feature_names is not None:
        fitted["feature_names_in_"] = np.asarray(schema.feature_names, dtype=object)
    return fitted


def _read_classes(columns: ForeignColumns, n_classes: int, classes: ArrayLike | None) -> AnyArray:
    if classes is None:
        return np.arange(n_classes)
    labels = np.asarray(classes)
    if labels.shape != (n_classes,):
        raise DataError(f"The model has {n_classes} classes; got {labels.size} labels.")
    if len(np.unique(labels)) < n_classes or not np.array_equal(np.sort(labels), labels):
        raise DataError("The labels of the classes must differ and be in ascending order.")
    return labels


def _fill(name: str, params: dict[str, Any], fitted: dict[str, Any], library: str) -> Any:
    """An estimator with fitted attributes, after the checks that files pass."""
    kind = find_estimator(name)
    assert kind is not None
    model = kind(**params)
    model.__dict__.update(fitted, imported_from_=library)
    try:
        check_instance(model)
    except ModelFileError as error:
        raise refuse_file(library, str(error).rstrip(".")) from error
    return model


def hold_boosted(
    columns: ForeignColumns,
    trees: Trees,
    loss: str,
    baseline: FloatArray,
    *,
    slots: IndexArray | None = None,
    gains: FloatArray | None = None,
    classes: ArrayLike | None = None,
) -> Any:
    """A boosted model with the trees of another library.

    Parameters
    ----------
    columns : ForeignColumns
        Of the table.
    trees : Trees
        All trees, whose values are summed.
    loss : str
        Whose inverse link turns scores into predictions.
    baseline : ndarray of shape (n_scores,)
        What the sum starts from.
    slots : ndarray of shape (n_trees,), optional
        The score that each tree adds to; by default all of them.
    gains : ndarray of shape (n_features,), optional
        By column.
    classes : array-like, optional
        Labels of the classes of a classifier; by default numbers.
    """
    n_scores, is_class = len(baseline), loss in ("logistic", "exponential", "softmax")
    n_rounds = trees.n_trees if trees.width > 1 else max(1, trees.n_trees // n_scores)
    fitted: dict[str, Any] = {
        **_list_columns(columns),
        "n_outputs_": 1 if is_class else n_scores,
        "_trees": trees,
        "_slots": np.zeros(trees.n_trees, np.uint32) if slots is None else np.asarray(slots, dtype=np.uint32),
        "_baseline": np.asarray(baseline, dtype=np.float64),
        "_loss": LossFunction(loss, nan, n_scores),
        "_gains": np.zeros(columns.n_columns) if gains is None else gains,
        "n_iter_": n_rounds,
        "n_trees_per_iteration_": 1 if trees.width > 1 else n_scores,
        "do_early_stopping_": False,
        "train_score_": np.zeros(0),
        "validation_score_": np.zeros(0),
        "is_categorical_": None,
        "_seed": 0,
    }
    if not is_class:
        return _fill("HistGradientBoostingRegressor", {"max_iter": n_rounds}, fitted, columns.library)
    n_classes = 2 if n_scores == 1 else n_scores
    if n_scores == 2:
        raise refuse_file(columns.library, "it has two scores for two classes, of which one would do")
    fitted |= {"classes_": _read_classes(columns, n_classes, classes), "n_classes_": n_classes}
    return _fill("HistGradientBoostingClassifier", {"max_iter": n_rounds}, fitted, columns.library)


def hold_forest(
    columns: ForeignColumns,
    trees: Trees,
    importances: FloatArray,
    n_rows: int,
    classes: Sequence[AnyArray] | None,
) -> Any:
    """A forest with the trees of another library, whose leaves hold what is averaged.

    Parameters
    ----------
    columns : ForeignColumns
        Of the table.
    trees : Trees
        All trees.
    importances : ndarray of shape (n_trees, n_features)
        By tree and column.
    n_rows : int
        Training rows.
    classes : list of ndarray or None
        Labels of the classes of each output.
    """
    fitted: dict[str, Any] = {
        **_list_columns(columns),
        "_trees": trees,
        "_importances": importances,
        "_seed": 0,
        # Which rows each tree was grown on is not known.
        "_samples": SamplePlan(n_rows, n_rows, replace=False),
        "n_outputs_": trees.width if classes is None else len(classes),
    }
    if classes is None:
        return _fill(
            "RandomForestRegressor", {"n_estimators": trees.n_trees, "bootstrap": False}, fitted, columns.library
        )
    single = len(classes) == 1
    fitted["classes_"] = classes[0] if single else list(classes)
    fitted["n_classes_"] = len(classes[0]) if single else np.array([len(own) for own in classes])
    return _fill("RandomForestClassifier", {"n_estimators": trees.n_trees, "bootstrap": False}, fitted, columns.library)
