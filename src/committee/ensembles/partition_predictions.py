"""Predictions for tables that are elsewhere: lazy and distributed on Dask, Ray and Spark, block by block otherwise.

A function beside the estimators rather than their `predict`: that one is called with single rows as well, and looking
for collections of other libraries would cost a tenth of its time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from committee.base import not_fitted_error
from committee.data.frames import find_frame
from committee.data.sources import is_source, open_blocks
from committee.data.sources.dask_source import is_dask
from committee.data.sources.ray_source import is_ray
from committee.engines.tree_model import present_trees
from committee.exceptions import DataTypeError, ParameterError
from committee.inspection.shap import name_features, name_outputs, shap_values

if TYPE_CHECKING:
    from collections.abc import Iterator

    from committee.typing import AnyArray

__all__ = ["PartitionMethod", "PartitionPredictor", "predict_partitions"]

PartitionMethod: TypeAlias = Literal[
    "predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "shap_values"
]
"""What is computed for each row."""
_METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function", "score_samples", "shap_values")


def predict_partitions(model: Any, X: Any, method: PartitionMethod = "predict") -> Any:
    """Predictions or explanations for a table in partitions, computed where the partitions are.

    Nothing is computed until the result is needed: the model is sent to the workers, and rows do not travel.

    Parameters
    ----------
    model : fitted estimator
        Of this library, with one output.
    X : dask.dataframe.DataFrame, dask.array.Array, ray.data.Dataset, pyspark DataFrame, path, or other table in blocks
        Rows to predict; columns that the model was not fitted on are left out.
    method : str, default="predict"
        ``"predict"``, ``"predict_proba"``, ``"predict_log_proba"``, ``"decision_function"``, ``"score_samples"`` or
        ``"shap_values"``, as far as the model has it.

    Returns
    -------
    Dask data frame or array, Ray data set, Spark data frame, or iterator of arrays
        Of the kind of X, with a row for each row of X in the same order; a Dask data frame keeps the index. The
        columns are ``prediction``, ``probability_<class>``, ``log_probability_<class>``, ``decision`` or
        ``decision_<class>``, ``score``, or for Shapley values the features (and ``<feature>_<class>``) and ``base``.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import DecisionTreeClassifier, predict_partitions
    >>> X = np.arange(6.0).reshape(6, 1)
    >>> tree = DecisionTreeClassifier().fit(X, [0, 0, 0, 1, 1, 1])
    >>> [part.tolist() for part in predict_partitions(tree, [X[:2], X[2:]])]
    [[0, 0], [0, 1, 1, 1]]
    """
    if method not in _METHODS:
        raise ParameterError(
            f"The 'method' of predict_partitions must be one of {', '.join(_METHODS)}; got {method!r}."
        )
    if method != "shap_values" and not hasattr(model, method):
        raise ParameterError(f"{type(model).__name__} has no {method!r} for predict_partitions.")
    predictor = PartitionPredictor(model, method)
    if is_dask(X) and not isinstance(X, list | tuple):
        return _predict_dask(predictor, X)
    if is_ray(X):
        answers = X.map_batches(predictor.to_arrow, batch_format="pyarrow", batch_size=None, zero_copy_batch=True)
        # Otherwise blocks come in the order in which they are ready, and answers are matched with rows by their places.
        answers.context.execution_options.preserve_order = True
        return answers
    if hasattr(X, "mapInArrow"):
        return X.mapInArrow(predictor.stream_batches, predictor.spark_schema())
    if is_source(X):
        return _predict_blocks(predictor, X)
    raise DataTypeError(
        "predict_partitions takes tables in partitions: Dask, Ray and Spark collections, paths and lists of tables; "
        f"got {type(X).__name__}. Call {method!r} of the model for a table in memory."
    )


@dataclass(frozen=True)
class PartitionPredictor:
    """A model and what is asked of it, for one partition at a time; travels to the workers.

    Attributes
    ----------
    model : fitted estimator
        The model.
    method : str
        As in `predict_partitions`.
    """

    model: Any
    method: str

    def predict(self, table: Any) -> AnyArray:
        """The predictions of a table, of shape (n_rows,) or (n_rows, n_columns)."""
        names = _list_inputs(self.model)
        frame = None if names is None or isinstance(table, np.ndarray) else find_frame(table)
        if frame is not None and list(frame.columns) != names:
            table = frame.select(*[name for name in names or () if name in frame.columns]).to_native()
        n_rows = int(table.shape[0])
        columns, dtype = self.name_columns(), self.find_dtype()
        if n_rows == 0:  # partitions may be empty, predictions of nothing are refused
            return np.empty(0 if self.is_flat() else (0, len(columns)), dtype=dtype)
        if self.method != "shap_values":
            return np.asarray(getattr(self.model, self.method)(table))
        found = shap_values(self.model, table)
        values = found.values.reshape(n_rows, -1)
        return np.hstack([values, found.base_values.reshape(n_rows, -1)])

    def is_flat(self) -> bool:
        """Whether there is one number a row, without a second axis."""
        one = len(self.name_columns()) == 1
        return self.method in ("predict", "score_samples") or (self.method == "decision_function" and one)

    def name_columns(self) -> list[str]:
        """The names of the columns of predictions."""
        model, classes = self.model, getattr(self.model, "classes_", None)
        if isinstance(classes, list) or getattr(model, "n_outputs_", 1) != 1:
            raise DataTypeError(f"predict_partitions is for one output; {type(model).__name__} was fitted on several.")
        if self.method == "predict":
            return ["prediction"]
        if self.method == "score_samples":
            return ["score"]
        if self.method == "shap_values":
            return _name_shap(model)
        if self.method == "decision_function":
            return ["decision"] if classes is None or len(classes) == 2 else [f"decision_{c}" for c in classes]
        assert classes is not None
        prefix = "probability" if self.method == "predict_proba" else "log_probability"
        return [f"{prefix}_{c}" for c in classes]

    def find_dtype(self) -> Any:
        """The type of the predictions."""
        if self.method != "predict":
            return np.dtype(np.float64)
        classes = getattr(self.model, "classes_", None)
        if classes is not None:
            return np.asarray(classes).dtype
        return np.dtype(np.int64 if hasattr(self.model, "score_samples") else np.float64)

    def to_frame(self, table: Any) -> Any:
        """The predictions of a pandas table as a frame with its index; as a series if there is one number a row."""
        import pandas as pd

        values, columns = self.predict(table), self.name_columns()
        if self.is_flat():
            return pd.Series(values, index=table.index, name=columns[0])
        return pd.DataFrame(values, index=table.index, columns=columns)

    def to_arrow(self, table: Any) -> Any:
        """The predictions of an Arrow table as one."""
        import pyarrow as pa

        values, columns = self.predict(table), self.name_columns()
        values = values.reshape(len(values), -1)
        return pa.table({name: np.ascontiguousarray(values[:, k]) for k, name in enumerate(columns)})

    def stream_batches(self, batches: Iterator[Any]) -> Iterator[Any]:
        """The same for the batches of a Spark partition."""
        import pyarrow as pa

        for batch in batches:
            yield from self.to_arrow(pa.Table.from_batches([batch])).to_batches()

    def spark_schema(self) -> str:
        """The columns as Spark declares them."""
        kind = {"f": "double", "i": "bigint", "u": "bigint", "b": "boolean"}.get(self.find_dtype().kind, "string")
        return ", ".join(f"`{name}` {kind}" for name in self.name_columns())


def _name_shap(model: Any) -> list[str]:
    trees = present_trees(model)
    features, outputs = name_features(trees.schema), name_outputs(model, trees)
    if trees.width == 1:
        return [*features, "base"]
    named = outputs or [str(k) for k in range(trees.width)]
    return [f"{feature}_{one}" for feature in features for one in named] + [f"base_{one}" for one in named]


def _list_inputs(model: Any) -> list[str] | None:
    """Names of the columns that the model was fitted on."""
    if not getattr(model, "__sklearn_is_fitted__", lambda: True)():
        raise not_fitted_error(model)
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def _predict_partition(table: Any, predictor: PartitionPredictor) -> Any:
    return predictor.predict(table) if isinstance(table, np.ndarray) else predictor.to_frame(table)


def _predict_dask(predictor: PartitionPredictor, X: Any) -> Any:
    import dask

    columns, dtype = predictor.name_columns(), predictor.find_dtype()
    # As a task of its own the predictor is sent to each worker once.
    sent = dask.delayed(predictor, pure=True)
    if hasattr(X, "columns"):
        import pandas as pd

        index = X._meta.index
        if predictor.is_flat():
            meta: Any = pd.Series(np.empty(0, dtype=dtype), index=index[:0], name=columns[0])
        else:
            meta = pd.DataFrame(np.empty((0, len(columns)), dtype=dtype), index=index[:0], columns=columns)
        return X.map_partitions(_predict_partition, sent, meta=meta)
    whole = X.rechunk({1: -1})
    parts = [dask.delayed(_predict_partition)(part, sent) for part in whole.to_delayed().ravel()]
    import dask.array as da

    shapes = [(length,) if predictor.is_flat() else (length, len(columns)) for length in whole.chunks[0]]
    return da.concatenate([da.from_delayed(p, shape, dtype=dtype) for p, shape in zip(parts, shapes, strict=True)])


def _predict_blocks(predictor: PartitionPredictor, X: Any) -> Iterator[AnyArray]:
    source = open_blocks(X, lambda table: find_frame(table).to_arrow())
    try:
        for block in range(source.n_blocks):
            yield predictor.predict(source.load(block, None))
    finally:
        source.close()
