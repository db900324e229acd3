"""Certificates in the command: made by fit, checked by verify; model cards; signatures."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rich.markup import escape

from committee.cli.errors import USAGE, CommandError
from committee.cli.model_rows import load_model
from committee.cli.problem import LearningProblem, Roles
from committee.cli.several_targets import define_problems, split_targets, stack_targets
from committee.cli.table import read_source
from committee.cli.text_format import TextReading

if TYPE_CHECKING:
    from rich.console import Console

    from committee.cli.results import FitResults
    from committee.io.certificates import Verification

__all__ = [
    "VerifyOutcome",
    "certify_results",
    "certify_targets",
    "make_card",
    "read_card",
    "read_scores",
    "read_targets",
    "show_outcome",
    "verify_file",
]

#: Entries of the notes of a model file.
FIT_KEY = "fit"
LICENCE_KEY = "data licence"


def certify_results(
    problem: LearningProblem, results: FitResults, roles: Roles, licence: str | None = None
) -> dict[str, Any]:
    """Give the model of a fit its certificate.

    Parameters
    ----------
    problem : LearningProblem
        Features and target.
    results : FitResults
        The results of the fit; its model gets the attribute ``certificate_``.
    roles : Roles
        Roles of the columns of the table.
    licence : str or None
        Of the data.

    Returns
    -------
    dict
        Notes for the model file: what `verify_file` needs to read the table alike.
    """
    from committee.io.certificates.certificate import GivenData, make_certificate

    groups = problem.groups if hasattr(results.model, "leaderboard_") else None
    y, arguments = problem.make_fit_target()
    given = GivenData(problem.features, y, problem.weights, {"groups": groups, **arguments})
    results.model.certificate_ = make_certificate(results.model, given)
    own = {"query": roles.query, "event": roles.event, "levels": [str(level) for level in problem.levels]}
    return _write_notes({"target": problem.target, **own}, problem.task, roles, licence)


def certify_targets(
    model: Any, problems: Sequence[LearningProblem], roles: Roles, licence: str | None = None
) -> dict[str, Any]:
    """Do for a model of several targets what `certify_results` does for one.

    Parameters
    ----------
    model : estimator
        Fitted; gets the attribute ``certificate_``.
    problems : sequence of LearningProblem
        One for each target.
    roles, licence
        As for one target.

    Returns
    -------
    dict
        Notes for the model file.
    """
    from committee.io.certificates.certificate import GivenData, make_certificate

    first = problems[0]
    given = GivenData(first.features, stack_targets(problems), first.weights, {"groups": first.groups})
    model.certificate_ = make_certificate(model, given)
    names = [problem.target for problem in problems]
    return _write_notes({"target": ",".join(names), "targets": names}, first.task, roles, licence)


def _write_notes(own: dict[str, Any], task: str, roles: Roles, licence: str | None) -> dict[str, Any]:
    """Notes for the model file: the columns of a fit, with those of its targets, and the licence of the data."""
    columns = {**own, "groups": roles.groups, "weights": roles.weights, "drop": list(roles.drop), "task": task}
    return {FIT_KEY: columns} if licence is None else {FIT_KEY: columns, LICENCE_KEY: licence}


def read_targets(name: str, model: Any) -> list[str]:
    """Names of the targets of a model file: those of its notes, else their numbers; empty for one target.

    Parameters
    ----------
    name : str
        Path of the file.
    model : estimator
        Its model.

    Returns
    -------
    list of str
    """
    from committee.inspection.one_target import count_targets
    from committee.io import describe_file

    n_outputs = count_targets(model)
    if n_outputs < 2:
        return []
    notes = describe_file(name).notes.get(FIT_KEY)
    found = notes.get("targets") if isinstance(notes, dict) else None
    if isinstance(found, list) and len(found) == n_outputs and all(isinstance(one, str) for one in found):
        return found
    return [str(k) for k in range(n_outputs)]


def read_scores(results: FitResults) -> dict[str, tuple[float, float]]:
    """Scores of a fit and their standard errors, by metric.

    Parameters
    ----------
    results : FitResults
        The results of the fit.

    Returns
    -------
    dict
    """
    return {name: (one.model.mean, one.model.error) for name, one in results.comparisons.items()}


def make_card(model: Any, scores: Mapping[str, tuple[float, float]], title: str, licence: str | None) -> dict[str, Any]:
    """The model card of a fit.

    Parameters
    ----------
    model : estimator
        The model of the fit.
    scores : mapping of str to tuple of float
        As `read_scores` gives them.
    title : str
        What the model predicts, and from what.
    licence : str or None
        Of the data.

    Returns
    -------
    dict
    """
    from committee.io.certificates.model_card import model_card

    return model_card(model, scores=dict(scores), licence=licence, title=title)


def read_card(name: str, trusted: Sequence[str]) -> dict[str, Any]:
    """The model card of a file.

    Parameters
    ----------
    name : str
        Its path.
    trusted : sequence of str
        Types of other libraries that may be loaded.

    Returns
    -------
    dict
    """
    from committee.cli.report.drift.training_summary import read_summary
    from committee.io import describe_file
    from committee.io.certificates.model_card import model_card

    model, notes = load_model(name, trusted), describe_file(name).notes
    summary, licence = read_summary(notes), notes.get(LICENCE_KEY)
    known = licence if isinstance(licence, str) else None
    if summary is None:
        return model_card(model, licence=known)
    scores = {metric: (mean, error) for metric, (mean, error, _) in summary.scores.items()}
    return model_card(model, scores=scores, licence=known, title=f"{summary.target} from {summary.source}")


@dataclass(frozen=True)
class VerifyOutcome:
    """What ``committee verify`` found.

    Parameters
    ----------
    signed : bool or None
        Whether the signature is that of the file; None if it was not asked for.
    verification : Verification or None
        Of the certificate; None without a table.
    """

    signed: bool | None
    verification: Verification | None

    @property
    def passed(self) -> bool:
        """Whether nothing that was checked failed."""
        return self.signed is not False and (self.verification is None or self.verification.identical)

    def write_json(self) -> str:
        """One JSON document."""
        found = {} if self.verification is None else asdict(self.verification)
        return json.dumps({"passed": self.passed, "signature": self.signed, **found}, indent=2, ensure_ascii=False)


def verify_file(
    name: str,
    table: str | None,
    given: Roles,
    reading: TextReading,
    trusted: Sequence[str],
    *,
    key: str | None = None,
    signature: str | None = None,
) -> VerifyOutcome:
    """Check the signature of a model file, and its certificate against a table.

    Parameters
    ----------
    name : str
        Path of the model file.
    table : str or None
        The training table; None: only the signature is checked.
    given : Roles
        Roles of its columns; what is not given is as in the fit.
    reading : TextReading
        How a text table is read.
    trusted : sequence of str
        Types of other libraries that may be loaded.
    key : str or None
        Path of the signer's public key.
    signature : str or None
        Path of the signature.

    Returns
    -------
    VerifyOutcome
    """
    if table is None and key is None:
        raise CommandError(
            "There is nothing to check the model with.", "Name the training table, or a public key with --key.", USAGE
        )
    signed = None
    if key is not None:
        from committee.io.certificates import check_signature

        signed = check_signature(name, key, signature)
    if table is None or signed is False:
        return VerifyOutcome(signed, None)
    from committee.io import describe_file
    from committee.io.certificates.certificate import GivenData
    from committee.io.certificates.verification import read_certificate, verify_data

    model, notes = load_model(name, trusted), describe_file(name).notes.get(FIT_KEY)
    read_certificate(model)
    roles, task = _choose_roles(given, notes if isinstance(notes, dict) else {}, model)
    source = read_source(table, reading.encoding, reading.header)
    gone = [column for column in roles.drop if column not in source.table.column_names]
    roles = replace(roles, drop=[one for one in roles.drop if one not in gone])
    targets = split_targets(roles.target, source.table.column_names)
    problem = define_problems(source, roles, targets, task)[0]
    features = problem.features
    wanted = [str(column) for column in getattr(model, "feature_names_in_", ())]
    if wanted and set(wanted) <= set(features.column_names):
        features = features.select(wanted)
    groups = problem.groups if hasattr(model, "leaderboard_") else None
    y, arguments = problem.make_fit_target()
    return VerifyOutcome(
        signed, verify_data(model, GivenData(features, y, problem.weights, {"groups": groups, **arguments}))
    )


def _choose_roles(given: Roles, notes: Mapping[str, Any], model: Any) -> tuple[Roles, str]:
    """Roles as given, else as in the notes, which come from anywhere."""

    def take(name: str) -> str | None:
        found = notes.get(name)
        return found if isinstance(found, str) else None

    task = take("task") or ("classification" if hasattr(model, "classes_") else "regression")

    def take_list(name: str) -> list[str]:
        listed = notes.get(name)
        return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []

    roles = Roles(
        given.target or take("target"),
        given.groups or take("groups"),
        given.weights or take("weights"),
        given.drop or take_list("drop"),
        given.query or take("query"),
        given.event or take("event"),
        take_list("levels"),
    )
    return roles, task


def show_outcome(console: Console, outcome: VerifyOutcome) -> None:
    """Print what ``committee verify`` found.

    Parameters
    ----------
    console : rich.console.Console
        The output.
    outcome : VerifyOutcome
        What was found.
    """
    if outcome.signed is not None:
        good = "[bold green]good[/]: the file is the one that was signed with this key."
        bad = "[bold red]bad[/]: the file, the signature or the key is another."
        console.print(f"signature {good if outcome.signed else bad}", soft_wrap=True)
    if outcome.verification is not None:
        console.print(escape(str(outcome.verification)), soft_wrap=True)
