"""Ensemble selection: members are added one by one, with replacement, as long as the mean gets better [Caruana2004]."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from committee.ensembles.combining.metrics import choose_metric
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.weighted_ensemble import (
    BlendCv,
    BlendRefit,
    Evidence,
    WeightedProbabilities,
    WeightedValues,
)
from committee.params import Interval, NJobs, Verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = [
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "select_greedily",
    "select_likeliest",
    "select_nearest",
]

Metric: TypeAlias = Annotated[
    Callable[..., float] | str | None,
    "What the mean must be good at, larger for better: the name of one of scikit-learn's scorers, or a function of "
    "the true and the predicted target (classes as numbers). None: minus the log-loss, or minus the squared error.",
]
NRounds: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "Members to add in each bag; of all the means on the way the best one is kept.",
]
NInit: TypeAlias = Annotated[
    int,
    Interval(0, None),
    "Start from this many of the best members (sorted initialisation), at most all; 0 starts from nothing.",
]
NBags: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "Selections from random parts of the members, whose counts are added: a member that is good by chance on the "
    "rows at hand is then missing from some of them. 1: a single selection from all members.",
]
BagFraction: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="right"),
    "Share of the members that each of several bags chooses from.",
]


def select_greedily(
    answers: FloatArray, score: Callable[[FloatArray], float], n_rounds: int, n_init: int
) -> NDArray[np.intp]:
    """How often each member is in the best mean on the greedy way.

    Parameters
    ----------
    answers : ndarray of shape (n_members, n_rows, width)
        What each member said.
    score : callable
        Of a mean answer; larger is better.
    n_rounds : int
        Members to add.
    n_init : int
        Best members to start from.

    Returns
    -------
    ndarray of int of shape (n_members,)

    Examples
    --------
    Two members that err to opposite sides beat either:

    >>> answers = np.array([[[1.0]], [[-1.0]], [[0.5]]])
    >>> select_greedily(answers, lambda mean: -abs(float(mean[0, 0])), 4, 1)
    array([0, 1, 2])
    """
    alone = np.array([score(said) for said in answers])
    # The first of equals, by the order in which the members were given.
    first = np.argsort(-alone, kind="stable")[:n_init]
    counts = np.bincount(first, minlength=len(answers))
    total = answers[first].sum(axis=0) if len(first) else np.zeros(answers.shape[1:])
    best, best_counts = (score(total / len(first)), counts.copy()) if len(first) else (-np.inf, counts)
    for size in range(len(first) + 1, len(first) + n_rounds + 1):
        reached = np.array([score((total + said) / size) for said in answers])
        added = int(reached.argmax())
        total = total + answers[added]
        counts[added] += 1
        if reached[added] > best:
            best, best_counts = float(reached[added]), counts.copy()
    return best_counts


def select_likeliest(likelihood: FloatArray, share: FloatArray, n_rounds: int) -> NDArray[np.intp]:
    """`select_greedily` by log-loss, for all members at once: only the shares of the true classes matter.

    Parameters
    ----------
    likelihood : ndarray of shape (n_members, n_rows)
        The probability that each member gave to what is true; positive.
    share : ndarray of shape (n_rows,)
        Weights of the rows, with sum one.
    n_rounds : int
        Members to add.

    Examples
    --------
    >>> select_likeliest(np.array([[0.9, 0.2], [0.2, 0.9], [0.4, 0.4]]), np.full(2, 0.5), 2)
    array([1, 1, 0])
    """
    return _add_greedily(likelihood, n_rounds, lambda sums, size: np.log(sums / size) @ share)


def select_nearest(errors: FloatArray, share: FloatArray, n_rounds: int) -> NDArray[np.intp]:
    """`select_greedily` by squared error, for all members at once.

    Parameters
    ----------
    errors : ndarray of shape (n_members, n_rows)
        Of each member about each row.
    share : ndarray of shape (n_rows,)
        Weights of the rows, with sum one.
    n_rounds : int
        Members to add.

    Examples
    --------
    >>> select_nearest(np.array([[1.0], [-1.0], [2.0]]), np.ones(1), 4)
    array([1, 1, 0])
    """
    return _add_greedily(errors, n_rounds, lambda sums, size: -((sums / size) ** 2) @ share)


def _add_greedily(
    answers: FloatArray, n_rounds: int, score: Callable[[FloatArray, int], FloatArray]
) -> NDArray[np.intp]:
    counts = np.zeros(len(answers), dtype=np.intp)
    total = np.zeros(answers.shape[1])
    best, best_counts = -np.inf, counts
    for size in range(1, n_rounds + 1):
        reached = score(total + answers, size)
        added = int(reached.argmax())
        total += answers[added]
        counts[added] += 1
        if reached[added] > best:
            best, best_counts = float(reached[added]), counts.copy()
    return best_counts


def _select(selection: Any, evidence: Evidence, seed: int | None) -> dict[str, Any]:
    """Greedy selections from parts of the members, and the shares of their counts."""
    answers, n_members = np.stack(evidence.answers), len(evidence.answers)
    score = choose_metric(selection.metric, evidence.target, evidence.rows, evidence.goal, evidence.weights)
    if selection.n_bags > 1 and seed is None:
        seed = int(np.random.default_rng().integers(2**32))
    counts = np.zeros(n_members)
    for bag in range(selection.n_bags):
        part = np.arange(n_members)
        if selection.n_bags > 1:
            n_drawn = max(1, round(selection.bag_fraction * n_members))
            part = np.sort(np.random.default_rng([seed or 0, bag]).choice(n_members, n_drawn, replace=False))
        found = select_greedily(answers[part], score, int(selection.n_rounds), int(selection.n_init))
        counts[part] += found / found.sum()
    weights = counts / counts.sum()
    mean: FloatArray = np.einsum("m,mrc->rc", weights, answers)
    alone = [float(score(said)) for said in answers]
    return {
        "weights_": weights,
        "cv_scores_": dict(zip(evidence.names, alone, strict=True)),
        "cv_score_": float(score(mean)),
    }


class EnsembleSelectionClassifier(WeightedProbabilities):
    """A mean of members' probabilities, chosen greedily with replacement by any metric, and bagged [Caruana2004].

    From out-of-fold answers, the member is added again and again whose probabilities make the metric of the mean best;
    how often a member was added is its weight. A member may be added several times, and bad ones never are.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, with sum one; zero for those that were not chosen.
    cv_scores_ : dict
        Out-of-fold score of each member.
    cv_score_ : float
        That of the chosen mean; a little too good, since it was chosen by it.
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
    >>> from committee import DecisionTreeClassifier, EnsembleSelectionClassifier, RandomForestClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> members = [("nb", GaussianNB()), ("forest", RandomForestClassifier()), ("tree", DecisionTreeClassifier())]
    >>> chosen = EnsembleSelectionClassifier(members, metric="roc_auc", n_bags=1, random_state=0).fit(X, y)
    >>> chosen.cv_score_ >= max(chosen.cv_scores_.values())
    True
    """

    def __init__(
        self,
        estimators: Estimators,
        *,
        metric: Metric = None,
        n_rounds: NRounds = 50,
        n_init: NInit = 1,
        n_bags: NBags = 20,
        bag_fraction: BagFraction = 0.5,
        cv: BlendCv = None,
        refit: BlendRefit = True,
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    def _learn(self, evidence: Evidence, seed: int | None) -> dict[str, Any]:
        return _select(self, evidence, seed)


class EnsembleSelectionRegressor(WeightedValues):
    """A mean of members' values, chosen greedily with replacement by any metric, and bagged [Caruana2004].

    As :class:`EnsembleSelectionClassifier`, for numbers.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, with sum one; zero for those that were not chosen.
    cv_scores_ : dict
        Out-of-fold score of each member.
    cv_score_ : float
        That of the chosen mean; a little too good, since it was chosen by it.
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
    >>> from committee import EnsembleSelectionRegressor, RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> members = [("ridge", RidgeCV()), ("forest", RandomForestRegressor(random_state=0))]
    >>> chosen = EnsembleSelectionRegressor(members, n_bags=1, metric="neg_mean_absolute_error").fit(X, y)
    >>> bool(chosen.weights_[0] > chosen.weights_[1] > 0)
    True
    """

    def __init__(
        self,
        estimators: Estimators,
        *,
        metric: Metric = None,
        n_rounds: NRounds = 50,
        n_init: NInit = 1,
        n_bags: NBags = 20,
        bag_fraction: BagFraction = 0.5,
        cv: BlendCv = None,
        refit: BlendRefit = True,
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())

    def _learn(self, evidence: Evidence, seed: int | None) -> dict[str, Any]:
        return _select(self, evidence, seed)
