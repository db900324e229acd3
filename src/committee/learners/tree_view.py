"""The nodes of one tree in the form of scikit-learn's `tree_`: parallel arrays, one entry per node."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.sparse import csr_matrix

from committee.constraints import show_value
from committee.exceptions import ParameterTypeError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from committee.engines import Trees

TREE_LEAF = -1
"""The value of `children_left` and `children_right` in a leaf."""


class _NodeArrays(dict[str, Any]):
    """Arrays by name; an AttributeError for those that a model saved for prediction does not have."""

    def __missing__(self, name: str) -> Any:
        raise AttributeError(
            f"The tree has no {name}: boosting keeps none, or the model was saved with strip=True, for prediction only."
        )


class TreeView:
    """Arrays over the nodes of one tree, built from the compact form at the first access.

    Nodes are numbered depth-first, left before right, as in scikit-learn. In a leaf, ``children_left`` and
    ``children_right`` are -1, ``feature`` is -2 and ``threshold`` is -2.0. A test on a categorical feature has no
    threshold (NaN); the codes that go left are in ``left_categories[node]``.

    Parameters
    ----------
    trees : Trees
        The arena that holds the tree.
    criterion : str
        The criterion that ``impurity`` is measured in.
    tree : int, default=0
        Number of the tree within the arena.
    """

    def __init__(self, trees: Trees, criterion: str, tree: int = 0) -> None:
        self._trees = trees
        self._criterion = criterion
        self._tree = tree
        self._cache: dict[str, Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}

    def __repr__(self) -> str:
        return f"TreeView(node_count={self.node_count}, n_leaves={self.n_leaves}, n_features={self.n_features})"

    @property
    def _nodes(self) -> Mapping[str, Any]:
        if self._cache is None:
            nodes = _NodeArrays(self._describe())
            # Signed 64-bit integers, as in scikit-learn: a difference of counts must not wrap around.
            for name in nodes.keys() & {"children_left", "children_right", "feature", "depth", "n_node_samples"}:
                nodes[name] = nodes[name].astype(np.int64)
            self._cache = nodes
        return self._cache

    def _describe(self) -> dict[str, Any]:
        """The arrays of the engine, which numbers nodes level by level, in the order of the numbers here."""
        if not isinstance(self._criterion, str):
            raise ParameterTypeError(f"The criterion of a tree must be a name; got {show_value(self._criterion)}.")
        numbers, found = self._number_nodes(), self._trees.describe(self._tree, self._criterion)
        order = np.argsort(numbers)
        lefts = found.pop("left_categories")
        nodes = {name: array[order] for name, array in found.items()}
        for name in ("children_left", "children_right"):
            child = nodes[name]
            nodes[name] = np.where(child == TREE_LEAF, TREE_LEAF, numbers[child])
        return {**nodes, "left_categories": {int(numbers[node]): codes for node, codes in lefts.items()}}

    def _number_nodes(self) -> NDArray[np.int64]:
        """The number of each node, in the engine's order."""
        return self._trees.select(self._tree, self._tree + 1).number_depth_first().astype(np.int64)

    # Sizes, from the compact form.

    @property
    def node_count(self) -> int:
        """Number of nodes, leaves included."""
        offsets = np.asarray(self._trees.node_offsets)
        return int(offsets[self._tree + 1] - offsets[self._tree])

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        offsets = np.asarray(self._trees.leaf_offsets)
        return int(offsets[self._tree + 1] - offsets[self._tree])

    @property
    def n_features(self) -> int:
        """Number of features that the tree was grown on."""
        return int(self._trees.n_features)

    @property
    def is_classifier(self) -> bool:
        """Whether the leaves hold class weights."""
        return len(self._trees.outputs) > 0

    @property
    def n_classes(self) -> NDArray[np.intp]:
        """Number of classes of each output (1 for regression)."""
        if self.is_classifier:
            return np.asarray(self._trees.outputs, dtype=np.intp)
        return np.ones(int(self._trees.width), dtype=np.intp)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        return len(self.n_classes)

    @property
    def max_n_classes(self) -> int:
        """Largest number of classes over the outputs."""
        return int(self.n_classes.max())

    # Arrays over the nodes.

    @property
    def children_left(self) -> NDArray[np.intp]:
        """Left child of each node; -1 in leaves."""
        return cast("NDArray[np.intp]", self._nodes["children_left"])

    @property
    def children_right(self) -> NDArray[np.intp]:
        """Right child of each node; -1 in leaves."""
        return cast("NDArray[np.intp]", self._nodes["children_right"])

    @property
    def feature(self) -> NDArray[np.intp]:
        """Feature that each node tests; -2 in leaves."""
        return cast("NDArray[np.intp]", self._nodes["feature"])

    @property
    def threshold(self) -> NDArray[np.float64]:
        """Rows with a value at or below it go left; -2 in leaves, NaN where a category is tested."""
        return cast("NDArray[np.float64]", self._nodes["threshold"])

    @property
    def missing_go_to_left(self) -> NDArray[np.bool_]:
        """Whether rows without a value of the tested feature go left."""
        return cast("NDArray[np.bool_]", self._nodes["missing_go_to_left"])

    @property
    def impurity(self) -> NDArray[np.float64]:
        """Impurity of each node."""
        return cast("NDArray[np.float64]", self._nodes["impurity"])

    @property
    def n_node_samples(self) -> NDArray[np.int64]:
        """Training rows in each node."""
        return cast("NDArray[np.int64]", self._nodes["n_node_samples"])

    @property
    def weighted_n_node_samples(self) -> NDArray[np.float64]:
        """Weight of the training rows in each node."""
        return cast("NDArray[np.float64]", self._nodes["weighted_n_node_samples"])

    @property
    def left_categories(self) -> Mapping[int, list[int]]:
        """For each node that tests a category, the codes that go left."""
        return cast("Mapping[int, list[int]]", self._nodes["left_categories"])

    @property
    def node_depth(self) -> NDArray[np.intp]:
        """Depth of each node; the root's is 0."""
        return cast("NDArray[np.intp]", self._nodes["depth"])

    @property
    def max_depth(self) -> int:
        """Largest depth of a leaf."""
        return int(self.node_depth.max())

    @property
    def class_weights(self) -> NDArray[np.float64]:
        """Weight of each class (outputs side by side) in each node; for regression the node's outputs."""
        return cast("NDArray[np.float64]", self._nodes["value"])

    @property
    def value(self) -> NDArray[np.float64]:
        """Prediction of each node, of shape (node, output, class): class fractions, or the value of each output.

        Only leaf values are stored: the value of an inner node is the weighted mean of its leaves, which for
        `absolute_error` is not the median of its rows.
        """
        cached: NDArray[np.float64] | None = self._nodes.get("fractions")
        if cached is not None:
            return cached
        raw = self.class_weights
        if not self.is_classifier:
            value = raw[:, :, np.newaxis]
        else:
            value = np.zeros((len(raw), self.n_outputs, self.max_n_classes))
            stops = np.cumsum(self.n_classes)
            for output, (stop, width) in enumerate(zip(stops, self.n_classes, strict=True)):
                weights = raw[:, stop - width : stop]
                value[:, output, :width] = weights / weights.sum(axis=1, keepdims=True)
        cast("dict[str, Any]", self._nodes)["fractions"] = value
        return value

    # Methods.

    def apply(self, X: NDArray[Any]) -> NDArray[np.intp]:
        """Node that each row ends in.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Raw values, categories as codes.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        leaves = np.asarray(self._trees.select(self._tree, self._tree + 1).apply(X), dtype=np.intp)
        return self._number_nodes().take(leaves[:, 0])

    def predict(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Value of the leaf that each row ends in.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Raw values, categories as codes.

        Returns
        -------
        ndarray of shape (n_rows, max_n_classes), or (n_rows, n_outputs, max_n_classes) with several outputs
        """
        value = self.value[self.apply(X)]
        return value[:, 0] if self.n_outputs == 1 else value

    def decision_path(self, X: NDArray[Any]) -> csr_matrix:
        """Nodes that each row passes, root and leaf included.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            Raw values, categories as codes.

        Returns
        -------
        csr_matrix of shape (n_rows, node_count)
        """
        return self.trace_leaves(self.apply(X))

    def trace_leaves(self, leaves: NDArray[np.intp]) -> csr_matrix:
        """Nodes on the path from the root to each of the given leaves.

        Parameters
        ----------
        leaves : ndarray of shape (n_rows,)
            Numbers of nodes, as `apply` gives them.

        Returns
        -------
        csr_matrix of shape (n_rows, node_count)
        """
        node = leaves
        inner = np.flatnonzero(self.children_left != TREE_LEAF)
        parent = np.full(self.node_count, TREE_LEAF, dtype=np.intp)
        parent[self.children_left[inner]] = inner
        parent[self.children_right[inner]] = inner
        starts = np.zeros(len(node) + 1, dtype=np.intp)
        np.cumsum(self.node_depth[node] + 1, out=starts[1:])
        indices = np.empty(starts[-1], dtype=np.intp)
        # From the leaves up, one level per iteration; parents have smaller numbers, so that indices are sorted.
        at, open_rows = starts[1:] - 1, np.arange(len(node))
        while len(open_rows):
            indices[at[open_rows]] = node[open_rows]
            node, at = parent[node], at - 1
            open_rows = open_rows[node[open_rows] != TREE_LEAF]
        ones = np.ones(len(indices), dtype=np.int64)
        return csr_matrix((ones, indices, starts), shape=(len(starts) - 1, self.node_count))

    def compute_feature_importances(self, normalize: bool = True) -> NDArray[np.float64]:
        """Weighted decrease of impurity that the splits on each feature brought.

        Parameters
        ----------
        normalize : bool, default=True
            Whether the importances are divided by their sum.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        inner = np.flatnonzero(self.children_left != TREE_LEAF)
        weighted = self.weighted_n_node_samples * self.impurity
        decrease = weighted[inner] - weighted[self.children_left[inner]] - weighted[self.children_right[inner]]
        importances = np.bincount(self.feature[inner], weights=decrease, minlength=self.n_features)
        importances = importances / self.weighted_n_node_samples[0]
        return normalize_importances(importances) if normalize else importances


def normalize_importances(importances: NDArray[np.float64]) -> NDArray[np.float64]:
    """Importances divided by their sum; zeros where no split lowered the impurity, NaN where they are NaN."""
    total = importances.sum()
    return np.zeros_like(importances) if total <= 0.0 else importances / total
