"""From a problem and a plan to findings, in the way that suits the estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from committee.cli.automl_run import assemble
from committee.cli.cross_validation import AUTOMATIC, Plan, Rows, Study, is_automatic
from committee.cli.problem import Problem
from committee.cli.progress import watch_fits
from committee.cli.results import Findings

__all__ = ["fit_problem"]

# After which the committee begins no further member unless --time says otherwise. Tables of some ten thousand rows are
# done before.
DEFAULT_SECONDS = 60.0


def fit_problem(
    problem: Problem, plan: Plan, begin: Callable[[], None], witness: Callable[[Any, Rows], None] | None = None
) -> Findings:
    """Fit an estimator and find out how good it is.

    Parameters
    ----------
    problem : Problem
        What to learn.
    plan : Plan
        How.
    begin : callable
        Called when everything that can be wrong with the plan has been looked at.
    witness : callable, optional
        Called with each model that was fitted without some rows, and these rows.

    Returns
    -------
    Findings
        Scores and the model.
    """
    if is_automatic(plan.estimator, problem.task):
        budgets = {"n_members", "time_budget"}
        if plan.seconds is None and not budgets & set(plan.settings):
            plan = replace(plan, seconds=DEFAULT_SECONDS)
        study = Study(problem, plan)
        begin()
        with watch_fits(AUTOMATIC, None, study.template.time_budget):
            return assemble(study)
    study = Study(problem, plan)
    begin()
    with watch_fits("fitting", study.n_fits) as display:
        return study.run(display.advance, display.note, witness)
