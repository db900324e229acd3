"""Metrics and naive guesses of rankings, censored times, ordered levels and distributions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.metrics import cohen_kappa_score

from committee.ensembles.boosting.distributions import PredictedDistribution
from committee.scoring import (
    BrierScorer,
    KnownValues,
    concordance_index,
    estimate_survival,
    mean_average_precision,
    mean_ndcg,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from committee.typing import FloatArray

__all__ = [
    "KnownDistribution",
    "LevelScorer",
    "NaiveDistribution",
    "NaiveSurvival",
    "score_average_precision",
    "score_brier_integral",
    "score_concordance",
    "score_crps",
    "score_ndcg",
    "score_ndcg_10",
]


def _read_ranking(y: NDArray[Any], qid: NDArray[Any] | None) -> tuple[NDArray[Any], NDArray[Any] | None]:
    """Relevances and queries, which the command keeps in one array and a search in two."""
    return (y["relevance"], y["query"]) if y.dtype.names else (y, qid)


def score_ndcg(
    model: Any,
    X: Any,
    y: Any,
    sample_weight: FloatArray | None = None,
    qid: NDArray[Any] | None = None,
    k: int | None = None,
) -> float:
    """Mean NDCG over queries."""
    relevance, queries = _read_ranking(y, qid)
    return mean_ndcg(relevance, model.predict(X), qid=queries, k=k, sample_weight=sample_weight)


def score_ndcg_10(
    model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None, qid: NDArray[Any] | None = None
) -> float:
    """Mean NDCG of the first ten places."""
    return score_ndcg(model, X, y, sample_weight, qid, 10)


def score_average_precision(
    model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None, qid: NDArray[Any] | None = None
) -> float:
    """Mean average precision over queries."""
    relevance, queries = _read_ranking(y, qid)
    return mean_average_precision(relevance, model.predict(X), qid=queries, sample_weight=sample_weight)


def score_concordance(model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
    """Harrell's concordance of risks."""
    return concordance_index(y, model.predict(X), sample_weight)


def score_brier_integral(model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
    """Minus the integrated Brier score of survival curves."""
    if sample_weight is not None:
        raise ValueError("it takes no weights")
    if not hasattr(model, "predict_survival_function"):
        raise TypeError("it needs survival curves")
    return float(BrierScorer()(model, X, y))


def score_crps(model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
    """Minus the mean continuous ranked probability score of distributions."""
    if isinstance(model, NaiveDistribution):
        return -float(np.average(model.find_crps(y), weights=sample_weight))
    if not hasattr(model, "predict_distribution"):
        raise TypeError("it needs distributions")
    return -float(np.average(model.predict_distribution(X).find_crps(y), weights=sample_weight))


class LevelScorer:
    """Scores predicted levels by their distance from the true ones.

    Parameters
    ----------
    kind : {"error", "kappa"}
        Minus the mean distance in levels, or Cohen's kappa with quadratic weights.
    levels : sequence
        The lowest first; empty: sorted.
    """

    def __init__(self, kind: str, levels: Sequence[Any] = ()) -> None:
        self.kind, self.levels = kind, list(levels)

    def __call__(self, model: Any, X: Any, y: Any, sample_weight: FloatArray | None = None) -> float:
        """The score of a model, larger for better."""
        predicted = model.predict(X)
        levels = self.levels or np.unique(np.concatenate([y, predicted])).tolist()
        places = {level: k for k, level in enumerate(levels)}
        true, found = (np.array([places[one] for one in given.tolist()]) for given in (y, predicted))
        if self.kind == "error":
            return -float(np.average(np.abs(true - found), weights=sample_weight))
        labels = list(range(len(levels)))
        return float(cohen_kappa_score(true, found, labels=labels, weights="quadratic", sample_weight=sample_weight))


class NaiveSurvival:
    """The survival curve of the training rows for every row [KaplanMeier1958].

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        Events and times of the training rows.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    """

    def __init__(self, y: NDArray[Any], weights: FloatArray | None = None) -> None:
        self.curve = estimate_survival(y, weights)

    def predict(self, X: Any) -> FloatArray:
        """The same risk for every row."""
        return np.zeros(len(X))

    def predict_survival_function(self, X: Any, times: FloatArray) -> FloatArray:
        """The same curve for every row."""
        return np.tile(self.curve(times), (len(X), 1))


class NaiveDistribution(RegressorMixin, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """The distribution of the training targets for every row.

    Parameters
    ----------
    y : ndarray of shape (n_rows,)
        The training targets.
    weights : ndarray of shape (n_rows,) or None
        Their weights.
    """

    def __init__(self, y: FloatArray, weights: FloatArray | None = None) -> None:
        order = np.argsort(y, kind="stable")
        shares = np.ones(len(y)) if weights is None else np.asarray(weights, dtype=np.float64)
        self._values, shares = y[order], shares[order] / shares.sum()
        self._below = np.concatenate(([0.0], np.cumsum(shares)))
        self._means = np.concatenate(([0.0], np.cumsum(shares * self._values)))
        # The mean distance of two independent draws.
        self._spread = 2.0 * float((shares * self._values * (self._below[1:] + self._below[:-1] - 1.0)).sum())

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def predict(self, X: Any) -> FloatArray:
        """The mean for every row."""
        return np.full(len(X), self._means[-1])

    def find_crps(self, y: FloatArray) -> FloatArray:
        """E|Y - y| - E|Y - Y'| / 2 of each true value."""
        places = np.searchsorted(self._values, y, side="right")
        distance = y * (2.0 * self._below[places] - 1.0) + self._means[-1] - 2.0 * self._means[places]
        return np.asarray(distance - 0.5 * self._spread)


class KnownDistribution(KnownValues):
    """Known distributions of rows, for scorers that ask a model for them.

    Parameters
    ----------
    distribution : PredictedDistribution
        Of all rows.
    """

    def __init__(self, distribution: PredictedDistribution) -> None:
        super().__init__(distribution.find_mean())
        self.distribution = distribution

    def predict_distribution(self, rows: NDArray[np.intp]) -> PredictedDistribution:
        """Distributions of the given rows."""
        known = self.distribution
        return PredictedDistribution(known.name, known.location[rows], known.spread[rows])
