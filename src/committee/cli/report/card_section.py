"""The model card as a section of the report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from committee.cli.report.markup import Section, escape, make_html_table, show_estimate, show_number

__all__ = ["describe_card"]

_MOST_COLUMNS = 200


def describe_card(card: Mapping[str, Any]) -> Section:
    """The facts of a model card.

    Parameters
    ----------
    card : mapping
        As `committee.model_card` gives it.

    Returns
    -------
    Section
    """
    data, certificate = card["data"], card["certificate"] or {}
    facts = [
        ["model", escape(card["estimator"])],
        ["task", escape(card["task"])],
        ["rows", escape(data["rows"])],
        ["columns", escape(data["columns"])],
        ["licence of the data", escape(data["licence"] or "not given")],
        ["SHA-256 of the table", _show_digest(data["sha256"])],
        ["SHA-256 of the target", _show_digest(certificate.get("target"))],
        ["SHA-256 of the weights", _show_digest(certificate.get("weights"))],
        ["SHA-256 of the model", _show_digest(certificate.get("model"))],
        ["seed", escape(card["seed"])],
        ["versions", escape(", ".join(f"{name} {one}" for name, one in card["versions"].items()))],
        ["platform", escape(" ".join((card["platform"] or {}).values()))],
    ]
    scores = [[escape(name), _show_score(one)] for name, one in card["scores"].items()]
    columns = [[escape(one["name"]), escape(one["type"])] for one in card["columns"][:_MOST_COLUMNS]]
    parts = [
        make_html_table(["fact", "value"], facts, "The model"),
        make_html_table(["metric", ">estimate on unseen rows"], scores, "Scores with their standard errors"),
        make_html_table(["column", "type"], columns, "Columns"),
        "<p><code>committee card</code> prints the card of the model file as JSON; <code>committee verify</code> fits "
        "the model again and compares.</p>",
    ]
    return Section("card", "Model card", "\n".join(parts))


def _show_digest(digest: str | None) -> str:
    return "none" if digest is None else f"<code>{escape(digest)}</code>"


def _show_score(score: Mapping[str, float | None]) -> str:
    value, error = score["estimate"], score["standard_error"]
    if value is None:
        return "none"
    return show_number(value) if error is None else show_estimate(value, error)
