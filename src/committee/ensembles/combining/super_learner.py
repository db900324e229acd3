"""The super learner: the convex combination of members with the least cross-validated loss [VanDerLaan2007]."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import numpy as np

from committee.ensembles.combining.convex_weights import blend_by_least_squares, blend_by_log_loss
from committee.ensembles.combining.metrics import measure_log_loss, measure_squared_error
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.weighted_ensemble import (
    BlendCv,
    BlendRefit,
    Evidence,
    WeightedProbabilities,
    WeightedValues,
)
from committee.params import NJobs, Verbose

if TYPE_CHECKING:
    from committee.typing import FloatArray

__all__ = ["SuperLearnerClassifier", "SuperLearnerRegressor"]

Discrete: TypeAlias = Annotated[
    bool, "Whether the one member with the least loss gets all the weight (the discrete super learner)."
]


def _learn_weights(evidence: Evidence, loss: str, discrete: bool) -> dict[str, Any]:
    measure, blend = {
        "log_loss": (measure_log_loss, blend_by_log_loss),
        "squared_error": (measure_squared_error, blend_by_least_squares),
    }[loss]
    risks = np.array([measure(said, evidence.goal, evidence.weights) for said in evidence.answers])
    if discrete:
        weights = np.eye(len(risks))[int(risks.argmin())]
    else:
        weights = blend(evidence.answers, evidence.goal, evidence.weights)
    mean: FloatArray = np.einsum("m,mrc->rc", weights, np.stack(evidence.answers))
    return {
        "weights_": weights,
        "cv_risks_": dict(zip(evidence.names, risks.tolist(), strict=True)),
        "cv_risk_": float(measure(mean, evidence.goal, evidence.weights)),
    }


class SuperLearnerClassifier(WeightedProbabilities):
    r"""The mixture of members' probabilities with the least loss on out-of-fold answers.

    .. math:: p(k \mid x) = \sum_m w_m p_m(k \mid x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

    Asymptotically it is as good as the best mixture that could have been chosen with the truth at hand
    [VanDerLaan2007].

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped.
    cv_risks_ : dict
        Out-of-fold loss of each member.
    cv_risk_ : float
        That of the mixture; a little too good, since the weights were chosen by it.
    estimators_ : list of estimators
        The fitted members; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    classes_ : ndarray, or a list of them with several outputs
        The classes, sorted.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

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
        loss: Annotated[Literal["log_loss", "squared_error"], "What the weights make least."] = "log_loss",
        discrete: Discrete = False,
        cv: BlendCv = None,
        refit: BlendRefit = True,
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    loss: str
    discrete: Discrete

    def _learn(self, evidence: Evidence, seed: int | None) -> dict[str, Any]:
        return _learn_weights(evidence, self.loss, bool(self.discrete))


class SuperLearnerRegressor(WeightedValues):
    r"""The mean of members, with weights not negative and sum one, that has the least out-of-fold squared error.

    .. math:: h(x) = \sum_m w_m h_m(x), \qquad w_m \ge 0, \quad \sum_m w_m = 1.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped.
    cv_risks_ : dict
        Out-of-fold squared error of each member.
    cv_risk_ : float
        That of the mean; a little too good, since the weights were chosen by it.
    estimators_ : list of estimators
        The fitted members; with ``refit=False`` each is the mean of its fold models.
    named_estimators_ : Bunch
        The same by name.
    n_outputs_, n_features_in_ : int
        Outputs and features.
    feature_names_in_ : ndarray of str
        Names of the features, where the members know them.

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
        discrete: Discrete = False,
        cv: BlendCv = None,
        refit: BlendRefit = True,
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    discrete: Discrete

    def _learn(self, evidence: Evidence, seed: int | None) -> dict[str, Any]:
        return _learn_weights(evidence, "squared_error", bool(self.discrete))
