"""The AutoML estimators, for classification and regression."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from committee.automatic.base import BaseCommittee
from committee.automatic.intervals import find_half_width
from committee.automatic.params import (
    Combine,
    CommitteeCv,
    CommitteeMetric,
    CommitteeTextColumns,
    ExtraMembers,
    MaxLatency,
    NMembers,
    Portfolio,
    PresetName,
    TimeBudget,
)
from committee.base import ClassifierScoreMixin, RegressorScoreMixin
from committee.params import CategoricalFeatures, ClassWeight, NJobs, RandomState, Unseen, Verbose
from committee.value_checks import read_coverage

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = ["CommitteeClassifier", "CommitteeRegressor"]


class CommitteeClassifier(ClassifierScoreMixin, BaseCommittee):
    """An AutoML estimator that selects, fits and weights models within a time budget.

    The portfolio has gradient boosting, extra-trees and forests; a linear model, a kernel machine, nearest neighbours
    and naive Bayes on encoded features; with the preset ``"best"`` also boosting with random thresholds and of
    symmetric trees, networks and a second layer; linear and naive Bayes models of the words in columns of text. Each
    model predicts rows that it was not fitted on, out of fold or out of bag. Greedy selection [Caruana2004] or convex
    weights combine these predictions, and the prediction is the weighted mean of the members' probabilities. The score
    on new rows is estimated by nested cross-validation, with weights that are fitted without the predicted rows.

    Attributes
    ----------
    score_estimate_ : float, or ndarray of shape (n_outputs,) of several targets
        Nested estimate of the metric on new rows, larger for better. It is computed from predictions of rows that
        neither the members nor their weights were fitted on.
    score_error_ : float or ndarray
        Its standard error over rows (or groups); NaN if there is only one.
    oof_decision_function_ : ndarray of shape (n_samples, n_classes), or a list of such arrays
        Probabilities of the training rows, by members and weights that were not fitted on them; NaN for rows without.
    leaderboard_ : list of dict
        A row for each model that was fitted, the best first: ``name``, ``rounds`` (of boosting in its best stage; None
        for others), out-of-fold ``score`` and its standard ``error``, ``seconds``, ``weight`` (the sum over all stages,
        each of which may have weight); of several targets its number as ``target``. The model ``prior`` predicts the
        frequencies of the classes; it has weight with the default metric only.
    score_trace_ : list of dict
        The ``score`` and its standard ``error`` after each model, by ``name``, in the order of the fits. Weights are
        fitted to one half of the rows and scored on the other; on a sample if there are more than 1,000 rows.
    skipped_members_ : list of str
        Members that suit the table and were not fitted: the time budget was over, or a callback ended the fit.
    estimators_ : list of estimators
        The fitted members with positive weight. Of several targets a committee for each, fitted as if the target were
        alone; its members, weights and trace are its own.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum one.
    latency_us_ : float
        Microseconds that they take to predict one row; only with ``max_latency_us``.
    power_ : float
        The power that mean probabilities are raised to before they are normalised, since a mean of probabilities is
        underconfident. Fitted to out-of-fold predictions for the default metric, one for others.
    classes_ : ndarray, or a list of ndarrays
        The classes, sorted; of each of several targets.
    n_outputs_ : int
        The number of targets, if there are several.
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

    oof_decision_function_: Any

    def __init__(
        self,
        *,
        preset: PresetName = "balanced",
        n_members: NMembers = None,
        time_budget: TimeBudget = None,
        metric: CommitteeMetric = None,
        combine: Combine = "selection",
        portfolio: Portfolio = None,
        extra_members: ExtraMembers = None,
        max_latency_us: MaxLatency = None,
        cv: CommitteeCv = None,
        class_weight: ClassWeight = None,
        text_columns: CommitteeTextColumns = "auto",
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
    ) -> None:
        self._store_params(locals())

    def predict_proba(self, X: Any) -> Any:
        """Weighted mean of the members' probabilities, sharpened by ``power_``.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``. With several targets a list of such arrays.
        """
        if self._has_several():
            return [output.predict_proba(X) for output in self._outputs]
        return self._average(X)

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class of each row, the first of equals.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        if self._has_several():
            return self._stack_predictions(X)
        probabilities = self._average(X)
        return np.asarray(self.classes_.take(probabilities.argmax(axis=1)))


class CommitteeRegressor(RegressorScoreMixin, BaseCommittee):
    """An AutoML estimator for regression that selects, fits and weights models within a time budget.

    As `CommitteeClassifier`: the prediction is the weighted mean of the members' values. If the target is positive with
    a long right tail, shallow boosting is fitted to its logarithm, and gets weight if that is better out of fold.

    Attributes
    ----------
    score_estimate_ : float, or ndarray of shape (n_outputs,) of several targets
        Nested estimate of the metric on new rows, larger for better. It is computed from predictions of rows that
        neither the members nor their weights were fitted on.
    score_error_ : float or ndarray
        Its standard error over rows (or groups); NaN if there is only one.
    oof_prediction_ : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        Predictions of the training rows, by members and weights that were not fitted on them; NaN for rows without.
    leaderboard_ : list of dict
        A row for each model that was fitted, the best first: ``name``, ``rounds`` (of boosting in its best stage; None
        for others), out-of-fold ``score`` and its standard ``error``, ``seconds``, ``weight`` (the sum over all stages,
        each of which may have weight); of several targets its number as ``target``. The model ``prior`` predicts the
        mean; it has weight with the default metric only.
    score_trace_ : list of dict
        The ``score`` and its standard ``error`` after each model, by ``name``, in the order of the fits. Weights are
        fitted to one half of the rows and scored on the other; on a sample if there are more than 1,000 rows.
    skipped_members_ : list of str
        Members that suit the table and were not fitted: the time budget was over, or a callback ended the fit.
    estimators_ : list of estimators
        The fitted members with positive weight. Of several targets a committee for each, fitted as if the target were
        alone; its members, weights and trace are its own.
    weights_ : ndarray of shape (n_members,)
        Their weights, with sum one.
    latency_us_ : float
        Microseconds that they take to predict one row; only with ``max_latency_us``.
    n_outputs_ : int
        The number of targets, if there are several.
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
        preset: PresetName = "balanced",
        n_members: NMembers = None,
        time_budget: TimeBudget = None,
        metric: CommitteeMetric = None,
        combine: Combine = "selection",
        portfolio: Portfolio = None,
        extra_members: ExtraMembers = None,
        max_latency_us: MaxLatency = None,
        cv: CommitteeCv = None,
        text_columns: CommitteeTextColumns = "auto",
        categorical_features: CategoricalFeatures = "from_dtype",
        unseen: Unseen = "missing",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: RandomState = None,
    ) -> None:
        self._store_params(locals())

    def predict(self, X: Any) -> FloatArray:
        """Weighted mean of the members' predictions.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
        """
        return self._stack_predictions(X) if self._has_several() else self._average(X)[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> FloatArray:
        """Prediction interval of each row: the prediction plus and minus a quantile of the out-of-fold errors.

        If the rows are exchangeable, the interval contains the target with a probability close to ``coverage``: the
        errors are out of fold, as in the cross-validation intervals that [Barber2021] starts from. All intervals have
        the same width.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            In (0, 1).

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, 2, n_outputs)
            Lower and upper ends; infinite if there were too few training rows for the coverage. Of several targets each
            has the coverage by itself.
        """
        if self._has_several():
            return np.stack([output.predict_interval(X, coverage) for output in self._outputs], axis=2)
        wanted = read_coverage(coverage)
        values = self.predict(X)
        half_width = find_half_width(self._oof_errors, wanted)
        return np.column_stack([values - half_width, values + half_width])
