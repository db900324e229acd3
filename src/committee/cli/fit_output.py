"""What ``committee fit`` writes: the model with its certificate, and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from committee.cli.certificates import certify_results
from committee.cli.output import write_model
from committee.cli.report import FoldObserver, summarize_training, write_report

if TYPE_CHECKING:
    from committee.cli.fit_places import FitPlaces, WrittenFile
    from committee.cli.problem import LearningProblem, Roles
    from committee.cli.report.reproduction_section import Reproduction
    from committee.cli.results import FitResults

__all__ = ["write_fit"]


def write_fit(
    places: FitPlaces,
    problem: LearningProblem,
    results: FitResults,
    observer: FoldObserver | None,
    reproduction: Reproduction,
    roles: Roles,
    licence: str | None,
) -> tuple[WrittenFile | None, WrittenFile | None]:
    """Write the model and the report, as far as they are wanted.

    Parameters
    ----------
    places : FitPlaces
        Where.
    problem : LearningProblem
        Features and target.
    results : FitResults
        The results of the fit; its model gets a certificate.
    observer : FoldObserver or None
        The observer of the fit; None without a report.
    reproduction : Reproduction
        The call of the command.
    roles : Roles
        Roles of the columns.
    licence : str or None
        Of the data.

    Returns
    -------
    tuple
        The files of the model and of the report; None for one that was not wanted.
    """
    notes = certify_results(problem, results, roles, licence)
    measured = None if observer is None else observer.average_importances()
    summary = summarize_training(problem, results, measured).write_notes()
    return places.write(
        lambda path: write_model(results.model, path, summary | notes),
        lambda path: 0 if observer is None else write_report(observer, results, reproduction, path, licence),
    )
