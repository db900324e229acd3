"""The score that the winner of a search can be expected to have on new rows.

The best of many scores is too good: it was chosen for it. Bootstrap bias corrected cross-validation [Tsamardinos2018]
repeats the choice on bootstrap samples of the out-of-fold predictions and scores each chosen candidate on the rows
outside of the sample; no model is fitted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from committee.exceptions import DataError
from committee.losses import apply_log
from committee.scoring import KnownProbabilities, KnownValues

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from committee.search.metrics import ScorerFunction
    from committee.typing import AnyArray, FloatArray

    BootstrapScores: TypeAlias = Callable[[FloatArray], FloatArray]

__all__ = ["correct_selection"]

_N_BOOTSTRAPS = 200
_N_SLOW_BOOTSTRAPS, _MOST_SLOW_CANDIDATES = 50, 20
"""With a metric that is computed by a call for every sample and candidate: so many samples, of the best candidates."""
_BLOCK = 20
"""Samples whose weights are held at a time."""


def correct_selection(
    predictions: list[FloatArray],
    y: AnyArray,
    classes: AnyArray | None,
    metric: tuple[str | None, ScorerFunction],
    weights: FloatArray | None = None,
    seed: int = 0,
) -> tuple[float, tuple[float, float]]:
    """The expected score of the winner, and an interval that holds 95 % of the bootstrap scores.

    Parameters
    ----------
    predictions : list of ndarray of shape (n_rows, width)
        Out-of-fold predictions of each candidate, the best candidate first.
    y : ndarray of shape (n_rows,)
        The target.
    classes : ndarray or None
        Classes of the columns.
    metric : (str or None, scorer)
        Name of the metric, if it has one, and its scorer.
    weights : ndarray of shape (n_rows,), optional
        Weights of the rows.
    seed : int
        Of the samples.

    Returns
    -------
    (float, (float, float))

    Examples
    --------
    >>> from sklearn.metrics import get_scorer
    >>> rng = np.random.default_rng(0)
    >>> y, guesses = rng.integers(2, size=200), [rng.random((200, 1)) for _ in range(50)]
    >>> shares = [np.hstack([1 - guess, guess]) for guess in guesses]
    >>> float(max((share.argmax(axis=1) == y).mean() for share in shares).round(2))
    0.58
    >>> round(correct_selection(shares, y, np.arange(2), ("accuracy", get_scorer("accuracy")))[0], 2)
    0.5
    """
    name, scorer = metric
    compute = _find_fast(name, predictions, y, classes)
    n_samples = _N_BOOTSTRAPS
    if compute is None:
        predictions, n_samples = predictions[:_MOST_SLOW_CANDIDATES], _N_SLOW_BOOTSTRAPS
        compute = _call_scorer(scorer, predictions, y, classes)
    found = []
    for counts in _draw_counts(len(y), n_samples, seed):
        own: FloatArray | float = 1.0 if weights is None else weights
        chosen = np.nanargmax(np.where(np.isfinite(inside := compute(counts * own)), inside, -np.inf), axis=1)
        found.append(compute((counts == 0.0) * own)[np.arange(len(chosen)), chosen])
    scores = np.concatenate(found)
    scores = scores[np.isfinite(scores)]
    if not len(scores):
        raise DataError("The score of the winner cannot be estimated: no bootstrap sample has a score.")
    low, high = np.quantile(scores, [0.025, 0.975])
    return float(scores.mean()), (float(low), float(high))


def _draw_counts(n_rows: int, n_samples: int, seed: int) -> Iterator[FloatArray]:
    """How often each row is in each of some bootstrap samples."""
    rng = np.random.default_rng(seed)
    for start in range(0, n_samples, _BLOCK):
        size = min(_BLOCK, n_samples - start)
        drawn = [np.bincount(rng.integers(n_rows, size=n_rows), minlength=n_rows) for _ in range(size)]
        yield np.stack(drawn).astype(np.float64)


def _find_fast(
    name: str | None, predictions: list[FloatArray], y: AnyArray, classes: AnyArray | None
) -> BootstrapScores | None:
    """Scores of all candidates for several vectors of weights at once, for the metrics that allow it."""
    if y.ndim != 1:
        return None
    if classes is None:
        errors = np.stack([own[:, 0] - y for own in predictions], axis=1)
        if name == "neg_mean_absolute_error":
            return _average(-np.abs(errors))
        if name == "neg_mean_squared_error":
            return _average(-(errors**2))
        if name == "neg_root_mean_squared_error":
            squares = _average(errors**2)
            return lambda w: -np.sqrt(squares(w))
        return _explain(errors, y) if name == "r2" else None
    labels = np.searchsorted(classes, y)
    if name == "accuracy":
        return _average(np.stack([own.argmax(axis=1) == labels for own in predictions], axis=1) * 1.0)
    if name == "neg_log_loss":
        least = np.finfo(np.float64).eps
        own_class = [own[np.arange(len(y)), labels] / own.sum(axis=1) for own in predictions]
        return _average(apply_log(np.clip(np.stack(own_class, axis=1), least, 1.0 - least)))
    if name in ("roc_auc", "roc_auc_ovr") and len(classes) == 2:
        return _rank([own[:, 1] for own in predictions], labels == 1)
    return None


def _average(values: FloatArray) -> BootstrapScores:
    def compute(weights: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore"):
            means: FloatArray = weights @ values / weights.sum(axis=1, keepdims=True)
        return means

    return compute


def _explain(errors: FloatArray, y: AnyArray) -> BootstrapScores:
    """R² by sums of weights."""
    squares, moments = _average(errors**2), _average(np.stack([y, y**2], axis=1).astype(np.float64))

    def compute(weights: FloatArray) -> FloatArray:
        mean, square = moments(weights).T
        with np.errstate(invalid="ignore", divide="ignore"):
            explained: FloatArray = 1.0 - squares(weights) / (square - mean**2)[:, None]
        return explained

    return compute


def _rank(scores: list[FloatArray], positive: AnyArray) -> BootstrapScores:
    """Area under the ROC curve: how often a positive row has the larger score, ties counted half."""
    orders = [np.argsort(own, kind="stable") for own in scores]
    starts = [
        np.flatnonzero(np.concatenate([[True], np.diff(own[order]) > 0.0]))
        for own, order in zip(scores, orders, strict=True)
    ]

    def compute(weights: FloatArray) -> FloatArray:
        areas = []
        for order, first in zip(orders, starts, strict=True):
            sorted_weights, hits = weights[:, order], positive[order]
            above = np.add.reduceat(sorted_weights * hits, first, axis=1)
            below = np.add.reduceat(sorted_weights * ~hits, first, axis=1)
            smaller = np.cumsum(below, axis=1) - 0.5 * below
            with np.errstate(invalid="ignore", divide="ignore"):
                areas.append((above * smaller).sum(axis=1) / (above.sum(axis=1) * below.sum(axis=1)))
        return np.stack(areas, axis=1)

    return compute


def _call_scorer(
    scorer: ScorerFunction, predictions: list[FloatArray], y: AnyArray, classes: AnyArray | None
) -> BootstrapScores:
    """Any metric, by a call of its scorer for every sample and candidate, on the rows as often as they are drawn."""

    def score_one(own: FloatArray, weights: FloatArray) -> float:
        rows = np.flatnonzero(weights)
        drawn = weights[rows]
        whole = bool((drawn == np.floor(drawn)).all())
        rows = np.repeat(rows, drawn.astype(np.intp)) if whole else rows
        known = KnownValues(own[rows]) if classes is None else KnownProbabilities(classes, own[rows])
        try:
            if whole:
                return float(scorer(known, known.rows, y[rows]))
            return float(scorer(known, known.rows, y[rows], sample_weight=drawn))
        except ValueError:  # a sample without one of the classes
            return np.nan

    return lambda weights: np.array([[score_one(own, w) for own in predictions] for w in weights])
