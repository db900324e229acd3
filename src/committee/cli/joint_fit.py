"""``committee fit --target a,b``: one model of several targets, its files, and scores and a report of each target."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from committee.cli.certificates import certify_targets
from committee.cli.fit import fit_targets
from committee.cli.fit_observer import FitObserver
from committee.cli.output import write_model
from committee.cli.report import FoldObserver, read_reproduction, summarize_training, write_targets_report
from committee.cli.report.drift.target_summaries import write_target_notes
from committee.cli.several_targets import show_target_results, write_target_documents
from committee.cli.show import make_console, show_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from committee.cli.fit_places import FitPlaces
    from committee.cli.plan import Plan
    from committee.cli.problem import LearningProblem, Roles

__all__ = ["fit_and_write_targets"]


def fit_and_write_targets(
    context: typer.Context,
    problems: Sequence[LearningProblem],
    plan: Plan,
    places: FitPlaces,
    roles: Roles,
    licence: str | None,
    *,
    as_json: bool,
    more: Mapping[str, Any] | None = None,
) -> None:
    """Fit a model to several targets, print its scores and write its files.

    Parameters
    ----------
    context : typer.Context
        The call of the command.
    problems : sequence of LearningProblem
        One for each target.
    plan : Plan
        The options.
    places : FitPlaces
        Where the files are written.
    roles : Roles
        Roles of the columns.
    licence : str or None
        Of the data.
    as_json : bool
        Whether one JSON document is printed.
    more : mapping, optional
        Further entries of this document.
    """
    observers = [] if places.report is None else [FoldObserver(problem, plan) for problem in problems]
    model, results = fit_targets(problems, plan, observers or [FitObserver() for _ in problems])
    console = make_console()
    if not as_json:
        show_target_results(console, problems, results, plan.folds)
    notes = certify_targets(model, problems, roles, licence)
    measured = [observer.average_importances() for observer in observers] or [None] * len(problems)
    summaries = [summarize_training(*one) for one in zip(problems, results, measured, strict=True)]
    reproduction = read_reproduction(context)
    files = places.write(
        lambda path: write_model(model, path, write_target_notes(summaries) | notes),
        lambda path: write_targets_report(observers, results, model, reproduction, path, licence),
    )
    if as_json:
        paths = [None if file is None else str(file.path) for file in files]
        pages = write_target_documents(problems, results, paths[0], paths[1])
        typer.echo(json.dumps({"targets": pages, **(more or {})}, indent=2, ensure_ascii=False))
    else:
        show_files(console, *files)
