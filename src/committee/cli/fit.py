"""Fit an estimator to a learning problem and estimate its score: by cross-validation, or by AutoML's own folds."""

from __future__ import annotations

from dataclasses import replace

from committee.cli.automl_run import run_automl
from committee.cli.cross_validation import CrossValidationRun
from committee.cli.fit_observer import FitObserver, FitObserverGroup
from committee.cli.model_setup import AUTOML, ModelSetup, is_automl
from committee.cli.plan import Plan
from committee.cli.problem import LearningProblem
from committee.cli.progress import watch_fits
from committee.cli.results import FitResults

__all__ = ["fit_problem", "set_default_time"]

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
