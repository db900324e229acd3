"""Random trees as a transformer: a row becomes the leaves that it ends in [Moosmann2006]."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.base import TransformerMixin
from sklearn.preprocessing import OneHotEncoder

from committee.data.blocks import BlockTable
from committee.data.dataset import ValueTarget
from committee.data.opening import opens_table
from committee.engines.formula import refuse_formula
from committee.engines.node_tags import LEAF
from committee.ensembles.forest.base import BaseForest
from committee.exceptions import DataError
from committee.learners.tree import ExtraTreeRegressor
from committee.params import (
    CategoricalFeatures,
    Exact,
    MaxBins,
    MaxDepth,
    MaxLeafNodes,
    MinImpurityDecrease,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    NJobs,
    RandomState,
    SparseOutput,
    TextColumns,
    TreeCount,
    Unseen,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from committee.engines.formula import FormulaTerm, ModelFormula
    from committee.typing import FloatArray, FloatMatrix, SparseMatrix

__all__ = ["RandomTreesEmbedding"]

"""The bit of a node's tag that says that it is a leaf (tree.hpp)."""


class RandomTreesEmbedding(TransformerMixin, BaseForest):  # type: ignore[misc]
    """An unsupervised transformation of a table into the leaves of totally random trees.

    Each tree splits by one random feature at a random threshold [Geurts2006, Moosmann2006]. A row is encoded as the
    leaves that it ends in: one column for each leaf of each tree, one where the row is in it. Rows that are close to
    each other share many leaves, so that a linear model on the result is not linear in the table.

    Attributes
    ----------
    estimators_ : sequence of ExtraTreeRegressor
        The trees, built when they are accessed. They were grown on a target that is random.
    estimators_samples_ : list of ndarray
        Rows of each tree: all of them.
    estimator_ : ExtraTreeRegressor
        A tree with the parameters that all members have, not fitted.
    feature_importances_ : ndarray of shape (n_features,)
        How much of the random target each feature explains: of interest in comparison only.
    one_hot_encoder_ : OneHotEncoder
        scikit-learn's encoder from what `apply` gives to the result of `transform`.
    n_features_in_, n_outputs_ : int
        Number of features; one.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.

    Examples
    --------
    >>> from committee import RandomTreesEmbedding
    >>> X = [[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1]]
    >>> embedding = RandomTreesEmbedding(n_estimators=5, max_depth=1, random_state=0).fit(X)
    >>> embedding.transform(X).toarray().sum(axis=1)
    array([5., 5., 5., 5., 5.])
    """

    _task = "none"
    _combine = "mean"
    _splitter = "random"
    _member = ExtraTreeRegressor
    _fixed = MappingProxyType({"criterion": "squared_error", "max_features": 1})

    criterion = "squared_error"
    max_features = 1
    bootstrap = False
    max_samples = None
    oob_score = False
    oob_tol = 0.0
    oob_patience = None

    def __init__(
        self,
        n_estimators: TreeCount = 100,
        *,
        max_depth: MaxDepth = 5,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        sparse_output: SparseOutput = True,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
    ) -> None:
        self._store_params(locals())

    @opens_table
    def fit(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> Self:  # type: ignore[override]
        """Grow the trees.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : None
            Not used.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row, for the limits on leaves; a row of weight zero counts as absent.

        Returns
        -------
        self
        """
        self._validate_params()
        dataset = self.take_in(X, None, sample_weight)
        if self._has_all_trees():
            return self
        target = ValueTarget(_hash_rows(dataset.X)[:, np.newaxis], one_dimensional=True)
        builder = self._make_builder(replace(dataset, target=target), sample_weight, None)
        with self._open_growth(builder, sample_weight) as (chunks, on_progress):
            for n_trees in chunks:
                builder.grow_to(n_trees, on_progress)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: ArrayLike | None = None) -> csr_matrix | FloatArray:
        """Grow the trees and encode the rows that they were grown on.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        csr_matrix or ndarray of shape (n_samples, n_leaves)
            As of `transform`.
        """
        return self.fit(X, sample_weight=sample_weight).transform(X)

    def transform(self, X: Any) -> csr_matrix | FloatArray:
        """Encode rows by the leaves that they end in.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to encode.

        Returns
        -------
        csr_matrix, or ndarray without ``sparse_output``, of shape (n_samples, n_leaves)
            One in the column of each leaf of the row; the trees stand side by side.
        """
        leaves = self.apply(X)
        n_rows, n_trees = leaves.shape
        # The nodes of all trees are numbered one after the other, and so are the leaves among them.
        nodes = leaves + np.asarray(self._trees.node_offsets[:-1], dtype=np.intp)
        columns = (np.cumsum(self._mark_leaves(), dtype=np.int32) - 1)[nodes].ravel()
        starts = np.arange(0, n_rows * n_trees + 1, n_trees, dtype=columns.dtype)
        width = int(self._trees.leaf_offsets[-1])
        encoded = csr_matrix((np.ones(n_rows * n_trees), columns, starts), shape=(n_rows, width))
        return encoded if self.sparse_output else encoded.toarray()

    def _mark_leaves(self) -> NDArray[np.bool_]:
        """Which nodes are leaves, tree by tree in the order of their numbers."""
        trees = self.fitted_trees()
        starts = np.asarray(trees.node_offsets, dtype=np.intp)
        numbers = trees.number_depth_first() + np.repeat(starts[:-1], np.diff(starts))
        is_leaf = np.empty(len(numbers), dtype=bool)
        is_leaf[numbers] = trees.nodes["tag"] & LEAF != 0
        return is_leaf

    def _list_leaves(self) -> list[NDArray[np.intp]]:
        """The leaves of each tree, by their numbers in it."""
        ends = np.asarray(self.fitted_trees().node_offsets[1:-1], dtype=np.intp)
        return [np.flatnonzero(own) for own in np.split(self._mark_leaves(), ends)]

    @property
    def one_hot_encoder_(self) -> OneHotEncoder:
        """scikit-learn's encoder from what `apply` gives to what `transform` does."""
        leaves = self._list_leaves()
        encoder = OneHotEncoder(categories=leaves, sparse_output=bool(self.sparse_output))
        return encoder.fit(np.array([[own[0] for own in leaves]]))

    @property
    def predict_members(self) -> Any:
        """Not here: the trees were grown on a target that is random, so that their values mean nothing."""
        raise AttributeError(
            f"{type(self).__name__!r} object has no attribute 'predict_members': its trees predict nothing. Their "
            "leaves are given by apply and transform."
        )

    def to_formula(self, row: FormulaTerm | None = None) -> ModelFormula:
        """Refused: there is nothing to predict."""
        raise refuse_formula(self, "predicts nothing")

    @property
    def _n_features_out(self) -> int:
        return int(self.fitted_trees().leaf_offsets[-1])

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Names of the columns that `transform` gives.

        Parameters
        ----------
        input_features : array-like of str, optional
            Checked against the names that `fit` saw, and not used.

        Returns
        -------
        ndarray of str
            ``randomtreesembedding_{tree}_{leaf}``, the leaf by its number in the tree.
        """
        leaves = self._list_leaves()
        if input_features is not None:
            given, seen = np.asarray(input_features, dtype=object), getattr(self, "feature_names_in_", None)
            if seen is not None and not np.array_equal(given, seen):
                raise DataError("input_features is not equal to feature_names_in_")
            if len(given) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(given)}"
                )
        name = type(self).__name__.lower()
        return np.asarray([f"{name}_{t}_{leaf}" for t, own in enumerate(leaves) for leaf in own], dtype=object)


def _hash_rows(X: FloatMatrix | SparseMatrix | BlockTable) -> FloatArray:
    """A number in [0, 1) for each row that depends on its values alone: equal rows have equal ones."""
    if isinstance(X, BlockTable):
        return np.concatenate([_hash_rows(block) for _, block in X.iterate()])
    total = np.zeros(X.shape[0], dtype=np.uint64)
    if isinstance(X, np.ndarray):
        for column in range(X.shape[1]):
            total += _hash_values(X[:, column], np.uint64(column))
    else:  # one addition for each entry: a wide table has far more columns than entries
        columns = np.repeat(np.arange(X.shape[1], dtype=np.uint64), np.diff(X.indptr))
        np.add.at(total, X.indices, _hash_values(X.data, columns))
    return (_mix_bits(total) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _hash_values(values: NDArray[Any], columns: NDArray[np.uint64] | np.uint64) -> NDArray[np.uint64]:
    """A number for each value in its column; zero for zero, so that sparse tables have the numbers of dense ones."""
    values = values.astype(np.float64)
    values = np.where(np.isnan(values), np.nan, values + 0.0)  # one bit pattern for NaN and for zero
    return np.where(values == 0.0, np.uint64(0), _mix_bits(values.view(np.uint64) ^ columns))


def _mix_bits(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finaliser of SplitMix64 [Steele2014]."""
    x = x + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))
