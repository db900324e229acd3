"""Predictions of a model with some features replaced: by the engine for trees, by `predict` for any other model."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast

import numpy as np
from sklearn.base import is_classifier

from committee.base import resolve_jobs
from committee.constraints import show_value
from committee.data.dates import compute_part, read_array_times, to_dates
from committee.data.inputs import DATE_KINDS
from committee.data.intake import take_in_rows
from committee.engines import get_engine
from committee.engines.tree_model import TreeModel
from committee.exceptions import DataError, ParameterError, ParameterTypeError
from committee.losses import apply_exp, apply_sigmoid, apply_softmax
from committee.value_checks import read_doubles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from committee.base import CommitteeEstimator
    from committee.typing import AnyArray, EstimatorLike, FloatArray, FloatMatrix, IndexArray

    #: A feature by its number or name.
    FeatureKey: TypeAlias = int | str | np.integer[Any]

__all__ = [
    "AnyResponse",
    "Response",
    "TreeResponse",
    "find_features",
    "find_tree_response",
    "make_response",
    "read_row_weights",
]


class Response(Protocol):
    """A fitted model and a table; predictions are of shape (n_rows, n_outputs)."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        ...

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers: codes of a categorical feature, NaN for missing values."""
        ...

    def categories(self, feature: int) -> AnyArray | None:
        """The categories of a feature in the order of their codes; None for a numeric feature."""
        ...

    def kind(self, feature: int) -> str:
        """What a feature holds, a key of `committee.data.inputs.KINDS`."""
        ...

    def predict(self) -> FloatArray:
        """Predictions for the rows of the table."""
        ...

    def predict_with(self, feature: int, values: FloatArray) -> FloatArray:
        """Predictions with other values of a feature, one for each row."""
        ...

    def predict_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """Predictions with other values of several features."""
        ...

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean prediction over the rows at each point of some features, of shape (n_points, n_outputs)."""
        ...

    def predict_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Prediction of each row at each point, of shape (n_rows, n_points, n_outputs)."""
        ...


@dataclass(frozen=True)
class TreeResponse:
    """A model made of this library's trees.

    Attributes
    ----------
    model : TreeModel
        The trees.
    rows : ndarray
        The table in the form that the trees read.
    classifies : bool
        Whether it is a classifier; for two classes the predictions are those of the second, as in scikit-learn.
    raw : bool
        Whether predictions are raw, before the link.
    n_jobs : int
        The engine's number of threads.
    """

    model: TreeModel
    rows: FloatMatrix
    classifies: bool
    raw: bool
    n_jobs: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return self.model.schema.name_inputs("{}")

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers."""
        if self.kind(feature) in ("list", "text"):
            held = "text, whose topics are" if self.kind(feature) == "text" else "lists, which are"
            raise DataError(f"Feature {self.names[feature]!r} holds {held} no values of one axis.")
        return self.rows[:, self.model.schema.list_features(feature)[0]].astype(np.float64)

    def categories(self, feature: int) -> AnyArray | None:
        """The categories of a feature; None for a numeric feature."""
        return self.model.schema.categories[self.model.schema.list_features(feature)[0]]

    def kind(self, feature: int) -> str:
        """What a feature holds, a key of `committee.data.inputs.KINDS`."""
        inputs = self.model.schema.inputs
        return "number" if inputs is None else inputs.kinds[feature]

    def predict(self) -> FloatArray:
        """Predictions for the rows of the table."""
        return self._apply_link(self.model.sum_trees(self.rows, self.n_jobs))

    def predict_with(self, feature: int, values: FloatArray) -> FloatArray:
        """Predictions with other values of a feature."""
        return self.predict_with_all([feature], [values])

    def predict_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """Predictions with other values of several features."""
        changed = np.array(self.rows)
        for feature, own in zip(*self._expand(features, values), strict=True):
            changed[:, feature] = own
        return self._apply_link(self.model.sum_trees(changed, self.n_jobs))

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean prediction over the rows at each point."""
        return self._average(*self._expand_points(features, points), weights)

    def predict_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Prediction of each row at each point."""
        return self._apply_link(self._sum_at(*self._expand_points(features, points), None, individual=True))

    def traverse_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Mean raw prediction at each point by the training weights of the trees; the rows are not used."""
        return self._traverse(*self._expand_points(features, points))

    def average_at_rows(self, features: Sequence[int], *, traversal: bool) -> FloatArray:
        """Mean prediction at the values that each row has of some features, over the rows or by training weights."""
        columns = [own for feature in features for own in self.model.schema.list_features(feature)]
        at = np.asarray(columns, dtype=np.uint32), np.ascontiguousarray(self.rows[:, columns], dtype=np.float64)
        return self._traverse(*at) if traversal else self._average(*at, None)

    def _average(self, columns: IndexArray, points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean prediction over the rows at points of the encoded table."""
        if self._is_linear:
            return self._apply_link(self._sum_at(columns, points, weights, individual=False))
        each = self._apply_link(self._sum_at(columns, points, None, individual=True))
        return np.average(each, axis=0, weights=weights)

    def _traverse(self, columns: IndexArray, points: FloatArray) -> FloatArray:
        model = self.model
        raw = get_engine().average_by_weight(
            model.trees,
            columns,
            points,
            model.combine,
            model.tree_weights,
            model.slots,
            model.width,
            self.n_jobs,
        )
        return self._select_class(raw if model.baseline is None else raw + model.baseline)

    def apply_link_to_all(self, raw: FloatArray) -> FloatArray:
        """Predictions from raw ones, with a column for every class or output."""
        if self._is_linear:
            return raw
        raw = self.model.link_scale * raw
        if self.model.link == "logit":
            second = apply_sigmoid(raw)
            return np.concatenate([1.0 - second, second], axis=-1)
        return _apply_softmax(raw) if self.model.link == "softmax" else apply_exp(raw)

    @property
    def _is_linear(self) -> bool:
        return self.raw or self.model.link == "identity"

    def _sum_at(
        self, columns: IndexArray, points: FloatArray, weights: FloatArray | None, *, individual: bool
    ) -> FloatArray:
        """Raw predictions at points of the encoded table, of each row or their mean."""
        model = self.model
        raw = get_engine().average_by_rows(
            model.trees,
            self.rows,
            weights,
            columns,
            points,
            model.combine,
            model.tree_weights,
            model.slots,
            model.width,
            individual,
            self.n_jobs,
        )
        return raw if model.baseline is None else raw + model.baseline

    def _expand(
        self, features: Sequence[int], values: Sequence[FloatArray] | FloatArray
    ) -> tuple[list[int], list[FloatArray]]:
        """Features of the encoded table and their values, from columns of the user's: a date has several."""
        inputs = self.model.schema.inputs
        columns: list[int] = []
        expanded: list[FloatArray] = []
        for feature, own in zip(features, values, strict=True):
            columns += self.model.schema.list_features(feature)
            is_date = inputs is not None and inputs.kinds[feature] in DATE_KINDS
            expanded += [compute_part(own, part) for part in inputs.parts[feature]] if inputs and is_date else [own]
        return columns, expanded

    def _expand_points(self, features: Sequence[int], points: FloatArray) -> tuple[IndexArray, FloatArray]:
        """The same for points, in the form that the engine takes."""
        columns, expanded = self._expand(features, points.T)
        return np.asarray(columns, dtype=np.uint32), self._round(np.stack(expanded, axis=1))

    def _round(self, points: FloatArray) -> FloatArray:
        """Points in the precision of the table, so that they go to the same leaves as equal values of the table."""
        return np.ascontiguousarray(points.astype(self.rows.dtype), dtype=np.float64)

    def _apply_link(self, raw: FloatArray) -> FloatArray:
        if self._is_linear:
            return self._select_class(raw)
        raw = self.model.link_scale * raw
        if self.model.link == "logit":
            return np.asarray(apply_sigmoid(raw))
        return self._select_class(_apply_softmax(raw)) if self.model.link == "softmax" else apply_exp(raw)

    def _select_class(self, predictions: FloatArray) -> FloatArray:
        """For two classes, the column of the second."""
        return predictions[..., 1:] if self.classifies and predictions.shape[-1] == 2 else predictions


@dataclass(frozen=True)
class AnyResponse:
    """A model of any kind, whose methods are called on copies of the table.

    Attributes
    ----------
    model : estimator
        With `predict`, `predict_proba` or `decision_function`.
    table : ndarray or pandas frame
        Rows in the form that it reads.
    method : str
        The method that is called.
    """

    model: EstimatorLike
    table: Any
    method: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.table)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in getattr(self.table, "columns", range(self.table.shape[1]))]

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers."""
        values = self._get_values(feature)
        if self.kind(feature) != "number":
            times = np.asarray(values.dt.tz_convert(None) if getattr(values.dtype, "tz", None) else values)
            return read_array_times(times, f"column {self.names[feature]!r}")[1]
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"Feature {self.names[feature]!r} is not numeric; categories are supported for models of this library "
                "only."
            ) from None

    def categories(self, feature: int) -> AnyArray | None:
        """Always None: the categories of other models are not known."""
        return None

    def kind(self, feature: int) -> str:
        """What a feature holds: numbers, or dates and durations by the type of the table's column."""
        dtype = self._get_values(feature).dtype
        if getattr(dtype, "tz", None) is not None:
            return "date_utc"
        return {"M": "date", "m": "duration"}.get(dtype.kind, "number")

    def _get_values(self, feature: int) -> Any:
        return self.table.iloc[:, feature] if hasattr(self.table, "iloc") else self.table[:, feature]

    def predict(self) -> FloatArray:
        """Predictions for the rows of the table."""
        return self._call_model(self.table)

    def predict_with(self, feature: int, values: FloatArray) -> FloatArray:
        """Predictions with other values of a feature."""
        return self.predict_with_all([feature], [values])

    def predict_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """Predictions with other values of several features."""
        return self._call_model(self._replace(features, values))

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean prediction over the rows at each point."""
        means = [np.average(self._call_model(self._replace(features, p)), axis=0, weights=weights) for p in points]
        return np.array(means)

    def predict_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Prediction of each row at each point."""
        return np.stack([self._call_model(self._replace(features, p)) for p in points], axis=1)

    def _replace(self, features: Sequence[int], values: Sequence[FloatArray] | FloatArray) -> Any:
        """A copy of the table with other values of some features, one for each row or one for all rows."""
        changed = self.table.copy()
        for feature, value in zip(features, values, strict=True):
            own = self._to_times(feature, value)
            if hasattr(changed, "iloc"):
                changed.isetitem(feature, own)
            else:
                changed[:, feature] = own
        return changed

    def _to_times(self, feature: int, value: FloatArray) -> Any:
        """Values of a column as the model reads them: seconds become dates or durations again."""
        kind = self.kind(feature)
        if kind == "number":
            return value
        dates = to_dates(np.broadcast_to(value, (self.n_rows,)))
        if kind == "duration":
            return dates.astype(np.int64).astype("m8[us]")
        if kind == "date":
            return dates
        import pandas

        return pandas.Series(dates, index=self.table.index).dt.tz_localize("UTC")

    def _call_model(self, X: Any) -> FloatArray:
        found = np.asarray(getattr(self.model, self.method)(X))
        if found.dtype.kind not in "biuf":
            raise ParameterTypeError(
                f"{type(self.model).__name__} has no probabilities, and its classes are no numbers; choose a model "
                "with the method predict_proba (of a voting classifier, voting='soft')."
            )
        predictions = found.astype(np.float64)
        predictions = predictions[:, None] if predictions.ndim == 1 else predictions
        return predictions[:, 1:] if self.method == "predict_proba" and predictions.shape[1] == 2 else predictions


def make_response(
    model: EstimatorLike, X: Any, *, response_method: str = "auto", n_jobs: int | None = None
) -> Response:
    """The response of a fitted model on a table: by the engine if it is made of this library's trees.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : table
        Rows in the form that the model reads.
    response_method : {"auto", "predict_proba", "decision_function"}
        "auto": values of regressors, probabilities of classifiers that have them.
    n_jobs : int or None
        Number of threads, for models of this library's trees.

    Returns
    -------
    TreeResponse or AnyResponse
    """
    if response_method not in ("auto", "predict_proba", "decision_function"):
        raise ParameterError(
            "The 'response_method' argument must be 'auto', 'predict_proba' or 'decision_function'; got "
            f"{response_method!r}."
        )
    classifies = _check_model(model)
    trees = _find_trees(model)
    raw = response_method == "decision_function"
    if trees is not None and (raw or trees.link != "other"):
        rows = take_in_rows(cast("CommitteeEstimator", model), X, trees.schema)
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return TreeResponse(trees, dense, classifies, raw, resolve_jobs(n_jobs))
    table = X if hasattr(X, "iloc") or isinstance(X, np.ndarray) else np.asarray(X)
    if table.ndim != 2:
        raise DataError("X must be a table with rows and columns.")
    known = [m for m in ("predict_proba", "decision_function") if hasattr(model, m)]
    method = "predict" if not classifies or not known else known[0] if response_method == "auto" else response_method
    if not hasattr(model, method):
        raise ParameterError(f"{type(model).__name__} has no method {method!r}.")
    return AnyResponse(model, table, method)


def find_tree_response(model: EstimatorLike, n_jobs: int) -> TreeResponse | None:
    """The response of a model made of this library's trees without a table; None for any other model.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    n_jobs : int
        The engine's number of threads.
    """
    classifies, trees = _check_model(model), _find_trees(model)
    if trees is None or trees.link == "other":
        return None
    return TreeResponse(trees, np.empty((0, trees.schema.n_features)), classifies, False, n_jobs)


def _check_model(model: EstimatorLike) -> bool:
    """Refuse what cannot be asked for predictions; whether it is a classifier."""
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "predict_proba")):
        raise ParameterTypeError("The 'model' argument must be a fitted estimator with the method predict.")
    classifies = bool(is_classifier(model))
    if classifies and isinstance(getattr(model, "classes_", None), list):
        raise ParameterError(
            "Classifiers with several outputs are not supported here; inspect one of them: OneTarget(model, 0)."
        )
    return classifies


def _find_trees(model: EstimatorLike) -> TreeModel | None:
    present = getattr(model, "to_tree_model", None)
    if present is None:
        return None
    try:
        found: TreeModel = present()
    except ParameterTypeError:  # the members are not trees of this library
        return None
    return found


def find_features(response: Response, features: FeatureKey | Sequence[FeatureKey]) -> list[int]:
    """Column numbers of one or several features that are given by number or name."""
    if not isinstance(features, str | int | np.integer | Iterable):
        raise ParameterTypeError(f"A feature must be the name or number of a column of X; got {show_value(features)}.")
    keys = [features] if isinstance(features, str | int | np.integer) else list(features)
    names, found = response.names, []
    for feature in keys:
        if isinstance(feature, str) and feature in names:
            found.append(names.index(feature))
        elif isinstance(feature, int | np.integer) and not isinstance(feature, bool) and 0 <= feature < len(names):
            found.append(int(feature))
        else:
            raise ParameterError(
                f"A feature must be the name or number (0 to {len(names) - 1}) of a column of X; got {feature!r}."
            )
    if not found or len(set(found)) < len(found):
        raise ParameterError("The 'features' argument must hold at least one feature, and each at most once.")
    return found


def read_row_weights(weights: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Row weights as an array, checked; None for equal weights."""
    if weights is None:
        return None
    read = np.ascontiguousarray(read_doubles(weights, "Weights", f"finite numbers >= 0, one for each of {n_rows} rows"))
    if read.shape != (n_rows,) or not np.isfinite(read).all() or (read < 0.0).any() or not read.any():
        raise DataError(
            f"Weights must be finite numbers >= 0, one for each of the {n_rows} rows, not all of them zero."
        )
    return read


def _apply_softmax(raw: FloatArray) -> FloatArray:
    """Over the last axis, which has the classes."""
    return apply_softmax(raw.reshape(-1, raw.shape[-1])).reshape(raw.shape)
