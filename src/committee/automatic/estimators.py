"""The automatic committees: give them a table and, if you like, a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin

from committee.automatic.base import (
    BaseCommittee,
    Combine,
    Folds_,
    Metric,
    NMembers,
    Portfolio,
    TextColumns,
    TimeBudget,
)
from committee.automatic.intervals import find_margin
from committee.exceptions import DataError
from committee.params import CategoricalFeatures, ClassWeight, NJobs, RandomState, Unseen, Verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["CommitteeClassifier", "CommitteeRegressor"]


class CommitteeClassifier(ClassifierMixin, BaseCommittee):  # type: ignore[misc]
    """A committee that puts itself together: give it a table and, if you like, a budget.

    Members of a portfolio (gradient boosting, extra-trees and forests; a linear model, a kernel machine, nearest
    neighbours and naive Bayes on encoded features; linear and naive Bayes models of the words in columns of text)
    answer for rows that they have not seen, out of fold or out of bag. Greedy selection [Caruana2004] or a convex
    mixture turns these answers into weights, and the committee answers with the weighted mean of the members'
    probabilities. What it will score on fresh rows is estimated by weights learnt without the rows that they are tested
    on.

    Attributes
    ----------
    score_estimate_ : float
        Nested estimate of the metric on fresh rows, larger for better. The mean of out-of-fold answers is tested on
        rows that neither its members nor its weights have seen.
    score_error_ : float
        Its standard error over rows (or groups); NaN where there is but one.
    oof_decision_function_ : ndarray of shape (n_samples, n_classes)
        Probabilities of the training rows, by members and weights that have not seen them; NaN where there are none.
    leaderboard_ : list of dict
        A row for each member that was fitted, the best first: ``name``, ``rounds`` (of boosting in its best stage; None
        for others), out-of-fold ``score`` and its standard ``error``, ``seconds``, ``weight`` (of all stages together,
        each of which may be chosen). The member ``prior`` knows the frequencies of the classes only; it has weight with
        the default metric alone.
    estimators_ : list of estimators
        The fitted members with positive weight.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum one.
    power_ : float
        The power that mean shares are raised to before they are made to sum to one: a mean is less sure of itself than
        it may be. Learnt from out-of-fold answers for the default metric, one for others.
    classes_ : ndarray
        The classes, sorted.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if all have one.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import CommitteeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CommitteeClassifier(metric="roc_auc", n_members=3, random_state=0).fit(X[::2], y[::2])
    >>> model.score_estimate_ > 0.97, model.score_error_ < 0.02
    (True, True)
    >>> model.score(X[1::2], y[1::2]) > 0.95
    True
    """

    _task = "classify"

    classes_: NDArray[Any]
    oof_decision_function_: FloatArray

    def __init__(
        self,
        *,
        n_members: NMembers = None,
        time_budget: TimeBudget = None,
        metric: Metric = None,
        combine: Combine = "selection",
        portfolio: Portfolio = None,
        cv: Folds_ = None,
        class_weight: ClassWeight = None,
        text_columns: TextColumns = "auto",
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
    ) -> None:
        self._store_params(locals())

    def predict_proba(self, X: Any) -> FloatArray:
        """Weighted mean of the members' probabilities, sharpened by ``power_``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._average(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        shares = self._average(X)
        return np.asarray(self.classes_.take(shares.argmax(axis=1)))


class CommitteeRegressor(RegressorMixin, BaseCommittee):  # type: ignore[misc]
    """A committee for numbers that puts itself together: give it a table and, if you like, a budget.

    As `CommitteeClassifier`: the weighted mean of the members' values. Where these are positive with a long tail to the
    right, shallow boosting learns their logarithm, and has weight where that is better out of fold.

    Attributes
    ----------
    score_estimate_ : float
        Nested estimate of the metric on fresh rows, larger for better. The mean of out-of-fold answers is tested on
        rows that neither its members nor its weights have seen.
    score_error_ : float
        Its standard error over rows (or groups); NaN where there is but one.
    oof_prediction_ : ndarray of shape (n_samples,)
        Values of the training rows, by members and weights that have not seen them; NaN where there are none.
    leaderboard_ : list of dict
        A row for each member that was fitted, the best first: ``name``, ``rounds`` (of boosting in its best stage; None
        for others), out-of-fold ``score`` and its standard ``error``, ``seconds``, ``weight`` (of all stages together,
        each of which may be chosen). The member ``prior`` knows the mean only; it has weight with the default metric
        alone.
    estimators_ : list of estimators
        The fitted members with positive weight.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum one.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if all have one.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import CommitteeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = CommitteeRegressor(n_members=3, random_state=0).fit(X, y)
    >>> 50.0 < -model.score_estimate_ < 60.0
    True
    >>> [row["name"] for row in model.leaderboard_][-1]
    'prior'
    """

    _task = "regress"

    oof_prediction_: FloatArray
    _oof_errors: FloatArray

    def __init__(
        self,
        *,
        n_members: NMembers = None,
        time_budget: TimeBudget = None,
        metric: Metric = None,
        combine: Combine = "selection",
        portfolio: Portfolio = None,
        cv: Folds_ = None,
        text_columns: TextColumns = "auto",
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
    ) -> None:
        self._store_params(locals())

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of what the members say.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        return self._average(X)[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Interval for the target of each row: the prediction, and to both sides how far it was off out of fold.

        If the rows are exchangeable the interval holds the target with a probability close to ``coverage``: the
        errors are those of committees that had not seen their rows, as in the cross-validated intervals that
        [Barber2021] starts from. It is as wide everywhere.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, 2)
            Lower and upper ends; infinite where there were too few training rows for such a coverage.
        """
        if not 0.0 < coverage < 1.0:
            raise DataError(f"coverage must be in (0, 1); got {coverage!r}.")
        values = self.predict(X)
        margin = find_margin(self._oof_errors, float(coverage))
        return np.column_stack([values - margin, values + margin])
