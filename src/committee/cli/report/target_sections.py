"""Sections of several targets on one page."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from committee.cli.report.markup import Section, escape, make_html_table, show_estimate, truncate_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from committee.cli.results import Comparison

__all__ = ["compare_targets", "name_sections"]

# Attributes of our own markup only: quotation marks in texts of users are escaped.
_PLACES = re.compile(r'((?: id="|href="#)[\w-]+)(?=")')


def name_sections(sections: Sequence[Section], target: str, number: int) -> list[Section]:
    """The sections of one target, with its name in their titles and links that differ from those of other targets.

    Parameters
    ----------
    sections : sequence of Section
        Of this target.
    target : str
        Its name.
    number : int
        Its number.

    Returns
    -------
    list of Section

    Examples
    --------
    >>> (section,) = name_sections([Section("score", "Score", '<a href="#score">up</a>')], "price", 1)
    >>> section.key, section.title, section.body
    ('score-t1', 'price: Score', '<a href="#score-t1">up</a>')
    """
    ending = f"-t{number}"
    title = truncate_text(target, 40)
    return [
        replace(
            one,
            key=one.key + ending,
            title=f"{title}: {one.title}",
            body=_PLACES.sub(lambda found: found.group(0) + ending, one.body),
        )
        for one in sections
    ]


def compare_targets(targets: Sequence[str], scores: Sequence[dict[str, Comparison]]) -> str:
    """A table with the scores of each target.

    Parameters
    ----------
    targets : sequence of str
        Their names.
    scores : sequence of dict of str to Comparison
        By metric, for each target; empty for one that is not scored.

    Returns
    -------
    str
        HTML; empty if there are no scores.
    """
    names = list(dict.fromkeys(name for found in scores for name in found))
    rows = []
    for target, found in zip(targets, scores, strict=True):
        cells = [escape(truncate_text(target, 40))]
        for name in names:
            one = found.get(name)
            cells += ["–", "–"] if one is None else _show(one)
        rows.append(cells)
    headings = ["target", *(heading for name in names for heading in (f">{name}", ">naive"))]
    return make_html_table(headings, rows, "Scores of each target, ± standard error") if names else ""


def _show(one: Comparison) -> list[str]:
    naive = show_estimate(one.baseline.mean, one.model.error, with_error=False)
    return [show_estimate(one.model.mean, one.model.error), naive]
