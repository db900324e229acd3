"""Bagging and its relatives: members that are fitted on samples of their own, and their mean [Breiman1996].

With replacement it is bagging, without pasting [Breiman1999], half the rows without replacement subagging
[BuehlmannYu2002], features instead of rows random subspaces [Ho1998], both random patches [LouppeGeurts2012].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import MultiOutputMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from committee.base import ClassifierScoreMixin, RegressorScoreMixin
from committee.ensembles.bagging.base import (
    BagMember,
    BaseBagging,
    ClassSampling,
    MemberFeatures,
    RepeatFeatures,
    ValueSampling,
    members_have,
)
from committee.ensembles.prediction_sets import PredictionSetMixin
from committee.exceptions import DataError
from committee.learners.tree_estimator import split_outputs
from committee.losses import apply_log
from committee.params import (
    MaxSamples,
    MemberTextColumns,
    NEstimators,
    NJobs,
    OobPatience,
    OobScore,
    OobTol,
    RandomState,
    Verbose,
    WarmStart,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from committee.typing import FloatArray

__all__ = ["BaggingClassifier", "BaggingRegressor"]


class BaggingClassifier(PredictionSetMixin, ClassifierScoreMixin, MultiOutputMixin, BaseBagging):  # type: ignore[misc]
    """Classifiers that vote, each fitted on a sample of its own [Breiman1996].

    Members with `predict_proba` vote with probabilities (soft voting), others with their class. Members learn the
    numbers of the classes, 0 to K - 1, in the order of ``classes_``.

    Attributes
    ----------
    estimator_ : estimator
        The estimator that the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members. Each takes its own features only.
    estimators_samples_, estimators_features_ : list of ndarray
        Rows and features of each member.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_classes_ : int, or ndarray with several outputs
        Number of classes.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    oob_score_ : float
        Score of the out-of-bag votes.
    oob_decision_function_ : ndarray of shape (n_samples, n_classes)
        Mean vote of the members for which a row is out of bag; NaN where there is none.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, for several of these numbers.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from committee import BaggingClassifier
    >>> X, y = make_moons(500, noise=0.3, random_state=42)
    >>> bag = BaggingClassifier(n_estimators=500, max_samples=100, oob_score=True, random_state=0).fit(X, y)
    >>> round(bag.oob_score_, 1)
    0.9

    Of members from elsewhere, on random patches:

    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> bag = BaggingClassifier(KNeighborsClassifier(), max_samples=0.5, max_features=0.5, random_state=0).fit(X, y)
    >>> [features.tolist() for features in bag.estimators_features_[:3]]
    [[1], [0], [0]]
    """

    _task = "classify"

    classes_: Any
    n_classes_: Any

    def __init__(
        self,
        estimator: BagMember = None,
        n_estimators: NEstimators = 10,
        *,
        max_samples: MaxSamples = None,
        max_features: MemberFeatures = 1.0,
        bootstrap: ClassSampling = True,
        bootstrap_features: RepeatFeatures = False,
        oob_score: OobScore = False,
        warm_start: WarmStart = False,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
    ) -> None:
        self._store_params(locals())

    def predict(self, X: Any, **params: object) -> NDArray[Any]:
        """Class of each row: that of the largest mean vote, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        **params
            Other arguments of the members' method, if metadata routing is enabled.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        probabilities = self._average_members(X, "predict", params)
        if self.n_outputs_ == 1:
            return np.asarray(self.classes_.take(probabilities.argmax(axis=1)))
        outputs = zip(self.classes_, split_outputs(probabilities, self.n_classes_), strict=True)
        return np.stack([classes.take(output.argmax(axis=1)) for classes, output in outputs], axis=1)

    def predict_proba(self, X: Any, **params: object) -> FloatArray | list[FloatArray]:
        """Mean of the members' probabilities, or fractions of their votes if they have none.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        **params
            Other arguments of the members' method, if metadata routing is enabled.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), or a list of them, one for each of several outputs
            Columns in the order of ``classes_``.
        """
        probabilities = self._average_members(X, "predict_proba", params)
        return probabilities if self.n_outputs_ == 1 else split_outputs(probabilities, self.n_classes_)

    def predict_log_proba(self, X: Any, **params: object) -> FloatArray | list[FloatArray]:
        """Logarithm of `predict_proba`; minus infinity where no member votes for a class.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        **params
            Other arguments of the members' method, if metadata routing is enabled.

        Returns
        -------
        As `predict_proba`.
        """
        probabilities = self._average_members(X, "predict_log_proba", params)
        if self.n_outputs_ == 1:
            return apply_log(probabilities)
        return [apply_log(p) for p in split_outputs(probabilities, self.n_classes_)]

    @available_if(members_have("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: Any, **params: object) -> FloatArray:
        """Mean of the members' decision functions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        **params
            Other arguments of the members' method, if metadata routing is enabled.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
        """
        for member in self.estimators_:
            if len(member.classes_) != self.n_classes_:
                raise DataError(
                    "A member's sample lacked a class, so that its decision function is about other classes; use "
                    "bootstrap='stratified' or predict_proba."
                )
        return self._average_members(X, "decision_function", params)

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        own = get_tags(self._choose_member())
        if own.classifier_tags is not None:
            tags.classifier_tags.multi_label = own.classifier_tags.multi_label
        tags.target_tags.multi_output = own.target_tags.multi_output
        return tags


class BaggingRegressor(RegressorScoreMixin, MultiOutputMixin, BaseBagging):  # type: ignore[misc]
    """The mean of regressors, each fitted on a sample of its own [Breiman1996].

    Attributes
    ----------
    estimator_ : estimator
        The estimator that the members were cloned from.
    estimators_ : sequence of estimators
        The fitted members. Each takes its own features only.
    estimators_samples_, estimators_features_ : list of ndarray
        Rows and features of each member.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where X had names.
    oob_score_ : float
        Score of the out-of-bag means.
    oob_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Mean of the members for which a row is out of bag; NaN where there is none.
    oob_trace_ : Bunch
        ``score`` after ``n_estimators`` members, for several of these numbers.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import BaggingRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> bag = BaggingRegressor(n_estimators=200, bootstrap="subagging", oob_score=True, random_state=0).fit(X, y)
    >>> 0.3 < bag.oob_score_ < 0.6
    True
    """

    _task = "regress"

    def __init__(
        self,
        estimator: BagMember = None,
        n_estimators: NEstimators = 10,
        *,
        max_samples: MaxSamples = None,
        max_features: MemberFeatures = 1.0,
        bootstrap: ValueSampling = True,
        bootstrap_features: RepeatFeatures = False,
        oob_score: OobScore = False,
        warm_start: WarmStart = False,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        random_state: RandomState = None,
        verbose: Verbose = 0,
        oob_tol: OobTol = 0.0,
        oob_patience: OobPatience = None,
    ) -> None:
        self._store_params(locals())

    def predict(self, X: Any, **params: object) -> FloatArray:
        """Mean of the members' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        **params
            Other arguments of the members' method, if metadata routing is enabled.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        values = self._average_members(X, "predict", params)
        return values[:, 0] if self.n_outputs_ == 1 else values

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = get_tags(self._choose_member()).target_tags.multi_output
        return tags
