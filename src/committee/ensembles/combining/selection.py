"""Ensemble selection: greedy forward selection of members, with replacement, from a library of models [Caruana2004]."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import numpy as np

from committee.base import resolve_seed
from committee.engines.greedy_selection import select_by_likelihood
from committee.ensembles.combining.member_predictions import sum_weighted
from committee.ensembles.combining.metrics import choose_metric
from committee.ensembles.combining.named_ensemble import Estimators, MemberSeeds
from committee.ensembles.combining.weighted_ensemble import (
    OutOfFoldPredictions,
    WeightedProbabilities,
    WeightedValues,
    WeightsCv,
    WeightsRefit,
)
from committee.losses import apply_log
from committee.params import Interval, MemberTextColumns, NJobs, Verbose

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = [
    "EnsembleSelectionClassifier",
    "EnsembleSelectionRegressor",
    "select_by_log_loss",
    "select_by_squared_error",
    "select_greedily",
]

SelectionMetric: TypeAlias = Annotated[
    Callable[..., float] | str | None,
    "The metric to maximise: the name of one of scikit-learn's scorers, or a function of the true and the predicted "
    "target (classes as indices). None: minus the log-loss, or minus the squared error.",
]
NRounds: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "Number of members to add in each bag; the best mean along the path is kept.",
]
NInit: TypeAlias = Annotated[
    int,
    Interval(0, None),
    "Number of best members to start from (sorted initialisation), at most all; 0 starts from an empty ensemble.",
]
NBags: TypeAlias = Annotated[
    int,
    Interval(1, None),
    "Number of selections from random subsets of the members, whose counts are averaged: a member that is good by "
    "chance is then missing from some of them. 1: a single selection from all members.",
]
BagFraction: TypeAlias = Annotated[
    float,
    Interval(0.0, 1.0, closed="right"),
    "Fraction of the members in the subset of each bag, if there are several bags.",
]

_LEAST_GAIN = 1e-13
"""By which a score must be better, relative to its size: more of the same mean is not."""


def select_greedily(
    predictions: FloatArray, score: Callable[[FloatArray], float], n_rounds: int, n_init: int
) -> NDArray[np.intp]:
    """How often each member occurs in the best mean along the greedy path.

    Parameters
    ----------
    predictions : ndarray of shape (n_members, n_rows, width)
        Predictions of each member.
    score : callable
        Score of averaged predictions; larger is better.
    n_rounds : int
        Number of members to add.
    n_init : int
        Number of best members to start from.

    Returns
    -------
    ndarray of int of shape (n_members,)

    Examples
    --------
    The mean of two members with opposite errors beats either:

    >>> predictions = np.array([[[1.0]], [[-1.0]], [[0.5]]])
    >>> select_greedily(predictions, lambda mean: -abs(float(mean[0, 0])), 4, 1)
    array([0, 1, 2])
    """
    single_scores = np.array([score(predicted) for predicted in predictions])
    # Of equal scores the first, in the order in which the members were given.
    first = np.argsort(-single_scores, kind="stable")[:n_init]
    counts = np.bincount(first, minlength=len(predictions))
    total = predictions[first].sum(axis=0) if len(first) else np.zeros(predictions.shape[1:])
    best, best_counts = (score(total / len(first)), counts.copy()) if len(first) else (-np.inf, counts)
    for size in range(len(first) + 1, len(first) + n_rounds + 1):
        scores = np.array([score((total + predicted) / size) for predicted in predictions])
        added = int(scores.argmax())
        total = total + predictions[added]
        counts[added] += 1
        if scores[added] > best:
            best, best_counts = float(scores[added]), counts.copy()
    return best_counts


def select_by_log_loss(likelihood: FloatArray, row_weights: FloatArray, n_rounds: int) -> NDArray[np.intp]:
    """`select_greedily` by log-loss, vectorised over the members: only probabilities of the true classes matter.

    Parameters
    ----------
    likelihood : ndarray of shape (n_members, n_rows)
        Probability of the true class, by each member; at least 1e-15.
    row_weights : ndarray of shape (n_rows,)
        Weights of the rows, with sum one.
    n_rounds : int
        Number of members to add.

    Examples
    --------
    >>> select_by_log_loss(np.array([[0.9, 0.2], [0.2, 0.9], [0.4, 0.4]]), np.full(2, 0.5), 2)
    array([1, 1, 0])
    """
    if not likelihood.shape[1] or not (row_weights == row_weights[0]).all():
        return _add_greedily(likelihood, n_rounds, lambda sums, size: apply_log(sums / size) @ row_weights)
    return select_by_likelihood(likelihood, n_rounds, _LEAST_GAIN)


def select_by_squared_error(errors: FloatArray, row_weights: FloatArray, n_rounds: int) -> NDArray[np.intp]:
    """`select_greedily` by squared error, vectorised over the members.

    Parameters
    ----------
    errors : ndarray of shape (n_members, n_rows)
        Error of each member for each row.
    row_weights : ndarray of shape (n_rows,)
        Weights of the rows, with sum one.
    n_rounds : int
        Number of members to add.

    Examples
    --------
    >>> select_by_squared_error(np.array([[1.0], [-1.0], [2.0]]), np.ones(1), 4)
    array([1, 1, 0])
    """
    # The square of a sum is a sum of the products of its members, which are computed once.
    products = (errors * row_weights) @ errors.T
    own = products.diagonal()
    counts = np.zeros(len(errors), dtype=np.intp)
    best, best_counts = np.inf, counts
    for size in range(1, n_rounds + 1):
        beside = products @ counts
        squares = (float(counts @ beside) + 2.0 * beside + own) / size**2
        added = int(squares.argmin())
        counts[added] += 1
        if squares[added] < best * (1.0 - _LEAST_GAIN):
            best, best_counts = float(squares[added]), counts.copy()
    return best_counts


def _add_greedily(
    values: FloatArray, n_rounds: int, score: Callable[[FloatArray, int], FloatArray]
) -> NDArray[np.intp]:
    counts = np.zeros(len(values), dtype=np.intp)
    total = np.zeros(values.shape[1])
    best, best_counts = -np.inf, counts
    for size in range(1, n_rounds + 1):
        scores = score(total + values, size)
        added = int(scores.argmax())
        total += values[added]
        counts[added] += 1
        if scores[added] > best + _LEAST_GAIN * abs(best) or size == 1:
            best, best_counts = float(scores[added]), counts.copy()
    return best_counts


class _GreedySelection:
    """Parameters of ensemble selection, and how it fits the weights."""

    metric: SelectionMetric
    n_rounds: NRounds
    n_init: NInit
    n_bags: NBags
    bag_fraction: BagFraction

    def _fit_weights(self, out_of_fold: OutOfFoldPredictions, seed: int | None) -> dict[str, Any]:
        """Greedy selections from subsets of the members; their relative counts are the weights."""
        predictions, n_members = np.stack(out_of_fold.predictions), len(out_of_fold.predictions)
        score = choose_metric(
            self.metric, out_of_fold.target, out_of_fold.rows, out_of_fold.y_true, out_of_fold.weights
        )
        if self.n_bags > 1 and seed is None:
            seed = resolve_seed(None)
        counts = np.zeros(n_members)
        for bag in range(self.n_bags):
            subset = np.arange(n_members)
            if self.n_bags > 1:
                n_drawn = max(1, round(self.bag_fraction * n_members))
                subset = np.sort(np.random.default_rng([seed or 0, bag]).choice(n_members, n_drawn, replace=False))
            selected = select_greedily(predictions[subset], score, int(self.n_rounds), int(self.n_init))
            counts[subset] += selected / selected.sum()
        weights = counts / counts.sum()
        mean = sum_weighted(weights, predictions)
        single_scores = [float(score(predicted)) for predicted in predictions]
        return {
            "weights_": weights,
            "cv_scores_": dict(zip(out_of_fold.names, single_scores, strict=True)),
            "cv_score_": float(score(mean)),
        }


class EnsembleSelectionClassifier(_GreedySelection, WeightedProbabilities):
    """Greedy ensemble selection with replacement, by any metric, with bagging [Caruana2004].

    In each round the member is added that improves the metric of the mean of out-of-fold probabilities most. A member
    may be added several times; the number of times is its weight. Members that do not help are never added.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, with sum one; zero for those that were not selected.
    cv_scores_ : dict
        Out-of-fold score of each member.
    cv_score_ : float
        That of the selected ensemble; slightly optimistic, since the selection maximised it.
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
        metric: SelectionMetric = None,
        n_rounds: NRounds = 50,
        n_init: NInit = 1,
        n_bags: NBags = 20,
        bag_fraction: BagFraction = 0.5,
        cv: WeightsCv = None,
        refit: WeightsRefit = True,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())


class EnsembleSelectionRegressor(_GreedySelection, WeightedValues):
    """Greedy ensemble selection with replacement, by any metric, with bagging [Caruana2004].

    As :class:`EnsembleSelectionClassifier`, for regression: the mean of the members' values.

    Attributes
    ----------
    weights_ : ndarray of shape (n_members,)
        Weights of the members that are not dropped, with sum one; zero for those that were not selected.
    cv_scores_ : dict
        Out-of-fold score of each member.
    cv_score_ : float
        That of the selected ensemble; slightly optimistic, since the selection maximised it.
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
        metric: SelectionMetric = None,
        n_rounds: NRounds = 50,
        n_init: NInit = 1,
        n_bags: NBags = 20,
        bag_fraction: BagFraction = 0.5,
        cv: WeightsCv = None,
        refit: WeightsRefit = True,
        text_columns: MemberTextColumns = "auto",
        n_jobs: NJobs = None,
        verbose: Verbose = 0,
        random_state: MemberSeeds = None,
    ) -> None:
        self._store_params(locals())
