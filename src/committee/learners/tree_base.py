"""What all trees share: from parameters and data to the engine, the fitted state, ways of looking inside."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.metadata_routing import UNUSED

from committee.base import resolve_seed
from committee.engines import get_engine
from committee.learners.tree_estimator import TreeClassifierMixin, TreeEstimator, TreeRegressorMixin
from committee.learners.tree_params import TreeSettings, count_features, name_criterion, set_up_growth
from committee.learners.tree_view import TreeView, normalize_importances

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from numpy.typing import NDArray
    from scipy.sparse import csr_matrix

    from committee.data import Dataset, Schema
    from committee.typing import FloatArray


class BaseTree(TreeEstimator):
    """All that trees share: parameters to the engine, fitted state, ways of looking inside.

    A subclass says which settings of a tree it fixes (`_fixed`) rather than taking them as parameters.
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, check_input: bool = True) -> Self:
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
        return self.fit_dataset(self._take_in_tree(X, y, sample_weight))

    def fit_dataset(
        self, dataset: Dataset, weights: FloatArray | None = None, *, seed: int | None = None, tree: int = 0
    ) -> Self:
        """Grow the tree on data that were taken in before; ensembles share one data set, and its bins, so.

        Parameters
        ----------
        dataset : Dataset
            From `committee.data.intake.take_in`; class weights are in its weights already.
        weights : ndarray of shape (n_samples,), optional
            Row weights in place of the data set's own.
        seed : int, optional
            Seed in place of `random_state`.
        tree : int, default=0
            Number of the tree in its ensemble: one seed gives every number randomness of its own.

        Returns
        -------
        self
        """
        weights = dataset.weights if weights is None else weights
        settings = self._gather_settings(seeded=seed is not None)
        seed = resolve_seed(settings.random_state) if seed is None else seed
        params = set_up_growth(settings, dataset, weights, seed, tree)
        trees, importances = self._put_to(get_engine().grow_tree, dataset, weights, params)
        settled = {
            **self._target_attributes(dataset.target),
            "max_features_": count_features(settings.max_features, dataset.n_features),
        }
        return self.hold_tree(trees, importances, dataset.schema, settled)

    def hold_tree(self, tree: Any, importances: FloatArray, schema: Schema, settled: Mapping[str, Any]) -> Self:
        """Become the fitted form of a tree that was grown already, here or in an ensemble.

        Parameters
        ----------
        tree : Trees
            An arena with this tree alone.
        importances : ndarray of shape (n_features,)
            Decrease of impurity that each feature brought, not normalised.
        schema : Schema
            The columns that it was grown on.
        settled : mapping
            Fitted attributes that tree and ensemble have alike: those of the target, and ``max_features_``.

        Returns
        -------
        self
        """
        view = TreeView(tree, name_criterion(self.criterion))
        self._set_fitted({**settled, "tree_": view, "_trees": tree, "_importances": importances}, schema)
        return self

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> Bunch:
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
        dataset = self._take_in_tree(X, y, sample_weight)
        settings = self._gather_settings(seeded=False)
        params = set_up_growth(settings, dataset, dataset.weights, resolve_seed(settings.random_state))
        params.ccp_alpha = 0.0
        alphas, impurities = self._put_to(get_engine().find_pruning_path, dataset, dataset.weights, params)
        return Bunch(ccp_alphas=alphas, impurities=impurities)

    def _gather_settings(self, seeded: bool) -> TreeSettings:
        """What the tree is told; without a seed of its own or of an ensemble, ties are not left to chance."""
        settings = TreeSettings.of(self, **self._fixed)
        settings.shuffle_ties = settings.shuffle_ties and (seeded or settings.random_state is not None)
        return settings

    def _take_in_tree(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        self._validate_params()
        return self._take_in(X, y, sample_weight, self._choose_class_weight())

    # Asking the fitted tree.

    def apply(self, X: Any, check_input: bool = True) -> NDArray[np.intp]:
        """Leaf that each row ends in.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to look up.
        check_input : bool, default=True
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Numbers of nodes, as in `tree_`.
        """
        leaves = self._ask(X, self._fitted_trees().apply)
        return leaves[:, 0].astype(np.intp)

    def decision_path(self, X: Any, check_input: bool = True) -> csr_matrix:
        """Nodes that each row passes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to look up.
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
        self._fitted_trees()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves.

        Returns
        -------
        int
        """
        self._fitted_trees()
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> FloatArray:
        """Share of each feature in the decrease of impurity over all splits."""
        self._fitted_trees()
        return normalize_importances(self._importances)

    def category_names(self, feature: int) -> list[Any]:
        """Categories of a feature in the order of their codes; empty for a numeric feature."""
        self._fitted_trees()
        levels = self._schema.categories[feature]
        return [] if levels is None else list(levels)


class ClassTree(TreeClassifierMixin, BaseTree):
    """A tree whose leaves hold class weights."""

    def predict(self, X: Any, check_input: bool = True) -> NDArray[Any]:
        """Class of each row: the heaviest one in its leaf, the first of equals.

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
        labels = self._ask(X, self._fitted_trees().label)
        if self.n_outputs_ == 1:
            return self.classes_.take(labels[:, 0])  # type: ignore[no-any-return]
        return np.stack([classes.take(labels[:, k]) for k, classes in enumerate(self.classes_)], axis=1)

    def predict_proba(self, X: Any, check_input: bool = True) -> FloatArray | list[FloatArray]:
        """Share of each class in the leaf of each row.

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
        """Value of each row: that of its leaf.

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
