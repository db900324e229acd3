"""The fitted trees of an estimator and how they are combined, for importances, partial dependence and SHAP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from committee.constraints import show_value
from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from committee.data import Schema
    from committee.engines import Trees
    from committee.typing import FloatArray, IndexArray

__all__ = ["TreeModel", "present_trees", "replace_leaf_values", "weigh_leaves"]


@dataclass(frozen=True)
class TreeModel:
    r"""A model as a sum of trees: raw prediction = baseline + combination of the leaves, then a link.

    An estimator offers it by a method ``to_tree_model()`` that takes no argument and returns its fitted state in this
    form; nothing is copied. Importance, partial dependence and Shapley values then work with it.

    Attributes
    ----------
    trees : Trees
        All trees in one arena, over all features of the schema, with the weights of their leaves.
    schema : Schema
        The columns that they were grown on.
    combine : {"mean", "sum", "vote"}
        "mean": class probabilities, or values, averaged by the weights of the trees. "sum": weighted sum of the leaves.
        "vote": the weight of a tree goes to the heaviest class of its leaf.
    tree_weights : ndarray of shape (n_trees,), optional
        By default all are 1.
    slots : ndarray of uint32 of shape (n_trees,), optional
        Column of the raw prediction that each tree adds to, for "sum" of trees with one value a leaf, as in boosting
        of several classes. By default the columns are those of the leaves.
    n_columns : int, optional
        Columns of the raw prediction, if they are not those of the leaves.
    baseline : ndarray of shape (n_columns,), optional
        What the sum starts from, by default 0.
    link : {"identity", "logit", "softmax", "log", "other"}
        The link between the raw prediction and the prediction: identity, log-odds, log-probabilities up to a
        constant, logarithm, or another one, which only the estimator can compute.
    link_scale : float
        What the raw prediction is multiplied by before the link: 2 where it is half the log-odds, as in AdaBoost.
    """

    trees: Any
    schema: Schema
    combine: Literal["mean", "sum", "vote"] = "mean"
    tree_weights: FloatArray | None = None
    slots: IndexArray | None = None
    n_columns: int | None = None
    baseline: FloatArray | None = None
    link: Literal["identity", "logit", "softmax", "log", "other"] = "identity"
    link_scale: float = 1.0

    @property
    def width(self) -> int:
        """Columns of the raw prediction."""
        return int(self.trees.width) if self.n_columns is None else self.n_columns

    def sum_trees(self, rows: Any, n_jobs: int) -> FloatArray:
        """The raw prediction of rows that were taken in, of shape (n_rows, n_columns)."""
        raw: FloatArray = self.trees.predict(
            rows, self.combine, self.tree_weights, self.slots, self.width, n_jobs=n_jobs
        )
        return raw if self.baseline is None else raw + self.baseline


def present_trees(model: Any) -> TreeModel:
    """The trees of a fitted estimator; an error if it has none of this library.

    Examples
    --------
    >>> from committee import DecisionTreeRegressor
    >>> model = present_trees(DecisionTreeRegressor().fit([[1], [2]], [1, 2]))
    >>> model.trees.n_trees, model.combine, model.width
    (1, 'mean', 1)
    """
    present = getattr(model, "to_tree_model", None)
    if present is None or isinstance(model, type):
        raise ParameterTypeError(
            f"The 'model' argument must be a fitted estimator of this library that is made of trees; got "
            f"{show_value(model)}."
        )
    presented: TreeModel = present()
    return presented


def weigh_leaves(trees: Trees) -> FloatArray | None:
    """The training weights of the leaves; None if the arena has lost them.

    The arena omits what it can derive: the weight of a leaf is the sum over the classes of its first output, or the
    number of its rows.
    """
    if len(trees.leaf_weights):
        return np.asarray(trees.leaf_weights)
    if len(trees.outputs):
        counts = np.asarray(trees.values, dtype=np.float64)
        return np.asarray(counts[:, : int(trees.outputs[0])].sum(axis=1))
    return np.asarray(trees.leaf_samples, dtype=np.float64) if len(trees.leaf_samples) else None


def replace_leaf_values(trees: Trees, values: FloatArray) -> Trees:
    """The same splits with other leaf values, of shape (n_leaves, width); the training weights of the leaves stay."""
    return trees.with_leaf_values(np.ascontiguousarray(values, dtype=np.float64), weigh_leaves(trees))
