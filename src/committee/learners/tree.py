"""Decision trees and extremely randomised trees [Breiman1984, Geurts2006]: the four constructors."""

from __future__ import annotations

from committee.learners.tree_base import ClassTree, ValueTree
from committee.params import (
    CategoricalFeatures,
    CcpAlpha,
    ClassCriterion,
    ClassWeight,
    Exact,
    InteractionCst,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MinImpurityDecrease,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    MonotonicCst,
    NJobs,
    Splitter,
    TextColumns,
    TreeRandomState,
    Unseen,
    ValueCriterion,
)

__all__ = ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"]


class DecisionTreeClassifier(ClassTree):
    """A decision tree for classification.

    Attributes
    ----------
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_classes_ : int, or ndarray with several outputs
        Number of classes.
    n_outputs_, n_features_in_, max_features_ : int
        Outputs, features, and features drawn at each node.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    tree_ : TreeView
        The nodes of the tree as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> tree = DecisionTreeClassifier(max_depth=2, random_state=0).fit(X, y)
    >>> round(tree.score(X, y), 2)
    0.96
    """

    def __init__(
        self,
        *,
        criterion: ClassCriterion = "gini",
        splitter: Splitter = "best",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = None,
        random_state: TreeRandomState = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        class_weight: ClassWeight = None,
        ccp_alpha: CcpAlpha = 0.0,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())


class DecisionTreeRegressor(ValueTree):
    """A decision tree for regression.

    Attributes
    ----------
    n_outputs_, n_features_in_, max_features_ : int
        Outputs, features, and features drawn at each node.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    tree_ : TreeView
        The nodes of the tree as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> tree = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, y)
    >>> round(tree.score(X, y), 2)
    0.5
    """

    def __init__(
        self,
        *,
        criterion: ValueCriterion = "squared_error",
        splitter: Splitter = "best",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = None,
        random_state: TreeRandomState = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        ccp_alpha: CcpAlpha = 0.0,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())


class ExtraTreeClassifier(ClassTree):
    """An extremely randomised tree for classification: each split is the best of a few random ones [Geurts2006].

    It is meant as a member of an ensemble.

    Attributes
    ----------
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_classes_ : int, or ndarray with several outputs
        Number of classes.
    n_outputs_, n_features_in_, max_features_ : int
        Outputs, features, and features drawn at each node.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    tree_ : TreeView
        The nodes of the tree as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ExtraTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreeClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        criterion: ClassCriterion = "gini",
        splitter: Splitter = "random",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = "sqrt",
        random_state: TreeRandomState = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        class_weight: ClassWeight = None,
        ccp_alpha: CcpAlpha = 0.0,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())


class ExtraTreeRegressor(ValueTree):
    """An extremely randomised tree for regression: each split is the best of a few random ones [Geurts2006].

    It is meant as a member of an ensemble.

    Attributes
    ----------
    n_outputs_, n_features_in_, max_features_ : int
        Outputs, features, and features drawn at each node.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    tree_ : TreeView
        The nodes of the tree as arrays.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import ExtraTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> ExtraTreeRegressor(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    def __init__(
        self,
        *,
        criterion: ValueCriterion = "squared_error",
        splitter: Splitter = "random",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = 1.0,
        random_state: TreeRandomState = None,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        ccp_alpha: CcpAlpha = 0.0,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        n_jobs: NJobs = None,
    ) -> None:
        self._store_params(locals())
