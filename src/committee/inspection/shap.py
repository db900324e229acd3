"""Exact Shapley values (SHAP) of the features for models made of this library's trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from committee.base import resolve_jobs
from committee.data.dates import show_dates
from committee.data.inputs import DATE_KINDS
from committee.data.intake import take_in_rows
from committee.engines import get_engine
from committee.engines.several_targets import list_target_columns
from committee.engines.tree_model import TreeModel, present_trees
from committee.exceptions import DataError, EngineError, ParameterError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from committee.base import CommitteeEstimator
    from committee.data import Schema
    from committee.typing import AnyArray, EstimatorLike, FloatArray, FloatMatrix

__all__ = ["ShapValues", "shap_values"]


@dataclass(frozen=True)
class ShapValues:
    """Shapley values, with the attribute names that the plots of the ``shap`` package expect.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_features) or (n_rows, n_features, n_outputs)
        Contribution of each feature, added to the base value; with `interactions` there is a second axis of features.
        Classes are outputs, as are the columns of a target with several outputs, side by side.
    base_values : ndarray of shape (n_rows,) or (n_rows, n_outputs)
        Prediction when no feature is known; the same for every row.
    data : ndarray of shape (n_rows, n_features)
        The rows as numbers: codes of categories, seconds of dates, NaN for missing values and lists.
    feature_names : list of str
        Names of the training table's columns, or "Feature 0" and so on.
    output_names : list of str or None
        Classes, or None if there is one output.
    display_data : ndarray of object of shape (n_rows, n_features) or None
        The rows with the names of their categories and with dates, if there are such features.

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> from committee.inspection import shap_values
    >>> X = [[0.0, 5.0], [1.0, 5.0]]
    >>> found = shap_values(DecisionTreeRegressor().fit(X, [10.0, 20.0]), X)
    >>> found.values
    array([[-5.,  0.],
           [ 5.,  0.]])
    >>> found.base_values, found.predictions
    (array([15., 15.]), array([10., 20.]))
    """

    values: FloatArray
    base_values: FloatArray
    data: FloatMatrix
    feature_names: list[str]
    output_names: list[str] | None = None
    display_data: AnyArray | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the values."""
        return self.values.shape

    def __len__(self) -> int:
        return len(self.values)

    @property
    def predictions(self) -> FloatArray:
        """Base value plus the sum over the features (and pairs): the raw prediction of each row."""
        n_outputs = self.base_values.ndim - 1
        axes = tuple(range(1, self.values.ndim - n_outputs))
        return np.asarray(self.base_values + self.values.sum(axis=axes))

    def of_output(self, output: int) -> ShapValues:
        """The values of one output alone, for plots that show one.

        Parameters
        ----------
        output : int
            Its number.

        Returns
        -------
        ShapValues
        """
        if self.base_values.ndim == 1:
            raise ParameterError("These values have one output; there is none to select.")
        names = None if self.output_names is None else [self.output_names[output]]
        values, base_values = self.values[..., output], self.base_values[..., output]
        return ShapValues(values, base_values, self.data, self.feature_names, names, self.display_data)

    def to_explanation(self) -> Any:
        """The same as a ``shap.Explanation``, the type that the plots of that package require.

        Returns
        -------
        shap.Explanation
        """
        try:
            import shap
        except ImportError as error:
            raise ImportError("to_explanation needs the package shap; install it with pip.") from error

        single = self.base_values.ndim == 1
        return shap.Explanation(
            self.values,
            base_values=self.base_values,
            data=self.data,
            display_data=self.display_data,
            feature_names=self.feature_names,
            output_names=None if single else self.output_names,
        )


def shap_values(
    model: EstimatorLike,
    X: Any,
    *,
    background: object = None,
    background_weight: ArrayLike | None = None,
    interactions: bool = False,
    n_jobs: int | None = None,
    engine: Literal["cpu", "gpu"] = "cpu",
) -> ShapValues:
    r"""Exact Shapley values of the features for each row, for any estimator made of this library's trees.

    The raw prediction :math:`f(x)` is attributed to the features. With :math:`v(S)` the prediction when only the
    features in :math:`S` are known, feature :math:`i` of :math:`d` gets

    .. math:: \phi_i = \sum_{S \not\ni i} \frac{|S|!\,(d-|S|-1)!}{d!}\,\bigl(v(S \cup \{i\}) - v(S)\bigr),

    and :math:`f(x) = v(\emptyset) + \sum_i \phi_i`. Without a background, a row takes
    both branches of a split on an unknown feature, in proportion to the training weights of the children
    ("path-dependent"); with one, unknown features take the values of its rows ("interventional"), which separates
    correlated features.

    The explained output is: for trees, bags and forests, probabilities or values; for gradient boosting the raw score,
    before the link; for AdaBoost and arcing, with every algorithm, the ``decision_function``, which is a sum over the
    members; for ``AdaBoostRegressor(algorithm="rt")`` the mean (the median of "r2" is not a sum). For two classes
    boosted models have one output, that of the second class. Outputs of several targets stand side by side. The
    weights of the children are those that the tree was grown with: in AdaBoost the weights of its round.

    The value of a date or of a list is the sum over the features that it became.

    Path-dependent values take time proportional to the splits times half the number of distinct features on a path:
    the weights of the sets are an integral over :math:`t \in [0, 1]` [Owen1972] of products that factorise along the
    tree, and a Gauss quadrature with few points gives it exactly.

    Parameters
    ----------
    model : fitted estimator
        A tree, forest, bag of trees, AdaBoost of trees or boosted trees of this library.
    X : array-like, sparse matrix or data frame of shape (n_rows, n_features)
        Rows to explain.
    background : array-like, sparse matrix or data frame, optional
        Rows whose values replace unknown features; a hundred are usually enough. The time is proportional to their
        number.
    background_weight : array-like, optional
        Weight of each row of the background.
    interactions : bool, default=False
        Whether to return interaction values [Lundberg2020]: off the diagonal half of the joint effect of two features,
        on it the rest of the feature's value. Only without a background.
    n_jobs : int or None
        Number of threads; None decides by the amount of work.
    engine : {"cpu", "gpu"}
        "gpu" computes path-dependent values on a CUDA device; they differ from the CPU's in the last places, since sums
        have another order. Neither a ``background`` nor ``interactions`` is supported there, nor trees of more than
        64 levels.

    Returns
    -------
    ShapValues
        With ``values``, ``base_values``, ``data`` and ``feature_names``.

    References
    ----------
    [Lundberg2020], [Yu2022], [Owen1972].

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> from committee.inspection import shap_values
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> forest = RandomForestRegressor(n_estimators=20, random_state=0).fit(X, y)
    >>> found = shap_values(forest, X)
    >>> found.values.shape, bool(np.allclose(found.predictions, forest.predict(X)))
    ((442, 10), True)
    >>> found.feature_names[int(np.abs(found.values).mean(axis=0).argmax())] in ("bmi", "s5")
    True
    """
    if interactions and background is not None:
        raise ParameterError("Values of pairs ('interactions') are path-dependent; leave 'background' out.")
    if background is None and background_weight is not None:
        raise ParameterError("'background_weight' is for the rows of a 'background', and there is none.")
    if engine not in ("cpu", "gpu"):
        raise ParameterError(f"'engine' of shap_values must be 'cpu' or 'gpu'; got {engine!r}.")
    if engine == "gpu" and (interactions or background is not None):
        raise EngineError(
            "The GPU engine computes path-dependent Shapley values alone: with a 'background' or with 'interactions' "
            "set engine='cpu'."
        )
    trees, core, jobs = present_trees(model), get_engine(), resolve_jobs(n_jobs)
    rows = read_rows(model, X, trees.schema)
    combination = (trees.combine, trees.tree_weights, trees.slots, trees.width)
    if engine == "gpu":
        from committee.engines.gpu import GpuExplainer

        values, base = GpuExplainer(model).explain(rows)
    elif background is None:
        values, base = core.explain_rows(trees.trees, rows, *combination, bool(interactions), jobs)
    else:
        reference = read_rows(model, background, trees.schema)
        weights = _read_background_weights(background_weight, len(reference))
        values, base = core.explain_against(trees.trees, rows, reference, weights, *combination, jobs)
    if trees.baseline is not None:
        base = base + trees.baseline
    outputs = name_outputs(model, trees)
    schema = trees.schema
    for axis in (1, 2) if interactions else (1,):
        values = schema.sum_features(values, axis)
    if trees.width == 1:
        values, base = values[..., 0], base[0]
    base_values = np.repeat(base[None], len(rows), axis=0)
    shown = show_inputs(rows, schema)
    return ShapValues(values, base_values, shown, name_features(schema), outputs, _decode_rows(shown, schema))


def read_rows(model: EstimatorLike, X: Any, schema: Schema) -> FloatMatrix:
    """The rows as a dense matrix, checked against the columns of the training table."""
    rows = take_in_rows(cast("CommitteeEstimator", model), X, schema)
    dense: FloatMatrix = rows if isinstance(rows, np.ndarray) else rows.toarray()
    return dense


def name_features(schema: Schema) -> list[str]:
    """The names of the user's columns, or numbered ones."""
    return schema.name_inputs("Feature {}")


def show_inputs(rows: FloatMatrix, schema: Schema) -> FloatMatrix:
    """A number for each of the user's columns: the seconds of a date, the length of a text; NaN for a list."""
    if schema.inputs is None:
        return rows
    shown: FloatMatrix = rows[:, schema.inputs.starts[:-1]]
    shown[:, [kind == "list" for kind in schema.inputs.kinds]] = np.nan
    return shown


def name_outputs(model: EstimatorLike, trees: TreeModel) -> list[str] | None:
    """The classes as names of the outputs, or numbers if there are several outputs; None for a single one."""
    if trees.width == 1:
        return None
    if hasattr(model, "thresholds_"):  # of ordered levels
        return ["score", "logarithm of the spread"]
    classes = getattr(model, "classes_", None)
    if isinstance(classes, np.ndarray) and len(classes) == trees.width:
        return [str(c) for c in classes.tolist()]
    if isinstance(classes, list):
        spans = list_target_columns(classes, trees.width, len(classes))
        named = zip(classes, spans, strict=True)
        return [f"{k}: {c}" for k, (own, span) in enumerate(named) for c in own[-len(span) :].tolist()]
    return [str(k) for k in range(trees.width)]


def _read_background_weights(weights: ArrayLike | None, n_rows: int) -> FloatArray | None:
    if weights is None:
        return None
    read = np.ascontiguousarray(weights, dtype=np.float64)
    if read.shape != (n_rows,) or not np.isfinite(read).all() or (read < 0.0).any() or not read.any():
        raise DataError(
            f"'background_weight' must have a finite number >= 0 for each of the {n_rows} rows of the background, "
            "not all of them zero."
        )
    return read


def _decode_rows(rows: FloatMatrix, schema: Schema) -> AnyArray | None:
    inputs = schema.inputs
    if not schema.has_categories and inputs is None:
        return None
    decoded = rows.astype(object)
    for column in range(schema.n_inputs):
        categories = schema.categories[schema.list_features(column)[0]]
        known = ~np.isnan(rows[:, column])
        if categories is not None:
            decoded[known, column] = categories[rows[known, column].astype(np.intp)]
        elif inputs is not None and inputs.kinds[column] in DATE_KINDS:
            decoded[known, column] = show_dates(rows[known, column])
    return decoded
