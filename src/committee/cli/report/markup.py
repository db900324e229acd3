"""HTML of a page: escaped text, tables, figures, sections. All user data is escaped here."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = [
    "Section",
    "allow_breaks",
    "capitalize",
    "escape",
    "make_figure",
    "make_html_table",
    "show_estimate",
    "show_number",
    "truncate_text",
]

# Characters that are not allowed in HTML.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff\ud800-\udfff]")
_LONGEST = 120


@dataclass(frozen=True)
class Section:
    """A section of a page.

    Parameters
    ----------
    key : str
        Its id, for links.
    title : str
        Its heading, as plain text.
    body : str
        HTML.
    """

    key: str
    title: str
    body: str

    def render(self) -> str:
        """The section as HTML."""
        return f'<section id="{self.key}">\n<h2>{escape(self.title)}</h2>\n{self.body}\n</section>'


def escape(value: object) -> str:
    """Escape a value for an HTML element or attribute.

    Parameters
    ----------
    value : object
        Any value.

    Returns
    -------
    str
        Escaped text.

    Examples
    --------
    >>> escape("<b>'a' & b")
    '&lt;b&gt;&#x27;a&#x27; &amp; b'
    """
    return html.escape(_FORBIDDEN.sub("\ufffd", str(value)), quote=True)


def allow_breaks(name: str) -> str:
    """The name of a class as HTML, with optional line breaks before capitals.

    Examples
    --------
    >>> allow_breaks("RandomForest")
    'Random<wbr>Forest'
    """
    return re.sub("(?<=[a-z])(?=[A-Z])", "<wbr>", escape(name))


def truncate_text(value: object, most: int = _LONGEST) -> str:
    """Truncate text to a maximum length, on one line.

    Parameters
    ----------
    value : object
        Any value.
    most : int
        Maximum number of characters.

    Returns
    -------
    str
        Not escaped.

    Examples
    --------
    >>> truncate_text("a long name", 6)
    'a lon…'
    """
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[: most - 1] + "…"


def show_number(value: float, digits: int = 4) -> str:
    """Format a number.

    Parameters
    ----------
    value : float
        The number.
    digits : int
        Significant digits.

    Returns
    -------
    str
        Without trailing zeros, with thousands separators.

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


def show_estimate(value: float, error: float, *, with_error: bool = True, sign: str = "-") -> str:
    """Format a number to the second digit of its standard error.

    Parameters
    ----------
    value, error : float
        The number and its standard error.
    with_error : bool
        Whether to add the error.
    sign : str
        ``"+"`` for a sign before positive numbers as well.

    Returns
    -------
    str
        With thousands separators.

    Examples
    --------
    >>> show_estimate(0.95634, 0.0118), show_estimate(14178.51, 402.04), show_estimate(0.5, 0.0)
    ('0.956 ± 0.012', '14,179 ± 402', '0.5000 ± 0.0000')
    """
    digits = 4
    if math.isfinite(error) and error > 0.0:
        digits = min(max(1 - math.floor(math.log10(error)), 0), 6)
    shown = f"{value:{sign},.{digits}f}" if math.isfinite(value) else "–"
    shown = shown.replace("-", "−") if float(f"{value:.{digits}f}") else shown.lstrip("-")
    if not with_error:
        return shown
    return f"{shown} ± {f'{error:,.{digits}f}' if math.isfinite(error) else '–'}"


def capitalize(text: str) -> str:
    """Text with its first letter as a capital.

    Examples
    --------
    >>> capitalize("log-loss of R²")
    'Log-loss of R²'
    """
    return text[:1].upper() + text[1:]


def make_html_table(headings: Sequence[str], rows: Iterable[Sequence[str]], caption: str) -> str:
    """A table that scrolls if it is too wide for the page.

    Parameters
    ----------
    headings : sequence of str
        Text of the header cells; > before a heading aligns the column to the right.
    rows : iterable of sequences of str
        HTML of the cells; the first of a row is its header.
    caption : str
        Plain text.

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
        f"<caption><span>{escape(caption)}</span></caption>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def make_figure(image: str, caption: str, kind: str = "") -> str:
    """A figure with a caption.

    Parameters
    ----------
    image : str
        HTML of the image.
    caption : str
        Plain text.
    kind : str
        CSS class: ``"wide"`` for a figure on its own row.

    Returns
    -------
    str
        HTML.
    """
    name = f' class="{kind}"' if kind else ""
    return f"<figure{name}>{image}<figcaption>{escape(caption)}</figcaption></figure>"
