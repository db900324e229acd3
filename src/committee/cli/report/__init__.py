"""The report of a fit: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import committee
from committee.cli.report.data_section import describe_data, describe_lead
from committee.cli.report.errors_section import describe_calibration, describe_mistakes, describe_surprises
from committee.cli.report.features_section import describe_dependence, describe_importance, rank_features
from committee.cli.report.fold_observer import Witness
from committee.cli.report.page import render_page, write_page
from committee.cli.report.report_data import Evidence
from committee.cli.report.reproduction_section import Recipe, describe_recipe, read_recipe
from committee.cli.report.scores_section import describe_curve, describe_model, describe_score

if TYPE_CHECKING:
    from committee.cli.results import Findings

__all__ = ["Witness", "read_recipe", "write_report"]


def write_report(witness: Witness, findings: Findings, recipe: Recipe, path: Path) -> int:
    """Write all that is known of a fit.

    Parameters
    ----------
    witness : Witness
        Who watched the study while it ran.
    findings : Findings
        What it found.
    recipe : Recipe
        How it was called.
    path : pathlib.Path
        Where to.

    Returns
    -------
    int
        Bytes of the file.
    """
    witness.hear_whole(findings.model)
    evidence = Evidence(findings, witness)
    ranked = rank_features(evidence)
    sections = [
        describe_data(evidence.problem),
        describe_model(evidence),
        describe_score(evidence),
        describe_curve(evidence),
        describe_mistakes(evidence),
        describe_calibration(evidence),
        describe_importance(evidence),
        describe_dependence(evidence, ranked),
        describe_surprises(evidence, ranked),
        describe_recipe(recipe, findings.model.get_params(deep=False)),
    ]
    title = f"{evidence.problem.target} from {evidence.problem.source}"
    colophon = f"Written by committee {committee.__version__}."
    return write_page(render_page(title, describe_lead(evidence), sections, colophon), path)
