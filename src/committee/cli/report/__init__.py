"""The report of a fit: one self-contained HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import committee
from committee.cli.report.data_section import describe_data, describe_lead
from committee.cli.report.errors_section import describe_calibration, describe_errors, describe_largest_errors
from committee.cli.report.features_section import describe_dependence, describe_importance, rank_features
from committee.cli.report.fold_observer import FoldObserver
from committee.cli.report.page import render_page, write_page
from committee.cli.report.report_data import ReportData
from committee.cli.report.reproduction_section import Reproduction, describe_reproduction, read_reproduction
from committee.cli.report.scores_section import describe_curve, describe_model, describe_score

if TYPE_CHECKING:
    from committee.cli.results import FitResults

__all__ = ["FoldObserver", "read_reproduction", "write_report"]


def write_report(observer: FoldObserver, results: FitResults, reproduction: Reproduction, path: Path) -> int:
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

    Returns
    -------
    int
        Bytes of the file.
    """
    observer.measure_full_model(results.model)
    data = ReportData(results, observer)
    ranked = rank_features(data)
    sections = [
        describe_data(data.problem),
        describe_model(data),
        describe_score(data),
        describe_curve(data),
        describe_errors(data),
        describe_calibration(data),
        describe_importance(data),
        describe_dependence(data, ranked),
        describe_largest_errors(data, ranked),
        describe_reproduction(reproduction, results.model.get_params(deep=False)),
    ]
    title = f"{data.problem.target} from {data.problem.source}"
    colophon = f"Written by committee {committee.__version__}."
    return write_page(render_page(title, describe_lead(data), sections, colophon), path)
