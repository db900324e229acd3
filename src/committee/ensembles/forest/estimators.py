"""Random forests and extremely randomised trees [Breiman2001, Geurts2006]: the four constructors."""

from __future__ import annotations

from typing import ClassVar

from committee.ensembles.forest.predictions import ClassForest, ValueForest
from committee.learners.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)
from committee.params import (
    Calibration,
    CategoricalFeatures,
    CcpAlpha,
    ClassBootstrap,
    ClassCriterion,
    Exact,
    ForestClassWeight,
    ForestEngine,
    InteractionCst,
    KeepLeafSamples,
    MaxBins,
    MaxDepth,
    MaxFeatures,
    MaxLeafNodes,
    MaxSamples,
    MinImpurityDecrease,
    MinSamplesLeaf,
    MinSamplesSplit,
    MinWeightFractionLeaf,
    MonotonicCst,
    NEstimators,
    NJobs,
    OobPatience,
    OobScore,
    OobTol,
    RandomState,
    TextColumns,
    Unseen,
    ValueBootstrap,
    ValueCriterion,
    Verbose,
    WarmStart,
)

__all__ = ["ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"]


class RandomForestClassifier(ClassForest):
    """A random forest classifier: trees on bootstrap samples, each split the best over a few random features.

    The forest predicts the class with the largest mean probability over its trees [Breiman2001].

    Attributes
    ----------
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_classes_ : int, or ndarray with several outputs
        Number of classes.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    estimators_ : sequence of DecisionTreeClassifier
        The trees; each is built when it is accessed.
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    estimator_ : DecisionTreeClassifier
        A tree with the parameters that all members have, not fitted.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.
    oob_score_ : float
        Score of the out-of-bag predictions, of rows that have one.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, as arrays.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_classes, n_outputs)
        Out-of-bag class probabilities of each training row; NaN where it is in every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(oob_score=True, random_state=0).fit(X, y)
    >>> len(forest.estimators_), forest.oob_score_ > 0.9
    (100, True)
    """

    accepts_device: ClassVar[bool] = True
    _splitter = "best"
    _member = DecisionTreeClassifier

    def __init__(
        self,
        n_estimators: NEstimators = 100,
        *,
        criterion: ClassCriterion = "gini",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        bootstrap: ClassBootstrap = True,
        oob_score: OobScore = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        class_weight: ForestClassWeight = None,
        ccp_alpha: CcpAlpha = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
        calibration: Calibration = None,
        engine: ForestEngine = "cpu",
    ) -> None:
        self._store_params(locals())


class RandomForestRegressor(ValueForest):
    """A random forest regressor: the mean of trees on bootstrap samples.

    Each split is the best over ``max_features`` random features [Breiman2001].

    Attributes
    ----------
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    estimators_ : sequence of DecisionTreeRegressor
        The trees; each is built when it is accessed.
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    estimator_ : DecisionTreeRegressor
        A tree with the parameters that all members have, not fitted.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.
    oob_score_ : float
        Score of the out-of-bag predictions, of rows that have one.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, as arrays.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag prediction for each training row; NaN where it is in every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(oob_score=True, random_state=0).fit(X, y)
    >>> 0.35 < forest.oob_score_ < 0.5
    True
    """

    accepts_device: ClassVar[bool] = True
    _splitter = "best"
    _member = DecisionTreeRegressor

    def __init__(
        self,
        n_estimators: NEstimators = 100,
        *,
        criterion: ValueCriterion = "squared_error",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        bootstrap: ValueBootstrap = True,
        oob_score: OobScore = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        ccp_alpha: CcpAlpha = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
        keep_leaf_samples: KeepLeafSamples = False,
        engine: ForestEngine = "cpu",
    ) -> None:
        self._store_params(locals())


class ExtraTreesClassifier(ClassForest):
    """Extremely randomised trees for classification: each split is the best of a few random thresholds.

    By default every tree is grown on all rows [Geurts2006].

    Attributes
    ----------
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_classes_ : int, or ndarray with several outputs
        Number of classes.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    estimators_ : sequence of ExtraTreeClassifier
        The trees; each is built when it is accessed.
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    estimator_ : ExtraTreeClassifier
        A tree with the parameters that all members have, not fitted.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.
    oob_score_ : float
        Score of the out-of-bag predictions, of rows that have one.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, as arrays.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes) or (n_samples, n_classes, n_outputs)
        Out-of-bag class probabilities of each training row; NaN where it is in every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> ExtraTreesClassifier(random_state=0).fit(X, y).score(X, y)
    1.0
    """

    accepts_device: ClassVar[bool] = True
    _splitter = "random"
    _member = ExtraTreeClassifier

    def __init__(
        self,
        n_estimators: NEstimators = 100,
        *,
        criterion: ClassCriterion = "gini",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = "sqrt",
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        bootstrap: ClassBootstrap = False,
        oob_score: OobScore = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        class_weight: ForestClassWeight = None,
        ccp_alpha: CcpAlpha = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
        calibration: Calibration = None,
        engine: ForestEngine = "cpu",
    ) -> None:
        self._store_params(locals())


class ExtraTreesRegressor(ValueForest):
    """Extremely randomised trees for regression: each split is the best of a few random thresholds.

    By default every tree is grown on all rows [Geurts2006].

    Attributes
    ----------
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    estimators_ : sequence of ExtraTreeRegressor
        The trees; each is built when it is accessed.
    estimators_samples_ : list of ndarray
        Rows in the sample of each tree, drawn again at each access.
    estimator_ : ExtraTreeRegressor
        A tree with the parameters that all members have, not fitted.
    feature_importances_ : ndarray of shape (n_features,)
        Decrease of impurity by each feature, normalised to sum 1.
    oob_score_ : float
        Score of the out-of-bag predictions, of rows that have one.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, as arrays.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Out-of-bag prediction for each training row; NaN where it is in every sample.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> round(ExtraTreesRegressor(random_state=0).fit(X, y).score(X, y), 6)
    1.0
    """

    accepts_device: ClassVar[bool] = True
    _splitter = "random"
    _member = ExtraTreeRegressor

    def __init__(
        self,
        n_estimators: NEstimators = 100,
        *,
        criterion: ValueCriterion = "squared_error",
        max_depth: MaxDepth = None,
        min_samples_split: MinSamplesSplit = 2,
        min_samples_leaf: MinSamplesLeaf = 1,
        min_weight_fraction_leaf: MinWeightFractionLeaf = 0.0,
        max_features: MaxFeatures = 1.0,
        max_leaf_nodes: MaxLeafNodes = None,
        min_impurity_decrease: MinImpurityDecrease = 0.0,
        bootstrap: ValueBootstrap = False,
        oob_score: OobScore = False,
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        warm_start: WarmStart = False,
        ccp_alpha: CcpAlpha = 0.0,
        max_samples: MaxSamples = None,
        monotonic_cst: MonotonicCst = None,
        exact: Exact = False,
        max_bins: MaxBins = 255,
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        text_columns: TextColumns = "auto",
        interaction_cst: InteractionCst = None,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
        keep_leaf_samples: KeepLeafSamples = False,
        engine: ForestEngine = "cpu",
    ) -> None:
        self._store_params(locals())
