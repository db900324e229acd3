"""Base of the decision trees: from parameters and data to the engine, the fitted tree, ways to inspect it."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED

from committee.base import resolve_seed
from committee.data.device_tables import is_on_device
from committee.data.intake import take_in_rows
from committee.data.opening import opens_table
from committee.engines import get_engine
from committee.learners.training_arrays import make_training_arrays, target_attributes
from committee.learners.tree_estimator import TreeClassifierMixin, TreeEstimator, TreeRegressorMixin
from committee.learners.tree_params import TreeSettings, count_features, make_grow_params, name_criterion
from committee.learners.tree_rows import find_leaves, label_rows
from committee.learners.tree_view import TreeView, normalize_importances

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_matrix

    from committee.data import Dataset, Schema
    from committee.engines import GrowParams, Trees
    from committee.typing import FloatArray

__all__ = ["BaseTree", "ClassTree", "ValueTree"]


class BaseTree(TreeEstimator):
    """All that decision trees share.

    A subclass names in `_fixed` the settings of a tree that it fixes rather than takes as parameters. Ensembles use
    the public methods only: those of `TreeEstimator`, `tree_settings`, `grow_tree` and `hold_tree`.
    """

    _fixed: ClassVar[Mapping[str, Any]] = MappingProxyType({})

    # Kept for programs that pass it; no pipeline has to route it.
    __metadata_request__fit: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict: ClassVar = {"check_input": UNUSED}
    __metadata_request__predict_proba: ClassVar = {"check_input": UNUSED}

    criterion: str
    _importances: FloatArray
    tree_: TreeView

    # Fitting.

    @opens_table
    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None, check_input: bool = True) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Numbers and categories; missing values are allowed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Classes or values to learn.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each row; a row of weight zero counts as absent.
        check_input : bool, default=True
            Accepted as scikit-learn's trees do; the input is checked in any case, which costs next to nothing.

        Returns
        -------
        self
        """
        self._validate_params()
        return self.fit_dataset(self.take_in(X, y, sample_weight, self._choose_class_weight()))

    def fit_dataset(
        self, dataset: Dataset, weights: FloatArray | None = None, *, seed: int | None = None, tree: int = 0
    ) -> Self:
        """Grow the tree on a data set that was read before; the members of an ensemble share its bins.

        Parameters
        ----------
        dataset : Dataset
            From `take_in`; class weights are part of its weights already.
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        seed : int, optional
            Seed in place of `random_state`.
        tree : int, default=0
            Number of the tree in its ensemble: random numbers depend on the seed and on this number.

        Returns
        -------
        self
        """
        grown, importances = self.grow_tree(dataset, weights, seed=seed, tree=tree)
        max_features = count_features(self.tree_settings().max_features, dataset.n_features)
        fitted = {**target_attributes(dataset.target), "max_features_": max_features}
        return self.hold_tree(grown, importances, dataset.schema, fitted)

    def grow_tree(
        self,
        dataset: Dataset,
        weights: FloatArray | None = None,
        *,
        seed: int | None = None,
        tree: int = 0,
        row_weight: float | None = None,
        settings: TreeSettings | None = None,
    ) -> tuple[Trees, FloatArray]:
        """Grow a tree with the parameters of this estimator, without becoming its fitted form.

        Parameters
        ----------
        dataset, weights, seed, tree
            As in `fit_dataset`.
        row_weight : float, optional
            The weight that counts as one row, by default the unit that the weights share.
        settings : TreeSettings, optional
            From `tree_settings`, where they were made before: ensembles grow many trees with the same.

        Returns
        -------
        trees : Trees
            An arena with this tree alone.
        importances : ndarray of shape (n_features,)
            Decrease of impurity by each feature, not normalised.
        """
        weights = dataset.weights if weights is None else weights
        params = self._make_params(dataset, weights, seed, tree, row_weight, settings)
        arrays = make_training_arrays(dataset, self.max_bins, exact=params.exact, n_jobs=params.n_jobs)
        return get_engine().grow_tree(*arrays, weights, params)

    def hold_tree(self, tree: Trees, importances: FloatArray, schema: Schema, fitted: Mapping[str, object]) -> Self:
        """Become the fitted form of a tree that was grown already, here or in an ensemble.

        Parameters
        ----------
        tree : Trees
            An arena with this tree alone.
        importances : ndarray of shape (n_features,)
            Decrease of impurity by each feature, not normalised.
        schema : Schema
            The columns that it was grown on.
        fitted : mapping
            Fitted attributes that tree and ensemble have in common: those of the target, and ``max_features_``.

        Returns
        -------
        self
        """
        view = TreeView(tree, name_criterion(self.criterion))
        self._set_fitted({**fitted, "tree_": view, "_trees": tree, "_importances": importances}, schema)
        return self

    def tree_settings(self) -> TreeSettings:
        """The settings of a tree that the parameters of this estimator give, those that its class fixes included.

        Returns
        -------
        TreeSettings
        """
        return TreeSettings.of(self, **self._fixed)

    def _make_params(
        self,
        dataset: Dataset,
        weights: FloatArray | None,
        seed: int | None,
        tree: int,
        row_weight: float | None = None,
        settings: TreeSettings | None = None,
    ) -> GrowParams:
        settings = self.tree_settings() if settings is None else settings
        if seed is None:
            # Without any seed, equal splits go to the lowest feature, so that a fit can be repeated.
            settings.shuffle_ties = settings.shuffle_ties and settings.random_state is not None
            seed = resolve_seed(settings.random_state)
        return make_grow_params(settings, dataset, weights, seed, tree, row_weight)

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Bunch:
        """Find the values of `ccp_alpha` at which the pruned tree changes [Breiman1984, ch. 3].

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.

        Returns
        -------
        Bunch
            ``ccp_alphas``, ascending, and ``impurities``, the total impurity of the leaves at each.
        """
        self._validate_params()
        dataset = self.take_in(X, y, sample_weight, self._choose_class_weight())
        params = self._make_params(dataset, dataset.weights, None, 0)
        params.ccp_alpha = 0.0
        arrays = make_training_arrays(dataset, self.max_bins, exact=params.exact, n_jobs=params.n_jobs)
        alphas, impurities = get_engine().find_pruning_path(*arrays, dataset.weights, params)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    # Inspection.

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.intp]:
        """Leaf that each row ends in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to find the leaves of.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of nodes, as in `tree_`.
        """
        trees = self.fitted_trees()
        return find_leaves(trees, take_in_rows(self, X, self._schema), self.n_jobs)[:, 0]

    def decision_path(self, X: Any, check_input: bool = True) -> csr_matrix:
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to find the leaves of.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        csr_matrix of shape (n_samples, n_nodes)
            One where the row passes the node.
        """
        leaves = self.apply(X)
        return self.tree_.trace_leaves(leaves)

    def get_depth(self) -> int:
        """Depth of the tree; a root alone has depth 0.

        Returns
        -------
        int
        """
        self.fitted_trees()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
        """
        self.fitted_trees()
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Decrease of impurity by each feature over all splits, normalised to sum 1."""
        self.fitted_trees()
        return normalize_importances(self._schema.sum_features(self._importances, axis=0))


class ClassTree(TreeClassifierMixin, BaseTree):
    """A tree whose leaves hold class weights."""

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Class of each row: the one with the largest weight in its leaf, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if is_on_device(X):
            return super().predict(X)
        tree = self.fitted_trees()
        labels = label_rows(tree, take_in_rows(self, X, self._schema), self.n_jobs)
        if self.n_outputs_ == 1:
            return np.asarray(self.classes_.take(labels[:, 0]))
        return np.stack([classes.take(labels[:, k]) for k, classes in enumerate(self.classes_)], axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> FloatArray | list[FloatArray]:
        """Probability of each class: its share of the weight in the leaf of each row.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        return super().predict_proba(X)


class ValueTree(TreeRegressorMixin, BaseTree):
    """A tree whose leaves hold numbers."""

    def predict(self, X: Any, check_input: bool = True) -> FloatArray:
        """Value of each row: the value of its leaf.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return super().predict(X)
