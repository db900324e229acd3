"""Fit an estimator to a learning problem and estimate its score: by cross-validation, or by AutoML's own folds."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from committee.cli.automl_run import read_automl_results, run_automl
from committee.cli.cross_validation import CrossValidationRun
from committee.cli.fit_observer import FitObserver, FitObserverGroup
from committee.cli.model_setup import AUTOML, ModelSetup, is_automl
from committee.cli.plan import Plan
from committee.cli.problem import LearningProblem
from committee.cli.progress import watch_fits
from committee.cli.results import FitResults

__all__ = ["fit_problem", "fit_targets", "set_default_time"]

# Default time budget of AutoML. Tables of some ten thousand rows need less.
DEFAULT_SECONDS = 60.0


def set_default_time(plan: Plan) -> Plan:
    """The plan with a time budget of AutoML, unless the user has set a budget.

    Parameters
    ----------
    plan : Plan
        The options.

    Returns
    -------
    Plan
    """
    budgets = {"n_members", "time_budget"}
    given = plan.seconds is not None or budgets & set(plan.settings)
    return plan if given else replace(plan, seconds=DEFAULT_SECONDS)


def fit_problem(problem: LearningProblem, plan: Plan, observer: FitObserver | None = None) -> FitResults:
    """Fit an estimator and estimate its score on unseen rows.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    plan : Plan
        The options.
    observer : FitObserver, optional
        Notified of the start, of fitted models and of scored folds.

    Returns
    -------
    FitResults
        Scores and the model.
    """
    observer = observer or FitObserver()
    if is_automl(plan.estimator, problem.task):
        setup = ModelSetup(problem, set_default_time(plan))
        observer.on_start()
        with watch_fits(AUTOML, None, setup.template.time_budget) as display:
            return run_automl(setup, FitObserverGroup([display, observer]))
    validation = CrossValidationRun(ModelSetup(problem, plan))
    observer.on_start()
    with watch_fits("fitting", validation.n_fits) as display:
        return validation.run(FitObserverGroup([display, observer]))


def fit_targets(
    problems: Sequence[LearningProblem], plan: Plan, observers: Sequence[FitObserver]
) -> tuple[Any, list[FitResults]]:
    """Fit one estimator to several targets and estimate its scores on unseen rows.

    Parameters
    ----------
    problems : sequence of LearningProblem
        One for each target.
    plan : Plan
        The options.
    observers : sequence of FitObserver
        One for each target, notified of scored folds.

    Returns
    -------
    tuple of estimator and list of FitResults
        The model of all targets, and the results for each; their models are views of it, or its committees.
    """
    if not is_automl(plan.estimator, problems[0].task):
        validation = CrossValidationRun(*(ModelSetup(problem, plan) for problem in problems))
        with watch_fits("fitting", validation.n_fits) as display:
            results = validation.run_targets(display, observers)
        return results[0].model.model, results
    setups = [ModelSetup(problem, set_default_time(plan)) for problem in problems]
    started = time.perf_counter()
    with watch_fits(AUTOML, None, setups[0].template.time_budget) as display:
        model = setups[0].fit_model(np.arange(problems[0].n_rows), display)
    seconds = (time.perf_counter() - started) / len(setups)
    pairs = zip(setups, model.estimators_, strict=True)
    return model, [read_automl_results(setup, own, seconds) for setup, own in pairs]
