"""The super learner: the convex combination of members with the least cross-validated loss [VanDerLaan2007]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.ensembles.combining.convex_weights import fit_convex_weights_log_loss, fit_convex_weights_squared_error
from committee.ensembles.combining.member_predictions import sum_weighted
from committee.ensembles.combining.metrics import measure_log_loss, measure_squared_error
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.weighted_ensemble import (
    OutOfFoldPredictions,
    WeightedProbabilities,
    WeightedValues,
    WeightsCv,
    WeightsRefit,
)
from committee.params import MemberTextColumns, NJobs, Verbose

if TYPE_CHECKING:
    pass

__all__ = ["SuperLearnerClassifier", "SuperLearnerRegressor"]

DiscreteWeights: TypeAlias = Annotated[
    bool, "Whether the one member with the least loss gets all the weight (the discrete super learner)."
]


def _fit_convex_weights(out_of_fold: OutOfFoldPredictions, loss: str, discrete: bool) -> dict[str, Any]:
    """Fitted attributes: the convex weights, and the out-of-fold losses of the members and of the mixture."""
    measure, fit_weights = {
        "log_loss": (measure_log_loss, fit_convex_weights_log_loss),
        "squared_error": (measure_squared_error, fit_convex_weights_squared_error),
    }[loss]
    predictions, y_true, weights = out_of_fold.predictions, out_of_fold.y_true, out_of_fold.weights
    risks = np.array([measure(predicted, y_true, weights) for predicted in predictions])
    if discrete:
        member_weights = np.eye(len(risks))[int(risks.argmin())]
    else:
        member_weights = fit_weights(predictions, y_true, weights)
    mean = sum_weighted(member_weights, predictions)
    return {
        "weights_": member_weights,
        "cv_risks_": dict(zip(out_of_fold.names, risks.tolist(), strict=True)),
        "cv_risk_": float(measure(mean, y_true, weights)),
    }


class SuperLearnerClassifier(WeightedProbabilities):
    r"""The convex combination of the members' probabilities with the least out-of-fold loss.

    .. math:: p(k \mid x) = \sum_m w_m p_m(k \mid x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

    Asymptotically it has the loss of the oracle, the convex combination with the least expected loss [VanDerLaan2007].

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped.
    cv_risks_ : dict
        Out-of-fold loss of each member.
    cv_risk_ : float
        That of the combination; slightly optimistic, since the weights minimise it.
    estimators_ : list of estimators
        The fitted members; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee import DecisionTreeClassifier, RandomForestClassifier, SuperLearnerClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("forest", RandomForestClassifier()), ("tree", DecisionTreeClassifier())]
    >>> learner = SuperLearnerClassifier(members, random_state=0).fit(X, y)
    >>> min(learner.cv_risks_, key=learner.cv_risks_.get), learner.cv_risk_ <= min(learner.cv_risks_.values())
    ('forest', True)
    """

    def __init__(
        self,
        estimators: Estimators,
        *,
        loss: Annotated[Literal["log_loss", "squared_error"], "The loss that the weights minimise."] = "log_loss",
        discrete: DiscreteWeights = False,
        cv: WeightsCv = None,
        refit: WeightsRefit = True,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    loss: str
    discrete: DiscreteWeights

    def _fit_weights(self, out_of_fold: OutOfFoldPredictions, seed: int | None) -> dict[str, Any]:
        return _fit_convex_weights(out_of_fold, self.loss, bool(self.discrete))


class SuperLearnerRegressor(WeightedValues):
    r"""The convex combination of the members with the least out-of-fold squared error.

    .. math:: h(x) = \sum_m w_m h_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped.
    cv_risks_ : dict
        Out-of-fold squared error of each member.
    cv_risk_ : float
        That of the combination; slightly optimistic, since the weights minimise it.
    estimators_ : list of estimators
        The fitted members; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, if the members have them.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import RidgeCV
    >>> from committee import RandomForestRegressor, SuperLearnerRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("forest", RandomForestRegressor(random_state=0))]
    >>> SuperLearnerRegressor(members).fit(X, y).weights_.round(1)
    array([0.9, 0.1])
    """

    def __init__(
        self,
        estimators: Estimators,
        *,
        discrete: DiscreteWeights = False,
        cv: WeightsCv = None,
        refit: WeightsRefit = True,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    discrete: DiscreteWeights

    def _fit_weights(self, out_of_fold: OutOfFoldPredictions, seed: int | None) -> dict[str, Any]:
        return _fit_convex_weights(out_of_fold, "squared_error", bool(self.discrete))
