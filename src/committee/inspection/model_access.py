"""What a model answers when some features of its rows are replaced: in the core for trees, by asking for any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import is_classifier

from committee.base import resolve_jobs
from committee.data.intake import take_in_rows
from committee.engines import get_engine
from committee.engines.tree_model import TreeModel
from committee.exceptions import DataError, ParameterError, ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray, FloatMatrix

__all__ = ["AnyResponse", "Response", "TreeResponse", "find_features", "make_response", "read_row_weights"]


class Response(Protocol):
    """A fitted model and a table, ready for questions; answers are of shape (n_rows, n_outputs)."""

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        ...

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        ...

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers: codes where it is a category, NaN where missing."""
        ...

    def levels(self, feature: int) -> NDArray[Any] | None:
        """The levels of a category by their codes; None for a number."""
        ...

    def answer(self) -> FloatArray:
        """What the model says of the rows as they are."""
        ...

    def answer_with(self, feature: int, values: FloatArray) -> FloatArray:
        """What it says when a feature has other values, one for each row."""
        ...

    def answer_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """What it says when several features have other values."""
        ...

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean over the rows at each point in the space of some features, of shape (n_points, n_outputs)."""
        ...

    def trace_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """The same row by row, of shape (n_rows, n_points, n_outputs)."""
        ...


@dataclass(frozen=True)
class TreeResponse:
    """A model of our trees.

    Attributes
    ----------
    model : TreeModel
        Its trees.
    rows : ndarray
        The table in the form that the trees read.
    classifies : bool
        Whether its answers are of classes; of two the second one's is taken, as in scikit-learn.
    raw : bool
        Whether the raw prediction is wanted, before the link.
    n_jobs : int
        As the engine takes it.
    """

    model: TreeModel
    rows: FloatMatrix
    classifies: bool
    raw: bool
    n_jobs: int

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.rows)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        schema = self.model.schema
        return list(schema.feature_names or (str(k) for k in range(schema.n_features)))

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers."""
        return self.rows[:, feature].astype(np.float64)

    def levels(self, feature: int) -> NDArray[Any] | None:
        """The levels of a category; None for a number."""
        return self.model.schema.categories[feature]

    def answer(self) -> FloatArray:
        """What the model says of the rows as they are."""
        return self._finish(self.model.sum_trees(self.rows, self.n_jobs))

    def answer_with(self, feature: int, values: FloatArray) -> FloatArray:
        """What it says when a feature has other values."""
        return self.answer_with_all([feature], [values])

    def answer_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """What it says when several features have other values."""
        changed = np.array(self.rows)
        for feature, own in zip(features, values, strict=True):
            changed[:, feature] = own
        return self._finish(self.model.sum_trees(changed, self.n_jobs))

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean over the rows at each point."""
        if self._is_linear:
            return self._finish(self._ask(features, points, weights, individual=False))
        return np.average(self.trace_at(features, points), axis=0, weights=weights)

    def trace_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Each row at each point."""
        return self._finish(self._ask(features, points, None, individual=True))

    def traverse_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Mean over the training weights at each point, raw, without looking at the rows."""
        asked = self.model
        raw = get_engine().average_by_weight(
            asked.trees,
            np.asarray(features, dtype=np.uint32),
            self._round(points),
            asked.combine,
            asked.tree_weights,
            asked.slots,
            asked.width,
            self.n_jobs,
        )
        return self._choose(raw if asked.baseline is None else raw + asked.baseline)

    def finish_all(self, raw: FloatArray) -> FloatArray:
        """Answers from raw predictions with a column for every class, or output."""
        if self._is_linear:
            return raw
        raw = self.model.link_scale * raw
        if self.model.link == "logit":
            shares = expit(raw)
            return np.concatenate([1.0 - shares, shares], axis=-1)
        return softmax(raw, axis=-1) if self.model.link == "softmax" else np.exp(raw)

    @property
    def _is_linear(self) -> bool:
        return self.raw or self.model.link == "identity"

    def _ask(
        self, features: Sequence[int], points: FloatArray, weights: FloatArray | None, *, individual: bool
    ) -> FloatArray:
        asked = self.model
        raw = get_engine().average_by_rows(
            asked.trees,
            self.rows,
            weights,
            np.asarray(features, dtype=np.uint32),
            self._round(points),
            asked.combine,
            asked.tree_weights,
            asked.slots,
            asked.width,
            individual,
            self.n_jobs,
        )
        return raw if asked.baseline is None else raw + asked.baseline

    def _round(self, points: FloatArray) -> FloatArray:
        """Points as precise as the table, so that they fall where the table's values fall."""
        return np.ascontiguousarray(points.astype(self.rows.dtype), dtype=np.float64)

    def _finish(self, raw: FloatArray) -> FloatArray:
        if self._is_linear:
            return self._choose(raw)
        raw = self.model.link_scale * raw
        if self.model.link == "logit":
            return expit(raw)  # type: ignore[no-any-return]
        return self._choose(softmax(raw, axis=-1)) if self.model.link == "softmax" else np.exp(raw)

    def _choose(self, answers: FloatArray) -> FloatArray:
        return answers[..., 1:] if self.classifies and answers.shape[-1] == 2 else answers


@dataclass(frozen=True)
class AnyResponse:
    """A model of any kind, asked by its own methods about copies of the table.

    Attributes
    ----------
    model : estimator
        With `predict`, `predict_proba` or `decision_function`.
    table : ndarray or pandas frame
        Rows as it reads them.
    method : str
        What is called.
    """

    model: Any
    table: Any
    method: str

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return len(self.table)

    @property
    def names(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in getattr(self.table, "columns", range(self.table.shape[1]))]

    def column(self, feature: int) -> FloatArray:
        """The values of a feature as numbers."""
        values = self.table.iloc[:, feature] if hasattr(self.table, "iloc") else self.table[:, feature]
        try:
            return np.asarray(values, dtype=np.float64)
        except (TypeError, ValueError):
            raise DataError(
                f"Feature {self.names[feature]!r} is not a number; categories are understood with models of this "
                "library only."
            ) from None

    def levels(self, feature: int) -> NDArray[Any] | None:
        """Always None: what its categories are is the model's own business."""
        return None

    def answer(self) -> FloatArray:
        """What the model says of the rows as they are."""
        return self._ask(self.table)

    def answer_with(self, feature: int, values: FloatArray) -> FloatArray:
        """What it says when a feature has other values."""
        return self.answer_with_all([feature], [values])

    def answer_with_all(self, features: Sequence[int], values: Sequence[FloatArray]) -> FloatArray:
        """What it says when several features have other values."""
        return self._ask(self._replace(features, values))

    def average_at(self, features: Sequence[int], points: FloatArray, weights: FloatArray | None) -> FloatArray:
        """Mean over the rows at each point."""
        means = [np.average(self._ask(self._replace(features, p)), axis=0, weights=weights) for p in points]
        return np.array(means)

    def trace_at(self, features: Sequence[int], points: FloatArray) -> FloatArray:
        """Each row at each point."""
        return np.stack([self._ask(self._replace(features, p)) for p in points], axis=1)

    def _replace(self, features: Sequence[int], values: Any) -> Any:
        changed = self.table.copy()
        for feature, value in zip(features, values, strict=True):
            if hasattr(changed, "iloc"):
                changed.isetitem(feature, value)
            else:
                changed[:, feature] = value
        return changed

    def _ask(self, table: Any) -> FloatArray:
        answers = np.asarray(getattr(self.model, self.method)(table), dtype=np.float64)
        answers = answers[:, None] if answers.ndim == 1 else answers
        return answers[:, 1:] if self.method == "predict_proba" and answers.shape[1] == 2 else answers


def make_response(model: Any, X: Any, *, response_method: str = "auto", n_jobs: int | None = None) -> Response:
    """A fitted model and a table, ready for questions.

    Parameters
    ----------
    model : fitted estimator
        Of any library.
    X : table
        Rows as the model reads them.
    response_method : {"auto", "predict_proba", "decision_function"}
        "auto": values of regressors, probabilities of classifiers where they have any.
    n_jobs : int or None
        Threads, for models of our trees.

    Returns
    -------
    TreeResponse or AnyResponse
    """
    if response_method not in ("auto", "predict_proba", "decision_function"):
        raise ParameterError(
            "The 'response_method' argument must be 'auto', 'predict_proba' or 'decision_function'; got "
            f"{response_method!r}."
        )
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "predict_proba")):
        raise ParameterTypeError("The 'model' argument must be a fitted estimator with the method predict.")
    classifies = is_classifier(model)
    if classifies and isinstance(getattr(model, "classes_", None), list):
        raise ParameterError("Classifiers with several outputs are not supported here; look at one output at a time.")
    asked = _find_trees(model)
    raw = response_method == "decision_function"
    if asked is not None and (raw or asked.link != "other"):
        rows = take_in_rows(model, X, asked.schema)
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        return TreeResponse(asked, dense, classifies, raw, resolve_jobs(n_jobs))
    table = X if hasattr(X, "iloc") or isinstance(X, np.ndarray) else np.asarray(X)
    if table.ndim != 2:
        raise DataError("X must be a table with rows and columns.")
    known = [m for m in ("predict_proba", "decision_function") if hasattr(model, m)]
    method = "predict" if not classifies or not known else known[0] if response_method == "auto" else response_method
    if not hasattr(model, method):
        raise ParameterError(f"{type(model).__name__} has no method {method!r}.")
    return AnyResponse(model, table, method)


def _find_trees(model: Any) -> TreeModel | None:
    present = getattr(model, "to_tree_model", None)
    if present is None:
        return None
    try:
        found: TreeModel = present()
    except ParameterTypeError:  # members that are no trees
        return None
    return found


def find_features(response: Response, features: Any) -> list[int]:
    """Numbers of the columns that a user named by number or name, one or several of them."""
    asked = [features] if isinstance(features, str | int | np.integer) else list(features)
    names, found = response.names, []
    for feature in asked:
        if isinstance(feature, str) and feature in names:
            found.append(names.index(feature))
        elif isinstance(feature, int | np.integer) and 0 <= feature < len(names):
            found.append(int(feature))
        else:
            raise ParameterError(
                f"A feature must be the name or number (0 to {len(names) - 1}) of a column of X; got {feature!r}."
            )
    if not found or len(set(found)) < len(found):
        raise ParameterError("The 'features' argument must hold at least one feature, and each at most once.")
    return found


def read_row_weights(weights: Any, n_rows: int) -> FloatArray | None:
    """Weights of rows as an array, or None."""
    if weights is None:
        return None
    read = np.ascontiguousarray(weights, dtype=np.float64)
    if read.shape != (n_rows,) or not np.isfinite(read).all() or (read < 0.0).any() or not read.any():
        raise DataError(
            f"Weights must be finite numbers >= 0, one for each of the {n_rows} rows, not all of them zero."
        )
    return read
