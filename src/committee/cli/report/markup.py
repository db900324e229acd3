"""Pieces of a page: escaped text, tables, figures, sections. Nothing of the user's reaches a page but through here."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["Section", "escape", "make_figure", "make_table", "shorten", "show_number"]

# Characters that no HTML document may hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
_LONGEST = 120


@dataclass(frozen=True)
class Section:
    """A part of a page with a heading.

    Parameters
    ----------
    key : str
        What links to it.
    title : str
        Its heading, as text.
    body : str
        HTML.
    """

    key: str
    title: str
    body: str

    def render(self) -> str:
        """The section as HTML."""
        return f'<section id="{self.key}">\n<h2>{escape(self.title)}</h2>\n{self.body}\n</section>'


def escape(value: Any) -> str:
    """Any value as text that means nothing to a browser, in an element or in an attribute.

    Parameters
    ----------
    value : object
        Of the user's, or ours.

    Returns
    -------
    str
        Safe to write.

    Examples
    --------
    >>> escape("<b>'a' & b")
    '&lt;b&gt;&#x27;a&#x27; &amp; b'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True)


def shorten(value: Any, most: int = _LONGEST) -> str:
    """Text of at most so many characters, on one line.

    Parameters
    ----------
    value : object
        What to write.
    most : int
        Characters.

    Returns
    -------
    str
        Not escaped.

    Examples
    --------
    >>> shorten("a long name", 6)
    'a lon…'
    """
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def show_number(value: float, digits: int = 4) -> str:
    """A number as people read it.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant ones.

    Returns
    -------
    str
        Without trailing zeros; thousands apart.

    Examples
    --------
    >>> show_number(1234567.0), show_number(0.05), show_number(float("nan"))
    ('1,234,567', '0.05', '–')
    """
    if not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e9 or size < 1e-4:
        return f"{value:.{digits - 1}g}".replace("-", "−")
    text = f"{value:,.{max(0, digits - 1 - math.floor(math.log10(size)))}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return text.replace("-", "−")


def make_table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table that scrolls by itself where it is too wide.

    Parameters
    ----------
    headings : sequence of str
        Text of the header cells; that of a column of numbers starts with >.
    rows : iterable of sequences of str
        HTML of the cells; the first of a row is its header.
    caption : str
        What the table tells, as text.

    Returns
    -------
    str
        HTML.
    """
    numeric = [heading.startswith(">") for heading in headings]
    head = "".join(
        f'<th scope="col"{" class=n" if number else ""}>{escape(heading.removeprefix(">"))}</th>'
        for heading, number in zip(headings, numeric, strict=True)
    )
    lines = []
    for first, *others in rows:
        cells = "".join(
            f"<td{' class=n' if number else ''}>{cell}</td>" for cell, number in zip(others, numeric[1:], strict=True)
        )
        lines.append(f'<tr><th scope="row"{" class=n" if numeric[0] else ""}>{first}</th>{cells}</tr>')
    body = "\n".join(lines)
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(caption)}"><table>\n'
        f"<caption>{escape(caption)}</caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def make_figure(picture: str, caption: str, kind: str = "") -> str:
    """A picture with a line below it.

    Parameters
    ----------
    picture : str
        HTML of the picture.
    caption : str
        The line, as text.
    kind : str
        A class for the style: ``"wide"`` for pictures that need a row of their own.

    Returns
    -------
    str
        HTML.
    """
    name = f' class="{kind}"' if kind else ""
    return f"<figure{name}>{picture}<figcaption>{escape(caption)}</figcaption></figure>"
