"""Several targets: ``committee fit --target a,b`` fits one model to all of them; scores and reports are of each."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.markup import escape

from committee.cli.errors import USAGE, CommandError
from committee.cli.problem import LearningProblem, Roles, define_problem, keep_known_targets

if TYPE_CHECKING:
    from rich.console import Console

    from committee.cli.results import FitResults
    from committee.cli.table import Source

__all__ = [
    "choose_targets",
    "define_problems",
    "show_problems",
    "show_target_results",
    "split_targets",
    "stack_targets",
    "write_target_documents",
]

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
    """A problem for each target, of the same rows and features; that of the only one if there are not several.

    Parameters
    ----------
    source : Source
        The table.
    roles : Roles
        Roles of its columns.
    targets : sequence of str
        The names in ``--target``.
    task : str
        Value of ``--task``.

    Returns
    -------
    list of LearningProblem
    """
    if len(targets) < 2:
        return [define_problem(source, roles, task)]
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
    problems[0] = replace(problems[0], notices=(*dict.fromkeys(notices), *problems[0].notices))
    together = stack_targets(problems)
    return [replace(problem, together=together, position=k) for k, problem in enumerate(problems)]


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


def show_problems(console: Console, problems: Sequence[LearningProblem]) -> None:
    """Print the table, and all targets.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problems : sequence of LearningProblem
        One for each target.
    """
    from committee.cli.show import show_problem, show_target

    show_problem(console, problems[0])
    for problem in problems[1:]:
        console.print(f"target [bold]{escape(problem.target)}[/] ({problem.task})", soft_wrap=True)
        show_target(console, problem)


def show_target_results(
    console: Console, problems: Sequence[LearningProblem], results: Sequence[FitResults], folds: int
) -> None:
    """Print the results of each target, and the first score of all.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    problems : sequence of LearningProblem
        One for each target.
    results : sequence of FitResults
        The same.
    folds : int
        Number of folds.
    """
    from committee.cli.show import make_text_table, show_fit_results, show_importances

    shared = results[0].importances if all(one.importances == results[0].importances for one in results) else {}
    for problem, found in zip(problems, results, strict=True):
        console.print(f"\nTarget [bold]{escape(problem.target)}[/]", end="")
        show_fit_results(console, replace(found, importances={}) if shared else found, folds)
    name = next(iter(results[0].comparisons))
    table = make_text_table("target", f">{name}", ">naive")
    for problem, found in zip(problems, results, strict=True):
        one = found.comparisons[name]
        table.add_row(
            escape(problem.target), f"{one.model.mean:.4f} ± {one.model.error:.4f}", f"{one.baseline.mean:.4f}"
        )
    console.print("\nAll targets:")
    console.print(table)
    show_importances(console, shared)


def write_target_documents(
    problems: Sequence[LearningProblem], results: Sequence[FitResults], output: str | None, report: str | None
) -> list[dict[str, Any]]:
    """The JSON document of each target.

    Parameters
    ----------
    problems : sequence of LearningProblem
        One for each target.
    results : sequence of FitResults
        The same.
    output, report : str or None
        Paths of the model and of the report.

    Returns
    -------
    list of dict
    """
    from committee.cli.show import write_json

    pairs = zip(problems, results, strict=True)
    return [json.loads(write_json(problem, found, output, report)) for problem, found in pairs]


def choose_targets(named: str | None, targets: Sequence[str]) -> list[int]:
    """The numbers of the targets of a model that ``--target`` names; all of them without it.

    Parameters
    ----------
    named : str or None
        Value of ``--target``.
    targets : sequence of str
        Names of the targets of the model.

    Returns
    -------
    list of int
    """
    if named is None:
        return list(range(len(targets)))
    names = split_targets(named, targets)
    for name in names:
        if name not in targets:
            raise CommandError(
                f"'{name}' is not a target of the model.", f"Its targets are {', '.join(targets)}.", USAGE
            )
    return [targets.index(name) for name in names]
