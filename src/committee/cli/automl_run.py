"""The work behind ``committee fit`` without an ``--estimator``: one fit of the AutoML estimator."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from committee.automatic.portfolio import choose_entries
from committee.cli.errors import CommandError
from committee.cli.fit_observer import FitObserver
from committee.cli.metrics import ScoringMetric
from committee.cli.model_setup import ModelSetup, RowIndices, fit_baseline
from committee.cli.problem import LearningProblem
from committee.cli.results import Comparison, FitResults, Leaderboard, LeaderboardEntry, ScoreEstimate
from committee.scoring import wrap_predictions
from committee.typing import FloatArray

__all__ = ["run_automl"]

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
    seconds = time.perf_counter() - started
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
        notices=setup.notices,
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
    wanted = choose_entries(model.portfolio, model.n_members, setup.problem.n_rows)
    fitted = {entry.name for entry in entries}
    return Leaderboard(
        metric=name,
        sign=sign,
        committee=ScoreEstimate(sign * model.score_estimate_, model.score_error_),
        entries=entries,
        left_out=tuple(entry.name for entry in wanted if entry.name not in fitted),
        seconds=seconds,
    )


def _compare_with_baseline(setup: ModelSetup, model: Any, predictions: FloatArray) -> dict[str, Comparison]:
    """Every metric of the model and of the baseline, on the rows that have a prediction."""
    problem = setup.problem
    rows = np.flatnonzero(np.isfinite(predictions if predictions.ndim == 1 else predictions[:, 0]))
    blocks = _draw_blocks(problem, rows, setup.plan.seed)
    # The baseline uses no features and fits one number per class, so it may be fitted to all rows.
    baseline, blank = fit_baseline(problem, rows), np.zeros((len(predictions), 1))
    if predictions.ndim == 1:
        known, naive = wrap_predictions(None, predictions), wrap_predictions(None, baseline.predict(blank))
    else:
        known = wrap_predictions(model.classes_, None, predictions)
        naive = wrap_predictions(baseline.classes_, None, baseline.predict_proba(blank))
    return {metric.name: _compare_by_metric(metric, problem, (known, naive), rows, blocks) for metric in setup.metrics}


def _compare_by_metric(
    metric: ScoringMetric, problem: LearningProblem, models: tuple[Any, Any], rows: RowIndices, blocks: RowIndices
) -> Comparison:
    def score(model: Any, some: RowIndices) -> float:
        weights = None if problem.weights is None else problem.weights[some]
        return metric.score(model, some, problem.y[some], weights)

    kept = [rows[blocks != b] for b in range(int(blocks.max()) + 1)]
    scores = np.array([[score(model, some) for model in models] for some in (rows, *kept)])
    columns = (scores[:, 0], scores[:, 1], scores[:, 0] - scores[:, 1])
    return Comparison(*(ScoreEstimate.of_blocks(float(one[0]), one[1:]) for one in columns))


def _draw_blocks(problem: LearningProblem, rows: RowIndices, seed: int) -> RowIndices:
    """The block of each row; stratified by class, and groups are not divided."""
    rng = np.random.default_rng(seed)
    if problem.groups is not None:
        names, members = np.unique(problem.groups[rows], return_inverse=True)
        return (rng.permutation(len(names)) % _N_BLOCKS)[members]
    if len(rows) < 2:
        raise CommandError("There are too few rows to test anything on.", "Bring more rows.")
    blocks = np.empty(len(rows), dtype=np.intp)
    order = rng.permutation(len(rows))
    if problem.task == "classification":
        order = order[np.argsort(problem.y[rows][order], kind="stable")]
    blocks[order] = np.arange(len(rows)) % min(_N_BLOCKS, len(rows))
    return blocks
