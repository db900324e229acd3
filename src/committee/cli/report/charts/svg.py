"""Pieces of SVG that all charts share: numbers, text, tooltips."""

from __future__ import annotations

import textwrap

from committee.cli.report.markup import escape, truncate_text

__all__ = ["LETTER", "N_COLORS", "RIGHT", "TOP", "WIDTH", "elide_middle", "make_tip", "open_svg", "place", "wrap_name"]

N_COLORS = 8
"""Colours of the style sheet; further series repeat them."""
WIDTH = 440
"""Width of every image in its own units; the page scales it."""
TOP, RIGHT = 12, 14
LETTER = 8.2
"""Width of a letter in a wide font, on phones, where text is larger."""


def place(value: float) -> str:
    """A coordinate, to a tenth of a unit.

    Examples
    --------
    >>> place(3.0), place(1.26)
    ('3', '1.3')
    """
    return f"{value:.1f}".removesuffix(".0")


def open_svg(width: float, height: float, alt: str) -> str:
    """The opening tag of an image.

    Parameters
    ----------
    width, height : float
        In its own units.
    alt : str
        Alternative text.

    Returns
    -------
    str
        SVG.
    """
    return f'<svg viewBox="0 0 {place(width)} {place(height)}" role="img" aria-label="{escape(alt)}">'


def make_tip(text: str) -> str:
    """The tooltip of a mark, as its child.

    Browsers show a title without a script; the script of the page shows it at the nearest mark, and by keyboard.
    """
    return f"<title>{escape(text)}</title>"


def wrap_name(name: object, width: int, most_lines: int = 2) -> list[str]:
    """A name in lines; the middle of one that is too long is left out, since names often begin alike.

    Parameters
    ----------
    name : object
        Any name.
    width : int
        Characters of a line.
    most_lines : int
        Maximum number of lines.

    Returns
    -------
    list of str
        At least one line.

    Examples
    --------
    >>> wrap_name("mean fractal dimension of the cell nucleus", 16)
    ['mean fractal…', '…cell nucleus']
    """
    text = " ".join(str(name).split())
    lines = textwrap.wrap(text, width, break_long_words=True) or [""]
    if len(lines) <= most_lines:
        return lines
    if most_lines == 1:
        return [truncate_text(text, width)]
    last = textwrap.wrap(text[::-1], width - 1, break_long_words=True)[0][::-1]
    return [*lines[: most_lines - 2], truncate_text(lines[most_lines - 2], width - 1).rstrip("…") + "…", f"…{last}"]


def elide_middle(name: object, width: int) -> str:
    """A name on one line; the middle of one that is too long is left out, since names often begin alike.

    Parameters
    ----------
    name : object
        Any name.
    width : int
        Most characters.

    Returns
    -------
    str

    Examples
    --------
    >>> elide_middle("a class with a long name, number 12", 14), elide_middle("short", 14)
    ('a class…ber 12', 'short')
    """
    text = " ".join(str(name).split())
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"
