"""The work behind ``committee fit`` without an ``--estimator``: one fit of the AutoML estimator."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from committee.cli.errors import CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.metrics import ScoringMetric
from committee.cli.model_setup import ModelSetup, RowIndices, fit_baseline
from committee.cli.results import Comparison, FitResults, Leaderboard, LeaderboardEntry, ScoreEstimate, describe_texts
from committee.scoring import wrap_predictions
from committee.typing import FloatArray

__all__ = ["compare_predictions", "read_automl_results", "run_automl"]

# Blocks of the jackknife that gives the standard errors.
_N_BLOCKS = 20
# Metrics that AutoML optimizes by default.
_DEFAULT_METRICS = {"classification": "log-loss", "regression": "root mean squared error"}


def run_automl(setup: ModelSetup, observer: FitObserver | None = None) -> FitResults:
    """Fit the AutoML estimator to all rows and score its out-of-fold predictions.

    Parameters
    ----------
    setup : ModelSetup
        The AutoML estimator and the problem.
    observer : FitObserver, optional
        Notified when the model is fitted.

    Returns
    -------
    FitResults
        With a leaderboard. All metrics use out-of-fold predictions, combined with weights from other folds.
    """
    started = time.perf_counter()
    model = setup.fit_model(np.arange(setup.problem.n_rows), observer or FitObserver())
    return read_automl_results(setup, model, time.perf_counter() - started)


def read_automl_results(setup: ModelSetup, model: Any, seconds: float) -> FitResults:
    """The results of a fitted AutoML estimator of one target.

    Parameters
    ----------
    setup : ModelSetup
        The problem of this target.
    model : estimator
        Fitted to it.
    seconds : float
        Time of the fit.

    Returns
    -------
    FitResults
    """
    predictions = model.oof_decision_function_ if hasattr(model, "classes_") else model.oof_prediction_
    settings = dict(setup.plan.settings)
    if model.time_budget is not None:
        settings.setdefault("time_budget", model.time_budget)
    return FitResults(
        estimator=setup.name,
        params=settings,
        comparisons=_compare_with_baseline(setup, model, predictions),
        model=model,
        predictions=predictions,
        notices=(*setup.notices, *describe_texts(model)),
        leaderboard=_read_leaderboard(setup, model, seconds),
    )


def _read_leaderboard(setup: ModelSetup, model: Any, seconds: float) -> Leaderboard:
    if model.metric is None:
        name, sign = _DEFAULT_METRICS[setup.problem.task], -1
    elif setup.metrics[0].library == model.metric:
        name, sign = setup.metrics[0].name, setup.metrics[0].sign
    else:
        name, sign = str(model.metric), 1
    entries = tuple(
        LeaderboardEntry(row["name"], ScoreEstimate(sign * row["score"], row["error"]), row["weight"], row["seconds"])
        for row in model.leaderboard_
    )
    return Leaderboard(
        metric=name,
        sign=sign,
        committee=ScoreEstimate(sign * model.score_estimate_, model.score_error_),
        entries=entries,
        left_out=tuple(model.skipped_members_),
        seconds=seconds,
    )


def _compare_with_baseline(setup: ModelSetup, model: Any, predictions: FloatArray) -> dict[str, Comparison]:
    """Every metric of the model and of the baseline, on the rows that have a prediction."""
    problem = setup.problem
    rows = np.flatnonzero(np.isfinite(predictions if predictions.ndim == 1 else predictions[:, 0]))
    # The baseline uses no features and fits one number per class, so it may be fitted to all rows.
    baseline, blank = fit_baseline(problem, rows), np.zeros((len(predictions), 1))
    if predictions.ndim == 1:
        known, naive = wrap_predictions(None, predictions), wrap_predictions(None, baseline.predict(blank))
    else:
        known = wrap_predictions(model.classes_, None, predictions)
        naive = wrap_predictions(baseline.classes_, None, baseline.predict_proba(blank))
    return compare_predictions(
        setup.metrics,
        problem.y,
        (known, naive),
        setup.plan.seed,
        rows=rows,
        weights=problem.weights,
        groups=problem.groups,
    )


def compare_predictions(
    metrics: Sequence[ScoringMetric],
    y: NDArray[Any],
    models: tuple[Any, Any],
    seed: int,
    *,
    rows: RowIndices | None = None,
    weights: FloatArray | None = None,
    groups: RowIndices | None = None,
) -> dict[str, Comparison]:
    """Scores of known predictions and of a baseline, with jackknife standard errors over blocks of rows.

    Parameters
    ----------
    metrics : sequence of ScoringMetric
        The metrics.
    y : ndarray of shape (n_rows,)
        True classes or values.
    models : tuple of two KnownPredictions
        Of the model and of the baseline, for all rows.
    seed : int
        Of the blocks.
    rows : ndarray of int, optional
        The rows to score; by default all.
    weights : ndarray of shape (n_rows,), optional
        Sample weights.
    groups : ndarray of shape (n_rows,), optional
        Groups, which are not divided.

    Returns
    -------
    dict of str to Comparison
        By metric.
    """
    rows = np.arange(len(y)) if rows is None else rows
    classify = hasattr(models[0], "classes_")
    blocks = _draw_blocks(y[rows], None if groups is None else groups[rows], seed, classify=classify)
    kept = [rows[blocks != b] for b in range(int(blocks.max()) + 1)]
    found = {}
    for metric in metrics:
        scores = np.array(
            [
                [metric.score(model, some, y[some], None if weights is None else weights[some]) for model in models]
                for some in (rows, *kept)
            ]
        )
        columns = (scores[:, 0], scores[:, 1], scores[:, 0] - scores[:, 1])
        found[metric.name] = Comparison(*(ScoreEstimate.of_blocks(float(one[0]), one[1:]) for one in columns))
    return found


def _draw_blocks(y: NDArray[Any], groups: RowIndices | None, seed: int, *, classify: bool) -> RowIndices:
    """The block of each row; stratified by class, and groups are not divided."""
    rng = np.random.default_rng(seed)
    if groups is not None:
        names, members = np.unique(groups, return_inverse=True)
        return (rng.permutation(len(names)) % _N_BLOCKS)[members]
    if len(y) < 2:
        raise CommandError("There are too few rows to test anything on.", "Bring more rows.")
    blocks = np.empty(len(y), dtype=np.intp)
    order = rng.permutation(len(y))
    if classify:
        order = order[np.argsort(y[order], kind="stable")]
    blocks[order] = np.arange(len(y)) % min(_N_BLOCKS, len(y))
    return blocks
