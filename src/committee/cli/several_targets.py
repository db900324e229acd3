"""Several targets: ``committee fit --target a,b`` fits one automatic committee, with a committee for each of them."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import typer
from numpy.typing import NDArray

from committee.cli.errors import USAGE, CommandError
from committee.cli.problem import LearningProblem, Roles, define_problem, keep_known_targets
from committee.cli.show import make_console, show_files, show_fit_results, show_problem, write_json

if TYPE_CHECKING:
    from committee.cli.fit_places import FitPlaces
    from committee.cli.plan import Plan
    from committee.cli.table import Source

__all__ = ["define_problems", "fit_targets", "refuse_report", "refuse_several", "split_targets", "stack_targets"]

_TASKS = ("auto", "classification", "regression")


def split_targets(target: str | None, columns: Sequence[str]) -> list[str]:
    """The names in ``--target``: several with commas between them, unless a column has the whole as its name.

    Parameters
    ----------
    target : str or None
        Value of ``--target``.
    columns : sequence of str
        Columns of the table.

    Returns
    -------
    list of str
        Empty without a target.
    """
    if target is None:
        return []
    if target in columns or "," not in target:
        return [target]
    names = [name.strip() for name in target.split(",")]
    if len(set(names)) < len(names) or not all(names):
        raise CommandError(
            f"'{target}' is not a list of targets.", "Write each column once: --target price,rent.", USAGE
        )
    return names


def define_problems(source: Source, roles: Roles, targets: Sequence[str], task: str) -> list[LearningProblem]:
    """A problem for each target, of the same rows and features.

    Parameters
    ----------
    source : Source
        The table.
    roles : Roles
        Roles of its columns, but for the target.
    targets : sequence of str
        The targets, two or more.
    task : str
        Value of ``--task``.

    Returns
    -------
    list of LearningProblem
    """
    if task not in _TASKS or roles.query or roles.event or roles.levels:
        raise CommandError(
            "Several targets are all classes or all numbers.",
            "For rankings, survival times, levels and distributions name one --target.",
            USAGE,
        )
    notices: list[str] = []
    table = source.table
    for name in targets:
        if name in table.column_names:
            table = keep_known_targets(table, name, notices)
    source = replace(source, table=table)
    problems = []
    for name in targets:
        others = [other for other in targets if other != name]
        own = replace(roles, target=name, drop=[*roles.drop, *others])
        problems.append(define_problem(source, own, task))
    if len({problem.task for problem in problems}) > 1:
        kinds = ", ".join(f"'{problem.target}' for {problem.task}" for problem in problems)
        raise CommandError(
            f"The targets are of different tasks: {kinds}.",
            "Fit classes and numbers apart, or set --task for all of them.",
            USAGE,
        )
    first = replace(problems[0], notices=(*dict.fromkeys(notices), *problems[0].notices))
    return [first, *problems[1:]]


def stack_targets(problems: Sequence[LearningProblem]) -> NDArray[Any]:
    """The targets side by side, as `fit` takes them.

    Parameters
    ----------
    problems : sequence of LearningProblem
        One for each target.

    Returns
    -------
    ndarray of shape (n_rows, n_targets)
    """
    if problems[0].has_classes:
        return np.stack([problem.y.astype(object) for problem in problems], axis=1)
    return np.stack([problem.y for problem in problems], axis=1)


def fit_targets(
    problems: Sequence[LearningProblem],
    plan: Plan,
    places: FitPlaces,
    roles: Roles,
    licence: str | None,
    *,
    as_json: bool,
) -> None:
    """Fit the automatic committee to several targets; print the scores of each, and write the model.

    Parameters
    ----------
    problems : sequence of LearningProblem
        One for each target.
    plan : Plan
        The options.
    places : FitPlaces
        Where the model is written; there is no report of several targets.
    roles : Roles
        Roles of the columns.
    licence : str or None
        Of the data.
    as_json : bool
        Whether one JSON document is printed.
    """
    from committee.cli.automl_run import read_automl_results
    from committee.cli.certificates import certify_targets
    from committee.cli.fit import set_default_time
    from committee.cli.model_setup import AUTOML, ModelSetup, is_automl
    from committee.cli.output import write_model
    from committee.cli.progress import watch_fits

    if not is_automl(plan.estimator, problems[0].task):
        raise CommandError(
            f"--estimator {plan.estimator} is for one --target here.",
            "Leave it out for the automatic committee; in Python, forests, boosting and AdaBoost take several targets.",
            USAGE,
        )
    plan = set_default_time(plan)
    setups = [ModelSetup(problem, plan) for problem in problems]
    console, first = make_console(), problems[0]
    if not as_json:
        show_problem(console, first)
    started = time.perf_counter()
    params = {} if first.weights is None else {"sample_weight": first.weights}
    model = setups[0].template
    with watch_fits(AUTOML, None, model.time_budget):
        model.fit(first.features, stack_targets(problems), groups=first.groups, **params)
    seconds = time.perf_counter() - started
    results = [
        read_automl_results(setup, own, seconds / len(setups))
        for setup, own in zip(setups, model.estimators_, strict=True)
    ]
    if not as_json:
        for problem, found in zip(problems, results, strict=True):
            console.print(f"\nTarget [bold]{problem.target}[/]", end="")
            show_fit_results(console, found, plan.folds)
        console.print("There is no report of several targets; committee fit with one --target writes that of one.")
    notes = certify_targets(model, problems, roles, licence)
    written, _ = replace(places, report=None).write(lambda path: write_model(model, path, notes), lambda _: 0)
    if as_json:
        path = None if written is None else str(written.path)
        pages = [json.loads(write_json(p, r, path, None)) for p, r in zip(problems, results, strict=True)]
        typer.echo(json.dumps({"targets": pages}, indent=2, ensure_ascii=False))
    else:
        show_files(console, written, None)


def refuse_report(report: str | None) -> None:
    """Refuse ``--report``, the value of which is given, where there are several targets."""
    if report is not None:
        raise CommandError("There is no report of several targets.", "Leave out --report, or name one.", USAGE)


def refuse_several(model: Any, command: str) -> None:
    """Refuse a model of several targets where one is needed.

    Parameters
    ----------
    model : estimator
        Fitted.
    command : str
        The command, in the words of the sentence.
    """
    if len(getattr(model, "_outputs", ())) > 1:
        raise CommandError(
            f"committee {command} is for models of one target, and this one has {len(model._outputs)}.",
            "Save the committee of one target from Python: committee.save(model.estimators_[0], FILE).",
            USAGE,
        )
