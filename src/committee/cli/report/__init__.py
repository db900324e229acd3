"""The report of a fit, and of a model on new data: self-contained HTML files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import committee
from committee.cli.certificates import make_card, read_scores
from committee.cli.report.card_section import describe_card
from committee.cli.report.class_pages import describe_classes, has_class_pages
from committee.cli.report.curves_section import describe_curves
from committee.cli.report.data_section import describe_cards, describe_data
from committee.cli.report.drift.training_summary import TrainingSummary, summarize_training
from committee.cli.report.errors_section import describe_confusion, describe_largest_errors
from committee.cli.report.features_section import (
    describe_dependence,
    describe_importance,
    measure_dependence,
    rank_features,
)
from committee.cli.report.fold_observer import FoldObserver
from committee.cli.report.learning_curves import describe_learning_curves
from committee.cli.report.markup import Section
from committee.cli.report.new_data import NewDataFindings, write_model_report
from committee.cli.report.order_section import describe_order
from committee.cli.report.page import render_page, write_page
from committee.cli.report.report_data import ReportData
from committee.cli.report.reproduction_section import Reproduction, describe_reproduction, read_reproduction
from committee.cli.report.scores_section import describe_model, describe_score
from committee.cli.report.shapes_section import describe_shapes, has_shapes
from committee.cli.report.summary import join_names, render_summary, summarize_fit
from committee.cli.report.target_sections import compare_targets, name_sections
from committee.cli.tasks import TASKS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.cli.results import FitResults

__all__ = [
    "FoldObserver",
    "NewDataFindings",
    "TrainingSummary",
    "read_reproduction",
    "summarize_training",
    "write_model_report",
    "write_report",
    "write_targets_report",
]

_COLOPHON = f"Written by committee {committee.__version__}."


def write_report(
    observer: FoldObserver, results: FitResults, reproduction: Reproduction, path: Path, licence: str | None = None
) -> int:
    """Write the report of a fit.

    Parameters
    ----------
    observer : FoldObserver
        The observer of the fit.
    results : FitResults
        The results of the fit.
    reproduction : Reproduction
        The call of the command.
    path : pathlib.Path
        The file.
    licence : str or None
        Of the data.

    Returns
    -------
    int
        Bytes of the file.
    """
    observer.measure_full_model(results.model, results.leaderboard)
    data = ReportData(results, observer)
    ranked = rank_features(data)
    title = f"{data.problem.target} from {data.problem.source}"
    sections = [
        *_describe_target(data, ranked),
        describe_data(data.problem),
        describe_model(data),
        describe_reproduction(reproduction, results.model.get_params(deep=False)),
        describe_card(make_card(results.model, read_scores(results), title, licence)),
    ]
    lead = render_summary(summarize_fit(data, ranked)) + describe_cards(data)
    return write_page(render_page(title, lead, sections, _COLOPHON), path)


def write_targets_report(
    observers: Sequence[FoldObserver],
    results: Sequence[FitResults],
    model: Any,
    reproduction: Reproduction,
    path: Path,
    licence: str | None = None,
) -> int:
    """Write the report of a fit to several targets: one page, with the sections of each.

    Parameters
    ----------
    observers : sequence of FoldObserver
        The observers of the fit, one for each target.
    results : sequence of FitResults
        The results for each target.
    model : estimator
        Fitted to all targets.
    reproduction : Reproduction
        The call of the command.
    path : pathlib.Path
        The file.
    licence : str or None
        Of the data.

    Returns
    -------
    int
        Bytes of the file.
    """
    sections, first = [], observers[0].problem
    for number, (observer, found) in enumerate(zip(observers, results, strict=True), start=1):
        observer.measure_full_model(found.model, found.leaderboard)
        data = ReportData(found, observer)
        ranked, target = rank_features(data), data.problem.target
        summary = Section("summary", "Summary", render_summary(summarize_fit(data, ranked)) + describe_cards(data))
        own = [summary, *_describe_target(data, ranked), describe_model(data)]
        sections += name_sections(own, target, number)
    targets = [observer.problem.target for observer in observers]
    title = f"{join_names(targets)} from {first.source}"
    scores = {
        f"{target}: {name}": one
        for target, found in zip(targets, results, strict=True)
        for name, one in read_scores(found).items()
    }
    sections += [
        describe_data(first, [observer.problem for observer in observers[1:]]),
        describe_reproduction(reproduction, model.get_params(deep=False)),
        describe_card(make_card(model, scores, title, licence)),
    ]
    lead = compare_targets(targets, [found.comparisons for found in results])
    return write_page(render_page(title, lead, sections, _COLOPHON), path)


def _describe_target(data: ReportData, ranked: list[str]) -> list[Section]:
    """What is measured of one target: scores, errors, importances, dependence."""
    scored, model = data.scored, data.results.model
    has_errors = TASKS[data.problem.task].has_errors
    dependences = measure_dependence(data, ranked)
    return [
        describe_score(data),
        describe_curves(scored) if has_errors else describe_order(data.problem.y[scored.numbers], scored.predicted),
        *([describe_confusion(scored)] if scored.classes is not None else []),
        describe_importance(data),
        *([describe_shapes(model)] if has_shapes(model) else []),
        describe_dependence(dependences),
        describe_learning_curves(data),
        *([describe_largest_errors(scored, ranked)] if has_errors else []),
        *([describe_classes(scored, dependences.curves)] if has_class_pages(scored) else []),
    ]
